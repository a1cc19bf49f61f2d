"""PrivPfC and its competitors: errors of classifiers on held-out folds (chapter 3 of Su's dissertation).

Ten folds of each table and one run of every method on each by default; ``--full`` makes ten runs of each, as
the dissertation does. The variants *without noise in the choice* and *no privacy* read the records: they say
what is lost where, and refuse to be called private. `classification_all.py` makes the page of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from frame.command import main
from frame.folds import FOLDS, NAMES, TABLES, Fold
from frame.results import Results, Summary
from frame.statements import Statement, Verdict, count_of
from frame.study import Method, Metric, Study
from penstock import catalogue
from penstock.contracts.plug import method_class
from penstock.kinds.table.data import Table
from penstock.learn.classification.cells import CellsRelease, counted
from penstock.learn.classification.classifier import ClassifierRelease
from penstock.learn.classification.diffgen import DiffGen
from penstock.learn.classification.grids import grids, partition
from penstock.learn.classification.partition import hierarchies
from penstock.learn.classification.privpfc import each
from penstock.learn.classification.quality import Quality
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Relation

BUDGETS = ("0.05", "0.1", "0.2", "0.5", "1")
ROWS_PER_LEAF = 7
TOGETHER = 1000
"""So many grids are counted at a time."""
MOST_CELLS = 20_000
"""Logistic regression is trained on no more cells than this; DiffGen may make a million of them."""
MOST_VECTORS = 3000
"""A support vector machine is trained on no more cells and labels than this."""
SHOWN = ("tree", "histogram", "logistic", "svm")


def table_of(fold: Fold) -> Table:
    return fold.train.table(Relation.ADD_REMOVE)


@dataclass(frozen=True)
class Released:
    """A method of the catalogue."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        made = method_class(catalogue.method(self.method))(**self.parameters)
        return made.fit(table_of(dataset), Budget(epsilon, randomness=Randomness.seeded(seed)))


@dataclass(frozen=True)
class ChosenWithoutNoise:
    """PrivPfC whose grid is the best one (PrivPfC-SelNF): only the counts are noisy. Not private."""

    private: bool = False

    def __post_init__(self) -> None:
        if self.private:
            raise ValueError("the best grid is chosen by looking at the records: this is not private")

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> CellsRelease:
        table, labels = table_of(dataset), dataset.train.sizes[dataset.target]
        whole = Budget(epsilon, randomness=Randomness.seeded(seed))
        spent = whole.part("size and choice, which are looked up here", "2/5")
        quality = Quality(whole.epsilon * Fraction(3, 5))
        columns = hierarchies(table.attributes, dataset.target)
        most = floor(dataset.train.rows * quality.epsilon / 5)
        pool = grids([column.sizes for column in columns], most, 10_000)
        marginals = [partition(grid, columns).marginal(dataset.target) for grid in pool]
        scores = np.concatenate(
            [
                each(dataset.train.engine.counts(marginals[first : first + TOGETHER]), quality, labels)
                for first in range(0, len(marginals), TOGETHER)
            ]
        )
        spent.spend("nothing", relation=Relation.ADD_REMOVE, amount=spent.epsilon, detail="not private")
        cells = partition(pool[int(scores.argmax())], columns)
        return counted("privpfc", table, dataset.target, cells, whole, parameters={"private": False})


@dataclass(frozen=True)
class GrownWithoutNoise:
    """DiffGen whose every specialisation is the best one (DiffGen-Struct-NF): only the counts are noisy."""

    private: bool = False

    def __post_init__(self) -> None:
        if self.private:
            raise ValueError("the best specialisations are looked up in the records: this is not private")

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> CellsRelease:
        with patch.object(choice, "best", lambda scores, pay, **how: int(open_seal(scores).argmax())):
            return DiffGen().fit(table_of(dataset), Budget(epsilon, randomness=Randomness.seeded(seed)))


