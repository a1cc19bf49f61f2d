"""One coin for each: the decisions of a tree's nodes, and people's randomised answers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.inversion import Inversion, coin, exp_bracket
from penstock.privacy.randomness.logarithms import ONE, Between, Log
from penstock.privacy.randomness.samplers import Integers, bernoulli_exp_each, uniform

_HALF = Between.of(Fraction(1, 2))


@dataclass(frozen=True, eq=False)
class Splits(Law[NDArray[np.bool_]]):
    """Whether margin + Lap(1) is above 0, for each of many margins: whole multiples of `step`."""

    margins: Integers
    step: Fraction

    @property
    def public(self) -> Hashable:
        return "splits", self.margins.shape, self.step

    def draw(self, source: Randomness) -> NDArray[np.bool_]:
        """Lap(1) > -margin, exactly: the unlikely side has probability exp(-|margin|) / 2."""
        unlikely = uniform(2, self.margins.size, source).reshape(self.margins.shape) == 1
        unlikely &= bernoulli_exp_each(np.abs(self.margins), self.step, source)
        return np.asarray(np.where(self.margins > 0, ~unlikely, unlikely), dtype=np.bool_)

    def log_probability(self, output: NDArray[np.bool_]) -> Log:
        total = Log()
        for margin, split in zip(self.margins.tolist(), output.tolist(), strict=True):
            total = total + _log_split(abs(margin) * self.step, split == (margin > 0))
        return total


@lru_cache(maxsize=1 << 14)
def _log_split(margin: Fraction, likely: bool) -> Log:
    if likely:
        return Log.ln(ONE - _HALF * Between.exp(-margin))
    return Log.ln(_HALF, -margin)


@dataclass(frozen=True, eq=False)
class Told(Law[NDArray[np.int64]]):
    """Randomised response: each answer 0 ... size - 1 is told as it is, or as one of the others."""

    answers: NDArray[np.int64]
    size: int
    epsilon: Fraction

    @property
    def public(self) -> Hashable:
        return "randomised response", self.answers.shape, self.size, self.epsilon

    def draw(self, source: Randomness) -> NDArray[np.int64]:
        truth, shape = self.answers, self.answers.shape
        honest = favoured(self.epsilon, Fraction(self.size - 1)).draw(source, truth.size).reshape(shape) == 1
        shift = uniform(self.size - 1, truth.size, source).reshape(shape) + 1
        told: NDArray[np.int64] = np.where(honest, truth, (truth.astype(np.int64) + shift) % self.size)
        return told

    def log_probability(self, output: NDArray[np.int64]) -> Log:
        """1 / (1 + (size - 1) exp(-epsilon)) for the truth, exp(-epsilon) times that for anything else."""
        lies = int(np.count_nonzero(output != self.answers))
        truth = Log.ln(ONE / (ONE + Between.of(self.size - 1) * Between.exp(-self.epsilon)))
        return truth * self.answers.size + Log(-self.epsilon * lies)


@lru_cache(maxsize=64)
def favoured(epsilon: Fraction, odds: Fraction) -> Inversion:
    """Draws 1 with probability 1/(1 + odds exp(-epsilon)), exactly."""

    def floor(bits: int) -> int:
        spare = 32
        while True:
            one = 1 << (bits + spare)
            low, high = exp_bracket(epsilon, bits + spare)
            whole = one * odds.denominator
            bottom = one * whole // (whole + odds.numerator * high)
            top = one * whole // (whole + odds.numerator * low) + 1
            if bottom >> spare == top >> spare:
                return bottom >> spare
            spare *= 2

    return coin(floor)
