"""Linear predictors: which method is the default for labels and which for numbers, chosen and confirmed.

python studies/linear.py                    # all that is missing, two runs of each
python studies/linear.py --half choosing    # only the tables to choose by
python studies/linear.py --show             # what is there already
python studies/linear.py --task numbers --runs 4 --only regression --only posterior-regression
python studies/linear.py --speed            # CPU seconds of a fit of a million rows and 50 columns

Tables and their public schemas are those of the suite (`frame.suite`) and made-up linear ones; nothing is
read off the records. A run splits a table by its seed, learns on four fifths (20,000 rows at most) and asks
about the rest. Labels are measured by accuracy, numbers by R squared: 1 less the mean squared error over that
of the mean of the rows asked about. The variant *without noise* reads the records.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean
from typing import Any

import numpy as np

from frame.data import Dataset
from frame.store import RESULTS
from frame.suite import SUITE
from frame.table import markdown
from penstock.contracts.method import Method
from penstock.kinds.table.data import Table
from penstock.learn.classification.majority import MajorityLabel
from penstock.learn.classification.privpfc import PrivPfC
from penstock.learn.gaussian.method import PosteriorRegression
from penstock.learn.linear.default import Regression
from penstock.learn.linear.features import STEPS, Problem
from penstock.learn.linear.functional import FunctionalMechanism
from penstock.learn.linear.output import OutputPerturbation
from penstock.learn.linear.private_erm import PrivateERM
from penstock.learn.search.privgene import PrivGene
from penstock.learn.search.privlocal import PrivLocal
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Relation, Schema

BUDGETS = ("0.1", "1")
RUNS = 2
MOST_ROWS = 20_000
STORE = RESULTS / "linear.jsonl"
LABELS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "choosing": (
        ("adult-16", "income"), ("bank", "y"), ("nltcs", "managing money"), ("survey", "commute"),
        ("digits", "class"), ("mixture", "c0"),
    ),
    "confirming": (
        ("acs", "a11"), ("br2000", "a0"), ("mushroom", "class"), ("breast_cancer", "class"),
        ("wine", "class"), ("iris", "class"), ("classes", "c0"),
    ),
}  # fmt: skip
NUMBERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "choosing": (
        ("adult-16", "hours-per-week"), ("survey", "age"), ("plane-8", "y"), ("taxi", "fare"),
        ("tracts", "Poverty"), ("plane-15", "y"),
    ),
    "confirming": (
        ("diabetes", "target"), ("bank", "duration"), ("plane-3", "y"), ("plane-30", "y"),
        ("breast_cancer", "mean concavity"), ("wine", "alcohol"),
    ),
}  # fmt: skip
PLANES = {3: 2_000, 8: 20_000, 15: 5_000, 30: 50_000}
"""Rows of the made-up planes, by their columns."""


def plane(columns: int, rows: int, seed: int) -> Dataset:
    """A linear function of evenly spread columns, and noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (rows, columns))
    y = x @ rng.normal(size=columns) / np.sqrt(columns) + rng.normal(scale=0.3, size=rows)
    names = [*(f"x{place}" for place in range(columns)), "y"]
    fields = [
        {
            "name": name,
            "type": "number",
            "constraints": {"minimum": -2 if name == "y" else -1, "maximum": 2 if name == "y" else 1},
            "bins": {"count": 100},
            "outside": "clamp",
        }
        for name in names
    ]
    schema = Schema.model_validate({"fields": fields})
    values = dict(zip(names, [*x.T, y], strict=True))
    codes = {name: schema.field(name).edges.codes(np.clip(values[name], -2, 2)) for name in names}
    return Dataset(f"plane-{columns}", schema, {n: np.clip(c, 0, 99) for n, c in codes.items()}, {})


def table_of(name: str) -> Dataset:
    if name.startswith("plane"):
        columns = int(name.partition("-")[2])
        return plane(columns, PLANES[columns], columns)
    return SUITE[name].load()


@dataclass(frozen=True)
class WithoutNoise:
    """scikit-learn's model of the same features, which reads the records."""

    def __call__(self, problem: Problem, train: Dataset, test: Dataset) -> Any:
        from sklearn.linear_model import LogisticRegression, Ridge

        x, ask = (features(problem, each) for each in (train, test))
        truth = train.codes[problem.target]
        if problem.task == "labels":
            return LogisticRegression(C=100.0, max_iter=2000).fit(x, truth).predict(ask)
        return Ridge(alpha=1e-3).fit(x, problem.values[truth] / STEPS).predict(ask)


def features(problem: Problem, data: Dataset) -> Any:
    columns = [data.codes[name] for name in problem.features.names]
    return problem.features.steps(columns, data.rows) / STEPS


def methods(task: str, target: str) -> dict[str, Method[Table] | None]:
    """The methods that are compared, by name; None stands for learning without noise."""
    if task == "labels":
        return {
            "without noise": None,
            "private-erm": PrivateERM(target=target),
            "private-erm, huber": PrivateERM(target=target, loss="huber"),
            "functional-mechanism": FunctionalMechanism(target=target),
            "output-perturbation": OutputPerturbation(target=target),
            "privpfc": PrivPfC(target=target),
            "majority-label": MajorityLabel(target=target),
        }
    return {
        "without noise": None,
        "regression": Regression(target=target),
        "posterior-regression": PosteriorRegression(target=target),
        "privlocal": PrivLocal(target=target),
        "privgene": PrivGene(target=target),
    }


