"""Many small knapsacks with a soft edge, solved exactly and side by side.

Each row has items with a weight and a gain that is no larger, and a room. Wanted is the largest sum of
gains minus what the sum of weights exceeds the room by.

Put the items in order of gain per weight and take them as long as the room lasts: filling what is left
with a fraction of the next item would be best. An optimum seldom differs from this beginning far from where
it stops. So decisions are made from there outwards, in turn about adding the next item on the right and
giving back the next one on the left. A state is a pair (weight, gain), with everything to the left of the
decided items taken and everything to the right not. It is dropped

- when its value could not beat the best one found even if its room were filled by fractions of the next
  item on the right, or its excess given back by fractions of the next one on the left (excess costs 1 for
  each unit of weight, which bounds it at the left end), or
- when another state of its row is both as light and as good.

Most rows are decided after a dozen items, whatever their number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]

_TOGETHER = 1024  # rows solved side by side, so that their states stay in the processor's cache
_CROWDED = 8  # states for each row from which on dominated ones are searched for
_LESS_THAN_ONE = 0.5  # a sum of integers is better by one or not at all, so that rounding does no harm


def fullest(weights: Counts, gains: Counts, room: Counts) -> Counts:
    """The largest gain less excess weight of each row; an item without gain is no item.

    >>> fullest(np.array([[5, 4, 4], [9, 0, 0]]), np.array([[4, 3, 3], [8, 0, 0]]), np.array([8, 5])).tolist()
    [6, 4]
    """
    best = np.empty(len(room), dtype=np.int64)
    for start in range(0, len(room), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        best[some] = _Rows(weights[some], gains[some], room[some]).solved()
    return best


class _Rows:
    """Some rows, their items in order of gain per weight."""

    def __init__(self, weights: Counts, gains: Counts, room: Counts) -> None:
        rates = np.divide(gains, weights, out=np.zeros(gains.shape), where=gains > 0)
        order = np.argsort(-rates, axis=1, kind="stable")
        self.weights, self.gains, self.rates = (
            np.take_along_axis(values, order, axis=1).astype(np.float64) for values in (weights, gains, rates)
        )
        self.room = room.astype(np.float64)

    def solved(self) -> Reals:
        rows, items = np.arange(len(self.room)), self.weights.shape[1]
        total_weight, total_gain = np.zeros((2, len(rows), items + 1))
        np.cumsum(self.weights, axis=1, out=total_weight[:, 1:])
        np.cumsum(self.gains, axis=1, out=total_gain[:, 1:])
        best: Reals = np.maximum(
            self._greedy(), _value(total_gain, total_weight, self.room[:, None]).max(axis=1)
        )
        taken = (total_weight <= self.room[:, None]).sum(axis=1) - 1
        row, weight, gain = rows, total_weight[rows, taken], total_gain[rows, taken]
        # Flat arrays with an empty stretch on both sides of each row, so that no step leaves it.
        weights, gains, rates = _padded(self.weights, 0), _padded(self.gains, 0), _padded(self.rates, 1)
        right = rows * (3 * items + 2) + items + 1 + taken  # the next item to add, in each row
        left = right - 1  # and the next one to give back
        while len(row):
            for sign in (1, -1):
                item = (right if sign > 0 else left)[row]
                more = np.flatnonzero(gains[item] > 0)
                item, changed = item[more], row[more]
                heavier, better = weight[more] + sign * weights[item], gain[more] + sign * gains[item]
                np.maximum.at(best, changed, _value(better, heavier, self.room[changed]))
                row = np.concatenate([row, changed])
                weight, gain = np.concatenate([weight, heavier]), np.concatenate([gain, better])
                if sign > 0:
                    right += 1
                else:
                    left -= 1
                spare = self.room[row] - weight
                bound = gain + spare * rates[np.where(spare >= 0, right[row], left[row])]
                kept = np.flatnonzero(bound > best[row] + _LESS_THAN_ONE)
                if len(kept) > _CROWDED * len(rows):
                    kept = kept[_undominated(row[kept], weight[kept], gain[kept])]
                row, weight, gain = row[kept], weight[kept], gain[kept]
        return best

    def _greedy(self) -> Reals:
        """What is gained when each item is taken that still fits."""
        filled, value = np.zeros((2, len(self.room)))
        for weight, gain in zip(self.weights.T, self.gains.T, strict=True):
            fits = filled + weight <= self.room
            filled += np.where(fits, weight, 0)
            value += np.where(fits, gain, 0)
        return value


def _value(gain: Reals, weight: Reals, room: Reals) -> Reals:
    return np.asarray(gain - np.maximum(weight - room, 0))


def _padded(values: Reals, before: float) -> Reals:
    rows, items = values.shape
    wide = np.zeros((rows, 3 * items + 2))
    wide[:, : items + 1] = before
    wide[:, items + 1 : 2 * items + 1] = values
    return wide.ravel()


def _undominated(row: NDArray[np.intp], weight: Reals, gain: Reals) -> NDArray[np.intp]:
    """The states of which no other of their row is as light and as good."""
    order = np.lexsort((-gain, weight, row))
    height = gain[order] + row[order] * (gain.max() + 1)
    before = np.concatenate([[-1.0], np.maximum.accumulate(height)[:-1]])
    return np.asarray(order[height > before])
