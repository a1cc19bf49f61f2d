"""Raw item sets as numbers: which set holds which items, and whose it is. All of it lies below the seal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.engine.bound import sample_per_user
from penstock.engine.strings import Digits, ranked
from penstock.kinds.itemsets.item_tree import ItemTree
from penstock.kinds.itemsets.parts import PartsInMemory, Sets
from penstock.kinds.itemsets.weighted import WeightedSets

Numbers = NDArray[np.int64]
Names = Sequence[str] | pl.Series

AT_ONCE = 1 << 22
"""So many items are turned into wide numbers at a time."""


@dataclass(frozen=True, eq=False)
class Incidence:
    """Raw: the sizes of all sets and their items one set after the other, each once and in ascending order.

    `items` are codes of the universe, in as few bytes as it needs; what lies outside is left out. `owners`
    has the unit of every set; None: every set is a unit of its own.

    >>> Incidence.of(np.array([0, 0, 2]), np.array([1, 1, 0]), 3, 2).sizes.tolist()
    [1, 0, 1]
    """

    sizes: Numbers
    items: NDArray[np.unsignedinteger]
    owners: Numbers | None = None

    @classmethod
    def of(
        cls, sets: Numbers, items: NDArray[Any], size: int, universe: int, owners: Numbers | None = None
    ) -> Incidence:
        """From which of `size` sets has which item, in any order and as often as it is written."""
        known = items < universe
        if not known.all():
            sets, items = sets[known], items[known]
        pairs = sets.astype(np.int64) * universe + items.astype(np.int64)
        if not (np.diff(pairs) > 0).all():
            pairs.sort()
            pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        narrow = np.min_scalar_type(max(1, universe - 1))
        return cls(np.bincount(pairs // universe, minlength=size), (pairs % universe).astype(narrow), owners)

    @property
    def size(self) -> int:
        """Raw: the number of sets, empty ones included."""
        return len(self.sizes)

    @property
    def sets(self) -> Numbers:
        """Raw: the set of every item."""
        return np.repeat(np.arange(self.size), self.sizes)

    @property
    def begins(self) -> Numbers:
        """Raw: where the items of each set begin."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def lacking(self) -> int:
        """Raw: the number of sets without an item."""
        return int(np.count_nonzero(self.sizes == 0))

    def picked(self, rows: Numbers) -> Incidence:
        """Raw: some of the sets, in this order."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        places = np.repeat(self.begins[rows] - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
        return Incidence(sizes, self.items[places], None if self.owners is None else self.owners[rows])

    def supports(self, universe: int) -> Numbers:
        """Raw: for every item, the number of sets that hold it."""
        found = np.zeros(universe, dtype=np.int64)
        for begin in range(0, len(self.items), AT_ONCE):
            found += np.bincount(self.items[begin : begin + AT_ONCE], minlength=universe)
        return found

    def holders(self, universe: int) -> Numbers:
        """Raw: for every item, the number of units that have it in any of their sets."""
        if self.owners is None:
            return self.supports(universe)
        pairs = self.owners[self.sets] * universe + self.items
        pairs.sort()
        return np.bincount(pairs[np.diff(pairs, prepend=-1) != 0] % universe, minlength=universe)

    def shares(self, universe: int, most: int, steps: int) -> Numbers:
        """Raw: the sum of what every set gives to each of its items: `steps`, or less where it has too many.

        A set of more than `most` items divides `most` times as many steps among them, rounded down.
        """
        # sums of whole numbers below 2**53 are exact as doubles
        given = np.minimum(steps, steps * most // np.maximum(self.sizes, 1)).astype(np.float64)
        found = np.zeros(universe, dtype=np.int64)
        ends = np.cumsum(self.sizes)
        first = 0
        while first < self.size:
            begin = int(ends[first] - self.sizes[first])
            last = max(first + 1, int(np.searchsorted(ends, begin + AT_ONCE, side="right")))
            weights = np.repeat(given[first:last], self.sizes[first:last])
            here = self.items[begin : int(ends[last - 1])]
            found += np.bincount(here, weights=weights, minlength=universe).astype(np.int64)
            first = last
        return found

    def cells(self, universe: int) -> Numbers:
        """Raw: how often every set over a small universe occurs; bit i of its place stands for item i."""
        some = self.sizes > 0
        found = np.zeros(1 << universe, dtype=np.int64)
        found[0] = self.lacking
        if some.any():
            bits = (1 << np.arange(universe))[self.items]
            found += np.bincount(np.add.reduceat(bits, self.begins[some]), minlength=1 << universe)
        return found

    def size_counts(self) -> tuple[Numbers, Numbers]:
        """Raw: the numbers of items that sets have, ascending, and how many sets have each."""
        counts = np.bincount(self.sizes)
        found = np.flatnonzero(counts)
        return found, counts[found]

    def parts(self, tree: ItemTree) -> PartsInMemory:
        """Raw: the sets that have an item of the tree, to be told apart along it."""
        return PartsInMemory(Sets.of(self, tree))

    def columns(
        self, items: Sequence[int], universe: int, names: Sequence[str], owner: str | None
    ) -> pl.DataFrame:
        """Raw: a row for every set: a column for each of some items says who has it, and one whose it is."""
        frame = pl.DataFrame(dict(zip(names, self.held(items, universe), strict=True)))
        return frame if owner is None else frame.with_columns(pl.Series(owner, self.owners).cast(pl.String))

    def held(self, items: Sequence[int], universe: int) -> NDArray[np.bool_]:
        """Raw: for each of some items a row that says which sets hold it."""
        place = np.full(universe, -1, dtype=np.int32)
        place[list(items)] = np.arange(len(items))
        has = np.zeros((len(items), self.size), dtype=np.bool_)
        ends = np.cumsum(self.sizes)
        for begin in range(0, len(self.items), AT_ONCE):
            found = place[self.items[begin : begin + AT_ONCE]]
            here = np.flatnonzero(found >= 0)
            has[found[here], np.searchsorted(ends, here + begin, side="right")] = True
        return has

    def lattice(self, items: Sequence[int], universe: int, longest: int) -> Numbers:
        """Raw: how many sets hold each set of 1 to `longest` of some items, smaller ones first."""
        found = self.among(items, universe)
        counted = [np.zeros(comb(len(items), size)) for size in range(1, longest + 1)]
        for begin in range(0, len(found), AT_ONCE // 16):
            rows = slice(begin, begin + AT_ONCE // 16)
            has = np.zeros((len(found.sizes[rows]), len(items)))
            sizes, places = found.picked(np.arange(len(found))[rows])
            has[np.repeat(np.arange(len(has)), sizes), places] = 1.0
            for size, counts in enumerate(counted, 1):
                counts += _held(has, found.weights[rows].astype(np.float64), size)
        return np.concatenate(counted).astype(np.int64)

    def among(self, items: Sequence[int], universe: int) -> WeightedSets:
        """Raw: the different sets of some items alone, as places among these, and how often each occurs."""
        place = np.full(universe, -1, dtype=np.int64)
        place[list(items)] = np.arange(len(items))
        kept = place[self.items] >= 0
        sizes = np.zeros(self.size, dtype=np.int64)
        some = self.sizes > 0
        if some.any():
            sizes[some] = np.add.reduceat(kept.astype(np.int64), self.begins[some])
        return WeightedSets.counted(sizes, place[self.items[kept]])

    def at_most(
        self, sets: int | None, items: int | None, key: bytes, names: Names | None, digits: Digits
    ) -> Incidence:
        """Raw: a random sample of at most so many sets of each unit, and of so many items of each set.

        `names` says what every owner is called. The sets of a unit are counted in an order that their items
        decide, so that it makes no difference how the records are sorted; `digits` is how items are written.
        """
        found = self
        if sets is not None and self.owners is not None:
            several = np.flatnonzero((np.bincount(self.owners) > sets)[self.owners])
            if len(several):
                these, order = self.picked(several), np.zeros(self.size, dtype=np.int64)
                order[several] = ranked(these.items, these.sizes)
                found = self.picked(sample_per_user(self.owners, sets, key, names=names, order=[order]))
        return found if items is None else found.shortened(items, key + b"items", names, digits)

    def shortened(self, largest: int, key: bytes, names: Names | None, digits: Digits) -> Incidence:
        """Raw: a random sample of at most so many items of each set."""
        long = np.flatnonzero(self.sizes > largest)
        if not len(long):
            return self
        these = self.picked(long)
        kept = np.zeros(len(these.items), dtype=np.bool_)
        kept[sample_per_user(these.sets, largest, key, names=these.named(names, digits))] = True
        whole = np.ones(len(self.items), dtype=np.bool_)
        whole[np.repeat(self.sizes > largest, self.sizes)] = kept
        return Incidence(np.minimum(self.sizes, largest), self.items[whole], self.owners)

    def named(self, owners: Names | None, digits: Digits) -> list[str]:
        """What each set is called: its owner, its items, and which of several such it is.

        With one more unit the sets of all others are called as before; which of several equal sets of one
        owner has which name makes no difference.
        """
        seen: Counter[str] = Counter()
        names = []
        for number, items in enumerate(np.split(self.items, self.begins[1:])):
            owner = "" if owners is None or self.owners is None else str(owners[int(self.owners[number])])
            called = f"{owner}|{digits.text(items.tolist())}"
            names.append(f"{called}|{seen[called]}")
            seen[called] += 1
        return names


def _held(has: NDArray[np.float64], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Raw: the weight of the rows that have all of so many columns, for each choice of them in order.

    Sums of whole numbers below 2**53, which are exact as doubles.
    """
    if not len(has) or has.shape[1] < size:
        return np.zeros(comb(has.shape[1], size))
    if size == 1:
        return weights @ has
    if size == 2:
        pairs: NDArray[np.float64] = ((has * weights[:, None]).T @ has)[np.triu_indices(has.shape[1], 1)]
        return pairs
    parts = []
    for first in range(has.shape[1]):
        rows = has[:, first] > 0
        parts.append(_held(has[rows, first + 1 :], weights[rows], size - 1))
    return np.concatenate(parts)
