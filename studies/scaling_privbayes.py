"""How PrivBayes scales: rows, columns and candidate sets, with the time of each phase and the peak memory.

    python studies/scaling_privbayes.py                        # up to 10 million rows, about ten minutes
    python studies/scaling_privbayes.py --largest 1000000      # quicker

The tables are made up by DuckDB from a public rule, so that anybody gets the same ones. Every line is
measured in a process of its own, CPU seconds of all threads. Tables of more than a million rows are counted
by DuckDB where they are, the others in memory.

Phases: `open` reads, checks and encodes; `count` is the engine;
`learn` is everything else in `fit` (choices, noise, post-processing); `sample` draws 100,000 synthetic rows.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame.store import RESULTS
from frame.table import markdown

LIMIT_MIB = 4096
SAMPLED = 100_000
SIZES = (2, 3, 5, 8, 2, 4, 16, 6)  # of the columns, again and again
IN_MEMORY = 1_000_000


@dataclass(frozen=True)
class Task:
    """One line of the tables."""

    rows: int
    columns: int
    binary: bool = False  # 0/1 columns and the published network of degree 2 instead of our default

    @property
    def engine(self) -> str:
        return "memory" if self.rows <= IN_MEMORY else "duckdb"


@dataclass(frozen=True)
class Line:
    """What a task took."""

    task: Task
    opening: float
    counting: float
    learning: float
    sampling: float
    marginals: int
    peak: float


def sizes(task: Task) -> list[int]:
    return [2 if task.binary else SIZES[place % len(SIZES)] for place in range(task.columns)]


def write(task: Task, path: Path) -> None:
    """Column i follows column i-1 for three rows in four, and is anything otherwise."""
    import duckdb

    numbers = sizes(task)
    query = f"SELECT range AS i FROM range({task.rows})"
    columns = []
    for place, size in enumerate(numbers):
        coin = f"(hash(i * {len(numbers)} + {place}) >> 8)"
        value = f"({coin} >> 2) % {size}"
        if place:
            value = f"CASE WHEN {coin} % 4 = 0 THEN {value} ELSE c{place - 1} % {size} END"
        query = f"SELECT *, {value} AS c{place} FROM ({query})"
        columns.append(f"c{place}::UTINYINT AS c{place}")
    copied = f"COPY (SELECT {', '.join(columns)} FROM ({query})) TO '{path}' (FORMAT parquet)"
    with duckdb.connect(config={"memory_limit": "1GiB", "threads": 1}) as connection:
        connection.execute(copied)


class Timed:
    """An engine that adds up what it costs."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.seconds, self.marginals = 0.0, 0

    @property
    def sizes(self) -> Mapping[str, int]:
        known: Mapping[str, int] = self._engine.sizes
        return known

    def rows(self) -> int:
        return int(self._timed(self._engine.rows))

    def counts(self, marginals: Sequence[Any]) -> list[NDArray[np.int64]]:
        self.marginals += len(marginals)
        found: list[NDArray[np.int64]] = self._timed(self._engine.counts, marginals)
        return found

    def distinct(self, names: Sequence[str]) -> Any:
        return self._timed(self._engine.distinct, names)

    def lattice(self, *arguments: Any) -> Any:
        return self._timed(self._engine.lattice, *arguments)

    def _timed(self, work: Any, *arguments: Any) -> Any:
        started = process_time()
        result = work(*arguments)
        self.seconds += process_time() - started
        return result


def measure(task: Task, path: Path) -> Line:
    """Open, fit and sample, each on the clock."""
    from penstock.engine import open_engine
    from penstock.privacy.budget import Budget
    from penstock.privacy.randomness import Randomness
    from penstock.privacy.table import Table
    from penstock.schema import Schema
    from penstock.tabular.privbayes.method import PrivBayes

    fields = [
        {"name": f"c{place}", "constraints": {"enum": [str(code) for code in range(size)]}}
        for place, size in enumerate(sizes(task))
    ]
    schema = Schema.model_validate({"fields": fields})
    method = PrivBayes(preset="plain", degree=2, score="R") if task.binary else PrivBayes()
    method.fit(*_warm())  # compiled loops are loaded before the clock runs
    started = process_time()
    timed = Timed(open_engine(path, schema, engine=task.engine))
    opened = process_time()
    release = method.fit(Table(timed, schema), Budget(1, randomness=Randomness.seeded(1)))
    fitted = process_time()
    release.sample(SAMPLED, seed=1)
    sampled = process_time()
    counting = timed.seconds
    return Line(
        task,
        opened - started,
        counting,
        fitted - opened - counting,
        sampled - fitted,
        timed.marginals,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _warm() -> tuple[Any, Any]:
    import polars as pl

    from penstock.privacy.budget import Budget
    from penstock.privacy.randomness import Randomness
    from penstock.privacy.table import Table
    from penstock.schema import Schema

    schema = Schema.model_validate({"fields": [{"name": n, "type": "boolean"} for n in "pqrs"]})
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({n: rng.random(500) < 0.5 for n in "pqrs"})
    return Table.open(frame, schema), Budget(1, randomness=Randomness.seeded(0))


def apart(work: Any, *arguments: Any) -> Any:
    """In a fresh process, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def tasks(largest: int) -> list[Task]:
    rows = [10**power for power in range(4, 8) if 10**power <= largest]
    every = [
        *(Task(n, 16) for n in rows),
        *(Task(min(100_000, largest), columns) for columns in (8, 16, 32, 64)),
        *(Task(min(100_000, largest), columns, binary=True) for columns in (8, 16, 32, 64)),
    ]
    return list(dict.fromkeys(every))


def row(line: Line) -> list[str]:
    task = line.task
    total = line.opening + line.counting + line.learning + line.sampling
    seconds = [line.opening, line.counting, line.learning, line.sampling, total]
    return [
        f"{task.rows:,} × {task.columns}{' binary, degree 2' if task.binary else ''}, {task.engine}",
        *(f"{value:.2f}" for value in seconds),
        f"{line.marginals:,}",
        f"{1e6 * (line.counting + line.learning) / line.marginals:.0f}",
        f"{line.peak:.0f}",
    ]


HEADS = ("table", "open s", "count s", "learn s", "sample s", "all s", "marginals", "µs each", "peak MiB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", type=int, default=10_000_000, help="the most rows")
    largest = parser.parse_args().largest
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(largest):
            path = Path(folder) / f"{task.rows}-{task.columns}-{task.binary}.parquet"
            if not path.exists():
                apart(write, task, path)
            lines.append(apart(measure, task, path))
            print(" ".join(row(lines[-1])), file=sys.stderr, flush=True)
    text = "\n".join(markdown(HEADS, [row(line) for line in lines]))
    print(text)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "scaling_privbayes.md").write_text(text + "\n", encoding="utf-8")
    highest = max(line.peak for line in lines)
    if highest > LIMIT_MIB:
        raise SystemExit(f"the peak of {highest:.0f} MiB exceeds {LIMIT_MIB} MiB")


if __name__ == "__main__":
    main()
