"""PrivLocal: weights of a linear predictor, one step along one coordinate after another.

Guarantee: pure epsilon for one record added or removed, or replaced (or one user with as many records as the
schema allows).
Why: the records decide in the choices alone, of which each has an equal part of the budget. A choice is among
steps of length s along the coordinates. A step moves the loss of a record by no more than s times the largest
feature and the steepest slope of the loss, so that the scores of two steps move against each other by twice
that, and by four times that when a record is replaced. The number of rounds is public, or follows from a
number of records that is paid for.

Reference: D. Su, "Differentially private data publishing for data analysis" (PhD thesis, Purdue 2016),
section 2.6.4 (ExpSearch), after a program that came with PrivGene.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from penstock.contracts.parameters import Number
from penstock.learn.search.climbing import climbed, steps_of
from penstock.learn.search.judged import Judged
from penstock.learn.search.method import LinearSearch, Weights, weight_of_one
from penstock.privacy.budgets.budget import Budget

RECORDS_PER_ROUND = 300.0


@dataclass(frozen=True)
class PrivLocal(LinearSearch):
    """A linear predictor of labels or numbers, found step by step from weights of 0.

    `step` is the length of the first step, for features between -1 and 1, and each is `decay` times as long
    as the one before.

    >>> import polars as pl
    >>> from penstock.kinds.table.data import Table
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True, False] * 400, "coughs": [True, False] * 400})
    >>> table = Table.open(frame, schema)
    >>> release = PrivLocal(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "privlocal"

    step: Annotated[float, Number(above=0.0, most=10.0)] = 0.5
    decay: Annotated[float, Number(above=0.0, most=1.0)] = 0.95

    def _searched(self, judged: Judged, pay: Sequence[Budget]) -> Weights:
        start = np.zeros(judged.problem.features.number, dtype=np.int64)
        steps = steps_of(self.step, self.decay, len(pay), weight_of_one(judged.problem))
        return climbed(start, judged.falls, steps, pay)

    def _settings(self) -> Mapping[str, Any]:
        return {"step": self.step, "decay": self.decay}

    @property
    def _each(self) -> tuple[float, int]:
        return RECORDS_PER_ROUND, 1
