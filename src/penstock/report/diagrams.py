"""Networks and trees as pictures: which attributes depend on which, which patterns were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, pi, sin, sqrt
from typing import Any

from penstock.errors import UsageError
from penstock.report import shapes
from penstock.report.numbers import readable
from penstock.report.picture import Picture
from penstock.report.shapes import Figure
from penstock.report.theme import BLUE, GREY, figure, mixed, safe, told_apart

Place = tuple[float, float]


def network(
    title: str,
    nodes: Sequence[str],
    edges: Sequence[tuple[str, str]],
    *,
    caption: str = "",
    strengths: Sequence[float] = (),
) -> Picture:
    """Labelled nodes and the arrows between them.

    A network without cycles is drawn in layers, so that every arrow points down; others stand on a
    circle. `strengths`, one for each edge, are written beside it and make strong edges thicker.
    """
    known = set(nodes)
    for edge in edges:
        for end in edge:
            if end not in known:
                raise UsageError(
                    f"The network '{title}' has an edge to '{end}', which is not one of its nodes."
                )
    layers = _layers(nodes, edges)
    spots = _in_layers(layers, edges) if layers else _on_circle(nodes)
    parents: dict[str, list[str]] = {node: [] for node in nodes}
    for start, end in edges:
        parents[end].append(start)
    hover = [
        f"<b>{safe(node)}</b>"
        + (f"<br>depends on {safe(', '.join(parents[node]), 120)}" if parents[node] else "")
        for node in nodes
    ]
    if strengths and len(strengths) != len(edges):
        raise UsageError(f"The network '{title}' needs one strength for each of its {len(edges)} edges.")
    x, y, heads = _paths(spots, edges)
    traces = []
    for width, group in _by_width(edges, strengths):
        across, down, _ = _paths(spots, group)
        line = {"width": width, "color": GREY}
        traces.append(shapes.scatter(x=across, y=down, mode="lines", hoverinfo="skip", line=line))
    traces.append(_arrows(heads))
    if strengths:
        middle = _free_places(x, y, spots)
        traces.append(
            shapes.scatter(
                x=[x[i] for i in middle],
                y=[y[i] for i in middle],
                mode="text",
                text=[readable(strength) for strength in strengths],
                textfont={"size": 10},
                customdata=[f"{safe(start)} → {safe(end)}" for start, end in edges],
                hovertemplate="%{customdata}<br><b>%{text}</b><extra></extra>",
            )
        )
    traces.append(
        shapes.scatter(
            x=[spots[node][0] for node in nodes],
            y=[spots[node][1] for node in nodes],
            mode="markers",
            customdata=hover,
            marker={"size": 26, "opacity": 0},
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    names = [_pill(text, *spots[node]) for node, text in zip(nodes, told_apart(nodes, 16), strict=True)]
    depth = len(layers) if layers else max(4, int(sqrt(len(nodes)) * 2))
    low, high = min(y for _, y in spots.values()), max(y for _, y in spots.values())
    left, right = min(x for x, _ in spots.values()), max(x for x, _ in spots.values())
    room = 0.14 * ((right - left) or 1.0)
    bows = [place for place in x if place is not None]
    first, last = min([left - room, *bows]), max([right + room, *(place + 0.3 * room for place in bows)])
    drawn = figure(
        traces,
        showlegend=False,
        height=min(760, 70 + 84 * depth),
        annotations=names,
        xaxis={"visible": False, "range": [first, last]},
        yaxis={"visible": False, "range": [low - 0.35, high + 0.35]},
        narrow=_arcs([node for layer in layers for node in layer] if layers else nodes, edges, strengths),
    )
    told = caption or (
        f"Network of {len(nodes)} nodes and {len(edges)} edges; each arrow leads from what is drawn first to "
        "what depends on it."
    )
    if strengths:
        rows = tuple((*edge, float(strength)) for edge, strength in zip(edges, strengths, strict=True))
        return Picture(title, told, drawn, ("from", "to", "strength"), rows, wide=True)
    return Picture(title, told, drawn, ("from", "to"), tuple(edges), wide=True)


def _arcs(nodes: Sequence[str], edges: Sequence[tuple[str, str]], strengths: Sequence[float]) -> Figure:
    """The same network for a narrow screen: a line of text for each node, and arcs from one to the other."""
    row = {node: place for place, node in enumerate(nodes)}
    farthest = max((abs(row[a] - row[b]) for a, b in edges), default=1)
    top = max(strengths, default=1.0) or 1.0
    traces = []
    for number, (start, end) in enumerate(edges):
        first, last = row[start], row[end]
        reach = sqrt(abs(last - first) / farthest)
        turns = [step / 16 * pi for step in range(17)]
        traces.append(
            shapes.scatter(
                x=[-reach * sin(turn) for turn in turns],
                y=[(first + last) / 2 - (last - first) / 2 * cos(turn) for turn in turns],
                mode="lines",
                hoverinfo="skip",
                opacity=0.75,
                line={"width": 1 + 3 * strengths[number] / top if strengths else 1.4, "color": GREY},
            )
        )
    traces.append(
        shapes.scatter(
            x=[0.0] * len(nodes),
            y=list(range(len(nodes))),
            mode="markers+text",
            text=told_apart(nodes, 26),
            textposition="middle right",
            textfont={"size": 13},
            marker={"size": 9, "color": BLUE},
        )
    )
    return figure(
        traces,
        showlegend=False,
        height=24 + 26 * len(nodes),
        xaxis={"visible": False, "range": [-1.05, 1.25]},
        yaxis={"visible": False, "range": [len(nodes) - 0.4, -0.6]},
    )


def _free_places(x: Sequence[Any], y: Sequence[Any], spots: Mapping[str, Place]) -> list[int]:
    """For every edge the point of its curve at which a number can stand: off all nodes and other numbers."""
    sides = [across for across, _ in spots.values()]
    wide, tall = 0.09 * ((max(sides) - min(sides)) or 1.0), 0.3
    taken, found = list(spots.values()), []
    for begin in range(0, len(x), 18):
        room = {
            place: min(max(abs(x[place] - a) / wide, abs(y[place] - b) / tall) for a, b in taken)
            for place in (begin + step for step in (5, 6, 4, 7, 3, 10, 11, 12, 13))  # off the arrowhead
        }
        free = next((place for place, clear in room.items() if clear >= 1), None)
        found.append(max(room, key=lambda place: room[place]) if free is None else free)
        taken.append((x[found[-1]], y[found[-1]]))
    return found


def _by_width(
    edges: Sequence[tuple[str, str]], strengths: Sequence[float]
) -> list[tuple[float, list[tuple[str, str]]]]:
    """The edges in a few groups of equal line width, thin ones first."""
    if not strengths:
        return [(1.6, list(edges))]
    top = max(strengths) or 1.0
    groups: dict[float, list[tuple[str, str]]] = {}
    for edge, strength in zip(edges, strengths, strict=True):
        groups.setdefault(1.0 + round(3 * strength / top), []).append(edge)
    return sorted(groups.items())


def tree(
    title: str,
    labels: Sequence[str],
    parents: Sequence[int],
    values: Sequence[float],
    *,
    caption: str = "",
    amount: str = "records",
    most: int = 60,
    short: Sequence[str] = (),
) -> Picture:
    """A tree from left to right, for suffix trees and taxonomies.

    ``parents[i]`` is the position of node i's parent, or -1 for the root; parents come before
    their children. Beyond `most` nodes only the fullest are drawn, with all their ancestors. A label of
    several lines is drawn in as many. `short` is what is drawn in place of the labels, which are then told
    where the pointer is and in the table.
    """
    if not (len(labels) == len(parents) == len(values)) or not labels:
        raise UsageError(f"The tree '{title}' needs one parent and one value for each of its labels.")
    if any(parent >= node or parent < -1 for node, parent in enumerate(parents)):
        raise UsageError(f"The tree '{title}' must name every parent before its children.")
    kept = _fullest(parents, values, most)
    spots = _tidy(kept, parents)
    inner = {parents[i] for i in kept}
    largest = max((abs(values[i]) for i in kept), default=1.0) or 1.0
    x, y = [], []
    for node in kept:
        parent = parents[node]
        if parent >= 0:
            (x0, y0), (x1, y1) = spots[parent], spots[node]
            bend = (x0 + x1) / 2
            x += [x0, bend, bend, x1, None]
            y += [y0, y0, y1, y1, None]
    sizes = [7 + 17 * sqrt(abs(values[i]) / largest) for i in kept]
    shades = [mixed(BLUE, "#8FB8D3", sqrt(abs(values[i]) / largest)) for i in kept]
    leaves = max(1, len({spots[i][1] for i in kept}))
    deepest = max(place[0] for place in spots.values())
    longest = max(len(line) for i in kept if spots[i][0] == deepest for line in str(labels[i]).split("\n"))
    lines = max(str(labels[i]).count("\n") + 1 for i in kept)
    whole = [str(label).replace("\n", " ") for label in labels]
    drawn = figure(
        [
            shapes.scatter(x=x, y=y, mode="lines", hoverinfo="skip", line={"width": 1.2, "color": GREY}),
            shapes.scatter(
                x=[spots[i][0] for i in kept],
                y=[spots[i][1] for i in kept],
                mode="markers+text",
                text=[_in_lines((short or labels)[i], "" if i in inner else "  ") for i in kept],
                textposition=["top center" if i in inner else "middle right" for i in kept],
                textfont={"size": 12},
                cliponaxis=False,
                customdata=[[safe(whole[i], 200), readable(values[i])] for i in kept],
                marker={"size": sizes, "color": shades, "opacity": 1, "line": {"width": 0}},
                hovertemplate="%{customdata[0]}<br><b>%{customdata[1]}</b> "
                + safe(amount)
                + "<extra></extra>",
            ),
        ],
        showlegend=False,
        margin={"l": 8, "r": 24 + 7 * min(longest, 18), "t": 8, "b": 8},
        height=min(900 * lines, 60 + (16 + 16 * lines) * leaves),
        xaxis={"visible": False, "range": [-0.2, deepest + 0.1]},
        yaxis={"visible": False, "autorange": "reversed"},
        narrow=_indented(kept, parents, short or labels, sizes, shades),
    )
    left_out = len(labels) - len(kept)
    told = (
        caption
        or f"Tree of {len(labels):,} nodes, {deepest:.0f} levels deep; larger nodes hold more {amount}."
        + (f" The {left_out:,} least full nodes are not drawn." if left_out else "")
    )
    rows = tuple((whole[i], whole[parents[i]] if parents[i] >= 0 else "", float(values[i])) for i in kept)
    return Picture(title, told, drawn, ("node", "under", amount), rows, wide=True)


def _indented(
    kept: Sequence[int],
    parents: Sequence[int],
    labels: Sequence[str],
    sizes: Sequence[float],
    shades: Sequence[str],
) -> Figure:
    """The same tree for a narrow screen: a line of text for each node, further in than its parent's."""
    depth: dict[int, int] = {}
    below: dict[int, list[int]] = {node: [] for node in kept}
    for node in kept:
        depth[node] = depth[parents[node]] + 1 if parents[node] >= 0 else 0
        if parents[node] >= 0:
            below[parents[node]].append(node)
    row: dict[int, int] = {}
    waiting = [node for node in reversed(kept) if parents[node] < 0]
    while waiting:
        node = waiting.pop()
        row[node] = len(row)
        waiting.extend(reversed(below[node]))
    joined = [node for node in kept if parents[node] >= 0]
    lines = shapes.scatter(
        x=[place for node in joined for place in (depth[node] - 1, depth[node] - 1, depth[node], None)],
        y=[place for node in joined for place in (row[parents[node]], row[node], row[node], None)],
        mode="lines",
        hoverinfo="skip",
        line={"width": 1.2, "color": GREY},
    )
    dots = shapes.scatter(
        x=[depth[node] for node in kept],
        y=[row[node] for node in kept],
        mode="markers+text",
        text=[safe(str(labels[node]).replace("\n", " "), 34) for node in kept],
        textposition="middle right",
        textfont={"size": 13},
        marker={"size": [min(size, 16) for size in sizes], "color": list(shades)},
    )
    return figure(
        [lines, dots],
        showlegend=False,
        height=24 + 22 * len(kept),
        xaxis={"visible": False, "range": [-0.6, max(depth.values()) + 11]},
        yaxis={"visible": False, "range": [len(kept) - 0.4, -0.6]},
    )


