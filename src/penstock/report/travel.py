"""Pictures of movement: one map for each of several times, flows between areas, and spreads as boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from penstock.errors import UsageError
from penstock.report import shapes
from penstock.report.numbers import readable, sentence
from penstock.report.picture import Picture
from penstock.report.pictures import Numbers, finite
from penstock.report.shapes import Figure
from penstock.report.theme import BLUE, GREY, colours, figure, safe

PERCENTILES = (2, 25, 50, 75, 98)
ACROSS, ACROSS_NARROW = 4, 2
THICK = 6.0


def maps_by_time(
    title: str,
    times: Sequence[str],
    x_edges: ArrayLike,
    y_edges: ArrayLike,
    counts: ArrayLike,
    *,
    caption: str = "",
    amount: str = "people",
) -> Picture:
    """A small map of the same grid for each of several times, all in the same colours.

    ``counts[t, i, j]`` belongs to time t, the i-th step along x and the j-th along y.
    """
    across, up, cells = finite(x_edges), finite(y_edges), finite(counts)
    if cells.shape != (len(times), len(across) - 1, len(up) - 1):
        raise UsageError(f"The maps '{title}' need {len(times)} grids of {len(across) - 1} x {len(up) - 1}.")
    totals = cells.sum(axis=(1, 2))
    busiest = int(np.argmax(totals))
    told = caption or (
        f"{len(times)} maps in the same colours; stronger colour means more {amount}. Of these times most "
        f"{amount} are made at {times[busiest]}: {readable(float(totals[busiest]))}."
    )
    table = tuple(
        (time, float(total), float(grid.max()))
        for time, total, grid in zip(times, totals, cells, strict=True)
    )
    wide, narrow = (_side_by_side(times, across, up, cells, amount, many) for many in (ACROSS, ACROSS_NARROW))
    drawn = figure(wide.data, **wide.layout, narrow=narrow)
    return Picture(title, told, drawn, ("time", amount, "in the fullest cell"), table, wide=True)


def _side_by_side(
    times: Sequence[str], across: Numbers, up: Numbers, cells: Numbers, amount: str, many: int
) -> Figure:
    """So many maps in a row, each of the shape of its area, hanging from its title."""
    rows = -(-len(times) // many)
    top = float(np.sqrt(np.maximum(cells, 0.0)).max()) or 1.0
    traces: list[shapes.Shape] = []
    layout: dict[str, Any] = {"annotations": [], "height": int(60 + 190 * rows)}
    for place, (time, grid) in enumerate(zip(times, cells, strict=True)):
        row, column = divmod(place, many)
        name = "" if place == 0 else str(place + 1)
        traces.append(
            shapes.heatmap(
                x=across,
                y=up,
                z=np.sqrt(np.maximum(grid.T, 0.0)),
                customdata=grid.T,
                zmin=0.0,
                zmax=top,
                showscale=False,
                xgap=0,
                ygap=0,
                xaxis=f"x{name}",
                yaxis=f"y{name}",
                hovertemplate=f"{safe(time)}<br><b>%{{customdata:,.4~g}}</b> {safe(amount)}<extra></extra>",
            )
        )
        left, low = column / many, 1 - (row + 1) / rows
        bare = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False}
        shape = {"scaleanchor": f"x{name}", "constrain": "domain", "constraintoward": "top"}
        across_page, up_page = [left, left + 0.94 / many], [low, low + 0.84 / rows]
        layout[f"xaxis{name}"] = {"domain": across_page, "anchor": f"y{name}", "constrain": "domain", **bare}
        layout[f"yaxis{name}"] = {"domain": up_page, "anchor": f"x{name}", **shape, **bare}
        layout["annotations"].append(
            {
                "text": safe(time),
                "x": left + 0.47 / many,
                "y": low + 0.86 / rows,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
    return figure(traces, **layout)


def flow_map(
    title: str,
    places: ArrayLike,
    flows: ArrayLike,
    *,
    bounds: tuple[float, float, float, float],
    names: Sequence[str] = (),
    caption: str = "",
    amount: str = "people",
    most: int = 40,
) -> Picture:
    """Lines between areas, thicker where more go; ``flows[i, j]`` go from ``places[i]`` to ``places[j]``.

    Who stays in an area is a dot there. Only the largest flows are drawn; all large ones are in the table.
    """
    spots, matrix = finite(places).reshape(-1, 2), finite(flows)
    if matrix.shape != (len(spots), len(spots)):
        raise UsageError(f"The map '{title}' needs a flow between each two of its {len(spots)} places.")
    named = list(names) or [str(place + 1) for place in range(len(spots))]
    order = [divmod(int(k), len(spots)) for k in np.argsort(-matrix, axis=None)]
    order = [(i, j) for i, j in order if matrix[i, j] > 0][: 5 * most]
    top = float(matrix.max()) or 1.0
    traces: list[Any] = []
    for i, j in [pair for pair in order if pair[0] != pair[1]][:most]:
        traces.append(
            shapes.scatter(
                x=[spots[i, 0], spots[j, 0]],
                y=[spots[i, 1], spots[j, 1]],
                mode="lines",
                line={"width": 0.5 + THICK * float(matrix[i, j]) / top, "color": BLUE},
                opacity=0.5,
                hoverinfo="skip",
                showlegend=False,
            )
        )
    stay = np.diag(matrix)
    traces.append(
        shapes.scatter(
            x=spots[:, 0],
            y=spots[:, 1],
            mode="markers",
            marker={"size": 5 + 22 * np.sqrt(np.maximum(stay, 0) / top), "color": GREY, "opacity": 0.7},
            text=[
                f"{safe(name)}: <b>{readable(float(here))}</b> {safe(amount)} stay"
                for name, here in zip(named, stay, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    )
    left, right, low, high = bounds
    drawn = figure(
        traces,
        height=420,
        xaxis={"range": [left, right], "constrain": "domain"},
        yaxis={"range": [low, high], "scaleanchor": "x", "constrain": "domain"},
    )
    away = float(matrix.sum() - stay.sum())
    told = caption or (
        f"Lines between {len(spots)} areas, thicker where more {amount} go; dots are those who stay. "
        f"{readable(away)} {amount} go to another area, {readable(float(stay.sum()))} stay in their own."
    )
    table = tuple((named[i], named[j], float(matrix[i, j])) for i, j in order[:200])
    table = table or ((named[0], named[0], 0.0),)
    return Picture(title, told, drawn, ("from", "to", amount), table, wide=True)


def spreads(
    title: str, series: Mapping[str, ArrayLike], *, axis: str, caption: str = "", unit: str = ""
) -> Picture:
    """A box for each series: the middle half with its median; whiskers at the 2nd and 98th percentile."""
    rows: list[tuple[Any, ...]] = []
    traces: list[Any] = []
    for (name, values), colour in zip(series.items(), colours(list(series)), strict=True):
        numbers = finite(values).ravel()
        cuts = np.percentile(numbers, PERCENTILES) if numbers.size else np.zeros(len(PERCENTILES))
        rows.append((name, *(float(cut) for cut in cuts)))
        traces.append(
            shapes.box(
                name=safe(name),
                q1=[cuts[1]],
                median=[cuts[2]],
                q3=[cuts[3]],
                lowerfence=[cuts[0]],
                upperfence=[cuts[4]],
                x=[safe(name)],
                line={"color": colour},
                showlegend=False,
            )
        )
    drawn = figure(traces, height=320, yaxis={"title": {"text": safe(axis)}, "rangemode": "tozero"})
    told = caption or sentence(
        "; ".join(
            f"{name}: half lie between {readable(cuts[1])} and {readable(cuts[3])} {unit}".rstrip()
            for name, *cuts in rows
        )
        + ". Whiskers end at the 2nd and the 98th percentile."
    )
    columns = ("", *(f"{each} %" for each in PERCENTILES))
    return Picture(title, told, drawn, columns, tuple(rows))
