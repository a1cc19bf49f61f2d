"""Codes that DuckDB cannot hold beside its work, in a file in which they take as many bits as they need.

DuckDB does not compress its temporary tables. One that takes most of the memory is pushed out and read back
with every question; in a file of a database it is a third of the size, and what is pushed out need not be
written again. The file lies in the folder for spilled records, its owner's alone, and goes with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engine.limits import size
from penstock.engine.spilling import SPILLED

if TYPE_CHECKING:
    import ibis.expr.types as ir

COMPACT = "penstock_compact"
_PART = 2
"""A table that takes more than this part of the memory is written to the file: half of it is for counting."""


def compacted(backend: Any, table: ir.Table) -> ir.Table:
    """A temporary table of DuckDB, or the same in a file where it is too large and may be written."""
    con = backend.con
    ((folder, limit),) = con.execute(
        "SELECT current_setting('temp_directory'), current_setting('memory_limit')"
    ).fetchall()
    if not Path(folder).name.startswith(SPILLED) or _held(con) * _PART <= size(limit):
        return table
    name, place = table.get_name(), str(Path(folder) / "codes.duckdb").replace("'", "''")
    con.execute(f"ATTACH IF NOT EXISTS '{place}' AS {COMPACT}")
    con.execute(f"CREATE TABLE {_there(name)} AS FROM {name}")
    con.execute(f"DROP TABLE {name}")
    found: ir.Table = backend.table(_bare(name), database=(COMPACT, "main"))
    return found


def forget(backend: Any, name: str) -> None:
    """Remove what was compacted of a temporary table of this name, if it was."""
    attached = "SELECT 1 FROM duckdb_databases() WHERE database_name = ?"
    if backend.con.execute(attached, [COMPACT]).fetchall():
        backend.con.execute(f"DROP TABLE IF EXISTS {_there(name)}")


def _there(name: str) -> str:
    return f"{COMPACT}.main.{_bare(name)}"


def _bare(name: str) -> str:
    """Ibis may name a temporary table with the place where it is."""
    return name.rpartition(".")[2]


def _held(con: Any) -> int:
    """The bytes that temporary tables take, in memory and where they were spilled."""
    asked = "SELECT tag, memory_usage_bytes, temporary_storage_bytes FROM duckdb_memory()"
    rows = con.execute(asked).fetchall()
    return sum(spilled + (held if tag == "IN_MEMORY_TABLE" else 0) for tag, held, spilled in rows)
