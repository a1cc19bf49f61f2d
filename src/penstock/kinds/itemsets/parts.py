"""Raw item sets, sorted into parts by which groups of items they meet. All of it lies below the seal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.itemsets.item_tree import ItemTree, Operation

if TYPE_CHECKING:
    from penstock.kinds.itemsets.incidence import Incidence

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sets:
    """Raw: sets one after the other, each with at least one item; `places` are those of a tree of items.

    Items that are told apart already are left out, so that every step down costs less than the one before.
    """

    places: NDArray[np.integer]
    sizes: Numbers

    @classmethod
    def of(cls, raw: Incidence, tree: ItemTree) -> Sets:
        """The sets that have an item of the tree, without other items."""
        place = np.full(max(tree.size, int(raw.items.max(initial=0)) + 1), -1, dtype=np.int32)
        place[tree.order] = np.arange(tree.size, dtype=np.int32)
        found, sizes = place[raw.items], raw.sizes
        known = found >= 0
        if not known.all():
            sizes = np.bincount(raw.sets[known], minlength=raw.size)
            found = found[known]
        return cls(found, sizes[sizes > 0])

    @property
    def size(self) -> int:
        return len(self.sizes)

    @cached_property
    def begins(self) -> Numbers:
        return np.cumsum(self.sizes) - self.sizes

    def choices(self, operation: Operation) -> NDArray[np.unsignedinteger]:
        """For every set the number of the members of a group that it meets, in few bytes."""
        if not self.size:
            return operation.bits[:0]
        low, high = operation.tree.bounds[operation.group]
        if (low, high) == (0, operation.tree.size):
            hits = operation.bits[self.places]
        else:
            # places below come out as huge numbers, and all that are not inside meet nothing
            inside = np.minimum((self.places - low).astype(np.uint32), high - low)
            hits = np.append(operation.bits, operation.bits.dtype.type(0))[inside]
        found: NDArray[np.unsignedinteger] = np.bitwise_or.reduceat(hits, self.begins)
        return found

    def of_choice(self, rows: Numbers, done: NDArray[np.bool_]) -> Sets:
        """Some of the sets, without the items at places that are done with."""
        sizes = self.sizes[rows]
        total = int(sizes.sum())
        ends = np.cumsum(sizes)
        entries = np.arange(total) + np.repeat(self.begins[rows] - (ends - sizes), sizes)
        places = self.places[entries]
        kept = ~done[places]
        if kept.all():
            return Sets(places, sizes)
        left = np.add.reduceat(kept.astype(np.int64), ends - sizes) if total else sizes
        return Sets(places[kept], left)


@dataclass(frozen=True, eq=False)
class Sorted:
    """Raw: the sets of a part with the choice of each, sorted by it."""

    sets: Sets
    operation: Operation
    order: Numbers
    choices: Numbers

    @classmethod
    def by(cls, sets: Sets, operation: Operation) -> Sorted:
        choices = sets.choices(operation)
        order = np.argsort(choices, kind="stable")
        return cls(sets, operation, order, choices[order].astype(np.int64))

    @cached_property
    def runs(self) -> tuple[Numbers, Numbers]:
        """The choices that occur, ascending, and how many sets have each."""
        begins = np.flatnonzero(np.diff(self.choices, prepend=-1))
        return self.choices[begins], np.diff(begins, append=len(self.choices))

    def of(self, choice: int) -> Sets:
        """The sets of one choice."""
        begin, end = np.searchsorted(self.choices, [choice, choice + 1])
        tree = self.operation.tree
        done = np.zeros(tree.size, dtype=np.bool_)
        done[[node for node in self.operation.cut_of(choice) if node < tree.size]] = True
        return self.sets.of_choice(self.order[begin:end], done)


@dataclass(frozen=True, eq=False)
class PartsInMemory:
    """Raw: the sets of a tree of items, told apart one part after the other."""

    sets: Sets

    def everything(self) -> Sets:
        return self.sets

    def size_of(self, part: Sets) -> int:
        return part.size

    def expect(self, part: Sets, operation: Operation) -> None:
        pass

    def divided(self, part: Sets, operation: Operation) -> Sorted:
        return Sorted.by(part, operation)
