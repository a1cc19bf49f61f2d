"""Private searches for linear predictors as estimators of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal

from penstock.contracts.method import Method
from penstock.errors import UsageError
from penstock.kinds.table.data import Table
from penstock.learn.estimators import Bounds, Seed
from penstock.learn.linear.estimators import PrivateLinearLabels, PrivateNumbers
from penstock.learn.search.method import LossName
from penstock.learn.search.privgene import PrivGene
from penstock.learn.search.privlocal import PrivLocal
from penstock.privacy.budgets.amounts import Amount
from penstock.privacy.ledger.ledger import Ledger
from penstock.schema import Schema

Book = Ledger | str | PathLike[str] | None
Search = Literal["privlocal", "privgene"]

SEARCHES: dict[str, type[PrivLocal] | type[PrivGene]] = {"privlocal": PrivLocal, "privgene": PrivGene}


class PrivateSearchClassifier(PrivateLinearLabels):
    """The methods `privlocal` and `privgene` with scikit-learn's manners: linear classifiers by search.

    Every call of `fit` spends `epsilon` (pure, for one row added or removed) and makes a release, `release_`.
    `search` is the name of the method, `loss` is `logistic` or `huber`, and `rounds` the number of choices
    for one label (None: it follows from the number of rows). `classes` are the labels there may be and
    `bounds` the ranges of the columns, both public; a `schema` with a target describes a frame of columns of
    any type instead. More than two labels are each told from the others, with equal shares of epsilon.

    `ledger` and `account` book what is spent. With a `random_state` the noise can be repeated, and nothing be
    published.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
    >>> model = PrivateSearchClassifier(classes=(0, 1), bounds=(-1, 1), random_state=1)
    >>> model = model.fit(rows, rows[:, 1] > 0)
    >>> model.predict([[0.0, 0.7], [0.0, -0.7]]).tolist()
    [1, 0]
    >>> model.release_.receipt.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        search: Search = "privlocal",
        *,
        loss: Literal["logistic", "huber"] = "logistic",
        rounds: int | None = None,
        epsilon: Amount = 1,
        classes: Sequence[Any] | None = None,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.search = search
        self.loss = loss
        self.rounds = rounds
        self.epsilon = epsilon
        self.classes = classes
        self.bounds = bounds
        self.schema = schema
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return _named(self.search, target, self.loss, self.rounds)


class PrivateSearchRegressor(PrivateNumbers):
    """The methods `privlocal` and `privgene` with scikit-learn's manners: linear regression by search.

    Every call of `fit` spends `epsilon` (pure, for one row added or removed) and makes a release, `release_`.
    `bounds` are the ranges of the columns and `response_bounds` that of the response, all public; the other
    parameters are those of `PrivateSearchClassifier`.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(0, 1, (9000, 2))
    >>> model = PrivateSearchRegressor(bounds=(0, 1), response_bounds=(0, 3), random_state=1)
    >>> model = model.fit(rows, 2 * rows[:, 0] + rows[:, 1])
    >>> model.predict([[0.2, 0.2], [0.9, 0.1]]).round().tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        search: Search = "privlocal",
        *,
        rounds: int | None = None,
        epsilon: Amount = 1,
        bounds: Bounds | None = None,
        response_bounds: tuple[float, float] | None = None,
        schema: Schema | None = None,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.search = search
        self.rounds = rounds
        self.epsilon = epsilon
        self.bounds = bounds
        self.response_bounds = response_bounds
        self.schema = schema
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return _named(self.search, target, "squared", self.rounds)


def _named(search: str, target: str, loss: LossName, rounds: int | None) -> Method[Table]:
    if search not in SEARCHES:
        raise UsageError(f"search must be 'privlocal' or 'privgene', not {search!r}. Nothing was spent.")
    return SEARCHES[search](target=target, loss=loss, rounds=rounds)
