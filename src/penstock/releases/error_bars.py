"""How wide a 95 % interval is: quantiles of sums of discrete Laplace and discrete Gaussian noise.

A counted answer is a weighted sum of noisy counts, so its error is the same sum of their noise, whose law is
known exactly. Whatever is done to the counts on the way to the answer is either part of the weights (adding
up, averaging over several tables, filling up to a public total) or brings the answer nearer to the truth
(cutting it off at zero), so the interval accounts for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
_QUANTILE = 1.959964  # of the normal distribution
_CORRECTION = (_QUANTILE**3 - 3 * _QUANTILE) / 24  # Cornish and Fisher's, for the excess kurtosis
_SMOOTH = 3.0  # standard deviation from which on the steps of a single noise do not show
_WIDE = 1e6
WIDEST = 1e50  # wider than any noise that Penstock draws; only a forged model says more
_DRAWS = 1 << 17
_FEW = 64  # noises that are drawn one by one


class Noises(NamedTuple):
    """So many independent noises of one standard deviation, each with the same weight in a sum.

    They are discrete Laplace noise, or discrete Gaussian where `gaussian` says so.
    """

    weight: float
    deviation: float
    number: int
    gaussian: bool = False


def half_width(shares: Sequence[Noises]) -> float:
    """h such that the weighted sum of all noise lies within -h ... h with 95 % probability, or a little more.

    Laplace noise has heavier tails than the normal distribution: the normal quantile is corrected by the
    kurtosis of the sum. Noise of few steps (epsilon above about one half) is no smooth curve; then h is read
    off many draws of the sum itself, always the same ones. A count with hardly any noise takes few values,
    and the smallest interval with at least 95 % may have far more.

    >>> half_width([Noises(1.0, 14.1, 1)]) / 14.1  # of one Laplace noise the exact figure is 2.118
    2.166...
    >>> half_width([Noises(1.0, 14.1, 400)]) / (14.1 * 20)
    1.9604...
    >>> half_width([Noises(1.0, 0.5, 1)])
    1.0
    """
    known = [Noises(w, min(d, WIDEST), n, g) for w, d, n, g in shares if w and d > 0 and n > 0]
    if not known:
        return 0.0
    if min(share.deviation for share in known) < _SMOOTH:
        return _drawn(tuple(Noises(round(w, 12), d, n, g) for w, d, n, g in known))
    variance = sum(w**2 * d**2 * n for w, d, n, _ in known)
    fourth = sum(w**4 * d**4 * n * (0.0 if g else _excess(d)) for w, d, n, g in known)
    return sqrt(variance) * (_QUANTILE + _CORRECTION * fourth / variance**2)


def rate(deviation: float) -> float:
    """a = exp(-1/scale) of the discrete Laplace noise of this standard deviation: 2a/(1-a)**2 is its square.

    >>> round(rate(1.357), 4)  # of scale 1
    0.3679
    """
    square = deviation**2
    return square / (square + 1 + sqrt(2 * square + 1))


def _excess(deviation: float) -> float:
    """The excess kurtosis of discrete Laplace noise: 3 where it is smooth, more where it is mostly 0."""
    a = rate(deviation)
    return (1 + 4 * a + a * a) / (2 * a)


@lru_cache(maxsize=4096)
def _drawn(shares: tuple[Noises, ...]) -> float:
    """The quantile among draws; the sum of n noises is the difference of two negative binomial numbers.

    Where the steps are far too small to be seen, those are gamma numbers.
    """
    rng = np.random.default_rng(0)
    total = np.zeros(_DRAWS)
    for weight, deviation, number, gaussian in shares:
        if gaussian:
            total += weight * _gaussian_sum(deviation, number, rng)
            continue
        chance = 1 - rate(deviation)
        one, other = (
            rng.gamma(number, deviation / sqrt(2), _DRAWS)
            if deviation > _WIDE
            else rng.negative_binomial(number, chance, _DRAWS)
            for _ in range(2)
        )
        total += weight * (one - other)
    return float(np.quantile(np.abs(total), CONFIDENCE, method="higher"))


def _gaussian_sum(deviation: float, number: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draws of the sum of discrete Gaussian noises: exactly for a few of them, else as one of their variance.

    A sum of discrete Gaussian noises of variance v is within a rounding of one of variance n v as soon as v
    is not far below 1; the fewer its values, the more exactly single noises are drawn.
    """
    if deviation > _SMOOTH:
        return rng.normal(0.0, sqrt(number) * deviation, _DRAWS)
    reach = int(12 * deviation) + 2
    values = np.arange(-reach, reach + 1)
    chances = np.exp(-(values**2) / (2 * deviation**2))
    chances /= chances.sum()
    if number > _FEW:
        return np.rint(rng.normal(0.0, sqrt(number * float(chances @ values**2)), _DRAWS))
    return np.asarray(rng.choice(values, (number, _DRAWS), p=chances).sum(axis=0), dtype=np.float64)
