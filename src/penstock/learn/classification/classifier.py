"""What all releases that predict a column share: labels, chances, and predictions for new rows.

A classifier knows parts of the domain, and for each of them a noisy count of every label. Everything here is
post-processing of these counts, and new rows are whoever's they are: predicting for them costs nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.kinds.table.connections import Connections
from penstock.kinds.table.release import TableRelease
from penstock.releases.predicting import Predicting
from penstock.report.picture import Picture

if TYPE_CHECKING:
    import polars as pl

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]
Coded = Mapping[str, NDArray[np.integer]]

LARGEST_COUNT = 1 << 50


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClassifierRelease(Predicting, TableRelease):
    """Parts of the domain with noisy counts of every label: a row for each part, a column for each label.

    `target` is the column that is predicted.
    """

    answer: ClassVar[str] = "classifier"

    target: str
    counts: Numbers

    @property
    @abstractmethod
    def features(self) -> tuple[str, ...]:
        """The columns that are looked at to predict."""

    @abstractmethod
    def part_of(self, codes: Coded, rows: int) -> Numbers:
        """The number of the part that each of so many coded rows lies in."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of their codes."""
        return self.schema.attribute(self.target).labels

    @cached_property
    def believed(self) -> Numbers:
        """The counts without those below zero, which no part can have."""
        return np.clip(self.counts, 0, LARGEST_COUNT)

    @cached_property
    def chances(self) -> Reals:
        """How likely each label is in each part.

        One record more than there are is spread over the labels as they are overall, so that a part without
        records has the overall shares, and labels that are level are told apart by them.
        """
        overall = self.believed.sum(axis=0) + 1.0
        smoothed = self.believed + overall / overall.sum()
        shares: Reals = smoothed / smoothed.sum(axis=1, keepdims=True)
        return shares

    @property
    def predictors(self) -> tuple[str, ...]:
        return tuple(name for name in self.schema.names if name != self.target)

    def predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The likeliest label of each row, and how likely each of the labels is.

        Rows need the columns of `features`. Where a row has no value there that the schema knows, the answer
        is null.
        """
        return self.told(self.chances, rows)

    def told(self, chances: Reals, rows: pl.DataFrame) -> pl.DataFrame:
        """For each row the likeliest label, by the chances of the labels in the row's part, and these."""
        import polars as pl

        codes, known = self._coded(rows)
        part = self.part_of(codes, rows.height)
        here = chances[part].reshape(rows.height, len(self.labels))
        labels = self.schema.codec(self.target).decode(here.argmax(axis=1), np.random.default_rng(0))
        columns = [pl.Series(f"p({label})", here[:, place]) for place, label in enumerate(self.labels)]
        found = pl.DataFrame([labels, *columns])
        return found.with_columns(pl.when(pl.Series(known)).then(pl.all()))

    def _coded(self, rows: pl.DataFrame) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_]]:
        """The codes of the columns that are looked at, and which rows have all of them."""
        lacking = [name for name in self.features if name not in rows.columns]
        if lacking:
            them = "it" if len(lacking) == 1 else "them"
            raise DataError(
                f"The rows lack {', '.join(lacking)}, which this classifier looks at. Add {them}."
            )
        codes = {name: self.schema.codec(name).locate(rows[name]) for name in self.features}
        known = np.ones(rows.height, dtype=np.bool_)
        for column in codes.values():
            known &= column >= 0
        return {name: np.maximum(column, 0) for name, column in codes.items()}, known

    @property
    def connections(self) -> Connections:
        return Connections(tuple(self.in_groups(self.schema.names)), target=self.target)

    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        inner = {*self.features, self.target}
        together = tuple(name for name in names if name in inner)
        alone: list[tuple[str, ...]] = [(name,) for name in names if name not in inner]
        return [together, *alone] if together else alone

    def right(self) -> float:
        """The share of records that it would get right, by its own noisy counts."""
        return float(self.believed.max(axis=1).sum() / max(1, self.believed.sum()))

    def remarks(self) -> Sequence[str]:
        looked = ", ".join(self.features) or "no column at all"
        return [f"It predicts {self.target} from {looked}.", *super().remarks()]

    def details(self) -> Mapping[str, Any]:
        return {"target": self.target, "features": list(self.features), **super().details()}

    def limits(self) -> Sequence[str]:
        return [
            f"Only {self.target} and the columns that it is predicted from are known together. In synthetic "
            "rows all other columns take every value equally often."
        ]

    def pictures(self) -> Sequence[Picture]:
        from penstock.learn.classification.pictures import overall

        return [overall(self)]
