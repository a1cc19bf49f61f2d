"""Databases: what each of them does in its own way, so that the engine may ask all of them alike.

Ibis writes the queries. What it leaves to be decided is here: how the result of an expression is kept, how a
list is handed over, how counts come back, how many tables one question counts, and how a text is hashed. A
database without a place of its own here is asked in the plainest way that Ibis has.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.engine.collations import declared
from penstock.engine.compact import compacted, forget
from penstock.engine.expressions import through
from penstock.errors import DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir

Numbers = NDArray[np.int64]

_OF_SEVERAL = ("which", "key", "records")
_MOST_RUNS = 256  # a lookup with more runs of equal codes is too long as comparisons


class Database:
    """A database behind a backend of Ibis."""

    cells: ClassVar[int] = 1 << 16
    """The cells of a table that is worth a pass over the records: where each question costs a round trip,
    few large ones are better."""
    together: ClassVar[int] = 32
    """How many tables one question counts at most,"""
    room: int = 1 << 62
    """and how many cells they have in all: hash tables that one row after the other goes through should stay
    in the processor's cache."""
    packs: ClassVar[bool] = False
    """Whether it counts row by row, so that the codes of a record are best kept in one number."""
    lists: ClassVar[bool] = False
    """Whether sequences and item sets are counted there, too; elsewhere their records are read from it."""
    keeps: bool = True
    """Whether it may keep results for this connection; otherwise every question begins with the records."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    def prepared(self, expression: ir.Table) -> None:
        """Get ready for going through an expression that is to be kept, or asked again and again."""

    def kept(self, expression: ir.Table, *, joined: bool = True) -> ir.Table:
        """The result of an expression, kept for this connection; it goes with `dropped`. Where it is not
        `joined` with others, it is only gone through row by row."""
        found: ir.Table = self.backend.create_table(fresh_name(), expression, temp=True)
        return found

    def dropped(self, name: str) -> None:
        """Remove what was kept."""
        self.backend.raw_sql(f"DROP TABLE IF EXISTS {name}")

    def settled(self, table: ir.Table) -> ir.Table:
        """What was kept, where it is best asked again and again."""
        return table

    def computed(self, table: ir.Table) -> ir.Table:
        """A query whose columns are computed once, however often an outer one names them."""
        return table

    def listed(self, columns: Mapping[str, Any]) -> ir.Table:
        """Public columns of Arrow, all of one length, as a table of the database."""
        import ibis
        import pyarrow as pa

        return ibis.memtable(pa.table(dict(columns)))

    def numbers(self, expression: ir.Table) -> dict[str, Numbers]:
        """Raw: the columns of a result, all of whole numbers; 0 where there is none."""
        result = expression.to_pyarrow()
        return {name: whole(result[name]) for name in result.column_names}

    def answered(self, query: str, names: Sequence[str]) -> dict[str, Numbers]:
        """Raw: the same of a query that is written down already."""
        import ibis

        kinds = ibis.schema(dict.fromkeys(names, "int64"))
        return self.numbers(self.backend.sql(query, schema=kinds))

    def tables(self, table: ir.Table, keys: Sequence[Any]) -> list[tuple[Numbers, Numbers]]:
        """Raw: for each of several whole numbers from 0 what it is in some record, ascending, and in how
        many."""
        found: list[tuple[Numbers, Numbers]] = []
        for begin in range(0, len(keys), self.together):
            found += self._counted(table, keys[begin : begin + self.together])
        return found

    def _counted(self, table: ir.Table, keys: Sequence[Any]) -> list[tuple[Numbers, Numbers]]:
        if len(keys) == 1:
            (key,) = keys
            grouped = table.select(key=key).group_by("key").aggregate(records=lambda rows: rows.count())
            result = self.numbers(grouped)
            order = np.argsort(result["key"])
            return [(result["key"][order], result["records"][order])]
        result = self.answered(self._several(table, keys), _OF_SEVERAL)
        order = np.lexsort([result["key"], result["which"]])
        ends = np.searchsorted(result["which"][order], np.arange(1, len(keys)))
        both = (np.split(result[name][order], ends) for name in ("key", "records"))
        return list(zip(*both, strict=True))

    def _several(self, table: ir.Table, keys: Sequence[Any]) -> str:
        """A query that counts the values of several keys, and says of which key each is."""
        which, key, records = map(self._quoted, _OF_SEVERAL)
        return " UNION ALL ".join(
            f"SELECT {number} AS {which}, {key}, COUNT(*) AS {records} "
            f"FROM ({self.backend.compile(table.select(key=one))}) AS counted GROUP BY {key}"
            for number, one in enumerate(keys)
        )

    def _quoted(self, name: str) -> str:
        import sqlglot

        return str(sqlglot.to_identifier(name, quoted=True).sql(dialect=self.backend.dialect))

    def numbered(self, table: ir.Table, name: str) -> ir.Table:
        """The table with a number for every row, whichever and in any order, as a further column."""
        import ibis

        return table.mutate(**{name: ibis.row_number().cast("int64")})

    def counted_up(self, last: Any) -> Any:
        """The whole numbers from 1 up to an expression, which is at least 1, as an array."""
        import ibis

        return ibis.range(1, last + 1)

    def split(self, text: Any, separator: str) -> Any:
        """The parts of a text between the signs that separate them, as an array."""
        return text.split(separator)

    def joined(self, texts: Any, order: Any, where: Any) -> Any:
        """The texts of a group one behind the other, by an ascending order; none where there is none."""
        return texts.group_concat(sep="", order_by=order, where=where)

    def folding(self, names: Sequence[str]) -> list[str]:
        """Of these columns of texts those that take different texts for the same (`collations`)."""
        import ibis

        alike = self.backend.execute(ibis.literal("a") == ibis.literal("A"))
        return list(names) if alike else []

    def looked_up(self, column: Any, lookup: NDArray[np.intp]) -> Any | None:
        """A column seen through a lookup; None where that is better done with the result."""
        return None if np.count_nonzero(np.diff(lookup)) >= _MOST_RUNS else through(column, lookup)

    def digest(self, text: Any) -> Any:
        """What sorts texts by their SHA-256: the records of a user are drawn by it, everywhere alike."""
        import ibis.expr.operations as ops

        if not self.backend.has_operation(ops.HexDigest):
            raise DataError(
                f"Ibis knows no SHA-256 of {self.backend.name}, so that it cannot draw the records that a "
                "user keeps as every other engine does. Copy the table to Parquet, or protect records."
            )
        return text.hexdigest("sha256")


class DuckDB(Database):
    """DuckDB, which runs in this process: its hash tables should stay in the processor's cache."""

    # Its GROUPING SETS were measured, too: slower than a few supersets, one after the other.
    cells = 1 << 12

    def folding(self, names: Sequence[str]) -> list[str]:
        con = self.backend.con
        usual = con.execute("SELECT current_setting('default_collation')").fetchone()[0]
        if usual and usual.casefold() != "binary":
            return list(names)
        made = "SELECT sql FROM duckdb_tables() UNION ALL SELECT sql FROM duckdb_views()"
        return declared((each[0] or "" for each in con.execute(made).fetchall()), names)

    def settled(self, table: ir.Table) -> ir.Table:
        return compacted(self.backend, table)

    def dropped(self, name: str) -> None:
        super().dropped(name)
        forget(self.backend, name)

    def answered(self, query: str, names: Sequence[str]) -> dict[str, Numbers]:
        result = self.backend.con.sql(query).to_arrow_table()
        return {name: whole(result[name]) for name in names}


