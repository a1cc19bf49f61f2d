"""Pictures of a tree with its counts: its map, synthetic points, and what lies along each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.kinds.points.geojson import Counts, RangeCounts, plane, seen_from_above
from penstock.report.maps import box_map, grid_map, point_map
from penstock.report.picture import Picture
from penstock.report.pictures import bars, histogram

if TYPE_CHECKING:
    import polars as pl

    from penstock.kinds.points.axis import Numbers
    from penstock.kinds.points.partition import Partition
    from penstock.kinds.points.space import Space

MOST_CELLS = 6000
MOST_POINTS = 4000
SIDE = 64
BINS = 48


def pictures(tree: Partition, counts: Counts, rows: pl.DataFrame, range_counts: RangeCounts) -> list[Picture]:
    """All pictures for the report: of the counts of the leaves, and of some synthetic rows."""
    axes, found = tree.space.axes, []
    if sum(not axis.category for axis in axes) >= 2:
        across, up = plane(tree.space)
        if len(axes) > 2:
            found.append(_grid(tree.space, range_counts, across, up))
        else:
            found.append(_map(tree, counts, across, up))
        found.append(_points(tree.space, rows, across, up))
    return [*found, *(_along(tree, counts, number) for number in range(len(axes)))]


def _grid(space: Space, range_counts: RangeCounts, across: int, up: int) -> Picture:
    x_edges, y_edges, counts = seen_from_above(space, range_counts, across, up, SIDE)
    return grid_map(
        "Map of the released counts",
        x_edges,
        y_edges,
        np.maximum(counts, 0),
        x_name=space.axes[across].name,
        y_name=space.axes[up].name,
    )


def _map(tree: Partition, counts: Counts, across: int, up: int) -> Picture:
    nodes = _shown(tree)
    totals = tree.shape.sums(counts)[nodes]
    boxes = np.column_stack(tree.boxes(across, up, nodes))
    whole = len(nodes) == len(tree.leaves)
    caption = (
        f"The {len(nodes):,} leaves of the tree"
        if whole
        else f"The tree, its finest parts merged into {len(nodes):,} cells out of {len(tree.leaves):,} leaves"
    )
    return box_map(
        "Map of the released counts",
        boxes,
        np.maximum(totals, 0),
        caption=f"{caption}; stronger colour means more points per area. Cells are small where the method "
        "found many points.",
        x_name=tree.space.axes[across].name,
        y_name=tree.space.axes[up].name,
    )


def _shown(tree: Partition) -> Numbers:
    """The leaves, or where there are too many the tree cut at a depth at which they are few enough."""
    shape = tree.shape
    chosen = shape.leaves
    depth = shape.depth
    while len(chosen) > MOST_CELLS and depth > 0:
        depth -= 1
        chosen = np.flatnonzero(((shape.fans == 0) & (shape.depths <= depth)) | (shape.depths == depth))
    return chosen


def _points(space: Space, rows: pl.DataFrame, across: int, up: int) -> Picture:
    fields = space.axes[across].field, space.axes[up].field
    names = fields[0].name, fields[1].name
    drawn = [rows[name].to_physical().to_numpy().astype(np.float64) for name in names]
    return point_map(
        "Synthetic points",
        *drawn,
        bounds=(fields[0].edges.low, fields[0].edges.end, fields[1].edges.low, fields[1].edges.end),
        caption=f"{rows.height:,} points drawn from the release. None of them is a real one.",
        x_name=names[0],
        y_name=names[1],
    )


def _along(tree: Partition, leaf_counts: Counts, number: int) -> Picture:
    """How the points are spread along one axis."""
    axis, leaves = tree.space.axes[number], tree.leaves
    low, high = tree.low[leaves, number], tree.high[leaves, number]
    density = leaf_counts / (high - low)
    if axis.codes is not None:
        edges = np.arange(axis.places + 1.0)
    elif axis.field.whole:
        edges = np.unique(np.linspace(0, axis.length, BINS + 1).round())
    else:
        edges = np.linspace(0, axis.length, BINS + 1)
    # the integral of all leaves' densities up to every edge, from where each begins and ends
    steps, change = np.concatenate([low, high]), np.concatenate([density, -density])
    order = np.argsort(steps, kind="stable")
    steps, slope = steps[order], np.cumsum(change[order])
    reached = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(steps))])
    counts = np.maximum(np.diff(np.interp(edges, steps, reached)), 0.0)
    if axis.codes is not None:
        labels = np.array(axis.codec.attribute.labels)[axis.codes]
        return bars(f"Points by {axis.name}", labels.tolist(), counts, amount="points")
    return histogram(f"Points along {axis.name}", axis.values(edges), counts, amount="points", axis=axis.name)
