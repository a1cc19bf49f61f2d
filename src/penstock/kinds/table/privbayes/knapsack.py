"""Many small knapsacks with a soft edge, solved exactly and side by side.

Each row has items with a weight and a gain that is no larger, and a room. Wanted is the largest sum of
gains minus what the sum of weights exceeds the room by.

Put the items in order of gain per weight and take them as long as the room lasts: filling what is left
with a fraction of the next item would be best. An optimum seldom differs from this beginning far from where
it stops. So decisions are made from there outwards, in turn about adding the next item on the right and
giving back the next one on the left. A state is a pair (weight, gain), with everything to the left of the
decided items taken and everything to the right not. It is dropped

- when its value could not beat the best one found even if its room were filled by fractions of the items on
  the right, or its excess given back by fractions of those on the left (excess costs 1 for each unit of
  weight, which bounds it at the left end), or
- when another state of its row is both as light and as good.

Most rows of real counts are decided after a dozen items. The worst ones, of equally large items with nearly
the same gain per weight, keep thousands of states, and as many as there are different weights at most. Where
that happens and Numba is installed (the extra `fast`), compiled code takes over, which does the same from
left to right. It is not used from the start because loading it takes longer than most tables do without.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]
States = tuple[NDArray[np.intp], Reals, Reals]  # of which row, weight, gain

_TOGETHER = 1024  # rows solved side by side, so that their states stay in the processor's cache
_CROWDED = 8  # states for each row from which on the dearer ways to drop some are tried
_MOST = 1 << 16  # states from which on the rows are no longer solved all at once


def fullest(weights: Counts, gains: Counts, room: Counts) -> Counts:
    """The largest gain less excess weight of each row; no gain may be larger than its weight.

    An item without gain is no item. Exact while the sums of 1,024 rows are below 2**53.

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
        self.items = weights.shape[1]
        # Every value is a multiple of this, so that a better one is better by as much.
        unit = np.gcd(np.gcd.reduce(weights, axis=1), np.gcd(np.gcd.reduce(gains, axis=1), room))
        self.better = np.maximum(unit, 1) - 0.5  # less a half, so that rounding does no harm
        rates = np.divide(gains, weights, out=np.zeros(gains.shape), where=gains > 0)
        order = np.argsort(-rates, axis=1, kind="stable")
        in_order = [np.take_along_axis(values, order, axis=1) for values in (weights, gains, rates)]
        self.in_order = in_order[0].astype(np.float64), in_order[1].astype(np.float64)
        self.room = room.astype(np.float64)
        self.total_weight, self.total_gain = np.zeros((2, len(room), self.items + 1))
        np.cumsum(in_order[0], axis=1, out=self.total_weight[:, 1:])
        np.cumsum(in_order[1], axis=1, out=self.total_gain[:, 1:])
        self.best: Reals = np.maximum(
            _greedy(in_order[0], in_order[1], room),
            _value(self.total_gain, self.total_weight, self.room[:, None]).max(axis=1),
        )
        # Flat, with an empty stretch on both sides of each row so that no step leaves it.
        self.weights, self.gains, self.rates = map(_padded, in_order, (0, 0, 1))
        self.taken = (self.total_weight <= self.room[:, None]).sum(axis=1) - 1
        self.first = np.arange(len(room)) * (3 * self.items + 2) + self.items + 1 + self.taken

    def solved(self) -> Reals:
        rows = np.arange(len(self.room))
        begun = (rows, self.total_weight[rows, self.taken], self.total_gain[rows, self.taken])
        waiting: list[tuple[int, States]] = [(0, begun)]
        while waiting:
            level, states = waiting.pop()
            while len(states[0]) and level <= self.items:
                if len(states[0]) > _MOST:
                    if self._compiled(states[0]):
                        break
                    if halves := _halves(states):
                        waiting.append((level, halves[1]))
                        states = halves[0]
                        continue
                states = self._decided(states, level, +1)
                states = self._decided(states, level, -1)
                level += 1
        return self.best

    def _compiled(self, row: NDArray[np.intp]) -> bool:
        """Solve these rows by compiled code, if there is any."""
        from penstock.engine.compiled import COMPILED
        from penstock.kinds.table.privbayes.compiled import knapsacks

        if COMPILED:
            rows = np.unique(row)
            weights, gains = self.in_order
            self.best[rows] = knapsacks(weights[rows], gains[rows], self.room[rows])
        return COMPILED

    def _decided(self, states: States, level: int, sign: int) -> States:
        """With and without adding (+1) or giving back (-1) the next item; what is worth going on with."""
        row, weight, gain = states
        item = self.first + level if sign > 0 else self.first - 1 - level
        right, left = self.first + level + 1, self.first - 1 - level - (sign < 0)
        more = np.flatnonzero(self.gains[item[row]] > 0)
        changed = row[more]
        heavier = weight[more] + sign * self.weights[item[changed]]
        richer = gain[more] + sign * self.gains[item[changed]]
        np.maximum.at(self.best, changed, _value(richer, heavier, self.room[changed]))
        row = np.concatenate([row, changed])
        weight, gain = np.concatenate([weight, heavier]), np.concatenate([gain, richer])

        enough = self.best + self.better
        spare = self.room[row] - weight
        next_rate = self.rates[np.where(spare >= 0, right[row], left[row])]
        kept = np.flatnonzero(gain + spare * next_rate >= enough[row])
        if len(kept) > _CROWDED * len(self.room):
            row, weight, gain, spare = row[kept], weight[kept], gain[kept], spare[kept]
            reach = self._fractions(row, spare, right - self.first, left - self.first)
            kept = np.flatnonzero(gain + reach >= enough[row])
            kept = kept[_undominated(row[kept], weight[kept], gain[kept])]
        return row[kept], weight[kept], gain[kept]

    def _fractions(
        self, row: NDArray[np.intp], spare: Reals, right: NDArray[np.intp], left: NDArray[np.intp]
    ) -> Reals:
        """What filling the spare room with fractions of the next items adds, or takes if it is negative."""
        edge = np.where(spare >= 0, right[row], left[row] + 1) + self.taken[row]
        edge = np.clip(edge, 0, self.items)
        stretch, places, heights = self._curve
        reached = np.interp(row * stretch + self.total_weight[row, edge] + spare, places, heights)
        return np.asarray(reached - self.total_gain[row, edge])

    @cached_property
    def _curve(self) -> tuple[float, Reals, Reals]:
        """Gain over weight of fractional fillings, row after row: slope 1 before 0, level after the end."""
        far = float(self.total_weight.max() + self.room.max() + 1)
        before, after = np.full((2, len(self.room), 1), far)
        places = np.concatenate([-before, self.total_weight, 2 * after], axis=1)
        heights = np.concatenate([-before, self.total_gain, self.total_gain[:, -1:]], axis=1)
        return 4 * far, (places + 4 * far * np.arange(len(self.room))[:, None]).ravel(), heights.ravel()


