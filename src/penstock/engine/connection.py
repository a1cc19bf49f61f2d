"""Connections: DuckDB with limits of its own, and databases behind a URL."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import DataError, without_password
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    import ibis.expr.types as ir

_FILES = ("duckdb", "sqlite")
_EXTRAS = {"postgresql": "postgres", "pyspark": "spark"}  # where the extra is not called like the scheme


class Duck:
    """An embedded DuckDB that stays within its memory and spills the rest to a private folder.

    `memory` is a limit such as "1GiB", `threads` a number (None: all cores), `spill` an existing
    folder for what does not fit (None: the system's). Spilled records are as sensitive as the
    source: the folder inside `spill` is readable by its owner only, and goes with the connection.
    """

    def __init__(
        self, memory: str = "1GiB", threads: int | None = None, spill: str | Path | None = None
    ) -> None:
        import ibis

        try:
            folder = tempfile.mkdtemp(prefix="penstock-", dir=spill)
        except OSError as problem:
            raise DataError(
                f"{spill}: no folder can be made there ({problem.strerror}). Choose another."
            ) from None
        settings: dict[str, Any] = {"memory_limit": memory, "temp_directory": folder}
        if threads is not None:
            settings["threads"] = threads
        try:
            self.backend = ibis.duckdb.connect(**settings)
        except Exception as problem:
            raise DataError(
                f"DuckDB does not accept these limits ({first_line(problem)}). Correct them."
            ) from None
        # Tables keep the backend alive, and the folder must be there as long as they are.
        weakref.finalize(self.backend, shutil.rmtree, folder, ignore_errors=True)
        self.backend.con.execute("SET preserve_insertion_order = false")

    def registered(self, arrow: Any) -> ir.Table:
        """An Arrow table or dataset as a table; a dataset is read only when it is asked something."""
        self.backend.con.register("source", arrow)
        return self.backend.table("source")

    def parquet(self, files: Sequence[str], *, hive: bool) -> ir.Table:
        """Parquet files as one table, read only when it is asked something."""
        return self.backend.read_parquet(
            list(files), table_name="source", hive_partitioning=hive, hive_types_autocast=False
        )


class Stored:
    """The result of an expression, kept in the database as a temporary table of this connection.

    It goes with this object, or with the connection.
    """

    def __init__(self, expression: ir.Table) -> None:
        backend = expression.get_backend()
        name = f"penstock_{secrets.token_hex(8)}"
        if backend.name == "pyspark":  # Spark has no temporary tables, it keeps results in its cache
            self.table: ir.Table = expression.cache()
            return
        self.table = backend.create_table(name, expression, temp=True)
        # When the interpreter ends, so does the connection: nothing to do then.
        weakref.finalize(self, _drop, backend, name).atexit = False


def _drop(backend: Any, name: str) -> None:
    # The connection may be closed or broken by now; its temporary tables are gone with it.
    with suppress(Exception):
        backend.raw_sql(f"DROP TABLE IF EXISTS {name}")


def named_table(url: str, table: str | None) -> ir.Table:
    """The table of a database; DataError names what is missing."""
    shown = without_password(url)
    backend = _connected(url, shown)
    if table is None:
        known = ", ".join(_tables(backend)[:10]) or "none that can be listed"
        raise DataError(f"{shown}: a table is missing. Name one of its tables ({known}).")
    database, _, name = table.rpartition(".")
    try:
        return backend.table(name, database=database) if database else backend.table(name)
    except Exception:
        raise DataError(
            f"{shown}: there is no table '{table}'{nearest(table, _tables(backend))}. Check its name."
        ) from None


def _tables(backend: Any) -> list[str]:
    """The names of the tables, for a message; none where the database does not tell."""
    with suppress(Exception):
        if backend.name == "duckdb":  # Ibis 12 cannot list the tables of DuckDB 2
            return sorted(name for (name,) in backend.con.execute("SHOW TABLES").fetchall())
        return sorted(backend.list_tables())
    return []


def _connected(url: str, shown: str) -> Any:
    import ibis

    scheme, _, rest = url.partition("://")
    scheme = scheme.partition("+")[0].lower()
    try:
        if scheme in _FILES:
            path = _database_file(rest, shown)
            if scheme == "duckdb":
                return ibis.duckdb.connect(str(path), read_only=True)
            return ibis.sqlite.connect(str(path))
        return ibis.connect(f"{scheme}://{rest}")
    except DataError:
        raise
    except (ImportError, AttributeError):
        raise DataError(
            f"{shown}: no driver for '{scheme}' is installed. Install it, for example with "
            f"pip install 'penstock[{_EXTRAS.get(scheme, scheme)}]'."
        ) from None
    except Exception as problem:
        raise DataError(
            f"{shown}: the database cannot be opened ({first_line(problem)}). Check the URL and the server."
        ) from None


def _database_file(rest: str, shown: str) -> Path:
    """The file meant by sqlite:///name, in either reading: absolute, or relative as in SQLAlchemy."""
    written = rest.partition("?")[0]
    for candidate in (Path(written), Path(written.removeprefix("/"))):
        if candidate.is_file():
            return candidate
    raise DataError(f"{shown}: there is no such database file. Check the path.")


def first_line(problem: Exception) -> str:
    """The gist of a library's message, for the custodian's terminal."""
    return without_password(str(problem)).strip().split("\n")[0][:200]
