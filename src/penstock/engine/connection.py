"""Connections: DuckDB with limits of its own, and databases behind a URL."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.engine.limits import Spill, current
from penstock.engine.spilling import SpillFolder
from penstock.errors import DataError, PenstockError, without_password
from penstock.lifetime import can_be_stopped
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    import ibis.expr.types as ir

_FILES = ("duckdb", "sqlite")
_SPARK = ("spark", "sc")  # whatever Spark's own settings name, and a Spark Connect server
_LOST = ("OperationalError", "AdminShutdown", "CrashShutdown", "CannotConnectNow", "ConnectionFailure")
_EXTRAS = {"postgresql": "postgres", "pyspark": "spark"}  # where the extra is not called like the scheme


class Duck:
    """An embedded DuckDB that stays within its memory and spills the rest to a private folder.

    `memory` is a limit such as "1GiB", `threads` a number (None: all cores), `spill` an existing
    folder for what does not fit (False: nowhere); what is None is as `penstock.engine.limits` says. Spilled
    records are as sensitive as the source, and DuckDB writes them in clear: the folder inside `spill` is
    readable by its owner only and goes with the connection. What a killed process left there, the next one
    removes. Only where it is `ordered` do records come out as they stand.
    """

    def __init__(
        self,
        memory: str | None = None,
        threads: int | None = None,
        spill: Spill = None,
        *,
        ordered: bool = False,
    ) -> None:
        import ibis

        limits = current()
        chosen = limits.spill if spill is None else spill
        folder = None if chosen is False else SpillFolder(chosen)
        # Without a folder of ours, DuckDB would make one in the current folder.
        settings: dict[str, Any] = {
            "memory_limit": memory or limits.duckdb,
            "temp_directory": "" if folder is None else str(folder.path),
        }
        if threads is not None or limits.threads is not None:
            settings["threads"] = threads or limits.threads
        try:
            self.backend = ibis.duckdb.connect(**settings)
        except Exception as problem:
            if folder is not None:
                folder.remove()
            raise DataError(
                f"DuckDB does not accept these limits ({first_line(problem)}). Correct them."
            ) from None
        if folder is not None:
            # Tables keep the backend alive, and the folder must be there as long as they are.
            weakref.finalize(self.backend, folder.remove)
        can_be_stopped(self.backend, lambda backend: backend.con.interrupt())
        self.backend.con.execute(f"SET preserve_insertion_order = {str(ordered).lower()}")
        # Its own bar would go to standard output, among the results.
        self.backend.con.execute("SET enable_progress_bar = false")

    def registered(self, arrow: Any) -> ir.Table:
        """An Arrow table or dataset as a table; a dataset is read only when it is asked something."""
        self.backend.con.register("source", arrow)
        return self.backend.table("source")

    def copied(self, arrow: Any, name: str) -> ir.Table:
        """An Arrow table copied into a temporary table, behind what is there already."""
        con = self.backend.con
        con.register("piece", arrow)
        con.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name} AS FROM piece LIMIT 0")
        con.execute(f"INSERT INTO {name} FROM piece")
        con.unregister("piece")
        return self.backend.table(name)

    def parquet(self, files: Sequence[str], *, hive: bool) -> ir.Table:
        """Parquet files as one table, read only when it is asked something."""
        return self.backend.read_parquet(
            list(files),
            table_name="source",
            hive_partitioning=hive,
            hive_types_autocast=False,
            union_by_name=len(files) > 1,  # a column that nobody asks for may be missing in some
        )


def named_table(url: str, table: str | None) -> ir.Table:
    """The table of a database, or the Parquet file of a URL of Spark; DataError says what is missing."""
    shown = without_password(url)
    path = url.partition("://")[2]
    if table is None and url.lower().startswith("spark://") and path.strip("/"):
        return on_spark([path if path.startswith("/") else f"/{path}"], shown)
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


def on_spark(files: Sequence[str], label: str, root: str | None = None) -> ir.Table:
    """Parquet files or folders as a table of Spark; folders named key=value below `root` add text columns."""
    backend = _connected("spark://", label)
    try:
        backend._session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        reader = backend._session.read
        frame = (reader if root is None else reader.option("basePath", root)).parquet(*files)
        name = f"penstock_{secrets.token_hex(8)}"
        frame.createOrReplaceTempView(name)
        found: ir.Table = backend.table(name)
    except Exception as problem:
        raise DataError(
            f"{label}: Spark cannot read it as Parquet ({first_line(problem)}). Check the path."
        ) from None
    return found


def batches(table: ir.Table, rows: int = 1 << 17) -> Iterator[Any]:
    """Raw: the records of a table as Arrow batches of about so many rows, one after the other."""
    backend = table.get_backend()
    if backend.name != "duckdb":
        yield from table.to_pyarrow_batches(chunk_size=rows)
        return
    asked = backend.con.sql(backend.compile(table))
    # Ibis 12 asks DuckDB 2 for the batches by the name that DuckDB 1 has for them.
    yield from (getattr(asked, "to_arrow_reader", None) or asked.fetch_arrow_reader)(rows)


def _refuse_unreadable(url: str, shown: str) -> None:
    """A URL whose parts cannot be told from one another: the words of the error may hold its password."""
    try:
        urlsplit(url).port  # noqa: B018  # is only read when asked for
    except ValueError:
        raise DataError(
            f"{shown}: the URL cannot be read. Write signs such as / ? # @ : in a name or password as "
            "%2F %3F %23 %40 %3A."
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
    _refuse_unreadable(url, shown)
    try:
        if scheme in _SPARK:
            from penstock.engine.spark import connected

            return connected(None if scheme == "spark" else url)
        if scheme in _FILES:
            path = _database_file(rest, shown)
            if scheme == "duckdb":
                found = ibis.duckdb.connect(str(path), read_only=True)
                found.con.execute("SET enable_progress_bar = false")
                return found
            return ibis.sqlite.connect(str(path))
        found = ibis.connect(f"{scheme}://{rest}")
        if found.name == "postgres":  # whose connections complain when nobody closes them
            weakref.finalize(found, found.con.close)
        return found
    except DataError:
        raise
    except (ImportError, AttributeError):
        raise DataError(
            f"{shown}: no driver for '{scheme}' is installed. Install it, for example with "
            f"pip install 'penstock[{_EXTRAS.get(scheme, scheme)}]'."
        ) from None
    except Exception as problem:
        reason = without_password(first_line(problem), url)
        raise DataError(
            f"{shown}: the database cannot be opened ({reason}). Check the URL and the server."
        ) from None


def _database_file(rest: str, shown: str) -> Path:
    """The file meant by sqlite:///name, in either reading: absolute, or relative as in SQLAlchemy."""
    written = rest.partition("?")[0]
    for candidate in (Path(written), Path(written.removeprefix("/"))):
        if candidate.is_file():
            return candidate
    raise DataError(f"{shown}: there is no such database file. Check the path.")


