"""Rungs around a whole number: the ladder's draw, and noise on the scale of a smooth sensitivity.

With r = exp(-rate) rung t has weight W_t r^t, where W_0 = 1, W_t = 2 I_{t-1}, and W_t = 2 C from some t on.
Instead of cutting that endless sum, write W_t as a sum of its steps D_j: choose j with probability
proportional to D_j r^j, which is a finite choice with whole weights, and climb on from there by a geometric
number of rungs with P(G = i) = (1 - r) r^i. Rung t then has probability proportional to the sum of
D_j r^j (1 - r) r^(t - j) over j <= t, which is (1 - r) W_t r^t. Where the first rung is empty, W_1 is below
W_0 and the step would be negative; the value itself is then a step of its own that may not be climbed on, and
a draw that does is made again from the start.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from penstock.errors import UsageError
from penstock.privacy.laws.additive import log_centre
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import NEVER, ONE, PI, Between, Log
from penstock.privacy.randomness.samplers import Integers, discrete_laplace, geometric, tilted, uniform


@dataclass(frozen=True, eq=False)
class Rungs:
    """A whole number and how far it can move: within t changes, by one more of at most `widths[t]`.

    `widths` never fall and end before they stay at `limit`, which is public: no dataset's value moves by
    more.

    >>> Rungs(0, np.array([1, 2, 2]), 3).width(1), Rungs(0, np.array([1, 2, 2]), 3).width(10)
    (2, 3)
    """

    value: int
    widths: Integers
    limit: int
    _sums: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kind = np.int64 if self.limit * (self.widths.size + 1) < 1 << 61 else np.object_
        object.__setattr__(self, "widths", self.widths.astype(kind))
        if np.any(np.diff(self.doubled) < 0):
            raise UsageError("The widths of rungs never fall, and none is above their limit.")
        sums = np.concatenate([np.zeros(1, dtype=kind), np.cumsum(self.widths)])
        object.__setattr__(self, "_sums", sums)

    @property
    def doubled(self) -> Integers:
        """2 I_0, 2 I_1, ... up to the first that stays as it is: how many integers each rung has."""
        return 2 * np.concatenate([self.widths, np.array([self.limit], dtype=self.widths.dtype)])

    def width(self, t: int) -> int:
        """I_t."""
        return int(self.widths[t]) if t < self.widths.size else self.limit

    def reach(self, rungs: int) -> int:
        """How far from the value the first so many rungs reach."""
        known = min(rungs, self.widths.size)
        return int(self._sums[known]) + (rungs - known) * self.limit

    def rung(self, output: int) -> int:
        """The rung that an integer stands on; 0 for the value itself."""
        distance = abs(output - self.value)
        if distance == 0:
            return 0
        known = int(self._sums[-1])
        if distance <= known:
            return int(np.searchsorted(self._sums, distance, side="left"))
        return self.widths.size + -(-(distance - known) // self.limit)


@dataclass(frozen=True, eq=False)
class OnRungs(Law[int]):
    """An integer with probability proportional to exp(-rate rung).

    >>> law = OnRungs(Rungs(0, np.array([1, 2, 2]), 3), Fraction(1, 2))
    >>> round(float(law.log_probability(0)), 6), round(float(law.log_probability(12)), 6)
    (-1.893236, -4.893236)
    """

    rungs: Rungs
    rate: Fraction

    @property
    def public(self) -> Hashable:
        return "ladder", self.rungs.limit, self.rate

    def draw(self, source: Randomness) -> int:
        rungs = self.rungs
        if rungs.limit == 0:
            return rungs.value
        t = _rung(rungs, self.rate, source)
        if t == 0:
            return rungs.value
        sign = 1 - 2 * source.below(2)
        inside = 1 + int(uniform(rungs.width(t - 1), 1, source)[0])
        return rungs.value + sign * (rungs.reach(t - 1) + inside)

    def log_probability(self, output: int) -> Log:
        rungs = self.rungs
        if rungs.limit == 0:
            return Log() if output == rungs.value else NEVER
        total = ONE
        for t, size in enumerate(rungs.doubled[:-1].tolist(), start=1):
            total = total + Between.of(size) * Between.exp(-self.rate * t)
        tail = Between.of(2 * rungs.limit) * Between.exp(-self.rate * (rungs.widths.size + 1))
        total = total + tail / (ONE - Between.exp(-self.rate))
        return Log.ln(ONE / total, -self.rate * rungs.rung(output))


def _rung(rungs: Rungs, rate: Fraction, source: Randomness) -> int:
    sizes = rungs.doubled
    steps = np.concatenate([sizes[:1], np.diff(sizes)])
    lonely = int(sizes[0]) == 0  # the value stands above an empty rung
    if not lonely:
        steps[0] -= 1
    (kept,) = np.nonzero(steps)
    gaps = np.concatenate([[0], kept + 1]).astype(np.int64)
    weights = np.concatenate([np.ones(1, dtype=steps.dtype), steps[kept]])
    while True:
        start = int(gaps[tilted(gaps, rate, weights, source)])
        climbed = int(geometric(rate, 1, source)[0])
        if not (lonely and start == 0 and climbed):
            return start + climbed


@dataclass(frozen=True, eq=False)
class SmoothLaplace(Law[int]):
    """A whole number plus discrete Laplace noise whose scale comes from the records; `limits` are public."""

    value: int
    scale: Fraction
    limits: Hashable

    @property
    def public(self) -> Hashable:
        return "smooth Laplace", self.limits

    def draw(self, source: Randomness) -> int:
        return self.value + int(discrete_laplace(self.scale, 1, source)[0])

    def log_probability(self, output: int) -> Log:
        return log_centre(self.scale) + Log(-Fraction(abs(output - self.value)) / self.scale)


@dataclass(frozen=True, eq=False)
class SmoothCauchy(Law[int]):
    """A whole number plus discrete Cauchy noise, P(z) proportional to 1 / (1 + (z/scale)^2); `limits` are
    public.

    Drawn by rejection from a law that is flat below m = ceil(scale) and falls like 1 / (k (k+1)) above, where
    P(K >= k) = m / k: each doubling of k is passed with probability one half, and within [b, 2b) a uniform k
    is kept with probability b (b+1) / (k (k+1)). All probabilities are rational.
    """

    value: int
    scale: Fraction
    limits: Hashable

    @property
    def public(self) -> Hashable:
        return "smooth Cauchy", self.limits

    def draw(self, source: Randomness) -> int:
        m = -(-self.scale.numerator // self.scale.denominator)
        square = self.scale * self.scale
        while True:
            # The envelope m (m+1) / (k (k+1)) adds up to m + 1 over the tail, and 1 adds up to m before it:
            # half of the proposals go to either, and those before the tail are kept the less often for it.
            if source.below(2):
                z = source.below(m)
                keep = square / (square + z * z) * Fraction(m, m + 1)
            else:
                z = _falling(m, source)
                keep = square / (square + z * z) * Fraction(z * (z + 1), m * (m + 1))
            if source.below(keep.denominator) >= keep.numerator:
                continue
            positive = source.below(2) == 0
            if z or positive:  # zero would else be twice as likely
                return self.value + (z if positive else -z)

    def log_probability(self, output: int) -> Log:
        """The normaliser is pi s coth(pi s)."""
        s, z = self.scale, output - self.value
        faded = (Between.of(2 * s) * PI).fallen()
        tanh = (ONE - faded) / (ONE + faded)
        return Log.ln(Between.of(s / (s * s + z * z)) * tanh / PI)


def _falling(m: int, source: Randomness) -> int:
    """k >= m with P(K >= k) = m / k."""
    begin = m
    while source.below(2):
        begin *= 2
    while True:
        k = begin + source.below(begin)
        if source.below(k * (k + 1)) < begin * (begin + 1):
            return k