def _greedy(weights: Counts, gains: Counts, room: Counts) -> Reals:
    """What is gained when each item is taken that still fits."""
    filled, value = np.zeros((2, len(room)))
    for weight, gain in zip(weights.T, gains.T, strict=True):
        fits = filled + weight <= room
        filled += np.where(fits, weight, 0)
        value += np.where(fits, gain, 0)
    return value


def _value(gain: Reals, weight: Reals, room: Reals) -> Reals:
    return np.asarray(gain - np.maximum(weight - room, 0))


def _padded(values: NDArray[np.number], before: float) -> Reals:
    rows, items = values.shape
    wide = np.zeros((rows, 3 * items + 2))
    wide[:, : items + 1] = before
    wide[:, items + 1 : 2 * items + 1] = values
    return wide.ravel()


def _halves(states: States) -> tuple[States, States] | None:
    """The states of the earlier and of the later rows, if there are several rows."""
    row, weight, gain = states
    lower = row <= (int(row.min()) + int(row.max())) // 2
    if lower.all():
        return None
    return (row[lower], weight[lower], gain[lower]), (row[~lower], weight[~lower], gain[~lower])


def _undominated(row: NDArray[np.intp], weight: Reals, gain: Reals) -> NDArray[np.intp]:
    """The states of which no other of their row is as light and as good, by row and weight."""
    if not len(row):
        return row
    key = row * (2 * np.abs(weight).max() + 1) + weight
    order = np.argsort(key, kind="stable")  # nearly two runs, if this was done before
    key, height = key[order], gain[order] + row[order] * (gain.max() + 1)
    record = np.flatnonzero(height > np.concatenate([[-1.0], np.maximum.accumulate(height)[:-1]]))
    last_of_its_weight = np.append(key[record[1:]] != key[record[:-1]], True)
    return np.asarray(order[record[last_of_its_weight]])
