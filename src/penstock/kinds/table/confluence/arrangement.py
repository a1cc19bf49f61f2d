"""Tables of all pairs and of all triples: how fine they are, and whether they are counted together.

All of it is public: sizes of levels that were merged by noisy counts, the noisy number of records, and what a
tier says of the noise that it buys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.confluence import planes
from penstock.kinds.table.confluence.coarsening import SIZES
from penstock.kinds.table.confluence.knobs import Knobs
from penstock.kinds.table.confluence.packing import MOST_CELLS, Sizes, View, covering, price, view_of
from penstock.kinds.table.confluence.tiers import Tier
from penstock.kinds.table.network.parents import Parent
from penstock.privacy.seals.sensitivity import Sensitivity

Reals = NDArray[np.float64]

MOST_PAIR_CELLS = 1 << 22
"""Of the tables of all pairs together, at the levels at which they are looked at."""

MOST_IN_TRIPLES = 8
"""Columns, of all of whose triples tables may be counted; of more there are many, and pairs tell most."""

MOST_TRIPLES = 2500
"""Among which some are chosen; about 25 columns have as many, and to count more takes long."""

MOST_COUNTED = 2 * 10**8
"""Records times triples that are looked at: some seconds of a processor, also for very many records."""

MOST_IN_A_TRIPLE = 32
"""Groups of an attribute in a triple that is looked at, at most."""

FINEST = SIZES[0]
"""In so many groups an attribute is looked at in pairs, at most."""

_SPARED = [Fraction(number, 20) for number in range(10, 2, -1)]  # of what is left, for triples
_NEARLY = 0.9  # of all pairs
_MEAN_CHANCE = 0.4  # half the mean absolute value of a standard normal variable


@dataclass(frozen=True, eq=False)
class Arrangement:
    """What is left of a budget for tables of `n` records with these levels of their columns."""

    tier: Tier
    sensitivity: Sensitivity
    n: int
    knobs: Knobs
    sizes: Sizes

    def finest(self) -> list[int]:
        """The level of each variable at which pairs are looked at; a fine one where noise hides nothing."""
        most = max(FINEST, self.knobs.finest)
        while True:
            levels = self.within(most)
            width = np.array([each[level] for each, level in zip(self.sizes, levels, strict=True)], float)
            if most <= 2 or (
                _sum_of_pairs(width) <= MOST_PAIR_CELLS
                and (most <= self.knobs.finest or self._hidden(width) <= self.knobs.clearly)
            ):
                return levels
            most = max(2, most // 2)

    def within(self, most: int) -> list[int]:
        """The finest level of each variable with so many groups at most, or else its coarsest."""
        return [
            next((level for level, size in enumerate(each) if size <= most), len(each) - 1)
            for each in self.sizes
        ]

    def pairs(self, levels: Sequence[int]) -> list[View]:
        """All pairs at these levels, along the lines of a plane or a space where that costs less.

        Under rho also where it costs more and noise is small against what chance does anyway: a table of
        several pairs tells more than these.
        """
        at = dict(enumerate(levels))
        along = [self._along(at, dimensions) for dimensions in (2, 3) if self.knobs.pack]
        found = [views for views in along if views]
        if self.tier.gaussian and found and self._calm(best := min(found, key=price)):
            return best
        return min([self.one_by_one(levels), *found], key=price)

    def _calm(self, views: Sequence[View]) -> bool:
        """Whether these tables of all pairs have little noise against what chance does."""
        noisy = self.tier.total(price(views), self.sensitivity, self.tier.left)
        return noisy < self.knobs.products_calm * 2 * self.n * self.chance(views)

    def one_by_one(self, levels: Sequence[int]) -> list[View]:
        """A table for every pair at these levels."""
        parts = [Parent(number, level) for number, level in enumerate(levels)]
        return [view_of(pair, self.sizes, self.tier.power) for pair in combinations(parts, 2)]

    def _along(self, at: Mapping[int, int], dimensions: int) -> list[View]:
        """Tables along the lines of a plane or of a space; none where one of them would be too large."""
        if len(at) > planes.most_points(dimensions):
            return []
        lines = planes.lines(len(at), dimensions)
        if any(prod(self.sizes[number][at[number]] for number in line) > MOST_CELLS for line in lines):
            return []
        return covering(lines, at, self.sizes, self.tier.power)

    def in_full(self, levels: Sequence[int]) -> bool:
        """Whether columns at these levels have no more groups than pairs are looked at in."""
        width = [each[level] for each, level in zip(self.sizes, levels, strict=True)]
        cells = _sum_of_pairs(np.array(width, dtype=np.float64))
        return max(width) <= self.knobs.finest and cells <= MOST_PAIR_CELLS

    def patience(
        self, everything: Sequence[View], levels: Sequence[int], dense: float, choices: int
    ) -> float:
        """How large the mean gap must be for all pairs to be counted, of what their noise would be.

        The smaller it is against that along a tree (`dense`), the fewer pairs are worth counting; the more
        columns there are, of the fewer groups, the more of the noise what they have in common takes away
        (`spectrum`). A table of several pairs tells more than these. With fewer choices than a tree has
        edges, choosing would leave most of the gap uncounted. Where dependence is sparse, nearly every pair
        could be chosen and would have a table of its own anyway, choices only leave out what is worth
        nothing; not so where all triples could be counted beside all pairs, nor under rho, where noise grows
        with the root of the number of tables and there is less to be saved.
        """
        columns, knobs = len(levels), self.knobs
        groups = sum(each[level] for each, level in zip(self.sizes, levels, strict=True)) / columns
        couples = comb(columns, 2)
        most = knobs.packed if 3 * len(everything) <= couples else knobs.sparsest
        wanted = self.spread(groups) / dense**2 * (knobs.under_rho if self.tier.gaussian else 1.0)
        times = knobs.plane * min(most, wanted)
        if (
            not self.tier.gaussian
            and columns > MOST_IN_TRIPLES
            and dense < knobs.sparse
            and min(choices, len(everything)) >= _NEARLY * couples
        ):
            times *= knobs.every
        return times * min(1.0, knobs.few_choices + choices / columns)

    def spread(self, groups: float) -> float:
        """How many times its noise all pairs must depend by, up to a factor, for so many groups of a column.

        The more columns there are, the more of the noise what they have in common takes away.
        """
        columns = min(len(self.sizes), self.knobs.broadest)
        return max(2.0, groups - 1) * min(1.0, self.knobs.broad / columns)

    def triples(self, pairs: Sequence[View]) -> list[View]:
        """All triples beside these tables of pairs, where noise stays below what chance does to either."""
        for most in SIZES if len(self.sizes) <= MOST_IN_TRIPLES else ():
            at = [Parent(number, level) for number, level in enumerate(self.within(most))]
            triples = [View(some, (some,), self.sizes, self.tier.power) for some in combinations(at, 3)]
            if not triples or sum(view.cells for view in triples) > MOST_PAIR_CELLS:
                continue
            weight = price(pairs) + price(triples)
            # the noise of all, in proportion to the weights of their tables
            noisy = self.tier.total(weight, self.sensitivity, self.tier.left) / (2 * self.n * weight)
            if all(noisy * price(each) <= self.knobs.threes * self.chance(each) for each in (pairs, triples)):
                return triples
        return []

    def spared(self, views: Sequence[View], *, every: bool) -> Fraction:
        """What pairs leave to triples: nothing where their noise is not small against chance.

        Where `every` pair is counted, by a rule that says that all matter, it is a small part. Where pairs
        were chosen, be it all of them, it is as much as leaves their noise far below chance.
        """
        weight, pairs = price(views), [view for view in views if len(view.parts) > 1]
        most = 2 * self.n * self.chance(pairs) * weight / price(pairs)
        shares, limit = ([self.knobs.spared], self.knobs.calm) if every else (_SPARED, self.knobs.quiet)
        return next(
            (
                share * self.tier.left
                for share in shares
                if self.tier.total(weight, self.sensitivity, (1 - share) * self.tier.left) <= limit * most
            ),
            Fraction(0),
        )

    def untold(self, views: Sequence[View], levels: Sequence[int]) -> tuple[list[int], list[tuple[int, ...]]]:
        """At which levels, no finer than these, triples are looked at, and those that no table holds."""
        held = {some for view in views for some in combinations(sorted(dict(view.parts)), 3)}
        if comb(len(self.sizes), 3) - len(held) > MOST_TRIPLES or not self.most_triples:
            return list(levels), []
        every: Iterable[tuple[int, ...]] = combinations(range(len(self.sizes)), 3)
        found = [some for some in every if some not in held]
        most = MOST_IN_A_TRIPLE
        while True:
            at = [max(each) for each in zip(self.within(most), levels, strict=True)]
            width = [each[level] for each, level in zip(self.sizes, at, strict=True)]
            if most <= 2 or sum(prod(width[number] for number in some) for some in found) <= MOST_PAIR_CELLS:
                return at, found
            most //= 2

    @property
    def most_triples(self) -> int:
        """How many triples of so many records are looked at."""
        return MOST_COUNTED // max(1, self.n)

    def _hidden(self, width: Reals) -> float:
        """The mean distance that noise alone makes in tables of all pairs of columns of this width."""
        couples = len(width) * (len(width) - 1) / 2
        told = np.maximum(
            width - self.tier.gaussian, 1.0
        )  # under rho only what is beyond columns (`packing`)
        noisy = self.tier.total(_sum_of_pairs(told**self.tier.power), self.sensitivity, self.tier.left)
        return noisy / (2 * self.n * max(1.0, couples))

    def chance(self, views: Sequence[View]) -> float:
        """The distances that chance makes in these tables, added up: of as many records drawn once more."""
        return sum(_MEAN_CHANCE * sqrt(view.cells / self.n) for view in views)


def _sum_of_pairs(width: Reals) -> float:
    """The sum of the products of every two of these numbers."""
    return float(width.sum() ** 2 - np.square(width).sum()) / 2
