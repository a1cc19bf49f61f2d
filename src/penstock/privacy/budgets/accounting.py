"""The rules by which privacy losses add up, each as one small exact function.

An amount is a pair (epsilon, delta) of fractions. Where a rule needs a logarithm or an exponential,
the result is a fraction on the safe side of the true number: a cost is rounded up, an allowance is
rounded down. The decimal module computes `exp` and `ln` correctly rounded, so one step to the next
representable number brackets the truth, on every machine alike.

Amounts are always under the add-remove relation unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Overflow
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from penstock.errors import BudgetError
from penstock.privacy.unit import Relation

Cost = tuple[Fraction, Fraction]

_PRECISION = 50
_DOWN = Context(prec=_PRECISION, rounding=ROUND_FLOOR)
_UP = Context(prec=_PRECISION, rounding=ROUND_CEILING)


def sequential(costs: Iterable[Cost]) -> Cost:
    """What several mechanisms on the same records cost together, chosen adaptively or not.

    >>> sequential([(Fraction(1, 3), Fraction(0)), (Fraction(1, 6), Fraction(1, 10**6))])
    (Fraction(1, 2), Fraction(1, 1000000))
    """
    all_costs = list(costs)
    return sum((e for e, _ in all_costs), Fraction(0)), sum((d for _, d in all_costs), Fraction(0))


def parallel(costs: Iterable[Cost], meets: int = 1) -> Cost:
    """What mechanisms on disjoint parts of the records cost together, each private under add-remove.

    Every record is assigned to its part on its own, so a unit of `meets` records lies in at most
    that many parts, and the dearest of them are the price. Under replace there is no such rule:
    a record leaves one part and another enters a second one; use `converted` on the result.

    >>> parallel([(Fraction(1), Fraction(0)), (Fraction(2), Fraction(0))])
    (Fraction(2, 1), Fraction(0, 1))
    """
    if meets < 1:
        raise BudgetError("A unit meets at least one of the disjoint parts; 'meets' must be 1 or more.")
    all_costs = list(costs)
    epsilons = sorted((e for e, _ in all_costs), reverse=True)
    deltas = sorted((d for _, d in all_costs), reverse=True)
    return sum(epsilons[:meets], Fraction(0)), sum(deltas[:meets], Fraction(0))


def group(epsilon: Fraction, delta: Fraction, k: int) -> Cost:
    """What a mechanism costs a group of k units: (k epsilon, delta (e^{k epsilon} - 1) / (e^epsilon - 1)).

    Exact for delta 0; otherwise the new delta is rounded up, and 1 where it protects nothing.

    >>> group(Fraction(1, 2), Fraction(0), 3)
    (Fraction(3, 2), Fraction(0, 1))
    """
    if k < 1:
        raise BudgetError(f"A group has at least one unit, not {k}.")
    k = int(k)
    if delta == 0 or k == 1:
        return k * epsilon, delta
    if epsilon == 0:
        return Fraction(0), min(Fraction(1), k * delta)
    try:
        top = exp_up(k * epsilon) - 1
    except Overflow:
        return k * epsilon, Fraction(1)
    return k * epsilon, min(Fraction(1), _ceil(delta * top / (exp_down(epsilon) - 1)))


def group_rho(rho: Fraction, k: int) -> Fraction:
    """What a zCDP amount becomes for a group of k units: k^2 rho (Bun and Steinke 2016, Proposition 1.9).

    >>> group_rho(Fraction(1, 8), 4)
    Fraction(2, 1)
    """
    if k < 1:
        raise BudgetError(f"A group has at least one unit, not {k}.")
    return int(k) ** 2 * rho


def converted(epsilon: Fraction, delta: Fraction, given: Relation, wanted: Relation) -> Cost:
    """The same mechanism's cost under another relation.

    Replacing a unit is removing one and adding another, two steps of add-remove, so replace costs
    what a group of two costs: (2 epsilon, (1 + e^epsilon) delta). The other way there is no bound
    at all: a mechanism may publish the number of records for nothing under replace.

    >>> converted(Fraction(1), Fraction(0), Relation.ADD_REMOVE, Relation.REPLACE)
    (Fraction(2, 1), Fraction(0, 1))
    """
    if given is wanted:
        return epsilon, delta
    if given is Relation.REPLACE:
        raise BudgetError(
            f"A guarantee under '{given.value}' says nothing under '{wanted.value}', because "
            "the number of records is public there; run the mechanism under "
            f"'{wanted.value}' instead."
        )
    return group(epsilon, delta, 2)


def amplified(epsilon: Fraction | str, share: Fraction | str) -> Fraction:
    """What epsilon becomes for units of whom each is in a secret sample with this probability; rounded up.

    ln(1 + p (e^epsilon - 1)): the sample is drawn unit by unit, and nobody knows who is in it. Outputs are at
    most e^epsilon times as likely where a unit is in, and as likely as before where it is not. Under
    add-remove, pure epsilon.

    >>> round(float(amplified("0.23", "0.05")), 5)
    0.01285
    """
    paid, chance = Fraction(epsilon), Fraction(share)
    if paid < 0 or not 0 < chance <= 1:
        raise BudgetError(f"A sample has a probability above 0 and up to 1, not {share}.")
    return paid if chance == 1 else _ceil(ln_up(1 + chance * (exp_up(paid) - 1)))


def range_of(rho: Fraction) -> Fraction:
    """The epsilon whose square is at most 8 rho: choices of that bounded range are rho-zCDP; rounded down.

    A mechanism has bounded range epsilon when the privacy losses of all its outputs lie in an interval of
    that length. By Hoeffding's lemma such a mechanism is epsilon^2/8-zCDP (Cesar and Rogers 2021).

    >>> range_of(Fraction(1, 2))
    Fraction(2, 1)
    """
    if rho < 0:
        raise BudgetError(f"A concentrated amount cannot be negative, and here it is {rho}.")
    digits = 10**18
    return Fraction(isqrt(8 * rho.numerator * digits**2 // rho.denominator), digits)


def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The zCDP amount rho that (epsilon, delta) buys: every rho-zCDP mechanism is (epsilon, delta)-DP.

    Canonne, Kamath and Steinke (2020): rho-zCDP implies (epsilon, delta)-DP for the delta with
    ln delta = (alpha - 1)(alpha rho - epsilon) + alpha ln(1 - 1/alpha) - ln(alpha - 1), whatever the
    order alpha > 1. Solved for rho, each alpha gives a sound amount; the best over a fixed grid of
    orders is returned, rounded down, so the answer is the same on every machine.

    >>> float(rho_of(Fraction(1), Fraction(1, 10**6)))
    0.02435...
    """
    if epsilon <= 0 or not 0 < delta < 1:
        raise BudgetError(
            "A concentrated (zCDP) amount needs an epsilon above 0 and a delta strictly "
            f"between 0 and 1, not epsilon {epsilon} and delta {delta}. Nothing was spent."
        )
    ln_delta = ln_down(delta)

    def amount(order: int) -> Fraction:
        alpha, slack = _slack(order)
        return (epsilon + (ln_delta - slack) / (alpha - 1)) / alpha

    best = max(amount(_best_order(amount)), Fraction(0))
    rho = _floor(best)
    if rho <= 0:
        raise BudgetError(
            f"epsilon {epsilon} with delta {delta} is too little to buy a concentrated (zCDP) "
            "amount. Nothing was spent."
        )
    return rho


