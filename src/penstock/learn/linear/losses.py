"""Losses of a margin: what it costs to be wrong, with bounded slope and bounded curvature.

The slope of a loss is linear between public knots, and its values there are whole numbers of 2**-22: it is
drawn through the slope of the logistic loss, or of a hinge with a rounded corner, at every 64th between -32
and 32, and constant beyond. So a loss is a convex parabola between two knots, and its slope at a margin of
so many binary digits is a fraction that whole numbers hold: nothing about it is rounded, and nothing depends
on how well a machine computes exponentials. It is this loss that the theorems speak of; the smooth one that
it follows to 3 millionths is never used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
LossName = Literal["logistic", "huber"]

KNOT_BITS = 6
"""Two knots are 2**-KNOT_BITS apart."""
VALUE_BITS = 22
"""Slopes at the knots are whole numbers of 2**-VALUE_BITS."""
REACH = 32
"""So far from 0 are the last knots."""
KNOTS = REACH << KNOT_BITS
"""So many pieces there are on each side of 0."""


class Loss(ABC):
    """A convex function of the margin whose slope lies between -1 and 0, and falls off to 0."""

    @abstractmethod
    def pull(self, margin: float) -> float:
        """Minus the slope that this loss follows, between 1 and 0, at one margin."""

    @cached_property
    def pulls(self) -> tuple[Numbers, Numbers]:
        """Of every piece, from left to right, the pull where it begins and by how much that grows along it.

        In 2**-VALUE_BITS. The first and the last piece have no end, and no slope.
        """
        ends = range(-KNOTS, KNOTS + 1)
        one = 1 << VALUE_BITS
        found = [min(one, max(0, round(self.pull(place / (1 << KNOT_BITS)) * one))) for place in ends]
        begins = np.array([found[0], *found], dtype=np.int64)
        return begins, np.append(np.diff(begins), 0)

    @cached_property
    def curvature_bound(self) -> Fraction:
        """The second derivative is nowhere larger."""
        steepest = int(np.abs(self.pulls[1]).max())
        return Fraction(steepest << KNOT_BITS, 1 << VALUE_BITS)

    def slopes(self, margins: Reals) -> Reals:
        """The derivative at each margin, in doubles."""
        piece, along = _places(margins)
        begins, grows = self._doubles
        return np.asarray(-(begins[piece] + grows[piece] * along))

    def curvatures(self, margins: Reals) -> Reals:
        """The second derivative, of the piece to the right where it jumps."""
        return np.asarray(-self._doubles[1][_places(margins)[0]] * (1 << KNOT_BITS))

    def values(self, margins: Reals) -> Reals:
        """The loss of each margin, in doubles; 0 from the last knot on."""
        piece, along = _places(margins)
        begins, grows = self._doubles
        fallen = (begins[piece] + grows[piece] * along / 2) * along
        return np.asarray(self._left[piece] - fallen / (1 << KNOT_BITS))

    @cached_property
    def _doubles(self) -> tuple[Reals, Reals]:
        begins, grows = self.pulls
        return begins / 2.0**VALUE_BITS, grows / 2.0**VALUE_BITS

    @cached_property
    def _left(self) -> Reals:
        """The loss where each piece begins; of the first, which has no beginning, where it ends."""
        begins, grows = self._doubles
        each = (begins[1:-1] + grows[1:-1] / 2) / (1 << KNOT_BITS)
        sums = np.append(np.cumsum(each[::-1])[::-1], 0.0)
        return np.append(sums[0], sums)


def _places(margins: Reals) -> tuple[NDArray[np.int64], Reals]:
    """The piece that each margin lies on, and how far along it, in lengths of a piece."""
    scaled = margins * (1 << KNOT_BITS)
    piece = np.clip(np.floor(scaled), -KNOTS - 1, KNOTS)
    along = scaled - np.maximum(piece, -KNOTS)
    return piece.astype(np.int64) + KNOTS + 1, along


@dataclass(frozen=True)
class Logistic(Loss):
    """ln(1 + exp(-z)), as far as its pieces follow it.

    >>> Logistic().slopes(np.array([0.0])).tolist(), Logistic().curvature_bound
    ([-0.5], Fraction(1, 4))
    """

    def pull(self, margin: float) -> float:
        small = exp(-abs(margin))
        return (small if margin >= 0 else 1.0) / (1 + small)


@dataclass(frozen=True)
class Huber(Loss):
    """The hinge of a support vector machine, rounded off within `width` of the margin 1.

    >>> Huber().values(np.array([2.0, 1.0, 0.0])).tolist()
    [0.0, 0.125, 1.0]
    """

    width: Fraction = Fraction(1, 2)

    def pull(self, margin: float) -> float:
        return float(
            min(Fraction(1), max(Fraction(0), (1 + self.width - Fraction(margin)) / (2 * self.width)))
        )


LOGISTIC, HUBER = Logistic(), Huber()


def loss_of(name: LossName) -> Loss:
    """The loss of this name."""
    return LOGISTIC if name == "logistic" else HUBER
