"""Losses of one number that are summed without rounding: linear between public knots, with whole values.

A search compares sums of losses over all records, and its guarantee rests on how far one record moves their
differences. Sums of doubles depend on the order of the records, and a double's logarithm on the processor. So
arguments here are whole steps of a lattice, values at the knots are whole numbers, and between two knots a
loss is the straight line, whose values are whole in units that are finer by the distance of the knots. No
two arguments differ in loss by more than the steepest line times their distance: exactly, not about.

Beyond the last knots the outermost lines go on. That changes nothing for the hinge, and next to nothing for
the logistic loss. It makes the squared loss that of Huber: a residual beyond half the range of what is
predicted counts in proportion. Losses of labels are of the margin z = y (x w) with y = 1 or -1, so that the
sign of x w decides; the form max(0, 1 - 4 (y - 1/2) (f - 1/2)) with y = 1 or 0 is the same for x w = 2 f - 1,
where f decides at one half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, log1p

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

FEATURE_BITS = 14
WEIGHT_BITS = 8
STEP_BITS = FEATURE_BITS + WEIGHT_BITS
"""A feature times a weight, or a sum of such, is a whole number of steps, of which 2**STEP_BITS are one."""
KNOT_BITS = 16
"""Two knots are 2**KNOT_BITS steps apart: a 64th."""
VALUE_BITS = 13
"""Values at the knots are whole, in units of 2**-VALUE_BITS."""
CORNER = 0.5
"""How far from its corner the hinge is a parabola: at a corner no step along one coordinate leads down."""


@dataclass(frozen=True)
class Loss:
    """A loss of one number: its form, and how far from 0 its knots reach, in whole numbers.

    >>> HUBER.of(np.array([0, 1 << STEP_BITS])) / HUBER.one
    array([1.   , 0.125])
    >>> round(float(LOGISTIC.of(np.array([0]))[0] / LOGISTIC.one), 4)
    0.6931
    """

    name: str
    form: Callable[[float], float]
    reach: int

    @property
    def one(self) -> int:
        """A loss of one, in the units of `of`."""
        return 1 << (VALUE_BITS + KNOT_BITS)

    @cached_property
    def _knots(self) -> tuple[Whole, Whole]:
        """The values at the knots but the last, and how far each is below the next."""
        last = self.reach << (STEP_BITS - KNOT_BITS)
        apart = 2.0 ** (KNOT_BITS - STEP_BITS)
        found = [round(self.form(place * apart) * 2**VALUE_BITS) for place in range(-last, last + 1)]
        values = np.array(found, dtype=np.int64)
        return values[:-1] << KNOT_BITS, np.diff(values)

    @property
    def steepest(self) -> int:
        """By how much it moves at most when its argument moves by one step."""
        return int(np.abs(self._knots[1]).max())

    def of(self, steps: Whole) -> Whole:
        """The loss of each number of steps."""
        values, slopes = self._knots
        shifted = steps + (self.reach << STEP_BITS)
        knot = np.clip(shifted >> KNOT_BITS, 0, len(values) - 1)
        found: Whole = values[knot] + slopes[knot] * (shifted - (knot << KNOT_BITS))
        return found

    def most(self, furthest: int) -> int:
        """The largest loss of an argument no further from 0 than so many steps."""
        return int(self.of(np.array([-furthest, furthest], dtype=np.int64)).max())


def _logistic(margin: float) -> float:
    return log1p(exp(-abs(margin))) + max(0.0, -margin)


def _huber(margin: float) -> float:
    if abs(margin - 1.0) >= CORNER:
        return max(0.0, 1.0 - margin)
    return (1.0 + CORNER - margin) ** 2 / (4 * CORNER)


LOGISTIC = Loss("logistic", _logistic, 16)
"""ln(1 + exp(-z)) of a margin z."""
HUBER = Loss("huber", _huber, 2)
"""max(0, 1 - z) of a margin z, with its corner rounded: that of support vector machines."""
SQUARED = Loss("squared", lambda residual: residual * residual, 1)
"""r r of a residual r, in proportion beyond 1."""