def stopped(problem: Exception) -> bool:
    """Whether a database gave up because somebody asked this process to end."""
    return type(problem).__name__ == "InterruptException" or str(problem) == "Query interrupted"


def too_large(problem: Exception) -> DataError | None:
    """What to tell somebody whose records do not fit into memory, nor on the disk; None otherwise."""
    said = str(problem)
    if "max_temp_directory_size" in said or "No space left on device" in said:
        return DataError(
            "The disk is full where DuckDB writes records that do not fit into memory. Make room there, or "
            "choose another folder with '--spill FOLDER'."
        )
    if type(problem).__name__ != "OutOfMemoryException":
        return None
    return DataError(
        "The records do not fit into the memory that DuckDB may use, and must not be written to disk. Allow "
        "it with '--spill FOLDER', on an encrypted disk perhaps, or use the memory engine. Nothing was spent."
    )


@contextmanager
def explained(failure: Callable[[Exception], DataError]) -> Iterator[None]:
    """What goes wrong in a database within the block, as a sentence for the custodian."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as problem:
        if stopped(problem):
            raise KeyboardInterrupt from None
        raise (too_large(problem) or failure(problem)) from problem


def lost(problem: Exception) -> bool:
    """Whether a server went away, or the connection to it."""
    kind = type(problem)
    return kind.__module__.startswith("psycopg") and kind.__name__ in _LOST


def first_line(problem: Exception) -> str:
    """The gist of a library's message, for the custodian's terminal."""
    return without_password(str(problem)).strip().split("\n")[0][:200]
