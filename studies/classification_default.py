"""What a user should get who wants a classifier: PrivPfC's list of grids varied, and synthetic rows.

    python studies/classification_default.py            # all tables, three runs of each
    python studies/classification_default.py --show

A column of each table is predicted from the others; four fifths are to learn from and one fifth to test. The
variations and their constants were chosen on the tables of CHOSEN_ON and then tried, unchanged, on those of
CONFIRMED_ON; none of the latter is from the papers of PrivPfC. `synthetic rows` is logistic regression
trained on rows of the default of tables, whose schema names the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classification import Released, table_of
from frame.command import main
from frame.data import LOADERS, load
from frame.folds import Fold
from frame.results import Results, Summary
from frame.statements import Statement, Verdict, count_of
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
LEFT_OVER = {"passes": 2, "paid_by": "left-over"}
METHODS: dict[str, Method] = {
    PUBLISHED: Released("privpfc"),
    "finest levels": Released("privpfc", {"levels": "finest"}),
    "even levels": Released("privpfc", {"levels": "even"}),
    "a beam": Released("privpfc", {"search": "beam"}),
    "a beam, even levels": Released("privpfc", {"search": "beam", "levels": "even"}),
    "two choices": Released("privpfc", {"passes": 2}),
    "two choices by the rule": Released("privpfc", {"passes": None}),
    "a second by left-over": Released("privpfc", LEFT_OVER),
    "even levels, left-over": Released("privpfc", {"levels": "even", **LEFT_OVER}),
    "a beam, even levels, left-over": Released("privpfc", {"search": "beam", "levels": "even", **LEFT_OVER}),
    "majority label": Released("majority-label"),
    "synthetic rows": OnSynthetic(),
}
METRICS: dict[str, Metric] = {"error": Wrong()}


VARIED = tuple(METHODS)[1:-2]
MAJORITY, SYNTHETIC = "majority label", "synthetic rows"


def relative(results: Results, method: str, half: str, budgets: Sequence[str] = BUDGETS) -> list[float]:
    """The error beside that of the most frequent label, for every table and budget of a half."""
    return [
        results.mean(f"predict-{name}", method, each, "error")
        / results.mean(f"predict-{name}", MAJORITY, each, "error")
        for name in HALVES[half]
        for each in budgets
    ]


def gained(results: Results, method: str, half: str, budgets: Sequence[str] = BUDGETS) -> Summary | None:
    """How much less a variation errs than the published list, over the tables where both were measured."""
    pairs = zip(
        relative(results, PUBLISHED, half, budgets), relative(results, method, half, budgets), strict=True
    )
    known = [one - two for one, two in pairs if not isnan(one + two)]
    return Summary.of(known) if known else None


def none_is_better(half: str) -> Callable[[Results], Verdict]:
    """Whether no variation errs less than the published list by more than two standard errors."""

    def check(results: Results) -> Verdict:
        found = {method: gained(results, method, half) for method in VARIED}
        known = {method: one for method, one in found.items() if one is not None}
        if not known:
            return Verdict(None, "")
        best = max(known, key=lambda method: known[method].mean)
        told = f"largest gain {100 * known[best].mean:.1f} ± {100 * known[best].error:.1f} points ({best})"
        return Verdict(all(one.mean <= 2 * one.error for one in known.values()), told)

    return check


def _both(
    results: Results, name: str, epsilon: str, one: str, two: str
) -> tuple[str, Summary | None, Summary | None]:
    first, second = (results.get(f"predict-{name}", method, epsilon, "error") for method in (one, two))
    return f"{name} ε {epsilon}", first, second


def second_pass_pays(results: Results) -> Verdict:
    """On tables of dozens of columns, at the larger budget."""
    wide = ("digits",)
    pairs = [_both(results, name, "1", "two choices", PUBLISHED) for name in wide]
    return count_of(pairs)


def beats_synthetic(results: Results) -> Verdict:
    pairs = [_both(results, name, each, PUBLISHED, SYNTHETIC) for name in TABLES for each in BUDGETS]
    return count_of(pairs, needed=0.5)


STATEMENTS = (
    Statement(
        "ours",
        "On the tables to choose by: no other list of grids errs less than the published one, beyond noise.",
        none_is_better("to choose by"),
    ),
    Statement(
        "ours",
        "On the tables to confirm: no other list of grids errs less than the published one, beyond noise.",
        none_is_better("to confirm"),
    ),
    Statement("ours", "With 64 columns and ε = 1 a second pass pays off.", second_pass_pays),
    Statement("ours", "PrivPfC errs less than learning from synthetic rows, in most cases.", beats_synthetic),
)


def summary(results: Results) -> str:
    """A row for each table and budget, a column for each method; then gains over the published list."""
    lines = [f"| error | ε | {' | '.join(METHODS)} |", "|---|--:|" + "--:|" * len(METHODS)]
    for tables in HALVES.values():
        for name in tables:
            for each in BUDGETS:
                shown = [results.mean(f"predict-{name}", method, each, "error") for method in METHODS]
                lines.append(f"| {name} | {each} | {' | '.join(_told(one) for one in shown)} |")
    return "\n".join(lines)


def gains(results: Results) -> str:
    """How much less each variation errs than the published list, in hundredths of the majority's error."""
    heads = [f"{half}, ε = {each}" for half in HALVES for each in BUDGETS]
    lines = [f"| less error than the published list | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    for method in (*VARIED, SYNTHETIC):
        found = [gained(results, method, half, [each]) for half in HALVES for each in BUDGETS]
        shown = ["" if one is None else f"{100 * one.mean:+.1f} ± {100 * one.error:.1f}" for one in found]
        lines.append(f"| {method} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _told(value: float) -> str:
    return "" if isnan(value) else f"{value:.4f}"


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
