"""A release of the most frequent sets of items: each with its own count, and sets that agree with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic import Field as Range

from penstock.errors import ReleaseError
from penstock.kinds.itemsets import pictures
from penstock.kinds.itemsets.mining import RULES_FROM, ItemSet, Rule
from penstock.kinds.itemsets.release import LARGEST_COUNT, ItemSetsRelease, loaded_sets
from penstock.kinds.itemsets.weighted import Numbers, WeightedSets
from penstock.kinds.itemsets.writing import universe_of
from penstock.releases import Answer, Manifest, Model
from penstock.releases.answer import Bar, contributions
from penstock.releases.error_bars import Noises, bar
from penstock.report.picture import Picture
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

NOT_CHOSEN = (
    "This set of items was not chosen and not counted; the number comes from synthetic sets that agree with "
    "the counts of those that were, and nobody knows how far it is from the truth."
)


class _Saved(BaseModel):
    empty: Annotated[int, Range(ge=0, le=LARGEST_COUNT)]
    number: Annotated[int, Range(ge=-LARGEST_COUNT, le=LARGEST_COUNT)]
    number_deviation: Annotated[float, Range(ge=0)]
    deviation: Annotated[float, Range(ge=0)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TopSetsRelease(ItemSetsRelease):
    """Chosen sets of items, each with the noisy number of records that hold it.

    `chosen` and `supports` are what was chosen and counted, `deviation` is that of the noise of each count;
    `number` is a noisy count of all records. `sets` and `empty` are synthetic sets that have about these
    supports.

    >>> import polars as pl
    >>> from penstock import Schema, release
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, butter, milk]}}
    ... ''')
    >>> baskets = pl.DataFrame({"basket": ["milk"] * 900 + ["milk bread"] * 600})
    >>> found = release(baskets, schema, epsilon=1, method="top-sets", parameters={"k": 3}, seed=1)
    >>> found.count("milk,bread").rests_on
    'counted'
    """

    form: ClassVar[str] = "top-sets"

    chosen: tuple[ItemSet, ...]
    supports: Numbers
    deviation: float
    counted: int
    number_deviation: float
    sets: WeightedSets
    empty: int

    @property
    def reason(self) -> str:
        return NOT_CHOSEN

    @property
    def synthetic(self) -> WeightedSets:
        return self.sets

    @property
    def without_items(self) -> int:
        return self.empty

    @cached_property
    def _support(self) -> Mapping[ItemSet, int]:
        return dict(zip(self.chosen, self.supports.tolist(), strict=True))

    @cached_property
    def _bar(self) -> Bar:
        return bar([Noises(1.0, self.deviation, 1)])

    @property
    def number(self) -> Answer:
        known = bar([Noises(1.0, self.number_deviation, 1)])
        return Answer.counted(self.counted, known, "sets", contributions(self.schema))

    def estimate(self, items: Sequence[int]) -> Answer:
        asked = tuple(sorted(items))
        if asked not in self._support:
            return super().estimate(asked)
        return Answer.counted(self._support[asked], self._bar, "sets", contributions(self.schema))

    def estimates(self, asked: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        found = super().estimates(asked)
        for place, items in enumerate(asked):
            known = self._support.get(tuple(sorted(items)))
            if known is not None:
                found[place] = known
        return found

    def frequent(
        self, many: int, *, smallest: int = 1, largest: int | None = None
    ) -> list[tuple[ItemSet, int]]:
        """Of the sets that were chosen, those with the largest counts; others are not known."""
        known = [
            (items, support)
            for items, support in self._support.items()
            if support > 0 and smallest <= len(items) <= (largest or len(items))
        ]
        return sorted(known, key=lambda one: (-one[1], len(one[0]), one[0]))[:many]

    def top(self, many: int = 20, *, smallest: int = 1) -> pl.DataFrame:
        """The chosen sets with the largest counts: columns items, count, error.

        `error` is the half-width of a 95 % interval of each count by itself. Of many counts, the largest are
        rather those that noise has raised, all the more the fewer of the chosen are listed.
        """
        import polars as pl

        found = super().top(many, smallest=smallest)
        return found.with_columns(pl.lit(self._bar.half).alias("error"))

    def mined(self, many: int) -> list[Rule]:
        """Rules whose parts were all counted: support, confidence and lift follow from the noisy counts."""
        number = max(1, self.counted)
        made = []
        for items, support in self.frequent(max(many, RULES_FROM), smallest=2):
            for then in items:
                given = tuple(item for item in items if item != then)
                before, alone = (self._support.get(part, 0) for part in (given, (then,)))
                if before > 0 and alone > 0:
                    confidence = min(1.0, support / before)
                    made.append(Rule(given, then, support, confidence, confidence * number / alone))
        return sorted(made, key=lambda rule: (-rule.confidence, -rule.support, rule.given, rule.then))[:many]

    def explain(self) -> Sequence[str]:
        return [
            f"{len(self.chosen):,} sets of items were chosen because many records seem to hold them, and "
            f"counted with exact noise of a standard deviation of {self.deviation:.3g}. Answers about these "
            f"sets are their counts; {self.sets.total + self.empty:,} synthetic sets agree with the counts "
            "as nearly as any sets can."
        ]

    def remarks(self) -> Sequence[str]:
        if self.supports.size and int(self.supports.max()) > self._bar.half:
            return ()
        return ("No count stands out of its noise; use a larger epsilon, or choose fewer sets (k).",)

    def limits(self) -> Sequence[str]:
        return [
            f"Sets of items that were not chosen, sizes and synthetic sets: {NOT_CHOSEN[0].lower()}"
            f"{NOT_CHOSEN[1:]}"
        ]

    def pictures(self) -> Sequence[Picture]:
        """What was counted, where any count is above zero: else all that synthetic sets show."""
        return pictures.most_frequent(self, max(map(len, self.chosen), default=1)) or pictures.of(self)

    def model(self) -> Model:
        import polars as pl

        saved = _Saved(
            empty=self.empty,
            number=self.counted,
            number_deviation=self.number_deviation,
            deviation=self.deviation,
        )
        return Model(
            json=saved.model_dump(),
            tables={
                "chosen": pl.DataFrame(
                    {"size": [len(items) for items in self.chosen], "count": self.supports},
                    schema={"size": pl.Int64, "count": pl.Int64},
                ),
                "members": pl.DataFrame(
                    {"item": [item for items in self.chosen for item in items]}, schema={"item": pl.Int64}
                ),
                "sets": pl.DataFrame({"size": self.sets.sizes, "count": self.sets.weights}),
                "items": pl.DataFrame({"item": self.sets.items}),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        saved = model.read(_Saved)
        chosen, supports = _loaded_chosen(manifest.schema, model)
        return cls(
            **manifest.common,
            chosen=chosen,
            supports=supports,
            deviation=saved.deviation,
            counted=saved.number,
            number_deviation=saved.number_deviation,
            sets=loaded_sets(manifest.schema, model),
            empty=saved.empty,
        )


def _loaded_chosen(schema: Schema, model: Model) -> tuple[tuple[ItemSet, ...], Numbers]:
    """The saved sets that were chosen, checked: different ones, of items of the universe, ascending."""
    import polars as pl

    universe = universe_of(schema)
    listed = model.table("chosen", {"size": pl.Int64, "count": pl.Int64})
    sizes, supports = listed["size"].to_numpy(), listed["count"].to_numpy()
    if not ((sizes >= 1) & (sizes <= universe) & (np.abs(supports) <= LARGEST_COUNT)).all():
        raise ReleaseError("model-chosen.parquet holds impossible sizes or counts; get the release again.")
    members = model.table("members", {"item": pl.Int64}, rows=int(sizes.sum()))["item"].to_list()
    ends = np.cumsum(sizes).tolist()
    chosen = tuple(tuple(members[end - size : end]) for size, end in zip(sizes.tolist(), ends, strict=True))
    ascending = all(list(items) == sorted(set(items)) for items in chosen)
    within = not members or (min(members) >= 0 and max(members) < universe)
    if not (ascending and within and len(set(chosen)) == len(chosen)):
        raise ReleaseError("model-members.parquet holds impossible items; get the release again.")
    return chosen, supports
