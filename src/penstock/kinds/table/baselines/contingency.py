"""Contingency: noisy counts of the whole domain, summed to whatever is asked.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so.
Why: a record lies in one cell, so the table has L1 sensitivity 1 (2 under replace) for each record of a unit.

Two orders of the same post-processing differ widely. Cutting negative cells off in the whole table first
turns the noise of the many empty cells into a floor that drowns the data; summing first lets the noise of
the cells cancel. The literature's comparisons used the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.kinds.table.baselines.full_table import FullTableRelease, Order
from penstock.kinds.table.baselines.workload import domain_shape
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.schema import Schema


@dataclass(frozen=True)
class Contingency(Method[Table]):
    """The whole domain with discrete Laplace noise in every cell.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> rows = pl.DataFrame({"smoker": [True, False] * 500, "coughs": [True, False] * 500})
    >>> release = Contingency().fit(Table.open(rows, schema), Budget(1, randomness=Randomness.seeded(1)))
    >>> release.query("smoker = true and coughs = false").value < 50
    True
    """

    name: ClassVar[str] = "contingency"

    order: Order = "project-first"

    def fit(self, table: Table, budget: Budget) -> FullTableRelease:
        """Count every cell; spends the whole budget."""
        self.ready(table, budget)
        shape = tuple(attribute.size for attribute in table.attributes)
        (sealed,) = table.counts([table.schema.names])
        noisy = noise.counts(sealed, pay=budget.rest("counts of the whole domain"))
        values = noisy.reshape(shape).astype(np.float64)
        total = float(values.sum()) if table.public_size is None else float(table.public_size)
        return FullTableRelease(
            method=self.name,
            schema=table.schema,
            receipt=budget.receipt(table.schema.unit, table.relation),
            parameters={"order": self.order},
            total=max(0.0, total),
            values=values,
            order=self.order,
        )

    def cells(self, schema: Schema) -> int:
        """One number for every cell of the domain."""
        return prod(domain_shape(schema))

    def check(self, schema: Schema) -> None:
        """Refuse a domain that does not fit into memory."""
        domain_shape(schema)