class SQLite(Database):
    """SQLite, which runs in this process and takes functions of it."""

    def folding(self, names: Sequence[str]) -> list[str]:
        made = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        return declared((each[0] for each in self.backend.con.execute(made).fetchall()), names)

    def computed(self, table: ir.Table) -> ir.Table:
        return table.limit(1 << 62)  # which SQLite does not merge into the query around it

    def digest(self, text: Any) -> Any:
        import hashlib

        import ibis

        self.backend.con.create_function(
            "penstock_sha256", 1, lambda given: hashlib.sha256(given.encode()).hexdigest(), deterministic=True
        )

        @ibis.udf.scalar.builtin(name="penstock_sha256", signature=(("string",), "string"))  # type: ignore[untyped-decorator]  # untyped library
        def hashed(given: Any) -> Any:
            """What was just declared."""

        return hashed(text)


class SeveralTables(Database):
    """A database that counts several tables in one pass over the records, by GROUPING SETS.

    Every table has one packed key; a row of the result has the key of its own table and of no other.
    """

    def _several(self, table: ir.Table, keys: Sequence[Any]) -> str:
        which, key, records = map(self._quoted, _OF_SEVERAL)
        inner = self.backend.compile(
            self.computed(table.select(**{f"k{number}": one for number, one in enumerate(keys)}))
        )
        names = [self._quoted(f"k{number}") for number in range(len(keys))]
        own = " ".join(f"WHEN {name} IS NOT NULL THEN {number}" for number, name in enumerate(names))
        return (
            f"SELECT CASE {own} END AS {which}, COALESCE({', '.join(names)}) AS {key}, COUNT(*) AS {records} "
            f"FROM ({inner}) AS counted GROUP BY GROUPING SETS ({', '.join(f'({name})' for name in names)})"
        )


def fresh_name() -> str:
    """A name that no table has."""
    return f"penstock_{secrets.token_hex(8)}"


def whole(column: Any) -> Numbers:
    """A column of Arrow as whole numbers; 0 where there is none."""
    import pyarrow.compute as pc

    if column.null_count:
        column = pc.fill_null(column, 0)
    numbers: Numbers = column.to_numpy().astype(np.int64)
    return numbers
