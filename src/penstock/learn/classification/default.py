"""The default for predicting labels: always the same of the other methods, with its default parameters.

It was chosen on one half of the tables of `studies/linear.py`, and tried on the other. The guarantee is that
of the method that is taken, which `parameters` names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from penstock.contracts.method import Method
from penstock.contracts.parameters import Text
from penstock.kinds.table.data import Table
from penstock.learn.classification.cells import CellsRelease
from penstock.learn.classification.privpfc import PrivPfC
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Schema


@dataclass(frozen=True)
class Classifier(Method[Table]):
    """The default for labels: a grid over the predictors with noisy counts of every label (`privpfc`).

    `target` is the column to predict (None: the schema's), one of categories.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True] * 300 + [False] * 700, "coughs": [True] * 300 + [False] * 700})
    >>> table = Table.open(frame, schema)
    >>> release = Classifier(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "classifier"

    target: Annotated[str | None, Text()] = None

    def check(self, schema: Schema) -> None:
        """Refuse a target that is no column of categories."""
        self._taken().check(schema)

    def cells(self, schema: Schema) -> int:
        """Those of the method that is taken."""
        return self._taken().cells(schema)

    def fit(self, table: Table, budget: Budget) -> CellsRelease:
        """The release of the method that is taken; spends the whole budget."""
        self.ready(table, budget)
        taken = self._taken()
        release = taken.fit(table, budget)
        return replace(release, method=self.name, parameters={**release.parameters, "taken": taken.name})

    def _taken(self) -> PrivPfC:
        return PrivPfC(target=self.target)
