"""A tree with its counts as GeoJSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.kinds.points.axis import Numbers, Reals
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.space import Space

Counts = Numbers | Reals
RangeCounts = Callable[[NDArray[Any], NDArray[Any]], Reals]
"""``range_counts(low, high)``: the estimated numbers of points in many boxes over the numeric fields."""

ACROSS = ("lon", "lng", "long", "longitude", "x")
UP = ("lat", "latitude", "y")


def features(
    tree: Partition, counts: Counts, range_counts: RangeCounts, axes: tuple[str | None, str | None], side: int
) -> dict[str, Any]:
    """A feature collection of rectangles, each with its estimated count and the density per unit of area."""
    across, up = plane(tree.space, *axes)
    if len(tree.space.axes) > 2:
        x_edges, y_edges, grid = seen_from_above(tree.space, range_counts, across, up, side)
        left, low = (each.ravel() for each in np.meshgrid(x_edges[:-1], y_edges[:-1], indexing="ij"))
        right, high = (each.ravel() for each in np.meshgrid(x_edges[1:], y_edges[1:], indexing="ij"))
        amounts, depths = grid.ravel(), None
    else:
        left, low, right, high = tree.boxes(across, up, tree.leaves)
        amounts = counts.astype(np.float64)
        depths = tree.shape.depths[tree.leaves]
    area = (right - left) * (high - low)
    listed = [
        {
            "type": "Feature",
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[a, b], [c, b], [c, d], [a, d], [a, b]]],
            },
            "properties": {"count": count, "density": count / size if size > 0 else None}
            | ({} if depths is None else {"depth": int(depths[number])}),
        }
        for number, (a, b, c, d, count, size) in enumerate(
            zip(*(each.tolist() for each in (left, low, right, high, amounts, area)), strict=True)
        )
    ]
    return {"type": "FeatureCollection", "features": listed}


def plane(space: Space, x: str | None = None, y: str | None = None) -> tuple[int, int]:
    """The axes to draw to the right and upwards: as named, by their usual names, or the first two."""
    numeric = [number for number, axis in enumerate(space.axes) if not axis.category]
    if len(numeric) < 2:
        raise QueryError("A map needs two numeric fields, and this release has fewer.")
    names = {space.axes[number].name: number for number in numeric}
    for name in (x, y):
        if name is not None and name not in names:
            raise QueryError(f"'{name}' is not a numeric field of the release; it has {', '.join(names)}.")
    usual = {name.lower(): number for name, number in names.items()}
    across = names[x] if x is not None else next((usual[n] for n in ACROSS if n in usual), None)
    up = names[y] if y is not None else next((usual[n] for n in UP if n in usual), None)
    rest = [number for number in numeric if number not in (across, up)]
    if across is None:
        across = rest.pop(0)
    if up is None:
        up = rest.pop(0) if rest else next(number for number in numeric if number != across)
    if across == up:
        raise QueryError("A map needs two different fields.")
    return across, up


def seen_from_above(
    space: Space, range_counts: RangeCounts, across: int, up: int, side: int
) -> tuple[Reals, Reals, Reals]:
    """Counts on a regular grid over two axes, whatever the others say: edges, edges, counts."""
    edges = {
        number: np.linspace(*axis.bounds, side + 1)
        for number, axis in enumerate(space.axes)
        if not axis.category
    }
    cells = np.array([(i, j) for i in range(side) for j in range(side)])
    begin, end = np.empty((side * side, len(edges))), np.empty((side * side, len(edges)))
    for place, (number, along) in enumerate(edges.items()):
        begin[:, place], end[:, place] = along[0], along[-1]
        if number in (across, up):
            chosen = cells[:, 0 if number == across else 1]
            begin[:, place], end[:, place] = along[chosen], along[chosen + 1]
    return edges[across], edges[up], range_counts(begin, end).reshape(side, side)
