"""Many range counts at once on a tree of counts.

A query is a box; the answer adds up the leaves, cut ones in proportion to the volume inside. Two
things make a million of them cheap, without a loop over queries:

*   Down to some depth all cells fit into a dense grid. Its running totals, interpolated at the
    corners of a box, answer for everything that is even inside the grid's cells.
*   Where the tree goes deeper, the difference is added: all queries walk down the tree together,
    level by level, and only through cells that the border of their box cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.points.axis import Numbers, Reals
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.running import Running

AT_ONCE = 1024
LARGEST_GRID = 1 << 24
MOST_AXES = 4  # interpolating takes 4**d numbers a query; beyond, walking is faster


@dataclass(frozen=True, eq=False)
class Ranges:
    """Range counts from the counts of all nodes.

    `additive` says that the count of an inner node is the sum of its children's. Otherwise inner
    counts are answers of their own, and the topmost node inside a box decides.
    """

    partition: Partition
    counts: Reals
    additive: bool = True

    def count(self, low: Reals, high: Reals) -> Reals:
        """The counts in boxes given by rows of corners, in the axes' own units."""
        answers = np.zeros(len(low))
        for begin in range(0, len(low), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            if self._gridded:
                answers[part] = self._grid.count(low[part], high[part])
            if not self._gridded or self._deep[0]:
                self._walk(low[part], high[part], answers[part], self.counts, beyond_grid=self._gridded)
        return answers

    def squares(self, low: Reals, high: Reals) -> Reals:
        """The sum of the squared shares of the counts in each box: the variance per noise variance."""
        return self._shares(low, high, power=2)

    def shares(self, low: Reals, high: Reals) -> Reals:
        """The sum of the shares of the counts in each box; the same where no count is cut."""
        return self._shares(low, high, power=1)

    def _shares(self, low: Reals, high: Reals, power: int) -> Reals:
        found = np.zeros(len(low))
        shape = self.partition.shape
        ones = shape.sums(np.ones(len(shape.leaves))) if self.additive else np.ones(len(shape))
        for begin in range(0, len(low), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            self._walk(low[part], high[part], found[part], ones, power=power)
        return found

    # The grid ------------------------------------------------------------------------------------

    @property
    def _gridded(self) -> bool:
        return self.additive and len(self.partition.space.axes) <= MOST_AXES

    @cached_property
    def _depth(self) -> int:
        """The depth down to which a dense grid answers."""
        shape = self.partition.shape
        most = min(LARGEST_GRID, max(1 << 18, 32 * len(shape)))
        depth = 0
        while depth < shape.depth and np.prod([len(e) - 1.0 for e in self._edges(depth + 1)]) <= most:
            depth += 1
        return depth

    def _edges(self, depth: int) -> list[Reals]:
        """Where the cells of a depth begin and end on every axis."""
        edges = []
        for axis, level in zip(self.partition.space.axes, self.partition.space.levels[depth], strict=True):
            if axis.listed is None:
                places = np.arange((1 << level) + 1) << (axis.bits - level)
            else:
                places = np.append(axis.listed[level], axis.places)
            edges.append(axis.measured(places))
        return edges

    @cached_property
    def _grid(self) -> Running:
        """Down to its depth the whole tree on a dense grid; what lies deeper is taken to be even."""
        shape = self.partition.shape
        cells = np.zeros((1,) * len(self.partition.space.axes))
        edges = self._edges(0)
        for depth in range(self._depth + 1):
            finer = self._edges(depth)
            for axis, (before, after) in enumerate(zip(edges, finer, strict=True)):
                inside = np.searchsorted(before, after[:-1], side="right") - 1
                share = np.diff(after) / np.diff(before)[inside]
                around = [-1 if other == axis else 1 for other in range(cells.ndim)]
                cells = np.take(cells, inside, axis=axis) * share.reshape(around)
            edges = finer
            settled = np.arange(shape.bounds[depth], shape.bounds[depth + 1])
            if depth < self._depth:
                settled = settled[shape.fans[settled] == 0]
            at = tuple(
                np.searchsorted(edge, self.partition.low[settled, axis]) for axis, edge in enumerate(edges)
            )
            cells[at] += self.counts[settled]
        return Running(edges, cells)

    # The walk -------------------------------------------------------------------------------------

    @cached_property
    def _deep(self) -> NDArray[np.bool_]:
        """Nodes, down to the grid's depth, below which the tree goes beyond the grid."""
        shape = self.partition.shape
        deep = np.zeros(len(shape), dtype=np.bool_)
        if self._depth >= shape.depth:
            return deep
        begin, end = shape.bounds[self._depth], shape.bounds[self._depth + 1]
        deep[begin:end] = shape.fans[begin:end] > 0
        for depth in range(self._depth, 0, -1):
            begin, end = shape.bounds[depth], shape.bounds[depth + 1]
            deep[shape.parents[begin:end][deep[begin:end]]] = True
        return deep

    @cached_property
    def _columns(self) -> tuple[list[Reals], list[Reals], Reals]:
        """Lower and upper bounds axis by axis, and one over the volume."""
        low, high = self.partition.low, self.partition.high
        bounds = [np.ascontiguousarray(side[:, axis]) for side in (low, high) for axis in range(low.shape[1])]
        return bounds[: low.shape[1]], bounds[low.shape[1] :], 1.0 / np.prod(high - low, axis=1)

    def _walk(
        self,
        low: Reals,
        high: Reals,
        answers: Reals,
        counts: Reals,
        *,
        beyond_grid: bool = False,
        power: int = 1,
    ) -> None:
        """Add the counts of the leaves, or (`beyond_grid`) only what they differ from the grid.

        Each round holds pairs of a query and a node of one depth; only pairs in which the border of
        the box cuts the node go on to the node's children.
        """
        shape = self.partition.shape
        bottom, top, unit = self._columns
        corners = [np.ascontiguousarray(corner) for corner in (*low.T, *high.T)]
        query = np.arange(len(low))
        node = np.zeros_like(query)
        depth = 0
        while len(query):
            volume, whole = _overlap(corners, bottom, top, query, node)
            cut = (volume > 0) & ~whole
            if beyond_grid and depth <= self._depth:
                going = np.flatnonzero(cut & self._deep[node])
                counted, share = going[:0], volume[:0]
                if depth == self._depth:
                    counted, share = going, -volume[going] * unit[node[going]]
            else:
                leaf = shape.fans[node] == 0
                going = np.flatnonzero(cut & ~leaf)
                counted = np.flatnonzero(whole | (cut & leaf))
                share = (volume[counted] * unit[node[counted]]) ** power
                share[whole[counted]] = 1.0
            weights = counts[node[counted]] * share
            answers += np.bincount(query[counted], weights=weights, minlength=len(answers))
            query, node = query[going], node[going]
            fans = shape.fans[node]
            first = np.repeat(shape.first[node] - (np.cumsum(fans) - fans), fans)
            query, node = np.repeat(query, fans), first + np.arange(len(first))
            depth += 1


def _overlap(
    corners: list[Reals], bottom: list[Reals], top: list[Reals], query: Numbers, node: Numbers
) -> tuple[Reals, NDArray[np.bool_]]:
    """The volume that each query shares with a node, and whether it contains the node."""
    axes = len(bottom)
    volume: Reals = np.ones(len(query))
    whole: NDArray[np.bool_] = np.ones(len(query), dtype=np.bool_)
    for axis in range(axes):
        low, high = bottom[axis][node], top[axis][node]
        begin, end = corners[axis][query], corners[axes + axis][query]
        whole &= (begin <= low) & (end >= high)
        shared = np.minimum(high, end) - np.maximum(low, begin)
        volume *= np.maximum(shared, 0.0, out=shared)
    return volume, whole
