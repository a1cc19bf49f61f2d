"""Does every command end as it should? The same few commands run hundreds of times on a busy machine.

    python studies/exits.py                          # 500 runs of `penstock query`, and some of the others
    python studies/exits.py --runs 40 --only sample  # those whose name contains a word

A process that has done its work can still be aborted while it ends, when a thread of a native library asks
for a Python interpreter that is no longer there. Chance decides, and a busy machine raises it: several
commands run at once. The exit code is 1 when one of them ended in any other way than with 0.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import penstock
from frame.table import markdown
from penstock import Schema
from penstock.demo import rides, rides_schema, survey, survey_schema, visits, visits_schema

RUNS = 500
AT_ONCE = 6
FEWER = 10
"""Commands other than a query are run this many times less often: they take longer."""

Command = tuple[str, ...]


def prepared(folder: Path) -> dict[str, Command]:
    """Releases and files to work on, and the commands to run; a query of a table comes first."""
    for name, records, schema in (
        ("people", survey(2000), survey_schema()),
        ("rides", rides(2000), rides_schema()),
        ("visits", visits(500), visits_schema()),
    ):
        (folder / f"{name}.yaml").write_text(schema, encoding="utf-8")
        records.write_csv(folder / f"{name}.csv")
        penstock.release(records, Schema.from_yaml(schema), epsilon=1, out=folder / name)
    made, paid = str(folder / "made-{run}"), ("--epsilon", "1", "--engine", "duckdb", "--out")
    return {
        "query a table": ("query", str(folder / "people"), "age < 30"),
        "query points": ("query", str(folder / "rides"), "--box", "0,5,2,8"),
        "query sequences": ("query", str(folder / "visits"), "--top", "5"),
        "sample a table": ("sample", str(folder / "people"), "-n", "2000", "-o", f"{made}.csv"),
        "sample sequences": ("sample", str(folder / "visits"), "-n", "2000", "-o", f"{made}.parquet"),
        "inspect": ("inspect", str(folder / "rides")),
        "evaluate": ("evaluate", str(folder / "rides"), str(folder / "rides.csv")),
        "release a table, DuckDB": (
            *("release", str(folder / "people.csv"), "--schema", str(folder / "people.yaml")),
            *(*paid, f"{made}-people"),
        ),
        "release points, DuckDB": (
            *("release", str(folder / "rides.csv"), "--schema", str(folder / "rides.yaml")),
            *(*paid, f"{made}-rides"),
        ),
    }


def codes(command: Command, runs: int) -> Counter[int]:
    """The exit codes of so many runs, some of them at once; what the others say goes to stderr."""

    def once(run: int) -> int:
        words = [word.replace("{run}", str(run)) for word in command]
        done = subprocess.run([sys.executable, "-m", "penstock", *words], capture_output=True, text=True)
        if done.returncode:
            print(f"run {run} ended with {done.returncode}: {done.stderr[-500:]}", file=sys.stderr)
        return done.returncode

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return Counter(pool.map(once, range(runs)))


HEADS = ("command", "runs", "ended with 0", "ended otherwise")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run commands many times and count how they end.")
    parser.add_argument("--runs", type=int, default=RUNS, help="how often a table is queried")
    parser.add_argument("--only", default="", help="a word of the commands to run")
    asked = parser.parse_args(arguments)
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, command) in enumerate(prepared(Path(folder)).items()):
            if asked.only not in name:
                continue
            runs = asked.runs if number == 0 else max(1, asked.runs // FEWER)
            found = codes(command, runs)
            others = {code: times for code, times in sorted(found.items()) if code != 0}
            wrong += sum(others.values())
            words = ", ".join(f"{times} with {code}" for code, times in others.items())
            rows.append([name, str(runs), str(found[0]), words or "none"])
            print(*rows[-1], sep=" | ", file=sys.stderr)
    print("\n".join(markdown(HEADS, rows)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
