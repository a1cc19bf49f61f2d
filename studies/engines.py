"""Engines at scale: one table of engines, methods and sizes.

python studies/engines.py --sizes 100000 1000000      # an hour; engines that are missing are left out
python studies/engines.py --sizes 10000000 --engines duckdb spark --methods independent dp-where
python studies/engines.py --sizes 100000000 --engines duckdb --memory 4GiB
python studies/engines.py --show                       # what was measured before
python studies/engines.py --write                      # its short table in docs/guide/cluster.md

Every line is a release of its own process: CPU seconds of the client and of the server (PostgreSQL's
processes, Spark's Java), the largest peak of any of them, statements or jobs, bytes of counts that were
fetched, and the first digits of a hash of the release, which has to be the same on every engine. Growth
exponents compare two sizes. Every line is kept as soon as it is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from typing import Any

import penstock
from engine_records import METHODS
from frame.store import RESULTS
from frame.table import markdown
from servers import PostgresServer, missing

ENGINES = ("memory", "duckdb", "sqlite", "postgresql", "spark")
KEPT = RESULTS / "engines.json"
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "cluster.md"
MARKS = ("<!-- studies/engines.py --write -->\n", "<!-- end of --write -->\n")
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Line:
    """One release, measured."""

    engine: str
    method: str
    rows: int
    client: float
    server: float
    peak: float
    asked: int
    fetched: int
    release: str


def processes(root: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            fields = stat(int(entry))
            if fields is not None:
                children.setdefault(int(fields[1]), []).append(int(entry))
    found, waiting = [], [root]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children.get(one, [])
    return found


def stat(process: int) -> list[str] | None:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def seconds(numbers: Iterable[int]) -> float:
    """CPU seconds of some processes, and of their children that have ended."""
    ticks = 0
    for process in numbers:
        fields = stat(process)
        ticks += 0 if fields is None else sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def peak(numbers: Iterable[int]) -> float:
    """The largest memory of any of some processes, in MiB."""
    most = 0
    for process in numbers:
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
        except OSError:
            continue
        most = max([most, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
    return most / 1024


def release(engine: str, method: str, rows: int, path: str, server: str) -> Line:
    """Made in this process, of a file or of the table `records` of a database."""
    from penstock.engine.database import Database, DuckDB
    from penstock.engine.postgres import Postgres
    from penstock.engine.spark import Spark

    fetched = 0

    def counted(kind: type[Database], name: str) -> None:
        plain = getattr(kind, name)

        def watched(database: Any, *given: Any) -> Any:
            nonlocal fetched
            found = plain(database, *given)
            fetched += sum(column.nbytes for column in found.values())
            return found

        setattr(kind, name, watched)  # a measured copy

    for kind, name in (
        (Database, "numbers"),
        (DuckDB, "answered"),
        (Postgres, "answered"),
        (Spark, "answered"),
    ):
        counted(kind, name)
    facts = METHODS[method].schemas[method]()
    source: Any = path
    context = None
    if engine == "spark":
        from penstock.engine.spark import connected

        backend = connected()
        context = backend._session.sparkContext
        context.setJobGroup("study", "study")
        source = backend.read_parquet(path)
    master, url, log_file = json.loads(server) if server else (0, "", "")
    before = seconds(processes(master)) if master else 0.0
    since = Path(log_file).stat().st_size if log_file else 0
    own = resource.getrusage(resource.RUSAGE_SELF)
    remote = engine in ("postgresql", "spark")
    stored = {"postgresql": (url, path), "sqlite": (f"sqlite:///{path}", "records")}
    place, table = stored.get(engine, (source, None))
    made = penstock.release(
        place,
        facts,
        table=table,
        epsilon=1,
        method=method,
        engine=engine if engine in ("memory", "duckdb") else "auto",
        seed=8,
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    client = used.ru_utime + used.ru_stime - own.ru_utime - own.ru_stime
    others = [process for process in processes(master or os.getpid()) if process != os.getpid()]
    asked = 0
    if context is not None:
        asked = len(context.statusTracker().getJobIdsForGroup("study"))
    elif log_file:
        asked = len(re.findall(r"LOG:  (?:statement|execute [^:]*): ", Path(log_file).read_text()[since:]))
    model = made.model()
    digest = hashlib.sha256(json.dumps(model.json, sort_keys=True, default=str).encode())
    for each in model.tables.values():
        digest.update(each.write_csv().encode())
    return Line(
        engine,
        method,
        rows,
        round(client, 2),
        round(seconds(others) - before, 2) if remote else 0.0,
        round(peak([os.getpid(), *(others if remote else [])])),  # not ru_maxrss: that knows the parent's
        asked,
        fetched,
        digest.hexdigest()[:8],
    )


def in_postgres(server: PostgresServer, path: Path) -> str:
    """The same records as a table of PostgreSQL; its name."""
    import polars as pl
    import psycopg

    scan, name = pl.scan_parquet(path), f"rows_{path.stem}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass(%s)", [name]).fetchone() != (None,):
            return name
        columns = ", ".join(f"{column} {kind(of)}" for column, of in scan.collect_schema().items())
        connection.execute(f"CREATE TABLE {name} ({columns})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
            for piece in pieces(scan):
                copy.write(piece.write_csv(include_header=False))
        connection.execute(f"ANALYZE {name}")
    return name


def in_sqlite(path: Path) -> str:
    """The same records as the table `records` of a file of SQLite; its path. Moments are texts there."""
    import sqlite3

    import polars as pl

    found = path.with_suffix(".sqlite")
    if found.exists():
        return str(found)
    scan = pl.scan_parquet(path)
    names = scan.collect_schema().names()
    moments = pl.selectors.datetime().dt.strftime("%Y-%m-%dT%H:%M:%S")
    connection = sqlite3.connect(found)
    kinds = {"text": "TEXT", "bigint": "INTEGER", "double precision": "REAL", "timestamp": "TEXT"}
    columns = ", ".join(f"{column} {kinds[kind(of)]}" for column, of in scan.collect_schema().items())
    connection.execute(f"CREATE TABLE records ({columns})")
    for piece in pieces(scan.with_columns(moments)):
        connection.executemany(f"INSERT INTO records VALUES ({', '.join('?' * len(names))})", piece.rows())
    connection.commit()
    connection.close()
    return str(found)


def kind(of: Any) -> str:
    """The type of PostgreSQL for a column."""
    if of.is_temporal():
        return "timestamp"
    return "bigint" if of.is_integer() else "double precision" if of.is_float() else "text"


def pieces(scan: Any, rows: int = 1 << 20) -> Iterator[Any]:
    """The records of a file, so many at a time."""
    begin = 0
    while (piece := scan.slice(begin, rows).collect()).height:
        yield piece
        begin += rows


def measured(arguments: argparse.Namespace) -> Iterator[Line]:
    why = missing() if "postgresql" in arguments.engines else None
    server = PostgresServer() if "postgresql" in arguments.engines and why is None else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            for rows in arguments.sizes:
                for method in arguments.methods:
                    path = METHODS[method].path(arguments.records or Path(folder), rows)
                    able = penstock.catalogue.kind(METHODS[method].schemas[method]().kind).engines
                    for engine in arguments.engines:
                        if (engine == "postgresql" and server is None) or (
                            engine == "duckdb" and engine not in able
                        ):
                            continue
                        given = [engine, method, str(rows), str(path), ""]
                        if engine == "sqlite":
                            given[3] = in_sqlite(path)
                        elif engine == "postgresql" and server is not None:
                            given[3] = in_postgres(server, path)
                            master = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
                            given[4] = json.dumps([master, server.url, str(server.folder / "log")])
                        line = apart(given, arguments.memory)
                        if line is not None:
                            yield line
    finally:
        if server is not None:
            server.removed()


def apart(given: list[str], memory: str | None) -> Line | None:
    """A release of its own process; None where it failed, which is said."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", *given],
        capture_output=True,
        text=True,
        env={**os.environ, **({"PENSTOCK_MEMORY": memory} if memory else {})},
    )
    if done.returncode:
        print(f"{', '.join(given[:3])}: {done.stderr[-600:]}", file=sys.stderr, flush=True)
        return None
    line = Line(**json.loads(done.stdout.splitlines()[-1]))
    print(line, file=sys.stderr, flush=True)
    return line


