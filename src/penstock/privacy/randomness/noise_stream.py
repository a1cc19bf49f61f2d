"""Discrete Laplace noise drawn ahead, so that one number at a time costs little more than many at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import Integers, discrete_laplace

_FIRST: Final = 256
_MOST: Final = 1 << 17


class NoiseStream:
    """An endless stream of independent noise of one scale; no number of it is ever given twice.

    Blocks are drawn in a fixed schedule, so that a seeded stream is the same however it is taken.
    """

    def __init__(self, scale: Fraction, source: Randomness, first: int = _FIRST) -> None:
        """`first` numbers are drawn at the beginning, and four times as many each time after."""
        self._scale, self._source = scale, source
        self._block = first
        self._ahead: Integers = np.empty(0, dtype=np.int64)
        self._listed: list[int] = []  # comes before `_ahead`, last number first

    def take(self, count: int) -> Integers:
        """The next `count` numbers."""
        if self._listed:
            self._ahead, self._listed = np.array(self._listed[::-1]), []
        parts = [self._ahead[:count]]
        self._ahead = self._ahead[count:]
        missing = count - parts[0].size
        while missing > 0:
            drawn = self._draw()
            parts.append(drawn[:missing])
            self._ahead = drawn[missing:]
            missing -= parts[-1].size
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def next(self) -> int:
        """The next number."""
        if not self._listed:
            ahead = self._ahead if self._ahead.size else self._draw()
            self._listed, self._ahead = ahead[::-1].tolist(), np.empty(0, dtype=np.int64)
        return self._listed.pop()

    def _draw(self) -> Integers:
        drawn = discrete_laplace(self._scale, self._block, self._source)
        self._block = min(4 * self._block, _MOST)
        return drawn
