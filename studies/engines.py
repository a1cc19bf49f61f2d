"""Engines at scale: one table of engines, methods and sizes.

python studies/engines.py --sizes 100000 1000000      # a few minutes; engines that are missing are left out
python studies/engines.py --sizes 10000000 --engines duckdb spark
python studies/engines.py --sizes 100000000 --engines duckdb --memory 4GiB
python studies/engines.py --show                       # what was measured before

Every line is a release of its own process: CPU seconds of the client and of the server (PostgreSQL's
processes, Spark's Java), the peak of both, statements or jobs, bytes of counts that were fetched, and the
first digits of a hash of the release, which has to be the same on every engine. Growth exponents compare
two sizes.
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
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from typing import Any

import penstock
from frame.store import RESULTS
from frame.table import markdown
from penstock.schema import Schema
from scale_counts import schema as table_schema
from scale_counts import write
from servers import PostgresServer, missing

ENGINES = ("memory", "duckdb", "postgresql", "spark")
METHODS = ("independent", "confluence", "privtree")
POINTS = """
kind: points
fields:
- {name: real0, type: number, constraints: {minimum: 0, maximum: 1}}
- {name: real1, type: number, constraints: {minimum: 0, maximum: 1}}
"""
KEPT = RESULTS / "engines.json"
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
    """Made in this process."""
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
    facts = Schema.from_yaml(POINTS) if method == "privtree" else table_schema()
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
    made = penstock.release(
        url if engine == "postgresql" else source,
        facts,
        table=f"rows{rows}" if engine == "postgresql" else None,
        epsilon=1,
        method=method,
        engine="auto" if remote else engine,
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
    for table in model.tables.values():
        digest.update(table.write_csv().encode())
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


def loaded(server: PostgresServer, path: Path, rows: int) -> None:
    """The same records as a table of PostgreSQL."""
    import polars as pl
    import psycopg

    scan = pl.scan_parquet(path)
    kinds = {
        name: "text" if kind == pl.String else "bigint" if kind.is_integer() else "double precision"
        for name, kind in scan.collect_schema().items()
    }
    with psycopg.connect(server.url, autocommit=True) as connection:
        columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        connection.execute(f"CREATE TABLE rows{rows} ({columns})")
        with connection.cursor().copy(f"COPY rows{rows} FROM STDIN (FORMAT csv)") as copy:
            for begin in range(0, rows, 1 << 20):
                copy.write(scan.slice(begin, 1 << 20).collect().write_csv(include_header=False))
        connection.execute(f"ANALYZE rows{rows}")


def measured(arguments: argparse.Namespace) -> list[Line]:
    found = []
    why = missing() if "postgresql" in arguments.engines else None
    server = PostgresServer() if "postgresql" in arguments.engines and why is None else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            for rows in arguments.sizes:
                path = (arguments.records or Path(folder)) / f"{rows}.parquet"
                if not path.exists():
                    write(path, rows)
                told = ""
                if server is not None:
                    loaded(server, path, rows)
                    master = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
                    told = json.dumps([master, server.url, str(server.folder / "log")])
                for engine in arguments.engines:
                    if engine == "postgresql" and server is None:
                        continue
                    for method in arguments.methods:
                        given = [engine, method, str(rows), str(path), told if engine == "postgresql" else ""]
                        limit = {"PENSTOCK_MEMORY": arguments.memory} if arguments.memory else {}
                        done = subprocess.run(
                            [sys.executable, __file__, "--one", *given],
                            capture_output=True,
                            text=True,
                            env={**os.environ, **limit},
                        )
                        if done.returncode:
                            print(f"{engine}, {method}, {rows:,}: {done.stderr[-300:]}", file=sys.stderr)
                            continue
                        line = Line(**json.loads(done.stdout.splitlines()[-1]))
                        print(line, file=sys.stderr, flush=True)
                        found.append(line)
    finally:
        if server is not None:
            server.removed()
    return found


def shown(lines: list[Line]) -> str:
    """The table, with the growth from the next smaller size and whether releases are the same."""
    by = {(line.engine, line.method, line.rows): line for line in lines}
    rows = []
    for line in sorted(
        lines, key=lambda each: (each.rows, METHODS.index(each.method), ENGINES.index(each.engine))
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
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        engine, method, rows, path, server = arguments.one
        print(json.dumps(asdict(release(engine, method, int(rows), path, server))))
        return
    if not arguments.show:
        new = measured(arguments)
        places = {(line.engine, line.method, line.rows) for line in new}
        old = [line for line in kept() if (line.engine, line.method, line.rows) not in places]
        KEPT.write_text(json.dumps([asdict(line) for line in [*old, *new]], indent=1) + "\n")
    print(shown(kept()))


if __name__ == "__main__":
    main()
