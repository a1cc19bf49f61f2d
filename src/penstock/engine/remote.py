"""Records in a database, reached through Ibis and best counted where they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.engine.connection import Duck, first_line, lost
from penstock.engine.records import Source, in_polars
from penstock.errors import DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl


class DatabaseSource(Source):
    """A table in a database, reached through Ibis."""

    def __init__(self, table: ir.Table, label: str) -> None:
        self._table, self.label, self.names = table, label, tuple(table.columns)

    @property
    def remote(self) -> bool:
        return True

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        try:
            return in_polars(self.table(names).to_pyarrow())
        except Exception as problem:
            raise self.failure(problem) from None

    def sampled(self, names: Sequence[str], most: int, seed: int = 0) -> tuple[pl.DataFrame, int]:
        import ibis

        try:
            table = self.table(names)
            rows = int(table.count().to_pyarrow().as_py())
            if rows > most:
                table = table.filter(ibis.random() < most / rows)
            return in_polars(table.to_pyarrow()), rows
        except Exception as problem:
            raise self.failure(problem) from None

    def failure(self, problem: Exception) -> DataError:
        if lost(problem):
            return DataError(
                f"{self.label}: the connection to the database was lost ({first_line(problem)}). Check the "
                "server, and begin anew."
            )
        return super().failure(problem)

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        return self._plain if names is None else self._plain.select(*names)

    @cached_property
    def _plain(self) -> ir.Table:
        """The table in types that every engine knows."""
        if self._table.get_backend().name != "postgres":
            return self._table
        from penstock.engine.postgres import texts_as_text

        return texts_as_text(self._table)

    @property
    def empty(self) -> bool:
        try:
            first = self._table.select(there=1).limit(1)  # no value, which may be one that Arrow lacks
            return bool(first.to_pyarrow().num_rows == 0)
        except Exception as problem:
            raise self.failure(problem) from None
