"""DP-WHERE, the way to run it: six noisy distributions fitted to the budget, from which calls are drawn.

Guarantee: pure epsilon for one caller added or removed, with any number of calls.
Why: each part sees a caller once. Home and work are one place each, counted on a quadtree that PrivTree grows
or on a grid; the commute is one distance; calls a day are one pair of numbers; in every round of 2-means a
caller belongs to one class; and in the calls by the hour each caller divides one and the same weight. So each
part has a sensitivity that no number of calls raises, and the six epsilons add up. All sizes (grids, blocks)
follow from the budget and from noisy counts that are already public; sampling is post-processing.

After D. Mir, S. Isaacman, R. Caceres, M. Martonosi and R. Wright, "DP-WHERE: differentially private modeling
of human mobility" (IEEE Big Data 2013). What differs: see the docs; `dp-where-published` is the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Share, Text, Whole
from penstock.errors import UsageError
from penstock.kinds.calls.callers import PROFILE_STEPS
from penstock.kinds.calls.data import Calls
from penstock.kinds.calls.public import PublicTables
from penstock.kinds.calls.region import Groups, Reals, Region
from penstock.kinds.calls.release import CallsRelease
from penstock.kinds.calls.spending import SHARES, divided
from penstock.kinds.calls.tables import PARTS, Tables, probability, public_profiles
from penstock.postprocessing import onto_simplex
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.growth import grow
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.schema import Schema

Areas = Literal["tree", "grid"]
Weight = Annotated[Amount, Exact(least=Fraction(1, 100), most=100)]

MEANS = (0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96)
DEVIATIONS = (0, 0.2, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 32)
"""The pairs that calls a day are rounded to: coarse where few callers are, fine for those who seldom call."""
BINS = 16
"""Bins of commuting distances, narrow where most people live: edges are squares."""
PER_NOISE = 5.0
"""Callers that a cell should have on average, in scales of its noise, for its grid to be as fine as it is."""
ACCUMULATED = 0.05
"""What the noise of a whole grid of homes may be of all callers, for the grid to be as fine as it is."""
FINEST = 5
SIZE_WEIGHT = PROFILE_STEPS // 4


@dataclass(frozen=True)
class Where(Method[Calls]):
    """Six distributions of where callers live, work and call, from which synthetic calls are drawn.

    `areas` says how home and work are counted: on a quadtree that PrivTree grows, or on a grid as fine as the
    budget allows. `depth` bounds both: there are at most 2**depth cells each way. `tree_share` of what home
    and work get pays for the shape of a tree. `rounds` of 2-means find the two classes of callers, from a
    public start. `home` to `hours` are the ratios in which the budget is divided. `public` names a folder of
    public tables, each of which takes the place of what would have been paid for; that of calls a day leaves
    its share to the number of callers, which the other parts are fitted to.

    >>> import polars as pl
    >>> from penstock.demo import phones, phones_schema
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> calls = Calls.open(phones(300), Schema.from_yaml(phones_schema()))
    >>> release = Where(depth=3).fit(calls, Budget(4, randomness=Randomness.seeded(1)))
    >>> release.sample(2, seed=1).columns
    ['phone', 'time', 'lat', 'lon']
    """

    name: ClassVar[str] = "dp-where"

    areas: Areas = "tree"
    depth: Annotated[int, Whole(least=0, most=8)] = 7
    tree_share: Annotated[Amount, Share()] = "1/2"
    rounds: Annotated[int, Whole(least=1, most=20)] = 5
    home: Weight = SHARES["home"]
    work: Weight = SHARES["work"]
    commute: Weight = SHARES["commute"]
    per_day: Weight = SHARES["per_day"]
    call_time: Weight = SHARES["call_time"]
    hours: Weight = SHARES["hours"]
    public: Annotated[str | None, Text()] = None

    def check(self, schema: Schema) -> None:
        Region.of(schema)
        if len(self._given(schema).parts) == len(PARTS):
            raise UsageError(
                "public: all six tables are public, so that there is nothing to pay for; make the release "
                "with penstock.kinds.calls.without_records. Nothing was spent."
            )

    def cells(self, schema: Schema) -> int:
        side = 1 << self.depth
        return 2 * side**2 + 25 * (1 << FINEST) ** 2

    def _given(self, schema: Schema) -> PublicTables:
        return PublicTables() if self.public is None else PublicTables.read(self.public, schema)

    def fit(self, calls: Calls, budget: Budget) -> CallsRelease:
        """Count, fit, and put together; spends the whole budget."""
        self.ready(calls, budget)
        given = self._given(calls.schema)
        weights = {part: getattr(self, part) for part in PARTS}
        # Grids are fitted to the number of callers: where calls a day are public, their share tells it.
        shares = divided(weights, [part for part in given.parts if part != "per_day"])
        tree = exact(self.tree_share, "tree_share")
        if self.areas == "tree":
            for part in ("home", "work"):
                if part in shares:
                    paid = budget.left[0] * shares[part] * tree
                    Splitter.refuse_too_little(paid, fan_out=4, paths=1)
        labels = {part: part.replace("_", " ") for part in PARTS}
        labels |= {"per_day": "callers"} if "per_day" in given.parts else {}
        pay = {part: budget.part(labels[part], share) for part, share in shares.items()}
        found: dict[str, Any] = {"side": 1 << self.depth}
        found |= self._per_day(calls, pay["per_day"], given)
        for part in ("home", "work"):
            found[part] = (
                self._places(calls, part, found["callers"], pay[part])
                if part in pay
                else given.places(part, 1 << self.depth)
            )
        found |= self._commute(calls, found["callers"], pay.get("commute"), given)
        found |= self._call_time(calls, pay.get("call_time"), given)
        found |= self._hours(calls, found["callers"], pay.get("hours"), given)
        return CallsRelease(
            method=self.name,
            schema=calls.schema,
            receipt=budget.receipt(calls.schema.unit, calls.relation),
            parameters=self._parameters(weights),
            tables=Tables(**found),
            public=given.parts,
        )

    def _per_day(self, calls: Calls, pay: Budget, given: PublicTables) -> dict[str, Any]:
        if "per_day" in given.parts:
            total = float(np.asarray(noise.counts(calls.size(), pay=pay))[0])
            return {**given.per_day(), "callers": max(1.0, total)}
        noisy = np.asarray(noise.counts(calls.per_day(MEANS, DEVIATIONS), pay=pay))
        total = max(1.0, float(noisy.sum()))
        shares = onto_simplex(noisy, total) / total
        return {"means": MEANS, "deviations": DEVIATIONS, "per_day": shares, "callers": total}

    def _places(self, calls: Calls, which: str, callers: float, pay: Budget) -> Reals:
        """The share of callers in each cell of the finest grid."""
        side = 1 << self.depth
        if self.areas == "grid":
            paid = callers * float(pay.epsilon)
            fits = min(ACCUMULATED * paid / sqrt(2), sqrt(paid / PER_NOISE))
            coarse = 1 << min(self.depth, max(0, int(np.log2(max(fits, 1.0)))))
            counts = np.asarray(noise.counts(calls.places(which, coarse), pay=pay))
            levels, cells = np.full(coarse**2, coarse.bit_length() - 1), np.arange(coarse**2)
        else:
            share = exact(self.tree_share, "tree_share")
            for_shape, for_counts = pay.split(shape=share, counts=1 - share)
            top = calls.squares(which, self.depth)
            splitter = Splitter.paid(for_shape, fan_out=4, relation=calls.relation)
            growth = grow(top, splitter, deepest=self.depth)
            counts = np.asarray(noise.counts(top.leaf_counts(growth), pay=for_counts))
            pieces = list(zip(growth.levels, growth.leaves, strict=True))
            levels = np.concatenate([np.full(len(leaves), level.depth) for level, leaves in pieces])
            cells = np.concatenate([level.squares[leaves] for level, leaves in pieces])
        total = max(1.0, float(counts.sum()))
        shares = onto_simplex(counts, total) / total
        found = np.zeros((side, side))
        for level in np.unique(levels):
            chosen, width = levels == level, side >> int(level)
            here = np.zeros(1 << (2 * int(level)))
            here[cells[chosen]] = shares[chosen] / width**2
            square = here.reshape(1 << int(level), 1 << int(level))
            found += np.repeat(np.repeat(square, width, axis=0), width, axis=1)
        return probability(found.ravel())

    def _commute(
        self, calls: Calls, callers: float, pay: Budget | None, given: PublicTables
    ) -> dict[str, Any]:
        furthest = calls.region.diagonal
        if pay is None:
            return given.commute(furthest)
        side = _fitting(callers * float(pay.epsilon) / (BINS * PER_NOISE), self.depth)
        edges = np.tile(furthest * (np.arange(BINS + 1) / BINS) ** 2, (side**2, 1))
        noisy = np.asarray(noise.counts(calls.commutes(side, edges), pay=pay), dtype=np.float64)
        everybody = noisy.sum(axis=0)
        usual = probability(onto_simplex(everybody, max(1.0, float(everybody.sum()))))
        # What noise alone may make of an empty row: as much is added of what is usual everywhere.
        usually = BINS / float(pay.epsilon)
        rows = [probability(onto_simplex(row, max(1.0, float(row.sum()))) + usually * usual) for row in noisy]
        return {"commute_side": side, "edges": edges, "commute": np.stack(rows)}

    def _call_time(self, calls: Calls, pay: Budget | None, given: PublicTables) -> dict[str, Any]:
        if pay is None:
            return given.call_time()
        centres, sizes = public_profiles(), np.ones(2)
        for part in pay.evenly([f"round {number + 1}" for number in range(self.rounds)]):
            noisy = np.asarray(noise.counts(calls.around(centres, SIZE_WEIGHT), pay=part), dtype=np.float64)
            sizes = np.maximum(noisy[:, 0] / SIZE_WEIGHT, 1.0)
            sums = noisy[:, 1:] / PROFILE_STEPS
            centres = np.stack([probability(total / size) for total, size in zip(sums, sizes, strict=True)])
        return {"classes": probability(sizes), "times": centres}

    def _hours(self, calls: Calls, callers: float, pay: Budget | None, given: PublicTables) -> dict[str, Any]:
        side = 1 << self.depth
        if pay is None:
            return given.hours(side)
        fits = callers * float(pay.epsilon) / (24 * PER_NOISE)
        groups = Groups.blocks(side, _fitting(fits, self.depth))
        noisy = np.asarray(noise.counts(calls.hours_by_share(groups), pay=pay), dtype=np.float64)
        rows = [probability(onto_simplex(row, max(1.0, float(row.sum())))) for row in noisy]
        return {"groups": groups, "hours": np.stack(rows)}

    def _parameters(self, weights: Mapping[str, Amount]) -> dict[str, Any]:
        return {
            "areas": self.areas,
            "depth": self.depth,
            "tree_share": str(exact(self.tree_share, "tree_share")),
            "rounds": self.rounds,
            **{part: str(exact(weight, part)) for part, weight in weights.items()},
            "public": self.public,
        }


def _fitting(cells: float, depth: int) -> int:
    """The largest grid of a power of two each way that has no more cells than this."""
    return int(1 << min(depth, FINEST, max(0, int(np.log2(max(cells, 1.0)) / 2))))
