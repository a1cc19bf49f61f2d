"""Chance that does not meet the records: the same whatever they are, and therefore free.

It is drawn through the same seam as noise, so that an audit sees that it asks for nothing else on a
neighbour of the records.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import Between, Log
from penstock.privacy.randomness.samplers import permutation


@dataclass(frozen=True)
class AnyBelow(Law[int]):
    """A whole number from 0 to below a public bound, each as likely as the others."""

    bound: int

    @property
    def public(self) -> Hashable:
        return "any number", self.bound

    def draw(self, source: Randomness) -> int:
        return source.below(self.bound)

    def log_probability(self, output: int) -> Log:
        return Log.ln(Between.of(Fraction(1, self.bound)))


@dataclass(frozen=True)
class AnyOrder(Law[NDArray[np.int64]]):
    """The numbers 0 ... count - 1 in an order that is as likely as any other."""

    count: int

    @property
    def public(self) -> Hashable:
        return "any order", self.count

    def draw(self, source: Randomness) -> NDArray[np.int64]:
        return permutation(self.count, source)

    def log_probability(self, output: NDArray[np.int64]) -> Log:
        return Log.ln(Between.of(Fraction(1, factorial(self.count))))
