"""Curves on logarithmic axes: degree distributions, ranks, anything that spans several powers of ten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from penstock.errors import UsageError
from penstock.report import shapes
from penstock.report.numbers import readable, sentence
from penstock.report.picture import Picture
from penstock.report.theme import colours, figure, safe

MOST_POINTS = 400


def curves(
    title: str,
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    x_name: str,
    y_name: str,
    caption: str = "",
    log_x: bool = True,
    log_y: bool = True,
    dots: bool = False,
) -> Picture:
    """Several curves over one axis, each given by its points; on a logarithmic axis only points above zero.

    Long curves are thinned to a few hundred points that are evenly spread over the axis.
    """
    traces: list[shapes.Shape] = []
    rows: list[tuple[Any, ...]] = []
    told = []
    for (name, (across, up)), colour in zip(series.items(), colours(list(series)), strict=True):
        x, y = np.asarray(across, dtype=np.float64), np.asarray(up, dtype=np.float64)
        if x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise UsageError(f"The curve '{name}' of '{title}' needs as many finite values as places.")
        kept = np.ones(x.size, dtype=bool)
        kept &= (x > 0) if log_x else kept
        kept &= (y > 0) if log_y else kept
        x, y = _thinned(x[kept], y[kept], log_x)
        traces.append(_trace(name, x, y, colour, x_name, y_name, dots=dots))
        rows += [(name, float(a), float(b)) for a, b in zip(x, y, strict=True)]
        if x.size:
            told.append(f"{name} begins at {readable(float(y[0]))} and ends at {readable(float(y[-1]))}")
    drawn = figure(
        traces,
        showlegend=len(series) > 1,
        height=300,
        margin={"l": 8, "r": 12, "t": 34 if len(series) > 1 else 10, "b": 8},
        xaxis={"type": "log" if log_x else "linear", "title": {"text": safe(x_name)}, "showgrid": True},
        yaxis={"type": "log" if log_y else "linear", "title": {"text": safe(y_name)}, "showgrid": True},
    )
    words = caption or sentence(f"{y_name} by {x_name}: {'; '.join(told) or 'there is nothing to show'}.")
    return Picture(title, words, drawn, ("series", x_name, y_name), tuple(rows))


def _trace(name: str, x: Any, y: Any, colour: str, x_name: str, y_name: str, *, dots: bool) -> shapes.Shape:
    return shapes.scatter(
        x=x,
        y=y,
        name=safe(name),
        mode="markers" if dots else "lines",
        line={"color": colour, "width": 2},
        marker={"color": colour, "size": 6, "opacity": 0.8},
        hovertemplate=f"{safe(x_name)} %{{x:,.4~g}}<br><b>%{{y:,.4~g}}</b> {safe(y_name)}<extra></extra>",
    )


def _thinned(x: Any, y: Any, logarithmic: bool) -> tuple[Any, Any]:
    if x.size <= MOST_POINTS:
        return x, y
    ends = np.log(x[[0, -1]]) if logarithmic else x[[0, -1]]
    places = np.linspace(ends[0], ends[1], MOST_POINTS)
    chosen = np.unique(np.clip(np.searchsorted(np.log(x) if logarithmic else x, places), 0, x.size - 1))
    return x[chosen], y[chosen]
