"""The ladder: a number that may move far in some datasets and little in most, told with little noise.

Around the true value f stand rungs of integers, closer ones first: rung 1 is the I_0 integers on either side
of f, rung 2 the next I_1 on either side, and so on. An integer on rung t has quality -t, f itself 0. One is
drawn with probability proportional to exp(epsilon quality / 2).

Theorem (Zhang, Cormode, Procopiuc, Srivastava and Xiao 2015). Let (a) the value move by at most I_0(g) when
one unit of g changes, and (b) I_t(g') <= I_{t+1}(g) for all neighbours g, g' and all t. Then the draw is
epsilon-differentially private. Idea: by (a) f(g) and f(g') lie within I_0(g') of one another, and by (b) the
first t rungs of g fit into the first t + 1 rungs of g', so that no integer changes its rung by more than one:
numerator and normaliser each change by a factor of at most exp(epsilon / 2).

For units of k changes at once the qualities move by k, and the exponent is divided by k.

The draw is exact, without cutting the endless tail: `penstock.privacy.laws.rungs` says how.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, log
from typing import Any

import numpy as np

from penstock.errors import BudgetError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.rungs import OnRungs, Rungs
from penstock.privacy.seals.sealed import Sealed, open_seal

_SMALLEST = 1e-290


def ladder(sealed: Sealed[Rungs], pay: Budget) -> int:
    """A whole number on a ladder of rungs; pays all that is left of `pay`. Pure epsilon (see above).

    The sensitivity is the number of changes that a unit makes at once: each moves an integer by at most one
    rung. Nothing about the noise is told, because its size depends on the records.
    """
    moves, epsilon = sealed.sensitivity.l1, pay.left[0]
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for a ladder. Nothing was spent.")
    rate = epsilon / (2 * moves)
    source = pay.spend(
        "ladder",
        sealed,
        amount=epsilon,
        sensitivity=f"{plain(moves)} {'rung' if moves == 1 else 'rungs'}",
        detail=f"exponent {plain(rate)} a rung",
    )
    return source.draw(OnRungs(open_seal(sealed), rate))


def law(rungs: Rungs, rate: Fraction | float, output: int) -> float:
    """ln P(output), for audits and exact tests."""
    return -float(rate) * rungs.rung(output) - log_total(rungs, rate)


def log_total(rungs: Rungs, rate: Fraction | float) -> float:
    """ln of the sum of all weights, as doubles: for audits, error bars and studies.

    >>> rungs = Rungs(0, np.array([1, 2, 2]), 3)
    >>> round(exp(log_total(rungs, Fraction(1, 2))), 10)
    6.6408226537
    """
    _, logs = _log_weights(rungs, max(float(rate), _SMALLEST))
    top = float(logs.max())
    return top + log(float(np.exp(logs - top).sum()))


def _log_weights(rungs: Rungs, rate: float) -> tuple[Any, Any]:
    """Rungs 0 ... M and the tail, with the logarithms of their weights; empty rungs are left out."""
    (full,) = np.nonzero(rungs.widths)
    logs = [0.0, *(log(2 * int(rungs.widths[t])) - rate * (t + 1) for t in full.tolist())]
    heights = [0, *(full + 1).tolist()]
    if rungs.limit:
        first = rungs.widths.size + 1
        heights.append(first)
        logs.append(log(2 * rungs.limit) - rate * first - log(-expm1(-rate)))
    return np.array(heights), np.array(logs)


def margin(rungs: Rungs, rate: Fraction | float, confidence: float = 0.95) -> int:
    """The smallest m such that the noise stays within -m ... m with this probability."""
    if rungs.limit == 0:
        return 0
    rate = max(float(rate), _SMALLEST)
    heights, logs = _log_weights(rungs, rate)
    shares = np.exp(logs - log_total(rungs, rate))
    below = np.cumsum(shares)
    place = int(np.searchsorted(below, confidence, side="left"))
    if place == 0:
        return 0
    missing = confidence - float(below[place - 1])
    t = int(heights[min(place, len(heights) - 1)])
    if place < len(heights) - 1:
        width = rungs.width(t - 1)
        return rungs.reach(t - 1) + min(width, _ceil(width * missing / float(shares[place])))
    left = max(1e-300, 1 - missing / float(shares[-1]))  # the tail: whole rungs first, then a part of one
    more = int(log(left) / -rate)
    inside = (1 - left / exp(-rate * more)) / -expm1(-rate)
    return rungs.reach(t - 1 + more) + min(rungs.limit, max(1, _ceil(rungs.limit * inside)))


def _ceil(number: float) -> int:
    whole = int(number)
    return whole + (number > whole)
