"""The default for predicting numbers: always the same of the other methods, with its default parameters.

It was chosen on one half of the tables of `studies/linear.py`, where its mean is the best, and tried on the
other, where another method is better in the mean; it is the one that is least often worse than answering the
mean. The guarantee is that of the method that is taken, which `parameters` names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from penstock.contracts.method import Method
from penstock.contracts.parameters import Text
from penstock.kinds.table.data import Table
from penstock.learn.linear.features import target_column
from penstock.learn.linear.functional import FunctionalMechanism
from penstock.learn.linear.release import LinearRelease
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Schema


@dataclass(frozen=True)
class Regression(Method[Table]):
    """The default for numbers: linear regression from noisy sums of products (`functional-mechanism`).

    `target` is the column to predict (None: the schema's), a range of numbers.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... fields:
    ...   - {name: rooms, type: integer, constraints: {minimum: 1, maximum: 9}}
    ...   - {name: rent, type: number, constraints: {minimum: 0, maximum: 900}, bins: {count: 100}}
    ... ''')
    >>> rooms = [1 + row % 9 for row in range(9000)]
    >>> table = Table.open(pl.DataFrame({"rooms": rooms, "rent": [100.0 * each for each in rooms]}), schema)
    >>> release = Regression(target="rent").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> [round(rent, -2) for rent in release.predict(pl.DataFrame({"rooms": [2, 8]}))["rent"]]
    [200.0, 800.0]
    """

    name: ClassVar[str] = "regression"

    target: Annotated[str | None, Text()] = None

    def check(self, schema: Schema) -> None:
        """Refuse a target that is no range of numbers."""
        target_column(schema, self.target, "numbers")

    def cells(self, schema: Schema) -> int:
        """Those of the method that is taken."""
        return self._taken().cells(schema)

    def fit(self, table: Table, budget: Budget) -> LinearRelease:
        """The release of the method that is taken; spends the whole budget."""
        self.ready(table, budget)
        taken = self._taken()
        release = taken.fit(table, budget)
        return replace(release, method=self.name, parameters={**release.parameters, "taken": taken.name})

    def _taken(self) -> FunctionalMechanism:
        return FunctionalMechanism(target=self.target)
