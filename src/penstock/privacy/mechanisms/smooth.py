"""Smooth sensitivity: noise as large as a dataset and those near it need, and no larger.

A sealed number comes with the widths I_t of a ladder (`penstock.privacy.mechanisms.ladder`): it moves by at
most I_0 when one unit changes, and I_t(g') <= I_{t+1}(g) between neighbours. Then
S(g) = max over t of exp(-beta t) I_t(g) is at least I_0(g), and S(g) <= exp(beta) S(g') (Nissim,
Raskhodnikova and Smith 2007). Noise proportional to S costs something for the shift of the value, which is at
most S, and something for the change of scale, which is at most a factor exp(beta). Both kinds of noise below
are whole numbers with exactly the stated law; the scale s is a rational number.

Laplace, (epsilon, delta). P(z) is proportional to exp(-|z| / s) with s = 2 S / epsilon.
* Rescaling first. The law is tanh(1/2s) exp(-|z| / s). If s' is larger, the ratio is at most
  tanh(1/2s) / tanh(1/2s') <= s'/s <= exp(beta), because tanh(x)/x falls. If s' is smaller, it is at most
  exp(|z|/s' - |z|/s) <= exp((e^beta - 1) |z| / s), which is within exp(epsilon / 2) unless
  |z| > s L, with L = ln(2 / delta) and e^beta - 1 = epsilon / (2 L). That happens with probability at most
  2 exp(-L) = delta.
* Then shifting by at most S' costs S'/s' = epsilon / 2. Together exp(epsilon), and delta is not multiplied.
The literature has beta = epsilon / (2 L), which needs the continuous law's factor 1/s in its favour; ours is
a little smaller and holds for every epsilon.

Cauchy, pure epsilon. P(z) is proportional to 1 / (1 + (z/s)^2), s = S / alpha.
* Shifting by at most S: the logarithm of s^2 + z^2 has slope 2z / (s^2 + z^2) <= 1/s, so that it costs alpha.
* Rescaling: the normaliser is pi s coth(pi s), hence d ln P / d ln s = 1 + h(s) - 2 s^2 / (s^2 + z^2) with
  h(s) = 2 pi s / sinh(2 pi s), which lies between -1 and 1 + h(s). S is not taken below alpha, so that s >= 1
  and h(s) < 1/42: rescaling costs at most 43/42 beta. (The larger of S and a constant is smooth, too.)
`tight` takes alpha = epsilon / 2 and beta = 42/43 epsilon / 2. `published` takes alpha = beta = epsilon / 6
and costs less than epsilon / 2 in truth.

S itself is rounded up to a multiple of 2^-96 times the power of two below it. Neighbouring values of S then
differ by a factor of up to exp(beta) (1 + 2^-90); beta is taken smaller by 2^-80, which more than pays for
it. Rounding S up to a whole number would not do: from 1.01 to 2 is more than a factor exp(beta).

For units of k changes at once, epsilon is divided by k; delta is divided by k exp(epsilon), which covers the
sum of the k failures, each multiplied by what the changes after it cost.
"""

from __future__ import annotations

from fractions import Fraction
from math import expm1, log, log1p
from typing import Literal

import numpy as np

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.rungs import Rungs, SmoothCauchy, SmoothLaplace
from penstock.privacy.randomness.inversion import exp_bracket
from penstock.privacy.seals.sealed import Sealed, open_seal

Calibration = Literal["tight", "published"]
_BITS = 160
_DIGITS = 96
_PAID = Fraction(1, 1 << 80)


