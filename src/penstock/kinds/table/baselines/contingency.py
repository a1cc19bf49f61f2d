"""Contingency: noisy counts of the whole domain, summed to whatever is asked.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so.
Why: a record lies in one cell, so the table has L1 sensitivity 1 (2 under replace) for each record of a unit.

Two orders of the same post-processing differ widely. Cutting negative cells off in the whole table first
turns the noise of the many empty cells into a floor that drowns the data; summing first lets the noise of
the cells cancel. The literature's comparisons used the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import UsageError
from penstock.kinds.table.baselines.full_table import ORDERS, FullTableRelease, Order, domain_shape
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise


@dataclass(frozen=True)
class Contingency:
    """The whole domain with discrete Laplace noise in every cell."""

    order: Order = "project-first"

    def fit(self, table: Table, budget: Budget) -> FullTableRelease:
        if self.order not in ORDERS:
            raise UsageError(f"order must be {' or '.join(ORDERS)}, not {self.order!r}. Nothing was spent.")
        shape = domain_shape(table.schema)
        budget.check(table.relation)
        (sealed,) = table.counts([table.schema.names])
        noisy = noise.counts(sealed, pay=budget.rest("counts of the whole domain"))
        values = noisy.reshape(shape).astype(np.float64)
        total = float(values.sum()) if table.public_size is None else float(table.public_size)
        return FullTableRelease(
            method="contingency",
            schema=table.schema,
            receipt=budget.receipt(table.schema.unit, table.relation),
            parameters={"order": self.order},
            total=max(0.0, total),
            values=values,
            order=self.order,
        )
