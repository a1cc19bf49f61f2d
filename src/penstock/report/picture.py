"""A picture with the words and the numbers behind it: what every room draws and every page shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

from penstock.report.shapes import Figure, as_json
from penstock.report.theme import LIGHT

_numbers = count(1)


@dataclass(frozen=True)
class Picture:
    """One picture of public numbers.

    `caption` is what a reader who cannot see the picture is told. `columns` and `rows` are the data
    table behind it; the functions of `penstock.report.pictures`, `maps` and `diagrams` fill them in. A
    `wide` picture gets the whole width of the page. The `figure` itself has no style: whatever shows it gives
    it one.
    """

    title: str
    caption: str
    figure: Figure
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    wide: bool = False

    def __repr__(self) -> str:
        return f"Picture({self.title!r})"

    def _repr_html_(self) -> str:
        """For notebooks: the picture, drawn by the page's own script."""
        place = f"penstock-picture-{next(_numbers)}"
        figure, look = (as_json(each).replace("<", "\\u003c") for each in (self.figure.plain, LIGHT))
        return (
            f"<h4>{escape(self.title)}</h4><div id='{place}' style='background:#fff;width:100%'></div>"
            f"<p>{escape(self.caption)}</p><script>(function () {{ {_script()}\n"
            f"const place = document.getElementById('{place}');"
            f"penstockChart(place, {figure}, {look}, {{width: place.clientWidth || 720, touched: false}});"
            "})();</script>"
        )


@cache
def _script() -> str:
    return Path(__file__).with_name("chart.js").read_text(encoding="utf-8")
