"""Item sets inside a database: coded there, kept there, counted there.

The twin of `incidence.Incidence`, number for number. A set is a text of its items, ascending, each in digits
of one width (`penstock.engine.strings`), and equal sets are one row with their number. Only counts come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.arrow_memory import owned
from penstock.engine.bound import (
    called,
    keep_some,
    keep_some_per_user,
    nobodys,
    refuse_count,
    refuse_uncalled,
    user_in_database,
)
from penstock.engine.inside import Inside
from penstock.engine.pieces import USER
from penstock.engine.records import Source
from penstock.engine.stored import Stored
from penstock.engine.strings import PLACE, ROW, TOKEN, Digits, cut_up, places_of, refuse_values
from penstock.kinds.itemsets.item_tree import ItemTree
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.parts_in_database import PartsInDatabase
from penstock.progress import progress
from penstock.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

Numbers = NDArray[np.int64]

TEXT, TIMES, ITEM = "t", "n", "item"
_WRONG, _LOST, _NOBODY = "wrong", "lost", "nobody"
_CHECKS = (_WRONG, _LOST, _NOBODY)


class SetsInDatabase(Inside):
    """Raw: item sets that stay in a database; `recorded.Recorded` says what can be asked."""

    def __init__(self, records: Source, schema: Schema, needed: Sequence[str], order_key: bytes) -> None:
        super().__init__(records, needed)
        self._schema, self._layout = schema, ItemSetLayout.of(schema)
        self._codec = schema.codec(self._layout.item)
        self._universe = len(self._codec.field.labels)
        self.digits = Digits(self._universe)
        self._key = order_key
        self._owned: Stored | None = None
        self._counted: tuple[tuple[Sequence[int], int], Numbers] | None = None
        with progress("encoding item sets"):
            self._stored: Stored = self.asked(lambda: self._bounded(self.source))

    @property
    def table(self) -> ir.Table:
        """Every different set, and how often it occurs."""
        return self._stored.table

    @property
    def size(self) -> int:
        return int(self._sizes[1].sum())

    @property
    def lacking(self) -> int:
        sizes, counts = self._sizes
        return int(counts[sizes == 0].sum())

    def size_counts(self) -> tuple[Numbers, Numbers]:
        return self._sizes

    @cached_property
    def _sizes(self) -> tuple[Numbers, Numbers]:
        return self.sums(self.table, self.length(self.table), self.table[TIMES])

    def length(self, table: ir.Table) -> Any:
        """The number of items of every set."""
        return table[TEXT].length().cast("int64") // self.digits.width

    def exploded(self, table: ir.Table) -> ir.Table:
        """Every set once for each of its items."""
        some = table.filter(table[TEXT] != "")
        placed = places_of(some, self.length(some))
        return placed.mutate(**{ITEM: self.digits.at(placed[TEXT], placed[PLACE] - 1)})

    def holders(self, universe: int) -> Numbers:
        if self._owned is None:
            return self.supports(universe)
        items = self.exploded(self._owned.table.select(USER, TEXT))
        people = items.select(USER, ITEM).distinct()
        return self.counts(people, people[ITEM], universe)

    def supports(self, universe: int) -> Numbers:
        items = self.exploded(self.table)
        return self.summed(items, items[ITEM], items[TIMES], universe)

    def shares(self, universe: int, most: int, steps: int) -> Numbers:
        import ibis

        items = self.exploded(self.table)
        given = ibis.least(
            ibis.literal(steps, type="int64"), ibis.literal(steps * most, type="int64") // self.length(items)
        )
        return self.summed(items, items[ITEM], items[TIMES] * given, universe)

    def cells(self, universe: int) -> Numbers:
        found = np.zeros(1 << universe, dtype=np.int64)
        found[0] = self.lacking
        items = self.exploded(self.table)
        bits = self.listed(item_of_bit=np.arange(universe), bit=1 << np.arange(universe))
        joined = items.inner_join(bits, items[ITEM] == bits["item_of_bit"])
        masks = joined.group_by([TEXT, TIMES]).aggregate(mask=joined["bit"].sum().cast("int64"))
        keys, totals = self.sums(masks, masks["mask"], masks[TIMES])
        found[keys] += totals
        return found

    def lattice(self, items: Sequence[int], universe: int, longest: int) -> Numbers:
        asked = (list(items), longest)
        if self._counted is None or self._counted[0] != asked:
            self._counted = (asked, self._lattice(items, longest))
        return self._counted[1]

    def _lattice(self, items: Sequence[int], longest: int) -> Numbers:
        """First the different sets of these items alone, then the choices from each of them, size by size."""
        import ibis

        held = self.exploded(self.table)
        places = np.arange(len(items))
        listed = self.listed(chosen=np.asarray(items, dtype=np.int64), at=places)
        joined = held.inner_join(listed, held[ITEM] == listed["chosen"])
        digits = Digits(max(1, len(items)))
        text = self.database.joined(digits.written(joined["at"]), joined["at"], joined["at"].notnull())
        alone = joined.group_by([TEXT, TIMES]).aggregate(among=text)
        different = alone.group_by("among").aggregate(**{TIMES: alone[TIMES].sum().cast("int64")})
        kept = self.asked(lambda: Stored(different))
        found = []
        for size in range(1, longest + 1):
            placed = kept.table.mutate(
                key=ibis.literal(0, type="int64"), before=ibis.literal(0, type="int64")
            )
            for _ in range(size):
                placed = places_of(placed, placed["among"].length().cast("int64") // digits.width)
                placed = placed.filter(placed[PLACE] > placed["before"])
                at = digits.at(placed["among"], placed[PLACE] - 1)
                placed = placed.mutate(key=placed["key"] * len(items) + at, before=placed[PLACE]).drop(PLACE)
            keys, totals = self.sums(placed, placed["key"], placed[TIMES])
            counts = np.zeros(comb(len(items), size), dtype=np.int64)
            counts[_ranks(keys, len(items), size)] = totals
            found.append(counts)
        return np.concatenate(found)

    def columns(
        self, items: Sequence[int], universe: int, names: Sequence[str], owner: str | None
    ) -> ir.Table:
        table = self.table if self._owned is None else self._owned.table
        start = f"^([0-9]{{{self.digits.width}}})*" if self.digits.width > 1 else ""
        held = {
            name: table[TEXT].re_search(f"{start}{self.digits.text([item])}")
            for name, item in zip(names, items, strict=True)
        }
        if self._owned is not None:
            rows = table.select(**held, **{owner or USER: table[USER].cast("string")})
        else:
            several = places_of(table.select(**held, **{TIMES: table[TIMES]}), table[TIMES])
            rows = several.select(*names)
        return rows

    def parts(self, tree: ItemTree) -> PartsInDatabase:
        return PartsInDatabase(self, tree)

    def listed(self, **columns: Numbers) -> ir.Table:
        """Public numbers as a table of the database."""
        return self.database.listed(
            {name: owned(np.asarray(column, dtype=np.int64)) for name, column in columns.items()}
        )

    def _bounded(self, source: ir.Table) -> Stored:
        """Every different set and its number, checked, of each user a random sample of sets."""
        values, sets = self._gathered(source)
        if self._schema.unit.column is None:
            found = Stored(self._grouped(self._shortened(sets)))
            self._refuse(found.table, values)
            return found
        each = Stored(sets)
        self._refuse(each.table, values)
        refuse_uncalled(each.table, USER, self._schema.unit.column)
        own = each.table.select(USER, TEXT)
        bounded = keep_some_per_user(own, USER, self._schema.unit.records, self._key)
        self._owned = Stored(self._shortened(bounded))
        return Stored(self._grouped(self._owned.table))

    def _grouped(self, sets: ir.Table) -> ir.Table:
        checks = {name: sets[name].sum().cast("int64") for name in _CHECKS if name in sets.columns}
        return sets.group_by(TEXT).aggregate(**{TIMES: sets.count().cast("int64")}, **checks)

    def _gathered(self, source: ir.Table) -> tuple[ir.Table, ir.Table]:
        """The values as they are, and a text for every set, with what is wrong with it."""
        import ibis

        from penstock.schema.database import coded

        layout, gone = self._layout, self._schema.missing_values
        owner = self._schema.unit.column
        if owner is not None:
            source = source.mutate(**{owner: user_in_database(source[owner])})
        keep = {} if owner is None else {USER: owner}
        if layout.transaction is None:
            values = cut_up(source, layout.item, layout.separator, keep)
        else:
            columns = {ROW: user_in_database(source[layout.transaction]), TOKEN: source[layout.item]}
            values = source.select(**columns, **{name: source[of] for name, of in keep.items()})
        named = [name for name in (ROW, PLACE, *keep) if name in values.columns]
        inner = coded(
            values,
            {TOKEN: self._codec},
            {name: name for name in named},
            computed=self.database.computed,
            listed=self.database.listed,
        )
        there = inner[PLACE].notnull() if PLACE in inner.columns else ibis.literal(True)
        known = there & (inner[TOKEN] >= 0) & (inner[TOKEN] < self._universe)
        none = ibis.null("int64")
        read = inner.select(
            **{name: inner[name] for name in (ROW, *keep)},
            **{
                ITEM: ibis.ifelse(known, inner[TOKEN], none),
                _WRONG: ibis.ifelse(there & (inner[TOKEN] < 0), 1, 0),
                _LOST: _flag(nobodys(inner[ROW], gone) if layout.transaction is not None else None),
                _NOBODY: _flag(nobodys(inner[USER], gone) if owner is not None else None),
            },
        )
        by = [ROW, *keep]
        once = read.group_by([*by, ITEM]).aggregate(**{name: read[name].sum() for name in _CHECKS})
        text = self.database.joined(self.digits.written(once[ITEM]), once[ITEM], once[ITEM].notnull())
        sets = once.group_by(by).aggregate(
            **{TEXT: text}, **{name: once[name].sum().cast("int64") for name in _CHECKS}
        )
        return values, sets.mutate(**{TEXT: sets[TEXT].fill_null("")}).drop(ROW)

    def _shortened(self, sets: ir.Table) -> ir.Table:
        """At most so many items of each set, by a chance that its owner, its items and the key decide."""
        import ibis

        largest = self._layout.largest
        if largest is None or largest >= self._universe:
            return sets
        by = [name for name in (USER, TEXT) if name in sets.columns]
        same = ibis.row_number().over(group_by=[sets[name] for name in by], order_by=sets[TEXT])
        numbered = sets.mutate(which=same)
        small = numbered.filter(self.length(numbered) <= largest).drop("which")
        large = self.exploded(numbered.filter(self.length(numbered) > largest))
        large = large.mutate(penstock_count=large[PLACE] - 1)
        bar: Any = ibis.literal("|")
        owner = called(large[USER]) if USER in by else ibis.literal("")
        name = owner + bar + large[TEXT] + bar + large["which"].cast("string")
        kept = keep_some(large, [*by, "which"], name, largest, self._key + b"items")
        rest = [name for name in kept.columns if name in _CHECKS]
        text = self.database.joined(self.digits.written(kept[ITEM]), kept[ITEM], kept[ITEM].notnull())
        again = kept.group_by([*by, "which", *rest]).aggregate(shorter=text)
        shorter = again.select(**{name: again["shorter" if name == TEXT else name] for name in sets.columns})
        return small.union(shorter)

    def _refuse(self, found: ir.Table, values: ir.Table) -> None:
        """DataError for items that the schema refuses, and for records of no set or of nobody."""
        sums = self.database.numbers(found.aggregate(**{name: found[name].sum() for name in _CHECKS}))
        refuse_values(int(sums[_WRONG][0]), self._codec, values)
        refuse_count(int(sums[_LOST][0]), self._layout.transaction or "")
        refuse_count(int(sums[_NOBODY][0]), self._schema.unit.column or "")


def _flag(missing: Any) -> Any:
    import ibis

    return ibis.literal(0, type="int64") if missing is None else ibis.ifelse(missing, 1, 0)


def _ranks(keys: Numbers, items: int, size: int) -> Numbers:
    """The rank of each choice of ascending items, packed in one number, among all choices of that size.

    >>> _ranks(np.array([1, 2, 5]), 3, 2).tolist()
    [0, 1, 2]
    """
    behind = np.zeros(len(keys), dtype=np.int64)
    for turn in range(1, size + 1):
        keys, last = np.divmod(keys, items)
        behind += np.array([comb(items - 1 - item, turn) for item in range(items)], dtype=np.int64)[last]
    return comb(items, size) - 1 - behind
