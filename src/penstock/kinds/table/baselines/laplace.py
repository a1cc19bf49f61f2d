"""Laplace: every marginal of so many attributes, measured by itself.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so.
Why: a record lies in one cell of each of the M marginals, so all tables end to end have L1 sensitivity M
(2 M under replace) for each record of a unit; discrete Laplace noise of that scale over epsilon pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from penstock.kinds.table.baselines.marginals import MarginalsRelease, workload
from penstock.kinds.table.data import Table
from penstock.postprocessing import weighted_mean
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import join


@dataclass(frozen=True)
class LaplaceMarginals:
    """Noisy counts of all marginals of `way` attributes."""

    way: int = 2

    def fit(self, table: Table, budget: Budget) -> MarginalsRelease:
        sets = workload(table.schema, self.way)
        budget.check(table.relation)
        sizes = table.schema.sizes
        shapes = [tuple(sizes[name] for name in names) for names in sets]
        cells = [prod(shape) for shape in shapes]
        pay = budget.rest(f"{len(sets)} marginals")
        sealed = join(table.counts(sets))
        deviation = noise.standard_deviation(sealed.sensitivity.l1, pay.epsilon)
        parts = np.split(noise.counts(sealed, pay=pay).astype(np.float64), np.cumsum(cells)[:-1])
        total = (
            float(table.public_size)
            if table.public_size is not None
            else weighted_mean([float(part.sum()) for part in parts], [float(count) for count in cells])
        )
        return MarginalsRelease(
            method="laplace-marginals",
            schema=table.schema,
            receipt=budget.receipt(table.schema.unit, table.relation),
            parameters={"way": self.way},
            total=max(0.0, total),
            way=self.way,
            estimates=[part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)],
            deviations=[deviation] * len(sets),
        )
