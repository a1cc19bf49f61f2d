"""Scores of a split, from how many records of each class its parts have.

`max` is the number of records that have the most frequent class of their part; without a class, the size of
the largest part. One record more raises it by 0 or 1. `gain` (information gain, in bits) and `gini`
(reduction of the Gini impurity) are relative to the size of the part: each lies between 0 and its bound,
log2(classes) and 1 - 1/classes, and one record can move it by as much where there are few. That is why `max`
is the default: it grows with the number of records, where the others drown in the same noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.seals.sensitivity import Sensitivity

Measure = Literal["max", "gain", "gini"]
STEPS = 1 << 16
"""Scores that are no whole numbers are rounded down to such steps; the sensitivity has room for it."""


@dataclass(frozen=True)
class Score:
    """A measure of how much a split tells apart, in whole steps.

    >>> Score("max").of(np.array([[5, 1], [0, 3]])), Score("gain").of(np.array([[4, 0], [0, 4]])) == STEPS
    (8, True)
    """

    measure: Measure

    def of(self, table: NDArray[np.int64]) -> int:
        """Of a table with a row for each part and a column for each class."""
        if self.measure == "max":
            return int(table.max(axis=1).sum() if table.shape[1] > 1 else table.max(initial=0))
        total = float(table.sum())
        if total == 0:
            return 0
        impurity = _bits if self.measure == "gain" else _gini
        inside = sum(float(row.sum()) / total * impurity(row) for row in table if row.any())
        return int(np.floor(STEPS * max(0.0, impurity(table.sum(axis=0)) - inside)))

    def bound(self, classes: int) -> int:
        """How far one record can move it, in steps, with one more for rounding."""
        if self.measure == "max":
            return 1
        return ceil(STEPS * (log2(classes) if self.measure == "gain" else 1 - 1 / classes)) + 1

    def sensitivity(self, records: int, candidates: int, classes: int) -> Sensitivity:
        """Of the scores of so many splits, for a unit of so many records."""
        return Sensitivity.scores(records * self.bound(classes), candidates, monotone=self.measure == "max")


def _bits(counts: NDArray[np.int64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _gini(counts: NDArray[np.int64]) -> float:
    return float(1 - ((counts / counts.sum()) ** 2).sum())
