"""The choice of a grid, enumerated on small tables, and broken one mistake at a time.

The exact side opens the seal of the shipped scores and takes the stated sensitivity from it; the sampled side
calls the shipped mechanism. Among the pairs is one that is made for it: the new record joins the leading
label of a cell of one grid where the cost of noise falls fastest, and the second label of a cell of the other
grid likewise, so that the two scores move apart by the whole range; and the first grid is the better one by
far, so that nearly all of that shows.

The broken copies make the mistakes that would be easy to make: a record that moves a score by 1 at most, as
if noise were not expected; candidates that follow the exact number of records; half of the range; and of two
passes a second one that is not paid for, or whose candidates follow the records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.audit import exact
from penstock.audit.exact import Distribution
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.table.data import Table
from penstock.learn.classification.grids import Grid, around, partition
from penstock.learn.classification.partition import hierarchies
from penstock.learn.classification.privpfc import left_over, sealed_scores
from penstock.learn.classification.quality import STEPS, Calibration, Quality
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Counts = NDArray[np.int64]
Records = Sequence[tuple[int, int, int]]

PROMISE = Promise(Fraction(1))
NOISE = Fraction(1)
"""The epsilon of the counts that the score expects."""
SCHEMA = Schema.from_yaml(
    """
target: label
fields:
  - {name: four, type: integer, constraints: {enum: [0, 1, 2, 3]}}
  - {name: two, type: integer, constraints: {enum: [0, 1]}}
  - {name: label, type: integer, constraints: {enum: [0, 1]}}
