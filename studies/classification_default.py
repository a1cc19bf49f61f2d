"""What a user should get who wants a classifier: PrivPfC, or a learner on synthetic rows of all columns.

    python studies/classification_default.py            # all tables, three runs of each
    python studies/classification_default.py --show

A column of each table is predicted from the others; four fifths are to learn from and one fifth to test.
Constants were chosen on the tables of CHOSEN_ON and then tried, unchanged, on those of CONFIRMED_ON; none of
the latter is from the papers of PrivPfC. `synthetic rows` is logistic regression trained on rows of the
default of tables, whose schema names the target (`penstock.learn.trained_on`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from classification import ROWS_PER_LEAF, Released, table_of
from frame.command import main
from frame.data import LOADERS, load
from frame.folds import Fold
from frame.results import Results, Summary
from frame.statements import Statement, Verdict, count_of
from frame.study import Method, Metric, Study
from penstock import catalogue
from penstock.contracts.plug import method_class
from penstock.kinds.table.synthetic import SyntheticClassifier, trained_on
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness

BUDGETS = ("0.1", "1")
CHOSEN_ON: Mapping[str, str] = {
    "bank": "y", "adult-race": "income>50K", "br2000": "a0", "nltcs": "managing money", "digits": "class",
    "mixture": "c1", "functional": "c6", "wide": "c0",
}  # fmt: skip
CONFIRMED_ON: Mapping[str, str] = {
    "acs": "a4", "mushroom": "class", "breast_cancer": "class", "classes": "c1", "functions": "c5",
    "tree": "c3", "ordinal": "c0", "wider": "c0",
}  # fmt: skip
"""The column that is predicted."""
TABLES = {**CHOSEN_ON, **CONFIRMED_ON}
HALVES = {"to choose by": CHOSEN_ON, "to confirm": CONFIRMED_ON}


def task(name: str) -> Fold:
    """A table in two parts, its schema naming the column that is to be predicted."""
    target = TABLES[name]
    whole = load(name)
    schema = whole.schema.model_copy(update={"target": target})
    train, test = type(whole)(name, schema, whole.codes, {}).split()
    return Fold(train, test, target)


NAMES = tuple(f"predict-{name}" for name in TABLES)
LOADERS.update({f"predict-{name}": partial(task, name) for name in TABLES})


@dataclass(frozen=True)
class OnSynthetic:
    """A learner trained on synthetic rows of the default for tables: logistic regression, or a tree."""

    tree: bool = False

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> SyntheticClassifier:
        made = method_class(catalogue.default_method("table"))()
        release: Any = made.fit(table_of(dataset), Budget(epsilon, randomness=Randomness.seeded(seed)))
        learner = DecisionTreeClassifier(min_samples_leaf=ROWS_PER_LEAF, random_state=0)
        return trained_on(release, learner if self.tree else None, seed=seed)


@dataclass(frozen=True)
class Wrong:
    """The share of the test part that is answered wrongly, by the release itself."""

    def __call__(self, dataset: Any, outcome: Any, seed: int) -> float:
        return float(dataset.error(outcome.predict(dataset.rows)[dataset.target].to_numpy()))


GRID, MAJORITY, SYNTHETIC, TREE = "privpfc", "majority label", "synthetic rows", "synthetic rows, tree"
METHODS: dict[str, Method] = {
    GRID: Released("privpfc"),
    MAJORITY: Released("majority-label"),
    SYNTHETIC: OnSynthetic(),
    TREE: OnSynthetic(tree=True),
}
METRICS: dict[str, Metric] = {"error": Wrong()}


def _both(
    results: Results, name: str, epsilon: str, one: str, two: str
) -> tuple[str, Summary | None, Summary | None]:
    first, second = (results.get(f"predict-{name}", method, epsilon, "error") for method in (one, two))
    return f"{name} ε {epsilon}, {two}", first, second


def beats_synthetic(results: Results) -> Verdict:
    pairs = [
        _both(results, name, each, GRID, other)
        for name in TABLES
        for each in BUDGETS
        for other in (SYNTHETIC, TREE)
    ]
    return count_of(pairs, needed=0.5)


STATEMENTS = (
    Statement("ours", "PrivPfC errs less than learning from synthetic rows, in most cases.", beats_synthetic),
)


def errors(results: Results, methods: Iterable[str]) -> str:
    """A row for each table and budget that anything was measured for, a column for each method."""
    names = list(methods)
    lines = [f"| error | ε | {' | '.join(names)} |", "|---|--:|" + "--:|" * len(names)]
    for name in TABLES:
        for each in BUDGETS:
            shown = [results.mean(f"predict-{name}", method, each, "error") for method in names]
            told = ["" if isnan(one) else f"{one:.4f}" for one in shown]
            if any(told):
                lines.append(f"| {name} | {each} | {' | '.join(told)} |")
    return "\n".join(lines)


def summary(results: Results) -> str:
    return errors(results, METHODS)


def study() -> Study:
    return Study(
        name="classification-default",
        title="Which classifier a user should get: tables to choose by, tables to confirm",
        datasets=NAMES,
        methods=METHODS,
        budgets=BUDGETS,
        metrics=METRICS,
        repetitions=3,
        full=20,
        statements=STATEMENTS,
        summary=summary,
    )


if __name__ == "__main__":
    main(study)