def smooth_sensitivity(rungs: Rungs, beta: Fraction) -> Fraction:
    """max over t of exp(-beta t) I_t, rounded up by less than one part in 2^90.

    >>> figure = Rungs(0, np.array([1, 2, 2]), 3)
    >>> [round(float(smooth_sensitivity(figure, Fraction(beta))), 6) for beta in ("0.1", "0.5", "1")]
    [2.222455, 1.213061, 1.0]
    """
    widths = np.concatenate([rungs.widths, [rungs.limit]]).astype(np.float64)
    if rungs.limit == 0:
        return Fraction(0)
    with np.errstate(divide="ignore"):
        heights = np.log(widths) - float(beta) * np.arange(widths.size)
    # Doubles only shorten the list: what is close to the largest is compared exactly.
    (close,) = np.nonzero(heights >= heights.max() - 1e-6)
    found = max(rungs.width(t) * Fraction(*_upper_exp(beta * t)) for t in close.tolist())
    digits = _DIGITS - (found.numerator.bit_length() - found.denominator.bit_length())
    return Fraction(-((-found.numerator << digits) // found.denominator), 1 << digits)


def _upper_exp(x: Fraction) -> tuple[int, int]:
    """An upper bound on exp(-x) for x >= 0, within a factor 1 + 2^-100."""
    bits = _BITS + int(float(x) * 1.4427) + 1
    return exp_bracket(x, bits)[1], 1 << bits


def laplace(sealed: Sealed[Rungs], pay: Budget) -> int:
    """The number plus discrete Laplace noise on the scale of its smooth sensitivity: (epsilon, delta)."""
    epsilon, delta = pay.left
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for noise. Nothing was spent.")
    if delta <= 0:
        raise BudgetError(
            f"'{pay.label}' has no delta, which Laplace noise on a smooth sensitivity needs; give it one "
            "such "
            "as 1e-6, or use the ladder. Nothing was spent."
        )
    share, slack = one_change(epsilon, delta, sealed.sensitivity.l1)
    beta = laplace_beta(share, slack)
    source = pay.spend(
        "smooth Laplace", sealed, amount=epsilon, detail=f"beta {plain(beta)}", sensitivity=_moves(sealed)
    )
    rungs = open_seal(sealed)
    scale = 2 * smooth_sensitivity(rungs, beta) / share
    return rungs.value if scale == 0 else source.draw(SmoothLaplace(rungs.value, scale, (beta, share)))


def cauchy(sealed: Sealed[Rungs], pay: Budget, *, calibration: Calibration = "tight") -> int:
    """The number plus discrete Cauchy noise on the scale of its smooth sensitivity: pure epsilon."""
    epsilon = pay.left[0]
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for noise. Nothing was spent.")
    alpha, beta = cauchy_parameters(epsilon / sealed.sensitivity.l1, calibration)
    detail = f"{calibration}: alpha {plain(alpha)}, beta {plain(beta)}"
    source = pay.spend("smooth Cauchy", sealed, amount=epsilon, detail=detail, sensitivity=_moves(sealed))
    rungs = open_seal(sealed)
    if rungs.limit == 0:
        return rungs.value
    return source.draw(SmoothCauchy(rungs.value, cauchy_scale(rungs, alpha, beta), (alpha, beta)))


def one_change(epsilon: Fraction, delta: Fraction, changes: Fraction) -> tuple[Fraction, Fraction]:
    """What one change may cost where a unit makes so many at once, and all of them (epsilon, delta)."""
    if changes <= 1:
        return epsilon / changes, delta
    return epsilon / changes, delta / changes * Fraction(exp_bracket(epsilon, 256)[0], 1 << 256)


def laplace_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """ln(1 + epsilon / (2 ln(2 / delta))), rounded down, less what the rounding of S costs.

    >>> round(float(laplace_beta(Fraction(1, 10), Fraction(1, 100))), 6)
    0.009393
    """
    numerator, denominator = (2 / delta).as_integer_ratio()
    tail = (log(numerator) - log(denominator)) * (1 + 1e-12)
    below = log1p(float(epsilon) / (2 * tail)) * (1 - 1e-12)
    beta = Fraction(int(below * (1 << 60)), 1 << 60) - _PAID
    if beta <= 0:
        raise UsageError("The budget is too small for noise on a smooth sensitivity. Nothing was spent.")
    assert expm1(float(beta)) * tail <= float(epsilon) / 2
    return beta


def cauchy_parameters(epsilon: Fraction, calibration: Calibration) -> tuple[Fraction, Fraction]:
    """alpha, the price of a shift by S, and beta, the smoothness of S."""
    if calibration not in ("tight", "published"):
        raise UsageError(
            f"calibration must be 'tight' or 'published', not {calibration!r}. Nothing was spent."
        )
    if calibration == "published":
        return epsilon / 6, epsilon / 6
    return epsilon / 2, epsilon / 2 * Fraction(42, 43) * (1 - _PAID)


def cauchy_scale(rungs: Rungs, alpha: Fraction, beta: Fraction) -> Fraction:
    """S / alpha, with S not below alpha."""
    return max(smooth_sensitivity(rungs, beta), alpha) / alpha


def _moves(sealed: Sealed[Rungs]) -> str:
    moves = sealed.sensitivity.l1
    return f"{plain(moves)} {'change' if moves == 1 else 'changes'}"