def shown(lines: list[Line]) -> str:
    """The table, with the growth from the next smaller size and whether releases are the same."""
    by = {(line.engine, line.method, line.rows): line for line in lines}
    rows, order = [], list(METHODS)
    for line in sorted(
        lines, key=lambda each: (each.rows, order.index(each.method), ENGINES.index(each.engine))
    ):
        smaller = max(
            (r for e, m, r in by if (e, m) == (line.engine, line.method) and r < line.rows), default=0
        )
        cpu = line.client + line.server
        growth = "-"
        if smaller:
            less = by[line.engine, line.method, smaller]
            growth = f"{log(cpu / (less.client + less.server)) / log(line.rows / smaller):.2f}"
        others = {each.release for each in lines if (each.method, each.rows) == (line.method, line.rows)}
        rows.append(
            [
                line.engine,
                line.method,
                f"{line.rows:,}",
                f"{line.client:.1f}",
                f"{line.server:.1f}",
                f"{line.peak:,.0f}",
                str(line.asked) if line.asked else "-",
                f"{line.fetched / MEBIBYTE:.2f}" if line.fetched else "-",
                growth,
                "same" if len(others) == 1 else "DIFFERENT",
            ]
        )
    heads = ["engine", "method", "rows", "client CPU s", "server CPU s", "peak MiB"]
    heads += ["statements or jobs", "MiB fetched", "growth", "release"]
    return "\n".join(markdown(heads, rows))


