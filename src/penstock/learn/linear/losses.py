"""Losses of a margin: what it costs to be wrong, with bounded slope and bounded curvature."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
LossName = Literal["logistic", "huber"]


class Loss(Protocol):
    """A convex function of the margin whose slope lies between -1 and 0."""

    @property
    def curvature_bound(self) -> Fraction:
        """The second derivative is nowhere larger."""

    def values(self, margins: Reals) -> Reals:
        """The loss of each margin."""

    def slopes(self, margins: Reals) -> Reals:
        """Its derivative."""

    def curvatures(self, margins: Reals) -> Reals:
        """Its second derivative, where there is one; one of both sides where it jumps."""


@dataclass(frozen=True)
class Logistic:
    """ln(1 + exp(-z)).

    >>> Logistic().slopes(np.array([0.0])).tolist(), Logistic().curvature_bound
    ([-0.5], Fraction(1, 4))
    """

    @property
    def curvature_bound(self) -> Fraction:
        return Fraction(1, 4)

    def values(self, margins: Reals) -> Reals:
        return np.logaddexp(0.0, -margins)

    def slopes(self, margins: Reals) -> Reals:
        return np.asarray(-_sigmoid(-margins))

    def curvatures(self, margins: Reals) -> Reals:
        one = _sigmoid(margins)
        return np.asarray(one * (1 - one))


@dataclass(frozen=True)
class Huber:
    """The hinge of a support vector machine, rounded off within `width` of the margin 1.

    >>> Huber().values(np.array([2.0, 1.0, 0.0])).tolist()
    [0.0, 0.125, 1.0]
    """

    width: Fraction = Fraction(1, 2)

    @property
    def curvature_bound(self) -> Fraction:
        return 1 / (2 * self.width)

    def values(self, margins: Reals) -> Reals:
        far = np.clip(1 + float(self.width) - margins, 0.0, 2 * float(self.width))
        return np.asarray(far**2 / (4 * float(self.width)) + np.maximum(1 - float(self.width) - margins, 0.0))

    def slopes(self, margins: Reals) -> Reals:
        return np.asarray(-np.clip((1 + float(self.width) - margins) / (2 * float(self.width)), 0.0, 1.0))

    def curvatures(self, margins: Reals) -> Reals:
        return np.where(np.abs(margins - 1) <= float(self.width), 1 / (2 * float(self.width)), 0.0)


def loss_of(name: LossName) -> Loss:
    """The loss of this name."""
    return Logistic() if name == "logistic" else Huber()


def _sigmoid(margins: Reals) -> Reals:
    """1 / (1 + exp(-z)) without overflow."""
    small = np.exp(-np.abs(margins))
    return np.asarray(np.where(margins >= 0, 1.0, small) / (1 + small))
