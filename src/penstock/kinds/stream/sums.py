"""Counters that are sums of whole numbers, with discrete Laplace noise: what such sketches share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.sketch import Counters, Setting, Sketch, Updates
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.randomness.generator import Law, Randomness

_WIDEST = 1 << 50
"""Noise of a larger scale might not fit into 64 bits; that of this one goes beyond 2^62 once in e^4096."""
_LARGEST = 1 << 62


@dataclass(frozen=True)
class Sums(Sketch):
    """A sketch of sums, all of which an update may move."""

    mechanism: ClassVar[str] = "discrete Laplace"

    @abstractmethod
    def moved(self, setting: Setting) -> int:
        """How far neighbours move all sums together: noise is calibrated to it."""

    @abstractmethod
    def moves(self, setting: Setting, updates: Updates) -> NDArray[np.int64]:
        """By how much a few updates move the sums."""

    def scale(self, setting: Setting, epsilon: Fraction) -> Fraction:
        """Of the noise of a sum, for an epsilon that pays for all of them."""
        return Fraction(self.moved(setting)) / epsilon

    def noise(self, setting: Setting, around: Counters) -> Law[Counters]:
        return LaplaceAround(np.asarray(around), self.scale(setting, setting.state))

    def holds(self, setting: Setting) -> bool:
        return self.scale(setting, setting.state) <= _WIDEST

    def feed(self, setting: Setting, counters: Counters, updates: Updates, source: Randomness) -> None:
        for piece in updates.pieces():
            counters += self.moves(setting, piece)

    def plausible(self, setting: Setting, counters: Counters) -> bool:
        return int(counters.min()) > -_LARGEST and int(counters.max()) < _LARGEST
