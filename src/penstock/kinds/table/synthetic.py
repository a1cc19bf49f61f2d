"""A classifier from any release of a table: trained on synthetic rows, and as private as the release.

Synthetic rows are drawn from the release, and a scikit-learn classifier learns from them to predict one
column from all others. Everything here is post-processing of a public release: it costs nothing, and reads no
record. Where only one column is to be predicted, a release that was made for it (`privpfc`) is better on most
tables; this is for those who have a release of all columns already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.kinds.table.target import target_of
from penstock.releases.predicting import Predicting
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]


@runtime_checkable
class Drawn(Protocol):
    """A release of a whole table, from which rows of codes are drawn."""

    @property
    def schema(self) -> Schema: ...

    def draw_codes(self, n: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]: ...


ROWS = 20_000
MOST_ROWS = 10_000_000
AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class SyntheticClassifier(Predicting):
    """A classifier of one column of a schema; make it with `trained_on`.

    `estimator` is None where the release knows only one label, which is then the answer for every row.
    """

    schema: Schema
    target: str
    estimator: Any
    known: Numbers
    rows: int

    @property
    def learned_from(self) -> str:
        learner = "the only label of" if self.estimator is None else f"{type(self.estimator).__name__} on"
        return f"{learner} {self.rows:,} synthetic rows of the release"

    @property
    def predictors(self) -> tuple[str, ...]:
        return tuple(name for name in self.schema.names if name != self.target)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of their codes."""
        return self.schema.attribute(self.target).labels

    def predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The likeliest label of each row, and how likely each of the labels is as far as the learner says.

        Null where a row has no value of a column that the schema knows.
        """
        import polars as pl

        self.refuse_without_predictors(rows)
        codes = {name: self.schema.codec(name).locate(rows[name]) for name in self.predictors}
        there = np.ones(rows.height, dtype=np.bool_)
        for column in codes.values():
            there &= column >= 0
        found = np.zeros((rows.height, len(self.labels)))
        for begin in range(0, rows.height, AT_ONCE):
            part = {name: np.maximum(column[begin : begin + AT_ONCE], 0) for name, column in codes.items()}
            found[begin : begin + AT_ONCE] = self._chances(part, min(AT_ONCE, rows.height - begin))
        told = self.schema.codec(self.target).decode(found.argmax(axis=1), np.random.default_rng(0))
        columns = [pl.Series(f"p({label})", found[:, place]) for place, label in enumerate(self.labels)]
        return pl.DataFrame([told, *columns]).with_columns(pl.when(pl.Series(there)).then(pl.all()))

    def _chances(self, codes: Mapping[str, NDArray[Any]], rows: int) -> Reals:
        found = np.zeros((rows, len(self.labels)))
        if self.estimator is None:
            found[:, self.known[0]] = 1.0
        elif hasattr(self.estimator, "predict_proba"):
            found[:, self.known] = self.estimator.predict_proba(indicators(self.schema, self.target, codes))
        else:
            answers = self.estimator.predict(indicators(self.schema, self.target, codes))
            found[np.arange(rows), np.asarray(answers).astype(np.int64)] = 1.0
        return found


def indicators(schema: Schema, target: str, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
    """A column of 0 and 1 for each code of each predictor."""
    parts = [
        np.eye(size, dtype=np.float32)[np.asarray(codes[name]).astype(np.int64)]
        for name, size in schema.sizes.items()
        if name != target
    ]
    return np.concatenate(parts, axis=1)


def trained_on(
    release: Drawn,
    estimator: Any = None,
    *,
    target: str | None = None,
    rows: int = ROWS,
    seed: int = 0,
) -> SyntheticClassifier:
    """A classifier that learns from synthetic rows of a release; it costs nothing further.

    `estimator` is any classifier of scikit-learn (None: logistic regression) and `target` the column to
    predict (None: the schema's). So many `rows` are drawn, the same for the same `seed`, with a column of 0
    and 1 for each value of each column.

    >>> from penstock import Schema, release
    >>> from penstock.demo import survey, survey_schema
    >>> made = release(survey(2000), Schema.from_yaml(survey_schema()), epsilon=1, seed=1)
    >>> trained_on(made, target="commute", rows=2000).predict(survey(3)).columns[0]
    'commute'
    """
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression

    if not isinstance(release, Drawn):
        raise UsageError("A classifier learns from synthetic rows of a table; this release has none.")
    if isinstance(release, Predicting):
        raise UsageError("This release is a classifier itself; use its 'predict', or 'trained'.")
    if not 1 <= rows <= MOST_ROWS:
        raise UsageError(f"rows must be from 1 to {MOST_ROWS:,}, not {rows}.")
    schema = release.schema
    name = target_of(schema, target)
    if len(schema.names) < 2:
        raise UsageError("There is no other column to predict from.")
    codes = release.draw_codes(rows, np.random.default_rng(seed))
    labels = np.asarray(codes[name]).astype(np.int64)
    known = np.unique(labels)
    if len(known) < 2:
        return SyntheticClassifier(schema, name, None, known, rows)
    learner = LogisticRegression(max_iter=200) if estimator is None else clone(estimator)
    learner.fit(indicators(schema, name, codes), labels)
    return SyntheticClassifier(schema, name, learner, known, rows)
