"""PostgreSQL: one snapshot of the records, lists as arrays, counts by binary copies.

All questions of a connection are asked in one transaction of the level REPEATABLE READ, so that they see the
same records whatever others write meanwhile. Codes are kept in a temporary table where the role may make one;
where it may not, or where the server only reads, every question computes them again.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.database import Numbers, SeveralTables
from penstock.errors import DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir

_HEADER = 19  # bytes of a binary copy before its first row: a signature, flags, and no extension
_FIELDS = 2  # bytes for how many columns a row has; -1 behind the last row
_LENGTH = 4  # bytes for how long a value is
_PART = 20
_ROOM = 1 << 15
_ENDLESS = 1 << 62  # a limit that no table reaches
_BEGUN = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_ONE_SNAPSHOT = ("repeatable read", "serializable")
_SETTINGS = "SET LOCAL jit = off; SET LOCAL work_mem = '256MB'; SET LOCAL max_parallel_workers_per_gather = 0"
_COMPILED = (
    # PostgreSQL decides by how much there is to do in all; but what compiling takes is the same for any
    # number of records, and by so many it is made up for.
    "SET LOCAL jit = on; SET LOCAL jit_above_cost = 0; SET LOCAL jit_inline_above_cost = 0; "
    "SET LOCAL jit_optimize_above_cost = 0"
)
_WORTH_COMPILING = 1_000_000


class Postgres(SeveralTables):
    """A connection to PostgreSQL, in a transaction of ours while this object lives."""

    cells = 1 << 14
    packs = True
    lists = True

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        connection = backend.con
        if connection.info.transaction_status.name == "IDLE":
            connection.execute(_BEGUN)
            weakref.finalize(self, _ended, connection).atexit = False
        elif connection.execute("SHOW transaction_isolation").fetchone()[0] not in _ONE_SNAPSHOT:
            raise DataError(
                "The connection is within a transaction that sees what others write meanwhile. Commit it or "
                "roll it back first, or begin it with ISOLATION LEVEL REPEATABLE READ."
            )
        connection.execute(_SETTINGS)
        asked = (
            "SELECT current_setting('transaction_read_only') = 'off' "
            "AND has_database_privilege(current_database(), 'TEMP')"
        )
        self.keeps = bool(connection.execute(asked).fetchone()[0])
        if self.keeps:  # where every question has to code the records again, it should count all it can
            self.room = _ROOM

    def folding(self, names: Sequence[str]) -> list[str]:
        """Columns of these names in any table: equality is by bytes but where a collation says otherwise."""
        asked = (
            "SELECT DISTINCT attname FROM pg_attribute JOIN pg_collation ON pg_collation.oid = attcollation "
            "WHERE NOT collisdeterministic AND attname = ANY(%s)"
        )
        return sorted(name for (name,) in self.backend.con.execute(asked, (list(names),)).fetchall())

    def computed(self, table: ir.Table) -> ir.Table:
        return table.limit(_ENDLESS)  # which PostgreSQL does not merge into the query around it

    def prepared(self, expression: ir.Table) -> None:
        """Have queries compiled where the server expects many rows: how many is its own guess, and changes no
        result."""
        plan = self.backend.con.execute(f"EXPLAIN (FORMAT JSON) {self.backend.compile(expression)}")
        expected = plan.fetchone()[0][0]["Plan"]["Plan Rows"]
        self.backend.con.execute(_COMPILED if expected >= _WORTH_COMPILING else "SET LOCAL jit = off")

    def kept(self, expression: ir.Table, *, joined: bool = True) -> ir.Table:
        found = super().kept(expression)
        if joined:
            self.backend.con.execute(f"ANALYZE {found.get_name()}")
        return found

    def listed(self, columns: Mapping[str, Any]) -> ir.Table:
        """The columns as arrays within the query: Ibis would insert them row by row."""
        import ibis
        import ibis.expr.operations as ops
        from ibis.formats.pyarrow import PyArrowType

        unnested = {}
        for name, values in columns.items():
            kind = f"array<{PyArrowType.to_ibis(values.type)}>"
            written = ",".join(_written(value) for value in values.to_pylist())
            unnested[name] = ops.Unnest(ibis.literal(f"{{{written}}}").cast(kind).op())
        return ops.DummyTable(unnested).to_expr()

    def numbers(self, expression: ir.Table) -> dict[str, Numbers]:
        return self.answered(self.backend.compile(expression), list(expression.columns))

    def answered(self, query: str, names: Sequence[str]) -> dict[str, Numbers]:
        """As a binary copy in which a row has a million numbers of each column, one behind the other: the
        client takes longer for a row than the server for a number."""
        quoted = [self._quoted(name) for name in names]
        whole = ", ".join(f"COALESCE(CAST({name} AS BIGINT), 0) AS {name}" for name in quoted)
        behind = ", ".join(f"STRING_AGG(INT8SEND({name}), ''::BYTEA)" for name in quoted)
        parted = f"SELECT {whole}, ROW_NUMBER() OVER () >> {_PART} AS part FROM ({query}) AS asked"
        asked = f"COPY (SELECT {behind} FROM ({parted}) AS parted GROUP BY part) TO STDOUT (FORMAT binary)"
        with self.backend.con.cursor() as cursor, cursor.copy(asked) as copy:
            rows = b"".join(copy)
        found: list[list[Numbers]] = [[] for _ in names]
        place = _HEADER
        while int.from_bytes(rows[place : place + _FIELDS], signed=True) >= 0:
            place += _FIELDS
            for parts in found:
                length = int.from_bytes(rows[place : place + _LENGTH])
                place += _LENGTH
                parts.append(np.frombuffer(rows, ">i8", length // 8, place).astype(np.int64))
                place += length
        nothing = np.empty(0, dtype=np.int64)
        return {name: np.concatenate([nothing, *parts]) for name, parts in zip(names, found, strict=True)}

    def looked_up(self, column: Any, lookup: NDArray[np.intp]) -> Any:
        import ibis

        array: Any = ibis.literal(f"{{{','.join(map(str, lookup.tolist()))}}}").cast("array<int32>")
        return array[column].cast("int64")

    def digest(self, text: Any) -> Any:
        import ibis

        @ibis.udf.scalar.builtin(signature=(("string", "string"), "binary"))  # type: ignore[untyped-decorator]
        def convert_to(text: Any, encoding: Any) -> Any:
            """The bytes of a text: a function of PostgreSQL, as the next one is."""

        @ibis.udf.scalar.builtin(signature=(("binary",), "binary"))  # type: ignore[untyped-decorator]
        def sha256(given: Any) -> Any:
            """The hash."""

        return sha256(convert_to(text, "UTF8"))


def texts_as_text(table: ir.Table) -> ir.Table:
    """The table with its texts of every kind as plain ones: Ibis takes types that somebody made, of listed
    names for instance, for text, but PostgreSQL finds no function of text for them; and no UUID reaches
    Arrow."""
    import ibis

    @ibis.udf.scalar.builtin(name="text", signature=(("string",), "string"))  # type: ignore[untyped-decorator]  # Ibis types no decorator
    def as_text(given: Any) -> Any:
        """A type of PostgreSQL, called like a function."""

    changed: dict[str, Any] = {}
    for name, kind in table.schema().items():
        if kind.is_string():
            changed[name] = as_text(table[name])
        elif kind.is_uuid():
            changed[name] = table[name].cast("string")
    return table.mutate(**changed) if changed else table


def _ended(connection: Any) -> None:
    """End the transaction; a connection that is broken or closed has none."""
    with suppress(Exception):
        failed = connection.info.transaction_status.name == "INERROR"
        connection.execute("ROLLBACK" if failed else "COMMIT")


def _written(value: Any) -> str:
    """An element of an array as PostgreSQL reads it from text."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)
