"""Pictures of clusters: where their centres lie, on a map or along every field, and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.learn.clusters.projection import UNIT
from penstock.learn.clusters.synopsis import GrownSynopsis, Synopsis
from penstock.report import shapes
from penstock.report.maps import grid_map, point_map
from penstock.report.numbers import readable
from penstock.report.picture import Picture
from penstock.report.pictures import bars
from penstock.report.theme import BLUE, GREY, HUES, figure, safe

if TYPE_CHECKING:
    from penstock.learn.clusters.release import ClustersRelease

Reals = NDArray[np.float64]

MOST_SHOWN = 24
MAP_SIDE = 96
MOST_DRAWN = 20_000
"""Cells beyond so many, the smallest counts, are left out of a map."""


def pictures(release: ClustersRelease) -> list[Picture]:
    """All pictures for the report."""
    found = [_along(release)]
    if len(release.schema.names) > 1:
        found.insert(0, _map(release))
    if release.sizes is not None:
        labels = [f"cluster {number}" for number in range(len(release.centres))]
        found.append(bars("Points of every cluster", labels, np.maximum(release.sizes, 0.0), amount="points"))
    return found


def beside(release: ClustersRelease, others: Reals) -> Picture:
    """The centres of a release and those found without noise; for the custodian."""
    box, names = release.box, release.schema.names
    across, up = _widest(box.units(np.concatenate([release.centres, others])))
    sets = (("without noise", others, "circle-open", 17), ("release", release.centres, "circle", 9))
    traces = [
        shapes.scatter(
            x=centres[:, across],
            y=centres[:, up] if up != across else np.zeros(len(centres)),
            mode="markers",
            name=name,
            marker={"size": size, "symbol": symbol, "color": (GREY, BLUE)[number], "line": {"width": 2}},
            hovertemplate="%{x:.6~g}, %{y:.6~g}<extra></extra>",
        )
        for number, (name, centres, symbol, size) in enumerate(sets)
    ]
    axes = {"title": {"text": safe(names[across], 40)}}, {"title": {"text": safe(names[up], 40)}}
    drawn = figure(traces, height=420, showlegend=True, xaxis=axes[0], yaxis=axes[1])
    rows = [(name, *map(float, centre)) for name, centres, _, _ in sets for centre in centres]
    return Picture(
        "Centres of the release and without noise",
        "Every ring is a centre that Lloyd's algorithm finds on the records themselves; a dot inside it is "
        f"one that the release found, too. Drawn along {names[across]} and {names[up]}, where they differ "
        "most.",
        drawn,
        ("found", *names),
        tuple(rows),
        wide=True,
    )


def _along(release: ClustersRelease) -> Picture:
    """Every centre as a line across all fields, each scaled to its bounds."""
    names, box = release.schema.names, release.box
    heights = (box.units(release.centres) + 1) / 2
    sizes = np.zeros(len(heights)) if release.sizes is None else np.maximum(release.sizes, 0.0)
    widths = 1.5 + 6 * np.sqrt(sizes / max(float(sizes.max()), 1.0))
    shown = range(min(len(heights), MOST_SHOWN))
    traces = [
        shapes.scatter(
            x=list(range(len(names))),
            y=heights[number],
            mode="lines+markers",
            name=f"cluster {number}",
            line={"width": float(widths[number]), "color": HUES[number % len(HUES)]},
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
    """The centres along the two fields, or directions, in which they differ most, on top of the synopsis."""
    synopsis, box = release.synopsis, release.box
    directions = synopsis.directions if isinstance(synopsis, GrownSynopsis) else None
    if directions is None:
        places = box.units(release.centres)
        low, width, names = box.low, box.width, release.schema.names
    else:
        steps = box.steps(box.units(release.centres))
        places = (steps @ directions.weights.T - directions.middle) / directions.reach
        width = np.full(len(directions.names), 2 * directions.reach / UNIT)
        low, names = -width / 2, directions.names
    across, up = _widest(places)
    ends = [(float(low[axis]), float(low[axis] + (width[axis] or 1.0))) for axis in (across, up)]
    shown = (places + 1) / 2 * width + low
    lead = f"The {len(places)} centres along {names[across]} and {names[up]}"
    if directions is None and len(names) > 2:
        lead += ", where they differ most"
    if synopsis is None:
        drawn = point_map(
            "Map of the centres",
            shown[:, across],
            shown[:, up],
            bounds=(*ends[0], *ends[1]),
            caption=f"{lead}.",
            x_name=names[across],
            y_name=names[up],
        )
    else:
        amounts = _seen(synopsis, across, up)
        drawn = grid_map(
            "Map of the centres",
            np.linspace(*ends[0], MAP_SIDE + 1),
            np.linspace(*ends[1], MAP_SIDE + 1),
            amounts,
            caption=f"{lead}, on {synopsis.words}; stronger colour means more points.",
            x_name=names[across],
            y_name=names[up],
        )
    sizes = np.zeros(len(places)) if release.sizes is None else np.maximum(release.sizes, 0.0)
    few = len(places) <= MOST_SHOWN
    drawn.figure.data.append(
        shapes.scatter(
            x=shown[:, across],
            y=shown[:, up],
            mode="markers+text" if few else "markers",
            text=[str(number) for number in range(len(places))] if few else None,
            textposition="top center",
            textfont={"size": 13},
            marker={
                "size": 8 + 12 * np.sqrt(sizes / max(float(sizes.max()), 1.0)),
                "color": [HUES[number % len(HUES)] for number in range(len(places))],
                "line": {"width": 1.5, "color": "white"},
                "opacity": 1.0,
            },
            hovertemplate="cluster %{pointNumber}<extra></extra>",
            showlegend=False,
        )
    )
    return drawn


def _widest(places: Reals) -> tuple[int, int]:
    """The two axes along which places differ most, in their own order; one axis twice where it is alone."""
    if places.shape[1] < 2:
        return 0, 0
    one, two = sorted(np.argsort(-places.var(axis=0), kind="stable")[:2].tolist())
    return int(one), int(two)


def _seen(synopsis: Synopsis, across: int, up: int) -> Reals:
    """The counts of a synopsis on a square of small cells, seen along two of its axes; none below zero."""
    low, high = synopsis.ends
    edges = np.linspace(-1, 1, MAP_SIDE + 1)

    def parts(axis: int) -> Reals:
        """Which share of every cell lies in every small one, along an axis."""
        begin, end = low[:, axis, None], high[:, axis, None]
        inside = np.minimum(end, edges[1:]) - np.maximum(begin, edges[:-1])
        return np.asarray(np.maximum(inside, 0.0) / np.maximum(end - begin, 1e-12))

    order = np.argsort(-np.abs(synopsis.counts), kind="stable")[:MOST_DRAWN]
    low, high = low[order], high[order]
    total = (parts(across) * synopsis.counts[order, None]).T @ parts(up)
    return np.maximum(total, 0.0)
