"""PrivateERM: labels by logistic regression or a support vector machine, with noise in the objective.

Guarantee: pure epsilon, for one record added or removed, or replaced by another (for one user: as many
records as the schema allows).
Why: the theorem of `perturbation` for each answer, which pays for the noise, for the curvature of the
objective, for the distance of the computed minimum from the exact one and for rounding. Two labels need one
answer; k labels are told apart one against the rest, for epsilon/k each.

The ridge is public: five over epsilon, unless `ridge` says otherwise, so that logistic curvature costs a
twentieth of epsilon. A ridge that would cost more than there is is raised. Nothing is tuned on the records
that is not paid for: with `ridges` several are tried, and the choice among them costs (`ridges`).

Reference: K. Chaudhuri, C. Monteleoni and A. Sarwate, "Differentially private empirical risk minimization"
(JMLR 2011). Differences: noise is Laplace in each coordinate, drawn exactly, where theirs has a Euclidean
norm (with features of few categories it is also smaller); sums instead of means, so that the number of
records need not be known; one factor instead of two for the determinant; minima need not be exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Share, Text, Whole
from penstock.kinds.table.data import Table
from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import Problem, target_column
from penstock.learn.linear.losses import LossName, loss_of
from penstock.learn.linear.perturbation import Determinant, perturbed_minimum
from penstock.learn.linear.release import LinearRelease, predictor
from penstock.learn.linear.ridges import MOST_RIDGES, chosen, equally
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.seals.sealed import Sealed
from penstock.schema import Schema

Reals = NDArray[np.float64]

RIDGE = 5
"""The ridge for each 1/epsilon and each record that a unit moves, where none is given."""
SMALLEST_RIDGE, LARGEST_RIDGE = Fraction(1, 1000), 10**9
"""How long a search for the minimum can take at most grows with the number of records over the ridge."""


@dataclass(frozen=True)
class PrivateERM(Method[Table]):
    """Logistic regression or a support vector machine, learned with noise in the objective.

    `target` is the column to predict (None: the schema's), one of categories. `loss` is logistic or huber (a
    hinge, rounded off). `ridge` is what weights are held to 0 with, in records (Lambda times their number);
    None means the public rule. With several `ridges` so many, each eight times the one before, are tried, and
    `choice_share` of epsilon chooses among what they learned. `determinant` says what is paid where a record
    is replaced: what is needed, or the larger bound that was published.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True] * 300 + [False] * 700, "coughs": [True] * 300 + [False] * 700})
    >>> table = Table.open(frame, schema)
    >>> release = PrivateERM(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "private-erm"

    target: Annotated[str | None, Text()] = None
    loss: LossName = "logistic"
    ridge: Annotated[Amount | None, Exact(least=SMALLEST_RIDGE, most=LARGEST_RIDGE)] = None
    ridges: Annotated[int, Whole(1, MOST_RIDGES)] = 1
    choice_share: Annotated[Amount, Share()] = "1/10"
    determinant: Determinant = "tight"

    def check(self, schema: Schema) -> None:
        """Refuse a target that is no column of categories."""
        target_column(schema, self.target, "labels")

    def cells(self, schema: Schema) -> int:
        """One number for each code and label."""
        return sum(schema.sizes.values()) * max(schema.sizes.values())

    def fit(self, table: Table, budget: Budget) -> LinearRelease:
        """Find the weights, for each ridge, and choose one; spends the whole budget."""
        self.ready(table, budget)
        problem = Problem.of(table.schema, target_column(table.schema, self.target, "labels"))
        share = exact(self.choice_share, "choice_share")
        weights, best = chosen(table.coded_rows(), problem, budget, self.ridges, share, self._weights)
        return predictor(
            self.name,
            table,
            problem,
            weights,
            "logistic" if self.loss == "logistic" else "sign",
            budget,
            parameters={
                "target": problem.target,
                "loss": self.loss,
                "ridge": None if self.ridge is None else str(exact(self.ridge)),
                "ridges": self.ridges,
                "choice_share": str(exact(self.choice_share)),
                "determinant": self.determinant,
                "chosen": best,
            },
        )

    def _weights(self, rows: Sealed[CodedRows], problem: Problem, pay: Budget, times: int) -> Reals:
        """The weights of every answer for a ridge that is so many times the first, a column for each."""
        loss, found = loss_of(self.loss), []
        for answer, part in enumerate(equally(pay, "answer", problem.answers)):
            ridge = RIDGE * rows.sensitivity.l1 / part.epsilon
            if self.ridge is not None:
                ridge = exact(self.ridge, "ridge")
            found.append(
                perturbed_minimum(rows, problem, answer, loss, ridge * times, part, self.determinant)
            )
        return np.column_stack(found)