def _in_lines(label: object, indent: str) -> str:
    return "<br>".join(f"{indent}{safe(line, 18)}" for line in str(label).split("\n"))


def _layers(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]] | None:
    """Nodes by their longest way from a source; None when there is a cycle."""
    waiting = dict.fromkeys(nodes, 0)
    children: dict[str, list[str]] = {node: [] for node in nodes}
    for start, end in edges:
        waiting[end] += 1
        children[start].append(end)
    depth = dict.fromkeys(nodes, 0)
    ready = [node for node in nodes if not waiting[node]]
    for node in ready:
        for child in children[node]:
            depth[child] = max(depth[child], depth[node] + 1)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if len(ready) != len(nodes):
        return None
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for node in nodes:
        layers[depth[node]].append(node)
    return layers


def _in_layers(layers: list[list[str]], edges: Sequence[tuple[str, str]]) -> dict[str, Place]:
    """Each layer on a line of its own, its nodes below the middle of their parents."""
    parents: dict[str, list[str]] = {}
    for start, end in edges:
        parents.setdefault(end, []).append(start)
    spots: dict[str, Place] = {}
    for row, layer in enumerate(layers):
        if row:
            middle = {node: sum(spots[p][0] for p in parents[node]) / len(parents[node]) for node in layer}
            layer = sorted(layer, key=lambda node: middle[node])
        for index, node in enumerate(layer):
            # Every other node a little lower: neighbouring names do not run into each other.
            dip = 0.32 if len(layer) > 4 and index % 2 else 0.0
            spots[node] = ((index + 0.5) / len(layer) + 0.05 * (row % 3 - 1), -float(row) - dip)
    return spots


