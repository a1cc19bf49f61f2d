"""How confluence and privbayes scale with rows, columns and candidate sets: time of each phase, peak memory.

    python studies/scaling_privbayes.py                        # up to 10 million rows
    python studies/scaling_privbayes.py --largest 1000000      # quicker
    python studies/scaling_privbayes.py --command              # `penstock release` on ten million rows
    python studies/scaling_privbayes.py --show                 # what has been measured so far
    python studies/scaling_privbayes.py --write                # the same as pages in docs/studies

The tables are made up by DuckDB from a public rule, so that anybody gets the same ones. Every line is
measured in a process of its own, CPU seconds of all threads, and kept in results/: a second run goes on
where the first one stopped.

Phases: `open` reads, checks and encodes; `count` is the engine;
`learn` is everything else in `fit` (choices, noise, post-processing); `sample` draws 100,000 synthetic rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from math import log
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame.page import Page, listed
from frame.store import RESULTS
from frame.table import markdown

LIMIT_MIB = 4096
SAMPLED = 100_000
SIZES = (2, 3, 5, 8, 2, 4, 16, 6)  # of the columns, again and again
COLUMNS = (8, 16, 32, 64)
KEPT = RESULTS / "scaling_privbayes.jsonl"
COMMAND = RESULTS / "scaling_command.json"


@dataclass(frozen=True)
class Task:
    """One line of the tables."""

    rows: int
    columns: int
    engine: str = "memory"
    binary: bool = False  # 0/1 columns and the published network of degree 2 instead of confluence


def tasks(largest: int) -> list[Task]:
    """The quick ones first."""
    every = [
        *(Task(rows, columns) for rows in (10**4, 10**5) for columns in COLUMNS),
        *(Task(10**4, columns, binary=True) for columns in COLUMNS),
        *(Task(10**6, columns) for columns in COLUMNS),
        *(Task(10**6, columns, "duckdb") for columns in (8, 16)),
        *(Task(10**7, columns, "duckdb") for columns in (15, 8, 16, 32, 64)),
    ]
    return [task for task in every if task.rows <= largest]


@dataclass(frozen=True)
class Line:
    """What a task took."""

    task: Task
    opening: float
    counting: float
    learning: float
    sampling: float
    marginals: int
    offered: int  # candidates, over all choices of the network
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

    def grid(self, *arguments: Any) -> Any:
        return self._timed(self._engine.grid, *arguments)

    def nearest(self, *arguments: Any) -> Any:
        return self._timed(self._engine.nearest, *arguments)

    def moments(self, *arguments: Any) -> Any:
        return self._timed(self._engine.moments, *arguments)

    def projected(self, *arguments: Any) -> Any:
        return self._timed(self._engine.projected, *arguments)

    def _timed(self, work: Any, *arguments: Any) -> Any:
        started = process_time()
        result = work(*arguments)
        self.seconds += process_time() - started
        return result


def schema_of(task: Task) -> Any:
    from penstock.schema import Schema

    fields = [
        {"name": f"c{place}", "constraints": {"enum": [str(code) for code in range(size)]}}
        for place, size in enumerate(sizes(task))
    ]
    return Schema.model_validate({"fields": fields})


def command(task: Task, folder: Path) -> dict[str, float]:
    """The whole command line, from the file to a release folder with its report."""
    write(task, folder / "table.parquet")
    schema_of(task).save(folder / "schema.yaml", overwrite=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "penstock", "release", str(folder / "table.parquet")]
    words += ["--schema", str(folder / "schema.yaml"), "--epsilon", "1", "--out", str(folder / "release")]
    subprocess.run(words, check=True, capture_output=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "peak": used.ru_maxrss / 1024}


def measure(task: Task, path: Path) -> Line:
    """Open, fit and sample, each on the clock."""
    from penstock.engine import open_engine
    from penstock.kinds.table.confluence.method import Confluence
    from penstock.kinds.table.data import Table
    from penstock.kinds.table.privbayes.method import PrivBayes
    from penstock.privacy.budgets.budget import Budget
    from penstock.privacy.randomness.generator import Randomness

    schema = schema_of(task)
    method = PrivBayes(degree=2, score="R") if task.binary else Confluence()
    method.fit(*_warm())  # what is imported late is loaded before the clock runs
    started = process_time()
    timed = Timed(open_engine(path, schema, engine=task.engine))
    opened = process_time()
    release = method.fit(Table(timed, schema), Budget(1, randomness=Randomness.seeded(1)))
    fitted = process_time()
    release.sample(SAMPLED, seed=1)
    sampled = process_time()
    counting = timed.seconds
    details = [charge.detail for _, charge in release.receipt.charges()]
    offered = sum(int(detail.split()[0]) for detail in details if detail.endswith("candidates"))
    return Line(
        task,
        opened - started,
        counting,
        fitted - opened - counting,
        sampled - fitted,
        timed.marginals,
        offered,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _warm() -> tuple[Any, Any]:
    import polars as pl

    from penstock.kinds.table.data import Table
    from penstock.privacy.budgets.budget import Budget
    from penstock.privacy.randomness.generator import Randomness
    from penstock.schema import Schema

    schema = Schema.model_validate({"fields": [{"name": n, "type": "boolean"} for n in "pqrs"]})
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({n: rng.random(500) < 0.5 for n in "pqrs"})
    return Table.open(frame, schema), Budget(1, randomness=Randomness.seeded(0))


def apart(work: Any, *arguments: Any) -> Any:
    """In a fresh process, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def row(line: Line) -> list[str]:
    task = line.task
    seconds = [line.opening, line.counting, line.learning, line.sampling, total(line)]
    return [
        f"{task.rows:,} × {task.columns}",
        task.engine,
        *(f"{value:.2f}" for value in seconds),
        f"{line.marginals:,}",
        f"{line.peak:.0f}",
    ]


