"""Noisy numbers: the additive mechanisms.

Guarantee: pure epsilon for `counts` and `laplace_real`; (epsilon, delta) for `gaussian`.
Why: two neighbouring values f and f' differ by at most the L1 sensitivity l1 in total. With discrete Laplace
noise of scale l1/epsilon the probability of an output t is proportional to exp(-epsilon |t-f|_1 / l1). By the
triangle inequality |t-f'|_1 - |t-f|_1 <= l1, so the probabilities under f and f' differ by a factor of at
most exp(epsilon). Noise is drawn by integer arithmetic and has exactly that law.

Noise is added to every cell, whatever it holds, and never drawn again: an output below zero stays below zero
until somebody post-processes it.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, expm1, log, log1p, sqrt
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.accounting import rho_of, sigma_squared
from penstock.privacy.budgets.amounts import Amount, exact, plain
from penstock.privacy.budgets.budget import Budget, Rho
from penstock.privacy.laws.additive import GaussianAround, LaplaceAround
from penstock.privacy.mechanisms.lattice import from_steps, power_of_two, public_step, to_steps
from penstock.privacy.randomness.samplers import Integers
from penstock.privacy.seals.sealed import Sealed, form_of, open_seal


@overload
def counts(sealed: Sealed[int], pay: Budget) -> int: ...
@overload
def counts(sealed: Sealed[NDArray[Any]], pay: Budget) -> NDArray[np.int64]: ...
def counts(sealed: Sealed[Any], pay: Budget) -> int | NDArray[np.int64]:
    """Integers plus discrete Laplace noise of scale l1/epsilon; pays all that is left of `pay`.

    Pure epsilon-DP (see the module's text). A value that cannot move (sensitivity 0) comes back as it is.
    """
    _require(sealed, "iu", "Counts are integers; use noise.laplace_real for real numbers.")
    return _discrete_laplace(sealed, pay)


@overload
def laplace_real(
    sealed: Sealed[float], pay: Budget, granularity: Fraction | float | None = None
) -> float: ...
@overload
def laplace_real(
    sealed: Sealed[NDArray[Any]], pay: Budget, granularity: Fraction | float | None = None
) -> NDArray[np.float64]: ...
def laplace_real(
    sealed: Sealed[Any], pay: Budget, granularity: Fraction | float | None = None
) -> float | NDArray[np.float64]:
    """Real numbers plus Laplace noise, on a public lattice of step `granularity` (a power of two).

    Pure epsilon-DP: the value is rounded to the lattice, after which its L1 sensitivity is at most l1 plus
    one step per coordinate; that sum is what the noise is calibrated to. The default step is at most 1/1024
    of the noise scale and of l1 per coordinate, so that rounding costs less than a thousandth. The stated
    sensitivity must hold for the doubles that were computed, rounding errors of the computation included.
    """
    _require(sealed, "f", "laplace_real takes real numbers; use noise.counts for integers.")
    l1, size = sealed.sensitivity.l1, form_of(sealed).size
    if l1 == 0:
        pay.spend("lattice Laplace", sealed, detail="sensitivity 0")
        return _real(sealed, np.array(open_seal(sealed), dtype=np.float64))
    epsilon = _epsilon(pay)
    proposed = power_of_two(min(l1 / epsilon, l1 / max(1, size)) / 1024)
    step = public_step(granularity, proposed)
    scale = (l1 / step + size) / epsilon
    detail = f"scale {plain(scale * step)}, lattice step {plain(step)}"
    source = pay.spend("lattice Laplace", sealed, amount=epsilon, detail=detail)
    steps = to_steps(np.asarray(open_seal(sealed)), step)
    return _real(sealed, from_steps(source.draw(LaplaceAround(steps, scale)), step))


@overload
def gaussian(sealed: Sealed[int], pay: Budget | Rho) -> int: ...
@overload
def gaussian(sealed: Sealed[NDArray[Any]], pay: Budget | Rho) -> NDArray[np.int64]: ...
def gaussian(sealed: Sealed[Any], pay: Budget | Rho) -> int | NDArray[np.int64]:
    """Integers plus discrete Gaussian noise; pays all that is left of `pay`.

    Discrete Gaussian noise on integer vectors with squared L2 sensitivity s satisfies rho-zCDP for
    rho = s / (2 sigma_squared) (Canonne, Kamath and Steinke 2020). A budget with a delta is turned into the
    rho that it buys; several Gaussian answers share a budget best by parts of one `budget.concentrated()`.
    Better than `counts` when one unit moves many cells, each a little.
    """
    _require(sealed, "iu", "gaussian takes integers; put real numbers on a lattice first.")
    paid = pay.concentrated() if isinstance(pay, Budget) else pay
    rho = paid.left
    if rho <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for noise. Nothing was spent.")
    variance = sigma_squared(rho, sealed.sensitivity.l2_squared)
    source = paid.spend("discrete Gaussian", sealed, amount=rho, detail=f"sigma squared {plain(variance)}")
    value = np.asarray(open_seal(sealed))
    if variance == 0:
        return _whole(sealed, value.astype(np.int64))
    return _whole(sealed, held(source.draw(GaussianAround(value, variance))))


def _discrete_laplace(sealed: Sealed[Any], pay: Budget) -> int | NDArray[np.int64]:
    if sealed.sensitivity.l1 == 0:
        pay.spend("discrete Laplace", sealed, detail="sensitivity 0")
        return _whole(sealed, np.array(open_seal(sealed), dtype=np.int64))
    epsilon = _epsilon(pay)
    scale = noise_scale(sealed, epsilon)
    source = pay.spend("discrete Laplace", sealed, amount=epsilon, detail=f"scale {plain(scale)}")
    value = np.asarray(open_seal(sealed))
    return _whole(sealed, held(source.draw(LaplaceAround(value, scale))))


def noise_scale(sealed: Sealed[Any], epsilon: Amount) -> Fraction:
    """The scale of the discrete Laplace noise that `counts` adds for this epsilon: l1/epsilon, exactly."""
    return sealed.sensitivity.l1 / exact(epsilon, derived=True)


def standard_deviation(l1: Amount, epsilon: Amount) -> float:
    """Of the noise that `counts` adds to a value of this L1 sensitivity, for error bars; costs nothing.

    With a = exp(-epsilon/l1) the variance is 2a/(1-a)**2.

    >>> round(standard_deviation(1, 1), 4), round(standard_deviation(1, "1/1000"), 1)
    (1.357, 1414.2)
    """
    moves = exact(l1, "l1", derived=True)
    if moves == 0:
        return 0.0
    rate = float(exact(epsilon, derived=True) / moves)
    return sqrt(2) * exp(-rate / 2) / -expm1(-rate)


def margin(l1: Amount, epsilon: Amount, confidence: float = 0.95) -> int:
    """The smallest m such that the noise of `counts` stays within -m ... m with this probability.

    P(|Z| > m) = 2 a**(m+1) / (1+a) with a = exp(-epsilon/l1).

    >>> margin(1, 1), margin(2, "1/10", 0.9)
    (3, 46)
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, not at {confidence}.")
    moves = exact(l1, "l1", derived=True)
    if moves == 0:
        return 0
    rate = float(exact(epsilon, derived=True) / moves)
    return max(0, ceil((log(2 / (1 - confidence)) - log1p(exp(-rate))) / rate - 1))


def gaussian_variance(l2_squared: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The sigma squared of the noise that `gaussian` adds for a whole (epsilon, delta); never too small."""
    return sigma_squared(rho_of(epsilon, delta), l2_squared)


def held(noisy: Integers) -> NDArray[np.int64]:
    """Exact sums, held at the ends of the 64-bit range, which is post-processing.

    >>> held(np.array([5 + 10**30], dtype=object)).tolist()
    [9223372036854775807]
    """
    if noisy.dtype == np.int64:
        return noisy
    limit = np.iinfo(np.int64)
    inside: NDArray[np.int64] = np.clip(noisy, limit.min, limit.max, out=noisy.copy()).astype(np.int64)
    return inside


def _epsilon(pay: Budget) -> Fraction:
    epsilon = pay.left[0]
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for noise.")
    return epsilon


def _require(sealed: Sealed[Any], kinds: str, remedy: str) -> None:
    if form_of(sealed).kind not in kinds:
        raise UsageError(f"{remedy} Nothing was spent.")


def _whole(sealed: Sealed[Any], noisy: NDArray[np.int64]) -> int | NDArray[np.int64]:
    """A plain number where a plain number was sealed, else the array."""
    return noisy if form_of(sealed).is_array else int(noisy)


def _real(sealed: Sealed[Any], noisy: NDArray[np.float64]) -> float | NDArray[np.float64]:
    return noisy if form_of(sealed).is_array else float(noisy)
