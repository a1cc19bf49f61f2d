"""How uneven all windows of a vector are: the sum of deviations from the mean, exactly, for every start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
SHORT = 16


@dataclass(frozen=True, eq=False, repr=False)
class Windows:
    """A vector of whole numbers, asked about all its windows of one length at a time.

    Below the mean and above it, deviations add up to the same. So half of them are known from how many
    values of a window lie below its mean, and their sum: a wavelet matrix tells both for all windows
    at once, in as many steps as there are bits in the ranks of the values.
    """

    values: Numbers

    @cached_property
    def _before(self) -> Numbers:
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.values)])

    def deviations(self, length: int) -> Numbers:
        """`length` times the sum of |value - mean| over each window, a whole number.

        >>> Windows(np.array([1, 2, 6, 6])).deviations(2).tolist()
        [2, 8, 0]
        """
        starts = np.arange(len(self.values) - length + 1)
        sums = self._before[starts + length] - self._before[starts]
        if length <= SHORT:
            windows = np.lib.stride_tricks.sliding_window_view(self.values, length)
            return np.asarray(np.abs(windows * length - sums[:, None]).sum(axis=1))
        number, total = self._below(starts, starts + length, -(-sums // length))
        return np.asarray(2 * (sums * number - length * total))

    @cached_property
    def _distinct(self) -> Numbers:
        return np.unique(self.values)

    @cached_property
    def _levels(self) -> list[tuple[Numbers, Numbers]]:
        """For each bit of the ranks, the highest first: zeros and their sum of values before each place."""
        ranks, values, levels = np.searchsorted(self._distinct, self.values), self.values, []
        for bit in range(len(self._distinct).bit_length() - 1, -1, -1):
            zero = (ranks >> bit) & 1 == 0
            zeros = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(zero)])
            sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.where(zero, values, 0))])
            levels.append((zeros, sums))
            order = np.argsort(~zero, kind="stable")
            ranks, values = ranks[order], values[order]
        return levels

    def _below(self, begin: Numbers, end: Numbers, bound: Numbers) -> tuple[Numbers, Numbers]:
        """How many values of each window are below a bound, and their sum."""
        rank = np.searchsorted(self._distinct, bound)
        number, total = np.zeros_like(begin), np.zeros_like(begin)
        for bit, (zeros, sums) in zip(range(len(self._levels) - 1, -1, -1), self._levels, strict=True):
            high = (rank >> bit) & 1 == 1
            left, right = zeros[begin], zeros[end]
            number += np.where(high, right - left, 0)
            total += np.where(high, sums[end] - sums[begin], 0)
            begin = np.where(high, zeros[-1] + begin - left, left)
            end = np.where(high, zeros[-1] + end - right, right)
        return number, total
