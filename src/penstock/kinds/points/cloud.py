"""Clouds: points in the order of a space, so that the points of every cell follow one another.

Sorted once by their keys, all points of a cell are a stretch, and the stretches of its children are
found by bisection. The records are never moved again, however deep a tree grows, and a level of a
thousand cells costs a thousand bisections.

Clouds are raw. Only `penstock.kinds.points.data` holds them; what leaves it is the sealed score of a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.points.axis import Numbers
from penstock.kinds.points.space import Cells, Space, Words

Keys = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False)
class Cloud:
    """Raw: ascending keys, the number of points before each, and the depth of the smallest cells told apart.

    Without `before` every key is one point.
    """

    words: Words
    before: Numbers | None
    depth: int

    @classmethod
    def of(cls, words: Words, weights: Numbers | None, depth: int) -> Cloud:
        if weights is None and len(words) == 1:
            words[0].sort()
            return cls(words, None, depth)
        order = np.argsort(words[0]) if len(words) == 1 else np.lexsort(words[::-1])
        before = None
        if weights is not None:
            before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(weights[order])])
        return cls([word[order] for word in words], before, depth)

    def __len__(self) -> int:
        return len(self.words[0])

    def __repr__(self) -> str:
        return "Cloud(raw)"

    def counts(self, begin: Numbers, end: Numbers) -> Numbers:
        """The number of points in stretches of keys."""
        return end - begin if self.before is None else self.before[end] - self.before[begin]

    def find(self, word: int, keys: Keys, begin: Numbers, end: Numbers, *, after: bool = False) -> Numbers:
        """The first key of each stretch that is not below (with `after`: that is above) the given one.

        Only one word is compared: the words before it are the same throughout a stretch.
        """
        values = self.words[word]
        if len(self.words) == 1:
            return np.searchsorted(values, keys, side="right" if after else "left")
        low, high = begin.copy(), end.copy()
        while (left := low < high).any():
            middle = (low + high) >> 1
            probe = values[np.minimum(middle, len(values) - 1)]
            smaller = left & (probe <= keys if after else probe < keys)
            low = np.where(smaller, middle + 1, low)
            high = np.where(left & ~smaller, middle, high)
        return low

    def stretches(self, space: Space, keys: Keys, depth: int) -> tuple[Numbers, Numbers]:
        """Where the cells with these keys, all of one depth, begin and end."""
        begin = np.zeros(len(keys), dtype=np.int64)
        end = np.full(len(keys), len(self), dtype=np.int64)
        lowest = dict(space.slot(above) for above in range(depth))
        for word, shift in lowest.items():
            last = keys[:, word] | np.uint64((1 << shift) - 1)
            begin, end = (
                self.find(word, keys[:, word], begin, end),
                self.find(word, last, begin, end, after=True),
            )
        return begin, end


Source = Callable[[int, Cells], Cloud]
"""``source(depth, cells)``: the points inside these cells of a depth, told apart a level deeper or more."""
