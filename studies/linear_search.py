"""Linear classifiers by search, by noise in the objective and from noisy sums (Su's figures 3.5 to 3.7).

Two of the ten folds of tables with two labels by default, and one of those with three. Adult's income and
Bank's deposits have two labels; Adult's marital status and Bank's outcome have three, each told from the
others with a third of the budget. *no privacy* is scikit-learn's logistic regression on the records.

python studies/linear_search.py
python studies/linear_search.py --show --write
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import privbayes_svm
import privlocal_defaults
from classification import Released, table_of
from frame.command import all_of
from frame.folds import FOLDS, TABLES
from frame.page import Page, listed
from frame.results import Results, Summary
from frame.statements import Statement, Verdict, checked, count_of, refuted, statement_table, tally
from frame.store import Store
from frame.study import Method, Metric, Study
from frame.table import markdown, runs
from penstock.learn.linear.features import STEPS, Features
from privbayes_methods import BUDGETS as MANY_BUDGETS

BUDGETS = ("0.05", "0.2", "1")
TWO_LABELS = ("adult-income", "bank-deposit")
THREE_LABELS = ("adult-marital", "bank-outcome")
RUN = {"adult-income": 2, "bank-deposit": 2, "adult-marital": 1, "bank-outcome": 1}
"""So many folds of each table are run by default."""


@dataclass(frozen=True)
class NoPrivacy:
    """Logistic regression on the features that the private methods see."""

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        features = Features.of(table_of(dataset).schema, dataset.target)
        train, test = (_matrix(features, part) for part in (dataset.train, dataset.test))
        labels = np.asarray(dataset.train.codes[dataset.target]).astype(np.int64)
        model = LogisticRegression(C=100.0, max_iter=300).fit(train, labels)
        return model.predict(test)


def _matrix(features: Features, part: Any) -> Any:
    return features.steps([part.codes[name] for name in features.names], part.rows) / STEPS


@dataclass(frozen=True)
class Wrong:
    """The share of the test part that is answered wrongly."""

    def __call__(self, dataset: Any, outcome: Any, seed: int) -> float:
        if isinstance(outcome, np.ndarray):
            return float(np.mean(outcome != np.asarray(dataset.test.codes[dataset.target])))
        return float(dataset.error(outcome.predict(dataset.rows)[dataset.target].to_numpy()))


METHODS: dict[str, Method] = {
    "privlocal": Released("privlocal"),
    "privlocal, huber": Released("privlocal", {"loss": "huber"}),
    "privgene": Released("privgene"),
    "privgene, huber": Released("privgene", {"loss": "huber"}),
    "private-erm": Released("private-erm"),
    "private-erm, huber": Released("private-erm", {"loss": "huber"}),
    "functional-mechanism": Released("functional-mechanism"),
    "privpfc": Released("privpfc"),
    "majority-label": Released("majority-label"),
    "no privacy": NoPrivacy(),
}


def over_folds(results: Results, table: str, method: str, epsilon: str) -> Summary | None:
    """The mean error over the folds that were run; its deviation is that over folds."""
    known = [results.get(f"{table}-{number}", method, epsilon, "error") for number in range(FOLDS)]
    values = [one.mean for one in known if one is not None]
    return Summary.of(values) if values else None


def cases(
    results: Results, better: str, worse: str, tables: Iterable[str] = TABLES
) -> Iterable[tuple[str, Any, Any]]:
    for table in tables:
        for epsilon in BUDGETS:
            one, two = (over_folds(results, table, method, epsilon) for method in (better, worse))
            yield f"{table} ε {epsilon}, {better} and {worse}", one, two


def first_of(better: str, others: Iterable[str], tables: Iterable[str], needed: float = 1.0) -> Any:
    """The error of one method is not above those of others."""

    def check(results: Results) -> Verdict:
        return count_of((case for other in others for case in cases(results, better, other, tables)), needed)

    return check


def last_of(worse: str, others: Iterable[str], tables: Iterable[str], needed: float = 1.0) -> Any:
    def check(results: Results) -> Verdict:
        return count_of((case for other in others for case in cases(results, other, worse, tables)), needed)

    return check


STATEMENTS = (
    Statement(
        "3.5",
        "Support vector machines: PrivPfC is best (nine cases in ten).",
        first_of("privpfc", ("privlocal, huber", "private-erm, huber", "privgene, huber"), TWO_LABELS, 0.9),
    ),
    Statement(
        "3.5",
        "Support vector machines: PrivLocal is ahead of PrivateERM.",
        first_of("privlocal, huber", ("private-erm, huber",), TWO_LABELS),
    ),
    Statement(
        "3.5",
        "Support vector machines: PrivGene is worst.",
        last_of("privgene, huber", ("privlocal, huber", "private-erm, huber"), TWO_LABELS),
    ),
    Statement(
        "3.6",
        "Logistic regression: PrivPfC is best (nine cases in ten).",
        first_of("privpfc", ("privlocal", "functional-mechanism", "privgene"), TWO_LABELS, 0.9),
    ),
    Statement(
        "3.6",
        "Logistic regression: PrivLocal is ahead of the functional mechanism.",
        first_of("privlocal", ("functional-mechanism",), TWO_LABELS),
    ),
    Statement(
        "3.6",
        "Logistic regression: PrivGene is worst.",
        last_of("privgene", ("privlocal", "functional-mechanism"), TWO_LABELS),
    ),
    Statement(
        "3.7",
        "Three labels: PrivPfC wins in most cases.",
        first_of("privpfc", ("privlocal", "privgene"), THREE_LABELS, 0.5),
    ),
    Statement(
        "2.6",
        "The functional mechanism is worse than noise in the objective.",
        first_of("private-erm", ("functional-mechanism",), TABLES),
    ),
    Statement(
        "2.6",
        "Steps along coordinates are better than breeding.",
        first_of("privlocal", ("privgene",), TABLES),
    ),
    Statement(
        "ours",
        "PrivLocal has learned something: it is not worse than the most frequent label.",
        first_of("privlocal", ("majority-label",), TABLES),
    ),
)


def overview(results: Results, table: str) -> str:
    """Methods down, budgets across: means over folds."""
    rows = []
    for method in METHODS:
        found = [over_folds(results, table, method, epsilon) for epsilon in BUDGETS]
        rows.append(
            [method, *("" if one is None else f"{one.mean:.4f} ± {one.deviation:.4f}" for one in found)]
        )
    return "\n".join(markdown([table, *(f"ε {epsilon}" for epsilon in BUDGETS)], rows))


def summary(results: Results) -> str:
    return "\n\n".join(overview(results, table) for table in TABLES)


SHOWN = ("PrivLocal", "PrivateERM", "PrivateERM (single)", "PrivGene", "Majority", "NoPrivacy")


def four_tasks() -> str:
    """Mean errors of support vector machines over the tasks of NLTCS, as far as `privbayes_svm` was run."""
    made = privbayes_svm.study()
    results = Results.read(made, Store(made))
    rows = []
    for method in SHOWN:
        found = [
            privbayes_svm.mean_error(results, "nltcs train", method, epsilon) for epsilon in MANY_BUDGETS
        ]
        rows.append([method, *("" if one is None else f"{one.mean:.3f}" for one in found)])
    prototype = np.mean([*privbayes_svm.NLTCS.values()], axis=0)
    rows.append(["PrivBayes, of the prototype", *(f"{error:.3f}" for error in prototype)])
    return "\n".join(markdown(["NLTCS", *(f"ε {epsilon}" for epsilon in MANY_BUDGETS)], rows))


METRICS: Mapping[str, Metric] = {"error": Wrong()}


def study() -> Study:
    return Study(
        name="linear_search",
        title="Linear classifiers by search",
        datasets=[f"{table}-{number}" for table in TABLES for number in range(RUN[table])],
        methods=METHODS,
        budgets=BUDGETS,
        metrics=METRICS,
        repetitions=1,
        full=5,
        fixed=frozenset({"no privacy"}),
        statements=STATEMENTS,
        summary=summary,
    )


def page() -> Page:
    made = study()
    results = Results.read(made, Store(made))
    found = checked(results)
    against = refuted(found)
    return Page(
        name="linear-search",
        title="Study: linear classifiers by search",
        asked="""How good are linear classifiers that are found by private search, beside noise in the
            objective, noisy sums and a private histogram? Do the orders of Su's figures 3.5 to 3.7 come out
            again?""",
        found=[
            f"{tally(found, 'statements')}. Mean errors over two folds, with their deviation:",
            overview(results, TABLES[0]),
            *(["What does not hold here:", listed(against)] if against else []),
        ],
        again="`python studies/linear_search.py --write`; `--full` makes five runs of each cell.",
        rests_on=f"""{runs(results)} on two folds of tables with two labels and on one of those with three,
            seeded, the same on every machine. The source shows curves without numbers, so that orders are
            compared and no figures; two of its four datasets are not at hand.""",
        details=[
            "## Every statement",
            statement_table(found),
            "## Four classifiers of one table",
            "Mean errors of support vector machines over the tasks of NLTCS, one run. One budget is for all "
            "tasks, and each has a quarter of it; PrivateERM (single) has all of it for each. PrivBayes, "
            "with which one table serves all tasks, is in [its own study](privbayes-svm.md).",
            four_tasks(),
            *privlocal_defaults.section(),
        ],
        tables=["## Errors", summary(results)],
    )


if __name__ == "__main__":
    all_of(["linear_search"], page, sys.argv[1:])
