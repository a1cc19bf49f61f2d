"""Noise on a circle: residues modulo a prime that are a little more likely in one half than in the other.

The state of a pan-private stream is what was fed to it, modulo a prime, plus noise of this law. The
probability of a residue takes two values whose ratio is e^epsilon, wherever the noise is moved to. So a state
says little about how far a counter has been moved, however far that was, and moving it back leaves no trace.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import tanh

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.laws.coins import favoured
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import ONE, Between, Log
from penstock.privacy.randomness.samplers import Integers, bernoulli, tilted, uniform

Counters = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TwoLevels(Law[Counters]):
    """Residues around `shifts`, modulo a prime: (prime + 1) / 2 of them are e^epsilon times as likely.

    Which residues those are is public: 0 ... (prime - 1) / 2, or with `scattered` 0 and all squares, for a
    prime of the form 4 k + 3. The latter has the same correlation with itself at every shift.

    >>> from penstock.privacy.randomness.generator import Randomness
    >>> law = TwoLevels(np.zeros(4, dtype=np.int64), 7, Fraction(1, 2))
    >>> state = law.draw(Randomness.seeded(1))
    >>> moved = TwoLevels(np.array([3, 0, 0, 0]), 7, Fraction(1, 2))
    >>> abs(law.loss(state, moved).exact) <= Fraction(1, 2)
    True
    """

    shifts: Counters
    prime: int
    epsilon: Fraction
    scattered: bool = False

    @property
    def public(self) -> Hashable:
        return "two levels", self.shifts.shape, self.prime, self.epsilon, self.scattered

    def draw(self, source: Randomness) -> Counters:
        number, more = self.shifts.size, half(self.prime)
        likely = favoured(self.epsilon, Fraction(self.prime - more, more)).draw(source, number) == 1
        place = np.where(
            likely, uniform(more, number, source), more + uniform(self.prime - more, number, source)
        )
        noise = places(self.prime)[place] if self.scattered else place
        moved: Counters = (noise.reshape(self.shifts.shape) + self.shifts) % self.prime
        return moved

    def log_probability(self, output: Counters) -> Log:
        """1 / (h + (q - h) exp(-epsilon)) for each of the h likely residues, exp(-epsilon) times that
        else."""
        more = half(self.prime)
        noise = (output - self.shifts) % self.prime
        unlikely = int(np.count_nonzero(~likely_residues(noise, self.prime, scattered=self.scattered)))
        total = Between.of(more) + Between.of(self.prime - more) * Between.exp(-self.epsilon)
        return Log.ln(ONE / total) * self.shifts.size + Log(-self.epsilon * unlikely)


def half(prime: int) -> int:
    """How many residues are likely: one more than the others."""
    return (prime + 1) // 2


def shares(prime: int, epsilon: Fraction) -> tuple[float, float]:
    """How often a counter is likely: one that stands where it began, and one moved by a random step.

    >>> [round(share, 5) for share in shares(7, Fraction(1, 2))]
    [0.68733, 0.55211]
    """
    more = half(prime)
    stayed = 1 / (1 + (prime - more) / more * float(np.exp(-float(epsilon))))
    return stayed, (more - stayed) / (prime - 1)


def contrast(epsilon: Fraction) -> float:
    """tanh(epsilon / 2): how much a scattered residue follows the counter."""
    return tanh(float(epsilon) / 2)


def likely_residues(residues: Integers, prime: int, *, scattered: bool) -> NDArray[np.bool_]:
    """Which residues are likely where nothing was moved."""
    if scattered:
        return np.asarray(signs(prime)[residues] > 0)
    return np.asarray(residues < half(prime))


@lru_cache(maxsize=64)
def signs(prime: int) -> NDArray[np.int64]:
    """1 for 0 and for every square modulo the prime, -1 for the others.

    >>> signs(7).tolist()
    [1, 1, 1, -1, 1, -1, -1]
    """
    found = np.full(prime, -1, dtype=np.int64)
    found[np.arange(prime, dtype=np.int64) ** 2 % prime] = 1
    found.flags.writeable = False
    return found


@lru_cache(maxsize=64)
def places(prime: int) -> NDArray[np.int64]:
    """All residues, the likely ones first."""
    order = np.argsort(-signs(prime), kind="stable")
    order.flags.writeable = False
    return order


@dataclass(frozen=True, eq=False)
class Redrawn(Law[NDArray[np.bool_]]):
    """Bits of which those that are `met` show 1 with one probability, and the others with another.

    >>> law = Redrawn(np.array([True, False]), Fraction(3, 4))
    >>> other = Redrawn(np.array([False, False]), Fraction(3, 4))
    >>> round(float(law.loss(np.array([False, True]), other)), 4)  # 1/4 against 1/2
    -0.6931
    """

    met: NDArray[np.bool_]
    share: Fraction
    unmet: Fraction = Fraction(1, 2)

    @property
    def public(self) -> Hashable:
        return "redrawn", self.met.shape, self.share, self.unmet

    def draw(self, source: Randomness) -> NDArray[np.bool_]:
        often = bernoulli(self.share, self.met.size, source).reshape(self.met.shape)
        fair = bernoulli(self.unmet, self.met.size, source).reshape(self.met.shape)
        return np.where(self.met, often, fair)

    def log_probability(self, output: NDArray[np.bool_]) -> Log:
        total = Log()
        for share, chosen in ((self.share, self.met), (self.unmet, ~self.met)):
            ones = int(np.count_nonzero(output & chosen))
            none = int(np.count_nonzero(chosen)) - ones
            total = total + Log.ln(Between.of(share)) * ones + Log.ln(Between.of(1 - share)) * none
        return total


@dataclass(frozen=True, eq=False)
class OnGroup(Law[Counters]):
    """A vector modulo a prime around another: z with probability proportional to exp(-rate distances[z]).

    `distances` has an entry for every vector of the group, and is public.

    >>> law = OnGroup(np.array([1]), np.array([0, 1, 1]), 3, Fraction(1))
    >>> law.loss(np.array([1]), OnGroup(np.array([2]), np.array([0, 1, 1]), 3, Fraction(1))).exact
    Fraction(1, 1)
    """

    around: Counters
    distances: NDArray[np.int64]
    prime: int
    rate: Fraction

    @property
    def public(self) -> Hashable:
        return "on a group", self.distances.tobytes(), self.prime, self.rate

    def draw(self, source: Randomness) -> Counters:
        drawn = tilted(self.distances.ravel(), self.rate, None, source)
        moved: Counters = (np.array(np.unravel_index(drawn, self.distances.shape)) + self.around) % self.prime
        return moved

    def log_probability(self, output: Counters) -> Log:
        gaps, often = np.unique(self.distances, return_counts=True)
        total = Between.of(0)
        for gap, number in zip(gaps.tolist(), often.tolist(), strict=True):
            total = total + Between.of(number) * Between.exp(-self.rate * gap)
        gap = int(self.distances[tuple(((output - self.around) % self.prime).tolist())])
        return Log.ln(ONE / total, -self.rate * gap)
