"""Wide and large data through the command line: what finishes within 4 GiB, and what is refused for free.

    python studies/large.py                       # all of it: an hour, and 20 GB of disk
    python studies/large.py --only wide points    # cases whose name contains a word
    python studies/large.py --show                # what was measured before

Every line is a command in a process of its own, with `--memory 4GiB` where it takes that: CPU seconds, the
most memory that was resident, the size of what was written, and how it ended. The records are made up by
DuckDB or NumPy. What is refused says what to change; nothing was spent then.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from frame.store import RESULTS
from frame.table import markdown

KEPT = RESULTS / "large.json"
MEBIBYTE = 1 << 20
LIMIT_MIB = 4096
CATEGORIES = 100_000
PACKED, PARTS = 40_000_000, 20


@dataclass(frozen=True)
class Line:
    """One command, measured."""

    case: str
    command: str
    cpu: float
    peak: int
    written: int
    report: int
    outcome: str


@dataclass(frozen=True)
class Case:
    """Records to make, and the methods that are tried on them."""

    name: str
    what: str
    make: Callable[[Path], Path]
    """Writes records and `schema.yaml` into a folder, and returns the records."""
    methods: Sequence[str]
    evaluated: str = ""
    drafted: bool = False
    kind: str = "table"
    sampled: int = 0


def duck(*statements: str) -> None:
    import duckdb

    with duckdb.connect(config={"memory_limit": "2GiB"}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SELECT setseed(0.5)")
        for statement in statements:
            connection.execute(statement)


def wide(folder: Path) -> Path:
    """500 columns x 50,000 rows: yes/no columns and small categories that answer to hidden factors."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    factors = rng.random((50_000, 25))
    columns, fields = {}, []
    for number in range(500):
        size = (2, 2, 5, 10)[number % 4]
        codes = ((0.6 * factors[:, number % 25] + 0.4 * rng.random(50_000)) * size).astype(int)
        columns[f"c{number}"] = codes
        fields.append(f"- {{name: c{number}, type: integer, constraints: {{enum: {list(range(size))}}}}}")
    (folder / "schema.yaml").write_text("fields:\n" + "\n".join(fields) + "\n")
    pl.DataFrame(columns).write_csv(folder / "records.csv")
    return folder / "records.csv"


def categories(folder: Path) -> Path:
    """A million rows with two columns of 100,000 categories each, and three small ones."""
    (folder / "codes.txt").write_text("\n".join(f"code {number}" for number in range(CATEGORIES)) + "\n")
    (folder / "schema.yaml").write_text(
        "fields:\n"
        "- {name: town, constraints: {enum: codes.txt}}\n"
        "- {name: trade, constraints: {enum: codes.txt}}\n"
        "- {name: sex, constraints: {enum: [f, m]}}\n"
        "- {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 5}}\n"
        "- {name: class, constraints: {enum: [a, b, c, d, e]}}\n"
    )
    skewed = f"'code ' || floor({CATEGORIES} * pow(random(), 3))::INT"
    duck(
        f"COPY (SELECT {skewed} AS town, {skewed} AS trade, CASE WHEN random() < .5 THEN 'f' ELSE 'm' END AS "
        "sex, floor(100 * random())::INT AS age, chr(97 + floor(5 * random())::INT) AS class "
        f"FROM range(1000000)) TO '{folder}/records.csv' (HEADER)"
    )
    return folder / "records.csv"


def points(folder: Path) -> Path:
    """50 million points around a few centres."""
    axis = "type: number, constraints: {minimum: 0, maximum: 1}"
    (folder / "schema.yaml").write_text(
        f"kind: points\nfields:\n- {{name: x, {axis}}}\n- {{name: y, {axis}}}\n"
    )
    duck(
        "COPY (SELECT least(greatest(.1 + .2 * (c % 5) + .05 * (random() + random() - 1), 0), 1) AS x, "
        "least(greatest(.15 + .23 * (c % 4) + .08 * (random() + random() - 1), 0), 1) AS y "
        "FROM (SELECT floor(20 * random() * random())::INT AS c FROM range(50000000))) "
        f"TO '{folder}/records.parquet' (FORMAT parquet)"
    )
    return folder / "records.parquet"


