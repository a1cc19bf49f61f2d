"""Pictures of a tree release: its map, synthetic points, and what lies along each axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from penstock.kinds.points.geojson import plane, seen_from_above
from penstock.report.maps import box_map, grid_map, point_map
from penstock.report.picture import Picture
from penstock.report.pictures import bars, histogram

if TYPE_CHECKING:
    from penstock.kinds.points.axis import Numbers
    from penstock.kinds.points.tree import TreeRelease

MOST_CELLS = 6000
MOST_POINTS = 4000
SIDE = 64
BINS = 48


def pictures(release: TreeRelease) -> list[Picture]:
    """All pictures for the report."""
    return list(_pictures(release))


def _pictures(release: TreeRelease) -> Iterator[Picture]:
    numeric = [number for number, axis in enumerate(release.space.axes) if not axis.category]
    if len(numeric) >= 2:
        across, up = plane(release)
        yield _map(release, across, up)
        yield _points(release, across, up)
    for number in range(len(release.space.axes)):
        yield _along(release, number)


def _map(release: TreeRelease, across: int, up: int) -> Picture:
    names = release.space.axes[across].name, release.space.axes[up].name
    if len(release.space.axes) > 2:
        x_edges, y_edges, counts = seen_from_above(release, across, up, SIDE)
        return grid_map(
            "Map of the released counts",
            x_edges,
            y_edges,
            np.maximum(counts, 0),
            x_name=names[0],
            y_name=names[1],
        )
    nodes = _shown(release)
    totals = release.partition.shape.sums(release.counts)[nodes]
    boxes = np.column_stack(release.leaf_boxes(across, up, nodes))
    whole = len(nodes) == len(release.partition.leaves)
    caption = (
        f"The {len(nodes):,} leaves of the tree"
        if whole
        else f"The tree, its finest parts merged into {len(nodes):,} cells out of "
        f"{len(release.partition.leaves):,} leaves"
    )
    return box_map(
        "Map of the released counts",
        boxes,
        np.maximum(totals, 0),
        caption=f"{caption}; stronger colour means more points per area. Cells are small where the method "
        "found many points.",
        x_name=names[0],
        y_name=names[1],
    )


def _shown(release: TreeRelease) -> Numbers:
    """The leaves, or where there are too many the tree cut at a depth at which they are few enough."""
    shape = release.partition.shape
    chosen = shape.leaves
    depth = shape.depth
    while len(chosen) > MOST_CELLS and depth > 0:
        depth -= 1
        chosen = np.flatnonzero(((shape.fans == 0) & (shape.depths <= depth)) | (shape.depths == depth))
    return chosen


def _points(release: TreeRelease, across: int, up: int) -> Picture:
    rows = release.sample(min(release.size, MOST_POINTS), seed=0)
    fields = release.space.axes[across].field, release.space.axes[up].field
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


def _along(release: TreeRelease, number: int) -> Picture:
    """How the points are spread along one axis."""
    axis, leaves = release.space.axes[number], release.partition.leaves
    low, high = release.partition.low[leaves, number], release.partition.high[leaves, number]
    density = release.counts / (high - low)
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
