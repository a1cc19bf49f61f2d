"""The most frequent label: one noisy count of every label, and nothing else.

Guarantee: pure epsilon for one record added or removed (for one user: as many records as the schema allows).
Why: a record has one label, so the counts have L1 sensitivity 1; all of the budget is spent on them.

Whatever does no better than this has learned nothing from the other columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from penstock.contracts.method import Method
from penstock.contracts.parameters import Text
from penstock.kinds.table.data import Table
from penstock.kinds.table.target import target_of
from penstock.learn.classification.cells import CellsRelease, counted
from penstock.learn.classification.partition import Partition, refuse_unless_added
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Schema


@dataclass(frozen=True)
class MajorityLabel(Method[Table]):
    """Noisy counts of the labels of a column; every row is given the most frequent one.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True] * 40, "coughs": [True] * 30 + [False] * 10})
    >>> table = Table.open(frame, schema)
    >>> release = MajorityLabel(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [False]}))["coughs"].to_list()
    [True]
    """

    name: ClassVar[str] = "majority-label"

    target: Annotated[str | None, Text()] = None

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, and a target that is no column of categories."""
        refuse_unless_added(schema)
        target_of(schema, self.target)

    def fit(self, table: Table, budget: Budget) -> CellsRelease:
        """Count the labels; spends the whole budget."""
        self.ready(table, budget)
        target = target_of(table.schema, self.target)
        return counted(self.name, table, target, Partition(), budget, parameters={"target": target})
