"""Noise around whole numbers: discrete Laplace and discrete Gaussian."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import ONE, PI, Between, Log
from penstock.privacy.randomness.noise_stream import NoiseStream
from penstock.privacy.randomness.samplers import Integers, discrete_gaussian, discrete_laplace

_ROOM: Final = 1 << 61
_TERMS: Final = 24


@dataclass(frozen=True, eq=False)
class LaplaceAround(Law[Integers]):
    """Integers plus discrete Laplace noise: P(t) is proportional to exp(-|t - values|_1 / scale).

    The sum is exact: in 64 bits where it fits, else Python's integers.

    >>> law = LaplaceAround(np.array([3, 4]), Fraction(2))
    >>> law.loss(np.array([3, 9]), LaplaceAround(np.array([3, 5]), Fraction(2))).exact
    Fraction(-1, 2)
    """

    values: Integers
    scale: Fraction

    @property
    def public(self) -> Hashable:
        return "discrete Laplace", self.values.shape, self.scale

    def draw(self, source: Randomness) -> Integers:
        noise = discrete_laplace(self.scale, self.values.size, source)
        return exact_sum(self.values, noise.reshape(self.values.shape))

    def log_probability(self, output: Integers) -> Log:
        """Of |z| the chance is (1 - a) / (1 + a) a^|z|, with a = exp(-1 / scale)."""
        distance = Fraction(int(np.abs(_wide(output) - _wide(self.values)).sum()))
        return log_centre(self.scale) * self.values.size + Log(-distance / self.scale)


@dataclass(frozen=True, eq=False)
class StreamedLaplace(LaplaceAround):
    """The same with noise that is drawn ahead, for those who draw a few numbers at a time."""

    stream: NoiseStream

    def draw(self, source: Randomness) -> Integers:
        return np.asarray(self.values.astype(object) + self.stream.take(self.values.size), dtype=object)


@dataclass(frozen=True, eq=False)
class GaussianAround(Law[Integers]):
    """Integers plus discrete Gaussian noise: P(t) is proportional to exp(-|t - values|_2^2 / (2 variance)).

    Its loss has no bound over all outputs. What is bounded is `rho`, the zero-concentrated cost of the
    distance between two of them, exactly.
    """

    values: Integers
    variance: Fraction

    @property
    def public(self) -> Hashable:
        return "discrete Gaussian", self.values.shape, self.variance

    def draw(self, source: Randomness) -> Integers:
        noise = discrete_gaussian(self.variance, self.values.size, source)
        return exact_sum(self.values, noise.reshape(self.values.shape))

    def log_probability(self, output: Integers) -> Log:
        squares = Fraction(int(((_wide(output) - _wide(self.values)) ** 2).sum()))
        return Log(-squares / (2 * self.variance)) - Log.ln(_gaussian_total(self.variance)) * self.values.size

    def rho(self, other: GaussianAround) -> Fraction:
        """|values - others|_2^2 / (2 variance): a Renyi divergence of order alpha is at most alpha rho."""
        squares = Fraction(int(((_wide(other.values) - _wide(self.values)) ** 2).sum()))
        return squares / (2 * self.variance)


@lru_cache(maxsize=256)
def log_centre(scale: Fraction) -> Log:
    """ln((1 - a) / (1 + a)) with a = exp(-1 / scale): of no noise at all."""
    a = Between.exp(-1 / scale)
    return Log.ln((ONE - a) / (ONE + a))


@lru_cache(maxsize=64)
def _gaussian_total(variance: Fraction) -> Between:
    """The sum of exp(-z^2 / (2 variance)) over all whole z.

    Directly where the variance is small. Else by Poisson's formula it is sqrt(2 pi variance) times the sum of
    exp(-2 pi^2 variance k^2), of which all but a few terms vanish. What is left out is added to the upper
    bound: the terms fall at least as fast as powers of the first one left out.
    """
    if variance <= 1:
        rate, factor = Between.of(1 / (2 * variance)), ONE
    else:
        rate, factor = Between.of(2 * variance) * PI * PI, (Between.of(2 * variance) * PI).root()
    total = ONE
    for k in range(1, _TERMS):
        total = total + Between.of(2) * (Between.of(k * k) * rate).fallen()
    left_out = Between.of(4) * (Between.of(_TERMS**2) * rate).fallen()
    return factor * Between(total.low, (total + left_out).high)


def exact_sum(values: Integers, noise: Integers) -> Integers:
    """values + noise, in 64 bits where nothing can wrap around, else in Python's integers.

    >>> exact_sum(np.array([5]), np.array([10**30], dtype=object)).tolist()
    [1000000000000000000000000000005]
    """
    if noise.dtype == np.int64 and values.dtype.kind == "i" and np.all((values > -_ROOM) & (values < _ROOM)):
        return np.asarray(values + noise)
    return np.asarray(_wide(values) + noise, dtype=object)  # of a single number NumPy makes no array


def _wide(values: Integers) -> Integers:
    return np.asarray(values).astype(object)
