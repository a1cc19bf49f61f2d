"""The minimum of a regularised loss over the records, to a distance that is known.

The objective is a sum over records, F(w) = sum of loss(y x.w) + ridge/2 |w|^2 + b.w, without a division by
the number of records, which nobody outside knows. It is strongly convex: F(w) - ridge/2 |w|^2 is convex, so
that a point w is no further from the minimum than |slope of F at w| / ridge. What is told has a slope of at
most `TOLERANCE`, and so lies within `distance(ridge)` of the exact minimum, a public number, whatever the
records are and however many.

Doubles only find where to look: Newton's method with halved steps ends where they see no more. That place is
put on a lattice, and from there on slopes are computed in whole numbers (`whole_slopes`), without any
rounding, and steps are made until the slope is as small as promised. That always comes to an end: a step of
Newton's is taken where it makes the slope shorter, and where none does, a step of slope / L, with L = ridge +
c n no less than any curvature of F, makes it shorter by the factor 1 - ridge / L (the mean second derivative
between both points lies between ridge and L), rounding to a lattice that is fine enough for it included. How
long it takes depends on the records, and nothing is ever refused, since a refusal would tell of them.

All of this is raw, and only called below the seal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from penstock.learn.linear.features import STEPS, Examples
from penstock.learn.linear.losses import Loss
from penstock.learn.linear.whole_slopes import Point, lattice_bits, whole_slope

Reals = NDArray[np.float64]

TOLERANCE = Fraction(1, 1 << 16)
"""The largest slope of the objective that an answer may have, where one record's slope is at most 1."""
MOST_STEPS = 200
MOST_HALVINGS = 60
TRIED = 6
"""So often a step of Newton's is halved in whole numbers before a sure one is taken."""
ENOUGH = 1 << 15
"""So many rows are enough to find out where to begin."""
BLUR = 1e-9
"""Below this share of the objective, a change of its value is not to be told from rounding."""


def distance(ridge: Fraction) -> Fraction:
    """No answer is further from the exact minimum, in Euclidean length."""
    return TOLERANCE / ridge


