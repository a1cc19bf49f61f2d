"""Rows that predictors of somebody else are judged on, each row by itself.

A row is asked about alone, and rows that are alike are asked about once: so what a predictor answers depends
on that row and on nothing else, not even through the order in which a library adds numbers up. What it costs
to answer so is a whole number of 2**-20 between 0 and 1. A predictor that fails on a row, or answers what no
loss can be computed of, has lost 1 there, and nobody hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from penstock.contracts.data import Handle
from penstock.learn.strangers import attempt, by_itself
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]
Loss = Callable[[Any, Any], float]

ONE = 1 << 20
"""A loss of one, in whole numbers."""


def wrong(answered: Any, true: Any) -> float:
    """The loss of labels: 1 where the answer is another one.

    >>> wrong("yes", "no"), wrong(1.0, 1)
    (1.0, 0.0)
    """
    return float(answered != true)


def by_themselves(given: Any) -> NDArray[Any]:
    """True answers as Python values, none of which decides the type of another one.

    A single 0.5 among whole numbers makes doubles of a whole array, and a loss may tell 1 from 1.0. So every
    number that is whole becomes an int, and others a float.

    >>> by_themselves(np.array([1.0, 0.5, -0.0])).tolist(), by_themselves([True, "yes"]).tolist()
    ([1, 0.5, 0], [1, 'yes'])
    """
    values = column_or_1d(given if hasattr(given, "dtype") else np.asarray(given, dtype=object)).tolist()
    found = np.empty(len(values), dtype=object)
    for place, each in enumerate(values):
        whole = isinstance(each, int | float) and each == each // 1
        found[place] = int(each) if whole else each
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Answered(Handle):
    """Rows of numbers, each with its true answer."""

    values: Reals
    truth: NDArray[Any]
    relation: Relation

    def __repr__(self) -> str:
        return f"Answered(sealed, {self.relation.value})"

    def right(self, predictors: Sequence[Any], loss: Loss) -> Sealed[Counts]:
        """Of each predictor the sum over all rows of 1 less its loss, in whole numbers, sealed."""
        totals = np.zeros(len(predictors), dtype=np.int64)
        known: dict[tuple[bytes, type, str, Any], Counts] = {}
        for row, true in zip(np.ascontiguousarray(self.values), self.truth.tolist(), strict=True):
            alike = (
                row.tobytes(),
                type(true),
                repr(true),
                true,
            )  # 0.0 == -0.0, and a loss may tell them apart
            if alike not in known:
                with by_itself():
                    known[alike] = np.array([_judged(each, row, true, loss) for each in predictors])
            totals += known[alike]
        monotone = self.relation is Relation.ADD_REMOVE
        return Sealed(
            totals,
            Sensitivity.scores(ONE, len(predictors), monotone=monotone),
            self.relation,
            because="predictors and their loss were declared without the rows, and each row is judged by "
            "itself: one that comes adds between 0 and 1 to every sum, and one in its place moves each sum "
            "by 1 at most",
        )


def _judged(predictor: Any, row: Reals, true: Any, loss: Loss) -> int:
    """1 less the loss of one answer, in whole numbers."""
    found = attempt(lambda: float(loss(asked(predictor, row[None, :])[0], true)))
    return 0 if found is None or not 0 <= found <= 1 else ONE - round(found * ONE)


def asked(predictor: Any, rows: Reals) -> Any:
    """What a predictor answers, be it an estimator or a plain function of rows."""
    return predictor.predict(rows) if hasattr(predictor, "predict") else predictor(rows)
