"""Runs SQL statements in a process of its own, which can be ended when one takes too long.

DuckDB looks whether it is to stop only between pieces of work, and a single function on a single value may
work for hours. Nothing but the end of the process ends that. `penstock.releases.sql_process` starts this file
as a program; it imports nothing of Penstock, so that it is there at once.

It reads requests, each a line of JSON and a table (the synthetic rows), and writes replies, each a line of
JSON and a table (the result). When nobody can send requests any more it ends, whatever it is doing.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import IO, Any

CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "temp_directory": "",
    "memory_limit": "2GiB",
}
TABLE = "release"


def database() -> Any:
    """A DuckDB in memory that reads no files, installs nothing and sees no variables of its program."""
    import duckdb

    opened = duckdb.connect(":memory:", config=CONFIG)
    for setting in ("enable_progress_bar", "python_enable_replacements"):
        opened.execute(f"set {setting} = false")
    return opened


def run(text: str, rows: Any) -> Any:
    """What a statement says about some rows, both as tables of Arrow.

    The database is locked before the statement runs: it reads and writes no file, and nobody can change that.
    """
    with database() as opened:
        opened.register("given", rows)
        opened.execute(f"create table {TABLE} as select * from given")
        opened.unregister("given")
        opened.execute("set enable_external_access = false")
        opened.execute("set lock_configuration = true")
        return opened.sql(text).to_arrow_table()


def reply(text: str, rows: Any) -> tuple[dict[str, str], Any]:
    """The result of a statement; or what went wrong, and whether that was a lack of room (memory)."""
    import duckdb

    try:
        return {}, run(text, rows)
    except duckdb.OutOfMemoryException as problem:
        return {"problem": str(problem), "of": "room"}, None
    except duckdb.Error as problem:
        return {"problem": str(problem), "of": "statement"}, None


def sent(pipe: IO[bytes], facts: dict[str, Any], table: Any) -> None:
    """Write a line of JSON, and a table behind it."""
    import pyarrow as pa

    body = b""
    if table is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        body = sink.getvalue().to_pybytes()
    pipe.write(json.dumps({**facts, "bytes": len(body)}).encode() + b"\n" + body)
    pipe.flush()


def received(pipe: IO[bytes]) -> tuple[dict[str, Any], Any] | None:
    """Read a line of JSON, and the table behind it; None where the other side has gone."""
    import pyarrow as pa

    line = pipe.readline()
    if not line.endswith(b"\n"):
        return None
    facts: dict[str, Any] = json.loads(line)
    body = pipe.read(facts["bytes"])
    if len(body) < facts["bytes"]:
        return None
    return facts, pa.ipc.open_stream(body).read_all() if body else None


def main() -> None:
    """Answer one request after the other, until there can be no more."""
    waiting: queue.SimpleQueue[tuple[dict[str, Any], Any]] = queue.SimpleQueue()

    def listen() -> None:
        while (request := received(sys.stdin.buffer)) is not None:
            waiting.put(request)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        facts, rows = waiting.get()
        sent(sys.stdout.buffer, *reply(facts["text"], rows))


if __name__ == "__main__":
    main()
