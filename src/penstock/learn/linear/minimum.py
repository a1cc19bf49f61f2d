"""The minimum of a regularised loss over the records, to a distance that is known.

The objective is a sum over records, F(w) = sum of loss(y x.w) + ridge/2 |w|^2 + b.w, without a division by
the number of records, which nobody outside knows. It is strongly convex: F(w) - ridge/2 |w|^2 is convex, so
that a point w is no further from the minimum than |slope of F at w| / ridge. Newton's method with halved
steps finds a point with a slope of at most `TOLERANCE` whatever the records are; what a double cannot hold of
that slope is bounded (`rounding`) and counts. So an answer is within `distance(ridge)` of the exact minimum,
a public number, as long as that bound is smaller; it grows with the records and with the weights. There is an
answer beyond that as well, since a refusal would tell of the records: the limits page says what is proven.

All of this is raw, and only called below the seal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.learn.linear.features import STEPS, Examples
from penstock.learn.linear.losses import Loss

Reals = NDArray[np.float64]

TOLERANCE = Fraction(1, 1 << 16)
"""The largest slope of the objective that an answer may have, where one record's slope is at most 1."""
MOST_STEPS = 200
MOST_HALVINGS = 60
SUMMED = 1 << 10
"""Rows whose slopes are added up in doubles; sums of such sums are added up in extended precision."""
ENOUGH = 1 << 15
"""So many rows are enough to find out where to begin."""
UNIT = 2.0**-53
BLUR = 1e-9
"""Below this share of the objective, a change of its value is not to be told from rounding."""


def distance(ridge: Fraction) -> Fraction:
    """No answer is further from the exact minimum, in Euclidean length."""
    return TOLERANCE / ridge


@dataclass(eq=False)
class Objective:
    """Raw: the loss of the records for one label against the others, with a ridge and a linear term."""

    examples: Examples
    answer: int
    loss: Loss
    ridge: float
    tilt: Reals

    def __post_init__(self) -> None:
        self._signs = self.examples.signs(self.answer)

    def value(self, weights: Reals, margins: Reals) -> float:
        """F at some weights, whose margins are known."""
        losses = self.loss.values(margins)
        total = losses.sum() if self.examples.weights is None else losses @ self.examples.weights
        return float(total + self.ridge / 2 * weights @ weights + self.tilt @ weights)

    def margins(self, weights: Reals) -> Reals:
        return np.asarray(self.examples.margins(weights) * self._signs)

    def slope(self, weights: Reals, margins: Reals) -> Reals:
        """The slope of F. Every sum in doubles is over `SUMMED` rows at most."""
        pulls = self.loss.slopes(margins) * self._signs
        if self.examples.weights is not None:
            pulls = pulls * self.examples.weights
        total = np.zeros(len(weights), dtype=np.longdouble)
        for here, steps in self.examples.parts():
            rows = steps.shape[0]
            for begin in range(0, rows, SUMMED):
                total += pulls[here][begin : begin + SUMMED] @ steps[begin : begin + SUMMED]
        total /= STEPS
        return np.asarray(total + self.ridge * weights + self.tilt, dtype=np.float64)

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
        total[np.diag_indices(len(total))] += self.ridge
        return total

    def rounding(self, weights: Reals) -> float:
        """No less than what doubles can have changed in the length of the slope.

        A sum of k products is off by at most 2 k u times the sum of the absolute products, u = 2**-53; the
        vectors of one record are at most 1 long, and its slope is between -1 and 1. A margin of d products is
        off by at most 2 d u |w|, which changes a slope by no more than the largest curvature times that. The
        exponential and the few operations around it are good to 16 u, and the last additions to u of the
        result's parts. Extended precision, where it is no better than doubles, adds u for each partial sum.
        """
        weights_of = self.examples.weights
        records = float(self.examples.length if weights_of is None else weights_of.sum())
        blocks = self.examples.length / SUMMED + 2
        partial = blocks * UNIT if np.finfo(np.longdouble).eps > UNIT / 2 else 0.0
        long = float(np.linalg.norm(weights))
        bent = float(self.loss.curvature_bound) * 2 * len(weights) * UNIT * long
        each = 2 * SUMMED * UNIT + 16 * UNIT + bent + partial
        return records * each + 4 * UNIT * (self.ridge * long + float(np.linalg.norm(self.tilt)))

    def minimum(self) -> Reals:
        """A point whose slope is at most `TOLERANCE` long, which is certain as far as `rounding` can tell.

        Nothing is refused where it cannot: whether it can depends on the number of records and on what they
        are, so that a refusal would tell of them. See the limits page for how far the certainty reaches.
        """
        start = np.asarray(-self.tilt / self.ridge)
        every = self.examples.length // ENOUGH
        if every > 1:  # where to begin is found on some of the rows; where it ends does not depend on it
            some = Objective(self.examples.thinned(every), self.answer, self.loss, self.ridge, self.tilt)
            start = some.descended(start, float(every))
        return self.descended(start, float(TOLERANCE))

    def certain(self, weights: Reals, slope: Reals, tolerance: float) -> bool:
        """Whether the slope at some weights is no longer than that, rounding included."""
        return float(np.linalg.norm(slope)) + self.rounding(weights) <= tolerance

    def descended(self, weights: Reals, tolerance: float) -> Reals:
        """Newton's method from these weights (or from 0, if that is lower) until the slope is small."""
        margins = self.margins(weights)
        least, start = self.value(weights, margins), np.zeros(len(weights))
        at_start = self.margins(start)
        if self.value(start, at_start) < least:
            weights, margins, least = start, at_start, self.value(start, at_start)
        for _ in range(MOST_STEPS):
            slope = self.slope(weights, margins)
            if self.certain(weights, slope, tolerance):
                break
            step = np.linalg.solve(self.bend(margins), slope)
            along, steep = float(slope @ step), float(np.linalg.norm(slope))
            blurred = along < BLUR * max(1.0, abs(least))  # so small that values cannot tell any more
            for halved in range(MOST_HALVINGS):
                tried = weights - step / 2**halved
                there = self.margins(tried)
                value = self.value(tried, there)
                if not blurred and value <= least - along / 2**halved / 10000:
                    break
                if blurred and float(np.linalg.norm(self.slope(tried, there))) < steep:
                    break
            weights, margins, least = tried, there, value
        return weights