def sigma_squared(rho: Fraction, l2_squared: Fraction) -> Fraction:
    """The variance parameter at which (discrete) Gaussian noise is rho-zCDP, exactly: l2^2 / (2 rho).

    For the discrete Gaussian the value must be integral: shifts of integer vectors keep the bound
    of the continuous one (Canonne, Kamath and Steinke 2020, Theorem 4 and Corollary 16).

    >>> sigma_squared(Fraction(1, 8), Fraction(1))
    Fraction(4, 1)
    """
    if rho <= 0 or l2_squared < 0:
        raise BudgetError(
            f"Gaussian noise needs rho above 0 and a sensitivity of 0 or more, not {rho} and {l2_squared}."
        )
    return l2_squared / (2 * rho)


def exp_up(x: Fraction) -> Fraction:
    """A fraction at or just above e^x."""
    return Fraction(1) if x == 0 else Fraction(_UP.next_plus(_UP.exp(_decimal(x, _UP))))


def exp_down(x: Fraction) -> Fraction:
    """A fraction at or just below e^x."""
    return Fraction(1) if x == 0 else Fraction(_DOWN.next_minus(_DOWN.exp(_decimal(x, _DOWN))))


def ln_up(x: Fraction) -> Fraction:
    """A fraction at or just above ln x, for x > 0."""
    return Fraction(0) if x == 1 else Fraction(_UP.next_plus(_UP.ln(_decimal(x, _UP))))


def ln_down(x: Fraction) -> Fraction:
    """A fraction at or just below ln x, for x > 0."""
    return Fraction(0) if x == 1 else Fraction(_DOWN.next_minus(_DOWN.ln(_decimal(x, _DOWN))))


def _decimal(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def _ceil(x: Fraction, digits: int = 15) -> Fraction:
    """x rounded up to a readable number of significant decimal digits."""
    return Fraction(_decimal(x, Context(prec=digits, rounding=ROUND_CEILING)))


def _floor(x: Fraction, digits: int = 15) -> Fraction:
    return Fraction(_decimal(x, Context(prec=digits, rounding=ROUND_FLOOR)))


_STEPS = 64  # orders per doubling: the best order is missed by less than one percent, its amount by far less
_LOWEST, _HIGHEST = -12 * _STEPS, 40 * _STEPS


@lru_cache(maxsize=4096)
def _slack(order: int) -> tuple[Fraction, Fraction]:
    """Order alpha number `order` of the grid, and alpha ln(1 - 1/alpha) - ln(alpha - 1), rounded up."""
    octave, step = divmod(order, _STEPS)
    above_one = Fraction(_STEPS + step, _STEPS) * Fraction(2) ** octave
    alpha = 1 + above_one
    return alpha, alpha * ln_up(above_one / alpha) - ln_down(above_one)


def _best_order(worth: Callable[[int], Fraction]) -> int:
    """The order with the largest worth, by ternary search: the worth rises to one peak and falls."""
    low, high = _LOWEST, _HIGHEST
    while high - low > 2:
        left = low + (high - low) // 3
        right = high - (high - low) // 3
        if worth(left) < worth(right):
            low = left
        else:
            high = right
    return max(range(low, high + 1), key=worth)
