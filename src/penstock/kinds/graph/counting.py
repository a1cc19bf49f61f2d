"""Exact counts of small patterns in raw graphs, and how far each can move when one link changes.

Counts are Python integers, which have no end: already the 4-stars of a hub of a million links do not fit 64
bits. Most work is done by sparse products in blocks of rows; sums over nodes or links are taken over the few
different degrees or numbers of common neighbours, with exact binomial coefficients.
"""

from __future__ import annotations

from math import comb

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from penstock.kinds.graph.cliques import cliques_inside, count_cliques
from penstock.kinds.graph.simple import Numbers, SimpleGraph
from penstock.privacy.randomness.samplers import Integers

_MARK = 1 << 40
_EXACT = float(1 << 52)


def triangles(graph: SimpleGraph) -> int:
    """The number of triangles: for every link downwards, the ways downwards in two steps beside it."""
    from penstock.engine.compiled import COMPILED
    from penstock.kinds.graph.compiled import closed

    below = graph.below
    return int(closed(below.indptr, below.indices)) if COMPILED else triangles_by_products(below)


def triangles_by_products(below: sp.csr_array) -> int:
    """Triangles of a graph given by its links to lower numbers, by sparse products in blocks."""
    total = 0
    terms = np.cumsum(below @ np.diff(below.indptr))
    begin = 0
    while begin < below.shape[0]:
        done = terms[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(terms, done + 20_000_000, side="right")))
        rows = below[begin:end]
        total += int((rows @ below).multiply(rows).sum())
        begin = end
    return total


def stars(graph: SimpleGraph, k: int) -> int:
    """The number of k-stars: a node and k of its neighbours."""
    return _over(graph.degrees, k)


def k_triangles(graph: SimpleGraph, k: int) -> int:
    """The number of k-triangles, k >= 2: a link and k common neighbours of its ends."""
    return _over(common_on_links(graph).data, k) // 2


def cliques(graph: SimpleGraph, k: int) -> int:
    """The number of sets of k nodes that are all linked."""
    return count_cliques(graph.below, k)


def _over(values: Numbers, k: int) -> int:
    """The sum of C(value, k)."""
    different, times = np.unique(values, return_counts=True)
    pairs = zip(different.tolist(), times.tolist(), strict=True)
    return sum(comb(value, k) * many for value, many in pairs)


def common_on_links(graph: SimpleGraph) -> sp.csr_array:
    """For every link, in both directions, the number of common neighbours; zeros are kept."""
    values = np.zeros(graph.adjacency.nnz, dtype=np.int64)
    for begin, end in graph.blocks():
        rows = graph.adjacency[begin:end]
        # A mark on the links tells them from other pairs, and keeps those with nothing in common.
        marked = (rows @ graph.adjacency) + rows * _MARK
        marked.sort_indices()
        span = slice(graph.adjacency.indptr[begin], graph.adjacency.indptr[end])
        values[span] = marked.data[marked.data >= _MARK] - _MARK
    return sp.csr_array(
        (values, graph.adjacency.indices, graph.adjacency.indptr), shape=graph.adjacency.shape
    )


def common_frontier(graph: SimpleGraph) -> list[tuple[int, int]]:
    """Pairs (a, s) of which no other has as much of both, over all pairs of nodes: a common neighbours, and s
    links to others, each common neighbour counted twice.

    Rows are taken by falling degree, each with the nodes after it. A node of degree d has no more than d
    neighbours in common with those, and no more than 2 d links together with one of them, so that the rest is
    done when one pair has both.

    >>> star = SimpleGraph.of(4, np.array([0, 0, 0]), np.array([1, 2, 3]))
    >>> common_frontier(star)
    [(1, 2)]
    """
    degrees = graph.degrees
    if graph.n < 2:
        return []
    best = np.full(
        int(degrees[0]) + 2, -1, dtype=np.int64
    )  # best[a]: the largest s with at least a in common
    best[0] = _largest_sum(graph)
    for begin, end in graph.blocks():
        d = int(degrees[begin])
        if best[min(d, best.size - 1)] >= 2 * d:
            break
        product = (graph.adjacency[begin:end] @ graph.adjacency).tocoo()
        rows, columns, common = product.row + begin, product.col, product.data
        links = degrees[rows] + degrees[columns]
        (kept,) = np.nonzero((rows < columns) & (links > best[common]))
        if not kept.size:
            continue
        rows, columns, common, links = rows[kept], columns[kept], common[kept], links[kept]
        links = links - 2 * graph.linked(rows, columns)
        np.maximum.at(best, common, links)
        best = np.maximum.accumulate(best[::-1])[::-1]
    found = [
        (a, int(best[a]))
        for a in range(best.size)
        if best[a] >= 0 and (a + 1 >= best.size or best[a + 1] < best[a])
    ]
    return found[::-1]


def _largest_sum(graph: SimpleGraph) -> int:
    """The largest d_i + d_j - 2 x_ij over all pairs."""
    return max((one + other for one, other in star_frontier(graph)), default=-1)


