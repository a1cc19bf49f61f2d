"""Laplace: every marginal of so many attributes, measured by itself.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so.
Why: a record lies in one cell of each of the M marginals, so all tables end to end have L1 sensitivity M
(2 M under replace) for each record of a unit; discrete Laplace noise of that scale over epsilon pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.kinds.table.baselines.marginals import MarginalsRelease
from penstock.kinds.table.baselines.workload import workload
from penstock.kinds.table.data import Table
from penstock.postprocessing import weighted_mean
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import join
from penstock.schema import Schema


@dataclass(frozen=True)
class LaplaceMarginals(Method[Table]):
    """Noisy counts of all marginals of `way` attributes.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> rows = pl.DataFrame({"smoker": [True, False] * 500, "coughs": [True, False] * 500})
    >>> release = LaplaceMarginals().fit(Table.open(rows, schema), Budget(1, randomness=Randomness.seeded(1)))
    >>> release.query("smoker = true and coughs = false").value < 50
    True
    """

    name: ClassVar[str] = "laplace-marginals"

    way: Annotated[int, Whole(least=1)] = 2

    def fit(self, table: Table, budget: Budget) -> MarginalsRelease:
        """Count every marginal; spends the whole budget."""
        self.ready(table, budget)
        sizes = {attribute.name: attribute.size for attribute in table.attributes}
        sets = workload(table.schema, self.way)
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
            method=self.name,
            schema=table.schema,
            receipt=budget.receipt(table.schema.unit, table.relation),
            parameters={"way": self.way},
            total=max(0.0, total),
            way=self.way,
            estimates=[part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)],
            deviations=[deviation] * len(sets),
        )

    def check(self, schema: Schema) -> None:
        """Refuse more attributes than there are, and marginals that do not fit into memory."""
        workload(schema, self.way)
