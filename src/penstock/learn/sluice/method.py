"""Sluice: every set counted where the universe is small, else frequent items as columns of a table.

Our own method, and the default for item sets.

Guarantee: pure epsilon for one set added or removed (for one user: as many sets as the schema allows a user).
Why: every look at the records is one of these, and their parts of the budget add up to the whole.

1. *Number of sets*, where the universe is small: one noisy count. It decides which way is taken: with at
   least as many sets times epsilon as there are possible sets, each of these is worth counting.
2. *Every set* over a small universe, counted once: L1 sensitivity 1. Or else:
3. *Sizes* of sets and *supports* of all items, where not all items can be columns: a set is counted once in a
   histogram of sizes, and as a whole for each of its items where it has no more of them than half of the sets
   have, by the noisy sizes. Otherwise it divides that number evenly among its items. So that number is the L1
   sensitivity of the supports. What is lost is made up for, by the noisy sizes again.
4. *A table* whose columns say whether a set has an item, of the items with the largest noisy supports,
   released by the default method for tables with the rest of the budget. A set is one row of it.

What follows is post-processing: counts that are too small to be believed are replaced by a distribution that
agrees with their sums (`smoothing`); synthetic rows become sets, and items that are no columns are spread
over them as often as is likely (`penstock.kinds.itemsets.supports`). They are left out where sets have a good
part of all items: what goes with what then matters more than how often, and chance would bring together what
excludes each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.errors import UsageError
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.release import SetsRelease
from penstock.kinds.itemsets.supports import (
    Sizes,
    Supports,
    gathered,
    holding,
    shortened,
    spread_by_size,
    whole,
)
from penstock.kinds.itemsets.weighted import Numbers, WeightedSets
from penstock.kinds.itemsets.writing import refuse_unwritable, universe_of
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.data import Table
from penstock.learn.sluice.rows import drawn_rows
from penstock.learn.sluice.smoothing import plausible
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.schema import Schema

MOST_CELLS_OF = 18
"""Universes of more items have too many sets to count each of them."""
CLEAR = 4
"""A column is worth its noise when its item's support is so many times the scale of the supports' noise."""
FREQUENT = 0.03
"""And when so large a share of the sets has it: what goes with rarer items is next to independent of them."""
DENSE = 0.1
"""Sets that have a larger share of all items, on average, are described by their frequent items alone."""
SPARSE = 0.1
"""Items are spread by chance if a smaller share of the sets has them."""
MOST_DRAWN = 4_000_000
"""No more rows of the table are drawn; each stands for several sets where there seem to be more."""

Way = Literal["auto", "cells", "columns"]


@dataclass(frozen=True)
class Sluice(Method[ItemSets]):
    """Synthetic sets of items, whatever the universe.

    `way` is how: "cells" counts every set over the universe, "columns" makes the frequent items columns of a
    table, at most `columns` of them, and "auto" decides by the size of the universe and a noisy count of the
    sets.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, butter, milk]}}
    ... ''')
    >>> baskets = pl.DataFrame({"basket": ["milk"] * 900 + ["milk bread"] * 600})
    >>> sets = ItemSets.open(baskets, schema)
    >>> release = Sluice().fit(sets, Budget(1, randomness=Randomness.seeded(1)))
    >>> 1400 < release.count("milk").value < 1600
    True
    """

    name: ClassVar[str] = "sluice"

    way: Way = "auto"
    columns: Annotated[int, Whole(2, 500)] = 30

    def check(self, schema: Schema) -> None:
        """Refuse what the sets could not be written with, and a universe too large to count every set of."""
        refuse_unwritable(schema)
        items = universe_of(schema)
        if self.way == "cells" and items > MOST_CELLS_OF:
            raise UsageError(
                f"way 'cells' counts every set over the universe, which may have up to {MOST_CELLS_OF} items "
                f"and has {items}; use way 'columns'. Nothing was spent."
            )

    def fit(self, sets: ItemSets, budget: Budget) -> SetsRelease:
        """Count every set, or make a table of the frequent items; spends the whole budget."""
        self.ready(sets, budget)
        items = len(sets.universe)
        way, rest = self.way, budget
        if way == "auto" and items > MOST_CELLS_OF:
            way = "columns"
        elif way == "auto":
            for_number, rest = budget.split(number="1/50", sets="49/50")
            number = int(np.asarray(noise.counts(sets.size(), pay=for_number))[0])
            enough = number * rest.epsilon >= sets.schema.unit.records << items
            way = "cells" if enough else "columns"
        found, empty = self._counted(sets, rest) if way == "cells" else self._columns(sets, rest)
        return SetsRelease(
            method=self.name,
            schema=sets.schema,
            parameters={"way": self.way, "columns": self.columns, "taken": way},
            receipt=budget.receipt(sets.schema.unit, sets.relation),
            sets=found.up_to(ItemSetLayout.of(sets.schema).largest),
            empty=empty,
            divided=0,
            left_out=0,
        )

    def _counted(self, sets: ItemSets, budget: Budget) -> tuple[WeightedSets, int]:
        """Every set over the universe, counted and made plausible."""
        table = sets.table()
        deviation = noise.standard_deviation(table.sensitivity.l1, budget.left[0])
        counts = whole(plausible(np.asarray(noise.counts(table, pay=budget)), deviation))
        rows = np.flatnonzero(counts[1:]) + 1
        has = rows[:, None] >> np.arange(len(sets.universe)) & 1
        return WeightedSets(has.sum(axis=1), np.nonzero(has)[1], counts[rows]), int(counts[0])

    def _columns(self, sets: ItemSets, budget: Budget) -> tuple[WeightedSets, int]:
        """The frequent items as columns of a table, and the others spread over its rows."""
        items = np.arange(len(sets.universe))
        beside: Numbers = np.zeros(0, dtype=np.int64)
        supports: Numbers = beside
        sizes = None
        if len(items) > self.columns:
            for_sizes, rest = budget.split(sizes="1/20", items="19/20")
            sizes = Sizes.paid(sets, for_sizes)
            dense = sizes.mean > DENSE * len(items)
            share = Fraction(1, 4) if dense else Fraction(1, 2)
            for_supports, budget = rest.split(supports=share, table=1 - share)
            counted = Supports.paid(sets, sizes, for_supports)
            order = np.argsort(-counted.noisy, kind="stable")
            least = max(CLEAR * counted.scale, FREQUENT * sizes.number)
            clear = int(np.count_nonzero(counted.noisy > least))
            cut = min(self.columns, max(2, clear))
            items, others = np.sort(order[:cut]), order[cut:]
            if not dense:
                guess = counted.likely()[others]
                rare = (guess > 0) & (guess < SPARSE * sizes.number)
                beside, supports = others[rare], guess[rare]
        table = sets.as_columns(Table, items.tolist())
        release = Confluence().fit(table, budget)
        times = max(1, -(-release.size // MOST_DRAWN))
        rows = drawn_rows(release, table.schema.names, round(release.size / times))
        largest = ItemSetLayout.of(sets.schema).largest
        found, empty = as_sets(rows, items, beside, supports // times, sizes, largest)
        return WeightedSets(found.sizes, found.items, found.weights * times), empty * times


def as_sets(
    rows: NDArray[np.bool_],
    items: Numbers,
    beside: Numbers,
    supports: Numbers,
    sizes: Sizes | None,
    largest: int | None = None,
) -> tuple[WeightedSets, int]:
    """Rows of a table as sets, with further items spread over them, and the number of sets without any.

    `rows` says for each of the items, one after the other, which rows have it. With `sizes` of sets, further
    items come where they give sets these sizes. A row with more than `largest` items keeps some of them.
    """
    many = rows.shape[1]
    parts = [
        holding(((item, np.flatnonzero(row)) for item, row in zip(items.tolist(), rows, strict=True)), many)
    ]
    if sizes and many and len(beside):
        parts.append(spread_by_size(beside, supports, rows.sum(axis=0), sizes))
    found = WeightedSets.counted(*shortened(*gathered(*parts), largest))
    return found, many - found.total
