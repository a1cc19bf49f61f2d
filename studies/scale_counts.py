"""How long counting takes and how much memory it needs: all two-way marginals, small and large.

    python studies/scale_counts.py                   # 10 million rows x 15 columns, about a minute
    python studies/scale_counts.py --rows 1000000

A made-up Parquet file is counted through DuckDB without loading it into Python, and a table of
45,000 rows in memory. Each line is measured in a process of its own. "Ratio" compares with asking
the same engine for one marginal after the other.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np

from penstock.engine import Engine, open_engine
from penstock.schema import Schema

SMALL = 45_000
CATEGORIES = (2, 3, 5, 7, 9, 12, 16, 20)
INTEGERS = (60, 100, 200)
LIMIT_MIB = 2048
T = TypeVar("T")


@dataclass(frozen=True)
class Line:
    """One measurement."""

    what: str
    open_seconds: float
    count_seconds: float
    one_by_one_seconds: float
    peak_mib: float


def schema() -> Schema:
    """15 columns: eight of text, three of whole numbers in 16 bins, four of real numbers in 8 bins."""
    fields = [
        f"- {{name: text{i}, constraints: {{enum: [{', '.join(f'v{v}' for v in range(size))}]}}}}"
        for i, size in enumerate(CATEGORIES)
    ]
    fields += [
        f"- {{name: whole{i}, type: integer, bins: {{count: 16}}, constraints: {{minimum: 0, maximum: {n}}}}}"
        for i, n in enumerate(INTEGERS)
    ]
    fields += [
        f"- {{name: real{i}, type: number, constraints: {{minimum: 0, maximum: 1}}, bins: {{count: 8}}}}"
        for i in range(15 - len(CATEGORIES) - len(INTEGERS))
    ]
    return Schema.from_yaml("fields:\n" + "\n".join(fields))


def write(path: Path, rows: int) -> None:
    """A Parquet file of dependent columns, written by DuckDB without passing through Python."""
    import duckdb

    columns = [f"'v' || floor(z * {n} * random())::INT AS text{i}" for i, n in enumerate(CATEGORIES)]
    columns += [f"floor(z * {n + 1} * random())::INT AS whole{i}" for i, n in enumerate(INTEGERS)]
    columns += [f"z * random() AS real{i}" for i in range(15 - len(columns))]
    with duckdb.connect(config={"memory_limit": "1GiB"}) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"COPY (SELECT {', '.join(columns)} FROM (SELECT random() AS z FROM range({rows}))) "
            f"TO '{path}' (FORMAT parquet)"
        )


def measure(what: str, path: Path, engine: str, rows: int) -> Line:
    """Open the file, count all pairs together, then one by one, and compare the two."""
    started = time.perf_counter()
    opened = open_engine(path, schema(), engine=engine)
    opening = time.perf_counter() - started
    pairs = list(itertools.combinations(opened.sizes, 2))
    together, seconds = _timed(lambda: opened.counts(pairs))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    alone, slow = _timed(lambda: [opened.counts([pair])[0] for pair in pairs])
    _check(opened, rows, together, alone)
    return Line(what, opening, seconds, slow, peak)


def _apart(work: Callable[..., T], *arguments: object) -> T:
    """Run in a fresh process, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def _timed(work: Callable[[], list[np.ndarray]]) -> tuple[list[np.ndarray], float]:
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def _check(opened: Engine, rows: int, together: list[np.ndarray], alone: list[np.ndarray]) -> None:
    assert opened.rows() == rows
    assert all(int(table.sum()) == rows for table in together)
    assert all(np.array_equal(a, b) for a, b in zip(together, alone, strict=True))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    rows = arguments.parse_args().rows
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for count, engine in ((SMALL, "memory"), (rows, "duckdb")):
            path = Path(folder) / f"{engine}.parquet"
            _apart(write, path, count)
            lines.append(_apart(measure, f"{count:,} x 15, {engine}", path, engine, count))
    print("all 105 two-way marginals")
    print(f"{'table':28} {'open s':>8} {'count s':>8} {'one by one s':>13} {'ratio':>6} {'peak MiB':>9}")
    for line in lines:
        ratio = line.one_by_one_seconds / line.count_seconds
        seconds = f"{line.open_seconds:8.2f} {line.count_seconds:8.3f} {line.one_by_one_seconds:13.3f}"
        print(f"{line.what:28} {seconds} {ratio:6.1f} {line.peak_mib:9.0f}")
    if lines[-1].peak_mib > LIMIT_MIB:
        raise SystemExit(f"the peak exceeds {LIMIT_MIB} MiB")


if __name__ == "__main__":
    main()