def _on_circle(nodes: Sequence[str]) -> dict[str, Place]:
    turn = 2 * pi / max(1, len(nodes))
    return {node: (cos(i * turn), sin(i * turn)) for i, node in enumerate(nodes)}


def _pill(text: str, x: float, y: float) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "text": text,
        "showarrow": False,
        "bgcolor": BLUE,
        "borderpad": 6,
        "font": {"color": "#ffffff", "size": 12},
        "captureevents": False,
    }


def _paths(
    spots: Mapping[str, Place], edges: Sequence[tuple[str, str]]
) -> tuple[list[Any], list[Any], list[tuple[Place, Place]]]:
    """Every edge as a curve, and a short piece of its middle for the arrowhead.

    Long edges bow out: straight ones would run through the nodes between their ends.
    """
    x: list[Any] = []
    y: list[Any] = []
    middles = []
    for start, end in edges:
        (x0, y0), (x1, y1) = spots[start], spots[end]
        bow = 0.1 * abs(y1 - y0) if abs(y1 - y0) > 1.4 else 0.0
        turn = ((x0 + x1) / 2 + bow, (y0 + y1) / 2)
        path = [
            (
                (1 - t) ** 2 * x0 + 2 * t * (1 - t) * turn[0] + t * t * x1,
                (1 - t) ** 2 * y0 + 2 * t * (1 - t) * turn[1] + t * t * y1,
            )
            for t in (step / 16 for step in range(17))
        ]
        middles.append((path[8], path[9]))
        x += [*(place[0] for place in path), None]
        y += [*(place[1] for place in path), None]
    return x, y, middles


