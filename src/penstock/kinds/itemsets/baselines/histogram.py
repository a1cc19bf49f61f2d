"""One noisy count for every set of items that there can be.

Guarantee: pure epsilon for one set added or removed (for one user: as many sets as the schema allows a user).
Why: a set is one of the 2^items sets over the universe and is counted there, so that all counts together have
L1 sensitivity 1 (m for users with up to m sets). Every one of them gets noise, whether it occurs or not.

Reference: C. Dwork, F. McSherry, K. Nissim and A. Smith, "Calibrating noise to sensitivity in private data
analysis" (2006); the baseline "Basic" of the DiffPart paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic import Field as Range

from penstock.contracts.method import Method
from penstock.errors import SchemaError
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.mining import ItemSet, superset_sums
from penstock.kinds.itemsets.release import ItemSetsRelease
from penstock.kinds.itemsets.weighted import Numbers, WeightedSets
from penstock.kinds.itemsets.writing import refuse_unwritable, universe_of
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.releases import Answer, Manifest, Model
from penstock.releases.answer import contributions
from penstock.releases.error_bars import Noises, bar
from penstock.schema import Schema

MOST_ITEMS = 20

CLIPPED = "Counts below zero were cut off at zero one by one, so that sums of many of them are far too large."


@dataclass(frozen=True)
class SetHistogram(Method[ItemSets]):
    """Noisy counts of all sets over a small universe.

    Questions are answered by adding up counts. With `negative` "kept" these may be below zero and their sum
    is right on average; "cut" takes each of them as zero first, as anybody must who wants to write sets down.
    Synthetic sets are drawn from the latter in either case.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, butter, milk]}}
    ... ''')
    >>> sets = ItemSets.open(pl.DataFrame({"basket": ["milk"] * 900 + ["milk bread"] * 600}), schema)
    >>> release = SetHistogram().fit(sets, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.count("bread,milk").rests_on
    'counted'
    """

    name: ClassVar[str] = "set-histogram"

    negative: Literal["kept", "cut"] = "kept"

    def check(self, schema: Schema) -> None:
        """Refuse a universe whose sets are too many to count one by one."""
        refuse_unwritable(schema)
        items = len(schema.field(ItemSetLayout.of(schema).item).labels)
        if items > MOST_ITEMS:
            raise SchemaError(
                f"items: there are 2^{items} sets over {items} items, and each would be counted; this works "
                f"for up to {MOST_ITEMS} items. Use another method."
            )

    def cells(self, schema: Schema) -> int:
        """One number for every set."""
        return 1 << min(MOST_ITEMS, len(schema.field(ItemSetLayout.of(schema).item).labels))

    def fit(self, sets: ItemSets, budget: Budget) -> SetTableRelease:
        """Count every set; spends the whole budget."""
        self.ready(sets, budget)
        table = sets.table()
        deviation = noise.standard_deviation(table.sensitivity.l1, budget.left[0])
        return SetTableRelease(
            method=self.name,
            schema=sets.schema,
            parameters={"negative": self.negative},
            counts=np.asarray(noise.counts(table, pay=budget)),
            receipt=budget.receipt(sets.schema.unit, sets.relation),
            deviation=deviation,
        )


class _Saved(BaseModel):
    deviation: Annotated[float, Range(ge=0)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SetTableRelease(ItemSetsRelease):
    """A noisy count for every set over the universe; bit i of its number says that a set has item i.

    >>> import polars as pl
    >>> from penstock import Schema, release
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, milk]}}
    ... ''')
    >>> baskets = pl.DataFrame({"basket": ["milk"] * 900 + ["milk bread"] * 600})
    >>> release(baskets, schema, epsilon=1, method="set-histogram", seed=1).counts.shape
    (4,)
    """

    form: ClassVar[str] = "set-table"

    counts: Numbers
    deviation: float

    @property
    def _kept(self) -> bool:
        return self.parameters.get("negative") != "cut"

    @cached_property
    def _sums(self) -> Numbers:
        return superset_sums(self.counts if self._kept else np.maximum(self.counts, 0))

    @cached_property
    def synthetic(self) -> WeightedSets:
        rows = np.flatnonzero(self.counts[1:] > 0) + 1
        bits = np.unpackbits(rows.astype("<u4").view(np.uint8), bitorder="little")
        has = bits.reshape(len(rows), 32)[:, : len(self.universe)]
        return WeightedSets(has.sum(axis=1, dtype=np.int64), np.nonzero(has)[1], self.counts[rows])

    @property
    def without_items(self) -> int:
        return max(0, int(self.counts[0]))

    @property
    def number(self) -> Answer:
        return self.estimate(())

    def estimate(self, items: Sequence[int]) -> Answer:
        value = float(self._sums[sum(1 << item for item in items)])
        if not self._kept:
            return Answer(value, None, "sets", "model", (CLIPPED, *contributions(self.schema)))
        added = 1 << (len(self.universe) - len(items))
        known = bar([Noises(1.0, self.deviation, added)])
        return Answer.counted(value, known, "sets", contributions(self.schema))

    def estimates(self, asked: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        return self._sums[[sum(1 << item for item in items) for items in asked]].astype(np.float64)

    def frequent(
        self, many: int, *, smallest: int = 1, largest: int | None = None
    ) -> list[tuple[ItemSet, int]]:
        """As of any sets, but nothing is searched: all sets are counted, and are added up at once."""
        items = len(self.universe)
        supports = superset_sums(np.maximum(self.counts, 0))
        sizes, ranks = np.zeros((2, len(supports)), dtype=np.int64)
        for item in range(items):  # sets of one size are in order when their first items are
            half = 1 << item
            sizes[half : 2 * half] = sizes[:half] + 1
            ranks[half : 2 * half] = ranks[:half] - (1 << (items - 1 - item))
        listed = np.flatnonzero((supports > 0) & (sizes >= max(1, smallest)) & (sizes <= (largest or items)))
        if len(listed) > many:
            least = np.partition(supports[listed], -many)[-many]
            listed = listed[supports[listed] >= least]
        best = listed[np.lexsort([ranks[listed], sizes[listed], -supports[listed]])[:many]]
        return [
            (tuple(item for item in range(items) if number >> item & 1), count)
            for number, count in zip(best.tolist(), supports[best].tolist(), strict=True)
        ]

    def explain(self) -> Sequence[str]:
        return [
            f"Each of the {len(self.counts):,} sets over {len(self.universe)} items was counted, with exact "
            f"noise of a standard deviation of {self.deviation:.3g}, also those that do not occur."
        ]

    def limits(self) -> Sequence[str]:
        return [f"Synthetic sets, frequent ones and rules: {CLIPPED[0].lower()}{CLIPPED[1:]}"]

    def model(self) -> Model:
        import polars as pl

        return Model(
            json=_Saved(deviation=self.deviation).model_dump(),
            tables={"counts": pl.DataFrame({"count": self.counts})},
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        items = universe_of(manifest.schema)
        rows = 1 << items if items <= MOST_ITEMS else 0
        counts = model.table("counts", {"count": pl.Int64}, rows=rows)["count"].to_numpy()
        return cls(**manifest.common, counts=counts, deviation=saved.deviation)
