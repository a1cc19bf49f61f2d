"""What one draw of regression coefficients costs, and how far from the best predictor it is.

Model: y = x.w + noise, |x| <= M, |y| <= Y, prior N(0, tau^2 I). A draw from the tempered posterior, with
density proportional to exp(-(beta/2) sum (x.w - y)^2 - |w|^2 / (2 tau^2)), is a Gaussian around the ridge
solution with lambda = 1/(beta tau^2). The exponential mechanism prices it:

* bounded: only |w| <= B is allowed. One record's term lies between 0 and (M B + Y)^2 / 2, so a draw costs
  beta (M B + Y)^2 when a record is replaced and half of it when one is added or removed. No delta.
* unbounded: with probability 1 - delta0 a draw keeps |x.w - y| below Y + M W + M tau sqrt(2 ln(1/delta0)), W
  a bound on the mean. Two records take part in a replacement, so delta0 = delta / 2, and the cost is
  beta S(beta), S the square of that bound.

The calibration that was published (`published_epsilon`) leaves beta out of the covariance and bounds one of
the two records only; it claims far less than the draw costs, and is here to be refuted.

Reference: D. J. Mir, "Differential privacy: an exploration of the privacy-utility landscape" (Rutgers 2013),
chapter 5, corrected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from penstock.errors import UsageError


@dataclass(frozen=True)
class Bounds:
    """What is public about the records of a regression.

    `x` bounds the norm of the features (M), `y` the size of the target (Y), `records` is their number, or the
    most there can be. `replaced` says that neighbours replace a record, else they add or remove one.
    """

    records: int
    x: float = 1.0
    y: float = 1.0
    replaced: bool = True

    def __post_init__(self) -> None:
        if self.records < 1 or not 0.0 < self.x < inf or not 0.0 < self.y < inf:
            raise UsageError("Bounds of a regression need a number of records and bounds of x and y above 0.")

    @property
    def involved(self) -> int:
        """How many records differ between neighbours."""
        return 2 if self.replaced else 1


def bounded_epsilon(beta: float, radius: float, bounds: Bounds) -> float:
    """What a draw costs whose coefficients have a norm of at most `radius`.

    >>> bounded_epsilon(0.25, 1.0, Bounds(100)), bounded_epsilon(0.25, 1.0, Bounds(100, replaced=False))
    (1.0, 0.5)
    """
    _refuse(beta, radius)
    return beta * (bounds.x * radius + bounds.y) ** 2 * bounds.involved / 2


def bounded_beta(epsilon: float, radius: float, bounds: Bounds) -> float:
    """The largest beta of a bounded draw that costs at most epsilon.

    >>> bounded_beta(1.0, 1.0, Bounds(100))
    0.25
    """
    return epsilon / bounded_epsilon(1.0, radius, bounds)


def mean_bound(beta: float, tau: float, bounds: Bounds) -> float:
    """How large the mean of the posterior can be: M Y n / lambda, or sqrt(n) Y / (2 sqrt(lambda)) if smaller.

    >>> mean_bound(0.01, 10.0, Bounds(1)), mean_bound(0.01, 3.0, Bounds(5))
    (0.5, 0.335...)
    """
    _refuse(beta, tau)
    lam = 1.0 / (beta * tau**2)
    return min(
        bounds.x * bounds.y * bounds.records / lam, sqrt(bounds.records) * bounds.y / (2.0 * sqrt(lam))
    )


def unbounded_epsilon(beta: float, tau: float, delta: float, bounds: Bounds) -> float:
    """The epsilon that a draw without bounds keeps together with this delta.

    >>> round(unbounded_epsilon(0.01, 10.0, 0.001, Bounds(1)), 1)
    16.4
    """
    _refuse(beta, tau, delta)
    tail = bounds.x * tau * sqrt(2.0 * log(bounds.involved / delta))
    size = (bounds.y + bounds.x * mean_bound(beta, tau, bounds) + tail) ** 2
    return beta * size * bounds.involved / 2


def unbounded_beta(epsilon: float, tau: float, delta: float, bounds: Bounds) -> float:
    """The largest beta of a draw without bounds that keeps (epsilon, delta), from below.

    >>> beta = unbounded_beta(1.0, 1.0, 1e-6, Bounds(1000))
    >>> 0.999999 < unbounded_epsilon(beta, 1.0, 1e-6, Bounds(1000)) <= 1.0
    True
    """
    _refuse(epsilon, tau, delta)
    return largest(lambda beta: unbounded_epsilon(beta, tau, delta, bounds), epsilon)


def largest(cost: Callable[[float], float], limit: float) -> float:
    """The largest argument, from below, whose increasing cost does not exceed the limit."""
    low, high = 0.0, 1.0
    while cost(high) <= limit:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        if cost(middle) <= limit:
            low = middle
        else:
            high = middle
    return low


def published_epsilon(beta: float, tau: float, delta: float, bounds: Bounds) -> float:
    """What the published theorem claims for the same draw: far too little, and never used to calibrate.

    Its square has the tail M sqrt(2 ln(1/delta) / lambda) instead of M tau sqrt(2 ln(2/delta)). One cross
    term was printed with a factor M n too few; it is set right here, which makes the claim larger.

    >>> round(published_epsilon(0.01, 10.0, 0.001, Bounds(1)), 3)
    0.327
    """
    _refuse(beta, tau, delta)
    lam = 1.0 / (beta * tau**2)
    mean = bounds.x * bounds.y * bounds.records / lam
    tail = bounds.x * sqrt(2.0 * log(1.0 / delta) / lam)
    return beta * (bounds.y + bounds.x * mean + tail) ** 2


def hockey_stick(one: tuple[float, float], other: tuple[float, float], epsilon: float) -> float:
    """The smallest delta that keeps `one` within e^epsilon of `other`: normal laws as (mean, variance).

    It is the mass of `one` above e^epsilon times that of `other` where the density ratio exceeds e^epsilon, a
    set bounded by the roots of a quadratic.

    >>> round(hockey_stick((0.0, 1.0), (1.0, 1.0), 1.0), 6)
    0.126937
    """
    (m, v), (k, u) = one, other
    if not (v > 0 and u > 0):
        raise UsageError("Normal laws need variances above 0.")
    # ln of the ratio is a x^2 + b x + c
    a, b = 0.5 / u - 0.5 / v, m / v - k / u
    c = 0.5 * (k * k / u - m * m / v) + 0.5 * log(u / v) - epsilon
    if abs(a) < 1e-300:
        if b == 0.0:
            return 1.0 - exp(epsilon) if c > 0 else 0.0
        cut = -c / b
        ranges = [(cut, inf)] if b > 0 else [(-inf, cut)]
    else:
        square = b * b - 4.0 * a * c
        if square <= 0.0:
            ranges = [(-inf, inf)] if a > 0 else []
        else:
            far = -(b + (sqrt(square) if b >= 0 else -sqrt(square))) / 2.0
            low, high = sorted((far / a, c / far))
            ranges = [(-inf, low), (high, inf)] if a > 0 else [(low, high)]
    return max(0.0, sum(_mass(m, v, r) - exp(epsilon) * _mass(k, u, r) for r in ranges))


def _mass(mean: float, variance: float, between: tuple[float, float]) -> float:
    from scipy.special import ndtr

    low, high = ((end - mean) / sqrt(variance) for end in between)
    if low > 0:  # far out on the right, where 1 - ... would be rounded away
        low, high = -high, -low
    return float(ndtr(high) - ndtr(low))


def effective_dimension(eigenvalues: ArrayLike, lam: float) -> float:
    """How many directions ridge regression really uses: the sum of s / (s + lam) over the eigenvalues of X'X.

    >>> effective_dimension([4.0, 4.0, 0.0], 4.0)
    1.0
    """
    found = np.asarray(eigenvalues, dtype=np.float64)
    if found.ndim != 1 or not (found >= 0).all() or not 0.0 <= lam < inf:
        raise UsageError("An effective dimension needs eigenvalues and a lam of 0 or more.")
    held = found[found > 0]
    return float((held / (held + lam)).sum())


def drawing_risk(tau: float, x: float = 1.0) -> float:
    """What drawing adds to the squared error of the ridge solution at most: tau^2 M^2.

    The draw's covariance has no eigenvalue above tau^2, so x' P^-1 x <= tau^2 |x|^2.

    >>> drawing_risk(0.5)
    0.25
    """
    _refuse(tau, x)
    return tau**2 * x**2


def excess_risk_bound(
    t: float, *, beta: float, tau: float, dimension: float, residual: float, distance: float, bounds: Bounds
) -> float:
    """By how much a draw's expected squared error exceeds the best one's, with probability 1 - 4 e^-t.

    `dimension` is the effective dimension at lambda / n, `residual` bounds |f(x) - y|, and `distance` is that
    of the ridge solution from the best coefficients. All of them are assumptions, as any bound of this sort
    has them.

    >>> round(excess_risk_bound(3.0, beta=1.0, tau=0.1, dimension=5.0, residual=2.0, distance=1.0,
    ...                         bounds=Bounds(10_000)), 4)
    0.0382
    """
    _refuse(beta, tau)
    if not t > 0 or min(dimension, residual, distance) < 0:
        raise UsageError("A risk bound needs t above 0, and a dimension, residual and distance of 0 or more.")
    n, lam = bounds.records, 1.0 / (beta * tau**2)
    learned = 4.0 * t * dimension / n + 8.0 * t**2 * bounds.x**2 / (lam * n)
    return lam / n * distance**2 + learned * (residual + bounds.x * distance**2) + drawing_risk(tau, bounds.x)


def _refuse(one: float, two: float, delta: float = 0.5) -> None:
    if not (0.0 < one < inf and 0.0 < two < inf):
        raise UsageError("beta, tau, epsilon and radii must be numbers above 0.")
    if not 0.0 < delta < 1.0:
        raise UsageError(f"delta must be between 0 and 1, not {delta!r}.")