def star_frontier(graph: SimpleGraph) -> list[tuple[int, int]]:
    """Pairs (D_i, D_j), D_i >= D_j, of which no other has as much of both, over all pairs of nodes: the
    degrees of both without the link between them.

    >>> star_frontier(SimpleGraph.of(4, np.array([0, 0, 0]), np.array([1, 2, 3])))
    [(2, 0), (1, 1)]
    """
    degrees = graph.degrees
    linked, strangers = graph.best_partners
    found: list[NDArray[np.int64]] = []
    for partner, less in ((linked, 1), (strangers, 0)):
        (some,) = np.nonzero(partner >= 0)
        both = np.stack([degrees[some], degrees[partner[some]]], axis=1) - less
        found.append(np.sort(both, axis=1)[:, ::-1])
    pairs = np.unique(np.concatenate(found), axis=0)[::-1]
    kept: list[tuple[int, int]] = []
    for high, low in pairs.tolist():
        if not kept or low > kept[-1][1]:
            kept.append((high, low))
    return kept


def most_common(graph: SimpleGraph) -> int:
    """The largest number of common neighbours of two nodes."""
    frontier = common_frontier(graph)
    return frontier[0][0] if frontier else 0


def k_triangle_move(graph: SimpleGraph, k: int, most: int) -> int:
    """How far the number of k-triangles can move by one link; `most` is the largest number in common.

    For a pair with a in common: C(a, k), and for every common neighbour l, C(a_il - x, k-1) + C(a_lj - x,
    k-1), where x says whether the pair is linked. Sums are taken as doubles first, which finds the few pairs
    that may be largest, and exactly for these.
    """
    on_links = common_on_links(graph)
    best, top = 0, 0.0
    table = [np.array([float(comb(max(a - x, 0), k - 1)) for a in range(most + 1)]) for x in (0, 1)]
    whole = np.array([float(comb(a, k)) for a in range(most + 1)])
    bound = [float(comb(d, k) + 2 * d * comb(min(d, most), k - 1)) for d in range(most + 1)]
    for begin, end in graph.blocks():
        if bound[min(int(graph.degrees[begin]), most)] < top:
            break
        rows = graph.adjacency[begin:end]
        common = (rows @ graph.adjacency).tocoo()
        kept = common.row + begin < common.col
        at, to, a = common.row[kept], common.col[kept], common.data[kept]
        x = graph.linked(at.astype(np.int64) + begin, to.astype(np.int64))
        values = whole[a]
        for linked in (0, 1):
            here = x == bool(linked)
            weights = on_links.copy()
            weights.data = table[linked][on_links.data]
            both = weights[begin:end] @ graph.adjacency + rows @ weights
            values[here] += _entries(both, at[here], to[here])
        here_top = float(values.max(initial=0))
        if bound[-1] >= _EXACT and here_top >= top * (
            1 - 1e-9
        ):  # else doubles are exact, or nothing is close
            near = values >= max(top, here_top) * (1 - 1e-9)
            for i, j in zip((at[near] + begin).tolist(), to[near].tolist(), strict=True):
                best = max(best, _k_triangle_move_of(graph, on_links, i, j, k))
        top = max(top, here_top)
    return best if bound[-1] >= _EXACT else int(top)


def _entries(matrix: sp.csr_array, rows: Numbers, columns: Numbers) -> NDArray[np.float64]:
    """Some entries of a sparse matrix."""
    if not rows.size:
        return np.zeros(0)
    return np.asarray(matrix[rows, columns]).ravel().astype(np.float64)


def _k_triangle_move_of(graph: SimpleGraph, on_links: sp.csr_array, i: int, j: int, k: int) -> int:
    first, second = (_row(on_links, node) for node in (i, j))
    common = np.intersect1d(first[0], second[0], assume_unique=True)
    less = int(bool(graph.linked(np.array([i]), np.array([j]))[0]))
    total = comb(common.size, k)
    for places, values in (first, second):
        for a in values[np.searchsorted(places, common)].tolist():
            total += comb(a - less, k - 1) if a >= less else 0
    return total


def _row(matrix: sp.csr_array, row: int) -> tuple[Numbers, Numbers]:
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[span], matrix.data[span]


def clique_move(graph: SimpleGraph, k: int) -> int:
    """How far the number of k-cliques can move by one link: (k-2)-cliques among common neighbours."""
    return cliques_inside(graph, k - 2)


def binomials(most: int, k: int) -> Integers:
    """C(0, k) ... C(most, k), as 64 bits where they fit.

    >>> binomials(5, 2).tolist()
    [0, 0, 1, 3, 6, 10]
    """
    if k <= 3 and most < 1 << 20:
        x = np.arange(most + 1, dtype=np.int64)
        if k == 0:
            return np.ones_like(x)
        return {1: x, 2: x * (x - 1) // 2, 3: x * (x - 1) // 2 * (x - 2) // 3}[k]
    values = [0] * min(k, most + 1)
    following = 1
    for top in range(k, most + 1):
        values.append(following)
        following = following * (top + 1) // (top + 1 - k)
    return np.array(values, dtype=np.int64 if following < 1 << 62 else object)
