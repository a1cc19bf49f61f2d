"""k-means as an estimator of scikit-learn."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from penstock.learn.clusters.evaluation import nicv
from penstock.learn.clusters.method import KMeans
from penstock.learn.clusters.presets import Preset
from penstock.learn.clusters.release import ClustersRelease
from penstock.learn.clusters.unit_box import nearest, squared
from penstock.learn.estimators import (
    Bounds,
    Seed,
    bounded_fields,
    column_names,
    framed,
    paid_release,
    refuse_unless_schema,
    refuse_without,
)
from penstock.privacy.budgets.amounts import Amount
from penstock.privacy.ledger.ledger import Ledger
from penstock.schema import Schema

Reals = NDArray[np.float64]


class PrivateKMeans(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # untyped library
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """k-means clustering under differential privacy, with scikit-learn's manners.

    Every call of `fit` spends `epsilon` (pure, for one row added or removed) and makes a release, `release_`.
    The columns' ranges are public and declared: `bounds` is one pair (low, high) for all columns, a list of
    pairs or a mapping from names, or a `schema` of kind points describes the columns, and then whose presence
    is protected. Without either every column is taken to lie between -1 and 1, with a warning.

    `n_clusters` None lets the noisy counts choose. `preset` is that of the method `kmeans`. `ledger` and
    `account` book what is spent. With a `random_state` the noise can be repeated, and nothing be published.

    Distances are measured with every column scaled to its bounds. `labels_` belong to the training rows, as
    scikit-learn wants it: they are as private as those, unlike `cluster_centers_` and `release_`.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal([[-5, 0], [5, 1]], 0.5, (2000, 2, 2)).reshape(-1, 2)
    >>> model = PrivateKMeans(n_clusters=2, bounds=(-10, 10), random_state=1).fit(rows)
    >>> sorted(model.cluster_centers_[:, 0].round())
    [np.float64(-5.0), np.float64(5.0)]
    >>> model.release_.receipt.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        epsilon: Amount = 1,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        preset: Preset = "grown",
        ledger: Ledger | str | PathLike[str] | None = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.bounds = bounds
        self.schema = schema
        self.preset = preset
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    @property
    def delta(self) -> Amount:
        """None is needed: the guarantee is pure."""
        return 0

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: N803  # scikit-learn's name
        """Find the clusters of the rows; spends epsilon."""
        if self.schema is not None:
            refuse_unless_schema(self.schema)
        values = self._checked(X, reset=True)
        names = column_names(self) if self.schema is None else list(self.schema.names)
        if self.schema is None:
            schema = Schema.model_validate({"kind": "points", "fields": bounded_fields(names, self.bounds)})
            frame: Any = framed(values, names)
        else:
            schema, frame = self.schema, X if hasattr(X, "columns") else framed(values, names)
        release = paid_release(self, KMeans(k=self.n_clusters, preset=self.preset), frame, schema)
        assert isinstance(release, ClustersRelease)
        self.release_ = release
        self.cluster_centers_ = release.centres
        self.labels_ = self._nearest(values)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: N803
        """The number of the nearest centre for every row."""
        check_is_fitted(self)
        return self._nearest(self._checked(X, reset=False))

    def transform(self, X: Any) -> Reals:  # noqa: N803
        """The distance of every row to every centre, each column scaled to -1 ... 1."""
        check_is_fitted(self)
        box = self.release_.box
        points = box.units(self._checked(X, reset=False))
        return np.sqrt(squared(points, box.units(self.cluster_centers_)))

    def score(self, X: Any, y: None = None) -> float:  # noqa: N803
        """Minus the mean squared distance of a row to the nearest centre: not private, as rows are not."""
        check_is_fitted(self)
        box = self.release_.box
        return -nicv(box.units(self._checked(X, reset=False)), box.units(self.cluster_centers_))

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` gives; scikit-learn names them after it."""
        return len(self.cluster_centers_)

    def _checked(self, X: Any, *, reset: bool) -> Reals:  # noqa: N803
        """The rows as numbers, with the columns of the schema where there is one."""
        if self.schema is not None and hasattr(X, "columns"):
            refuse_without(X.columns, self.schema.names)
            X = X[list(self.schema.names)]
        found: Reals = validate_data(self, X, reset=reset, dtype=np.float64)
        return found

    def _nearest(self, values: Reals) -> NDArray[np.int64]:
        box = self.release_.box
        return nearest(box.units(values), box.units(self.cluster_centers_))
