"""Growing a tree with PrivTree's decisions, whatever the tree is about.

A hierarchy is given by its top `Level`: it knows how many children each of its nodes would have
(public), the scores of its nodes (sealed), and the level that follows when some of them are split.
Boxes, taxonomies and contexts of sequences only differ in those three things.

    splitter = Splitter.paid(budget.part("shape", "1/2"), fan_out=4)
    growth = grow(top, splitter, deepest=20)
    growth.shape.leaves

Why the shape is private: see `penstock.privacy.mechanisms.splitting`. Every node is asked about exactly once,
children of a split node all appear, also empty ones, and both limits only use public numbers and
decisions already made: nodes below `deepest` are never asked about, and splits beyond `most_nodes`
are taken back in the order of the nodes, which is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.privacy.seals.sealed import Sealed
from penstock.progress import progress

Numbers = NDArray[np.int64]

MOST_NODES = 5_000_000


class Level(Protocol):
    """All nodes of one depth that exist so far, in a public order."""

    @property
    def fans(self) -> Numbers:
        """How many children each node would get: public; 0 where it cannot be split."""

    def scores(self, asked: Numbers) -> Sealed[Numbers]:
        """The scores of the nodes of these numbers; never above that of the node's parent."""

    def children(self, split: Numbers) -> Self:
        """The next level: all children of the nodes of these (ascending) numbers, parent by parent."""


L = TypeVar("L", bound=Level)


@dataclass(frozen=True, eq=False)
class Shape:
    """A public tree in breadth-first order: how many children each node has (0 for a leaf).

    The children of a node follow one another, and children of earlier nodes come first, so that
    the counts alone describe the tree.

    >>> shape = Shape(np.array([2, 0, 2, 0, 0]))
    >>> shape.parents.tolist(), shape.first.tolist(), shape.depths.tolist(), shape.leaves.tolist()
    ([-1, 0, 0, 2, 2], [1, 3, 3, 5, 5], [0, 1, 1, 2, 2], [1, 3, 4])
    """

    fans: Numbers

    def __post_init__(self) -> None:
        fans = np.ascontiguousarray(self.fans, dtype=np.int64)
        if fans.ndim != 1 or not len(fans) or fans.min() < 0 or 1 + int(fans.sum()) != len(fans):
            raise UsageError("These numbers of children do not describe a tree.")
        object.__setattr__(self, "fans", fans)
        if (self.parents[1:] >= np.arange(1, len(fans))).any():
            raise UsageError("These numbers of children do not describe a tree.")

    def __len__(self) -> int:
        return len(self.fans)

    @cached_property
    def first(self) -> Numbers:
        """Where the children of each node begin."""
        return np.cumsum(self.fans) - self.fans + 1

    @cached_property
    def parents(self) -> Numbers:
        """The parent of each node; -1 for the root."""
        return np.concatenate([[-1], np.repeat(np.arange(len(self.fans)), self.fans)])

    @cached_property
    def bounds(self) -> Numbers:
        """Where each level begins, and the number of nodes at the end."""
        begins, begin, end = [0], 0, 1
        while begin < end:
            begins.append(end)
            begin, end = end, end + int(self.fans[begin:end].sum())
        return np.array(begins)

    @cached_property
    def depths(self) -> Numbers:
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    @property
    def depth(self) -> int:
        """The depth of the deepest node."""
        return len(self.bounds) - 2

    @cached_property
    def leaves(self) -> Numbers:
        """The numbers of the nodes without children, ascending."""
        return np.flatnonzero(self.fans == 0)

    def sums(self, at_leaves: NDArray[Any]) -> NDArray[Any]:
        """For every node the sum over the leaves below it; `at_leaves` may have further axes."""
        totals = np.zeros((len(self), *at_leaves.shape[1:]), dtype=at_leaves.dtype)
        totals[self.leaves] = at_leaves
        for begin, end in reversed(list(pairwise(self.bounds[1:].tolist()))):
            inner = np.unique(self.parents[begin:end])
            totals[inner] = np.add.reduceat(totals[begin:end], self.first[inner] - begin, axis=0)
        return totals


@dataclass(frozen=True, eq=False)
class Growth(Generic[L]):
    """What grew: the shape, and the levels it was read from, which still hold sealed records.

    `leaves` has, for each of the levels, the numbers within it of the nodes that stayed leaves.
    """

    shape: Shape
    levels: Sequence[L]
    leaves: Sequence[Numbers]

    @classmethod
    def of(cls, levels: Sequence[L], fans: Sequence[Numbers]) -> Growth[L]:
        """From the levels, and how many children each of their nodes was given."""
        return cls(Shape(np.concatenate(fans)), levels, [np.flatnonzero(each == 0) for each in fans])


def grow(top: L, splitter: Splitter, *, deepest: int, most_nodes: int = MOST_NODES) -> Growth[L]:
    """Split the nodes of a hierarchy level by level for as long as PrivTree decides to.

    The splitter has been paid for one tree and decides about no other. `deepest` is the largest
    depth that a node may have.
    """
    if deepest < 0 or most_nodes < 1:
        raise UsageError("A tree has at least its root: deepest is at least 0, most_nodes at least 1.")
    if len(top.fans) != 1:
        raise UsageError(f"A hierarchy begins with one node, not {len(top.fans)}.")
    splitter.begin()
    levels, fans, total = [top], [], 1
    with progress("growing the tree", total=deepest) as step:
        for depth in range(deepest):
            offered = levels[-1].fans
            asked = np.flatnonzero(offered > 0)
            split = asked[splitter.split(levels[-1].scores(asked), depth)] if len(asked) else asked
            split = split[total + np.cumsum(offered[split]) <= most_nodes]
            chosen = np.zeros_like(offered)
            chosen[split] = offered[split]
            fans.append(chosen)
            if not len(split):
                break
            levels.append(levels[-1].children(split))
            total += int(chosen.sum())
            step(1)
        else:
            fans.append(np.zeros_like(levels[-1].fans))
    return Growth.of(levels, fans)