@dataclass(frozen=True)
class Synthetic:
    """A decision tree trained on synthetic rows of the default for tables."""

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        made = Released(catalogue.default_method("table").name)(dataset, epsilon, seed)
        rows = dataset.train.schema.encode(made.sample(dataset.train.rows, seed=seed))
        return _tree(dataset, rows)


@dataclass(frozen=True)
class NoPrivacy:
    """A decision tree trained on the records themselves."""

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        return _tree(dataset, dataset.train.codes)


def _matrix(dataset: Any, codes: Mapping[str, Any]) -> Any:
    names = [name for name in dataset.train.names if name != dataset.target]
    return np.column_stack([codes[name] for name in names])


def _tree(dataset: Any, codes: Mapping[str, Any]) -> Any:
    """Answers of a tree for the test part."""
    labels = np.asarray(codes[dataset.target]).astype(np.int64)
    if len(np.unique(labels)) < 2:
        return np.full(dataset.test.rows, labels[0])
    grown = DecisionTreeClassifier(min_samples_leaf=ROWS_PER_LEAF, random_state=0)
    return grown.fit(_matrix(dataset, codes), labels).predict(_matrix(dataset, dataset.test.codes))


@dataclass(frozen=True)
class Errors:
    """The share of the test part that is answered wrongly, for each learner that can be trained."""

    def __call__(self, dataset: Any, outcome: Any, seed: int) -> dict[str, float]:
        if not isinstance(outcome, ClassifierRelease):
            truth = np.asarray(dataset.test.codes[dataset.target]).astype(np.int64)
            return {"tree": float(np.mean(outcome != truth))}
        found = {"histogram": dataset.error(outcome.predict(dataset.rows)[dataset.target].to_numpy())}
        if not isinstance(outcome, CellsRelease):
            return {"tree": found["histogram"]}
        weight = max(1, int(outcome.believed.sum()))
        learners: dict[str, Any] = {
            "tree": DecisionTreeClassifier(
                min_weight_fraction_leaf=min(0.5, ROWS_PER_LEAF / weight), random_state=0
            )
        }
        if outcome.partition.cells <= MOST_CELLS:
            learners["logistic"] = LogisticRegression(max_iter=500)
        if np.count_nonzero(outcome.believed) <= MOST_VECTORS:
            learners["svm"] = SVC()
        for name, learner in learners.items():
            found[name] = dataset.error(
                outcome.trained(learner).predict(dataset.rows)[dataset.target].to_numpy()
            )
        return found


METHODS: dict[str, Method] = {
    "privpfc": Released("privpfc"),
    "privpfc as published": Released("privpfc", {"calibration": "fixed", "chosen_by": "exponential"}),
    "privpfc, 100 grids": Released("privpfc", {"most_grids": 100, "search": "first"}),
    "privpfc, 200,000 grids": Released("privpfc", {"most_grids": 200_000}),
    "privpfc, 3-10-87": Released("privpfc", {"choice_share": "1/10"}),
    "privpfc, 3-67-30": Released("privpfc", {"choice_share": "67/100"}),
    "privpfc, 8 columns first": Released("privpfc", {"features": 8}),
    "privpfc without noise in the choice": ChosenWithoutNoise(),
    "diffgen": Released("diffgen"),
    "diffgen without noise in the choice": GrownWithoutNoise(),
    "pph": Released("pph"),
    "diffpid3": Released("diffpid3"),
    "diffpc45": Released("diffpc45"),
    "majority-label": Released("majority-label"),
    "synthetic rows": Synthetic(),
    "no privacy": NoPrivacy(),
}


def over_folds(results: Results, table: str, method: str, epsilon: str, learner: str) -> Summary | None:
    """The mean error over the folds that were run; its deviation is that over folds."""
    known = [results.get(f"{table}-{number}", method, epsilon, f"error {learner}") for number in range(FOLDS)]
    values = [one.mean for one in known if one is not None]
    return Summary.of(values) if values else None


