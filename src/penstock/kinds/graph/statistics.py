"""Five statistics that graphs are compared by, raw: degrees, hops, eigenvalues, network values, clustering.

They are exact functions of a graph and not private: of the original graph they belong to evaluations, of a
synthetic one they may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.kinds.graph.counting import common_on_links, stars, triangles
from penstock.kinds.graph.simple import Numbers, SimpleGraph

Reals = NDArray[np.float64]
EXACT_UP_TO = 1 << 14
SOURCES = 1 << 12
VALUES = 100
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Statistics:
    """What is known of one graph, or the mean of several.

    `degrees` are those of nodes with at least one link, in falling order; `hops[h]` counts ordered pairs
    within h steps, a node and itself included; `scree` has the largest absolute eigenvalues, `network` the
    absolute components of the leading eigenvector in falling order; `clustering[d]` is the mean share of
    linked pairs among the neighbours of nodes of degree d, NaN where there is no such node.
    """

    nodes: int
    edges: float
    triangles: float
    two_stars: float
    three_stars: float
    degrees: Reals
    hops: Reals
    scree: Reals
    network: Reals
    clustering: Reals

    @property
    def leading(self) -> float:
        """The largest absolute eigenvalue."""
        return float(self.scree[:1].sum())

    def table(self) -> pl.DataFrame:
        """The five statistics as rows (statistic, x, y), to be written or drawn elsewhere.

        >>> path = SimpleGraph.of(3, np.array([0, 1]), np.array([1, 2]))
        >>> statistics(path).table().filter(pl.col("statistic") == "degrees").rows()
        [('degrees', 1.0, 2.0), ('degrees', 2.0, 1.0)]
        """
        values, nodes = np.unique(self.degrees, return_counts=True)
        known = np.flatnonzero(~np.isnan(self.clustering))
        curves = {
            "degrees": (values, nodes),
            "hops": (np.arange(self.hops.size), self.hops),
            "scree": (np.arange(1, self.scree.size + 1), self.scree),
            "network values": (np.arange(1, self.network.size + 1), self.network),
            "clustering": (known, self.clustering[known]),
        }
        return pl.concat(
            pl.DataFrame({"x": x.astype(np.float64), "y": y.astype(np.float64)}).select(
                pl.lit(name).alias("statistic"), "x", "y"
            )
            for name, (x, y) in curves.items()
        )


def statistics(graph: SimpleGraph, *, seed: int = 0, values: int = VALUES) -> Statistics:
    """All five of a graph."""
    scree, network = spectrum(graph, values)
    return Statistics(
        graph.n,
        graph.m,
        triangles(graph),
        stars(graph, 2),
        stars(graph, 3),
        graph.degrees[graph.degrees > 0].astype(np.float64),
        hops(graph, seed=seed),
        scree,
        network,
        clustering(graph),
    )


def mean(found: Sequence[Statistics]) -> Statistics:
    """The mean of several graphs: place by place, shorter ones filled up as they would go on."""
    hops = max(one.hops.size for one in found)
    return Statistics(
        found[0].nodes,
        float(np.mean([one.edges for one in found])),
        float(np.mean([one.triangles for one in found])),
        float(np.mean([one.two_stars for one in found])),
        float(np.mean([one.three_stars for one in found])),
        _padded([one.degrees for one in found]).mean(axis=0),
        np.mean([np.pad(one.hops, (0, hops - one.hops.size), mode="edge") for one in found], axis=0),
        _padded([one.scree for one in found]).mean(axis=0),
        _padded([one.network for one in found]).mean(axis=0),
        _mean_known(_padded([one.clustering for one in found], np.nan)),
    )


def _padded(rows: Sequence[Reals], value: float = 0.0) -> Reals:
    longest = max(row.size for row in rows)
    return np.array([np.pad(row, (0, longest - row.size), constant_values=value) for row in rows])


def _mean_known(rows: Reals) -> Reals:
    known = ~np.isnan(rows)
    total = np.where(known, rows, 0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def hops(graph: SimpleGraph, *, seed: int = 0) -> Reals:
    """Ordered pairs within 0, 1, 2, ... steps; from some nodes only where there are very many.

    >>> path = SimpleGraph.of(3, np.array([0, 1]), np.array([1, 2]))
    >>> hops(path).tolist()
    [3.0, 7.0, 9.0]
    """
    n = graph.n
    if not n:
        return np.zeros(1)
    sources = np.arange(n)
    if n > EXACT_UP_TO:
        sources = np.sort(np.random.default_rng(seed).choice(n, size=SOURCES, replace=False))
    parts = [_reached(graph, sources[begin : begin + 1024]) for begin in range(0, sources.size, 1024)]
    longest = max(part.size for part in parts)
    total = sum(np.pad(part, (0, longest - part.size), mode="edge") for part in parts)
    return np.asarray(total, dtype=np.float64) * (n / sources.size)


def _reached(graph: SimpleGraph, sources: Numbers) -> Reals:
    """How many nodes these sources reach within 0, 1, 2, ... steps, all of them together.

    Each node holds one bit for every source that reaches it.
    """
    places = np.arange(sources.size)
    seen = np.zeros((graph.n, -(-sources.size // 64)), dtype=np.uint64)
    seen[sources, places // 64] |= np.uint64(1) << (places % 64).astype(np.uint64)
    (some,) = np.nonzero(graph.degrees)
    starts = graph.adjacency.indptr[:-1][some]
    totals = [float(sources.size)]
    while some.size:
        near = np.bitwise_or.reduceat(seen[graph.adjacency.indices], starts, axis=0)
        seen[some] |= near
        reached = float(np.bitwise_count(seen).sum())
        if reached == totals[-1]:
            break
        totals.append(reached)
    return np.array(totals)


def spectrum(graph: SimpleGraph, values: int = VALUES) -> tuple[Reals, Reals]:
    """The largest absolute eigenvalues in falling order, and the network values."""
    from scipy.sparse.linalg import eigsh

    n = graph.n
    if not graph.m:
        return np.zeros(min(values, n)), np.zeros(n)
    matrix = graph.adjacency.astype(np.float64)
    if n <= max(200, values + 2):
        found, vectors = np.linalg.eigh(matrix.toarray())
    else:
        start = np.ones(n) / np.sqrt(n)
        found, vectors = eigsh(matrix, k=min(values, n - 2), which="LM", v0=start)
    order = np.argsort(-np.abs(found), kind="stable")
    # of a graph with several largest eigenvalues of the same size, that of the positive one
    leading = np.abs(vectors[:, int(np.argmax(found))])
    return _rounded(np.abs(found[order])[:values]), _rounded(np.sort(leading)[::-1])


def _rounded(falling: Reals) -> Reals:
    """Zero for what is zero but for rounding."""
    return np.where(falling > _ROUNDING * falling[0], falling, 0.0)


def clustering(graph: SimpleGraph) -> Reals:
    """By degree, the mean share of linked pairs among a node's neighbours; NaN for degrees that do not
    occur."""
    degrees = graph.degrees
    local = local_clustering(graph)
    many = np.bincount(degrees)
    total = np.bincount(degrees, weights=local)
    known = (many > 0) & (np.arange(many.size) >= 2)
    return np.where(known, total / np.maximum(many, 1), np.nan)


def local_clustering(graph: SimpleGraph) -> Reals:
    """For every node the share of linked pairs among its neighbours; 0 where there are fewer than two."""
    degrees = graph.degrees
    around = np.asarray(common_on_links(graph).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(around / np.maximum(degrees * (degrees - 1), 1))


# How far two graphs are apart ------------------------------------------------------------------------


def degree_distance(one: Statistics, two: Statistics) -> float:
    """Kolmogorov and Smirnov: the largest gap between the shares of nodes of at most some degree, of those
    with a link.
    """
    first, second = np.sort(one.degrees), np.sort(two.degrees)
    if not first.size or not second.size:
        return float(first.size != second.size)
    places = np.unique(np.concatenate([first, second]))
    shares = [np.searchsorted(each, places, side="right") / each.size for each in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def curve_distance(one: Reals, two: Reals) -> float:
    """The mean gap of two falling or rising curves on a logarithmic scale, the shorter one going on as it
    ended and nothing below one hundredth of the larger top.
    """
    size = max(one.size, two.size)
    if not size:
        return 0.0
    least = max(1e-300, 0.01 * max(float(one.max(initial=0)), float(two.max(initial=0))))
    logs = [
        np.log(
            np.maximum(np.pad(each, (0, size - each.size), mode="edge" if each.size else "constant"), least)
        )
        for each in (one, two)
    ]
    return float(np.abs(logs[0] - logs[1]).mean())


def hop_distance(one: Statistics, two: Statistics) -> float:
    """The mean gap of both hop plots on a logarithmic scale, the shorter one going on as it ended."""
    size = max(one.hops.size, two.hops.size)
    logs = [
        np.log(np.maximum(np.pad(each.hops, (0, size - each.hops.size), mode="edge"), 1))
        for each in (one, two)
    ]
    return float(np.abs(logs[0] - logs[1]).mean())


def clustering_distance(one: Statistics, two: Statistics) -> float:
    """The mean gap of the clustering, over the nodes of the first graph that have two links or more."""
    degrees = one.degrees[one.degrees >= 2].round().astype(np.int64)
    if not degrees.size:
        return 0.0
    first = one.clustering[np.minimum(degrees, one.clustering.size - 1)]
    known = np.flatnonzero(~np.isnan(two.clustering))
    if not known.size:
        return float(np.nanmean(np.abs(first)))
    nearest = known[np.clip(np.searchsorted(known, degrees), 0, known.size - 1)]
    return float(np.nanmean(np.abs(first - two.clustering[nearest])))


DISTANCES = {
    "degrees": degree_distance,
    "hops": hop_distance,
    "scree": lambda one, two: curve_distance(one.scree, two.scree),
    "network values": lambda one, two: curve_distance(one.network, two.network),
    "clustering": clustering_distance,
}
"""The scalar distance of each of the five statistics, the original first."""
