"""What the public graphs are like, beside figures computed independently: exact numbers and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from graph_data import FILES, graph
from penstock.kinds.graph import counting
from penstock.kinds.graph.simple import SimpleGraph
from penstock.kinds.graph.statistics import hops, local_clustering, spectrum

NUMBERS = (
    "edges",
    "largest degree",
    "most common neighbours",
    "triangle",
    "2-star",
    "3-star",
    "4-clique",
    "2-triangle",
    "LS 4-clique",
    "LS 2-triangle",
)
COUNTED = {
    "GrQc": (14484, 81, 61, 48260, 229867, 2482738, 329297, 2041499, 1027, 5978),
    "HepTh": (25973, 65, 34, 28339, 299356, 2098335, 65592, 429013, 435, 2205),
    "HepPh": (118489, 491, 450, 3358499, 15278011, 1276966999, 150281372, 936890335, 38283, 255499),
    "AstroPh": (198050, 504, 350, 1351441, 12749380, 545677552, 9580415, 72355715, 7612, 94033),
    "CondMat": (93439, 279, 163, 173361, 1967650, 37115060, 294008, 2349650, 1192, 18248),
    "AS20": (12572, 1458, 344, 6584, 2059364, 674974421, 5636, 287940, 593, 62756),
}
"""The numbers above, computed independently. LS is how far one edge moves the count at most."""

STATISTICS = (
    *(f"eigenvalue {rank}" for rank in range(1, 6)),
    "clustering",
    "clustering from two links on",
    "connected pairs",
    "diameter",
)
SEEN = {
    "GrQc": (45.62, 38.12, 34.01, 23.00, 22.49, 0.5296, 0.6865, 17293270, 17),
    "HepTh": (31.03, 23.00, 20.06, 19.05, 18.12, 0.4714, 0.5996, 74619885, 18),
    "AS20": (46.32, 40.30, 27.26, 26.63, 23.13, 0.2522, 0.3992, 41912676, 9),
}
"""The statistics above, computed independently and rounded."""

_DIGITS = (2, 2, 2, 2, 2, 4, 4, 0, 0)


def measured() -> dict[str, Any]:
    """Exact numbers of every graph, and the statistics of three."""
    found: dict[str, Any] = {}
    for name in FILES:
        found[f"numbers|{name}"] = _numbers(graph(name))
        print(name, found[f"numbers|{name}"], flush=True)
    for name in SEEN:
        found[f"statistics|{name}"] = _statistics(graph(name))
        print(name, found[f"statistics|{name}"], flush=True)
    return found


def _numbers(made: SimpleGraph) -> list[int]:
    most = counting.most_common(made)
    return [
        made.m,
        int(made.degrees[0]),
        most,
        counting.triangles(made),
        counting.stars(made, 2),
        counting.stars(made, 3),
        counting.cliques(made, 4),
        counting.k_triangles(made, 2),
        counting.clique_move(made, 4),
        counting.k_triangle_move(made, 2, most),
    ]


def _statistics(made: SimpleGraph) -> list[float]:
    local, reached = local_clustering(made), hops(made)
    means = [float(np.mean(local)), float(np.mean(local[made.degrees >= 2]))]
    return [*spectrum(made, 5)[0].tolist(), *means, float(reached[-1]), float(reached.size - 1)]


def compared(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Graph, what, the reference and ours, both written with the digits of the reference."""
    rows = []
    for name, numbers in COUNTED.items():
        for what, theirs, ours in zip(NUMBERS, numbers, found[f"numbers|{name}"], strict=True):
            rows.append((name, what, f"{theirs:,}", f"{ours:,}"))
    for name, values in SEEN.items():
        pairs = zip(STATISTICS, values, found[f"statistics|{name}"], _DIGITS, strict=True)
        rows += [(name, what, f"{theirs:,.{d}f}", f"{ours:,.{d}f}") for what, theirs, ours, d in pairs]
    return rows