def total(line: Line) -> float:
    return line.opening + line.counting + line.learning + line.sampling


HEADS = ("rows × columns", "engine", "open s", "count s", "learn s", "sample s", "all s", "marginals", "MiB")


def slope(less: float, more: float, small: float, large: float) -> str:
    """The exponent of growth between two measurements: 1 is linear, 0 is constant."""
    return f"{log(large / small) / log(more / less):.2f}" if small > 0 and large > 0 else ""


def growth(lines: Sequence[Line]) -> list[list[str]]:
    """From one number of rows to the next, same columns and engine."""
    found = []
    known = {line.task: line for line in lines if not line.task.binary}
    for task, line in known.items():
        more = known.get(Task(task.rows * 10, task.columns, task.engine))
        if more is None:
            continue
        pairs = [
            (line.opening, more.opening),
            (line.counting, more.counting),
            (line.learning, more.learning),
            (line.sampling, more.sampling),
            (total(line), total(more)),
        ]
        label = f"{task.rows:,} to {more.task.rows:,} × {task.columns}"
        found.append([label, task.engine, *(slope(1, 10, a, b) for a, b in pairs)])
    return found


def sets(lines: Sequence[Line]) -> list[list[str]]:
    """Candidate sets of the published network: 0/1 columns, two parents."""
    found: list[list[str]] = []
    before: Line | None = None
    for line in lines:
        if not line.task.binary:
            continue
        cells = [
            f"{line.task.columns}",
            f"{line.marginals:,}",
            f"{line.counting:.2f}",
            f"{line.offered:,}",
            f"{line.learning:.2f}",
        ]
        if before is None:
            exponents = ["", ""]
        else:
            exponents = [
                slope(before.marginals, line.marginals, before.counting, line.counting),
                slope(before.offered, line.offered, before.learning, line.learning),
            ]
        found.append([*cells[:3], exponents[0], *cells[3:], exponents[1]])
        before = line
    return found


def in_order(lines: Sequence[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.task.engine != "memory", line.task.rows, line.task.columns))


def sections(lines: Sequence[Line]) -> list[str]:
    """The tables of everything that has been measured."""
    order = in_order(lines)
    plain = [line for line in order if not line.task.binary]
    by_rows = ("from, to × columns", "engine", "open", "count", "learn", "sample", "all")
    by_sets = ("columns", "sets counted", "count s", "exponent", "offered", "learn s", "exponent")
    return [
        "## Every phase, CPU seconds",
        "\n".join(markdown(HEADS, [row(line) for line in plain])),
        "## Growth with the rows",
        "The exponent between two sizes; 1 is linear, 0 is constant.",
        "\n".join(markdown(by_rows, growth(order))),
        "## Growth with the candidate sets",
        "10,000 rows of 0/1 columns, `privbayes`, degree 2, score R.",
        "\n".join(markdown(by_sets, sets(order))),
    ]


SAY = """## What the tables say

- Opening and counting touch every row and grow at most linearly with them: fixed costs of a call hide the
  growth of small tables, and rows that agree in what is counted are counted together.
- Learning and sampling work on noisy counts. They grow with the rows only as far as more records make more
  marginals worth their noise (the column `marginals`), and level off.
- Confluence counts every pair of columns once, so its counting grows with the square of the columns.
- Privbayes tries every set of two parents for every attribute: each set is counted once, and
  offered to every choice until its attribute is placed. Counting grows about linearly with the sets, learning
  about linearly with the offers."""

