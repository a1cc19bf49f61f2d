"""Private linear predictors as estimators of scikit-learn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from penstock.contracts.method import Method
from penstock.errors import UsageError
from penstock.kinds.table.data import Table
from penstock.learn.classification.estimators import PrivateLabels
from penstock.learn.estimators import (
    Bounds,
    Seed,
    bounded_fields,
    column_names,
    described_frame,
    described_records,
    framed,
    free_name,
    paid_release,
)
from penstock.learn.linear.functional import FunctionalMechanism
from penstock.learn.linear.losses import LossName
from penstock.learn.linear.output import OutputPerturbation
from penstock.learn.linear.private_erm import PrivateERM
from penstock.privacy.budgets.amounts import Amount
from penstock.privacy.ledger.ledger import Ledger
from penstock.schema import Schema

Reals = NDArray[np.float64]
Book = Ledger | str | PathLike[str] | None

FINE = 256
"""So many bins a range has where no schema says how many."""


class PrivateNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """What estimators of numbers share: declared ranges of the columns and of the response."""

    _bins: ClassVar[int] = FINE

    epsilon: Amount
    delta: Amount = 0
    """None is needed, unless a method says otherwise: the guarantee is pure."""
    bounds: Bounds | None
    response_bounds: tuple[float, float] | None
    schema: Schema | None
    ledger: Book
    account: str | None
    random_state: Seed

    @abstractmethod
    def _method(self, target: str) -> Method[Table]:
        """The method that makes the release."""

    def _facts(self, rows: int) -> dict[str, Any]:
        """What else is public about so many rows, where no schema says it: nothing, under add-remove."""
        return {}

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's name
        """Learn to predict the numbers `y` from the columns of `X`; spends epsilon."""
        if self.schema is None:
            values, given = validate_data(self, X, y, reset=True, dtype=np.float64, y_numeric=True)
            names = column_names(self)
            fields = bounded_fields(names, self.bounds, self._bins)
            target = free_name("response", names)
            fields += bounded_fields([target], self.response_bounds, self._bins, called="response_bounds")
            facts = {"fields": fields, "target": target, **self._facts(len(values))}
            schema = Schema.model_validate(facts)
            frame = framed(values, names)
        else:
            schema, given = self.schema, column_or_1d(y, warn=True)
            names, frame = described_records(X, given, schema)
            target = str(schema.target)
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        frame = frame.with_columns(pl.Series(target, np.asarray(given)))
        self.release_: Any = paid_release(self, self._method(target), frame, schema)
        return self

    def predict(self, X: Any) -> Reals:  # noqa: N803
        """The number of every row, within the declared bounds."""
        check_is_fitted(self)
        if self.schema is not None:
            rows = described_frame(X, [str(name) for name in self.feature_names_in_])
        else:
            rows = framed(validate_data(self, X, reset=False, dtype=np.float64), column_names(self))
        found: Reals = self.release_.predict(rows).to_series(0).to_numpy()
        if np.isnan(found).any():
            raise UsageError("A row has a value that the schema does not know; nothing can be said of it.")
        return found


class PrivateLinearRegression(PrivateNumbers):
    """The method `functional-mechanism` with scikit-learn's manners: linear regression from noisy sums.

    Every call of `fit` spends `epsilon` (pure, for one row added or removed) and makes a release, `release_`.
    `bounds` are the ranges of the columns and `response_bounds` that of the response, all public: one pair
    (low, high) for all columns, one for each, or by name. A `schema` with a target describes a frame of
    columns of any type instead. Without bounds columns, or the response, are taken to lie between -1 and 1,
    with a warning: nothing is read off the data. Values outside are moved onto the bounds.

    `ledger` and `account` book what is spent. With a `random_state` the noise can be repeated, and nothing be
    published.

    >>> rows = np.random.default_rng(0).uniform(0, 1, (9000, 2))
    >>> model = PrivateLinearRegression(bounds=(0, 1), response_bounds=(0, 3), random_state=1)
    >>> model = model.fit(rows, 2 * rows[:, 0] + rows[:, 1])
    >>> model.predict([[0.2, 0.2], [0.9, 0.1]]).round(1).tolist()
    [0.6, 1.9]
    >>> model.release_.receipt.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        *,
        epsilon: Amount = 1,
        bounds: Bounds | None = None,
        response_bounds: tuple[float, float] | None = None,
        schema: Schema | None = None,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.response_bounds = response_bounds
        self.schema = schema
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return FunctionalMechanism(target=target)


