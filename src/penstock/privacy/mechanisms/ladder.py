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

The draw is exact. With r = exp(-epsilon / 2) rung t has weight W_t r^t, where W_0 = 1, W_t = 2 I_{t-1}, and
W_t = 2 C from some t on. Instead of cutting that endless sum, write W_t as a sum of its steps D_j: choose j
with probability proportional to D_j r^j, which is a finite choice with whole weights, and climb on from there
by a geometric number of rungs with P(G = i) = (1 - r) r^i. Rung t then has probability proportional to
sum of D_j r^j (1 - r) r^(t - j) over j <= t, which is (1 - r) W_t r^t. Where the first rung is empty, W_1 is
below W_0 and the step would be negative; the one value f is then a step of its own that may not be climbed
on, and a draw that does is made again from the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, expm1, log
from typing import Any

import numpy as np

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import Integers, geometric, tilted, uniform
from penstock.privacy.seals.sealed import Sealed, open_seal


@dataclass(frozen=True, eq=False)
class Rungs:
    """A whole number and how far it can move: within t changes, by one more of at most `widths[t]`.

    `widths` never fall and end before they stay at `limit`, which is public: no dataset's value moves by
    more.

    >>> Rungs(0, np.array([1, 2, 2]), 3).width(1), Rungs(0, np.array([1, 2, 2]), 3).width(10)
    (2, 3)
    """

    value: int
    widths: Integers
    limit: int
    _sums: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kind = np.int64 if self.limit * (self.widths.size + 1) < 1 << 61 else np.object_
        object.__setattr__(self, "widths", self.widths.astype(kind))
        if np.any(np.diff(self.doubled) < 0):
            raise UsageError("The widths of rungs never fall, and none is above their limit.")
        sums = np.concatenate([np.zeros(1, dtype=kind), np.cumsum(self.widths)])
        object.__setattr__(self, "_sums", sums)

    @property
    def doubled(self) -> Integers:
        """2 I_0, 2 I_1, ... up to the first that stays as it is: how many integers each rung has."""
        return 2 * np.concatenate([self.widths, np.array([self.limit], dtype=self.widths.dtype)])

    def width(self, t: int) -> int:
        """I_t."""
        return int(self.widths[t]) if t < self.widths.size else self.limit

    def reach(self, rungs: int) -> int:
        """How far from the value the first so many rungs reach."""
        known = min(rungs, self.widths.size)
        return int(self._sums[known]) + (rungs - known) * self.limit

    def rung(self, output: int) -> int:
        """The rung that an integer stands on; 0 for the value itself."""
        distance = abs(output - self.value)
        if distance == 0:
            return 0
        known = int(self._sums[-1])
        if distance <= known:
            return int(np.searchsorted(self._sums, distance, side="left"))
        return self.widths.size + -(-(distance - known) // self.limit)


def draw(rungs: Rungs, rate: Fraction, source: Randomness) -> int:
    """One integer with probability proportional to exp(-rate rung): exact, see the module's text."""
    if rungs.limit == 0:
        return rungs.value
    t = _rung(rungs, rate, source)
    if t == 0:
        return rungs.value
    sign = 1 - 2 * source.below(2)
    return rungs.value + sign * (rungs.reach(t - 1) + 1 + int(uniform(rungs.width(t - 1), 1, source)[0]))


def _rung(rungs: Rungs, rate: Fraction, source: Randomness) -> int:
    sizes = rungs.doubled
    steps = np.concatenate([sizes[:1], np.diff(sizes)])
    lonely = int(sizes[0]) == 0  # the value stands above an empty rung
    if not lonely:
        steps[0] -= 1
    (kept,) = np.nonzero(steps)
    gaps = np.concatenate([[0], kept + 1]).astype(np.int64)
    weights = np.concatenate([np.ones(1, dtype=steps.dtype), steps[kept]])
    while True:
        start = int(gaps[tilted(gaps, rate, weights, source)])
        climbed = int(geometric(rate, 1, source)[0])
        if not (lonely and start == 0 and climbed):
            return start + climbed


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
    return draw(open_seal(sealed), rate, source)


def law(rungs: Rungs, rate: Fraction | float, output: int) -> float:
    """ln P(output), for audits and exact tests."""
    return -float(rate) * rungs.rung(output) - log_total(rungs, rate)


def log_total(rungs: Rungs, rate: Fraction | float) -> float:
    """ln of the sum of all weights, as doubles: for audits, error bars and studies.

    >>> rungs = Rungs(0, np.array([1, 2, 2]), 3)
    >>> round(exp(log_total(rungs, Fraction(1, 2))), 10)
    6.6408226537
    """
    _, logs = _log_weights(rungs, float(rate))
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
    rate = float(rate)
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
