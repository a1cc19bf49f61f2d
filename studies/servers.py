"""A PostgreSQL server for tests and studies, on the loopback, in a folder that goes with it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import weakref
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

KINDS = {
    pl.String: "text",
    pl.Boolean: "boolean",
    pl.Int64: "bigint",
    pl.Float64: "double precision",
    pl.Datetime: "timestamp",
}


def binaries() -> Path | None:
    """The folder with PostgreSQL's programs; Debian keeps them apart from the others."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    place = shutil.which("initdb")
    return None if place is None else Path(place).parent


def missing() -> str | None:
    """Why no server can be started; None where one can."""
    if binaries() is None:
        return "PostgreSQL is not installed (Debian: postgresql)"
    if os.getuid() == 0 and "postgres" not in Path("/etc/passwd").read_text(encoding="utf-8"):
        return "PostgreSQL does not run as root, and there is no user postgres"
    try:
        __import__("psycopg")
    except ImportError:
        return "psycopg is not installed (penstock[postgres])"
    return None


class PostgresServer:
    """A server that is started and stopped by whoever holds it; every statement is in its log."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        self._numbers = count()
        self._user = "postgres" if os.getuid() == 0 else None
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = str(self.folder / "data")
        self._run(
            "initdb", "-D", data, "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"
        )
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = (
            f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self.folder} -c fsync=off "
            "-c log_statement=all -c lock_timeout=20s -c shared_buffers=32MB -c max_wal_size=64MB"
        )
        self._run(
            "pg_ctl", "-D", self.folder / "data", "-w", "-l", self.folder / "log", "-o", options, "start"
        )

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.folder / "data", "-w", "-m", "fast", "stop")

    def removed(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        place = binaries()
        assert place is not None
        subprocess.run(
            [str(place / program), *map(str, arguments)],
            user=self._user,
            cwd=self.folder,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def execute(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def hold(self, name: str, frame: pl.DataFrame) -> str:
        """The records as a table; its name."""
        import psycopg

        columns = ", ".join(f'"{column}" {KINDS[type(kind)]}' for column, kind in frame.schema.items())
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'DROP TABLE IF EXISTS "{name}"')
            connection.execute(f'CREATE TABLE "{name}" ({columns})')
            with connection.cursor().copy(f'COPY "{name}" FROM STDIN') as copy:
                for row in frame.iter_rows():
                    copy.write_row(row)
        return name

    def table(self, frame: pl.DataFrame) -> Any:
        """The records as an Ibis table, of a connection of its own."""
        import ibis

        name = f"given {next(self._numbers)}"

        backend = ibis.connect(self.url)
        weakref.finalize(backend, backend.con.close)
        return backend.table(self.hold(name, frame))

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def statements(self, since: int) -> list[str]:
        """The first words of what was asked after so many letters of the log."""
        return re.findall(r"LOG:  (?:statement|execute [^:]*): (\w+)", self.log()[since:])
