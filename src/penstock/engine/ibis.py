"""The Ibis engine: counting inside a database, in DuckDB by default.

The schema's codecs become expressions, so the records are encoded where they are. Codes are written
once to a temporary table of small integers; after that every question is a grouped count over it,
and only grouped counts come back. The same code runs on every backend of Ibis; what a database does in its
own way is in `penstock.engine.database`.

Results are raw and unprotected: only `penstock.privacy` may call this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.engine.arrow_memory import owned
from penstock.engine.bound import (
    fresh_key,
    keep_some_per_user,
    refuse_nobody,
    refuse_uncalled,
    user_in_database,
)
from penstock.engine.connection import explained, first_line
from penstock.engine.coordinates import Coordinate, per_field, values_in_database
from penstock.engine.directions import Directions
from penstock.engine.expressions import added, nearer
from penstock.engine.marginal import Columns, Marginal
from penstock.engine.pieces import USER, code_column, value_column
from penstock.engine.plan import cover
from penstock.engine.protocol import Within
from penstock.engine.stored import Stored, database_of
from penstock.engine.tally import Rows
from penstock.errors import DataError
from penstock.progress import progress
from penstock.schema import Codec, Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MANY = 256  # marginals from which on few large tables are better than many small ones
_CELLS_MANY = 1 << 20
_FEW_ROWS = 1 << 18  # records whose distinct rows are counted at once where many marginals are asked for
_SOME_ROWS = 1 << 23  # the same where a database counts row by row and a request takes
_PASSES = 4  # so many tables: then one pass that tells all rows apart is cheaper than theirs
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
        key = order_key or fresh_key()
        self._stored, self._length = self._asked(lambda: self._bounded(records, schema, key))
        self._table = self._asked(self._stored.settled)
        self._whole: Rows | None = None

    def rows(self) -> int:
        """Raw: the number of records, after bounding users."""
        return self._length

    def counts(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """Raw: the contingency table of each marginal, flat, its first column slowest."""
        numbers = self._columns.varying(marginals)
        many = len(numbers) >= _MANY
        supersets = cover(numbers, self._columns, _CELLS_MANY if many else self._database.cells)
        if self._database.keeps:
            passes = len(supersets) if self._database.gathers else 1
            few = many and self._database.near and self._length <= _FEW_ROWS
            few = few or (passes >= _PASSES and self._length <= _SOME_ROWS)
            if few:
                return self._everything({number for marginal in numbers for number in marginal}).tally(
                    numbers
                )
        else:
            return self._everything(range(len(self._columns.names))).tally(numbers)
        found: dict[int, NDArray[np.int64]] = {}
        at_once = self._database.together
        with progress("counting marginals", total=len(numbers)) as step:
            for begin in range(0, len(supersets), at_once):
                some = supersets[begin : begin + at_once]
                for superset, rows in zip(some, self._grouped([each.columns for each in some]), strict=True):
                    tables = rows.tally([numbers[member] for member in superset.members])
                    found |= zip(superset.members, tables, strict=True)
                    step(len(superset.members))
        return [found[position] for position in range(len(numbers))]

    def distinct(self, names: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Raw: the distinct rows over `names`, in ascending order, and how many records each has."""
        numbers = [number for (number,) in self._columns.numbers([(name,) for name in names])]
        rows, weights = self._groups(self._table, [self._table[code_column(number)] for number in numbers])
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
        return self._groups(present, [self._position(present, name, asked[name]) for name in names])

    def grid(self, names: Sequence[str], bits: int, sides: Sequence[int]) -> NDArray[np.int64]:
        """Raw: the records in every cell of a regular grid, counted in the database; see `Engine.grid`."""
        import ibis

        present = self._present(names)
        terms: list[Any] = [ibis.literal(0, type="int64")]
        for axis, (name, side) in enumerate(zip(names, sides, strict=True)):
            if side > 1:
                place: Any = self._position(present, name, bits)
                terms.append((place * side) // (1 << bits) * prod(sides[axis + 1 :]))
        cells, weights = self._groups(present, [added(terms)])
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
        return seen

    def _present(self, names: Sequence[str]) -> ir.Table:
        """The records that have a value in each of these coordinates."""
        present = self._table
        for name in names:
            present = present.filter(present[self._value(name)].notnull())
        return present

    def _value(self, name: str) -> str:
        return value_column(self._columns.names.index(name))

    def _position(self, table: ir.Table, name: str, bits: int | None) -> ir.Value:
        if bits is None:
            return table[code_column(self._columns.names.index(name))]
        return self._coordinates[name].positions_in_database(table[self._value(name)], bits)

    def _inside(self, table: ir.Table, within: Within) -> ir.Table:
        """The records whose coarser positions are listed: a semi-join with the list."""
        keys = [f"w{number}" for number in range(len(within.names))]
        columns = (owned(column) for column in within.positions.T)
        listed = self._database.listed(dict(zip(keys, columns, strict=True)))
        placed = table.mutate(
            **{
                key: self._position(table, name, bits)
                for key, name, bits in zip(keys, within.names, within.bits, strict=True)
            }
        )
        return placed.semi_join(listed, keys)

    def _records(self, table: ir.Table) -> int:
        return int(self._database.numbers(table.aggregate(records=table.count()))["records"][0])

    def _bounded(self, records: ir.Table | Stored, schema: Schema, order_key: bytes) -> tuple[Stored, int]:
        """The codes of the records, of each user a random sample where users are protected; how many."""
        encoded, length = self._encoded(records, schema)
        if schema.unit.column is None:
            return encoded, length
        with progress("bounding users"):
            refuse_uncalled(encoded.table, USER, schema.unit.column)
            some = keep_some_per_user(encoded.table, USER, schema.unit.records, order_key)
            kept = Stored(some.drop(USER))
            return kept, self._records(kept.table)

    def _encoded(self, records: ir.Table | Stored, schema: Schema) -> tuple[Stored, int]:
        """A temporary table of codes (c0, c1, ...) and coordinates (x0, ...), checked; and of users, u.

        Positions name the columns, since databases differ in the names they tell apart.
        """
        from penstock.schema.database import coded

        if isinstance(records, Stored):
            return records, self._records(records.table)
        taken = {name.casefold() for name in schema.names}
        keep: dict[str, str] = {}
        if schema.unit.column is not None:
            keep[_free("user", taken)] = schema.unit.column
        user = next(iter(keep), None)
        raw = {name: _free(f"raw {name}", taken) for name in self._coordinates}
        keep |= {column: name for name, column in raw.items()}
        database = self._database
        inner = coded(records, schema.codecs, keep, computed=database.computed, listed=database.listed)
        columns: dict[str, Any] = {} if user is None else {USER: user_in_database(inner[user])}
        for number, name in enumerate(self._columns.names):
            code = inner[name]
            columns[code_column(number)] = code.cast(_integer(self.sizes[name]))
            if name in raw:
                columns[value_column(number)] = values_in_database(schema.codec(name), inner[raw[name]], code)
        with progress("encoding records"):
            encoded = Stored(inner.select(**columns))
            length = self._checked(encoded.table, records, schema)
        if schema.unit.column is not None:
            refuse_nobody(encoded.table, USER, schema.unit.column, schema.missing_values)
        return encoded, length

    def _checked(self, encoded: ir.Table, table: ir.Table, schema: Schema) -> int:
        """How many records there are. Codes below 0 mark values that the schema refuses: the message names
        the field, an example, and how many of them there are."""
        columns = [code_column(number) for number in range(len(self._columns.names))]
        asked = {column: (encoded[column] < 0).sum() for column in columns}
        found = self._database.numbers(encoded.aggregate(records=encoded.count(), **asked))
        for number, name in enumerate(self._columns.names):
            count = int(found[code_column(number)][0])
            if count:
                codec = schema.codec(name)
                more = f" ({count} records have such a value.)" if count > 1 else ""
                raise DataError(f"{codec.complaint(_example(codec, table, name))}{more}")
        return int(found["records"][0])

    def _everything(self, numbers: Iterable[int]) -> Rows:
        """The distinct rows of these columns, counted once and kept; see `counts` for when."""
        needed: dict[int, set[int]] = {}
        for number in numbers:
            needed.setdefault(self._columns.base[number], set()).add(number)
        size = self._columns.size
        held = set() if self._whole is None else self._whole.codes.keys()
        if self._whole is None or any(base not in held and not some <= held for base, some in needed.items()):
            # of a column that is seen in several ways the plain one, from which all of them follow
            single = [
                some.pop() if len(some) == 1 and size[max(some)] < size[base] else base
                for base, some in needed.items()
            ]
            seen = dict(self._seen(number) for number in single)
            words = _words([(number, size[number]) for number in sorted(seen)])
            sizes = [[size[number] for number in word] for word in words]
            keys = [
                _packed([seen[number] for number in word], cells)
                for word, cells in zip(words, sizes, strict=True)
            ]
            rows, weights = self._groups(self._table, keys)
            codes: dict[int, Any] = {}
            for place, (word, cells) in enumerate(zip(words, sizes, strict=True)):
                parts = np.unravel_index(rows[:, place], cells)
                kinds = [np.min_scalar_type(each) for each in cells]
                codes |= {n: part.astype(kind) for n, part, kind in zip(word, parts, kinds, strict=True)}
            self._whole = Rows(self._columns, codes, len(weights), weights)
        return self._whole

    def _seen(self, number: int) -> tuple[int, Any]:
        """The expression of a column, through its lookup; of the plain column where that is better."""
        base, lookup = self._columns.base[number], self._columns.lookup[number]
        column = self._table[code_column(base)].cast("int64")
        found = None if lookup is None else self._database.looked_up(column, lookup)
        return (base, column) if found is None else (number, found)

    def _grouped(self, groupings: Sequence[tuple[int, ...]]) -> list[Rows]:
        """For each grouping of columns its non-empty cells as weighted rows, grouped by one packed key."""
        keys: list[Any] = []
        bases: list[tuple[list[int], list[int]]] = []
        for grouping in filter(None, groupings):
            seen = dict(self._seen(number) for number in grouping)
            sizes = [self._columns.size[number] for number in seen]
            keys.append(_packed(list(seen.values()), sizes))
            bases.append((list(seen), sizes))
        tables = iter(self._asked(lambda: self._database.tables(self._table, keys)))
        packed = iter(bases)
        answers = []
        for grouping in groupings:
            if not grouping:
                answers.append(Rows(self._columns, {}, 1, np.array([self._length], dtype=np.int64)))
                continue
            (numbers, sizes), (cells, weights) = next(packed), next(tables)
            codes = dict(zip(numbers, np.unravel_index(cells, sizes), strict=True))
            answers.append(Rows(self._columns, codes, len(weights), weights))
        return answers

    def _groups(self, table: ir.Table, columns: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct combinations of these integer columns in ascending order, with their records."""
        if not columns:
            total = np.array([self._length] * (self._length > 0), dtype=np.int64)
            return np.empty((len(total), 0), dtype=np.int64), total
        named = {f"k{i}": column.cast("int64") for i, column in enumerate(columns)}
        grouped = table.select(**named).group_by(list(named)).aggregate(records=lambda t: t.count())
        result = self._asked(lambda: self._database.numbers(grouped))
        keys = np.column_stack([result[name] for name in named])
        order = np.lexsort(keys.T[::-1])
        return keys[order], result["records"][order]

    def _asked(self, question: Callable[[], T]) -> T:
        with explained(self._failure):
            return question()


def _packed(columns: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Several codes as one number, the first one slowest."""
    import ibis

    key: Any = ibis.literal(0, type="int64")
    for size, column in zip(sizes, columns, strict=True):
        key = key * size + column
    return key


def _words(columns: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Columns, given with their sizes, in as few groups as 62 bits hold.

    >>> _words([(3, 1 << 40), (5, 1 << 20), (8, 1 << 10)])
    [[3, 5], [8]]
    """
    words: list[list[int]] = []
    cells = 1 << 62
    for number, size in columns:
        cells *= size
        if cells > 1 << 62:
            words.append([])
            cells = size
        words[-1].append(number)
    return words


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
    found = both.filter(both[name] < 0).limit(1).to_pyarrow()[f"raw {name}"].to_pylist()
    return found[0] if found else None


def _unexplained(problem: Exception) -> DataError:
    return DataError(f"The database could not count ({first_line(problem)}). Check the table and the rights.")