"""
)
POOL: tuple[Grid, ...] = (((0, 1),), ((1, 1),))
UNIVERSE = tuple((four, two, label) for four in (0, 1) for two in (0, 1) for label in (0, 1))
LEAD = 3
"""Where the cost of noise falls fastest at this epsilon: from a lead of 2 to one of 3."""
FAR = 40


@dataclass(frozen=True)
class Step:
    """The scores of a few grids as the shipped code seals them, with room for a mistake."""

    calibration: Calibration = "range"
    flips: bool = False
    epsilon: Fraction = PROMISE.epsilon
    stated: Callable[[Sensitivity], Sensitivity] = lambda sensitivity: sensitivity
    pool: Callable[[Records], Sequence[Grid]] = lambda records: POOL

    def scores(self, records: Records) -> Sealed[Counts]:
        frame = pl.DataFrame(
            list(records), schema={"four": pl.Int64, "two": pl.Int64, "label": pl.Int64}, orient="row"
        )
        table = Table.open(frame, SCHEMA)
        columns = hierarchies(table.attributes, "label")
        sealed = sealed_scores(table, "label", columns, self.pool(records), Quality(NOISE), self.calibration)
        return sealed.claim(
            lambda whole: whole,
            self.stated(sealed.sensitivity),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        )

    def law(self, records: Records) -> Distribution:
        """How likely each grid is to be chosen."""
        sealed = self.scores(records)
        found, rate = open_seal(sealed).tolist(), float(self.epsilon / sealed.sensitivity.spread)
        return exact.permute_and_flip(found, rate) if self.flips else exact.exponential(found, rate)

    def run(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        """So many choices, by the shipped mechanism."""
        sealed = self.scores(records)
        return [
            choice.best(
                sealed,
                Budget(self.epsilon, randomness=randomness),
                method="permute-and-flip" if self.flips else "exponential",
            )
            for _ in range(n)
        ]


FOR_CHOICE, FOR_COUNTS = Fraction(37, 100), Fraction(63, 100)
"""As it is shipped, where the number of records is public."""
MOST_CELLS = 100
COLUMNS = hierarchies(SCHEMA.attributes, "label")
SIZES = [column.sizes for column in COLUMNS]


@dataclass(frozen=True)
class Passes:
    """Two choices, the second among the grids around the first one, and then the counts.

    Both grids are taken to be seen. The choices share their part, or what the counts leave over pays for the
    second one, by the shipped rule. The mistakes: the second is `free`, as if what it takes were not missing
    elsewhere; or its candidates are those around the grid that is `best` without noise.
    """

    by_left_over: bool = False
    free: bool = False
    best: bool = False
    most_grids: int = 10

    def loss(self, one: Records, two: Records) -> float:
        """The largest loss of any outcome, either way round; counts can lose all that they cost."""
        laws = [self._law(records) for records in (one, two)]
        outcomes = laws[0].keys() | laws[1].keys()
        return max(
            abs(laws[0].get(grids, -np.inf) - laws[1].get(grids, -np.inf)) + float(self._for_counts(grids[0]))
            for grids in outcomes
        )

    def _law(self, records: Records) -> dict[tuple[Grid, Grid], float]:
        """The logarithm of how likely each two grids are."""
        found = {}
        leading = POOL[int(np.argmax(open_seal(Step().scores(records))))]
        for grid, chance in self._chances(records, POOL, self._first).items():
            pool = around(leading if self.best else grid, SIZES, MOST_CELLS, self.most_grids)
            for other, again in self._chances(records, pool, self._second(grid)).items():
                found[grid, other] = chance + again
        return found

    def _chances(self, records: Records, pool: Sequence[Grid], epsilon: Fraction) -> dict[Grid, float]:
        law = Step(epsilon=epsilon, pool=lambda _: pool).law(records)
        return {grid: law.logs[place] for place, grid in enumerate(pool)}

    @property
    def _first(self) -> Fraction:
        return FOR_CHOICE if self.by_left_over or self.free else FOR_CHOICE / 2

    def _second(self, grid: Grid) -> Fraction:
        if not self.by_left_over:
            return self._first
        return min(FOR_CHOICE, left_over(FOR_COUNTS, partition(grid, COLUMNS).cells, MOST_CELLS))

    def _for_counts(self, grid: Grid) -> Fraction:
        return FOR_COUNTS if self.free or not self.by_left_over else FOR_COUNTS - self._second(grid)


def moved_apart() -> tuple[Pair, ...]:
    """Pairs whose new record moves the scores of both grids as far apart as it can."""
    found = []
    for far in (0, FAR):
        rest = (
            *(((0, 1, 1),) * (LEAD - 1)),  # of value 0 the label 1 leads by 2, and by 3 with the new record
            *(((1, 0, 0),) * LEAD),  # of the other column's 0 the label 0 leads by 3, and then by 2
            *(((2, 0, 0),) * far),
            *(((3, 0, 1),) * far),
        )
        found.append(Pair(rest, (*rest, (0, 0, 1))))
    return tuple(found)


TURNED = (Pair(((0, 0, 0), (3, 1, 1)), ((0, 0, 0), (3, 1, 1), (0, 1, 1)), "another grid is the best"),)


def targets() -> tuple[Target, ...]:
    """The choice as it is shipped, and its broken copies."""
    return (
        _target("privpfc-grid", "a choice of a grid, for the range of the scores' changes", Step()),
        _target("privpfc-grid-flips", "the same by permute-and-flip", Step(flips=True)),
        _target("privpfc-grid-published", "the same for the published bound", Step(calibration="fixed")),
        _target(
            "broken-privpfc-sensitivity-one",
            "scores that one record is said to raise by 1 at most",
            Step(stated=lambda known: Sensitivity.scores(STEPS, 2, monotone=True)),
        ),
        _target(
            "broken-privpfc-exact-number",
            "candidates by the exact number of records",
            Step(pool=lambda records: POOL[: 1 + len(records) % 2]),
        ),
        _target(
            "broken-privpfc-half-range",
            "half of the range of the scores' changes",
            Step(stated=lambda known: known.scaled(Fraction(1, 2))),
        ),
        _twice("privpfc-two-passes", "two choices that share their part, and counts", Passes()),
        _twice("privpfc-two-passes-few", "the same with two candidates each", Passes(most_grids=2)),
        _twice(
            "privpfc-left-over",
            "a second choice by what the counts leave over, and counts",
            Passes(by_left_over=True),
        ),
        _twice(
            "broken-privpfc-passes-paid-once",
            "two choices, each with the whole part of both",
            Passes(free=True),
        ),
        _twice(
            "broken-privpfc-left-over-spent-twice",
            "what the second choice takes is not taken off the counts",
            Passes(by_left_over=True, free=True),
        ),
        _twice(
            "broken-privpfc-around-the-best",
            "the second choice is among the grids around the best one, not around the one that was chosen",
            Passes(best=True, most_grids=2),
        ),
    )


def _twice(name: str, summary: str, passes: Passes) -> Target:
    kind = Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED
    return Target(name, kind, PROMISE, summary, (*moved_apart(), *TURNED), loss=passes.loss)


def _target(name: str, summary: str, step: Step) -> Target:
    few = small_pairs(UNIVERSE, 2, Relation.ADD_REMOVE, smallest=1, most=20)
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        PROMISE,
        summary,
        (*moved_apart(), *few),
        run=step.run,
        distribution=step.law,
        effort=0.02,
    )
