"""Dots and lines: a graph without directions, for reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from penstock.errors import UsageError
from penstock.report import shapes
from penstock.report.picture import Picture
from penstock.report.theme import BLUE, GREY, figure


def dots_and_lines(
    title: str, places: ArrayLike, links: Sequence[tuple[int, int]], caption: str = ""
) -> Picture:
    """Nodes at their places, larger where more lines end, and a line for each link.

    Nodes are numbered from 1 on in the order of their places; `links` name them from 0 on.

    >>> dots_and_lines("Path", [[0, 0], [1, 0], [2, 0]], [(0, 1), (1, 2)]).rows
    ((1, 2), (2, 3))
    """
    spots = np.asarray(places, dtype=np.float64).reshape(-1, 2)
    if any(not 0 <= end < len(spots) for link in links for end in link):
        raise UsageError(f"The picture '{title}' has a link to a node that has no place.")
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    lines = np.full((len(ends), 3, 2), np.nan)  # what is missing ends a line
    lines[:, 0], lines[:, 1] = spots[ends[:, 0]], spots[ends[:, 1]]
    many = np.bincount(ends.ravel(), minlength=len(spots))
    drawn = figure(
        [
            shapes.scatter(
                x=lines[..., 0].ravel(),
                y=lines[..., 1].ravel(),
                mode="lines",
                hoverinfo="skip",
                line={"width": 1.2, "color": GREY},
            ),
            shapes.scatter(
                x=spots[:, 0],
                y=spots[:, 1],
                mode="markers",
                customdata=np.stack([np.arange(1, len(spots) + 1), many], axis=1),
                marker={
                    "size": 8 + 3 * np.sqrt(many),
                    "color": BLUE,
                    "opacity": 1,
                    "line": {"width": 1.5, "color": "white"},
                },
                hovertemplate="node %{customdata[0]}<br><b>%{customdata[1]}</b> links<extra></extra>",
            ),
        ],
        showlegend=False,
        height=460,
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
    )
    told = caption or f"{len(spots):,} nodes and {len(links):,} links between them."
    rows = tuple((one + 1, other + 1) for one, other in ends.tolist())
    return Picture(title, told, drawn, ("node", "linked with"), rows, wide=True)
