"""Yes or no, many times, with one hidden threshold: the probabilities of a sparse vector's answers.

A query v is answered yes when v + z >= t + rho: z is fresh discrete Laplace noise, rho that of the threshold,
drawn once (or once after every yes) and never seen. The answers are only likely together: the sum over all
whole rho of P(rho) times the product of the answers' chances given rho.

That sum is exact. With a = exp(-1 / scale of the queries) and k = t - v + rho, a yes has the chance
a^k / (1 + a) for k >= 0 and 1 - a^(1 - k) / (1 + a) below, a no the rest to 1. Between two places where
some k changes its sign, each chance is a term in a^rho or one minus a term, so their product is a polynomial
in a^rho. P(rho) is a power of exp(-1 / scale of the threshold), so each of its terms is a geometric series,
whose sum is known, also where the stretch has no end.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Hidden, Law
from penstock.privacy.randomness.logarithms import ONE, ZERO, Between, Log
from penstock.privacy.randomness.samplers import Integers

Signed = tuple[Between, Between]
"""A coefficient as its positive and its negative part: nothing is subtracted before the very end."""

_NOTHING: Signed = (ZERO, ZERO)


@dataclass(frozen=True, eq=False)
class HiddenThreshold(Hidden):
    """The noise on a threshold, which all answers share until it is drawn anew (`redraw`: after a yes)."""

    threshold_scale: Fraction
    query_scale: Fraction
    redraw: bool = False

    def log_probability(self, draws: Sequence[tuple[Any, Any]]) -> Log:
        total, run = Log(), list[tuple[int, bool]]()
        for law, output in draws:
            for shortfall, above in zip(law.shortfalls, output.tolist(), strict=False):
                run.append((int(shortfall), above))
                if above and self.redraw:
                    total, run = total + self._together(run), []
        return total + self._together(run) if run else total

    def _together(self, answers: Sequence[tuple[int, bool]]) -> Log:
        """The chance of these answers: how far each query lay below its threshold, and what was said."""
        cuts = sorted({0, *(-shortfall for shortfall, _ in answers)})
        stretches: list[tuple[int | None, int | None]] = [(None, cuts[0] - 1)]
        stretches += [(low, high - 1) for low, high in pairwise(cuts)]
        stretches.append((cuts[-1], None))
        plus, minus = ZERO, ZERO
        for low, high in stretches:
            inside = low if low is not None else high
            assert inside is not None
            terms = self._polynomial(answers, inside)
            for power, (positive, negative) in terms.items():
                series = self._series(power, low, high, rising=inside < 0)
                plus, minus = plus + positive * series, minus + negative * series
        b = Between.exp(-1 / self.threshold_scale)
        return Log.ln((plus - minus) * (ONE - b) / (ONE + b))

    def _polynomial(self, answers: Sequence[tuple[int, bool]], inside: int) -> dict[int, Signed]:
        """The product of the answers' chances as a polynomial in a^rho, on the stretch around `inside`."""
        terms: dict[int, Signed] = {0: (ONE, ZERO)}
        bottom = ONE + Between.exp(-1 / self.query_scale)
        for shortfall, above in answers:
            high = shortfall + inside >= 0
            # a^(shortfall + rho) / (1 + a) for a yes from above; a^(1 - shortfall - rho) / (1 + a) else.
            exponent = Fraction(shortfall if high else 1 - shortfall)
            factor, power = Between.exp(-exponent / self.query_scale) / bottom, 1 if high else -1
            alone = above == high  # the rare answer is the term itself, the usual one is 1 minus it
            grown: dict[int, Signed] = {}
            for each, (positive, negative) in terms.items():
                shifted = positive * factor, negative * factor
                _add(grown, each + power, shifted if alone else (shifted[1], shifted[0]))
                if not alone:
                    _add(grown, each, (positive, negative))
            terms = grown
        return terms

    def _series(self, power: int, low: int | None, high: int | None, *, rising: bool) -> Between:
        """The sum of exp(-|rho| / threshold_scale) a^(power rho) over a stretch on one side of 0."""
        step = Fraction(-power) / self.query_scale + (1 if rising else -1) / self.threshold_scale
        if low is None:
            assert high is not None
            return Between.exp(step * high) / (ONE - Between.exp(-step))
        if high is None:
            return Between.exp(step * low) / (ONE - Between.exp(step))
        if step == 0:
            return Between.of(high - low + 1)
        first, last, ratio = (step * low, step * high, step) if step < 0 else (step * high, step * low, -step)
        return (Between.exp(first) - Between.exp(last + ratio)) / (ONE - Between.exp(ratio))


def _add(terms: dict[int, Signed], power: int, more: Signed) -> None:
    positive, negative = terms.get(power, _NOTHING)
    terms[power] = positive + more[0], negative + more[1]


class Comparison(Law[NDArray[np.bool_]]):
    """Which of some queries reach their thresholds: answers up to the last yes that there may be.

    How the noise is drawn is the sparse vector's; here is how likely its answers are.
    """

    def __init__(self, values: Integers, limits: Integers, noise: HiddenThreshold, left: int) -> None:
        self.values, self.limits, self.noise, self.left = values, limits, noise, left

    @property
    def public(self) -> Hashable:
        noise = self.noise
        limits = tuple(int(limit) for limit in self.limits)
        return "comparison", limits, noise.threshold_scale, noise.query_scale, noise.redraw, self.left

    @property
    def shortfalls(self) -> list[int]:
        """How far each query lies below its threshold."""
        return [int(limit) - int(value) for value, limit in zip(self.values, self.limits, strict=True)]

    @property
    def hidden(self) -> HiddenThreshold:
        return self.noise

    def log_probability(self, output: NDArray[np.bool_]) -> Log:
        """As if these were the first answers; later ones are only likely together with the earlier."""
        return self.noise.log_probability([(self, output)])