def on_the_same_folds(
    results: Results, table: str, methods: Sequence[str], epsilon: str, learner: str = "tree"
) -> list[Summary] | None:
    """The mean errors of several methods, over the folds on which all of them were run; None without any."""
    every = [
        [results.get(f"{table}-{number}", method, epsilon, f"error {learner}") for method in methods]
        for number in range(FOLDS)
    ]
    known = [[one.mean for one in fold if one is not None] for fold in every]
    whole = [fold for fold in known if len(fold) == len(methods)]
    return [Summary.of([fold[place] for fold in whole]) for place in range(len(methods))] if whole else None


def cases(
    results: Results, better: str, worse: str, learner: str = "tree", tables: Sequence[str] = TABLES
) -> Iterator[tuple[str, Summary, Summary]]:
    """Every table and budget at which two methods can be compared."""
    for table in tables:
        for epsilon in BUDGETS:
            found = on_the_same_folds(results, table, (better, worse), epsilon, learner)
            if found is not None:
                yield f"{table} ε {epsilon}, {worse}", found[0], found[1]


OTHERS = ("diffgen", "pph", "diffpid3", "diffpc45")
TWO_LABELS, MORE_LABELS = ("adult-income", "bank-deposit"), ("adult-marital", "bank-outcome")
SLIGHT = 0.005
"""Errors that differ by less are called alike."""


def against(results: Results, others: Iterable[str], tables: Sequence[str], learner: str) -> Verdict:
    """Whether PrivPfC errs less than others, in nine of ten cases."""
    return count_of(
        (case for other in others for case in cases(results, "privpfc", other, learner, tables)), needed=0.9
    )


def best_of_trees(results: Results) -> Verdict:
    return against(results, OTHERS, TWO_LABELS, "tree")


def better_than_synthetic(results: Results) -> Verdict:
    return against(results, ("synthetic rows",), TWO_LABELS, "tree")


def best_of_svms(results: Results) -> Verdict:
    return against(results, ("diffgen", "pph"), TWO_LABELS, "svm")


def best_of_logistic(results: Results) -> Verdict:
    return against(results, ("diffgen", "pph"), TWO_LABELS, "logistic")


def best_of_multiclass(results: Results) -> Verdict:
    return against(results, ("diffgen", "pph"), MORE_LABELS, "tree")


def more_grids_help(results: Results) -> Verdict:
    return count_of(cases(results, "privpfc", "privpfc, 100 grids"))


def even_more_help_little(results: Results) -> Verdict:
    """The gain of 200,000 grids is no more than that of 10,000 over 100."""
    found = []
    for table, epsilon in product(TABLES, BUDGETS):
        means = on_the_same_folds(
            results, table, ("privpfc, 100 grids", "privpfc", "privpfc, 200,000 grids"), epsilon
        )
        if means is not None:
            hundred, usual, all_of_them = (one.mean for one in means)
            found.append((f"{table} ε {epsilon}", usual - all_of_them, hundred - usual))
    return count_of(found)


def splits_matter_little(results: Results) -> Verdict:
    """Errors of the three splits differ by a hundredth at most."""
    found = []
    for table, epsilon in product(TABLES, BUDGETS):
        means = on_the_same_folds(
            results, table, ("privpfc", "privpfc, 3-10-87", "privpfc, 3-67-30"), epsilon
        )
        if means is not None:
            every = [one.mean for one in means]
            found.append((f"{table} ε {epsilon}", max(every) - min(every), 2 * SLIGHT))
    return count_of(found)


def more_for_counts_is_slightly_better(results: Results) -> Verdict:
    found = cases(results, "privpfc, 3-10-87", "privpfc", tables=("adult-income",))
    small = ("adult-income ε 0.05", "adult-income ε 0.1")
    return count_of(case for case in found if not case[0].startswith(small))


def no_choice_noise_is_better(results: Results) -> Verdict:
    return count_of(cases(results, "privpfc without noise in the choice", "privpfc"))