PHASES = """## The phases

`open` reads, checks and encodes the file; `count` is the engine; `learn` is the rest of fitting: choices,
noise and post-processing; `sample` draws 100,000 synthetic rows."""


def page(lines: Sequence[Line], command: Mapping[str, float] | None) -> Page:
    """The largest file and the growth on one screen, what the tables say below it, the tables beside it."""
    file = next((line for line in lines if (line.task.rows, line.task.columns) == (10**7, 15)), None)
    found = []
    if file is not None:
        found.append(
            f"""Ten million rows of 15 columns in a Parquet file, through DuckDB, from opening to 100,000
            synthetic rows: {total(file):.0f} CPU seconds and a peak of {file.peak:,.0f} MiB for the whole
            process. The goal was {LIMIT_MIB:,} MiB."""
        )
    if command is not None:
        found.append(
            f"""The command `penstock release` on the same file, to a folder with synthetic rows and report:
            {command["seconds"]:.0f} CPU seconds, {command["peak"]:,.0f} MiB."""
        )
    grown = growth(in_order(lines))
    exponents = {
        phase: [float(cells[place]) for cells in grown if cells[place]]
        for place, phase in enumerate(("open", "count", "learn", "sample"), 2)
    }
    if grown:
        told = ", ".join(
            f"{phase} {min(known):.2f} to {max(known):.2f}" for phase, known in exponents.items()
        )
        found.append(f"Ten times the rows cost 10 to the power of: {told}.")
    chosen = [line for line in in_order(lines) if line.task.columns == 16 and not line.task.binary]
    largest = {line.task.columns: line for line in lines if line.task.rows == 10**7}
    limits = []
    if {16, 64} <= set(largest):
        few, many = largest[16], largest[64]
        limits.append(
            f"Columns cost more than rows: ten million rows of 64 columns instead of 16 take "
            f"{total(many):.0f} CPU seconds instead of {total(few):.0f}, {many.counting / total(many):.0%} "
            f"of them for counting {many.marginals:,} marginals, and {many.peak:,.0f} MiB."
        )
    return Page(
        name="scaling",
        title="How confluence and privbayes scale",
        asked="""How do time and memory of a release grow with rows, columns and candidate sets, and does a
            file that is larger than you want in memory pass?""",
        found=[
            " ".join(found) or "Nothing has been measured yet.",
            "\n".join(markdown(HEADS, [row(line) for line in chosen])),
            *(["What does not scale as well:", listed(limits)] if limits else []),
        ],
        again="""`python studies/scaling_privbayes.py` and `python studies/scaling_privbayes.py --command`,
            then `--write` for these pages; `--largest 1000000` is quicker.""",
        rests_on="""One process for each line, confluence at epsilon 1, tables made up from a public
            rule with columns of 2 to 16 values. CPU seconds of all threads on a busy machine with two cores:
            figures vary by tens of percent between runs. PostgreSQL and Spark were not run.""",
        details=[PHASES, SAY],
        tables=sections(lines),
    )


def measured() -> list[Line]:
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    found = {}
    for text_line in lines:
        fields = json.loads(text_line)
        line = Line(**{**fields, "task": Task(**fields["task"])})
        found[line.task] = line
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", type=int, default=10_000_000, help="the most rows")
    parser.add_argument("--command", action="store_true", help="measure the command line only")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("--write", action="store_true", help="measure nothing and write the pages")
    given = parser.parse_args()
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    if given.command:
        with tempfile.TemporaryDirectory() as folder:
            COMMAND.write_text(json.dumps(apart(command, Task(10**7, 15), Path(folder))), encoding="utf-8")
    elif not given.show and not given.write:
        run([task for task in tasks(given.largest) if task not in {line.task for line in measured()}])
    lines = measured()
    if given.write:
        page(lines, json.loads(COMMAND.read_text(encoding="utf-8")) if COMMAND.exists() else None).write()
    print("\n\n".join(sections(lines)))
    highest = max((line.peak for line in lines), default=0.0)
    if highest > LIMIT_MIB:
        raise SystemExit(f"the peak of {highest:.0f} MiB exceeds {LIMIT_MIB} MiB")


def run(todo: Sequence[Task]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for task in todo:
            path = Path(folder) / "table.parquet"
            apart(write, task, path)
            line = apart(measure, task, path)
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(line)) + "\n")
            print(" ".join(row(line)), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
