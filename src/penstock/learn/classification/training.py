"""Training any classifier on labelled cells: weights instead of rows. Post-processing of public counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.learn.classification.partition import ANY, Partition

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

WEIGHT = "weight"
MOST_ROWS = 50_000_000


class Cells(Protocol):
    """What is needed of a release to train on it."""

    @property
    def schema(self) -> Schema: ...

    @property
    def target(self) -> str: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def partition(self) -> Partition: ...

    @property
    def believed(self) -> Numbers: ...

    @property
    def chances(self) -> Reals: ...

    def told(self, chances: Reals, rows: pl.DataFrame) -> pl.DataFrame: ...


def occupied(cells: Cells) -> tuple[Numbers, Numbers, Numbers]:
    """Cells and labels that seem to occur, and how many records each stands for."""
    places, labels = np.nonzero(cells.believed)
    return places, labels, cells.believed[places, labels]


def training_table(cells: Cells) -> pl.DataFrame:
    """A row for each cell and label that seems to occur; the last column is its weight."""
    import polars as pl

    places, labels, weights = occupied(cells)
    groups = cells.partition.places()[places]
    columns: list[pl.Series] = []
    for name in cells.schema.names:
        if name in cells.partition.names:
            axis = cells.partition.names.index(name)
            known = pl.Series(name, cells.partition.groups[axis].labels, dtype=pl.String)
            columns.append(known.gather(groups[:, axis]))
        elif name != cells.target:
            columns.append(pl.Series(name, [ANY] * len(places), dtype=pl.String))
    columns.append(pl.Series(cells.target, cells.labels, dtype=pl.String).gather(labels))
    weight = WEIGHT
    while weight in cells.schema.names:
        weight += "_"
    return pl.DataFrame([*columns, pl.Series(weight, weights, dtype=pl.Int64)])


def replicated(table: pl.DataFrame) -> pl.DataFrame:
    """Every row as often as its weight, the last column, says; without that column."""
    import polars as pl

    weights = table.to_series(table.width - 1).to_numpy()
    if weights.sum() > MOST_ROWS:
        raise UsageError(f"That would be more than {MOST_ROWS:,} rows; use the weights.")
    rows = table.drop(table.columns[-1])
    return rows.select(pl.all().gather(np.repeat(np.arange(table.height), weights)))


def indicators(partition: Partition) -> Reals:
    """A row for each cell, and a column of 0 and 1 for each group of each column."""
    places = partition.places()
    parts = [np.eye(groups.size)[places[:, axis]] for axis, groups in enumerate(partition.groups)]
    return np.concatenate([np.zeros((partition.cells, 0)), *parts], axis=1)


@dataclass(frozen=True, eq=False)
class Trained:
    """A classifier that was trained on labelled cells, and predicts for rows of the original schema.

    `estimator` is None where only one label seems to occur, or no column is looked at: then there is nothing
    to learn, and every row gets the likeliest label.
    """

    cells: Cells
    estimator: Any
    known: tuple[int, ...]

    @classmethod
    def on(cls, cells: Cells, estimator: Any) -> Trained:
        """The estimator, cloned and trained on the counts."""
        from sklearn.base import clone
        from sklearn.utils.validation import has_fit_parameter

        places, labels, weights = occupied(cells)
        known = tuple(np.unique(labels).tolist())
        if len(known) < 2 or not cells.partition.groups:
            return cls(cells, None, known)
        x, fresh = indicators(cells.partition)[places], clone(estimator)
        if has_fit_parameter(fresh, "sample_weight"):
            fresh.fit(x, labels, sample_weight=weights.astype(np.float64))
        else:
            if weights.sum() > MOST_ROWS:
                raise UsageError(
                    f"The learner takes no weights, and more than {MOST_ROWS:,} rows are too many."
                )
            fresh.fit(np.repeat(x, weights, axis=0), np.repeat(labels, weights))
        return cls(cells, fresh, known)

    def predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The label of each row, and how likely each label is as far as the learner says."""
        return self.cells.told(self._by_cell, rows)

    @cached_property
    def _by_cell(self) -> Reals:
        """The chance of each label in each cell: a cell is all that the learner sees of a row."""
        labels, cells = len(self.cells.labels), self.cells.partition.cells
        if self.estimator is None:
            return np.tile(self.cells.chances.mean(axis=0), (cells, 1))
        x = indicators(self.cells.partition)
        answered = np.asarray(self.estimator.predict(x)).astype(np.int64)
        found = np.zeros((cells, labels))
        if hasattr(self.estimator, "predict_proba"):
            found[:, np.asarray(self.estimator.classes_).astype(np.int64)] = self.estimator.predict_proba(x)
            top = found.max(axis=1)
            wrong = (
                found[np.arange(cells), answered] < top
            )  # rounding, or a rule of its own: the label decides
            found[wrong] = 0.0
            found[wrong, answered[wrong]] = 1.0
            return found
        found[np.arange(cells), answered] = 1.0
        return found
