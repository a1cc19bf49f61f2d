"""Noise on the scale of a local sensitivity that is first bounded privately.

A whole number f moves by at most LS(g) when one unit of g changes, LS by at most U(v) with v the larger of
v(g) and v(g'), and v by at most one; U does not fall. With e = epsilon / 3 and d = delta / (1 + exp(e)):

1. v~ = v + noise of scale 1/e + a margin that the noise falls short of with probability at most d, not below
0; 2. L~ = LS + noise of scale U(v~)/e + such a margin, not below 0; 3. f + noise of scale L~/e.

Theorem. This is (epsilon, delta)-differentially private, for every epsilon. Proof idea: step 1 is e-private
since v has sensitivity 1. Unless v~ is below the larger of v(g), v(g'), of probability at most d under g or,
with a factor exp(e), under g', U(v~) bounds the move of LS and step 2 is e-private. Unless L~ < LS(g), of
probability at most d, L~ bounds the move of f and step 3 is e-private. Failures sum up to d + exp(e) d =
delta. Every step is a charge of its own; a step that relies on a bound pays for its failing, exp(e) d or d.

Reconstructed from the published description of this baseline (Karwa, Raskhodnikova, Smith and Yaroslavtsev
2011). All noise is discrete Laplace noise; a margin t has P(Z < -t) = a^(t+1) / (1 + a) <= d with a =
exp(-1/scale).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log, log1p

import numpy as np

from penstock.errors import BudgetError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.mechanisms.smooth import one_change
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.inversion import exp_bracket
from penstock.privacy.seals.sealed import Sealed, open_seal


@dataclass(frozen=True)
class Local:
    """A whole number, how far one change moves it, and what bounds how far that moves."""

    value: int
    move: int
    measure: int


def noisy_local(sealed: Sealed[Local], growth: Callable[[int], int], pay: Budget) -> int:
    """The number with noise on the scale of a private bound of its local sensitivity: (epsilon, delta).

    `growth` is U, public. Pays all that is left of `pay`.
    """
    epsilon, delta = pay.left
    if epsilon <= 0 or delta <= 0:
        raise BudgetError(f"'{pay.label}' needs an epsilon and a delta for this noise. Nothing was spent.")
    moves = sealed.sensitivity.l1
    share, slack = one_change(epsilon, delta, moves)
    each = share / 3
    failing = 1 / (1 + 1 / Fraction(exp_bracket(each, 128)[0], 1 << 128))  # of delta
    whole = pay.rest(pay.label)
    parts = (
        whole.part("bound of what bounds its move", "1/3", delta_share=0),
        whole.part("bound of its move", "1/3", delta_share=1 - failing),
        whole.part("the number", "1/3", delta_share=failing),
    )
    found = open_seal(sealed)
    measure = _above(found.measure, 1 / each, failing * slack, _paid(parts[0], sealed))
    move = _above(found.move, Fraction(growth(measure)) / each, failing * slack, _paid(parts[1], sealed))
    return _noisy(found.value, Fraction(move) / each, _paid(parts[2], sealed))


def _paid(pay: Budget, sealed: Sealed[Local]) -> Randomness:
    moves = sealed.sensitivity.l1
    many = f"{plain(moves)} {'change' if moves == 1 else 'changes'}"
    return pay.spend("noisy local sensitivity", sealed, amount=pay.epsilon, sensitivity=many)


def margin_below(scale: Fraction, failing: Fraction) -> int:
    """A whole t with P(Z < -t) at most `failing`, for discrete Laplace noise Z of this scale.

    >>> margin_below(Fraction(10), Fraction(1, 100))
    39
    """
    if scale == 0:
        return 0
    rate = float(1 / scale)
    needed = (log(failing.denominator) - log(failing.numerator) - log1p(exp(-rate))) / rate - 1
    return max(0, ceil(needed * (1 + 1e-12)))


def _above(value: int, scale: Fraction, failing: Fraction, source: Randomness) -> int:
    """The value with noise, and a margin on top that makes it too small only with probability `failing`."""
    return max(0, _noisy(value, scale, source) + margin_below(scale, failing))


def _noisy(value: int, scale: Fraction, source: Randomness) -> int:
    if scale == 0:
        return value
    return int(source.draw(LaplaceAround(np.array([value], dtype=object), scale))[0])
