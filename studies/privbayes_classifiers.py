"""The private classifiers that PrivBayes is compared with: Majority, PrivateERM, PrivGene and PrivLocal.

Nothing here runs by itself. One classifier is trained for each task of a dataset, and each gets a quarter of
the budget: the paper has four tasks for every table (on NLTCS we try two readings of the third). They are
methods of the catalogue, on the table in which the column of the task says yes or no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame.data import Dataset
from frame.study import Method
from frame.tabular import Rows
from penstock import catalogue
from penstock.contracts.plug import method_class
from penstock.kinds.table.data import Table
from penstock.learn.linear.release import LinearRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema


@dataclass(frozen=True)
class Tuned:
    """Synthetic rows whose classifiers find their own C by cross-validation on the rows."""

    method: Method

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Rows:
        rows = self.method(dataset, epsilon, seed)
        assert isinstance(rows, Rows)
        return replace(rows, tuned=True)


@dataclass(frozen=True, eq=False)
class Classifiers:
    """An outcome with one classifier for each task: a constant answer, or a linear predictor."""

    dataset: Dataset
    answers: Mapping[str, bool | LinearRelease]
    release: Any = None

    def predict(self, task: str, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        answer = self.answers[task]
        rows = len(next(iter(codes.values())))
        if isinstance(answer, bool):
            return np.full(rows, answer)
        return np.asarray(answer.scores(codes, rows)[:, 0] > 0)

    def marginals(self, sets: Sequence[tuple[str, ...]]) -> list[NDArray[Any]]:
        raise TypeError("a classifier has no marginals")


@dataclass(frozen=True)
class Majority:
    """The more frequent class of each task, from a noisy count."""

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Classifiers:
        budget = Budget(epsilon, randomness=Randomness.seeded(seed))
        answers: dict[str, bool | LinearRelease] = {}
        for (task, (target, positive)), pay in zip(
            dataset.tasks.items(), budget.evenly(list(dataset.tasks)), strict=True
        ):
            (counts,) = dataset.table().counts([(target,)])
            found = noise.counts(counts, pay=pay)
            answers[task] = bool(2 * sum(int(found[code]) for code in positive) > dataset.rows)
        return Classifiers(dataset, answers)


@dataclass(frozen=True)
class Learned:
    """A method of the catalogue that learns one classifier for each task.

    `single` gives every classifier the whole budget, an unfair advantage that the paper shows too.
    """

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    single: bool = False
    tasks: int = 4

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Classifiers:
        answers: dict[str, bool | LinearRelease] = {}
        made = method_class(catalogue.method(self.method))
        for number, (task, (target, _)) in enumerate(dataset.tasks.items()):
            share = Fraction(epsilon) / (1 if self.single else self.tasks)
            budget = Budget(share, randomness=Randomness.seeded(seed + number))
            parameters = {"target": target, **self.parameters}
            learned = made(**parameters).fit(yes_or_no(dataset, task), budget)
            assert isinstance(learned, LinearRelease)
            answers[task] = learned
        return Classifiers(dataset, answers)


def yes_or_no(dataset: Dataset, task: str) -> Table:
    """The table in which the column of a task says whether a record is of the positive class."""
    target, positive = dataset.tasks[task]
    table = dataset.table()
    facts = table.schema.model_dump(by_alias=True, exclude_defaults=True)
    facts["fields"] = [
        {"name": target, "type": "boolean"} if fact["name"] == target else fact for fact in facts["fields"]
    ]
    lookup = np.isin(np.arange(dataset.sizes[target]), list(positive)).astype(np.int64)
    return table.merged({target: lookup}, Schema.model_validate(facts))