def long_sequences(folder: Path) -> Path:
    """2,000 people with 10,000 events each, of 20 symbols: 20 million rows."""
    symbols = ", ".join(f"s{number}" for number in range(20))
    (folder / "schema.yaml").write_text(
        "kind: sequences\n"
        f"fields:\n- {{name: what, constraints: {{enum: [{symbols}]}}}}\n"
        "sequence: {user: who, time: at, symbol: what, longest: 10000}\n"
    )
    duck(
        "COPY (SELECT 'p' || (i // 10000) AS who, i % 10000 AS at, "
        "'s' || floor(20 * random() * random())::INT AS what FROM range(20000000) t(i)) "
        f"TO '{folder}/records.parquet' (FORMAT parquet)"
    )
    return folder / "records.parquet"


def many_symbols(folder: Path) -> Path:
    """100,000 sequences of ten symbols out of 10,000."""
    (folder / "symbols.txt").write_text("\n".join(f"page {number}" for number in range(10_000)) + "\n")
    (folder / "schema.yaml").write_text(
        "kind: sequences\n"
        "fields:\n- {name: what, constraints: {enum: symbols.txt}}\n"
        "sequence: {user: who, time: at, symbol: what, longest: 10}\n"
    )
    duck(
        "COPY (SELECT 'p' || (i // 10) AS who, i % 10 AS at, 'page ' || floor(10000 * pow(random(), 3))::INT "
        f"AS what FROM range(1000000) t(i)) TO '{folder}/records.parquet' (FORMAT parquet)"
    )
    return folder / "records.parquet"


def packed(folder: Path) -> Path:
    """40 million rows x 10 columns as CSV.gz, the same two million again and again."""
    fields = [
        f"- {{name: c{n}, constraints: {{enum: [{', '.join(f'v{v}' for v in range(n + 3))}]}}}}"
        for n in range(7)
    ]
    fields += [
        f"- {{name: w{n}, type: integer, constraints: {{minimum: 0, maximum: 99}}, bins: {{width: 10}}}}"
        for n in range(3)
    ]
    (folder / "schema.yaml").write_text("fields:\n" + "\n".join(fields) + "\n")
    columns = [f"'v' || floor(z * {n + 3} * random())::INT AS c{n}" for n in range(7)]
    columns += [f"floor(z * 100 * random())::INT AS w{n}" for n in range(3)]
    names = [column.rpartition(" ")[2] for column in columns]
    part = folder / "part.csv.gz"
    duck(
        f"COPY (SELECT {', '.join(columns)} FROM (SELECT random() AS z FROM range({PACKED // PARTS}))) "
        f"TO '{part}' (HEADER false, COMPRESSION gzip)"
    )
    with (folder / "records.csv.gz").open("wb") as whole:  # gzip files, one after the other, are one
        whole.write(gzip.compress((",".join(names) + "\n").encode()))
        for _ in range(PARTS):
            whole.write(part.read_bytes())
    part.unlink()
    return folder / "records.csv.gz"


CASES = (
    Case(
        "wide",
        "500 columns x 50,000 rows",
        wide,
        ("independent", "confluence", "privbayes"),
        "confluence",
        True,
    ),
    Case(
        "categories",
        "two columns of 100,000 categories, 1,000,000 rows",
        categories,
        ("independent", "confluence", "privbayes", "laplace-marginals"),
        "confluence",
        True,
    ),
    Case(
        "points",
        "50,000,000 points",
        points,
        ("privtree", "uniform-grid", "kmeans"),
        "privtree",
        True,
        "points",
    ),
    Case(
        "long sequences",
        "2,000 sequences of 10,000 symbols",
        long_sequences,
        ("privtree-sequences", "n-gram", "top-strings"),
        "privtree-sequences",
        True,
        "sequences",
    ),
    Case(
        "many symbols",
        "100,000 sequences out of 10,000 symbols",
        many_symbols,
        ("privtree-sequences", "n-gram", "top-strings"),
        "privtree-sequences",
        False,
        "sequences",
    ),
    Case(
        "packed",
        "40,000,000 rows x 10 columns, CSV.gz",
        packed,
        ("independent", "confluence"),
        "independent",
        True,
        sampled=100_000_000,
    ),
)


