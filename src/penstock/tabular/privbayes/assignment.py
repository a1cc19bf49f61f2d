"""The assignment of parent configurations to child values behind score F, solved exactly.

Write a and b for the records of X = 0 and X = 1 that lie in their own columns. Score F wants the
largest min(2a, n) + min(2b, n) over all ways of giving every column to 0 or 1.

*Reduction.* Give every column to its majority. If neither 2a nor 2b exceeds n, nothing can be
better, because a + b is largest. Otherwise say 2a > n (they cannot both exceed n). Then X = 1 has
fewer than n/2 records, 2b stays below n whatever is done, and a column whose majority is 1 is best
left there: moving it to 0 loses as much or more in b than it can gain in a. What remains is which
majority-0 columns to hand over: handing over column j gains 2 c1[j] in b and costs 2 c0[j] of the
surplus s = 2a - n, free as long as the surplus lasts and one for one beyond it. That is a knapsack
with a soft edge.

*Solution.* Columns in order of gain per weight; states (weight, gain) of which no other is both
lighter and better; a state is dropped when filling the rest of its room with fractions of columns
cannot beat the best value found. This is exact, and in practice leaves some dozens of states where
the plain dynamic program of the paper carries n/2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from numba import njit
except ImportError:  # the extra `fast` is not installed: the same code runs uncompiled, and slower

    def njit(**_: Any) -> Any:
        return lambda function: function


Counts = NDArray[np.int64]


def best_assignments(zeros: Counts, ones: Counts, n: Counts) -> Counts:
    """2 n F for each row of column counts of X = 0 and X = 1."""
    found: Counts = _all(zeros, ones, n)
    return found


@njit(cache=True)
def _all(zeros, ones, n):  # type: ignore[no-untyped-def]
    found = np.empty(len(n), np.int64)
    for i in range(len(n)):
        found[i] = _one(zeros[i], ones[i], n[i])
    return found


@njit(cache=True)
def _one(c0, c1, n):  # type: ignore[no-untyped-def]
    a = np.int64(0)
    b = np.int64(0)
    for j in range(len(c0)):
        if c0[j] >= c1[j]:
            a += c0[j]
        else:
            b += c1[j]
    if 2 * a <= n and 2 * b <= n:
        return 2 * (a + b) - 2 * n
    surplus = 2 * max(a, b) - n
    weights = np.empty(len(c0), np.int64)
    gains = np.empty(len(c0), np.int64)
    rates = np.empty(len(c0), np.float64)
    items = 0
    for j in range(len(c0)):
        heavy, light = (c0[j], c1[j]) if a > b else (c1[j], c0[j])
        # ties went to 0, so they can be handed over only when 0 has the surplus
        if light > 0 and (heavy > light or (heavy == light and a > b)):
            weights[items] = 2 * heavy
            gains[items] = 2 * light
            rates[items] = -light / heavy
            items += 1
    order = np.argsort(rates[:items])
    return 2 * min(a, b) + n + _knapsack(weights[order], gains[order], surplus) - 2 * n


@njit(cache=True)
def _knapsack(weights, gains, room):  # type: ignore[no-untyped-def]
    """The largest sum of gains minus what the sum of weights exceeds the room by; best rate first."""
    items = len(weights)
    total_weight = np.zeros(items + 1, np.int64)
    total_gain = np.zeros(items + 1, np.int64)
    best = np.int64(0)
    light = np.int64(0)
    for j in range(items):
        total_weight[j + 1] = total_weight[j] + weights[j]
        total_gain[j + 1] = total_gain[j] + gains[j]
        if light + weights[j] <= room:
            light += weights[j]
            best += gains[j]
    state_weight = np.zeros(1, np.int64)
    state_gain = np.zeros(1, np.int64)
    states = 1
    for j in range(items):
        next_weight = np.empty(2 * states, np.int64)
        next_gain = np.empty(2 * states, np.int64)
        kept = 0
        top = np.int64(-1)
        without = 0
        taking = 0
        fits = items  # with growing weight ever fewer of the later columns fit whole
        while without < states or taking < states:
            lighter = taking >= states or (
                without < states and state_weight[without] <= state_weight[taking] + weights[j]
            )
            if lighter:
                weight, gain = state_weight[without], state_gain[without]
                without += 1
            else:
                weight, gain = state_weight[taking] + weights[j], state_gain[taking] + gains[j]
                taking += 1
            if weight > room:  # beyond the room every further column costs more than it gains
                best = max(best, gain - (weight - room))
                continue
            if gain <= top:
                continue
            best = max(best, gain)
            left = room - weight
            while fits > j + 1 and total_weight[fits] - total_weight[j + 1] > left:
                fits -= 1
            bound = gain + total_gain[fits] - total_gain[j + 1]
            if fits < items:
                rest = left - (total_weight[fits] - total_weight[j + 1])
                bound += rest * gains[fits] // weights[fits]
            if bound <= best:
                continue
            next_weight[kept] = weight
            next_gain[kept] = gain
            top = gain
            kept += 1
        state_weight, state_gain, states = next_weight, next_gain, kept
        if kept == 0:
            break
    return best
