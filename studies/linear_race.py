"""Our linear models beside diffprivlib's, in one run: the same rows, bounds and epsilon.

python studies/linear_race.py               # three splits of each table

diffprivlib runs in an environment of its own, which is made once (studies/results/venvs). It gets the same
numbers as our methods see: ranges scaled by their declared bounds, a column of 0 and 1 for each category. Its
logistic regression is given them twice, as they are with the largest norm that they can have, and divided by
that norm; the better of the two is shown.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from frame.data import Dataset
from frame.table import markdown
from linear import MOST_ROWS, answers, features, measured, table_of
from penstock.contracts.method import Method
from penstock.kinds.table.data import Table
from penstock.learn.linear.default import Regression
from penstock.learn.linear.features import STEPS, Problem
from penstock.learn.linear.private_erm import PrivateERM
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Relation
from race.environments import python_of
from race.peers import Environment

PEER = Environment("diffprivlib", ("diffprivlib==0.6.6", "scikit-learn<1.7"))
DRIVER = Path(__file__).parent / "race" / "drivers" / "diffprivlib_driver.py"
BUDGETS = ("0.1", "1")
SPLITS = 3
TABLES = (("adult-16", "income"), ("diabetes", "target"), ("plane-8", "y"), ("plane-30", "y"))


def peers(arrays: Mapping[str, Any]) -> dict[str, float | None]:
    """What diffprivlib gets right at each epsilon; None where its fit failed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "arrays.npz"
        np.savez(place, **arrays)
        command = [str(python_of(PEER)), str(DRIVER), str(place)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = json.loads(told.splitlines()[-1])
    return {budget: row.get("value") for budget, row in zip(BUDGETS, rows, strict=True)}


def best(one: float | None, two: float | None) -> float | None:
    known = [value for value in (one, two) if value is not None]
    return max(known) if known else None


def theirs(problem: Problem, train: Dataset, test: Dataset, seed: int) -> dict[str, float | None]:
    x, ask = features(problem, train)[:, 1:], features(problem, test)[:, 1:]
    y, truth = train.codes[problem.target], test.codes[problem.target]
    common = {"task": problem.task, "epsilons": [float(budget) for budget in BUDGETS], "seed": seed}
    full = problem.features.constant / STEPS  # by which everything was multiplied
    if problem.task == "labels":
        norm = float(problem.features.longest) ** 0.5
        plain = peers(
            {**common, "x": x / full, "ask": ask / full, "y": y, "truth": truth, "norm": norm / full}
        )
        unit = peers({**common, "x": x, "ask": ask, "y": y, "truth": truth, "norm": norm})
        return {budget: best(plain[budget], unit[budget]) for budget in BUDGETS}
    values = problem.values / STEPS
    low, high = np.full(x.shape[1], -1.0), np.full(x.shape[1], 1.0)
    return peers(
        {
            **common, "x": x / full, "ask": ask / full, "y": values[y], "truth": values[truth],
            "low": low, "high": high, "y_low": -1.0, "y_high": 1.0,
        }
    )  # fmt: skip


def ours(problem: Problem, train: Dataset, test: Dataset, seed: int) -> dict[str, float]:
    method: Method[Table] = (
        PrivateERM(target=problem.target) if problem.task == "labels" else Regression(target=problem.target)
    )
    found = {}
    for budget in BUDGETS:
        paid = Budget(Fraction(budget), randomness=Randomness.seeded(seed))
        release: Any = method.fit(train.table(Relation.ADD_REMOVE), paid)
        found[budget] = measured(problem.task, problem, test, answers(problem.task, release, test))
    return found


def main() -> None:
    rows = []
    for name, target in TABLES:
        whole = table_of(name)
        problem = Problem.of(whole.schema, target)
        us: dict[str, list[float]] = {budget: [] for budget in BUDGETS}
        them: dict[str, list[float | None]] = {budget: [] for budget in BUDGETS}
        for split in range(SPLITS):
            train, test = whole.split(split)
            train = train if problem.task == "labels" else train.cut(MOST_ROWS, split)
            for budget, value in ours(problem, train, test, split).items():
                us[budget].append(value)
            for budget, told in theirs(problem, train, test, split).items():
                them[budget].append(told)
        for budget in BUDGETS:
            known = [value for value in them[budget] if value is not None]
            failed = len(them[budget]) - len(known)
            mean = f"{fmean(known):.3f}" if known else ""
            rows.append([f"{name}: {target}", budget, f"{fmean(us[budget]):.3f}", mean, str(failed)])
    heads = ["table", "epsilon", "Penstock", "diffprivlib", "its fits that failed"]
    print("\n".join(markdown(heads, rows)))


if __name__ == "__main__":
    main()
