"""What can be counted in item sets wherever they are: in memory, or in a database. All of it is raw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.itemsets.item_tree import ItemTree, Operation

Numbers = NDArray[np.int64]


class Division(Protocol):
    """Raw: a part and which choice of the members of a group each of its sets meets."""

    @property
    def runs(self) -> tuple[Numbers, Numbers]:
        """The choices that occur, ascending, and how many sets have each."""

    def of(self, choice: int) -> Any:
        """The sub-part of one choice, which may be empty."""


class Parts(Protocol):
    """Raw: the sets that have an item, to be told apart along a tree of items.

    What a part is, only this object knows. `size_of` says how many sets it holds.
    """

    def everything(self) -> Any:
        """The part of all of them."""

    def size_of(self, part: Any) -> int:
        """How many sets a part holds."""

    def expect(self, part: Any, operation: Operation) -> None:
        """Say that a part will be divided: what is expected together is found in one pass, at best."""

    def divided(self, part: Any, operation: Operation) -> Division:
        """A part, told apart by which members of a group of its cut its sets meet."""


class Recorded(Protocol):
    """Raw: item sets, and whose they are."""

    @property
    def size(self) -> int:
        """The number of sets, empty ones included."""

    @property
    def lacking(self) -> int:
        """The number of sets without an item."""

    def holders(self, universe: int) -> Numbers:
        """For every item, the number of units that have it in any of their sets."""

    def supports(self, universe: int) -> Numbers:
        """For every item, the number of sets that hold it."""

    def shares(self, universe: int, most: int, steps: int) -> Numbers:
        """The sum of what every set gives to each of its items: `steps`, or less where it has too many.

        A set of more than `most` items divides `most` times as many steps among them, rounded down.
        """

    def cells(self, universe: int) -> Numbers:
        """How often every set over a small universe occurs; bit i of its place stands for item i."""

    def size_counts(self) -> tuple[Numbers, Numbers]:
        """The numbers of items that sets have, ascending, and how many sets have each."""

    def lattice(self, items: Sequence[int], universe: int, longest: int) -> Numbers:
        """How many sets hold each set of 1 to `longest` of some items, smaller ones first."""

    def columns(self, items: Sequence[int], universe: int, names: Sequence[str], owner: str | None) -> Any:
        """A table with a row for every set and a column for each of some items, which says who has it; and
        whose the set is, where it is somebody's."""

    def parts(self, tree: ItemTree) -> Parts:
        """The sets that have an item of the tree, without other items."""
