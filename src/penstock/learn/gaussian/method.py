"""Regression by one draw from a posterior: likely coefficients are likely to be drawn, and that is private.

Guarantee: `posterior-regression` is pure, for one record added or removed, or replaced by another (for one
user: as many records as the schema allows). `gaussian-regression` needs a delta and a public number of
records, of which one is replaced by another.
Why: the draw is an exponential mechanism whose score is minus the squared error (`privacy.mechanisms
.posterior`). In the pure form coefficients are bounded, so that no record moves the score of any of them by
more than (M B + Y)^2 / 2. In the other form they are not, and a delta covers the tails of the draw; the
published calibration of it (Mir 2013, Theorem 5.4.1) drops a factor of the covariance and bounds one of the
two records only. It claims an epsilon that does not hold, and is not used. The pure form is better at every
epsilon that was tried; the other is there to compare with, as an estimator.

Sums of products of features are whole numbers of steps, so nothing is rounded, and the draw is exact.
Several draws, averaged, share the budget evenly; one is usually better.

Reference: D. J. Mir, "Differential privacy: an exploration of the privacy-utility landscape" (Rutgers 2013),
chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Text, Whole
from penstock.errors import BudgetError, UsageError
from penstock.kinds.table.data import Table
from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import STEPS, Problem, target_column
from penstock.learn.linear.functional import product_sums, response_sums
from penstock.learn.linear.release import LinearRelease, predictor
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.coefficients import ENUMERATED
from penstock.privacy.mechanisms import posterior
from penstock.privacy.mechanisms.posterior import Shape, norm_bound
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]

COARSEST = 1024
MOST_FEATURES = 150
"""A draw takes time that grows with the cube of their number."""


@dataclass(frozen=True)
class PosteriorRegression(Method[Table]):
    """Linear regression of a range of numbers by one draw of bounded coefficients.

    `target` is the column to predict (None: the schema's). Features are scaled so that no record is longer
    than 1, and the response to -1 ... 1; on that scale `radius` bounds the norm of the coefficients, `spread`
    is the deviation of their prior around 0, and `steps` the number of steps of the lattice from 0 to the
    edge. All of them are public choices. `draws` are averaged, and share the budget.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... fields:
    ...   - {name: rooms, type: integer, constraints: {minimum: 1, maximum: 9}}
    ...   - {name: rent, type: number, constraints: {minimum: 0, maximum: 900}, bins: {count: 100}}
    ... ''')
    >>> rooms = [1 + row % 9 for row in range(9000)]
    >>> frame = pl.DataFrame({"rooms": rooms, "rent": [100.0 * each for each in rooms]})
    >>> table = Table.open(frame, schema)
    >>> release = PosteriorRegression(target="rent").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> [round(rent, -2) for rent in release.predict(pl.DataFrame({"rooms": [2, 8]}))["rent"]]
    [200.0, 800.0]
    """

    name: ClassVar[str] = "posterior-regression"

    target: Annotated[str | None, Text()] = None
    radius: Annotated[Amount, Exact(least=Fraction(1, 1000), most=1000)] = 2
    spread: Annotated[Amount, Exact(least=Fraction(1, 1000), most=1000)] = 1
    draws: Annotated[int, Whole(1, 100)] = 1
    steps: Annotated[int, Whole(1, 1 << 20)] = 1 << 14

    def check(self, schema: Schema) -> None:
        """Refuse a target that is no range of numbers, and more features than a draw can be made of."""
        number = _refuse_many(schema, target_column(schema, self.target, "numbers"))
        if self.steps < COARSEST and (2 * self.steps + 1) ** number > ENUMERATED:
            raise UsageError(
                f"steps must be {COARSEST} or more for {number} features: on a coarse lattice of many points "
                "a draw can take for ever. Nothing was spent."
            )

    def cells(self, schema: Schema) -> int:
        """One number for each code."""
        return sum(schema.sizes.values())

    def fit(self, table: Table, budget: Budget) -> LinearRelease:
        """Sum up the products, and draw; spends the whole budget."""
        self.ready(table, budget)
        problem = Problem.of(table.schema, target_column(table.schema, self.target, "numbers"))
        radius, spread = exact(self.radius, "radius"), exact(self.spread, "spread")
        shape = Shape(problem.features.number, STEPS**2, 1 / spread**2)
        rows = table.coded_rows()
        sums = bounded_sums(rows, problem, radius)
        weights = averaged(
            budget,
            self.draws,
            lambda pay: posterior.bounded(sums, pay, shape, radius=radius, steps=self.steps),
        )
        return predictor(
            self.name,
            table,
            problem,
            weights,
            "identity",
            budget,
            parameters={
                "target": problem.target,
                "radius": str(radius),
                "spread": str(spread),
                "draws": self.draws,
                "steps": self.steps,
            },
        )


@dataclass(frozen=True)
class GaussianRegression(Method[Table]):
    """Linear regression of a range of numbers by draws of coefficients without bounds; needs a delta.

    `target` is the column to predict (None: the schema's), `spread` the deviation of the prior of the
    coefficients around 0, for features no longer than 1 and a response from -1 to 1. `draws` are averaged,
    and share epsilon and delta.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... relation: replace
    ... size: 9000
    ... fields:
    ...   - {name: rooms, type: integer, constraints: {minimum: 1, maximum: 9}}
    ...   - {name: rent, type: number, constraints: {minimum: 0, maximum: 900}, bins: {count: 100}}
    ... ''')
    >>> rooms = [1 + row % 9 for row in range(9000)]
    >>> frame = pl.DataFrame({"rooms": rooms, "rent": [100.0 * each for each in rooms]})
    >>> budget = Budget(4, "1e-6", randomness=Randomness.seeded(1))
    >>> release = GaussianRegression(target="rent").fit(Table.open(frame, schema), budget)
    >>> release.receipt.delta
    Fraction(1, 1000000)
    """

    name: ClassVar[str] = "gaussian-regression"

    target: Annotated[str | None, Text()] = None
    spread: Annotated[Amount, Exact(least=Fraction(1, 1000), most=1000)] = "1/2"
    draws: Annotated[int, Whole(1, 100)] = 1

    def check(self, schema: Schema) -> None:
        """Refuse another relation than replace, a target that is no range of numbers, too many features."""
        if schema.relation is not Relation.REPLACE:
            raise UsageError(
                "gaussian-regression needs a public number of records, of which one is replaced by another: "
                "set 'relation: replace' and 'size', or use posterior-regression. Nothing was spent."
            )
        _refuse_many(schema, target_column(schema, self.target, "numbers"))

    def cells(self, schema: Schema) -> int:
        """One number for each code."""
        return sum(schema.sizes.values())

    def fit(self, table: Table, budget: Budget) -> LinearRelease:
        """Sum up the products, and draw; spends the whole budget."""
        self.ready(table, budget)
        if budget.left[1] <= 0:
            raise BudgetError(
                "gaussian-regression needs a delta, such as 1e-6; without one use posterior-regression. "
                "Nothing was spent."
            )
        problem = Problem.of(table.schema, target_column(table.schema, self.target, "numbers"))
        spread = exact(self.spread, "spread")
        shape = Shape(problem.features.number, STEPS**2, 1 / spread**2)
        sums = counted_sums(table.coded_rows(), problem)
        x, y = lengths(problem)
        weights = averaged(
            budget,
            self.draws,
            lambda pay: posterior.unbounded(sums, pay, shape, x=x, y=y, records=table.schema.size or 1),
        )
        return predictor(
            self.name,
            table,
            problem,
            weights,
            "identity",
            budget,
            parameters={"target": problem.target, "spread": str(spread), "draws": self.draws},
        )


def averaged(budget: Budget, draws: int, draw: Callable[[Budget], Reals]) -> Reals:
    """The mean of several draws, each of which has an equal part of the budget."""
    parts = budget.evenly([f"draw {number + 1}" for number in range(draws)])
    found: Reals = np.mean([draw(pay) for pay in parts], axis=0)
    return found


def lengths(problem: Problem) -> tuple[Fraction, Fraction]:
    """How long the features of a record can be (M), and how large its response (Y)."""
    y = Fraction(int(np.abs(problem.values).max()), STEPS)
    return min(Fraction(1), norm_bound(problem.features.longest)), max(y, Fraction(1, STEPS))


def bounded_sums(rows: Sealed[CodedRows], problem: Problem, radius: Fraction) -> Sealed[Numbers]:
    """The sums of products, with the sensitivity of the losses of all coefficients in the ball."""
    x, y = lengths(problem)
    most = (x * radius + y) ** 2 / 2
    records = rows.sensitivity
    return rows.claim(
        _counted(problem),
        Sensitivity.scores(records.linf * most, 2, monotone=records.monotone, spread=records.l1 * most),
        shape=_shape(problem),
        dtype=np.int64,
        because="a record adds half of (x.w - y)^2 to the loss of the coefficients w, between 0 and half of "
        "(M B + Y)^2 for every w in the ball, so that losses move apart by no more than that for each of the "
        "records that come or go",
    )


def counted_sums(rows: Sealed[CodedRows], problem: Problem) -> Sealed[Numbers]:
    """The sums of products, with a sensitivity that counts the records that differ."""
    return rows.claim(
        _counted(problem),
        rows.sensitivity,
        shape=_shape(problem),
        dtype=np.int64,
        because="the sums of two neighbours differ by the products of as many records as the rows say; how "
        "far that moves a loss is for the mechanism to bound, which knows the tails of its draw",
    )


def _shape(problem: Problem) -> tuple[int]:
    number = problem.features.number
    return (number * (number + 1),)


def _counted(problem: Problem) -> Callable[[CodedRows], Numbers]:
    """Products of all features row by row, and then those with the response, in squared steps."""

    def counted(raw: CodedRows) -> Numbers:
        examples = problem.examples(raw)
        return np.concatenate([product_sums(examples).ravel(), response_sums(examples).ravel()])

    return counted


def _refuse_many(schema: Schema, target: str) -> int:
    """How many features there are, where they are not too many."""
    number = Problem.of(schema, target).features.number
    if number > MOST_FEATURES:
        raise UsageError(
            f"The other columns have {number} features together, and a draw can be made of {MOST_FEATURES}; "
            "leave columns with many categories out, or use functional-mechanism. Nothing was spent."
        )
    return number
