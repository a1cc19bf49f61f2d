"""Releases that predict: the cluster that a new row is nearest to, or the label or number that it likely has.

Predicting is post-processing of a public model and costs nothing. What comes out is about the rows that were
given: if they are private, so is the answer, whoever made the model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from penstock.errors import DataError

if TYPE_CHECKING:
    import polars as pl


class Predicting(ABC):
    """Mixed into a release that predicts."""

    @property
    @abstractmethod
    def predictors(self) -> tuple[str, ...]:
        """The columns that rows must have: those of the schema, without a target."""

    @abstractmethod
    def predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each row, in order.

        The first column is `cluster` (a whole number) or has the target's name (a label or a number); it is
        null where the row lacks what the model asks for. Behind it stands, where known, a column `p(<label>)`
        for each label. Columns that the model does not ask for may be there, and are not looked at.
        """

    @property
    def learned_from(self) -> str:
        """What answers, where that is a learner beside the release: in a few words, for whoever asks."""
        return ""

    def refuse_without_predictors(self, rows: pl.DataFrame) -> None:
        """Raise DataError when a column is missing that the model asks for."""
        lacking = [name for name in self.predictors if name not in rows.columns]
        if lacking:
            columns, them = ("columns", "them") if len(lacking) > 1 else ("column", "it")
            raise DataError(
                f"The rows lack the {columns} {', '.join(lacking)}; this release needs {them} to predict."
            )
