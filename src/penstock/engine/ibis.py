"""The Ibis engine: counting inside a database, in DuckDB by default.

The schema's codecs become expressions, so the records are encoded where they are. Codes are written
once to a temporary table of small integers; after that every question is a grouped count over it,
and only grouped counts come back. The same code runs on every backend of Ibis; what a database does in its
own way is in `penstock.engine.database`.

Results are raw and unprotected: only `penstock.privacy` may call this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.engine.answers import Answers
from penstock.engine.arrow_memory import owned
from penstock.engine.bound import (
    fresh_key,
    keep_some_per_user,
    refuse_nobody,
    refuse_uncalled,
    user_in_database,
)
from penstock.engine.collations import refuse_folding
from penstock.engine.connection import explained, first_line
from penstock.engine.coordinates import Coordinate, per_field, values_in_database
from penstock.engine.directions import Directions
from penstock.engine.expressions import added, joined, nearer, packed
from penstock.engine.marginal import Columns, Marginal
from penstock.engine.pieces import USER, code_column, value_column
from penstock.engine.protocol import Within
from penstock.engine.stored import Stored, database_of
from penstock.engine.words import Words, coarser, finest
from penstock.errors import DataError
from penstock.progress import progress
from penstock.schema import Codec, Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

_CENTRES_AT_ONCE = 16
_TOTALS_AT_ONCE = 1000  # of which a database gives back so many in one row

T = TypeVar("T")


class IbisEngine:
    """Counts over a table in a database, by the codes of a schema.

    The records are coded where they are, or were on their way here (`penstock.engine.pieces`). Values that
    the schema refuses are refused here, before anything can be spent. With a user as the privacy unit, each
    user keeps a random sample of at most `schema.unit.at_most` records; `order_key` makes it repeatable where
    the database can hash. With `coordinates`, fields with bounds can be asked for as positions on a lattice.
    `failure` turns an error of the database into a sentence for the custodian.
    """

    def __init__(
        self,
        records: ir.Table | Stored,
        schema: Schema,
        *,
        order_key: bytes | None = None,
        coordinates: bool = False,
        failure: Callable[[Exception], DataError] | None = None,
    ) -> None:
        self.sizes: Mapping[str, int] = MappingProxyType({a.name: a.size for a in schema.attributes})
        self._columns = Columns(self.sizes)
        self._failure = failure or _unexplained
        self._coordinates = (
            {name: Coordinate.of(schema.codec(name)) for name in schema.names if schema.field(name).ranged}
            if coordinates
            else {}
        )
        source = records.table if isinstance(records, Stored) else records
        self._database = self._asked(lambda: database_of(source))
        if not isinstance(records, Stored):
            self._asked(lambda: refuse_folding(self._database, source))
        key = order_key or fresh_key()
        stays = isinstance(records, Stored) or not self._database.packs
        self._words = None if stays else Words.of(list(self.sizes.values()))
        self._stored, self._length = self._asked(lambda: self._bounded(records, schema, key))
        self._table = self._asked(self._stored.settled)
        self._answers = self._counting()

    def rows(self) -> int:
        """Raw: the number of records, after bounding users."""
        return self._length

    def counts(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """Raw: the contingency table of each marginal, flat, its first column slowest."""
        return self._answers.counts(self._columns.varying(marginals))

    def distinct(self, names: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Raw: the distinct rows over `names`, in ascending order, and how many records each has."""
        numbers = [number for (number,) in self._columns.numbers([(name,) for name in names])]
        codes = [self._answers.code(number) for number in numbers]
        rows, weights = self._groups(self._table, codes, [self.sizes[name] for name in names])
        return rows.astype(np.uint32), weights

    def lattice(
        self, names: Sequence[str], bits: int | Sequence[int | None], within: Within | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raw: occupied lattice positions and their numbers of records; see `Engine.lattice`."""
        asked = dict(zip(names, per_field(names, bits), strict=True))
        for name, wanted in asked.items():
            if wanted is not None and name not in self._coordinates:
                raise ValueError(f"no coordinate {name!r}; there are {', '.join(self._coordinates)}")
        present = self._present([name for name, wanted in asked.items() if wanted is not None])
        if within is not None:
            present = self._inside(present, within)
        sizes = [self.sizes[name] if wanted is None else 1 << wanted for name, wanted in asked.items()]
        return self._groups(present, [self._position(present, name, asked[name]) for name in names], sizes)

    def grid(self, names: Sequence[str], bits: int, sides: Sequence[int]) -> NDArray[np.int64]:
        """Raw: the records in every cell of a regular grid, counted in the database; see `Engine.grid`."""
        import ibis

        present = self._present(names)
        terms: list[Any] = [ibis.literal(0, type="int64")]
        for axis, (name, side) in enumerate(zip(names, sides, strict=True)):
            if side > 1:
                place: Any = self._position(present, name, bits)
                terms.append((place * side) // (1 << bits) * prod(sides[axis + 1 :]))
        cells, weights = self._groups(present, [added(terms)], [prod(sides)])
        counts = np.zeros(prod(sides), dtype=np.int64)
        counts[cells[:, 0]] = weights
        return counts

    def nearest(
        self, names: Sequence[str], bits: int, centres: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raw: records and sums for every centre, added up in the database; see `Engine.nearest`.

        Few centres are compared at a time, each group with the best one before it, because a database
        takes only so long an expression.
        """
        import ibis

        present = self._present(names)
        columns = {f"p{axis}": self._position(present, name, bits) for axis, name in enumerate(names)}
        whole = present.select(**columns)
        placed = whole.mutate(
            best=ibis.literal(-1, type="int64"), apart=ibis.literal(np.iinfo(np.int64).max, type="int64")
        )
        for begin in range(0, len(centres), _CENTRES_AT_ONCE):
            placed = nearer(placed, begin, centres[begin : begin + _CENTRES_AT_ONCE].tolist())
        totals = {f"s{axis}": placed[f"p{axis}"].sum() for axis in range(len(names))}
        found = placed.group_by("best").aggregate(records=placed.count(), **totals)
        result = self._asked(lambda: self._database.numbers(found))
        counts = np.zeros(len(centres), dtype=np.int64)
        sums = np.zeros((len(centres), len(names)), dtype=np.int64)
        counts[result["best"]] = result["records"]
        for axis in range(len(names)):
            sums[result["best"], axis] = result[f"s{axis}"]
        return counts, sums

    def moments(self, names: Sequence[str], bits: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Raw: records, sums and sums of products, added up in the database; see `Engine.moments`."""
        present = self._present(names)
        placed = present.select(
            **{f"p{axis}": self._position(present, name, bits) for axis, name in enumerate(names)}
        )
        rows, columns = np.triu_indices(len(names))
        totals: dict[str, Any] = {f"s{axis}": placed[f"p{axis}"].sum() for axis in range(len(names))}
        totals["records"] = placed.count()
        for number, (one, two) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            totals[f"m{number}"] = (placed[f"p{one}"] * placed[f"p{two}"]).sum()
        names_of_totals = list(totals)
        found: dict[str, Any] = {}
        for begin in range(0, len(totals), _TOTALS_AT_ONCE):
            some = names_of_totals[begin : begin + _TOTALS_AT_ONCE]
            asked = placed.aggregate(**{name: totals[name] for name in some})
            found |= self._asked(lambda: self._database.numbers(asked))  # noqa: B023  # asked at once
        sums = np.array([found[f"s{axis}"][0] for axis in range(len(names))], dtype=np.int64)
        products = np.zeros((len(names), len(names)), dtype=np.int64)
        products[rows, columns] = [found[f"m{number}"][0] for number in range(len(rows))]
        products[columns, rows] = products[rows, columns]
        return int(found["records"][0]), sums, products

    def projected(self, names: Sequence[str], directions: Directions) -> IbisEngine:
        """The same records along public directions, mixed in the database; see `Engine.projected`."""
        import ibis

        present = self._present(names)
        middle = 1 - (1 << directions.bits)
        steps: list[Any] = [2 * self._position(present, name, directions.bits) + middle for name in names]
        least, most = (ibis.literal(end, type="int64") for end in (-directions.reach, directions.reach))
        columns = {}
        rows = zip(directions.weights.tolist(), directions.middle.tolist(), strict=True)
        for number, (row, begin) in enumerate(rows):
            parts = [weight * step for weight, step in zip(row, steps, strict=True)]
            total = added([ibis.literal(-begin, type="int64"), *parts])
            columns[value_column(number)] = ibis.greatest(least, ibis.least(most, total)).cast("float64")
        seen = copy(self)  # which keeps the table that both look at
        seen._table = present.select(**columns)
        seen._length = self._asked(lambda: self._records(present))
        seen.sizes = MappingProxyType(dict.fromkeys(directions.names, 1))
        seen._columns = Columns(seen.sizes)
        seen._coordinates = dict.fromkeys(directions.names, directions.coordinate)
        seen._words = None
        seen._answers = seen._counting()
        return seen

    def _counting(self) -> Answers:
        return Answers(self._database, self._columns, self._table, self._words, self._length, self._failure)

    def _present(self, names: Sequence[str]) -> ir.Table:
        """The records that have a value in each of these coordinates."""
        present = self._table
        for name in names:
            present = present.filter(present[self._value(name)].notnull())
        return present

    def _value(self, name: str) -> str:
        return value_column(self._columns.names.index(name))

    def _position(self, table: ir.Table, name: str, bits: int | None) -> Any:
        number = self._columns.names.index(name)
        if bits is None:
            return table[code_column(number)] if self._words is None else self._words.code(table, number)
        values = table[value_column(number)]
        if self._words is not None:
            return coarser(values, bits)
        return self._coordinates[name].positions_in_database(values, bits)

    def _inside(self, table: ir.Table, within: Within) -> ir.Table:
        """The records whose coarser positions are listed: a semi-join with the list."""
        sizes = [1 << bits for bits in within.bits]
        places = [
            self._position(table, name, bits) for name, bits in zip(within.names, within.bits, strict=True)
        ]
        listed, found = {}, {}
        for number, word in enumerate(joined(sizes)):
            cells = [sizes[place] for place in word]
            listed[f"l{number}"] = owned(
                np.ravel_multi_index(tuple(within.positions.T[list(word)]), cells).astype(np.int64)
            )
            found[f"l{number}"] = packed([places[place] for place in word], cells)
        return table.mutate(**found).semi_join(self._database.listed(listed), list(found))

    def _records(self, table: ir.Table) -> int:
        return int(self._database.numbers(table.aggregate(records=table.count()))["records"][0])

    def _bounded(self, records: ir.Table | Stored, schema: Schema, order_key: bytes) -> tuple[Stored, int]:
        """The codes of the records, of each user a random sample where users are protected; how many."""
        if isinstance(records, Stored):
            encoded, length = records, self._records(records.table)
        else:
            plain = self._encoded(records, schema)
            bounding = schema.unit.column is not None
            with progress("encoding records"):
                encoded = Stored(plain if bounding else self._packed(plain), joined=bounding)
                length = self._checked(encoded.table, plain, records, schema)
            if schema.unit.column is not None:
                refuse_nobody(encoded.table, USER, schema.unit.column, schema.missing_values)
        if schema.unit.column is None:
            return encoded, length
        with progress("bounding users"):
            refuse_uncalled(encoded.table, USER, schema.unit.column)
            some = keep_some_per_user(encoded.table, USER, schema.unit.records, order_key)
            kept = Stored(self._packed(some.drop(USER)), joined=False)
            return kept, self._records(kept.table)

    def _packed(self, plain: ir.Table) -> ir.Table:
        """The codes in few words and the coordinates on the finest lattice, where the database is asked for
        them that way."""
        if self._words is None:
            return plain
        columns = self._words.packed([plain[code_column(n)] for n in range(len(self._columns.names))])
        for name, coordinate in self._coordinates.items():
            column = self._value(name)
            columns[column] = finest(coordinate, plain[column])
        return plain.select(**columns)

    def _encoded(self, records: ir.Table, schema: Schema) -> ir.Table:
        """A table of codes (c0, c1, ...) and coordinates (x0, ...), not yet checked; and of users, u.

        Positions name the columns, since databases differ in the names they tell apart.
        """
        from penstock.schema.database import coded

        taken = {name.casefold() for name in schema.names}
        keep: dict[str, str] = {}
        if schema.unit.column is not None:
            keep[_free("user", taken)] = schema.unit.column
        user = next(iter(keep), None)
        raw = {name: _free(f"raw {name}", taken) for name in self._coordinates}
        keep |= {column: name for name, column in raw.items()}
        database = self._database
        inner = coded(records, schema.codecs, keep, computed=database.computed, listed=database.listed)
        if raw:
            inner = database.computed(inner)  # which names a code more than once
        columns: dict[str, Any] = {} if user is None else {USER: user_in_database(inner[user])}
        for number, name in enumerate(self._columns.names):
            code = inner[name]
            columns[code_column(number)] = code.cast(_integer(self.sizes[name]))
            if name in raw:
                columns[value_column(number)] = values_in_database(schema.codec(name), inner[raw[name]], code)
        return inner.select(**columns)

    def _checked(self, kept: ir.Table, plain: ir.Table, table: ir.Table, schema: Schema) -> int:
        """How many records there are. Codes below 0 mark values that the schema refuses: the message names
        the field, an example, and how many of them there are."""
        codes = [code_column(number) for number in range(len(self._columns.names))]
        bounding = schema.unit.column is not None
        looked_at = codes if self._words is None or bounding else self._words.names
        asked = {column: (kept[column] < 0).sum() for column in looked_at}
        found = self._database.numbers(kept.aggregate(records=kept.count(), **asked))
        if not any(int(found[column][0]) for column in looked_at):
            return int(found["records"][0])
        refused = self._database.numbers(
            plain.aggregate(**{column: (plain[column] < 0).sum() for column in codes})
        )
        for name, column in zip(self._columns.names, codes, strict=True):
            count = int(refused[column][0])
            if count:
                codec = schema.codec(name)
                more = f" ({count} records have such a value.)" if count > 1 else ""
                raise DataError(f"{codec.complaint(_example(codec, table, name))}{more}")
        return int(found["records"][0])

    def _groups(
        self, table: ir.Table, columns: Sequence[Any], sizes: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct combinations of whole numbers, each from 0 and below its size, in ascending order,
        with their records."""
        if not columns:
            total = np.array([self._length] * (self._length > 0), dtype=np.int64)
            return np.empty((len(total), 0), dtype=np.int64), total
        words = joined(sizes)
        named = {
            f"k{number}": packed([columns[place] for place in word], [sizes[place] for place in word])
            for number, word in enumerate(words)
        }
        grouped = table.select(**named).group_by(list(named)).aggregate(records=lambda t: t.count())
        result = self._asked(lambda: self._database.numbers(grouped))
        order = np.lexsort([result[name] for name in reversed(named)])
        keys = [
            part
            for name, word in zip(named, words, strict=True)
            for part in np.unravel_index(result[name][order], [sizes[place] for place in word])
        ]
        return np.column_stack(keys).astype(np.int64, copy=False), result["records"][order]

    def _asked(self, question: Callable[[], T]) -> T:
        with explained(self._failure):
            return question()


def _free(name: str, taken: set[str]) -> str:
    while name.casefold() in taken:
        name += "_"
    taken.add(name.casefold())
    return name


def _integer(size: int) -> str:
    """The smallest signed type for the codes and the mark -1."""
    return "int8" if size <= 1 << 7 else "int16" if size <= 1 << 15 else "int32"


def _example(codec: Codec, table: ir.Table, name: str) -> object:
    """One raw value that the schema refuses, for the message."""
    from penstock.schema.database import coded

    both = coded(table, {name: codec}, {f"raw {name}": name})
    raw = both[f"raw {name}"]
    shown = (
        both.filter(both[name] < 0)
        .limit(1)
        .select(raw=raw.cast("string") if raw.type().is_decimal() else raw)
    )
    found = shown.to_pyarrow()["raw"].to_pylist()  # no decimal of Arrow is NaN
    return found[0] if found else None


def _unexplained(problem: Exception) -> DataError:
    return DataError(f"The database could not count ({first_line(problem)}). Check the table and the rights.")
