"""What searches for linear predictors share: the problem, the loss, and one search for each answer.

With two labels, or a number, one search has the whole budget. With k labels each is told from all others by a
search of its own, and each of these has a k-th of the budget: one record takes part in all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Text, Whole
from penstock.kinds.table.data import Table
from penstock.learn.linear.features import STEPS, Problem, Task, target_column
from penstock.learn.linear.release import LinearRelease, Link, predictor
from penstock.learn.search.judged import Judged
from penstock.learn.search.losses import HUBER, LOGISTIC, SQUARED, WEIGHT_BITS, Loss
from penstock.learn.search.rounds import about_how_many, rounds_of
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Schema

Weights = NDArray[np.int64]
LossName = Literal["logistic", "huber", "squared"]

LOSSES: Mapping[str, tuple[Loss, Task, Link]] = {
    "logistic": (LOGISTIC, "labels", "logistic"),
    "huber": (HUBER, "labels", "sign"),
    "squared": (SQUARED, "numbers", "identity"),
}
MOST_ROUNDS = 400


@dataclass(frozen=True)
class LinearSearch(Method[Table]):
    """A search for the weights of a linear predictor.

    `loss` is what is made small: `logistic` or `huber` for labels, `squared` for numbers (None: logistic for
    a column of categories, squared for a range). `rounds` is the number of choices for one answer (None: it
    follows from the number of records and epsilon).
    """

    target: Annotated[str | None, Text()] = None
    loss: LossName | None = None
    rounds: Annotated[int | None, Whole(1, MOST_ROUNDS)] = None

    def check(self, schema: Schema) -> None:
        """Refuse a target that the loss cannot be asked of."""
        self._asked(schema)

    def fit(self, table: Table, budget: Budget) -> LinearRelease:
        """Search the weights of each answer; spends the whole budget."""
        self.ready(table, budget)
        target, name = self._asked(table.schema)
        loss, _, link = LOSSES[name]
        problem = Problem.of(table.schema, target)
        rounds, rest = self._rounds(table, problem.answers, budget)
        rows = table.coded_rows()
        answers = rest.evenly(self._answers(problem)) if problem.answers > 1 else [rest]
        found = [
            self._searched(
                Judged(rows, problem, answer, loss),
                pay.evenly([f"round {number + 1}" for number in range(rounds)]),
            )
            for answer, pay in enumerate(answers)
        ]
        return predictor(
            self.name,
            table,
            problem,
            np.column_stack(found) / 2**WEIGHT_BITS,
            link,
            budget,
            parameters={"target": target, "loss": name, "rounds": rounds, **self._settings()},
        )

    @abstractmethod
    def _searched(self, judged: Judged, pay: Sequence[Budget]) -> Weights:
        """The weights of one answer, found with these parts of the budget, all of which are spent."""

    @abstractmethod
    def _settings(self) -> Mapping[str, Any]:
        """What else the release says about how it was made."""

    @property
    @abstractmethod
    def _each(self) -> tuple[float, int]:
        """How many records times epsilon one round should have, and how many rounds there are at least."""

    def _asked(self, schema: Schema) -> tuple[str, str]:
        """The column to be predicted, and the loss."""
        stated = schema.target if self.target is None else self.target
        ranged = stated in schema.names and schema.field(str(stated)).ranged
        name = self.loss or ("squared" if ranged else "logistic")
        return target_column(schema, self.target, LOSSES[name][1]), name

    def _rounds(self, table: Table, answers: int, budget: Budget) -> tuple[int, Budget]:
        """How many choices are made for an answer, and what is left of the budget for all of them."""
        if self.rounds is not None:
            return self.rounds, budget
        n, rest = about_how_many(table.public_size, table.size, budget)
        each, least = self._each
        records = table.schema.unit.records
        return rounds_of(n, rest, records, each=answers * each, least=least, most=MOST_ROUNDS), rest

    @staticmethod
    def _answers(problem: Problem) -> list[str]:
        return [f"label {number + 1}" for number in range(problem.answers)]


def weight_of_one(problem: Problem) -> int:
    """What a weight of 1 is on the lattice, for features that reach from -1 to 1.

    Features are scaled down until the longest vector has length 1, so weights are scaled up.
    """
    return max(1, round((STEPS << WEIGHT_BITS) / problem.features.constant))
