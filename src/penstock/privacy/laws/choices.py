"""One candidate of several: the exponential mechanism, permute-and-flip, and a point of a domain.

Scores come as gaps: how far each is below the best. Only differences of scores decide.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import NEVER, ONE, ZERO, Between, Log
from penstock.privacy.randomness.samplers import Integers, bernoulli_exp_each, tilted


@dataclass(frozen=True, eq=False)
class Tilted(Law[int]):
    """The exponential mechanism: i with probability proportional to weights[i] exp(-rate gaps[i]).

    Weights are public. A rate of None means that scores cannot move against each other: the best is taken.
    """

    gaps: Integers
    rate: Fraction | None
    weights: Integers | None = None

    @property
    def public(self) -> Hashable:
        weights = None if self.weights is None else tuple(self.weights.tolist())
        return "exponential", self.gaps.size, self.rate, weights

    def draw(self, source: Randomness) -> int:
        if self.rate is None:
            each = np.ones(self.gaps.size, dtype=np.int64) if self.weights is None else self.weights
            level = np.zeros(self.gaps.size, dtype=np.uint64)
            return tilted(level, Fraction(0), np.where(self.gaps == 0, each, 0), source)
        return tilted(self.gaps, self.rate, self.weights, source)

    def log_probability(self, output: int) -> Log:
        return log_share(self.gaps, self.rate, self.weights, output)

    def rho(self, other: Tilted) -> Fraction:
        """The zero-concentrated cost of the distance: an eighth of the square of the range of the losses.

        The losses of two candidates differ by the rate times the difference of how far their scores moved.
        """
        if self.rate is None:
            return Fraction(0)
        moved = [
            int(theirs) - int(ours)
            for ours, theirs in zip(self.gaps.tolist(), other.gaps.tolist(), strict=True)
        ]
        return (self.rate * (max(moved) - min(moved))) ** 2 / 8


@dataclass(frozen=True, eq=False)
class PermuteAndFlip(Law[int]):
    """The first head in a random order, where candidate i shows heads with probability exp(-rate gaps[i])."""

    gaps: Integers
    rate: Fraction | None

    @property
    def public(self) -> Hashable:
        return "permute-and-flip", self.gaps.size, self.rate

    def draw(self, source: Randomness) -> int:
        """The first head in a random order is a uniform one among all heads, so no order is drawn."""
        rate = self.rate
        heads = self.gaps == 0 if rate is None else bernoulli_exp_each(self.gaps, rate, source)
        (standing,) = np.nonzero(heads)
        return int(standing[source.below(standing.size)])

    def log_probability(self, output: int) -> Log:
        """Heads for the output, times the mean of 1 / (1 + K) over the number K of other heads."""
        gaps = [int(gap) for gap in self.gaps]
        rate = self.rate
        if rate is None:
            return log_share(self.gaps, None, None, output)
        others = gaps[:output] + gaps[output + 1 :]
        chances = [Between.exp(-rate * gap) for gap in others]
        mean = ZERO
        for number, chance in enumerate(heads_of(chances)):
            mean = mean + chance / Between.of(1 + number)
        return Log.ln(mean, -rate * gaps[output])


@dataclass(frozen=True, eq=False)
class PointOf(Law[int]):
    """A whole number of a public domain, with a score that is constant between edges: exp(-rate gap) each.

    The edges may come from the records; low and high end are public. A piece is drawn by its length and its
    score, then a point of it uniformly, which is one exact draw over all points.
    """

    edges: NDArray[np.int64]
    gaps: Integers
    rate: Fraction | None

    @property
    def public(self) -> Hashable:
        return "point", int(self.edges[0]), int(self.edges[-1]), self.rate

    def draw(self, source: Randomness) -> int:
        lengths = np.diff(self.edges)
        piece = Tilted(self.gaps, self.rate, lengths).draw(source)
        return int(self.edges[piece]) + source.below(int(lengths[piece]))

    def log_probability(self, output: int) -> Log:
        lengths = np.diff(self.edges)
        piece = int(np.searchsorted(self.edges, output, side="right")) - 1
        if not 0 <= piece < lengths.size:
            return NEVER
        share = log_share(self.gaps, self.rate, lengths, piece)
        return share - Log.ln(Between.of(int(lengths[piece])))


@dataclass(frozen=True, eq=False)
class PointOfEach(Law[tuple[int, ...]]):
    """A point of a domain for each of several disjoint parts of the records, drawn one by one."""

    points: tuple[PointOf, ...]

    @property
    def public(self) -> Hashable:
        return "a point of each", tuple(point.public for point in self.points)

    def draw(self, source: Randomness) -> tuple[int, ...]:
        return tuple(point.draw(source) for point in self.points)

    def log_probability(self, output: tuple[int, ...]) -> Log:
        found = Log()
        for point, place in zip(self.points, output, strict=True):
            found = found + point.log_probability(place)
        return found


def log_share(gaps: Integers, rate: Fraction | None, weights: Integers | None, one: int) -> Log:
    """ln of weights[one] exp(-rate gaps[one]) over the sum of all; with no rate only gaps of 0 count."""
    each = [1] * len(gaps) if weights is None else [int(weight) for weight in weights]
    far = [int(gap) for gap in gaps]
    if each[one] == 0 or (rate is None and far[one]):
        return NEVER
    total = ZERO
    tally: dict[int, int] = {}
    for gap, weight in zip(far, each, strict=True):
        tally[gap] = tally.get(gap, 0) + weight
    for gap, weight in tally.items():
        if rate is not None or gap == 0:
            total = total + Between.of(weight) * Between.exp(-(rate or Fraction(0)) * gap)
    return Log.ln(Between.of(each[one]) / total, -(rate or Fraction(0)) * far[one])


def heads_of(chances: list[Between]) -> list[Between]:
    """How likely each number of heads is, of coins with these chances."""
    counted = [ONE]
    for chance in chances:
        tails = ONE - chance
        stay = [share * tails for share in counted]
        rise = [share * chance for share in counted]
        counted = [one + two for one, two in zip([*stay, ZERO], [ZERO, *rise], strict=True)]
    return counted
