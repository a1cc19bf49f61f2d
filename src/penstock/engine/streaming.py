"""Records piece by piece, for what is coded outside a database and may be larger than memory.

DuckDB, or the database where the records are, reads them and brings those together that belong together; a
piece at a time comes back, as Arrow memory. The pieces are raw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.engine.bound import user_in_database
from penstock.engine.connection import Duck, batches, explained
from penstock.engine.records import Source, in_polars
from penstock.engine.source import FrameSource

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

ROWS = 1 << 17


def streamed(
    records: Source, names: Sequence[str], *, together: Sequence[str] = (), memory: str | None = None
) -> Iterator[pl.DataFrame]:
    """Raw: these columns of all records, in pieces, in no particular order.

    Records that have the same values in the columns `together`, blanks around them aside, come one after the
    other: of DuckDB certainly, of another database where it takes no other texts for equal. `memory` limits
    DuckDB, which spills what is more (`penstock.engine.connection.Duck`).

    >>> import polars as pl
    >>> source = FrameSource(pl.DataFrame({"who": ["b", "a", "b "]}), "a frame")
    >>> [piece["who"].to_list() for piece in streamed(source, ["who"], together=["who"])]
    [['a', 'b', 'b ']]
    """
    if not records.remote and not records.length:
        # a list in a cell of a pandas frame is a set or a sequence here, and no odd value
        records = FrameSource(records.frame(names), records.label)
    duck = None if records.remote else Duck(memory)
    with explained(records.failure):
        table = records.table(names, duck=duck)
        if together:
            table = table.order_by([_by_bytes(user_in_database(table[name])) for name in together])
        for batch in batches(table, ROWS):
            yield in_polars(batch)


def _by_bytes(column: ir.Value) -> ir.Value:
    """What DuckDB sorts a column by so that only equal texts stand together.

    A column may have a collation that takes other texts for equal ones, 'A' for 'a'; sorted by it, the
    records of both would stand in any order.
    """
    if not column.type().is_string() or column.get_backend().name != "duckdb":
        return column
    import ibis

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # untyped library
    def encode(text: str) -> bytes:
        """The bytes of a text: DuckDB has this function, and runs its own."""
        raise NotImplementedError

    found: ir.Value = encode(column)
    return found
