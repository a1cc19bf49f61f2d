"""DP-WHERE as published: Algorithms 2 to 6, with what they really spend on the receipt.

Guarantee: pure epsilon for one caller added or removed.
Why: home, work and calls a day are histograms in which a caller is counted once; the commute is a median and
a histogram in the one cell where the caller lives; a round of 2-means counts and sums each caller in one
class; and a caller has at most busiest x days calls in each of the 24 hours. Each part is a Laplace or an
exponential mechanism of that sensitivity, the parts compose one after the other, cells side by side; sampling
is post-processing.

The published scales of noise mix two relations (`penstock.kinds.calls.spending`). With scales "published" the
budget is what they cost under add-remove, and the nominal epsilons that follow are among the parameters, with
what they would cost under replace. With scales "tight" no part has more noise than it needs.

Kept as it is because it is the published method; the published figures cannot be reached with it (see the
study). Use `dp-where` instead. Differences: noise is exact and discrete; the eleventh bin of commutes is
there; the last short group of cells is there; all rounds of 2-means are run, since all are paid for anyway.

Reference: D. Mir, S. Isaacman, R. Caceres, M. Martonosi and R. Wright, "DP-WHERE" (IEEE Big Data 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.errors import SchemaError, UsageError
from penstock.kinds.calls.callers import PROFILE_STEPS
from penstock.kinds.calls.data import Calls
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import HOURS, Groups, Reals, Region
from penstock.kinds.calls.release import CallsRelease
from penstock.kinds.calls.spending import SHARES, cost, divided, published
from penstock.kinds.calls.tables import (
    CLASSES,
    PARTS,
    Tables,
    exponential_edges,
    from_cumulative,
    probability,
)
from penstock.kinds.calls.where import Weight
from penstock.privacy.budgets.amounts import exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.public import AnyBelow
from penstock.privacy.mechanisms import choice, noise
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Scales = Literal["published", "tight"]

DISTANCE_STEP = 1 / 64
"""Distances are whole steps of this many miles where their median is chosen."""
DUMMIES = (0.0, 0.1)
"""Distances in miles that every cell has, so that none is empty."""
LEAST_MEDIAN = 0.05
MOST_CELLS = 1 << 22


@dataclass(frozen=True)
class PublishedWhere(Method[Calls]):
    """The six distributions of DP-WHERE by the published algorithms.

    `side` and `commute_side` are the cells each way of the grid and of the commute grid, `most_mean` and
    `most_deviation` the ends of the numbers of calls a day, in steps of one, `rounds` those of 2-means, whose
    start is random. `scales` says whose noise it is. `home` to `hours` are the ratios of the (nominal)
    epsilons; which ones the paper used is not reported.

    >>> import polars as pl
    >>> from penstock.demo import phones, phones_schema
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> calls = Calls.open(phones(300), Schema.from_yaml(phones_schema()))
    >>> method = PublishedWhere(side=8, commute_side=2)
    >>> release = method.fit(calls, Budget("0.33", randomness=Randomness.seeded(1)))
    >>> release.receipt.epsilon, release.parameters["replace"]
    (Fraction(33, 100), '33/50')
    """

    name: ClassVar[str] = "dp-where-published"

    side: Annotated[int, Whole(least=1, most=2000)] = 2000
    commute_side: Annotated[int, Whole(least=1, most=200)] = 40
    most_mean: Annotated[int, Whole(least=1, most=1000)] = 100
    most_deviation: Annotated[int, Whole(least=1, most=1000)] = 50
    rounds: Annotated[int, Whole(least=1, most=20)] = 5
    scales: Scales = "published"
    home: Weight = SHARES["home"]
    work: Weight = SHARES["work"]
    commute: Weight = SHARES["commute"]
    per_day: Weight = SHARES["per_day"]
    call_time: Weight = SHARES["call_time"]
    hours: Weight = SHARES["hours"]

    def check(self, schema: Schema) -> None:
        Region.of(schema)
        if CallsLayout.of(schema).busiest is None:
            raise SchemaError(
                "calls: the published method counts every call and needs a bound on those of a caller in one "
                "hour. Add 'busiest: 120' to the schema, or use dp-where. Nothing was spent."
            )
        if self.commute_side > self.side:
            raise UsageError(
                f"commute_side is {self.commute_side}, and the grid has {self.side} cells each way; commute "
                "cells are merged ones. Nothing was spent."
            )
        if (self.most_mean + 1) * (self.most_deviation + 1) > MOST_CELLS // 16:
            raise UsageError("most_mean and most_deviation make too many pairs. Nothing was spent.")

    def cells(self, schema: Schema) -> int:
        groups = self._groups(Region.of(schema)).size
        return 2 * self.side**2 + HOURS * groups + 33 * self.commute_side**2

    def _groups(self, region: Region) -> Groups:
        return Groups.runs(self.side, HOURS * region.days)

    def fit(self, calls: Calls, budget: Budget) -> CallsRelease:
        """Algorithms 2 to 6, each with its part; spends the whole budget."""
        self.ready(calls, budget)
        weights = {part: getattr(self, part) for part in PARTS}
        nominal, shares = published(weights, budget.left[0])
        if self.scales == "tight":
            shares = divided(weights)
            nominal = {part: share * budget.left[0] for part, share in shares.items()}
        pay = {part: budget.part(part.replace("_", " "), share) for part, share in shares.items()}
        region, side = calls.region, self.side
        groups = self._groups(region)
        home = np.asarray(noise.counts(calls.places("home", side), pay=pay["home"]))
        work = np.asarray(noise.counts(calls.places("work", side), pay=pay["work"]))
        edges, commute = self._commute(calls, pay["commute"])
        means, deviations = tuple(range(self.most_mean + 1)), tuple(range(self.most_deviation + 1))
        pairs = np.asarray(noise.counts(calls.per_day(means, deviations), pay=pay["per_day"]))
        classes, times = self._call_time(calls, pay["call_time"])
        hours = np.asarray(noise.counts(calls.hours_by_call(groups), pay=pay["hours"]))
        return CallsRelease(
            method=self.name,
            schema=calls.schema,
            receipt=budget.receipt(calls.schema.unit, calls.relation),
            parameters=self._parameters(nominal),
            tables=Tables(
                side=side,
                home=from_cumulative(home),
                work=from_cumulative(work),
                commute_side=self.commute_side,
                edges=edges,
                commute=commute,
                means=means,
                deviations=deviations,
                per_day=from_cumulative(pairs).reshape(pairs.shape),
                classes=classes,
                times=times,
                groups=groups,
                hours=np.stack([from_cumulative(row) for row in hours]),
                callers=max(1.0, float(home.sum())),
            ),
        )

    def _commute(self, calls: Calls, pay: Budget) -> tuple[Reals, Reals]:
        """Algorithm 3: a noisy median for every cell, bins from it, and noisy counts of the bins."""
        for_median, for_counts = pay.split(median="1/2", counts="1/2")
        furthest = calls.region.diagonal
        lattice = max(8, ceil(furthest / DISTANCE_STEP))
        dummies = [min(lattice - 1, int(each / DISTANCE_STEP)) for each in DUMMIES]
        ranks = calls.commute_ranks(self.commute_side, DISTANCE_STEP, lattice, dummies)
        medians = choice.points(ranks, 0, lattice, pay=for_median)
        edges = np.stack(
            [exponential_edges(max(LEAST_MEDIAN, (at + 0.5) * DISTANCE_STEP), furthest) for at in medians]
        )
        noisy = np.asarray(noise.counts(calls.commutes(self.commute_side, edges), pay=for_counts))
        return edges, np.stack([from_cumulative(row) for row in noisy])

    def _call_time(self, calls: Calls, pay: Budget) -> tuple[Reals, Reals]:
        """Algorithm 5: rounds of 2-means from a random start; sizes and centres are of the same round."""
        for_sizes = Fraction(2, 3) if self.scales == "published" else Fraction(1, 2)
        start = [pay.randomness.draw(AnyBelow(1 << 20)) + 1 for _ in range(CLASSES * HOURS)]
        centres = np.stack(
            [probability(row) for row in np.array(start, dtype=np.float64).reshape(CLASSES, HOURS)]
        )
        sizes = np.ones(CLASSES)
        for part in pay.evenly([f"round {number + 1}" for number in range(self.rounds)]):
            pay_sizes, pay_sums = part.split(sizes=for_sizes, sums=1 - for_sizes)
            counted = np.asarray(noise.counts(calls.class_sizes(centres), pay=pay_sizes))
            summed = np.asarray(noise.counts(calls.class_sums(centres), pay=pay_sums)) / PROFILE_STEPS
            sizes = np.maximum(counted.astype(np.float64), 1.0)
            centres = np.stack([probability(row / size) for row, size in zip(summed, sizes, strict=True)])
        return probability(sizes), centres

    def _parameters(self, nominal: dict[str, Fraction]) -> dict[str, Any]:
        replaced = (
            cost(nominal, Relation.REPLACE)
            if self.scales == "published"
            else 2 * sum(nominal.values(), Fraction(0))
        )
        return {
            "side": self.side,
            "commute_side": self.commute_side,
            "most_mean": self.most_mean,
            "most_deviation": self.most_deviation,
            "rounds": self.rounds,
            "scales": self.scales,
            **{part: str(exact(getattr(self, part), part)) for part in PARTS},
            "nominal": {part: str(epsilon) for part, epsilon in nominal.items()},
            "nominal_total": str(sum(nominal.values(), Fraction(0))),
            "replace": str(replaced),
        }
