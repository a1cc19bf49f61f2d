"""Item sets of a database, told apart along a tree of items: all parts that wait at one time in one query.

The twin of `parts.PartsInMemory`. After each pass the database keeps, for every different set, the part that
it was in and the members of the divided group that it meets; the next parts are choices among these. Which
part has how many sets of which choice is all that comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.stored import Stored
from penstock.kinds.itemsets.item_tree import ItemTree, Operation

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from penstock.kinds.itemsets.database import SetsInDatabase

Numbers = NDArray[np.int64]

PART, MASK = "part", "mask"
_WIDEST = 32  # bits of a mask that are packed beside the number of a part


@dataclass(frozen=True, eq=False)
class PartInDatabase:
    """Raw: the sets that were in a part of the pass before and made one choice there."""

    told: Stored | None
    part: int
    mask: int
    size: int


@dataclass(frozen=True, eq=False)
class DivisionInDatabase:
    """Raw: the choices of the sets of a part, and how many sets have each."""

    told: Stored | None
    part: int
    operation: Operation
    runs: tuple[Numbers, Numbers]

    def of(self, choice: int) -> PartInDatabase:
        choices, counts = self.runs
        size = int(counts[choices == choice].sum())
        return PartInDatabase(self.told, self.part, self.operation.mask_of(choice), size)


@dataclass(eq=False)
class PartsInDatabase:
    """Raw: parts of the sets of a database."""

    sets: SetsInDatabase
    tree: ItemTree
    _expected: list[tuple[PartInDatabase, Operation]] = field(default_factory=list)
    _found: dict[PartInDatabase, DivisionInDatabase] = field(default_factory=dict)
    _members: Any = None

    def everything(self) -> PartInDatabase:
        return PartInDatabase(None, 0, 0, self.sets.size - self.sets.lacking)

    def size_of(self, part: PartInDatabase) -> int:
        return part.size

    def expect(self, part: PartInDatabase, operation: Operation) -> None:
        self._expected.append((part, operation))

    def divided(self, part: PartInDatabase, operation: Operation) -> DivisionInDatabase:
        if part not in self._found:
            if all(expected is not part for expected, _ in self._expected):
                self._expected.append((part, operation))
            waiting, self._expected = self._expected, []
            self._found = self._divided(waiting)
        return self._found.pop(part)

    def _divided(
        self, waiting: Sequence[tuple[PartInDatabase, Operation]]
    ) -> dict[PartInDatabase, DivisionInDatabase]:
        """All of them in one query. They come from the same pass before, or are everything."""
        none = np.zeros(0, dtype=np.int64)
        found = {
            part: DivisionInDatabase(None, place, operation, (none, none))
            for place, (part, operation) in enumerate(waiting)
        }
        filled = [place for place, (part, _) in enumerate(waiting) if part.size]
        if not filled:
            return found
        asked = [waiting[place] for place in filled]
        told = self.sets.asked(lambda: Stored(self._told(asked, filled)))
        keys, counts = self.sets.sums(
            told.table, told.table[PART] * (1 << _WIDEST) + told.table[MASK], told.table["n"]
        )
        parts, masks = keys >> _WIDEST, keys & ((1 << _WIDEST) - 1)
        begins = np.searchsorted(parts, np.arange(len(waiting) + 1))
        for place in filled:
            part, operation = waiting[place]
            here = slice(begins[place], begins[place + 1])
            choices = operation.choices_of(masks[here])
            order = np.argsort(choices)
            runs = (choices[order], counts[here][order])
            found[part] = DivisionInDatabase(told, place, operation, runs)
        return found

    def _told(self, waiting: Sequence[tuple[PartInDatabase, Operation]], places: Sequence[int]) -> ir.Table:
        """Every set of these parts with the members of the divided group that it meets, as bits."""
        import ibis

        (before,) = {id(part.told): part.told for part, _ in waiting}.values()
        groups = np.array([operation.group for _, operation in waiting])
        if before is None:
            ((number, group),) = zip(places, groups.tolist(), strict=True)
            here = self.sets.table.select(
                t=self.sets.table["t"],
                n=self.sets.table["n"],
                part=ibis.literal(number, type="int64"),
                divided=ibis.literal(group, type="int64"),
            )
        else:
            listed = self.sets.listed(
                was=np.array([part.part for part, _ in waiting]),
                met=np.array([part.mask for part, _ in waiting]),
                now=np.asarray(places),
                divided=groups,
            )
            known = before.table
            joined = known.inner_join(listed, (known[PART] == listed["was"]) & (known[MASK] == listed["met"]))
            here = joined.select(t=joined["t"], n=joined["n"], part=joined["now"], divided=joined["divided"])
        items = self.sets.exploded(here)
        bits = self._bits()
        met = items.inner_join(bits, (items["divided"] == bits["above"]) & (items["item"] == bits["below"]))
        return met.group_by(["t", "n", PART]).aggregate(**{MASK: _bit_or()(met["bit"])})

    def _bits(self) -> ir.Table:
        """For every group and every item below it the bit of the member that holds it; handed over once."""
        if self._members is None:
            above, below, bit = [], [], []
            for place, members in enumerate(self.tree.children):
                for number, member in enumerate(members):
                    low, high = self.tree.bounds[member]
                    above.append(np.full(high - low, self.tree.size + place))
                    below.append(self.tree.order[low:high])
                    bit.append(np.full(high - low, 1 << number))
            self._members = self.sets.listed(
                above=np.concatenate(above), below=np.concatenate(below), bit=np.concatenate(bit)
            )
        return self._members


def _bit_or() -> Any:
    """The bits that some number of a group has: Ibis has no name for it in Spark, which has the function."""
    import ibis

    @ibis.udf.agg.builtin(name="bit_or", signature=(("int64",), "int64"))  # type: ignore[untyped-decorator]  # untyped library
    def bit_or(numbers: Any) -> Any:
        """Every one of our databases has this function, and runs its own."""

    return bit_or
