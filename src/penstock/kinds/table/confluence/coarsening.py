"""Coarser looks at an attribute, cut to where its records are.

Once the one-way counts of an attribute are public, its codes can be merged so that no group is left
with next to nobody: a table of few well-filled groups says more, under the same noise, than one of
many empty cells. Merging is post-processing of counts that were paid for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.encoding import Grouping
from penstock.schema.attribute import Attribute

SIZES = (128, 64, 32, 16, 12, 8, 6, 4, 3, 2)
"""The numbers of groups at which an attribute can be seen."""


def levels_by_mass(
    attribute: Attribute,
    shares: NDArray[np.float64],
    sizes: Sequence[int] = SIZES,
    classes: NDArray[np.int64] | None = None,
    first: Grouping | None = None,
) -> tuple[Grouping, ...]:
    """All codes, then ever fewer groups, each level a merge of the one before.

    The lightest are merged first: two neighbours in an ordered attribute; else the lightest group and the
    next lightest of its branch, as long as the taxonomy has branches of several groups, or of all.

    Where rules tell `classes` of codes apart, codes of one class are merged before any others, and the level
    at which no more of them can be is one of the levels: the coarsest that can keep every rule. Where the
    attribute was counted in groups, these come `first`, and all coarser levels are merges of them.
    """
    merging = _Merging(
        attribute, shares, np.zeros_like(shares, dtype=np.int64) if classes is None else classes
    )
    found = [merging.grouping()]
    if first is not None:
        merging.start(first)
        found.append(first)
    for size in sizes:
        if size < len(merging.mass):
            while len(merging.mass) > size:
                if classes is not None and not merging.inside:
                    if len(merging.mass) < found[-1].size:
                        found.append(merging.grouping())
                    classes = merging.classes = np.zeros_like(merging.classes)
                merging.merge()
            found.append(merging.grouping())
    return tuple(found)


class _Merging:
    """Groups of codes, their mass, and the branches that they lie in, finest branches first."""

    def __init__(self, attribute: Attribute, shares: NDArray[np.float64], classes: NDArray[np.int64]) -> None:
        self.ordered = attribute.ordered
        self.mass = np.array(shares, dtype=np.float64)
        self.groups = [[code] for code in range(attribute.size)]
        levels = [] if attribute.ordered else attribute.levels[1:]
        self.classes = classes
        self.branches = [level.codes.astype(np.int64) for level in levels]
        self.branches.append(np.zeros(attribute.size, dtype=np.int64))
        if classes.any():
            kinds = int(classes.max()) + 1
            self.branches = [*(branch * kinds + classes for branch in self.branches), *self.branches]

    def start(self, groups: Grouping) -> None:
        """Begin with these groups of neighbours, in their order."""
        firsts = np.unique(groups.lookup, return_index=True)[1]
        self.groups = [np.flatnonzero(groups.lookup == group).tolist() for group in range(groups.size)]
        self.mass = np.array([self.mass[codes].sum() for codes in self.groups])
        self.branches = [branch[firsts] for branch in self.branches]
        self.classes = self.classes[firsts]

    @property
    def inside(self) -> bool:
        """Whether groups of one class can still be merged."""
        if self.ordered:
            return bool((self.classes[:-1] == self.classes[1:]).any())
        return bool((np.bincount(self.classes) > 1).any())

    def merge(self) -> None:
        first, second = self._neighbours() if self.ordered else self._siblings()
        self.groups[first] += self.groups.pop(second)
        self.mass[first] += self.mass[second]
        self.mass = np.delete(self.mass, second)
        self.branches = [np.delete(branch, second) for branch in self.branches]
        self.classes = np.delete(self.classes, second)

    def grouping(self) -> Grouping:
        numbers = [0] * sum(len(codes) for codes in self.groups)
        for number, codes in enumerate(self.groups):
            for code in codes:
                numbers[code] = number
        return Grouping(tuple(numbers), len(self.groups))

    def _neighbours(self) -> tuple[int, int]:
        together = self.mass[:-1] + self.mass[1:]
        if self.inside:
            together = np.where(self.classes[:-1] == self.classes[1:], together, np.inf)
        first = int(np.argmin(together))
        return first, first + 1

    def _siblings(self) -> tuple[int, int]:
        branch = next(each for each in self.branches if (np.bincount(each) > 1).any())
        one = int(np.argmin(np.where(np.bincount(branch)[branch] > 1, self.mass, np.inf)))
        others = (branch == branch[one]) & (np.arange(len(branch)) != one)
        two = int(np.argmin(np.where(others, self.mass, np.inf)))
        return min(one, two), max(one, two)
