"""Regression by draws of coefficients, bounded and pure or unbounded with a delta, as estimators."""

from __future__ import annotations

from typing import Any

from penstock.contracts.method import Method
from penstock.kinds.table.data import Table
from penstock.learn.estimators import Bounds, Seed
from penstock.learn.gaussian.method import GaussianRegression, PosteriorRegression
from penstock.learn.linear.estimators import Book, PrivateNumbers
from penstock.privacy.budgets.amounts import Amount
from penstock.schema import Schema


class PrivatePosteriorRegression(PrivateNumbers):
    """The method `posterior-regression` with scikit-learn's manners: one draw of bounded coefficients.

    Every call of `fit` spends `epsilon` (pure, for one row added or removed) and makes a release, `release_`.
    `bounds` are the ranges of the columns and `response_bounds` that of the response, all public: one pair
    (low, high) for all columns, one for each, or by name. A `schema` with a target describes a frame of
    columns of any type instead. Without bounds columns, or the response, are taken to lie between -1 and 1,
    with a warning: nothing is read off the data. Values outside are moved onto the bounds.

    `radius`, `spread` and `draws` are those of the method. `ledger` and `account` book what is spent. With a
    `random_state` the noise can be repeated, and nothing be published.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(0, 1, (9000, 2))
    >>> model = PrivatePosteriorRegression(bounds=(0, 1), response_bounds=(0, 3), random_state=1)
    >>> model = model.fit(rows, 2 * rows[:, 0] + rows[:, 1])
    >>> model.predict([[0.2, 0.2], [0.9, 0.1]]).round(1).tolist()
    [0.6, 1.8]
    """

    def __init__(
        self,
        *,
        epsilon: Amount = 1,
        bounds: Bounds | None = None,
        response_bounds: tuple[float, float] | None = None,
        radius: Amount = 2,
        spread: Amount = 1,
        draws: int = 1,
        schema: Schema | None = None,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.response_bounds = response_bounds
        self.radius = radius
        self.spread = spread
        self.draws = draws
        self.schema = schema
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return PosteriorRegression(target=target, radius=self.radius, spread=self.spread, draws=self.draws)


class PrivateGaussianRegression(PrivateNumbers):
    """The method `gaussian-regression` with scikit-learn's manners: draws of coefficients without bounds.

    Every call of `fit` spends `epsilon` and `delta`, for one row replaced by another: the number of rows is
    public. The other parameters are those of `PrivatePosteriorRegression`, which is pure, and better.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(0, 1, (9000, 2))
    >>> model = PrivateGaussianRegression(
    ...     epsilon=8, delta="1e-6", bounds=(0, 1), response_bounds=(0, 3), random_state=1
    ... )
    >>> model.fit(rows, 2 * rows[:, 0] + rows[:, 1]).release_.receipt.delta
    Fraction(1, 1000000)
    """

    def __init__(
        self,
        *,
        epsilon: Amount = 1,
        delta: Amount = "1e-6",
        bounds: Bounds | None = None,
        response_bounds: tuple[float, float] | None = None,
        spread: Amount = "1/2",
        draws: int = 1,
        schema: Schema | None = None,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.response_bounds = response_bounds
        self.spread = spread
        self.draws = draws
        self.schema = schema
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return GaussianRegression(target=target, spread=self.spread, draws=self.draws)

    def _facts(self, rows: int) -> dict[str, Any]:
        return {"relation": "replace", "size": rows}