def short(lines: list[Line]) -> str:
    """CPU seconds of client and server, engine beside engine."""
    order = list(METHODS)
    rows = []
    for method in order:
        for size in sorted({each.rows for each in lines if each.method == method}):
            here = {each.engine: each for each in lines if (each.method, each.rows) == (method, size)}
            row = [f"`{method}`", f"{size:,}"]
            for engine in ENGINES:
                line = here.get(engine)
                server = f" + {line.server:.1f}" if line is not None and line.server else ""
                row.append("" if line is None else f"{line.client:.1f}{server}")
            spark = here.get("spark")
            row.append("" if spark is None else f"{spark.asked}, {spark.fetched / MEBIBYTE:.1f}")
            same = len({each.release for each in here.values()}) == 1
            row.append("DIFFERENT" if not same else "same" if len(here) > 1 else "")
            rows.append(row)
    heads = ["method", "rows", *ENGINES, "Spark: jobs, MiB", "release"]
    return "\n".join(markdown(heads, rows)) + "\n"


def page(text: str, lines: list[Line]) -> str:
    """The guide with the short table between its marks."""
    before, rest = text.split(MARKS[0])
    return before + MARKS[0] + short(lines) + MARKS[1] + rest.split(MARKS[1])[1]


def kept() -> list[Line]:
    return [Line(**each) for each in json.loads(KEPT.read_text())] if KEPT.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--memory", help="a limit such as 4GiB, for large sizes")
    parser.add_argument("--records", type=Path, help="a folder where the records stay for another run")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        engine, method, rows, path, server = arguments.one
        print(json.dumps(asdict(release(engine, method, int(rows), path, server))))
        return
    if arguments.write:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), kept()), encoding="utf-8")
        return
    if not arguments.show:
        for new in measured(arguments):
            place = (new.engine, new.method, new.rows)
            old = [line for line in kept() if (line.engine, line.method, line.rows) != place]
            KEPT.write_text(json.dumps([asdict(line) for line in [*old, new]], indent=1) + "\n")
    print(shown(kept()))


if __name__ == "__main__":
    main()
