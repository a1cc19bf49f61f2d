"""Private classifiers as estimators of scikit-learn.

Labels are public facts, as bounds are: which ones there are is declared in `classes`, never read off `y`.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from penstock.contracts.method import Method
from penstock.errors import PenstockWarning, UsageError
from penstock.kinds.table.data import Table
from penstock.learn.classification.cells import CellsRelease
from penstock.learn.classification.privpfc import PrivPfC
from penstock.learn.classification.trees import DiffPC45, Impurity
from penstock.learn.estimators import (
    Bounds,
    Seed,
    bounded_fields,
    column_names,
    described_frame,
    described_records,
    framed,
    free_name,
    opened_budget,
    paid_release,
)
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.unit import Relation, Unit
from penstock.schema import Schema

Reals = NDArray[np.float64]
Book = Ledger | str | PathLike[str] | None

UNDECLARED = (0, 1)
"""The labels where nobody declared any."""


class PrivateLabels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """What all estimators of labels share: declared labels, declared ranges, and the release behind them.

    `_bins` is how finely ranges are seen where no schema says so (None: as the schema's default is).
    """

    _bins: ClassVar[int | None] = None

    epsilon: Amount
    classes: Sequence[Any] | None
    bounds: Bounds | None
    schema: Schema | None
    ledger: Book
    account: str | None
    random_state: Seed

    @property
    def delta(self) -> Amount:
        """None is needed: the guarantee is pure."""
        return 0

    @abstractmethod
    def _method(self, target: str) -> Method[Table]:
        """The method that makes the release."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's name
        """Learn to predict `y` from the columns of `X`; spends epsilon."""
        schema, frame = self._described(X, y) if self.schema is not None else self._bounded(X, y)
        target = str(schema.target)
        self.classes_ = _declared(self.classes) if self.schema is None else _of(schema, target)
        labels = pl.Series(target, schema.attribute(target).labels, dtype=pl.String)
        frame = frame.with_columns(labels.gather(self._codes(y)))
        self.release_: Any = paid_release(self, self._method(target), frame, schema)
        return self

    def _codes(self, y: Any) -> NDArray[np.intp]:
        """The place of every label among the declared ones."""
        given = column_or_1d(y, warn=True)
        check_classification_targets(given)
        return _places(given, self.classes_)

    def _bounded(self, X: Any, y: Any) -> tuple[Schema, pl.DataFrame]:  # noqa: N803
        """Numbers between declared bounds, and a label; the schema that says so."""
        values, _ = validate_data(self, X, y, reset=True, dtype=np.float64)
        names = column_names(self)
        fields = bounded_fields(names, self.bounds, self._bins)
        target = free_name("label", names)
        labels = [str(label) for label in _declared(self.classes, warn=True)]
        fields.append({"name": target, "type": "string", "constraints": {"enum": labels}})
        return Schema.model_validate({"fields": fields, "target": target}), framed(values, names)

    def _described(self, X: Any, y: Any) -> tuple[Schema, pl.DataFrame]:  # noqa: N803
        """A frame whose columns the schema describes; its target is the label."""
        assert self.schema is not None
        names, frame = described_records(X, y, self.schema)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return self.schema, frame

    def _rows(self, X: Any) -> pl.DataFrame:  # noqa: N803
        check_is_fitted(self)
        if self.schema is not None:
            return described_frame(X, [str(name) for name in self.feature_names_in_])
        return framed(validate_data(self, X, reset=False, dtype=np.float64), column_names(self))


class PrivateClassifier(PrivateLabels):
    """What estimators of labels share that say how likely each label is."""

    def _told(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What the release says of rows."""
        told: pl.DataFrame = self.release_.predict(rows)
        return told

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """How likely each of the declared labels is, for every row."""
        told = self._told(self._rows(X))
        found: Reals = told.select(told.columns[1 : 1 + len(self.classes_)]).to_numpy()
        if np.isnan(found).any():
            raise UsageError("A row has a value that the schema does not know; nothing can be said of it.")
        return found

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest label of every row."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        answers: NDArray[Any] = self.classes_[likeliest]
        return answers


class PrivPfCClassifier(PrivateClassifier):
    """The method `privpfc` with scikit-learn's manners: one noisy histogram, and a classifier made of it.

    Every call of `fit` spends `epsilon` (pure, for one row added or removed) and makes a release, `release_`.
    `classes` are the labels there may be and `bounds` the ranges of the columns, both public: one pair
    (low, high) for all columns, one for each, or by name. A `schema` with a target describes a frame of
    columns of any type instead. Without bounds columns are taken to lie between -1 and 1, and without classes
    labels to be 0 and 1, with warnings: nothing is read off the data.

    `estimator` is trained on the histogram (None: the most frequent label of a row's cell is the answer).
    `ledger` and `account` book what is spent. With a `random_state` the noise can be repeated, and nothing be
    published.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, (4000, 3))
    >>> model = PrivPfCClassifier(classes=(0, 1), bounds=(-1, 1), random_state=1)
    >>> model = model.fit(rows, rows[:, 1] > 0)
    >>> model.predict([[0.0, 0.7, 0.0], [0.0, -0.7, 0.0]]).tolist()
    [1, 0]
    >>> model.release_.receipt.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        epsilon: Amount = 1,
        classes: Sequence[Any] | None = None,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        most_grids: int = 10_000,
        features: int | None = None,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.classes = classes
        self.bounds = bounds
        self.schema = schema
        self.most_grids = most_grids
        self.features = features
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return PrivPfC(target=target, most_grids=self.most_grids, features=self.features)

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn to predict `y` from the columns of `X`; spends epsilon."""
        super().fit(X, y)
        self.trained_ = None
        if self.estimator is not None:
            assert isinstance(self.release_, CellsRelease)
            self.trained_ = self.release_.trained(self.estimator)
        return self

    def _told(self, rows: pl.DataFrame) -> pl.DataFrame:
        return super()._told(rows) if self.trained_ is None else self.trained_.predict(rows)


class PrivateDecisionTree(PrivateClassifier):
    """The method `diffpc45` with scikit-learn's manners: a decision tree that is grown by private steps.

    Every call of `fit` spends `epsilon` (pure, for one row added or removed) and makes a release, `release_`.
    `max_depth` is the most questions on a way and `criterion` what makes one good; the other parameters
    are those of `PrivPfCClassifier`.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
    >>> model = PrivateDecisionTree(max_depth=2, classes=(0, 1), bounds=(-1, 1), random_state=1)
    >>> model = model.fit(rows, rows[:, 1] > 0)
    >>> model.predict([[0.0, 0.7], [0.0, -0.7]]).tolist()
    [1, 0]
    """

    def __init__(
        self,
        max_depth: int = 5,
        *,
        criterion: Impurity = "max",
        epsilon: Amount = 1,
        classes: Sequence[Any] | None = None,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.max_depth = max_depth
        self.criterion = criterion
        self.epsilon = epsilon
        self.classes = classes
        self.bounds = bounds
        self.schema = schema
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return DiffPC45(target=target, depth=self.max_depth, score=self.criterion)


class PrivateOneVsRest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """Each label against all others, each with an equal share of one epsilon.

    scikit-learn's own `OneVsRestClassifier` would spend the whole epsilon of a private estimator once for
    every label. Here the k estimators get epsilon/k each, so that all of them together cost `epsilon`.
    `estimator` is one of the private classifiers; `classes` are all labels, a public fact.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, (4000, 1))
    >>> one = PrivPfCClassifier(bounds=(-1, 1), random_state=1)
    >>> model = PrivateOneVsRest(one, classes=("low", "mid", "high"))
    >>> model = model.fit(rows, np.array(["low", "mid", "high"])[np.digitize(rows[:, 0], [-0.3, 0.3])])
    >>> model.predict([[-0.9], [0.9]]).tolist()
    ['low', 'high']
    >>> sum(one.release_.receipt.epsilon for one in model.estimators_)
    Fraction(1, 1)
    """

    def __init__(self, estimator: Any, *, epsilon: Amount = 1, classes: Sequence[Any] | None = None) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.classes = classes

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's name
        """Learn to tell each label from the others; spends epsilon."""
        if getattr(self.estimator, "schema", None) is not None:
            raise UsageError(
                "Each label is told from all others here, and a schema's target has labels of its own; give "
                "the estimator bounds instead. Nothing was spent."
            )
        if not isinstance(self.estimator, PrivateLabels):
            raise UsageError(
                f"estimator must be one of the private classifiers, and {type(self.estimator).__name__} is "
                "none. Nothing was spent."
            )
        self.classes_ = _declared(self.classes, warn=True)
        given = _places(column_or_1d(y), self.classes_)
        share = exact(self.epsilon) * Fraction(1, len(self.classes_))
        whole = clone(self.estimator).set_params(epsilon=self.epsilon, random_state=None)
        opened_budget(whole, Unit(), Relation.ADD_REMOVE)  # the ledger allows all of them, or none is made
        self.estimators_ = [
            clone(self.estimator)
            .set_params(epsilon=share, classes=(0, 1))
            .fit(X, (given == place).astype(np.int64))
            for place in range(len(self.classes_))
        ]
        self.n_features_in_ = self.estimators_[0].n_features_in_
        return self

    def _each(self, X: Any) -> Reals:  # noqa: N803
        """For every row how much speaks for each label against the others."""
        check_is_fitted(self)
        told = [
            one.predict_proba(X)[:, 1] if hasattr(one, "predict_proba") else one.decision_function(X)
            for one in self.estimators_
        ]
        return np.column_stack(told)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """How likely each label is against the others, made to add up to one."""
        each = self._each(X)
        total = each.sum(axis=1, keepdims=True)
        shares: Reals = np.where(total > 0, each / np.where(total > 0, total, 1.0), 1 / each.shape[1])
        return shares

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The label for which most speaks against the others."""
        best = self._each(X).argmax(axis=1)
        answers: NDArray[Any] = self.classes_[best]
        return answers


def _declared(classes: Sequence[Any] | None, *, warn: bool = False) -> NDArray[Any]:
    """The labels there may be, in order."""
    if classes is None and warn:
        warnings.warn(
            "No labels were declared, so they are taken to be 0 and 1. Labels are public facts: list them "
            "all in 'classes', from what you know and not from the data.",
            PenstockWarning,
            stacklevel=4,
        )
    found = np.unique(np.asarray(UNDECLARED if classes is None else classes))
    if found.ndim != 1 or len(found) < 2:
        raise UsageError("classes must list at least two different labels. Nothing was spent.")
    return found


def _places(given: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The place of every label among the declared ones; labels that nobody declared are refused."""
    found = np.full(len(given), -1, dtype=np.intp)
    for place, label in enumerate(classes.tolist()):
        found[np.asarray(given == label)] = place
    if (found < 0).any():
        stray = given.tolist()[int(np.argmax(found < 0))]
        raise UsageError(
            f"y holds the label {stray!r}, which nobody declared. Labels are public facts: list them all in "
            "'classes'. Nothing was spent."
        )
    return found


def _of(schema: Schema, target: str) -> NDArray[Any]:
    """The labels of a schema's target, in the order of their codes."""
    values = [*schema.field(target).values]
    labels = schema.attribute(target).labels[len(values) :]
    return np.array([*values, *labels], dtype=object if labels else None)