def still_worse_without_noise(results: Results) -> Verdict:
    return count_of(cases(results, "privpfc", "diffgen without noise in the choice"), needed=0.9)


def smallest_deviation(results: Results) -> Verdict:
    return count_of(
        (where, one.deviation, two.deviation)
        for other in ("diffgen", "pph")
        for where, one, two in cases(results, "privpfc", other)
        if one.runs > 2
    )


LIMITS = {
    "adult-income": {"0.05": 0.185, "0.2": 0.170, "1": 0.168},
    "adult-marital": {"0.05": 0.125, "0.2": 0.117, "1": 0.116},
}
"""Mean errors of a tree that are not to be exceeded."""


def within_limits(results: Results) -> Verdict:
    return count_of(
        (f"{table} ε {epsilon}", over_folds(results, table, "privpfc", epsilon, "tree"), limit)
        for table, limits in LIMITS.items()
        for epsilon, limit in limits.items()
    )


STATEMENTS = (
    Statement(
        "1",
        "Trees: PrivPfC errs less than DiffGen, PPH, DiffPID3 and DiffPC-4.5, in nine of ten cases.",
        best_of_trees,
    ),
    Statement(
        "1",
        "Trees: it errs less than trees on synthetic rows (our default of tables), in nine of ten cases.",
        better_than_synthetic,
    ),
    Statement(
        "1",
        "PrivPfC has the smallest standard deviation over folds (on Adult of its mean of five runs).",
        smallest_deviation,
    ),
    Statement(
        "2",
        "Support vector machines: PrivPfC errs less than DiffGen and PPH, in nine of ten cases.",
        best_of_svms,
    ),
    Statement(
        "3",
        "Logistic regression: PrivPfC errs less than DiffGen and PPH, in nine of ten cases.",
        best_of_logistic,
    ),
    Statement(
        "4",
        "More than two labels: PrivPfC errs less than DiffGen and PPH, in nine of ten cases.",
        best_of_multiclass,
    ),
    Statement("5", "10,000 grids are better than 100.", more_grids_help),
    Statement("5", "200,000 grids gain less over 10,000 than those over 100.", even_more_help_little),
    Statement(
        "6", "Splits of the budget differ little (0.01), if 30 % are for counts.", splits_matter_little
    ),
    Statement(
        "6", "3-10-87 is slightly better on Adult from ε = 0.2 on.", more_for_counts_is_slightly_better
    ),
    Statement("7", "Without noise in the choice PrivPfC is better still.", no_choice_noise_is_better),
    Statement(
        "7",
        "DiffGen without noise in the choice errs more than PrivPfC, in nine of ten cases.",
        still_worse_without_noise,
    ),
    Statement(
        "ours", "Errors of trees on Adult stay below the limits (ten folds, five runs).", within_limits
    ),
)


def summary(results: Results) -> str:
    """A table for each dataset: methods and learners down, budgets across, means over folds."""
    lines: list[str] = []
    for table in TABLES:
        lines += [
            "",
            f"### {table}",
            "",
            f"| error | {' | '.join(BUDGETS)} |",
            "|---|" + "--:|" * len(BUDGETS),
        ]
        for method in METHODS:
            for learner in SHOWN:
                found = [over_folds(results, table, method, epsilon, learner) for epsilon in BUDGETS]
                if any(one is not None for one in found):
                    shown = ["" if one is None else f"{one.mean:.4f} ± {one.deviation:.4f}" for one in found]
                    lines.append(f"| {method}, {learner} | {' | '.join(shown)} |")
    return "\n".join(lines)


METRICS: dict[str, Metric] = {"error": Errors()}


def study() -> Study:
    return Study(
        name="classification",
        title="Classifiers from private releases, ten folds",
        datasets=NAMES,
        methods=METHODS,
        budgets=BUDGETS,
        metrics=METRICS,
        repetitions=1,
        full=10,
        fixed=frozenset({"no privacy"}),
        statements=STATEMENTS,
        summary=summary,
    )


if __name__ == "__main__":
    main(study)