class PrivateLinearLabels(PrivateLabels):
    """What linear estimators of labels share: the scores behind their answers."""

    _bins: ClassVar[int | None] = FINE

    def decision_function(self, X: Any) -> Reals:  # noqa: N803
        """The score of every row: of the second of two labels, or of each of several."""
        rows = self._rows(X)
        release = self.release_
        codes = {name: release.schema.codec(name).locate(rows[name]) for name in release.predictors}
        if any((column < 0).any() for column in codes.values()):
            raise UsageError("A row has a value that the schema does not know; nothing can be said of it.")
        scores: Reals = release.scores(codes, rows.height)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The label of every row."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        answers: NDArray[Any] = self.classes_[best]
        return answers


class PrivateLogisticRegression(PrivateLinearLabels):
    """Logistic regression with scikit-learn's manners: with noise in the objective, unless told otherwise.

    Every call of `fit` spends `epsilon` (pure, for one row added or removed) and makes a release, `release_`.
    `classes` are the labels there may be and `bounds` the ranges of the columns, both public: one pair
    (low, high) for all columns, one for each, or by name. A `schema` with a target describes a frame of
    columns of any type instead. Without bounds columns are taken to lie between -1 and 1, and without classes
    labels to be 0 and 1, with warnings: nothing is read off the data.

    `method` is that of the release: `private-erm`, `output-perturbation` or `functional-mechanism`. `ridge`
    is what weights are held to 0 with, in records (None: a public rule). With several `ridges`, each eight
    times the one before, epsilon pays for learning with each and for the choice among them; never choose a
    ridge by fitting again and looking. `ledger` and `account` book what is spent. With a `random_state` the
    noise can be repeated, and nothing be published.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, (4000, 3))
    >>> model = PrivateLogisticRegression(classes=(0, 1), bounds=(-1, 1), random_state=1)
    >>> model = model.fit(rows, rows[:, 1] > 0)
    >>> model.predict([[0.0, 0.7, 0.0], [0.0, -0.7, 0.0]]).tolist()
    [1, 0]
    >>> model.release_.receipt.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        *,
        epsilon: Amount = 1,
        classes: Sequence[Any] | None = None,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        method: Literal["private-erm", "output-perturbation", "functional-mechanism"] = "private-erm",
        ridge: Amount | None = None,
        ridges: int = 1,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.classes = classes
        self.bounds = bounds
        self.schema = schema
        self.method = method
        self.ridge = ridge
        self.ridges = ridges
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        if self.method not in ("private-erm", "output-perturbation", "functional-mechanism"):
            raise UsageError(
                "method must be private-erm, output-perturbation or functional-mechanism, not "
                f"'{self.method}'. Nothing was spent."
            )
        if self.method == "functional-mechanism":
            if self.ridge is not None or self.ridges != 1:
                raise UsageError("The functional mechanism has no ridge to choose. Nothing was spent.")
            return FunctionalMechanism(target=target)
        return _perturbed(self.method, target, "logistic", self.ridge, self.ridges)

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """How likely each of the declared labels is, for every row."""
        scores = self.decision_function(X)
        found: Reals = self.release_.chances(scores[:, None] if scores.ndim == 1 else scores)
        return found


class PrivateLinearSVM(PrivateLinearLabels):
    """A support vector machine with a rounded hinge, by `private-erm` or by `output-perturbation`.

    The parameters are those of `PrivateLogisticRegression`; it says no probabilities.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, (4000, 3))
    >>> model = PrivateLinearSVM(classes=("down", "up"), bounds=(-1, 1), random_state=1)
    >>> model = model.fit(rows, np.where(rows[:, 1] > 0, "up", "down"))
    >>> model.predict([[0.0, 0.7, 0.0], [0.0, -0.7, 0.0]]).tolist()
    ['up', 'down']
    """

    def __init__(
        self,
        *,
        epsilon: Amount = 1,
        classes: Sequence[Any] | None = None,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        method: Literal["private-erm", "output-perturbation"] = "private-erm",
        ridge: Amount | None = None,
        ridges: int = 1,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.classes = classes
        self.bounds = bounds
        self.schema = schema
        self.method = method
        self.ridge = ridge
        self.ridges = ridges
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return _perturbed(self.method, target, "huber", self.ridge, self.ridges)


def _perturbed(method: str, target: str, loss: LossName, ridge: Amount | None, ridges: int) -> Method[Table]:
    """Noise in the objective, or on its minimum, by the name of the method."""
    if method == "private-erm":
        return PrivateERM(target=target, loss=loss, ridge=ridge, ridges=ridges)
    if method == "output-perturbation":
        return OutputPerturbation(target=target, loss=loss, ridge=ridge, ridges=ridges)
    raise UsageError(f"method must be private-erm or output-perturbation, not '{method}'. Nothing was spent.")
