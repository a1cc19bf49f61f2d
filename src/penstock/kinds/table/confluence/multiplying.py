"""When all pairs of columns are told by one noisy matrix of products instead of by tables (`products`)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import cbrt, comb, inf

from penstock.kinds.table.confluence.products import MOST_ROWS, Products
from penstock.kinds.table.confluence.run import Run
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.release import PRODUCTS

FEWEST = 4
"""Columns; of fewer, tables have less noise."""


class Multiplying(Run):
    """All pairs by one look."""

    # what was asked last, and the answer: to arrange many columns takes long
    _known: Sequence[Variable] | None = None
    _asked: tuple[tuple[int, ...], Fraction] | None = None
    _answer: Products | None = None

    def _products(self, levels: Sequence[int]) -> Products | None:
        """The matrix of all columns at these levels, if it has much less noise than tables of all pairs.

        Not in rho: the matrix is paid in epsilon. Where a table tells of three pairs or more, and the noise
        of the matrix is small against what chance does, tables are better: they tell of more than pairs.
        """
        if self.tier.gaussian or self.lost or len(levels) < FEWEST:
            return None
        asked = tuple(levels), self.tier.left
        if self._known is not self.variables or asked != self._asked:
            self._known, self._asked, self._answer = self.variables, asked, self._worth_it(levels)
        return self._answer

    def _worth_it(self, levels: Sequence[int]) -> Products | None:
        found = Products(self.table, self.variables, levels)
        if found.rows > MOST_ROWS or min(found.sizes) < 2:
            return None
        noisy, knobs = found.noise(self.start.budget.left[0]), self.knobs
        if noisy > knobs.products * self._noise_of_pairs(levels)[0]:
            return None
        packed = 3 * len(self._arranged().pairs(levels)) <= comb(len(levels), 2)
        return None if packed and noisy < knobs.products_calm * self._chance(levels) else found

    def _products_tell(self, noisy: float) -> bool:
        """Whether a matrix tells pairs with much less noise than this, added up."""
        found = self._products([part.level for part in self.seen])
        return found is not None and found.noise(self.start.budget.left[0]) <= self.knobs.products * noisy

    def _products_at_once(self, strength: float) -> Products | None:
        """The matrix of all columns as they are, where its noise is below what a tree has to tell.

        That number is noisy itself, and where it was asked for it is rather too large than too small.
        """
        if strength - self.knobs.doubt * self.doubt < self._least_for_products():
            return None
        found = self._products([part.level for part in self.seen])
        return None if found is None or self._sparse(found, strength) else found

    def _sparse(self, found: Products, strength: float) -> bool:
        """Whether too few pairs depend for this matrix of all to be better than tables of those.

        What all pairs depend by must exceed its noise the more times, the less it is of what a tree does, as
        where columns come first (`Arrangement.patience`); fewer where the budget pays for few choices for
        each pair of a tree. Nobody asks where a tree alone makes for enough, or noise would hide the answer.
        """
        if strength - self.knobs.doubt * self.doubt <= self.least:
            return False  # nothing but the matrix would be worth its noise
        columns, knobs = len(found.levels), self.knobs
        able = min(1.0, self._choices_paid() / ((columns - 1) * knobs.choosable))
        times = knobs.sparse_at_once * able * self._arranged().spread(sum(found.sizes) / columns)
        # the mean, times the square of what it is of the strength, must exceed so many times the noise
        least = cbrt(times * self._noise_of_all(found) * strength**2)
        plainly = knobs.told_sparse * least
        if 2 * strength / columns >= least or self._asked_for_mean(plainly)[1] > 2 * plainly:
            return False
        return self._mean_dependence(plainly)[0] < least

    def _noise_of_all(self, found: Products) -> float:
        """The mean distance that noise makes in all pairs: by this matrix, or in rho where that is less."""
        pure, levels = found.noise(self.start.budget.left[0]), found.levels
        noisy = min(self._noise_of_pairs(levels)) if self._better_in_rho(levels, found) else pure
        return noisy / (2 * self.n * comb(len(levels), 2))

    def _least_for_products(self) -> float:
        """What the strength must reach for that, whatever its own noise."""
        levels = [part.level for part in self.seen]
        if not self._arranged().in_full(levels) or (found := self._products(levels)) is None:
            return inf
        noisy = found.noise(self.start.budget.left[0]) / (2 * self.n * comb(len(levels), 2))
        return noisy / self.knobs.products_at_once

    def _multiplied(self, found: Products) -> tuple[list[Measured], Fraction]:
        """What the matrix tells, and what is left for triples that pairs do not tell.

        For these a part is kept where the noise of the matrix is below what chance does.
        """
        self.parameters["views"] = PRODUCTS
        self.finest, self.untold = self._arranged().untold([], found.levels)
        calm = found.noise(self.start.budget.left[0]) <= self.knobs.calm * self._chance(found.levels)
        spared = self.knobs.spared * self.tier.left if self.untold and calm else Fraction(0)
        label = "products of all pairs"
        pay = self.start.part(label, self.tier.left - spared) if spared else self.start.rest(label)
        return found.counted(pay), spared

    def _chance(self, levels: Sequence[int]) -> float:
        """What chance does to all pairs at these levels, in records."""
        arranged = self._arranged()
        return 2 * self.n * arranged.chance(arranged.one_by_one(levels))
