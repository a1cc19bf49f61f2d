"""The knapsacks of `penstock.kinds.table.privbayes.knapsack` as a dynamic program that Numba compiles.

From left to right: states (weight, gain) in ascending order, of which no other is both as light and as good,
and which could still beat the best value found by filling the rest of their room with fractions of items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.engine.compiled import compiled

Reals = NDArray[np.float64]


@compiled
def _one(weights: Reals, gains: Reals, room: float) -> float:
    items = len(weights)
    total_weight = np.zeros(items + 1)
    total_gain = np.zeros(items + 1)
    best = 0.0
    filled = 0.0
    for item in range(items):
        total_weight[item + 1] = total_weight[item] + weights[item]
        total_gain[item + 1] = total_gain[item] + gains[item]
        if filled + weights[item] <= room:
            filled += weights[item]
            best += gains[item]
    state_weight = np.zeros(1)
    state_gain = np.zeros(1)
    states = 1
    for item in range(items):
        next_weight = np.empty(2 * states)
        next_gain = np.empty(2 * states)
        kept = 0
        top = -1.0
        without = 0
        taking = 0
        fits = items  # with growing weight ever fewer of the later items fit whole
        while without < states or taking < states:
            lighter = taking >= states or (
                without < states and state_weight[without] <= state_weight[taking] + weights[item]
            )
            if lighter:
                weight, gain = state_weight[without], state_gain[without]
                without += 1
            else:
                weight, gain = state_weight[taking] + weights[item], state_gain[taking] + gains[item]
                taking += 1
            if weight > room:  # every further item would cost more than it gains
                best = max(best, gain - (weight - room))
                continue
            if gain <= top:
                continue
            best = max(best, gain)
            left = room - weight
            while fits > item + 1 and total_weight[fits] - total_weight[item + 1] > left:
                fits -= 1
            bound = gain + total_gain[fits] - total_gain[item + 1]
            if fits < items:
                rest = left - (total_weight[fits] - total_weight[item + 1])
                bound += rest * gains[fits] / weights[fits]
            if bound < best + 0.5:  # a sum of integers is better by one or not at all
                continue
            next_weight[kept] = weight
            next_gain[kept] = gain
            top = gain
            kept += 1
        state_weight, state_gain, states = next_weight, next_gain, kept
        if kept == 0:
            break
    return best


@compiled
def knapsacks(weights: Reals, gains: Reals, room: Reals) -> Reals:
    """For each row the largest gain less excess weight; items in order of gain per weight."""
    found = np.empty(len(room))
    for row in range(len(room)):
        items = 0
        while items < weights.shape[1] and gains[row, items] > 0:
            items += 1
        found[row] = _one(weights[row, :items], gains[row, :items], room[row])
    return found
