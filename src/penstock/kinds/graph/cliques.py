"""Cliques in raw graphs: sets of nodes that are all linked, counted without being listed.

Every clique is counted at its node of highest number, among the few lower neighbours of that node. Inside
such a neighbourhood, triangles are one matrix product; larger cliques are counted by pivoting (Jain and
Seshadhri 2020): with a pivot v, cliques lie among v and its neighbours, where v may be in or out, or hold
some node that is not linked to v. The leaves of that recursion stand for many cliques at once, so that even
the middle binomial coefficients of a clique of a hundred nodes are one leaf.
"""

from __future__ import annotations

from math import comb

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from penstock.kinds.graph.simple import Numbers, SimpleGraph

Square = NDArray[np.float32]


def count_cliques(below: sp.csr_array, k: int) -> int:
    """The number of k-cliques, k >= 3, of a graph given by its links to lower numbers."""
    total = 0
    place = np.full(below.shape[0], -1, dtype=np.int64)
    for node in np.flatnonzero(np.diff(below.indptr) >= k - 1).tolist():
        inside = below.indices[below.indptr[node] : below.indptr[node + 1]]
        total += _inside(_among(below, inside, place), k - 1)
    return total


def _among(links: sp.csr_array, nodes: Numbers, place: Numbers) -> Square:
    """The links among some nodes, in both directions; `place` is -1 everywhere, and is so again."""
    starts, lengths = links.indptr[nodes], links.indptr[nodes + 1] - links.indptr[nodes]
    ends = np.cumsum(lengths)
    spots = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(starts - (ends - lengths), lengths)
    place[nodes] = np.arange(nodes.size)
    ones, others = np.repeat(np.arange(nodes.size), lengths), place[links.indices[spots]]
    place[nodes] = -1
    kept = others >= 0
    square = np.zeros((nodes.size, nodes.size), dtype=np.float32)
    square[ones[kept], others[kept]] = 1
    square[others[kept], ones[kept]] = 1
    return square


def _inside(links: Square, size: int) -> int:
    """The number of cliques of this size among nodes with these links."""
    if size == 1:
        return len(links)
    if size == 2:
        return int(np.count_nonzero(links)) // 2
    if size == 3:
        return round(float(((links @ links) * links).sum(dtype=np.float64))) // 6
    return _pivoting(_as_bits(links), size)


def _as_bits(links: Square) -> list[int]:
    packed = np.packbits(links > 0, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _pivoting(rows: list[int], size: int) -> int:
    """Cliques of this size: `held` nodes are in, `free` ones in or out, all linked with what is left."""
    total = 0
    stack = [((1 << len(rows)) - 1, 0, 0)]
    while stack:
        left, held, free = stack.pop()
        if held == size or not left:
            total += comb(free, size - held) if not left else 1
            continue
        if held + free + left.bit_count() < size:
            continue
        pivot, most, rest = -1, -1, left
        while rest:
            bit = rest & -rest
            node = bit.bit_length() - 1
            if (near := (rows[node] & left).bit_count()) > most:
                pivot, most = node, near
            rest ^= bit
        stack.append((rows[pivot] & left, held, free + 1))
        strangers = left & ~rows[pivot] & ~(1 << pivot)
        while strangers:
            bit = strangers & -strangers
            left ^= bit  # whoever was held before is not held again
            stack.append((rows[bit.bit_length() - 1] & left, held + 1, free))
            strangers ^= bit
    return total


def cliques_inside(graph: SimpleGraph, size: int) -> int:
    """The most cliques of this size, 2 or more, among the common neighbours of any two nodes.

    Nodes are taken by the most neighbours that they have in common with another one. With a in common there
    are at most C(a, size); and a common neighbour of i and j that has w neighbours in common with i is in at
    most C(min(w, a - 1), size - 1) of them. Both bounds leave few pairs to look at.
    """
    most = _most_in_common(graph)
    place = np.full(graph.n, -1, dtype=np.int64)
    best = 0
    for i in np.argsort(-most, kind="stable").tolist():
        if comb(int(most[i]), size) <= best:
            break
        best = max(best, _best_at(graph, i, size, best, place))
    return best


def _most_in_common(graph: SimpleGraph) -> Numbers:
    """For every node, the most neighbours in common with a node of higher number."""
    most = np.zeros(graph.n, dtype=np.int64)
    for begin, end in graph.blocks():
        product = (graph.adjacency[begin:end] @ graph.adjacency).tocoo()
        kept = product.row + begin < product.col
        np.maximum.at(most, product.row[kept] + begin, product.data[kept])
    return most


def _best_at(graph: SimpleGraph, i: int, size: int, best: int, place: Numbers) -> int:
    """The most cliques among the common neighbours of i and any node of higher number, if above `best`."""
    mine = graph.adjacency.indices[graph.adjacency.indptr[i] : graph.adjacency.indptr[i + 1]]
    shared = graph.adjacency[[i]] @ graph.adjacency
    least = _least(int(shared.data.max(initial=0)), size, best)
    js = shared.indices[(shared.data >= least) & (shared.indices > i)]
    if not js.size:
        return best
    links = _among(graph.adjacency, mine, place)
    degrees = links.sum(axis=1)
    members = graph.adjacency[js][:, mine].toarray().astype(np.float32)
    common = members.sum(axis=1)
    bounds = _bounds(members, degrees, common, size)
    for number in np.argsort(-bounds, kind="stable").tolist():
        if bounds[number] * (1 + 1e-9) < best + 1:
            break
        inside = np.flatnonzero(members[number])
        best = max(best, _inside(links[np.ix_(inside, inside)], size))
    return best


def _bounds(members: Square, degrees: Square, common: Square, size: int) -> NDArray[np.float64]:
    """For every row, an upper bound on the cliques among its members."""
    found = np.empty(len(members))
    for number, (row, a) in enumerate(zip(members, common, strict=True)):
        near = np.minimum(degrees[row > 0], a - 1).astype(np.int64)
        values, times = np.unique(near, return_counts=True)
        terms = (float(comb(int(w), size - 1)) * t for w, t in zip(values, times, strict=True))
        found[number] = sum(terms) / size
    return found


def _least(most: int, size: int, best: int) -> int:
    """The fewest common neighbours that can hold more than `best` cliques."""
    least = most
    while least > 0 and comb(least - 1, size) > best:
        least -= 1
    return max(least, 1)
