"""Maps of released points: regular grids and rectangles of any size, to pan and zoom.

There is no ground map under them unless the schema brings one: a page that opens offline and tells nobody
that it was opened cannot fetch one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from penstock.errors import UsageError
from penstock.report import shapes
from penstock.report.numbers import placed, readable
from penstock.report.picture import Picture
from penstock.report.pictures import Numbers, finite
from penstock.report.shapes import Figure
from penstock.report.theme import figure, safe
from penstock.schema.ground import Ground

MOST_STEPS = 96
"""A grid of more cells each way is drawn with neighbours put together."""
STRIP = 3
"""A map with one side so many times as long as the other would be a strip."""


def grid_map(
    title: str,
    x_edges: ArrayLike,
    y_edges: ArrayLike,
    counts: ArrayLike,
    *,
    caption: str = "",
    amount: str = "points",
    x_name: str = "x",
    y_name: str = "y",
) -> Picture:
    """A map of a regular grid: colour is points per unit of area; drag to pan, scroll to zoom.

    ``counts[i, j]`` belongs to the i-th step along x and the j-th along y.
    """
    across, up, cells = finite(x_edges), finite(y_edges), finite(counts)
    if cells.shape != (len(across) - 1, len(up) - 1):
        raise UsageError(
            f"The map '{title}' needs {len(across) - 1} x {len(up) - 1} counts, not {cells.shape}."
        )
    (across, up, cells), whole = _together(across, up, cells), cells.shape
    amounts = cells.T
    trace = shapes.heatmap(
        x=across,
        y=up,
        z=_softened(amounts),
        customdata=amounts,
        xgap=0,
        ygap=0,
        showscale=False,
        hovertemplate=f"{safe(x_name)} %{{x:.6~g}}, {safe(y_name)} %{{y:.6~g}}<br>"
        f"<b>%{{customdata:,.4~g}}</b> {safe(amount)}<extra></extra>",
    )
    drawn = figure([trace], **_map_layout(across[0], across[-1], up[0], up[-1], x_name, y_name))
    top = np.unravel_index(int(np.argmax(cells)), cells.shape)
    x, y = (across[top[0]] + across[top[0] + 1]) / 2, (up[top[1]] + up[top[1] + 1]) / 2
    told = caption or (
        f"Map of {cells.shape[0]} by {cells.shape[1]} cells; stronger colour means more {amount}. The "
        f"fullest is around {x_name} {placed(x, across[1] - across[0])}, {y_name} {placed(y, up[1] - up[0])} "
        f"with {readable(float(cells[top]))} {amount}."
    )
    if cells.shape != whole:
        told += (
            f" Drawn are {cells.shape[0]} by {cells.shape[1]} of {whole[0]:,} by {whole[1]:,} cells: "
            "neighbours are put together."
        )
    order = np.argsort(-cells, axis=None)[:200]
    table = tuple(
        (f"{across[i]:.6g} to {across[i + 1]:.6g}", f"{up[j]:.6g} to {up[j + 1]:.6g}", float(cells[i, j]))
        for i, j in (np.unravel_index(int(k), cells.shape) for k in order)
    )
    return Picture(title, told, drawn, (x_name, y_name, amount), table, wide=True)


def _together(across: Numbers, up: Numbers, cells: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """A grid of few enough cells each way: the sums of neighbours."""
    for axis, edges in enumerate((across, up)):
        step = -(-(len(edges) - 1) // MOST_STEPS)
        begins = np.arange(0, len(edges) - 1, step)
        cells = np.add.reduceat(cells, begins, axis=axis)
        kept = edges[np.append(begins, len(edges) - 1)]
        across, up = (kept, up) if axis == 0 else (across, kept)
    return across, up, cells


def box_map(
    title: str,
    boxes: ArrayLike,
    counts: ArrayLike,
    *,
    caption: str = "",
    amount: str = "points",
    x_name: str = "x",
    y_name: str = "y",
) -> Picture:
    """A map of disjoint rectangles of any size, ``boxes[i] = (x low, y low, x high, y high)``."""
    corners, numbers = finite(boxes).reshape(-1, 4), finite(counts).ravel()
    if len(corners) != len(numbers) or not len(corners):
        raise UsageError(f"The map '{title}' needs one count for each of its {len(corners)} rectangles.")
    left, low, right, high = corners.T
    area = np.maximum((right - left) * (high - low), np.finfo(float).tiny)
    tint = _by_order(np.maximum(numbers, 0.0), area)
    steps = np.minimum((tint / (tint.max() or 1.0) * 11.999).astype(int), 11)
    traces = []
    for step in np.unique(steps):
        chosen = np.flatnonzero(steps == step)
        nothing = np.full(len(chosen), np.nan)
        x = np.stack(
            [left[chosen], right[chosen], right[chosen], left[chosen], left[chosen], nothing], axis=1
        )
        y = np.stack([low[chosen], low[chosen], high[chosen], high[chosen], low[chosen], nothing], axis=1)
        traces.append(
            shapes.scatter(
                x=x.ravel(),
                y=y.ravel(),
                mode="lines",
                fill="toself",
                hoverinfo="skip",
                line={"width": 0.4},
                meta={"ramp": float(step) / 11},
                showlegend=False,
            )
        )
    order = np.argsort(-numbers)[:2000]
    words = [f"<b>{readable(float(numbers[i]))}</b> {safe(amount)}" for i in order]
    traces.append(
        shapes.scatter(
            x=((left + right) / 2)[order],
            y=((low + high) / 2)[order],
            mode="markers",
            text=words,
            marker={"opacity": 0, "size": 8},
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    )
    drawn = figure(traces, **_map_layout(left.min(), right.max(), low.min(), high.max(), x_name, y_name))
    told = caption or (
        f"Map of {len(numbers):,} rectangles; stronger colour means more {amount} per area. Small rectangles "
        "show where the method looked closer."
    )
    table = tuple(
        (f"{left[i]:.6g} to {right[i]:.6g}", f"{low[i]:.6g} to {high[i]:.6g}", float(numbers[i]))
        for i in order[:200]
    )
    return Picture(title, told, drawn, (x_name, y_name, amount), table, wide=True)


def point_map(
    title: str,
    x: ArrayLike,
    y: ArrayLike,
    *,
    bounds: tuple[float, float, float, float],
    caption: str = "",
    amount: str = "points",
    x_name: str = "x",
    y_name: str = "y",
) -> Picture:
    """A map of single points, drawn small and see-through so that crowds show.

    `bounds` are those of the map: left, right, low and high.
    """
    across, up = finite(x).ravel(), finite(y).ravel()
    if len(across) != len(up):
        raise UsageError(f"The map '{title}' needs as many y as x, not {len(up)} and {len(across)}.")
    trace = shapes.scatter(
        x=across,
        y=up,
        mode="markers",
        marker={"size": 3, "opacity": 0.5},
        hovertemplate=f"{safe(x_name)} %{{x:.6~g}}, {safe(y_name)} %{{y:.6~g}}<extra></extra>",
        showlegend=False,
    )
    left, right, low, high = bounds
    drawn = figure([trace], **_map_layout(left, right, low, high, x_name, y_name))
    told = caption or f"{len(across):,} {amount}; darker where there are many."
    table = tuple((float(a), float(b)) for a, b in zip(across[:200], up[:200], strict=True))
    return Picture(title, told, drawn, (x_name, y_name), table, wide=True)


def over_ground(picture: Picture, ground: Ground) -> Picture:
    """The same picture; on a map, with public lines such as coasts and borders drawn in."""
    figure_ = picture.figure
    if not ground or figure_.layout.dragmode != "pan":
        return picture
    lines = shapes.scatter(
        x=[place for line in ground for place in (*(x for x, _ in line), None)],
        y=[place for line in ground for place in (*(y for _, y in line), None)],
        mode="lines",
        hoverinfo="skip",
        line={"width": 1},
        meta={"ground": True},
        showlegend=False,
    )
    return replace(picture, figure=Figure([*figure_.data, lines], figure_.layout))


def _softened(amounts: Numbers) -> Numbers:
    """Square roots: one crowded cell must not turn all others white."""
    return np.sqrt(np.maximum(amounts, 0.0))


def _by_order(numbers: Numbers, area: Numbers) -> Numbers:
    """Tints for densities that differ a thousandfold: logarithms, full where the densest tenth begins."""
    density = numbers / area
    dense = np.argsort(-density)
    full = density[dense[np.searchsorted(np.cumsum(numbers[dense]), numbers.sum() / 10)]]
    even = max(float(numbers.sum()), 1.0) / float(area.sum())
    return np.asarray(np.log1p(np.minimum(density, full) / even), dtype=np.float64)


def _map_layout(
    left: float, right: float, low: float, high: float, x_name: str, y_name: str
) -> dict[str, Any]:
    """To the same scale both ways, unless one side would be a strip: those are of different units."""
    tall = (high - low) / ((right - left) or 1.0)
    same = 1 / STRIP <= tall <= STRIP
    tall = tall if same else 0.6
    return {
        "height": int(min(620, max(320, 640 * tall))),
        "dragmode": "pan",
        "meta": {"tall": tall},
        "xaxis": {
            "title": {"text": safe(x_name)},
            "fixedrange": False,
            "nticks": 6,
            "range": [left, right],
            "constrain": "domain",
        },
        "yaxis": {
            "title": {"text": safe(y_name)},
            "fixedrange": False,
            "nticks": 6,
            "range": [low, high],
            **({"scaleanchor": "x"} if same else {}),
            "constrain": "domain",
        },
    }
