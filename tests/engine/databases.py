"""Tables in an SQLite database that lives in memory."""

from typing import Any

import ibis
import polars as pl


def sqlite_table(records: pl.DataFrame) -> Any:
    """The records as an Ibis table in SQLite: text, integers and real numbers keep their kind."""
    kinds = ["TEXT" if t == pl.String else "REAL" if t.is_float() else "INTEGER" for t in records.dtypes]
    names = [name.replace('"', '""') for name in records.columns]
    backend = ibis.sqlite.connect()
    columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(names, kinds, strict=True))
    backend.con.execute(f"CREATE TABLE given ({columns})")
    backend.con.executemany(f"INSERT INTO given VALUES ({', '.join('?' * len(names))})", records.rows())
    return backend.table("given")
