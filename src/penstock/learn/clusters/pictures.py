"""Pictures of clusters: where their centres lie, on a map or along every field, and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.learn.clusters.synopsis import GridSynopsis
from penstock.report.maps import grid_map, point_map
from penstock.report.numbers import readable
from penstock.report.picture import Picture
from penstock.report.pictures import bars
from penstock.report.theme import PALETTE, figure, safe

if TYPE_CHECKING:
    from penstock.learn.clusters.release import ClustersRelease

MOST_SHOWN = 24
MAP_SIDE = 128


def pictures(release: ClustersRelease) -> list[Picture]:
    """All pictures for the report."""
    found = [_along(release)]
    if len(release.schema.names) == 2:
        found.insert(0, _map(release))
        if isinstance(release.synopsis, GridSynopsis) and max(release.synopsis.sides) <= MAP_SIDE:
            found.insert(1, _cells(release, release.synopsis))
    if release.sizes is not None:
        labels = [f"cluster {number}" for number in range(len(release.centres))]
        found.append(bars("Points of every cluster", labels, np.maximum(release.sizes, 0.0), amount="points"))
    return found


def _along(release: ClustersRelease) -> Picture:
    """Every centre as a line across all fields, each scaled to its bounds."""
    import plotly.graph_objects as go

    names, box = release.schema.names, release.box
    heights = (box.units(release.centres) + 1) / 2
    sizes = np.zeros(len(heights)) if release.sizes is None else np.maximum(release.sizes, 0.0)
    widths = 1.5 + 6 * np.sqrt(sizes / max(float(sizes.max()), 1.0))
    shown = range(min(len(heights), MOST_SHOWN))
    traces = [
        go.Scatter(
            x=list(range(len(names))),
            y=heights[number],
            mode="lines+markers",
            name=f"cluster {number}",
            line={"width": float(widths[number]), "color": PALETTE[number % len(PALETTE)]},
            customdata=[readable(float(value)) for value in release.centres[number]],
            hovertemplate=f"cluster {number}<br><b>%{{customdata}}</b><extra></extra>",
        )
        for number in shown
    ]
    drawn = figure(
        traces,
        height=360,
        showlegend=True,
        xaxis={"tickvals": list(range(len(names))), "ticktext": [safe(name, 18) for name in names]},
        yaxis={
            "range": [-0.02, 1.02],
            "tickvals": [0, 1],
            "ticktext": ["lowest", "highest"],
            "showgrid": True,
        },
    )
    left = len(heights) - len(shown)
    rows = tuple((number, *map(float, centre)) for number, centre in enumerate(release.centres))
    return Picture(
        "Centres of the clusters",
        f"{len(heights)} centres, each a line across the fields from the lowest to the highest declared value"
        + ("; thicker lines have more points." if release.sizes is not None else ".")
        + (f" {left} smaller ones are not drawn." if left else ""),
        drawn,
        ("cluster", *names),
        rows,
        wide=True,
    )


def _map(release: ClustersRelease) -> Picture:
    low, high = release.box.low, release.box.low + release.box.width
    names = release.schema.names
    drawn = point_map(
        "Map of the centres",
        release.centres[:, 0],
        release.centres[:, 1],
        bounds=(float(low[0]), float(high[0]), float(low[1]), float(high[1])),
        caption=f"The {len(release.centres)} centres in the declared box.",
        x_name=names[0],
        y_name=names[1],
    )
    drawn.figure.update_traces(marker={"size": 11, "opacity": 1.0})
    return drawn


def _cells(release: ClustersRelease, synopsis: GridSynopsis) -> Picture:
    box, names = release.box, release.schema.names
    across, up = (
        np.linspace(box.low[axis], box.low[axis] + (box.width[axis] or 1.0), synopsis.sides[axis] + 1)
        for axis in (0, 1)
    )
    counts = np.maximum(synopsis.counts, 0).reshape(synopsis.sides)
    return grid_map("Map of the synopsis", across, up, counts, x_name=names[0], y_name=names[1])