def run(case: str, told: str, arguments: Sequence[object], out: Path | None = None) -> Line:
    """One command line in a process of its own."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=said,
            env={**os.environ, "PENSTOCK_MEMORY": "4GiB"},
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = " ".join(said.read().split())
    written = sum(file.stat().st_size for file in _files(out))
    report = sum(file.stat().st_size for file in _files(out) if file.name == "report.html")
    outcome = "done" if process.returncode == 0 else f"refused: {words.removeprefix('Error: ')[:300]}"
    if process.returncode not in (0, 1, 2):
        outcome = f"FAILED ({process.returncode}): {words[-300:]}"
    line = Line(
        case,
        told,
        round(used.ru_utime + used.ru_stime, 1),
        round(used.ru_maxrss / 1024),
        written,
        report,
        outcome,
    )
    print(line, file=sys.stderr, flush=True)
    return line


def _files(out: Path | None) -> Iterator[Path]:
    if out is None or not out.exists():
        return iter(())
    return iter([out]) if out.is_file() else (file for file in out.rglob("*") if file.is_file())


def measured(cases: Sequence[Case], methods: Sequence[str]) -> Iterator[Line]:
    for case in cases:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            records = case.make(folder)
            if case.drafted and not methods:
                given = [
                    "draft",
                    records,
                    "--kind",
                    case.kind,
                    "--header",
                    "first",
                    "--out",
                    folder / "draft.yaml",
                ]
                yield run(case.name, "draft", given)
            for method in [each for each in case.methods if not methods or each in methods]:
                out = folder / method
                given = ["release", records, "--schema", folder / "schema.yaml", "--epsilon", 1, "--seed", 8]
                yield run(case.name, f"release, {method}", [*given, "--method", method, "--out", out], out)
                if method == case.evaluated and out.exists():
                    yield run(case.name, f"evaluate, {method}", ["evaluate", out, records])
                if case.sampled and method == case.evaluated and out.exists():
                    rows = folder / "rows.parquet"
                    given = ["sample", out, "-n", case.sampled, "-o", rows]
                    yield run(case.name, f"sample {case.sampled:,}, {method}", given, rows)
                    rows.unlink(missing_ok=True)


def shown(lines: Sequence[Line]) -> str:
    order = [case.name for case in CASES]
    known = {case.name: case.what for case in CASES}
    rows, last = [], ""
    for line in sorted(lines, key=lambda each: order.index(each.case)):
        rows.append(
            [
                known[line.case] if line.case != last else "",
                line.command,
                f"{line.cpu:,.1f}",
                f"{line.peak:,}" + (" (too much)" if line.peak > LIMIT_MIB else ""),
                f"{line.written / MEBIBYTE:,.1f}" if line.written else "-",
                f"{line.report / 1000:,.0f}" if line.report else "-",
                line.outcome,
            ]
        )
        last = line.case
    return "\n".join(
        markdown(["records", "command", "CPU s", "peak MiB", "MiB written", "report kB", "outcome"], rows)
    )


def kept() -> list[Line]:
    return [Line(**each) for each in json.loads(KEPT.read_text())] if KEPT.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[""], help="cases whose name contains one of these")
    parser.add_argument("--methods", nargs="+", default=[], help="only these methods, and no draft")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    if not arguments.show:
        chosen = [case for case in CASES if any(word in case.name for word in arguments.only)]
        for line in measured(chosen, arguments.methods):
            others = [each for each in kept() if (each.case, each.command) != (line.case, line.command)]
            KEPT.write_text(json.dumps([asdict(each) for each in [*others, line]], indent=1) + "\n")
    print(shown(kept()))


if __name__ == "__main__":
    main()
