"""PrivPfC: the grid on which a classifier can be expected to do best is chosen, and counted with noise.

Guarantee: pure epsilon for one record added or removed (for one user: as many records as the schema allows).
Why: every look at the records is one of these, and their parts of the budget add up to the whole.

1. *Number of records*, unless the schema makes it public: one noisy count. It bounds how many cells a grid
   may have, so that noise stays below a public share of the records of a cell.
2. *Columns*, where `features` asks for few of them: chosen by what the best grid of each column alone would
   score, which one record moves no further than the score of any grid.
3. *A grid*: one choice among grids that are listed without looking at a record. The score is how many records
   the histogram classifier is expected to get right with the noise of step 4; `quality` says how far one
   record moves it, and why. Where there are several `passes`, each further one chooses among the grids around
   the one that was chosen before, which is public by then. All of them share the part of this step; or a
   further one is paid for by what the counts of that grid would leave over, because it has fewer cells than
   noise would allow. That amount follows from the grid and from public numbers, and is taken off the counts'
   part before anything else is looked at, so that all parts add up to the whole in any case.
4. *Counts* of every label in every cell of that grid, empty ones too: a record is counted once.

What follows is post-processing: the histogram classifier, training tables, synthetic rows.

Reference: D. Su, J. Cao, N. Li and M. Lyu, "PrivPfC: differentially private data publication for
classification" (VLDB Journal 2018). Printed there, line 39 of the algorithm has the sign of an older score
and no sensitivity; here weights rise with the score and its range is paid for. Every grid is listed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Share, Text, Whole
from penstock.errors import UsageError
from penstock.kinds.table.data import Table
from penstock.kinds.table.target import target_of
from penstock.learn.classification.cells import MOST_CELLS, CellsRelease, counted, number_of_records
from penstock.learn.classification.grids import (
    Grid,
    Levels,
    Search,
    around,
    grids,
    marginals,
    partition,
)
from penstock.learn.classification.partition import (
    Hierarchy,
    hierarchies,
    refuse_unless_added,
)
from penstock.learn.classification.quality import Calibration, Noise, Quality
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sealed import Sealed
from penstock.progress import progress
from penstock.schema import Schema

Counts = NDArray[np.int64]

LEAST_FOR_COUNTS = Fraction(1, 10**6)
TOGETHER = 1 << 16
"""Counts that are looked at together."""
THOUSAND = 1000
LOST_TO_CHOICE = 0.02
"""A second pass is made where the noise of a choice costs no larger share of the records than this."""


@dataclass(frozen=True)
class PrivPfC(Method[Table]):
    """A grid over the predictors, chosen to classify well, with noisy counts of every label in every cell.

    `target` is the column to predict (None: the schema's). At most `most_grids` grids are candidates (the
    pool's size, Omega), each with at most `ratio` times records times the epsilon of the counts cells;
    columns are taken in the schema's order, or in a random one with the seed `shuffle`. Of the `levels` of
    columns all are candidates, the finest that the bound on cells allows, or one grid for every set of
    columns with all of them about equally fine. The `search` lists the first grids that there are, those of
    few columns first, or a beam of some of every number of columns. `passes` is how many choices are made,
    each after the first among what differs little from the grid chosen before (None: two where their noise
    is small beside the records, else one); they share the part of the choice, or those after the first are
    `paid_by` half of what the counts of the grid chosen before would leave over. `size_share` of the budget
    pays for the number of records and `choice_share` for choices; the rest is for the counts.
    `features` chooses so many columns first, for `features_share`. The score expects `noise` and is
    calibrated to the `range` of its changes, to the largest of them (`lemma1`), or to 1.1 (`fixed`, as
    published); `chosen_by` says which mechanism chooses.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True] * 300 + [False] * 700, "coughs": [True] * 300 + [False] * 700})
    >>> table = Table.open(frame, schema)
    >>> release = PrivPfC(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "privpfc"

    target: Annotated[str | None, Text()] = None
    most_grids: Annotated[int, Whole(1, 1_000_000)] = 10_000
    ratio: Annotated[Amount, Exact(least=Fraction(1, 1000), most=1000)] = "1/5"
    size_share: Annotated[Amount, Share()] = "3/100"
    choice_share: Annotated[Amount, Share()] = "37/100"
    levels: Levels = "all"
    search: Search = "first"
    passes: Annotated[int | None, Whole(1, 100)] = 1
    paid_by: Literal["choice", "left-over"] = "choice"
    features: Annotated[int | None, Whole(1, 10_000)] = None
    features_share: Annotated[Amount, Share()] = "1/10"
    noise: Noise = "geometric"
    calibration: Calibration = "range"
    chosen_by: Literal["permute-and-flip", "exponential"] = "permute-and-flip"
    shuffle: Annotated[int | None, Whole(0, 1 << 62)] = None

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, a target that is no column of categories, and shares that
        leave nothing for the counts."""
        refuse_unless_added(schema)
        target_of(schema, self.target)
        if sum(self._shares(schema).values()) > 1 - LEAST_FOR_COUNTS:
            raise UsageError(
                "size_share, choice_share and features_share leave nothing for the counts; make them "
                "smaller. Nothing was spent."
            )

    def _shares(self, schema: Schema) -> dict[str, Fraction]:
        """What each step before the counts gets of the budget."""
        found = {}
        if schema.size is None:
            found["number"] = exact(self.size_share, "size_share")
        if self.features is not None and self.features < len(schema.fields) - 1:
            found["columns"] = exact(self.features_share, "features_share")
        return {**found, "choice": exact(self.choice_share, "choice_share")}

    def cells(self, schema: Schema) -> int:
        """No grid has more counts than this."""
        return MOST_CELLS

    def fit(self, table: Table, budget: Budget) -> CellsRelease:
        """Count the records, choose a grid and count its cells; spends the whole budget."""
        self.ready(table, budget)
        target = target_of(table.schema, self.target)
        records = table.schema.unit.records
        labels = table.schema.sizes[target]
        shares = self._shares(table.schema)
        for_counts = budget.epsilon * (1 - sum(shares.values()))
        quality = Quality(for_counts / records, self.noise)
        number, spread = number_of_records(table, budget, shares.get("number"))
        about = max(0, number or table.public_size or 0)
        most_cells = min(floor(exact(self.ratio, "ratio") * about * quality.epsilon), MOST_CELLS // labels)
        columns = _ordered(hierarchies(table.attributes, target), self.shuffle)
        if "columns" in shares:
            for_columns = budget.part("columns", shares["columns"])
            columns = self._columns(table, target, columns, quality, most_cells, for_columns)
        passes = self._passes(about, budget.epsilon * shares["choice"] / records)
        part = shares["choice"] if self.paid_by == "left-over" else shares["choice"] / passes
        chosen: Grid = ()
        for step in range(passes):
            if step and self.paid_by == "left-over":
                left, cells = budget.left[0] / budget.epsilon, partition(chosen, columns).cells
                part = min(shares["choice"], left_over(left, cells, most_cells))
                if not part:
                    break
                most_cells = floor(most_cells * (1 - part / left))
                quality = Quality((left - part) * budget.epsilon / records, self.noise)
            pool = self._pool(step, chosen, columns, most_cells)
            if len(pool) > 1:  # a single candidate needs no choice, and what it would cost is for the counts
                with progress("scoring grids"):
                    scores = sealed_scores(table, target, columns, pool, quality, self.calibration)
                again = f", pass {step + 1}" if step else ""
                pay = budget.part(f"choice of a grid{again}", part)
                chosen = pool[choice.best(scores, pay, method=self.chosen_by)]
        return counted(
            self.name,
            table,
            target,
            partition(chosen, columns),
            budget,
            parameters=self._said(target),
            number=(number, spread),
        )

    def _passes(self, about: int, for_choice: Fraction) -> int:
        """How many choices are made: by the noisy number of records and the budget, and nothing else."""
        if self.passes is not None:
            return self.passes
        lost = (
            2 * log(self.most_grids) / float(for_choice)
        )  # records, when half of the part pays for a choice
        return 2 if lost <= about * LOST_TO_CHOICE else 1

    def _pool(self, step: int, chosen: Grid, columns: Sequence[Hierarchy], most_cells: int) -> list[Grid]:
        """The candidates of a pass: fixed by the schema, the noisy number of records and earlier choices."""
        sizes = [column.sizes for column in columns]
        if step:
            return around(chosen, sizes, most_cells, self.most_grids)
        return grids(sizes, most_cells, self.most_grids, levels=self.levels, search=self.search)

    def _columns(
        self,
        table: Table,
        target: str,
        columns: tuple[Hierarchy, ...],
        quality: Quality,
        most_cells: int,
        pay: Budget,
    ) -> tuple[Hierarchy, ...]:
        """The most telling columns, in their order: each by the best of its own grids."""
        assert self.features is not None
        levels = [
            (place, level)
            for place, column in enumerate(columns)
            for level, size in enumerate(column.sizes)
            if level == 0 or size <= most_cells
        ]
        owners = np.array([place for place, _ in levels])
        labels = table.schema.sizes[target]

        def best(tables: list[Counts]) -> Counts:
            scores = each(tables, quality, labels)
            return np.array([scores[owners == place].max() for place in range(len(columns))], dtype=np.int64)

        scores = table.derive(
            marginals([(level,) for level in levels], columns, target),
            best,
            quality.sensitivity(table.schema.unit.records, len(columns), self.calibration),
            shape=(len(columns),),
            because="the largest of some scores changes by no less than the smallest of their changes and no "
            "more than the largest, and theirs are those of the quality of a grid",
        )
        found = choice.best_several(scores, min(self.features, len(columns)), pay)
        return tuple(columns[place] for place in sorted(found))

    def _said(self, target: str) -> dict[str, object]:
        return {
            "target": target,
            "most_grids": self.most_grids,
            "ratio": str(exact(self.ratio)),
            "size_share": str(exact(self.size_share)),
            "choice_share": str(exact(self.choice_share)),
            "levels": self.levels,
            "search": self.search,
            "passes": self.passes,
            "paid_by": self.paid_by,
            "features": self.features,
            "features_share": str(exact(self.features_share)),
            "noise": self.noise,
            "calibration": self.calibration,
            "chosen_by": self.chosen_by,
            "shuffle": self.shuffle,
        }


def left_over(left: Fraction, cells: int, most_cells: int) -> Fraction:
    """Half of what the counts of so many cells leave over of their share of the budget: in thousandths.

    With fewer cells than noise would allow, so much less is needed for each of them to have as many records
    for its noise as a cell of the largest grid.

    >>> left_over(Fraction(3, 5), 250, 1000)
    Fraction(9, 40)
    """
    free = (1 - Fraction(min(cells, most_cells), max(1, most_cells))) / 2
    return Fraction(floor(left * free * THOUSAND), THOUSAND)


def sealed_scores(
    table: Table,
    target: str,
    columns: Sequence[Hierarchy],
    pool: Sequence[Grid],
    quality: Quality,
    calibration: Calibration,
) -> Sealed[Counts]:
    """What each grid of a public pool would be worth, sealed."""
    labels = table.schema.sizes[target]
    return table.scored(
        marginals(pool, columns, target),
        lambda tables: each(tables, quality, labels),
        quality.sensitivity(table.schema.unit.records, len(pool), calibration),
        because="a record is in one cell of every grid, and raises that cell's expected number of right "
        "answers by a number between -D and 1 + D, rounding included; a unit of m records moves a score m "
        "times as far",
    )


def each(tables: list[Counts], quality: Quality, labels: int) -> Counts:
    """The quality of each table of cells and labels, in steps; raw, and only called below the seal."""
    ends = np.cumsum([len(table) for table in tables])
    found: list[Counts] = []
    first = 0
    while first < len(tables):  # so many at a time that they stay in the processor's cache
        before = ends[first - 1] if first else 0
        after = max(first + 1, int(np.searchsorted(ends, before + TOGETHER, side="right")))
        flat = np.concatenate(tables[first:after]).reshape(-1, labels)
        starts = np.concatenate([[0], ends[first : after - 1] - before]) // labels
        found.append(np.add.reduceat(quality.of(flat), starts))
        first = after
    return np.concatenate(found)


def _ordered(columns: tuple[Hierarchy, ...], seed: int | None) -> tuple[Hierarchy, ...]:
    """The columns as they are, or in an order that chance decides: never by the records."""
    if seed is None:
        return columns
    order = np.random.default_rng(seed).permutation(len(columns))
    return tuple(columns[place] for place in order.tolist())