def measured(task: str, problem: Problem, test: Dataset, said: Any) -> float:
    truth = test.codes[problem.target]
    if task == "labels":
        return float(np.mean(np.asarray(said) == truth))
    true = problem.values[truth] / STEPS
    return float(1 - ((np.clip(said, -1, 1) - true) ** 2).mean() / true.var())


def answers(task: str, release: Any, test: Dataset) -> Any:
    """The codes of the labels that a release answers, or the numbers between -1 and 1."""
    if hasattr(release, "scores"):
        scores = release.scores(test.codes, test.rows)
        return scores[:, 0] if task == "numbers" else release.chances(scores).argmax(axis=1)
    return release.chances.argmax(axis=1)[release.part_of(test.codes, test.rows)]


Cell = tuple[str, str, str, str, str, int]  # task, table, target, method, epsilon, run


def cells(
    halves: tuple[str, ...], tasks: tuple[str, ...] = ("labels", "numbers"), runs: int = RUNS
) -> Iterator[Cell]:
    for half in halves:
        for task, tables in (("labels", LABELS), ("numbers", NUMBERS)):
            if task not in tasks:
                continue
            for name, target in tables[half]:
                for run in range(runs):
                    for method, made in methods(task, target).items():
                        for epsilon in BUDGETS if made is not None else ("",):
                            yield task, name, target, method, epsilon, run


def ran(cell: Cell, held: dict[str, Any]) -> float:
    task, name, target, method, epsilon, run = cell
    if held.get("of") != (name, run):
        whole = held["whole"] if held.get("name") == name else table_of(name)
        train, test = whole.split(run)
        held.update(of=(name, run), name=name, whole=whole, train=train.cut(MOST_ROWS, run), test=test)
    train, test = held["train"], held["test"]
    problem = Problem.of(train.schema, target)
    made = methods(task, target)[method]
    if made is None:
        return measured(task, problem, test, WithoutNoise()(problem, train, test))
    seed = zlib.crc32(repr((task, name, target, epsilon, run)).encode())
    release: Any = made.fit(
        train.table(Relation.ADD_REMOVE), Budget(Fraction(epsilon), randomness=Randomness.seeded(seed))
    )
    return measured(task, problem, test, answers(task, release, test))


def stored() -> dict[Cell, float]:
    if not STORE.exists():
        return {}
    rows = [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()]
    return {tuple(row["cell"]): row["value"] for row in rows}


def shown(results: Mapping[Cell, float], half: str, task: str) -> str:
    """A table: a row for each table and epsilon, a column for each method."""
    tables = (LABELS if task == "labels" else NUMBERS)[half]
    known = {cell[3] for cell in results if cell[0] == task}
    names = [name for name in methods(task, "") if name in known]
    rows = []
    for name, target in tables:
        for epsilon in BUDGETS:
            row = [f"{name}: {target}", epsilon]
            for method in names:
                paid = "" if method == "without noise" else epsilon
                found = [
                    value for cell, value in results.items() if cell[:5] == (task, name, target, method, paid)
                ]
                row.append(f"{fmean(found):.3f}" if found else "")
            rows.append(row)
    return "\n".join(markdown(["table", "epsilon", *names], rows))


def speed() -> str:
    """CPU seconds of one fit each, scikit-learn's and ours, on a million made-up rows of 50 columns."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    from penstock.learn import PrivateLinearRegression, PrivateLinearSVM, PrivateLogisticRegression

    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1_000_000, 50))
    z = x @ rng.normal(size=50)
    y = (z + rng.logistic(size=len(x)) > 0).astype(np.int64)
    labels: dict[str, Any] = {"classes": (0, 1), "bounds": (-1, 1), "random_state": 1}
    numbers: dict[str, Any] = {"bounds": (-1, 1), "response_bounds": (-30, 30), "random_state": 1}
    PrivateLogisticRegression(**labels).fit(x[:100], y[:100])  # what is loaded once is not counted
    rows = []
    for name, model, response in (
        ("scikit-learn, LogisticRegression", LogisticRegression(), y),
        ("PrivateLogisticRegression", PrivateLogisticRegression(**labels), y),
        ("PrivateLinearSVM", PrivateLinearSVM(**labels), y),
        ("scikit-learn, LinearRegression", LinearRegression(), z),
        ("PrivateLinearRegression", PrivateLinearRegression(**numbers), z),
    ):
        began = time.process_time()
        model.fit(x, response)
        rows.append([name, f"{time.process_time() - began:.2f}"])
    return "\n".join(markdown(["a million rows, 50 columns", "CPU seconds"], rows))


def main(write: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("choosing", "confirming"))
    parser.add_argument("--task", choices=("labels", "numbers"), help="only these")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no fit after this time")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each cell")
    parser.add_argument("--only", action="append", metavar="METHOD", help="run no other methods")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--speed", action="store_true", help="only measure how long fits take")
    given = parser.parse_args()
    if given.speed:
        write(speed())
        return
    halves = ("choosing", "confirming") if given.half is None else (given.half,)
    tasks = ("labels", "numbers") if given.task is None else (given.task,)
    results, held, began = stored(), dict[str, Any](), time.monotonic()
    STORE.parent.mkdir(parents=True, exist_ok=True)
    for cell in () if given.show else cells(halves, tasks, given.runs):
        if given.only is not None and cell[3] not in given.only:
            continue
        if cell not in results and time.monotonic() - began < given.seconds:
            results[cell] = ran(cell, held)
            with STORE.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"cell": cell, "value": results[cell]}) + "\n")
    for half in halves:
        for task in tasks:
            write(f"\n{half}, {task}\n\n{shown(results, half, task)}")


if __name__ == "__main__":
    main()
