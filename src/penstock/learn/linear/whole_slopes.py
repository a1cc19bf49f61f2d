"""The slope of a loss over the records at a point of a lattice, in whole numbers: nothing is rounded.

A point is a vector of whole numbers of 2**-bits. Features are whole numbers of 2**-14, so that a margin is a
whole number of 2**-(14 + bits), and the slope of a loss there, which is linear between knots, is a whole
number of a finer unit. Both are far longer than 64 bits where records are many. They are therefore held as
digits of 16 bits: sums of products of features (14 bits and a sign) with single digits stay below 2**53,
where doubles are whole numbers and their sums exact, in whatever order a machine adds them; what is carried
from digit to digit, and everything that is added up over records, are whole numbers of 64 bits or any length.

All of this is raw, and only called below the seal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.learn.linear.features import FEATURE_BITS, Examples
from penstock.learn.linear.losses import KNOT_BITS, KNOTS, VALUE_BITS, Loss

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]

DIGIT = 16
_MASK = (1 << DIGIT) - 1
_LEAD = 30  # binary digits of a leading digit at most; a thousand features take 19 more
_FAR = 1 << 24  # pieces beyond the last knots, all alike
_HEAVY = 1 << 11  # rows whose slopes, each so often as 16 bits say, are added up in 64 bits


def lattice_bits(least: int) -> int:
    """So many binary digits at least that the pieces of a loss begin with a digit."""
    fraction = FEATURE_BITS - KNOT_BITS
    return -(-(least + fraction) // DIGIT) * DIGIT - fraction


@dataclass(frozen=True)
class Point:
    """A vector of whole numbers of 2**-bits."""

    numbers: tuple[int, ...]
    bits: int

    @classmethod
    def near(cls, values: Reals, bits: int) -> Point:
        """The point of the lattice that is nearest to some doubles."""
        return cls(tuple(round(Fraction(float(each)) * (1 << bits)) for each in values), bits)

    def finer(self, bits: int) -> Point:
        """The same point on a finer lattice."""
        return Point(tuple(each << (bits - self.bits) for each in self.numbers), bits)

    def less(self, step: Sequence[Fraction | float]) -> Point:
        """The point of the lattice next to this one less a step."""
        moved = (round(Fraction(each) * (1 << self.bits)) for each in step)
        return Point(tuple(one - two for one, two in zip(self.numbers, moved, strict=True)), self.bits)

    @property
    def fractions(self) -> list[Fraction]:
        return [Fraction(each, 1 << self.bits) for each in self.numbers]

    @property
    def doubles(self) -> Reals:
        return np.array([float(each) for each in self.fractions], dtype=np.float64)

    def rounded(self, step: Fraction) -> list[int]:
        """The nearest whole number of steps of each coordinate."""
        return [round(each / step) for each in self.fractions]


def whole_slope(examples: Examples, signs: Reals, loss: Loss, point: Point) -> list[Fraction]:
    """The sum over records of the slope of loss(y x.w) at the point, exactly."""
    below = (point.bits + FEATURE_BITS - KNOT_BITS) // DIGIT
    digits = _digits(point, below)
    begins, grows = loss.pulls
    totals = [[0] * len(point.numbers) for _ in range(below + 1)]
    for here, steps in examples.parts():
        own = signs[here].astype(np.int64)[:, None]
        margins = (steps @ digits).astype(np.int64) * own
        for place in range(margins.shape[1] - 1):
            margins[:, place + 1] += margins[:, place] >> DIGIT
            margins[:, place] &= _MASK
        piece = _pieces(margins[:, below:])
        pulls = np.empty((len(own), below + 1), dtype=np.int64)
        pulls[:, :below] = margins[:, :below] * grows[piece][:, None]
        pulls[:, below] = begins[piece]
        for place in range(below):
            pulls[:, place + 1] += pulls[:, place] >> DIGIT
            pulls[:, place] &= _MASK
        _add(totals, pulls * own, steps, None if examples.counts is None else examples.counts[here])
    unit = VALUE_BITS + FEATURE_BITS + DIGIT * below
    return [
        Fraction(-sum(totals[place][at] << (DIGIT * place) for place in range(below + 1)), 1 << unit)
        for at in range(len(point.numbers))
    ]


def _digits(point: Point, below: int) -> Reals:
    """A row for each coordinate and a column for each digit, the last of which has a sign."""
    longest = max((abs(each) for each in point.numbers), default=0).bit_length()
    number = below + 1
    while longest - DIGIT * (number - 1) > _LEAD:
        number += 1
    found = np.empty((len(point.numbers), number))
    for at, each in enumerate(point.numbers):
        found[at, :-1] = [each >> (DIGIT * place) & _MASK for place in range(number - 1)]
        found[at, -1] = each >> (DIGIT * (number - 1))
    return found


def _pieces(upper: Numbers) -> Numbers:
    """The piece of a loss that each margin lies on, from the digits above those along a piece."""
    found: Numbers = np.clip(upper[:, -1], -_FAR, _FAR)
    for place in reversed(range(upper.shape[1] - 1)):
        found = np.clip((found << DIGIT) + upper[:, place], -_FAR, _FAR)
    return np.clip(found + KNOTS + 1, 0, 2 * KNOTS + 1)


def _add(totals: list[list[int]], pulls: Numbers, steps: Reals, counts: Numbers | None) -> None:
    """Add the products of pulls and features to the totals; a pull of 2**22 or less, digit by digit.

    Sums of 2**16 rows that are one record each are at most 2**(22 + 14 + 16). How many records a row stands
    for is taken 16 bits at a time, and sums of 2**11 rows stay below 2**(22 + 14 + 16 + 11).
    """
    if counts is None:
        sums = [(0, pulls.T.astype(np.float64) @ steps)]
    else:
        sums = []
        for shift in range(0, max(1, int(counts.max(initial=0)).bit_length()), DIGIT):
            part = pulls * (counts >> shift & _MASK)[:, None]
            for begin in range(0, len(part), _HEAVY):
                some = slice(begin, begin + _HEAVY)
                sums.append((shift, part[some].T @ steps[some].astype(np.int64)))
    for shift, found in sums:
        for place, row in enumerate(found.tolist()):
            for at, each in enumerate(row):
                totals[place][at] += int(each) << shift
