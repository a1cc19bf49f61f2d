"""How wide a 95 % interval is: quantiles of sums of discrete Laplace and discrete Gaussian noise.

A counted answer is a weighted sum of noisy counts, so its error is the same sum of their noise, whose law is
known exactly. Whatever is done to the counts on the way to the answer is either part of the weights (adding
up, averaging over several tables, filling up to a public total) or brings the answer nearer to the truth
(cutting it off at zero), so the interval accounts for it. Noise of few whole values has no interval of
exactly 95 %: a bar says how much it covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, log, log1p, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.releases.answer import CONFIDENCE, Bar

if TYPE_CHECKING:
    from penstock.privacy.budgets.receipt import Receipt

Reals = NDArray[np.float64]

_QUANTILE = 1.959964  # of the normal distribution
_CORRECTION = (_QUANTILE**3 - 3 * _QUANTILE) / 24  # Cornish and Fisher's, for the excess kurtosis
_SMOOTH = 3.0  # standard deviation from which on the steps of a single noise do not show
_WIDE = 1e6
WIDEST = 1e50  # wider than any noise that Penstock draws; only a forged model says more
_DRAWS = 1 << 17
_FEW = 64  # noises that are drawn one by one
_ROUNDING = 1e-9
_DIGITS = 9  # of a sum of weighted whole numbers, equal ones of which differ in later digits


class Noises(NamedTuple):
    """So many independent noises of one standard deviation, each with the same weight in a sum.

    They are discrete Laplace noise, or discrete Gaussian where `gaussian` says so.
    """

    weight: float
    deviation: float
    number: int
    gaussian: bool = False


EXACT = Bar(0.0, 1.0)
"""Of what has no noise."""


def bar(shares: Sequence[Noises]) -> Bar:
    """The smallest h such that the weighted sum of all noise lies within -h ... h with 95 % probability.

    A single Laplace noise has an exact quantile. A sum of smooth ones has heavier tails than the normal
    distribution, whose quantile is corrected by the kurtosis of the sum. Noise of few steps (epsilon above
    about one half) is no smooth curve; then h is read off many draws of the sum itself, always the same
    ones. A count with hardly any noise takes few values, and the smallest interval with at least 95 % may
    have far more, which `covers` tells.

    >>> bar([Noises(1.0, 14.1, 1)])
    Bar(half=30.0, covers=0.953...)
    >>> bar([Noises(1.0, 14.1, 400)]).half / (14.1 * 20)
    1.9604...
    >>> bar([Noises(1.0, 0.5, 1)])
    Bar(half=1.0, covers=0.98...)
    """
    known = [Noises(w, min(d, WIDEST), n, g) for w, d, n, g in shares if w and d > 0 and n > 0]
    if not known:
        return EXACT
    if len(known) == 1 and known[0].number == 1 and not known[0].gaussian:
        weight, deviation, *_ = known[0]
        one = single(-log(rate(deviation)) if deviation < _WIDE else sqrt(2) / deviation)
        return Bar(one.half * abs(weight), one.covers)
    if min(share.deviation for share in known) < _SMOOTH:
        return _drawn(tuple(Noises(round(w, 12), d, n, g) for w, d, n, g in known))
    variance = sum(w**2 * d**2 * n for w, d, n, _ in known)
    fourth = sum(w**4 * d**4 * n * (0.0 if g else _excess(d)) for w, d, n, g in known)
    return Bar(sqrt(variance) * (_QUANTILE + _CORRECTION * fourth / variance**2), CONFIDENCE)


def linear(weights: Reals, numbers: Reals, deviation: float, gaussian: bool = False) -> Bar:
    """The bar of many noises of one deviation, each group of so many of them with a weight of its own.

    As `bar`, by the normal quantile and the kurtosis of the sum. Noise of few steps gets half a step of its
    largest weight on top, so that the bar covers at least 95 %, and how much more is not told.

    >>> linear(np.array([1.0, -2.0]), np.array([1, 1]), 14.1)
    Bar(half=66.2..., covers=0.95)
    """
    variance = deviation**2 * float((weights**2 * numbers).sum())
    if not variance > 0:
        return EXACT
    fourth = deviation**4 * float((weights**4 * numbers).sum()) * (0.0 if gaussian else _excess(deviation))
    half = sqrt(variance) * (_QUANTILE + _CORRECTION * fourth / variance**2)
    if deviation >= _SMOOTH:
        return Bar(half, CONFIDENCE)
    return Bar(half + float(np.abs(weights).max()) / 2, None)


def normal(variance: float) -> Bar:
    """The bar of a sum that is about normal, of this variance: of numbers that are not whole.

    >>> normal(0.25)
    Bar(half=0.979..., covers=0.95)
    """
    return Bar(_QUANTILE * sqrt(variance), CONFIDENCE) if variance > 0 else EXACT


def single(epsilon: float) -> Bar:
    """The bar of one discrete Laplace noise with P(z) proportional to exp(-epsilon |z|).

    P(|Z| > m) = 2 a**(m+1) / (1+a) with a = exp(-epsilon).

    >>> single(1.0)
    Bar(half=3.0, covers=0.973...)
    """
    one = log(2) - log1p(exp(-epsilon))
    half = max(0, ceil((one - log(1 - CONFIDENCE)) / epsilon - 1 - _ROUNDING))
    return Bar(float(half), 1 - exp(one - epsilon * (half + 1)))


def charged(receipt: Receipt, label: str, half: float | None) -> Bar | None:
    """The bar of a count that was told by itself, with what its charge says of its noise.

    Discrete Laplace noise covers what its sensitivity and epsilon make it cover; of any other noise, as a
    ladder's, is known that it covers at least 95 %.
    """
    if half is None:
        return None
    for _, charge in receipt.charges():
        if charge.label == label and charge.mechanism == "discrete Laplace" and charge.epsilon > 0:
            try:
                moves = Fraction(charge.sensitivity)
            except ValueError:
                break
            found = single(float(charge.epsilon / moves)) if moves > 0 else EXACT
            return found if found.half == half else Bar(half, None)
    return Bar(half, None)


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
def _drawn(shares: tuple[Noises, ...]) -> Bar:
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
    sizes = np.abs(total).round(_DIGITS)
    half = float(np.quantile(sizes, CONFIDENCE, method="higher"))
    return Bar(half, float((sizes <= half).mean()))


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
