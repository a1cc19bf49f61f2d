"""What is promised about time, measured: CPU seconds beside the promise and a yardstick of the same run.

    python studies/promises.py                # about a minute
    python studies/promises.py --only help    # those whose name contains a word

Tests count operations and never read a clock, because a busy machine would fail them; this study has the
seconds. They are CPU seconds, the best of five. A yardstick is what the same machine takes in the same minute
for work that nobody could do without (or for what unsafe software does instead), so that the last column can
be compared between machines. The exit code is 1 when a promise is broken. `selection_speed.py` has what is
promised of selections.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

from frame.table import markdown
from penstock.engine import MemoryEngine
from penstock.privacy.randomness import samplers
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

RUNS = 5
MILLION = 1_000_000
Work = Callable[[], object]


@dataclass(frozen=True)
class Promise:
    """Something that is to take at most so many CPU seconds, and what to compare it with."""

    what: str
    seconds: float
    work: Work
    yardstick: str
    beside: Work
    clock: Callable[[], float] = process_time

    def row(self) -> tuple[list[str], bool]:
        """A line of the table, and whether the promise is kept."""
        ours, theirs = self._best(self.work), self._best(self.beside)
        kept = ours < self.seconds
        words = "holds" if kept else "does not hold"
        measured = [f"{self.seconds:.2f}", f"{ours:.3f}", words, self.yardstick, f"{theirs:.3f}"]
        return [self.what, *measured, f"{ours / theirs:.1f}" if theirs > 0 else "–"], kept

    def _best(self, work: Work) -> float:
        work()  # what is made once and kept is not part of it
        found = []
        for _ in range(RUNS):
            start = self.clock()
            work()
            found.append(self.clock() - start)
        return min(found)


BEGUN = """
import os, sys
sys.argv = ["penstock", "release", *sys.argv[1:]]
def opened(event, given):
    if event == "open" and str(given[0]).endswith("survey.csv"):
        os._exit(0)
sys.addaudithook(opened)
from penstock.cli import main
main()
"""


def promises(folder: Path) -> list[Promise]:
    return [help_at_once(), release_begins(folder), *encoding(folder), *counting(), *noise()]


def run(*words: str, cwd: Path | None = None) -> Work:
    """A process of its own; what it compiles is kept, as where Penstock is installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run(
        [sys.executable, *words], capture_output=True, check=True, cwd=cwd, env=kept
    )


def release_begins(folder: Path) -> Promise:
    """All that is loaded before the first record: the command, the libraries, the schema, the method."""
    from penstock.demo import survey, survey_schema

    survey(100).write_csv(folder / "survey.csv")
    (folder / "schema.yaml").write_text(survey_schema(), encoding="utf-8")
    given = ("survey.csv", "--schema", "schema.yaml", "--epsilon", "1", "--out", "out")
    return Promise(
        "`penstock release`, until it opens the records",
        0.5,
        run("-c", BEGUN, *given, cwd=folder),
        "`import polars, numpy, pydantic, yaml, typer`",
        run("-c", "import polars, numpy, pydantic, yaml, typer"),
        _of_children,
    )


def help_at_once() -> Promise:
    return Promise(
        "`penstock --help`",
        0.5,
        run("-m", "penstock", "--help"),
        "`import typer, rich.console`",
        run("-c", "import typer, rich.console"),
        _of_children,
    )


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def encoding(folder: Path) -> list[Promise]:
    """A text table of 15 columns: seven of numbers, eight of categories."""
    rng = np.random.default_rng(0)
    numbers = [
        {"name": f"n{i}", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}} for i in range(7)
    ]
    categories = [{"name": f"c{i}", "constraints": {"enum": list("abcdefgh")}} for i in range(8)]
    schema = Schema.model_validate({"fields": [*numbers, *categories]})
    columns = {name: rng.integers(0, 100, 45_000).astype(str) for name in schema.names[:7]}
    columns |= {name: rng.choice(list("abcdefgh"), 45_000) for name in schema.names[7:]}
    frame, path = pl.DataFrame(columns), folder / "table.csv"
    frame.write_csv(path)
    return [
        Promise(
            "encode a text table of 45,000 × 15",
            1.0,
            lambda: schema.encode(frame),
            "read it from CSV with Polars",
            lambda: pl.read_csv(path, infer_schema=False),
        )
    ]


def counting() -> list[Promise]:
    rng = np.random.default_rng(4)
    sizes = {f"a{i}": int(size) for i, size in enumerate(rng.integers(2, 17, 15))}
    codes = {name: rng.integers(0, size, 45_000) for name, size in sizes.items()}
    engine, pairs = MemoryEngine(codes, sizes), list(itertools.combinations(sizes, 2))

    def one_by_one() -> None:
        for one, two in pairs:
            np.bincount(codes[one] * sizes[two] + codes[two], minlength=sizes[one] * sizes[two])

    return [
        Promise(
            "all pairs of 45,000 × 15, in memory",
            0.25,
            lambda: engine.counts(pairs),
            "one NumPy bincount for each pair",
            one_by_one,
        )
    ]


def noise() -> list[Promise]:
    source, generator = Randomness.system(), np.random.default_rng()
    return [
        Promise(
            "exact Laplace noise for a million cells",
            1.0,
            lambda: samplers.discrete_laplace(Fraction(10), MILLION, source),
            "NumPy's inexact, unsafe one",
            lambda: generator.laplace(scale=10, size=MILLION),
        )
    ]


HEADS = ("promise", "at most s", "CPU s", "", "yardstick", "its CPU s", "ratio")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="What is promised about time, beside a yardstick of the same run."
    )
    parser.add_argument("--only", default="", help="a word of the promises to measure")
    wanted = parser.parse_args(arguments).only
    with tempfile.TemporaryDirectory() as folder:
        found = [promise.row() for promise in promises(Path(folder)) if wanted in promise.what]
    print("\n".join(markdown(HEADS, [row for row, _ in found])))
    return 0 if all(kept for _, kept in found) else 1


if __name__ == "__main__":
    sys.exit(main())
