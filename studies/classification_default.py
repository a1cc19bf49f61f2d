"""What a user should get who wants a classifier: PrivPfC's list of grids varied, and synthetic rows.

    python studies/classification_default.py            # all tables, three runs of each
    python studies/classification_default.py --show

A column of each table is predicted from the others; four fifths are to learn from and one fifth to test. What
is varied was chosen on the tables of CHOSEN_ON and then tried, unchanged, on those of CONFIRMED_ON; none of
the latter is from the papers of PrivPfC. `synthetic rows` is logistic regression trained on rows of the
default of tables, whose schema names the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classification import Released, table_of
from frame.command import main
from frame.data import LOADERS, load
from frame.folds import Fold
from frame.results import Results
from frame.statements import Statement, Verdict
from frame.study import Method, Metric, Study
from penstock import catalogue
from penstock.contracts.plug import method_class
from penstock.learn.classification.classifier import ClassifierRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness

BUDGETS = ("0.1", "1")
CHOSEN_ON: Mapping[str, str] = {
    "bank": "y", "adult-race": "income>50K", "br2000": "a0", "nltcs": "managing money", "digits": "class",
    "mixture": "c1", "functional": "c6",
}  # fmt: skip
CONFIRMED_ON: Mapping[str, str] = {
    "acs": "a4", "mushroom": "class", "breast_cancer": "class", "classes": "c1", "functions": "c5",
    "tree": "c3", "ordinal": "c0",
}  # fmt: skip
"""The column that is predicted."""
TABLES = {**CHOSEN_ON, **CONFIRMED_ON}
HALVES = {"to choose by": CHOSEN_ON, "to confirm": CONFIRMED_ON}
ROWS = 20_000


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
    """Logistic regression trained on synthetic rows of the default for tables."""

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> NDArray[np.int64]:
        from sklearn.linear_model import LogisticRegression

        made = method_class(catalogue.default_method("table"))()
        release: Any = made.fit(table_of(dataset), Budget(epsilon, randomness=Randomness.seeded(seed)))
        codes = release.draw_codes(ROWS, np.random.default_rng(seed))
        labels = np.asarray(codes[dataset.target]).astype(np.int64)
        if len(np.unique(labels)) < 2:
            return np.full(dataset.test.rows, labels[0])
        learner = LogisticRegression(max_iter=200).fit(_ones(dataset, codes), labels)
        return np.asarray(learner.predict(_ones(dataset, dataset.test.codes))).astype(np.int64)


def _ones(dataset: Fold, codes: Mapping[str, Any]) -> NDArray[np.float32]:
    """A column of 0 and 1 for each category of each predictor."""
    sizes = dataset.train.sizes
    parts = [
        np.eye(size, dtype=np.float32)[np.asarray(codes[name]).astype(np.int64)]
        for name, size in sizes.items()
        if name != dataset.target
    ]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Wrong:
    """The share of the test part that is answered wrongly, by the release itself."""

    def __call__(self, dataset: Any, outcome: Any, seed: int) -> float:
        if isinstance(outcome, ClassifierRelease):
            return float(dataset.error(outcome.predict(dataset.rows)[dataset.target].to_numpy()))
        truth = np.asarray(dataset.test.codes[dataset.target]).astype(np.int64)
        return float(np.mean(outcome != truth))


PUBLISHED = "one choice, all levels"
METHODS: dict[str, Method] = {
    PUBLISHED: Released("privpfc", {"levels": "all", "passes": 1}),
    "one choice, finest levels": Released("privpfc", {"levels": "finest", "passes": 1}),
    "two choices, all levels": Released("privpfc", {"levels": "all", "passes": 2}),
    "two choices, finest levels": Released("privpfc", {"levels": "finest", "passes": 2}),
    "by the rule, all levels": Released("privpfc", {"levels": "all", "passes": None}),
    "by the rule, finest levels": Released("privpfc", {"levels": "finest", "passes": None}),
    "majority label": Released("majority-label"),
    "synthetic rows": OnSynthetic(),
}
METRICS: dict[str, Metric] = {"error": Wrong()}


def mean_error(results: Results, method: str, tables: Iterable[str], budgets: Iterable[str]) -> float:
    """The mean over tables and budgets; not a number where one was not measured."""
    every = [results.mean(f"predict-{name}", method, each, "error") for name in tables for each in budgets]
    return mean(every)


def best_of(results: Results, half: str) -> str:
    """The method with the smallest mean error on the tables of a half."""
    return min(METHODS, key=lambda method: mean_error(results, method, HALVES[half], BUDGETS))


def confirmed(results: Results) -> Verdict:
    """Whether what was best where it was chosen is no worse than the published list where it was not."""
    chosen = best_of(results, "to choose by")
    ours, published = (mean_error(results, method, CONFIRMED_ON, BUDGETS) for method in (chosen, PUBLISHED))
    if np.isnan(ours + published):
        return Verdict(None, "")
    return Verdict(ours <= published, f"{chosen}: {ours:.4f} against {published:.4f}")


def beats_synthetic(results: Results) -> Verdict:
    chosen = best_of(results, "to choose by")
    cases = [(name, each) for name in CONFIRMED_ON for each in BUDGETS]
    pairs = [
        tuple(results.mean(f"predict-{name}", method, each, "error") for method in (chosen, "synthetic rows"))
        for name, each in cases
    ]
    if np.isnan(np.array(pairs)).any():
        return Verdict(None, "")
    won = sum(one <= two for one, two in pairs)
    ours, theirs = (mean(pair[place] for pair in pairs) for place in (0, 1))
    return Verdict(2 * won > len(pairs), f"{won} of {len(pairs)} cases; mean {ours:.4f} against {theirs:.4f}")


STATEMENTS = (
    Statement(
        "ours", "The list of grids that was best where it was chosen is no worse where it was not.", confirmed
    ),
    Statement(
        "ours",
        "On tables that chose nothing it errs less than synthetic rows, in most cases.",
        beats_synthetic,
    ),
)


def summary(results: Results) -> str:
    """A row for each table and budget, a column for each method, and the means of both halves."""
    lines = [f"| error | ε | {' | '.join(METHODS)} |", "|---|--:|" + "--:|" * len(METHODS)]
    for half, tables in HALVES.items():
        for name in tables:
            for each in BUDGETS:
                shown = [results.mean(f"predict-{name}", method, each, "error") for method in METHODS]
                lines.append(f"| {name} | {each} | {' | '.join(_told(one) for one in shown)} |")
        for each in BUDGETS:
            shown = [mean_error(results, method, tables, [each]) for method in METHODS]
            lines.append(f"| **mean, {half}** | {each} | {' | '.join(_told(one) for one in shown)} |")
    return "\n".join(lines)


def _told(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4f}"


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
