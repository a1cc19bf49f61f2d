"""Simple graphs, raw: at most one link between two different nodes, none from a node to itself.

Nodes are numbered by falling degree. Nothing that is released depends on how they are numbered, and many
counts are fast because of it: a triangle has one node of the highest number, whose links to lower numbers are
few in every graph (at most the square root of twice the number of edges).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from penstock.engine.distinct import distinct

Numbers = NDArray[np.int64]
Matrix: TypeAlias = Any  # a sparse array of SciPy, which has no types

WEDGES_AT_ONCE = 6_000_000
"""Products of sparse matrices are made in blocks of rows of so many terms, to bound what they hold."""


class SimpleGraph:
    """Raw: a simple undirected graph on `n` nodes.

    >>> path = SimpleGraph.of(4, np.array([0, 1, 1]), np.array([1, 2, 0]))
    >>> path.m, path.degrees.tolist()
    (2, [2, 1, 1, 0])
    """

    def __init__(self, adjacency: Matrix) -> None:
        """`adjacency` is symmetric, without diagonal, with ones, sorted indices and rows of falling
        degree."""
        self.adjacency = adjacency

    @classmethod
    def of(cls, n: int, ones: Numbers, others: Numbers) -> SimpleGraph:
        """The graph of these pairs of nodes: pairs in both directions or repeated are one link, and a link
        from a node to itself is none.
        """
        low, high = np.minimum(ones, others), np.maximum(ones, others)
        keys = distinct(low[low != high] * n + high[low != high])
        low, high = keys // max(n, 1), keys % max(n, 1)
        degrees = np.bincount(low, minlength=n) + np.bincount(high, minlength=n)
        rank = np.empty(n, dtype=np.int64)
        rank[np.argsort(-degrees, kind="stable")] = np.arange(n)
        rows = np.concatenate([rank[low], rank[high]])
        columns = np.concatenate([rank[high], rank[low]])
        adjacency = sp.csr_array((np.ones(rows.size, dtype=np.int64), (rows, columns)), shape=(n, n))
        adjacency.sort_indices()
        return cls(adjacency)

    @property
    def n(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def m(self) -> int:
        return int(self.adjacency.nnz) // 2

    @cached_property
    def degrees(self) -> Numbers:
        """Falling."""
        ends: Numbers = self.adjacency.indptr.astype(np.int64)
        return ends[1:] - ends[:-1]

    @cached_property
    def below(self) -> Matrix:
        """Links to nodes of lower number, which have at least as many links."""
        lower = self.adjacency.indices < np.repeat(np.arange(self.n), self.degrees)
        starts = np.concatenate([[0], np.cumsum(lower)])[self.adjacency.indptr].astype(np.int32)
        ones = np.ones(int(starts[-1]), dtype=np.int32)  # sums are taken in 64 bits
        return sp.csr_array((ones, self.adjacency.indices[lower], starts), shape=self.adjacency.shape)

    def linked(self, rows: Numbers, columns: Numbers) -> NDArray[np.bool_]:
        """Whether pairs of nodes are linked."""
        if not rows.size:
            return np.zeros(0, dtype=np.bool_)
        keys = self._keys
        wanted = rows * self.n + columns
        place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
        return keys[place] == wanted if keys.size else np.zeros(rows.size, dtype=np.bool_)

    @cached_property
    def _keys(self) -> Numbers:
        rows = np.repeat(np.arange(self.n), self.degrees)
        return rows * self.n + np.asarray(self.adjacency.indices, dtype=np.int64)

    @cached_property
    def edges(self) -> tuple[Numbers, Numbers]:
        """Both ends of every link, once each, the lower number first."""
        upper = self.adjacency.tocoo()
        kept = upper.row < upper.col
        return upper.row[kept].astype(np.int64), upper.col[kept].astype(np.int64)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, int]]:
        """Consecutive rows whose products with the whole graph have a bounded number of terms."""
        last = self.n if rows is None else rows
        terms = np.cumsum(self.adjacency[:last] @ self.degrees) if last else np.zeros(0)
        begin = 0
        while begin < last:
            done = terms[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(terms, done + WEDGES_AT_ONCE, side="right")))
            yield begin, min(end, last)
            begin = end

    @cached_property
    def best_partners(self) -> tuple[Numbers, Numbers]:
        """For every node, the linked and the not linked node of highest degree; -1 where there is none."""
        n, starts = self.n, self.adjacency.indptr[:-1]
        linked = np.full(n, -1, dtype=np.int64)
        some = self.degrees > 0
        linked[some] = self.adjacency.indices[starts[some]]
        # With itself added, a node's neighbours in ascending order are 0, 1, 2, ... up to its first stranger.
        joined = self.adjacency + sp.eye_array(n, dtype=np.int64, format="csr")
        joined.sort_indices()
        lengths = np.diff(joined.indptr)
        places = np.arange(joined.nnz) - np.repeat(joined.indptr[:-1], lengths)
        gaps = np.where(joined.indices == places, n, places)
        first = np.minimum.reduceat(gaps, joined.indptr[:-1]) if n else np.zeros(0, dtype=np.int64)
        stranger = np.minimum(first, lengths)
        return linked, np.where(stranger < n, stranger, -1).astype(np.int64)
