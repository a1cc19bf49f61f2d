"""The sealed handle on item sets: baskets, transactions, lists of diagnoses.

The support of an item is the number of units that have it: of sets, or of users where the schema protects
users with several sets. A unit has an item or has it not, so that its coming or going moves each support by
at most one, and all of them in the same direction. Together they move by at most the number of items that a
unit can have, which is the whole universe unless the schema bounds the sets.

A set can also be told apart step by step, along a public tree of items: which of the largest groups it meets,
then which smaller ones inside each. At every step it goes on to one of the parts that there are, so that a
unit moves the counts of all parts of one step by no more than it has sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.data import Data, Handle
from penstock.errors import DataError, SchemaError
from penstock.kinds.itemsets.incidence import Incidence
from penstock.kinds.itemsets.item_tree import Cut, ItemTree, Operation
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.reading import open_itemsets
from penstock.kinds.itemsets.recorded import Division as Divided
from penstock.kinds.itemsets.recorded import Parts, Recorded
from penstock.privacy.laws.passing import SparseCounts
from penstock.privacy.mechanisms.growth import Growth
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

D = TypeVar("D", bound=Data)

STEPS = 1 << 12
"""The steps in which a set that has too many items counts for each of them."""


class Part(Handle):
    """The sets that meet every node of one cut of a tree of items, and no other item."""

    def __init__(self, parts: Parts, raw: Any, moves: Sensitivity) -> None:
        self._parts, self._raw, self._moves = parts, raw, moves

    def size(self) -> Sealed[SparseCounts]:
        """How many sets there are: a table of one cell."""
        size = self._parts.size_of(self._raw)
        occurs = 1 if size else 0
        return Sealed(
            SparseCounts(np.zeros(occurs, dtype=np.int64), np.full(occurs, size), 1),
            self._moves,
            Relation.ADD_REMOVE,
            because="a set is counted once, and a unit has as many sets as the schema allows",
        )

    def expect(self, operation: Operation) -> None:
        """Say that the part will be divided so: what is expected together is found in one pass, at best."""
        self._parts.expect(self._raw, operation)

    def divided(self, operation: Operation) -> Division:
        """The part, told apart by which members of a group of the cut its sets meet."""
        return Division(self._parts, self._parts.divided(self._raw, operation), operation, self._moves)


class Division(Handle):
    """A part and its sub-parts: one for every choice of members of a group that a set can meet."""

    def __init__(self, parts: Parts, found: Divided, operation: Operation, moves: Sensitivity) -> None:
        self._parts, self._found, self._operation, self._moves = parts, found, operation, moves

    def whole(self) -> Sealed[SparseCounts]:
        """How many sets each choice has that says which set it is."""
        choices, counts = self._found.runs
        here = choices <= self._operation.whole
        return Sealed(
            SparseCounts(choices[here] - 1, counts[here], self._operation.whole),
            self._moves,
            Relation.ADD_REMOVE,
            because="a set meets one choice of the members of a group, which it alone decides, and is "
            "counted there once; a unit has as many sets as the schema allows",
        )

    def open(self) -> Sealed[SparseCounts]:
        """How many sets each choice has that leaves something to find out."""
        choices, counts = self._found.runs
        here = choices > self._operation.whole
        return Sealed(
            SparseCounts(choices[here] - self._operation.open_choice(0), counts[here], self._operation.open),
            self._moves,
            Relation.ADD_REMOVE,
            because="a set meets one choice of the members of a group, which it alone decides, and is "
            "counted there once; a unit has as many sets as the schema allows",
        )

    def every(self) -> Sealed[NDArray[np.int64]]:
        """How many sets each choice has, all choices in one vector."""
        choices, counts = self._found.runs
        dense = np.zeros(self._operation.whole + self._operation.open, dtype=np.int64)
        dense[choices - 1] = counts
        return Sealed(
            dense,
            self._moves,
            Relation.ADD_REMOVE,
            because="a set meets one choice of the members of a group and is counted there once, so that a "
            "unit moves all counts together, in one direction, by no more than it has sets",
        )

    def occurring(self) -> Sealed[NDArray[np.int64]]:
        """How many choices occur at all, as a vector of one."""
        return Sealed(
            np.array([len(self._found.runs[0])], dtype=np.int64),
            self._moves,
            Relation.ADD_REMOVE,
            because="one set makes one choice occur or not, and a unit has as many sets as the schema allows",
        )

    def part(self, choice: int) -> Part:
        """The sub-part of one choice, which may be empty."""
        return Part(self._parts, self._found.of(choice), self._moves)


class SetLevel(Handle):
    """All parts of one depth that exist so far: a level of the tree that PrivTree grows.

    Of a cut, the first of its largest groups is divided, in the order of the tree.
    """

    def __init__(
        self, tree: ItemTree, cuts: Sequence[Cut], whole: Parts, parts: Sequence[Any], moves: Sensitivity
    ) -> None:
        self._tree, self._whole, self._parts, self._moves = tree, whole, parts, moves
        self._sizes = np.array([whole.size_of(part) for part in parts], dtype=np.int64)
        self.cuts = cuts

    def _operation(self, place: int) -> Operation:
        cut = self.cuts[place]
        heights = self._tree.heights[list(cut)]
        return Operation(
            self._tree, cut, min(node for node in cut if self._tree.heights[node] == heights.max())
        )

    @property
    def fans(self) -> NDArray[np.int64]:
        """Every non-empty choice of the members of the group; nothing where the cut is a set."""
        whole = [all(node < self._tree.size for node in cut) for cut in self.cuts]
        sizes = [0 if done else len(self._operation(place).members) for place, done in enumerate(whole)]
        return (1 << np.array(sizes, dtype=np.int64)) - 1

    def scores(self, asked: NDArray[np.int64]) -> Sealed[NDArray[np.int64]]:
        """How many sets each part holds."""
        return Sealed(
            self._sizes[asked],
            self._moves,
            Relation.ADD_REMOVE,
            because="a set lies in one part of each depth, which it alone decides: a unit raises counts "
            "along as many paths as it has sets, and no part holds more sets than the one above it",
        )

    def children(self, split: NDArray[np.int64]) -> SetLevel:
        """The parts of those that are split. This level then lets go of its records: it is asked once, and
        a database keeps a table for every level that holds some."""
        cuts: list[Cut] = []
        parts: list[Any] = []
        asked = [(self._parts[place], self._operation(place)) for place in split.tolist()]
        for part, operation in asked:
            self._whole.expect(part, operation)
        for part, operation in asked:
            found = self._whole.divided(part, operation)
            for choice in range(1, 1 << len(operation.members)):
                cuts.append(operation.cut_of(choice))
                parts.append(found.of(choice))
        self._parts = ()
        return SetLevel(self._tree, cuts, self._whole, parts, self._moves)


class ItemSets(Data):
    """Item sets that can be counted and not seen.

    >>> import polars as pl
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, butter, milk]}}
    ... ''')
    >>> ItemSets.open(pl.DataFrame({"basket": ["milk bread", "butter", ""]}), schema).supports()
    Sealed(sensitivity 3, add-remove)
    """

    def __init__(self, recorded: Recorded, schema: Schema) -> None:
        _ = ItemSetLayout.of(schema)
        self._recorded, self.schema = recorded, schema
        if schema.relation is Relation.REPLACE:
            if schema.unit.records > 1:
                raise SchemaError(
                    "relation 'replace' keeps the number of item sets fixed, but a user who is replaced may "
                    "bring another number of them; set unit.at_most to 1, or use relation 'add-remove'."
                )
            if schema.size is None:
                raise SchemaError(
                    "relation 'replace' makes the number of item sets public; declare it in the schema as "
                    "'size', or use relation 'add-remove'."
                )

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> ItemSets:
        nothing = np.zeros(0, dtype=np.int64)
        cls(
            Incidence(nothing, nothing.astype(np.uint8)), schema
        )  # refuses bad schemas before anything is read
        found = open_itemsets(source, schema, table=table, engine=engine, order_key=order_key)
        if schema.relation is Relation.REPLACE and schema.size != found.size:
            raise DataError(
                f"The schema declares a public size of {schema.size} item sets and the data has another "
                "number; correct one of them. Nothing was spent."
            )
        return cls(found, schema)

    def __repr__(self) -> str:
        return f"ItemSets({len(self.universe)} items, sealed, {self.schema.relation.value})"

    @property
    def universe(self) -> tuple[str, ...]:
        """All items that can be: public. Signs for missing and other items are none of them."""
        return self.schema.field(ItemSetLayout.of(self.schema).item).labels

    @property
    def counted(self) -> str:
        """What a support counts."""
        return "users" if self.schema.unit.protects == "user" else "item sets"

    @property
    def sensitivity(self) -> Sensitivity:
        """Of all supports together."""
        size, largest = len(self.universe), ItemSetLayout.of(self.schema).largest
        most = size if largest is None else min(size, largest * self.schema.unit.records)
        if self.schema.relation is Relation.ADD_REMOVE:
            return Sensitivity.of(most, linf=1, monotone=True)
        return Sensitivity.of(2 * most, linf=1)

    def size(self) -> Sealed[NDArray[np.int64]]:
        """The number of item sets, as a vector of one."""
        moves = self.schema.unit.records if self.schema.relation is Relation.ADD_REMOVE else 0
        return Sealed(
            np.array([self._recorded.size], dtype=np.int64),
            Sensitivity.of(moves, monotone=True),
            self.schema.relation,
            because="every set is counted once; under replace the number is public and stays as it is",
        )

    @property
    def _per_set(self) -> Sensitivity:
        """Of counts in which every set is counted once at most."""
        return Sensitivity.of(self.schema.unit.records, monotone=True)

    def everything(self, tree: ItemTree) -> Part:
        """All sets that have an item of the universe, to be told apart along a tree of items."""
        parts = self._recorded.parts(tree)
        return Part(parts, parts.everything(), self._per_set)

    def levels(self, tree: ItemTree) -> SetLevel:
        """The part of all sets that have an item, from which a tree of parts grows."""
        parts = self._recorded.parts(tree)
        return SetLevel(tree, [(tree.root,)], parts, [parts.everything()], self._per_set)

    def leaf_counts(self, growth: Growth[SetLevel]) -> Sealed[NDArray[np.int64]]:
        """How many sets have no item, and then how many are in each part that was not divided."""
        counts = [self._recorded.lacking]
        for level, leaves in zip(growth.levels, growth.leaves, strict=True):
            counts += level._sizes[leaves].tolist()
        return Sealed(
            np.array(counts, dtype=np.int64),
            self._per_set,
            self.relation,
            because="a set has no item, or lies in exactly one part that was not divided; it is counted once",
        )

    def table(self) -> Sealed[NDArray[np.int64]]:
        """How often every set over the universe occurs; bit i of its place says that it has item i."""
        return Sealed(
            self._recorded.cells(len(self.universe)),
            self._per_set,
            Relation.ADD_REMOVE,
            because="a set is one of all sets over the universe and is counted there once; a unit has as "
            "many sets as the schema allows",
        )

    def sizes(self, begins: Sequence[int]) -> Sealed[NDArray[np.int64]]:
        """How many sets have a size in each range; a range ends where the next begins, the last nowhere."""
        sizes, counts = self._recorded.size_counts()
        place = np.searchsorted(np.asarray(begins), sizes, side="right") - 1
        return Sealed(
            np.bincount(place, weights=counts, minlength=len(begins)).astype(np.int64),
            self._per_set,
            Relation.ADD_REMOVE,
            because="a set has one size and is counted in its range once; a unit has as many sets as the "
            "schema allows",
        )

    def supports_within(self, most: int) -> Sealed[NDArray[np.int64]]:
        """How many sets have each item, in steps: a set has `STEPS` of them for each of up to `most` items.

        One with more items has as many steps in all, the same for each of its items, rounded down.
        """
        return Sealed(
            self._recorded.shares(len(self.universe), most, STEPS),
            Sensitivity.of(
                STEPS * self.schema.unit.records * min(most, len(self.universe)),
                linf=STEPS * self.schema.unit.records,
                monotone=True,
            ),
            Relation.ADD_REMOVE,
            because="a set divides no more than so many steps among its items, by their number alone; a unit "
            "has as many sets as the schema allows",
        )

    def lattice(
        self, items: Sequence[int], longest: int, some: Sequence[int] | None = None
    ) -> Sealed[NDArray[np.int64]]:
        """How many sets hold each set of 1 to `longest` of these items, or only `some` of these counts."""
        if longest == 1:
            counts = self._recorded.supports(len(self.universe))[list(items)]
        else:
            counts = self._recorded.lattice(items, len(self.universe), longest)
        counts = counts if some is None else counts[list(some)]
        largest = ItemSetLayout.of(self.schema).largest or len(items)
        held = sum(comb(min(largest, len(items)), size) for size in range(1, longest + 1))
        return Sealed(
            counts,
            Sensitivity.of(
                self.schema.unit.records * min(len(counts), held),
                linf=self.schema.unit.records,
                monotone=True,
            ),
            Relation.ADD_REMOVE,
            because="a set holds a set of items or not, and raises its count by one where it does: no count "
            "moves further than a unit has sets, all in one direction, and no more of them than a set of the "
            "largest size that the schema allows can hold",
        )

    def as_columns(self, handle: type[D], items: Sequence[int]) -> D:
        """The same sets as rows of a table, behind another seal: a column for each item says who has it.

        What is protected stays the same: a set becomes one row, and its owner stays its owner.
        """
        unit = self.schema.unit
        word = "column" if (unit.column or "").startswith("item") else "item"
        names = [f"{word} {item}" for item in items]
        facts = {
            "fields": [{"name": name, "type": "boolean"} for name in names],
            "unit": unit.model_dump(by_alias=True, exclude_defaults=True),
        }
        columns = self._recorded.columns(items, len(self.universe), names, unit.column)
        opened = handle.open(columns, Schema.model_validate(facts))
        opened.repeatable, opened.made_of = self.repeatable, self.booked
        return opened

    def without_items(self) -> Sealed[SparseCounts]:
        """How many sets have no item of the universe: a table of one cell."""
        lacking = self._recorded.lacking
        occurs = 1 if lacking else 0
        return Sealed(
            SparseCounts(np.zeros(occurs, dtype=np.int64), np.full(occurs, lacking), 1),
            self._per_set,
            Relation.ADD_REMOVE,
            because="a set has an item of the universe or has none, and a unit has as many sets as the "
            "schema allows; it is counted here where it is in no other part",
        )

    def supports(self) -> Sealed[NDArray[np.int64]]:
        """For every item of the universe, how many units have it."""
        return Sealed(
            self._recorded.holders(len(self.universe)),
            self.sensitivity,
            self.schema.relation,
            because="a unit has an item or not: coming or going it moves the support of each item that it "
            "has by one, and it has no more items than the schema allows in all of its sets; one that is "
            "replaced loses its items and brings others, which moves each support by one at most",
        )
