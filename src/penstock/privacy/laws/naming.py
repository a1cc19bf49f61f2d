"""Names of values that occur often: the output of a stability-based histogram."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from penstock.privacy.laws.additive import LaplaceAround, log_centre
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import NEVER, ONE, Between, Log
from penstock.privacy.randomness.samplers import Integers


@dataclass(frozen=True, eq=False)
class Named(Law[dict[str, int]]):
    """The values whose count with discrete Laplace noise reaches a public least one, with that count.

    A value that does not occur is never named, and how many others there are is not told.
    """

    approximate: ClassVar[bool] = True

    values: Sequence[str]
    counts: Integers
    scale: Fraction
    least: int

    @property
    def public(self) -> Hashable:
        return "named", self.scale, self.least

    def draw(self, source: Randomness) -> dict[str, int]:
        noisy = LaplaceAround(self.counts, self.scale).draw(source)
        told = zip(self.values, noisy.tolist(), strict=True)
        return {value: count for value, count in told if count >= self.least}

    def log_probability(self, output: dict[str, int]) -> Log:
        """Of a named value that of its noise, of another one 1 - P(noise >= least - count)."""
        if not set(output) <= set(self.values):
            return NEVER
        total, a = Log(), Between.exp(-1 / self.scale)
        for value, count in zip(self.values, self.counts.tolist(), strict=True):
            if value in output:
                far = Fraction(abs(output[value] - count))
                total = total + log_centre(self.scale) + Log(-far / self.scale)
            elif (gap := self.least - count) > 0:
                total = total + Log.ln(ONE - Between.exp(-gap / self.scale) / (ONE + a))
            else:  # P(noise < gap) = a^(1 - gap) / (1 + a)
                total = total + Log.ln(ONE / (ONE + a), (gap - 1) / self.scale)
        return total
