"""Sets of items with a weight each: what a release of item sets holds, and what a file of sets becomes.

Counting, mining and drawing are the same for synthetic sets and, in an evaluation, for the original.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Found = tuple[Sequence[int], int]
"""The items of a set, and how often it occurs."""


@dataclass(frozen=True, eq=False)
class WeightedSets:
    """Sets one after the other: their sizes, all their items, ascending in each, and a weight for each set.

    >>> sets = WeightedSets.of([((1, 0), 3), ((2,), 2)])
    >>> sets.support([0]), sets.support([]), sets.supports(3).tolist()
    (3, 5, [3, 3, 2])
    """

    sizes: Numbers
    items: Numbers
    weights: Numbers

    @classmethod
    def of(cls, found: Iterable[Found], order: Numbers | None = None) -> WeightedSets:
        """From single sets, by size and items; `order` has the item that each number stands for."""
        named = (
            (sorted(int(item) if order is None else int(order[item]) for item in items), weight)
            for items, weight in found
        )
        listed = sorted(((len(items), items, weight) for items, weight in named), key=lambda one: one[:2])
        return cls(
            np.array([size for size, _, _ in listed], dtype=np.int64),
            np.array([item for _, items, _ in listed for item in items], dtype=np.int64),
            np.array([weight for _, _, weight in listed], dtype=np.int64),
        )

    @classmethod
    def counted(cls, sizes: Numbers, items: NDArray[np.integer]) -> WeightedSets:
        """From sizes and items, ascending in each set: every different set once, empty ones left out."""
        begins = np.cumsum(sizes) - sizes
        narrow = items.astype(np.min_scalar_type(int(items.max(initial=0))), copy=False)
        times = np.bincount(sizes)
        widths = np.flatnonzero(times)
        by_width = begins[np.argsort(sizes.astype(np.min_scalar_type(len(times))), kind="stable")]
        found = [
            _different(narrow, rows, int(width))
            for width, rows in zip(widths, np.split(by_width, np.cumsum(times[widths]))[:-1], strict=True)
            if width
        ]
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([nothing, *(np.full(len(rows), rows.shape[1]) for rows, _ in found)]),
            np.concatenate([nothing, *(rows.ravel() for rows, _ in found)]),
            np.concatenate([nothing, *(times for _, times in found)]),
        )

    def up_to(self, largest: int | None) -> WeightedSets:
        """Those with no more items than a set can have, where the schema says how many that are.

        >>> WeightedSets.of([((0,), 3), ((0, 1), 2)]).up_to(1).items.tolist()
        [0]
        """
        if largest is None:
            return self
        kept = self.sizes <= largest
        return WeightedSets(self.sizes[kept], self.items[np.repeat(kept, self.sizes)], self.weights[kept])

    def and_those(self, others: WeightedSets) -> WeightedSets:
        """Both together, every different set once.

        >>> both = WeightedSets.of([((0,), 3)]).and_those(WeightedSets.of([((0,), 1), ((1,), 2)]))
        >>> both.items.tolist(), both.weights.tolist()
        ([0, 1], [4, 2])
        """
        found: Counter[tuple[int, ...]] = Counter()
        for sets in (self, others):
            for items, weight in zip(
                np.split(sets.items, sets.begins[1:]), sets.weights.tolist(), strict=False
            ):
                found[tuple(items.tolist())] += weight
        return WeightedSets.of(found.items())

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def total(self) -> int:
        return int(self.weights.sum())

    @cached_property
    def begins(self) -> Numbers:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def owners(self) -> Numbers:
        """The set of every item."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def _by_item(self) -> tuple[Numbers, list[int]]:
        """The sets that hold each item, ascending, item after item, and where those of each item begin."""
        last = int(self.items.max(initial=-1)) + 1
        order = np.argsort(self.items.astype(np.min_scalar_type(last)), kind="stable")
        return self.owners[order], np.searchsorted(self.items[order], np.arange(last + 1)).tolist()

    def holders(self, item: int) -> Numbers:
        """The sets that hold an item."""
        owners, begins = self._by_item
        return owners[begins[item] : begins[item + 1]] if item + 1 < len(begins) else owners[:0]

    def supports(self, universe: int) -> Numbers:
        """For every item, how many sets hold it."""
        return np.bincount(self.items, weights=self.weights[self.owners], minlength=universe).astype(np.int64)

    def holding(self, items: Sequence[int]) -> Numbers:
        """The sets that hold all of some items."""
        lists = [self.holders(item) for item in items]
        if not lists:
            return np.arange(len(self))
        if not all(map(len, lists)):
            return lists[0][:0]
        rows, *others = sorted(lists, key=len)
        for more in others:
            rows = np.intersect1d(rows, more, assume_unique=True)
            if not len(rows):
                break
        return rows

    def support(self, items: Sequence[int]) -> int:
        """How many sets hold all of some items."""
        return int(self.weights[self.holding(items)].sum())

    def of_sizes(self) -> Numbers:
        """How many sets have each size, from 0 on."""
        return np.bincount(self.sizes, weights=self.weights, minlength=1).astype(np.int64)

    def picked(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Sizes and items of the sets of these numbers, one after the other."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        places = np.arange(int(sizes.sum())) + np.repeat(self.begins[rows] - (ends - sizes), sizes)
        return sizes, self.items[places]

    def weights_of_items(self, rows: Numbers, universe: int) -> Numbers:
        """For every item, how many of these sets hold it."""
        sizes, items = self.picked(rows)
        return np.bincount(items, weights=np.repeat(self.weights[rows], sizes), minlength=universe).astype(
            np.int64
        )


def _different(
    items: NDArray[np.unsignedinteger], begins: Numbers, width: int
) -> tuple[NDArray[np.unsignedinteger], Numbers]:
    """Every different set once, in ascending order, and how often it occurs, of sets of one size.

    Sets become words of 64 bits, as many items in each as there is room for. Most of them differ in the
    first word, by which they are sorted; only those that do not are compared by the others.
    """
    bits = np.uint64(8 * items.itemsize)
    words = []
    for first in range(0, width, 8 // items.itemsize):
        word = np.zeros(len(begins), dtype=np.uint64)
        for column in range(first, min(width, first + 8 // items.itemsize)):
            word = word << bits | items[begins + column]
        words.append(word)
    order = np.argsort(words[0])
    leading = words[0][order]
    again = leading[1:] == leading[:-1]
    if len(words) > 1 and again.any():
        tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
        order[tied] = order[tied][np.lexsort([word[order[tied]] for word in reversed(words)])]
        for word in words[1:]:
            again &= word[order[1:]] == word[order[:-1]]
    starts = np.flatnonzero(np.append(True, ~again))
    return items[begins[order[starts], None] + np.arange(width)], np.diff(starts, append=len(begins))
