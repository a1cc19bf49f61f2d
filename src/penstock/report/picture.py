"""A picture with the words and the numbers behind it: what every room draws and every page shows."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from penstock.report.theme import LIGHT

if TYPE_CHECKING:
    import plotly.graph_objects as go


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
    figure: go.Figure
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    wide: bool = False

    def __repr__(self) -> str:
        return f"Picture({self.title!r})"

    def _repr_html_(self) -> str:
        import plotly.graph_objects as go

        html = go.Figure(self.figure).update_layout(template=LIGHT)._repr_html_()
        return f"<h4>{escape(self.title)}</h4>{html}<p>{escape(self.caption)}</p>"
