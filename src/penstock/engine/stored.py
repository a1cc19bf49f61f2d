"""Which database answers an expression, and what it keeps for us."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.engine.database import Database, DuckDB, SQLite

if TYPE_CHECKING:
    import ibis.expr.types as ir

_OPEN: weakref.WeakValueDictionary[int, Database] = weakref.WeakValueDictionary()


def database_of(expression: ir.Expr) -> Database:
    """The database that answers an expression: the same object as long as somebody holds it."""
    backend = expression.get_backend()
    found = _OPEN.get(id(backend))  # which is no other's as long as the database holds the backend
    if found is None:
        found = _kind(str(backend.name))(backend)
        _OPEN[id(backend)] = found
    return found


def _kind(name: str) -> type[Database]:
    if name == "postgres":
        from penstock.engine.postgres import Postgres

        return Postgres
    if name == "pyspark":
        from penstock.engine.spark import Spark

        return Spark
    return {"duckdb": DuckDB, "sqlite": SQLite}.get(name, Database)


class Stored:
    """The result of an expression, kept by the database for this connection.

    It goes with this object, or with the connection. Where a database keeps nothing for us, it is the
    expression itself, which is computed whenever it is asked something. `there` says that it is such a table
    already, and `joined` that the database should know it well enough to join it with others.
    """

    def __init__(self, expression: ir.Table, *, there: bool = False, joined: bool = True) -> None:
        database = database_of(expression)
        self._database = database
        if not there:
            database.prepared(expression)
        if not database.keeps:
            self.table = database.computed(expression)
            return
        self.table = expression if there else database.kept(expression, joined=joined)
        # When the interpreter ends, so does the connection: nothing to do then.
        weakref.finalize(self, _drop, database, self.table.get_name()).atexit = False

    def settled(self) -> ir.Table:
        """The table, moved to where it is best asked again and again."""
        if self._database.keeps:
            self.table = self._database.settled(self.table)
        return self.table


def _drop(database: Database, name: str) -> None:
    # The connection may be closed or broken by now; its temporary tables are gone with it.
    with suppress(Exception):
        database.dropped(name)
