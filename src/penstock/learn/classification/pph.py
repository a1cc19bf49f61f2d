"""PPH, the private projected histogram: columns chosen one by one, and the table of those columns counted.

Guarantee: pure epsilon for one record added or removed (for one user: as many records as the schema allows).
Why: every look at the records is one of these, and their parts of the budget add up to the whole.

1. *Number of records*, unless the schema makes it public: one noisy count, which says how finely a histogram
   can be counted.
2. *Columns*: half of the rest is divided evenly over the choices. The score of some columns is how many pairs
   of records with different labels they tell apart, divided by the number n of records. One record more makes
   at most n new such pairs, and none fewer, so that the score rises by less than 1; and because there are at
   most n^2/2 pairs, the larger n lowers it by less than 1/2: changes lie in a range of 3/2, whatever n is.
   Scores are rounded down to steps, which is part of the stated bound.
3. *Counts* of every label in every cell of the chosen columns, for all that is left.

A categorical column is counted value by value, one of a range in bins of equal width (by the bins of the
schema) whose number follows Lei's rule for the number of records.

Reference: S. Vinterbo, "Differentially private projected histograms: construction and use for prediction"
(ECML PKDD 2012). The score is our reading of discernibility; the paper divides by nothing, and its bound on
one record's influence is the number of records.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, log, prod, sqrt
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Share, Text, Whole
from penstock.errors import UsageError
from penstock.kinds.table.data import Table
from penstock.kinds.table.target import target_of
from penstock.learn.classification.cells import MOST_CELLS, CellsRelease, counted, number_of_records
from penstock.learn.classification.partition import Groups, Partition, named, refuse_unless_added
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Attribute, Schema

Counts = NDArray[np.int64]

STEPS = 1 << 20
RANGE = Fraction(3, 2)


@dataclass(frozen=True)
class PPH(Method[Table]):
    """A table of a few columns that tell labels apart, with noisy counts of every label in every cell.

    `target` is the column to predict (None: the schema's) and `columns` how many others are looked at (None:
    as many as `ratio` times records times the epsilon of the counts has cells for). `size_share` of the
    budget pays for the number of records.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True] * 300 + [False] * 700, "coughs": [True] * 300 + [False] * 700})
    >>> table = Table.open(frame, schema)
    >>> release = PPH(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "pph"

    target: Annotated[str | None, Text()] = None
    columns: Annotated[int | None, Whole(1, 100)] = None
    ratio: Annotated[Amount, Exact(least=Fraction(1, 1000), most=1000)] = "1/5"
    size_share: Annotated[Amount, Share()] = "3/100"

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, and a target that is no column of categories."""
        refuse_unless_added(schema)
        target_of(schema, self.target)
        if self.columns is not None and self.columns >= len(schema.fields):
            raise UsageError(
                f"columns must be below the number of columns, {len(schema.fields)}, not {self.columns}. "
                "Nothing was spent."
            )

    def cells(self, schema: Schema) -> int:
        """No release has more counts than this."""
        return MOST_CELLS

    def fit(self, table: Table, budget: Budget) -> CellsRelease:
        """Choose columns and count their table; spends the whole budget."""
        self.ready(table, budget)
        target = target_of(table.schema, self.target)
        predictors = [attribute for attribute in table.attributes if attribute.name != target]
        number, spread = number_of_records(table, budget, exact(self.size_share, "size_share"))
        records = max(0, number or table.public_size or 0)
        for_counts = budget.left[0] / 2 / table.schema.unit.records
        most = min(
            floor(exact(self.ratio, "ratio") * records * for_counts), MOST_CELLS // table.schema.sizes[target]
        )
        many = self.columns or _affordable(predictors, records, most)
        offered = [_binned(attribute, bins_of(records, many)) for attribute in predictors]
        chosen: list[Groups] = []
        share = budget.left[0] / budget.epsilon / 2 / max(1, many)
        for step in range(many):
            fitting = [
                groups
                for groups in offered
                if groups not in chosen and prod(one.size for one in (*chosen, groups)) <= most
            ]
            if not fitting:
                break
            part = budget.part(f"column {step + 1}", share)
            chosen.append(fitting[self._next(table, target, chosen, fitting, part)])
        return counted(
            self.name,
            table,
            target,
            Partition(tuple(chosen)),
            budget,
            parameters={
                "target": target,
                "columns": self.columns,
                "ratio": str(exact(self.ratio)),
                "size_share": str(exact(self.size_share)),
            },
            number=(number, spread),
        )

    def _next(
        self, table: Table, target: str, chosen: list[Groups], fitting: list[Groups], pay: Budget
    ) -> int:
        """Which column to look at next, beside those that are chosen."""
        labels = table.schema.sizes[target]
        units = table.schema.unit.records
        scores = table.scored(
            [Partition((*chosen, groups)).marginal(target) for groups in fitting],
            lambda tables: np.array([discerned(one.reshape(-1, labels)) for one in tables], dtype=np.int64),
            Sensitivity.scores(units * (STEPS + 1), len(fitting), spread=units * (floor(RANGE * STEPS) + 2)),
            because="one record more makes at most n pairs to be told apart and none fewer, which raises "
            "their number over n by less than 1, and the larger n lowers it by less than 1/2; rounding costs "
            "one step more",
        )
        return choice.best(scores, pay, method="exponential")


def discerned(table: Counts) -> int:
    """Pairs of records with different labels that lie in different cells, per record, in steps.

    >>> discerned(np.array([[3, 0], [0, 2]])) == 6 * STEPS // 5
    True
    """
    records = int(table.sum())
    if records == 0:
        return 0
    return STEPS * (_unlike(table.sum(axis=0)[None, :]) - _unlike(table)) // records


def _unlike(table: Counts) -> int:
    """Pairs of records of one cell with different labels, over all cells; exact also where they are many."""
    cells = [int(cell) for cell in table.sum(axis=1)]
    return (sum(cell * cell for cell in cells) - sum(int(one) * int(one) for one in table.ravel())) // 2


def bins_of(records: int, columns: int) -> int:
    """Lei's rule: how many bins a column of a range has in a histogram of so many columns.

    >>> bins_of(45_222, 3), bins_of(0, 3)
    (45, 1)
    """
    if records < 3 or columns < 1:
        return 1
    bins: float = (records / sqrt(log(records))) ** (2 / (2 + columns))
    return max(1, floor(bins))


def _binned(attribute: Attribute, bins: int) -> Groups:
    """The values of a column of categories, or so many bins of equal width of a range."""
    of = np.arange(attribute.size, dtype=np.int64)
    if attribute.ordered and bins < attribute.regular:
        of[: attribute.regular] = np.arange(attribute.regular) * bins // attribute.regular
        of[attribute.regular :] = bins + np.arange(attribute.size - attribute.regular)
    return named(attribute, of)


def _affordable(predictors: list[Attribute], records: int, most: int) -> int:
    """The largest number of columns such that the smallest ones have no more cells than may be."""
    found = 0
    for columns in range(1, len(predictors) + 1):
        sizes = sorted(_binned(attribute, bins_of(records, columns)).size for attribute in predictors)
        if prod(sizes[:columns]) > most:
            break
        found = columns
    return found
