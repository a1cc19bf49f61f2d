"""Figures as plain data, which `chart.js` draws; words and keys are those of Plotly, a small part of them.

A figure is a list of shapes (bars, dots and lines, heat maps, boxes, nested areas) and a layout. Nothing is
drawn in Python: the page that shows a figure does so, at the width and in the colours of its reader.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

DIGITS = 7
"""So many significant digits of a number reach a page, more than any screen can show."""


class Shape(dict[str, Any]):
    """Facts that are also attributes; what was not given is None.

    >>> Shape(marker={"size": 3}).marker.size, Shape().text
    (3, None)
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.get(name)
        return Shape(found) if type(found) is dict else found


@dataclass(frozen=True)
class Figure:
    """Shapes and how they are laid out; `layout.narrow` may hold another figure for narrow screens."""

    data: list[Shape]
    layout: Shape

    @property
    def plain(self) -> dict[str, Any]:
        """As a page carries it."""
        layout = {k: v.plain if isinstance(v, Figure) else v for k, v in self.layout.items()}
        return {
            "data": [{k: v for k, v in shape.items() if v is not None} for shape in self.data],
            "layout": layout,
        }


def _shape(kind: str, facts: dict[str, Any]) -> Shape:
    return Shape(type=kind, **facts)


def bar(**facts: Any) -> Shape:
    """Bars from zero, side by side or at places and widths of their own."""
    return _shape("bar", facts)


def scatter(**facts: Any) -> Shape:
    """Dots, lines or words at places."""
    return _shape("scatter", facts)


def heatmap(**facts: Any) -> Shape:
    """A grid of colours."""
    return _shape("heatmap", facts)


def box(**facts: Any) -> Shape:
    """A box over the middle half of some values, with whiskers."""
    return _shape("box", facts)


def icicle(**facts: Any) -> Shape:
    """Areas beside the area that they are parts of."""
    return _shape("icicle", facts)


def as_json(value: Any) -> str:
    """JSON of a figure: arrays as lists, NaN as null, numbers no longer than a reader can use.

    >>> as_json({"x": np.array([1.0, np.nan, 1 / 3])})
    '{"x":[1,null,0.3333333]}'
    """
    return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is float:  # a figure has many numbers and words, and little else: they come first
        return _short(value)
    if kind is str or kind is int:
        return value
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | range):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return _short(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value


def _short(value: float) -> float | None:
    if value != value:
        return None
    return int(value) if value.is_integer() and abs(value) < 1e15 else float(f"{value:.{DIGITS}g}")