def _arrows(pieces: Sequence[tuple[Place, Place]]) -> Any:
    """Arrowheads half way along the edges, where no node covers them."""
    return shapes.scatter(
        x=[place[0] for piece in pieces for place in piece],
        y=[place[1] for piece in pieces for place in piece],
        mode="markers",
        hoverinfo="skip",
        marker={"symbol": "arrow", "angleref": "previous", "size": [0, 12] * len(pieces), "color": GREY},
    )


def _fullest(parents: Sequence[int], values: Sequence[float], most: int) -> list[int]:
    chosen: set[int] = set()
    for node in sorted(range(len(values)), key=lambda i: -abs(values[i])):
        branch = []
        while node >= 0 and node not in chosen:
            branch.append(node)
            node = parents[node]
        if len(chosen) + len(branch) <= most:
            chosen.update(branch)
    return sorted(chosen)


def _tidy(kept: Sequence[int], parents: Sequence[int]) -> dict[int, Place]:
    """Leaves one below the other, parents in the middle of their children."""
    children: dict[int, list[int]] = {node: [] for node in kept}
    depth: dict[int, int] = {}
    for node in kept:
        depth[node] = depth[parents[node]] + 1 if parents[node] >= 0 else 0
        if parents[node] >= 0:
            children[parents[node]].append(node)
    order: dict[int, float] = {}
    next_leaf = 0.0
    waiting = [node for node in reversed(kept) if parents[node] < 0]
    seen: list[int] = []
    while waiting:
        node = waiting.pop()
        seen.append(node)
        waiting.extend(reversed(children[node]))
        if not children[node]:
            order[node] = next_leaf
            next_leaf += 1
    for node in reversed(seen):
        if children[node]:
            order[node] = sum(order[child] for child in children[node]) / len(children[node])
    return {node: (float(depth[node]), order[node]) for node in kept}