@dataclass(eq=False)
class Objective:
    """Raw: the loss of the records for one label against the others, with a ridge and a linear term.

    `ridge` and `tilt` are taken for exactly the numbers that they are: fractions, or doubles.
    """

    examples: Examples
    answer: int
    loss: Loss
    ridge: Fraction
    tilt: Sequence[Fraction] | Reals

    def __post_init__(self) -> None:
        self._signs = self.examples.signs(self.answer)
        self.ridge = Fraction(self.ridge)
        self._held, self._pull = float(self.ridge), np.array([float(each) for each in self.tilt])

    # In doubles: where to look ----------------------------------------------------------------------------

    def value(self, weights: Reals, margins: Reals) -> float:
        """F at some weights, whose margins are known."""
        losses = self.loss.values(margins)
        total = losses.sum() if self.examples.weights is None else losses @ self.examples.weights
        return float(total + self._held / 2 * weights @ weights + self._pull @ weights)

    def margins(self, weights: Reals) -> Reals:
        return np.asarray(self.examples.margins(weights) * self._signs)

    def slope(self, weights: Reals, margins: Reals) -> Reals:
        """The slope of F, as far as doubles tell."""
        pulls = self.loss.slopes(margins) * self._signs
        if self.examples.weights is not None:
            pulls = pulls * self.examples.weights
        total = np.zeros(len(weights))
        for here, steps in self.examples.parts():
            total += pulls[here] @ steps
        return np.asarray(total / STEPS + self._held * weights + self._pull)

    def bend(self, margins: Reals) -> Reals:
        """The second derivative of F: a row and a column for each feature."""
        curvatures = self.loss.curvatures(margins)
        if self.examples.weights is not None:
            curvatures = curvatures * self.examples.weights
        total = np.zeros((self.examples.problem.features.number,) * 2)
        for here, steps in self.examples.parts():
            heavy = steps * np.sqrt(curvatures[here])[:, None]
            total += heavy.T @ heavy
        total /= STEPS**2
        total[np.diag_indices(len(total))] += self._held
        return total

    def searched(self) -> Reals:
        """A place near the minimum, as near as doubles come to it."""
        start = np.asarray(-self._pull / self._held)
        every = self.examples.length // ENOUGH
        if every > 1:  # where to begin is found on some of the rows; where it ends does not depend on it
            some = Objective(self.examples.thinned(every), self.answer, self.loss, self.ridge, self.tilt)
            start = some.descended(start, float(every))
        return self.descended(start, float(TOLERANCE) / 2)

    def descended(self, weights: Reals, tolerance: float) -> Reals:
        """Newton's method from these weights (or from 0, if that is lower) until the slope seems small."""
        margins = self.margins(weights)
        least, start = self.value(weights, margins), np.zeros(len(weights))
        at_start = self.margins(start)
        if not self.value(start, at_start) >= least:
            weights, margins, least = start, at_start, self.value(start, at_start)
        for _ in range(MOST_STEPS):
            slope = self.slope(weights, margins)
            steep = float(np.linalg.norm(slope))
            if steep <= tolerance:
                break
            step = self._step(margins, slope)
            along = float(slope @ step)
            blurred = along < BLUR * max(1.0, abs(least))  # so small that values cannot tell any more
            for halved in range(MOST_HALVINGS):
                tried = weights - step / 2**halved
                there = self.margins(tried)
                value = self.value(tried, there)
                if not blurred and value <= least - along / 2**halved / 10000:
                    break
                if blurred and float(np.linalg.norm(self.slope(tried, there))) < steep:
                    break
            else:
                break  # doubles see no way down from here
            weights, margins, least = tried, there, value
        return weights

    def _step(self, margins: Reals, slope: Reals) -> Reals:
        """The step of Newton's method, or one along the slope where doubles cannot find it."""
        bend = self.bend(margins)
        try:
            step: Reals = np.asarray(np.linalg.solve(bend, slope), dtype=np.float64)
        except np.linalg.LinAlgError:
            step = np.full(len(slope), np.nan)
        return step if np.isfinite(step).all() and slope @ step > 0 else np.asarray(slope / np.trace(bend))

    # In whole numbers: what is told -----------------------------------------------------------------------

    @cached_property
    def steepest(self) -> Fraction:
        """L: no curvature of F is larger, since no record's features are longer than 1."""
        counts = self.examples.counts
        records = self.examples.length if counts is None else sum(counts.tolist())
        return self.ridge + self.loss.curvature_bound * records

    def exact_slope(self, point: Point) -> list[Fraction]:
        """The slope of F at a point, without rounding."""
        found = whole_slope(self.examples, self._signs, self.loss, point)
        return [
            each + self.ridge * place + Fraction(tilt)
            for each, place, tilt in zip(found, point.fractions, self.tilt, strict=True)
        ]

    def minimum(self) -> Point:
        """A point whose slope is no longer than `TOLERANCE`: certain, whatever the records are."""
        found = self.searched()
        if not np.isfinite(found).all():  # doubles got lost; whole numbers begin anew
            found = np.zeros(len(found))
        point = Point.near(found, self._bits(TOLERANCE / 8))
        slope = self.exact_slope(point)
        while (steep := _square(slope)) > TOLERANCE**2:
            point, slope = self._nearer(point, slope, steep)
        return point

    def _nearer(self, point: Point, slope: list[Fraction], steep: Fraction) -> tuple[Point, list[Fraction]]:
        """A point with a shorter slope: a step of Newton's from here, halved, or else a sure one."""
        step = self._step(self.margins(point.doubles), np.array([float(each) for each in slope]))
        for halved in range(TRIED):
            tried = point.less((step / 2**halved).tolist())
            there = self.exact_slope(tried)
            if _square(there) <= steep * (1 - Fraction(1, 2 << halved)):
                return tried, there
        bits = self._bits(TOLERANCE * self.ridge / (4 * self.steepest))
        sure = point.finer(max(bits, point.bits)).less([each / self.steepest for each in slope])
        return sure, self.exact_slope(sure)

    def _bits(self, change: Fraction) -> int:
        """A lattice on which rounding a point changes its slope by no more than that."""
        number = self.examples.problem.features.number
        return lattice_bits(ceil(self.steepest * number / change).bit_length())


def _square(slope: list[Fraction]) -> Fraction:
    return sum((each * each for each in slope), Fraction(0))
