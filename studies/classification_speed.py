"""How long PrivPfC takes on Adult with 10,000 grids, beside reading and coding the file, on every engine.

    python studies/classification_speed.py
    python studies/classification_speed.py --show

CPU seconds of one process, the least of three, at epsilon 0.05, 0.2 and 1 (the larger, the more cells a grid
may have). The yardstick is opening the CSV file with its schema: reading, checking and coding every value.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from frame.data import MissingDataError
from frame.folds import fold_of
from frame.statements import Checked, Verdict
from frame.store import RESULTS
from penstock import catalogue
from penstock.contracts.plug import method_class
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness

ENGINES = ("memory", "duckdb")
OTHERS = ("privbayes", "pph", "diffgen")
"""Beside which PrivPfC's time stands in the literature, slowest first."""
EPSILONS = ("0.05", "0.2", "1")
RUNS = 3
MOST = 10.0
"""Times the yardstick."""
KEPT = RESULTS / "classification-speed.json"


def least(work: Callable[[], object]) -> float:
    found = []
    for _ in range(RUNS):
        started = process_time()
        work()
        found.append(process_time() - started)
    return min(found)


def fitted(table: Table, epsilon: str, method: str = "privpfc") -> object:
    made = method_class(catalogue.method(method))()
    return made.fit(table, Budget(epsilon, randomness=Randomness.seeded(1)))


def measured() -> dict[str, Any]:
    fold = fold_of("adult-income-0")
    schema = fold.train.schema
    rows = schema.decode(fold.train.codes, np.random.default_rng(0))
    found: dict[str, Any] = {"rows": rows.height}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.csv"
        rows.write_csv(path)
        for engine in ENGINES:
            Table.open(path, schema, engine=engine)  # what is imported once is no part of it
            found[f"{engine}|reading"] = least(partial(Table.open, path, schema, engine=engine))
            table = Table.open(path, schema, engine=engine)
            for epsilon in EPSILONS:
                found[f"{engine}|{epsilon}"] = least(partial(fitted, table, epsilon))
                print(engine, epsilon, round(found[f"{engine}|{epsilon}"], 2), flush=True)
        table = Table.open(path, schema)
        for method in OTHERS:
            for epsilon in EPSILONS:
                found[f"{method}|{epsilon}"] = least(partial(fitted, table, epsilon, method))
                print(method, epsilon, round(found[f"{method}|{epsilon}"], 2), flush=True)
    return found


def ratios(known: Mapping[str, Any]) -> dict[str, float]:
    """How many times the yardstick each engine and budget took."""
    return {
        f"{engine}, ε = {epsilon}": known[f"{engine}|{epsilon}"] / known[f"{engine}|reading"]
        for engine in ENGINES
        for epsilon in EPSILONS
    }


def table_of_seconds(known: Mapping[str, Any]) -> str:
    heads = ["CPU seconds", "reading and coding", *(f"ε = {epsilon}" for epsilon in EPSILONS)]
    lines = [f"| {' | '.join(heads)} |", "|---|" + "--:|" * (len(heads) - 1)]
    for engine in ENGINES:
        shown = [known[f"{engine}|{what}"] for what in ("reading", *EPSILONS)]
        lines.append(f"| privpfc, {engine} | {' | '.join(f'{one:.2f}' for one in shown)} |")
    for method in OTHERS:
        took = [known[f"{method}|{epsilon}"] for epsilon in EPSILONS]
        lines.append(f"| {method}, memory | | {' | '.join(f'{one:.2f}' for one in took)} |")
    return "\n".join(lines)


def sentences(known: Mapping[str, Any]) -> list[Checked]:
    """What is said of time, each with whether it holds."""
    every = ratios(known)
    slowest = max(every, key=lambda where: every[where])
    order = ("privbayes", "memory", "pph", "diffgen")
    seconds = [[known[f"{name}|{epsilon}"] for name in order] for epsilon in EPSILONS]
    told = ", ".join(f"{name} {known[f'{name}|1']:.2f} s" for name in order).replace("memory", "privpfc")
    return [
        Checked(
            "9",
            "PrivBayes takes longest, then PrivPfC, PPH and DiffGen.",
            Verdict(all(some == sorted(some, reverse=True) for some in seconds), f"at ε = 1: {told}"),
        ),
        Checked(
            "ours",
            f"10,000 grids take at most {MOST:.0f} times what reading and coding Adult takes, on any engine.",
            Verdict(every[slowest] <= MOST, f"at most {every[slowest]:.1f} times ({slowest})"),
        ),
    ]


def kept() -> dict[str, Any] | None:
    """What was measured last, if anything."""
    if not KEPT.exists():
        return None
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true", help="run nothing")
    given = parser.parse_args()
    if not given.show:
        try:
            known = measured()
        except MissingDataError as missing:
            raise SystemExit(str(missing)) from None
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(json.dumps(known), encoding="utf-8")
    last = kept()
    if last is None:
        print("nothing was measured yet")
    else:
        print(table_of_seconds(last))
        print("\n".join(f"{where}: {ratio:.1f} times" for where, ratio in ratios(last).items()))


if __name__ == "__main__":
    main()
