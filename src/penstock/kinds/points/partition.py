"""The cells of a tree over a space: public geometry, and what follows from counts in the leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.kinds.points.axis import Numbers, Reals
from penstock.kinds.points.space import Cells, Space
from penstock.privacy.mechanisms.growth import Shape


@dataclass(frozen=True, eq=False)
class Partition:
    """A tree over a space. Nodes are numbered level by level; leaves are disjoint and cover everything.

    `low` and `high` say where each node lies on every axis, in the axis' own unit: lattice steps,
    whole values or categories.
    """

    space: Space
    shape: Shape
    low: Reals
    high: Reals

    @classmethod
    def grown(cls, space: Space, split: NDArray[np.bool_]) -> Partition:
        """The tree in which exactly the marked nodes, counted level by level, are split."""
        cells, depth, begin = space.top(), 0, 0
        levels: list[Cells] = []
        fans: list[Numbers] = []
        while len(cells):
            marks, offered = split[begin : begin + len(cells)], space.fans(cells, depth)
            if len(marks) < len(cells) or (marks & (offered == 0)).any():
                raise UsageError("These marks do not describe a tree over the fields of the schema.")
            levels.append(cells)
            fans.append(np.where(marks, offered, 0))
            begin += len(cells)
            chosen = np.flatnonzero(marks)
            if not len(chosen):
                break
            cells, _, _ = space.children(cells.take(chosen), depth)
            depth += 1
        if begin != len(split):
            raise UsageError("These marks do not describe a tree over the fields of the schema.")
        start = np.concatenate([level.start for level in levels])
        stop = np.concatenate([level.stop for level in levels])
        axes = enumerate(space.axes)
        low, high = zip(
            *((axis.measured(start[:, number]), axis.measured(stop[:, number])) for number, axis in axes),
            strict=True,
        )
        return cls(space, Shape(np.concatenate(fans)), np.column_stack(low), np.column_stack(high))

    @property
    def split(self) -> NDArray[np.bool_]:
        return self.shape.fans > 0

    @property
    def leaves(self) -> Numbers:
        return self.shape.leaves

    @cached_property
    def volumes(self) -> Reals:
        """The volume of every node, as a share of the whole space."""
        lengths = np.array([axis.length for axis in self.space.axes])
        return np.asarray(np.prod((self.high - self.low) / lengths, axis=1))

    def boxes(self, first: int, second: int, nodes: Numbers) -> tuple[Reals, ...]:
        """Left, lower, right and upper bound of nodes on two numeric axes, in the fields' own numbers."""
        low, high = self.low[nodes], self.high[nodes]
        across, up = self.space.axes[first], self.space.axes[second]
        return (
            across.values(low[:, first]),
            up.values(low[:, second]),
            across.values(high[:, first]),
            up.values(high[:, second]),
        )

    @cached_property
    def descent(self) -> Numbers:
        """The leaves from left to right, so that those below any one node follow one another."""
        below = self.shape.sums(np.ones(len(self.leaves), dtype=np.int64))
        place = np.zeros(len(self.shape), dtype=np.int64)
        for begin, end in self._levels():
            before = np.cumsum(below[begin:end]) - below[begin:end]
            parents = self.shape.parents[begin:end]
            first = self.shape.first[parents] - begin
            place[begin:end] = place[parents] + before - before[first]
        return self.leaves[np.argsort(place[self.leaves])]

    def _levels(self) -> list[tuple[int, int]]:
        """Where the nodes of each depth below the root begin and end."""
        return list(pairwise(self.shape.bounds.tolist()))[1:]

    def plausible(self, counts: NDArray[np.number]) -> Reals:
        """Shares of the leaves that are not negative and add up to 1, from counts that may be.

        From the top down, a node's share is divided among its children in proportion to their
        estimated counts, where those are positive, and by volume where none is. Noise that
        cancels in a large cell stays cancelled; cutting each leaf off at zero would add it up.
        """
        totals = self.shape.sums(np.asarray(counts, dtype=np.float64))
        share = np.zeros(len(self.shape))
        share[0] = 1.0
        for begin, end in self._levels():
            parents = self.shape.parents[begin:end]
            weight = np.maximum(totals[begin:end], 0.0)
            mass = np.bincount(parents, weights=weight, minlength=begin)[parents]
            even = self.volumes[begin:end] / self.volumes[parents]
            share[begin:end] = share[parents] * np.where(
                mass > 0, weight / np.where(mass > 0, mass, 1.0), even
            )
        leaves = share[self.leaves]
        return np.asarray(leaves / leaves.sum())

    def allot(self, shares: Reals, n: int, rng: np.random.Generator) -> Numbers:
        """Whole numbers of points for the leaves that add up to n; in any subtree off by less than one.

        Systematic sampling along the leaves from left to right: unbiased, and without the
        scatter of independent draws.
        """
        order = np.searchsorted(self.leaves, self.descent)
        running = np.cumsum(shares[order]) * n
        running[-1] = n
        steps = np.floor(running + rng.random()).astype(np.int64)
        allotted = np.empty(len(order), dtype=np.int64)
        allotted[order] = np.diff(steps, prepend=0)
        return allotted
