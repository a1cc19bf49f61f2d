"""Gibbs learners and what can be promised about records that they have not seen.

A Gibbs learner draws a predictor with probability proportional to prior(theta) exp(-lam risk(theta)), where
risk is the mean loss over n records. With losses between a and b the risk moves by (b - a)/n when a record is
replaced, so one draw is an exponential mechanism and costs 2 lam (b - a)/n: a rate of lam = n epsilon /
(2 (b - a)) costs epsilon. The same draw minimises Catoni's bound on the risk, so privacy and generalisation
ask for the same thing.

Evaluated on records, a bound is as private as they are. `PrivateGibbs` (`penstock.learn`) and `gibbs-rule`
release it only where it is paid for.

References: O. Catoni, "PAC-Bayesian supervised classification" (IMS 2007); D. McAllester, "Some PAC-Bayesian
theorems" (1999), in A. Maurer's form (2004).
"""

from __future__ import annotations

from math import exp, expm1, inf, isfinite, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import UsageError

Reals = NDArray[np.float64]


def gibbs_rate(records: int, epsilon: float, width: float = 1.0) -> float:
    """The lam of a draw that costs epsilon, for losses in an interval of this width; one record replaced.

    >>> gibbs_rate(50, 1.0)
    25.0
    """
    if records < 1 or not 0.0 < epsilon < inf or not 0.0 < width < inf:
        raise UsageError("A rate needs a number of records, an epsilon and a width of losses, all above 0.")
    return records * epsilon / (2.0 * width)


def gibbs_posterior(risks: ArrayLike, lam: float, prior: ArrayLike | None = None) -> Reals:
    """How likely a Gibbs learner draws each predictor.

    >>> gibbs_posterior([0.1, 0.2, 0.4], 25.0).round(6).tolist()
    [0.92367, 0.075819, 0.000511]
    """
    means, base = _means(risks), _prior(prior, np.size(risks))
    if not 0.0 <= lam < inf:
        raise UsageError(f"lam must be 0 or more, not {lam!r}.")
    with np.errstate(divide="ignore"):
        logs = np.log(base) - lam * means
    weights = np.exp(logs - logs.max())
    shares: Reals = weights / weights.sum()
    return shares


def divergence(posterior: ArrayLike, prior: ArrayLike | None = None) -> float:
    """KL(posterior || prior) in nats; infinite where the posterior believes what the prior rules out.

    >>> round(divergence([0.923670, 0.075819, 0.000511]), 5)
    0.82583
    """
    after = _prior(posterior, np.size(posterior))
    before = _prior(prior, after.size)
    if np.any((after > 0) & (before == 0)):
        return inf
    held = after > 0
    return max(0.0, float(after[held] @ np.log(after[held] / before[held])))


def catoni_factor(ratio: float) -> float:
    """x / (1 - e^-x) for x = lam / n: what Catoni's bound multiplies the risk by; at most 1 / (1 - x/2).

    >>> round(catoni_factor(0.1), 5), round(catoni_factor(1.0), 5)
    (1.05083, 1.58198)
    """
    if not 0.0 <= ratio < inf:
        raise UsageError(f"lam / n must be 0 or more, not {ratio!r}.")
    return ratio / -expm1(-ratio) if ratio else 1.0


def catoni_bound(
    emp_risk: float, kl: float, n: int, lam: float, delta: float, *, linear: bool = False
) -> float:
    """What the expected risk of a draw is at most, with probability 1 - delta; losses between 0 and 1.

    `emp_risk` is the mean risk of the draws on the n records, `kl` their divergence from a prior that was
    fixed before. `linear` is the weaker form, a factor times emp_risk + (kl + ln(1/delta)) / lam.

    >>> round(catoni_bound(0.107735, 0.825831, 50, 25.0, 0.05), 5)
    0.31049
    """
    _refuse(emp_risk, kl, n, delta)
    if not 0.0 < lam < inf:
        raise UsageError(f"lam must be a number above 0, not {lam!r}.")
    paid = kl + log(1.0 / delta)
    if linear:
        return catoni_factor(lam / n) * (emp_risk + paid / lam)
    return -expm1(-(lam / n) * emp_risk - paid / n) / -expm1(-lam / n)


def mcallester_bound(emp_risk: float, kl: float, n: int, delta: float) -> float:
    """The same promise without a lam: emp_risk + sqrt((kl + ln(2 sqrt(n) / delta)) / (2 n)).

    >>> round(mcallester_bound(0.107735, 0.825831, 50, 0.05), 4)
    0.3621
    """
    _refuse(emp_risk, kl, n, delta)
    return emp_risk + sqrt((kl + log(2.0 * sqrt(n) / delta)) / (2.0 * n))


def free_energy(risks: ArrayLike, lam: float, prior: ArrayLike | None = None) -> float:
    """-(1/lam) ln E_prior exp(-lam risk): what a Gibbs draw makes of emp_risk + kl / lam, its least value.

    It moves by no more than a single risk does, (b - a)/n when a record is replaced. So the one number that
    Catoni's bound needs can be released with noise of that scale.

    >>> round(free_energy([0.1, 0.2, 0.4], 25.0), 6)
    0.140768
    """
    means, base = _means(risks), _prior(prior, np.size(risks))
    if not 0.0 < lam < inf:
        raise UsageError(f"lam must be a number above 0, not {lam!r}.")
    with np.errstate(divide="ignore"):
        logs = np.log(base) - lam * means
    top = float(logs.max())
    return -(top + log(float(np.exp(logs - top).sum()))) / lam


def catoni_from_energy(energy: float, n: int, lam: float, delta: float) -> float:
    """Catoni's bound of a Gibbs draw from its free energy alone; it never exceeds 1.

    >>> round(catoni_from_energy(free_energy([0.1, 0.2, 0.4], 25.0), 50, 25.0, 0.05), 6)
    0.310487
    """
    if n < 1 or not 0.0 < lam < inf or not 0.0 < delta < 1.0 or not isfinite(energy):
        raise UsageError("A bound needs a finite energy, n and lam above 0, and a delta between 0 and 1.")
    exponent = (lam * energy + log(1.0 / delta)) / n
    if exponent <= 0.0:  # noise made the energy impossibly small: nothing below no risk is promised
        return 0.0
    return min(1.0, (1.0 - exp(-exponent)) / -expm1(-lam / n))


def _refuse(emp_risk: float, kl: float, n: int, delta: float) -> None:
    if not 0.0 <= emp_risk <= 1.0:
        raise UsageError(f"emp_risk must be a mean of losses between 0 and 1, not {emp_risk!r}.")
    if not kl >= 0.0 or n < 1:
        raise UsageError("A bound needs a divergence of 0 or more, and one record at least.")
    if not 0.0 < delta < 1.0:
        raise UsageError(f"delta must be between 0 and 1, not {delta!r}.")


def _means(risks: ArrayLike) -> Reals:
    means = np.asarray(risks, dtype=np.float64)
    if means.ndim != 1 or not means.size or not np.isfinite(means).all():
        raise UsageError("risks must hold a finite number for each predictor.")
    return means


def _prior(prior: ArrayLike | None, size: int) -> Reals:
    if prior is None:
        return np.full(size, 1.0 / size)
    base = np.asarray(prior, dtype=np.float64)
    if base.shape != (size,) or not (base >= 0).all() or abs(base.sum() - 1.0) > 1e-6:
        raise UsageError("A prior must hold a probability for each predictor, and these must add up to 1.")
    return base
