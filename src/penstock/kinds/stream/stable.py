"""The p-stable sketch: how many ids have a total that is not 0, without privacy.

The component that Algorithm 7 is built on, for comparison: an id's row of random numbers is added to the
sketch as often as the id is, and since sums of p-stable numbers are p-stable, the size of the sketch tells
the sum of |total|^p over all ids; for a p that is small enough that is their number. The estimate divides by
the median of |X|^p, where the printed algorithm multiplies, and p is at most alpha / ln(largest total), where
it has alpha / largest total.

The numbers span hundreds of decades, so that doubles forget small ids beside large ones and never find them
again when the large ones are deleted. Sums are therefore whole numbers of any length, and logarithms are
taken before the power.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.stream.hashing import scattered

FRACTION_BITS = 120
_LEADING = 52  # bits that a number begins with; zeros follow
_TURNED = 1 << 53


def logarithms(p: float, angles: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln |X| for p-stable X, by Chambers, Mallows and Stuck: from angles in (-pi/2, pi/2) and exponential
    weights.

    The numbers themselves do not fit into doubles where p is small.
    """
    told: NDArray[np.float64] = (
        np.log(np.abs(np.sin(p * angles)))
        - np.log(np.cos(angles)) / p
        + (1 - p) / p * (np.log(np.cos((1 - p) * angles)) - np.log(weights))
    )
    return told


@lru_cache(maxsize=32)
def scale_factor(p: float, samples: int = 400_000, seed: int = 1) -> float:
    """The median of |X|^p; 1 for p = 1, and 1 / ln 2 in the limit of small p."""
    words = np.random.default_rng(seed)  # public numbers: nothing private is near
    angles = words.uniform(-np.pi / 2, np.pi / 2, samples)
    return exp(p * float(np.median(logarithms(p, angles, words.exponential(size=samples)))))


@dataclass
class StableSketch:
    """So many rows of p-stable sums over ids, exact under deletion.

    >>> sketch = StableSketch(p=0.1, rows=50, key=1)
    >>> for name in range(30):
    ...     sketch.update(name, 2)
    >>> for name in range(20):
    ...     sketch.update(name, -2)
    >>> 4 < sketch.estimate() < 25
    True
    """

    p: float
    rows: int
    key: int
    sums: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sums = self.sums or [0] * self.rows

    def update(self, identity: int, delta: int) -> None:
        """Add an id so many times, or take it out again."""
        for row, number in enumerate(self.row(identity)):
            self.sums[row] += delta * number

    def feed(self, updates: Iterable[tuple[int, int]]) -> None:
        """Many updates, one after the other."""
        for identity, delta in updates:
            self.update(identity, delta)

    def row(self, identity: int) -> list[int]:
        """The numbers of one id, in units of 2^-120: the same whenever it is met."""
        words = scattered(
            np.arange(2 * self.rows, dtype=np.uint64), self.key ^ (identity * 0x9E3779B97F4A7C15)
        )
        shares = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / _TURNED
        angles = (shares[: self.rows] - 0.5) * np.pi
        powers = logarithms(self.p, angles, -np.log(shares[self.rows :])) / log(2)
        whole = np.floor(powers)
        leading = np.sign(np.sin(self.p * angles)) * np.rint(np.exp2(powers - whole + _LEADING))
        shifts = whole.astype(np.int64) + FRACTION_BITS - _LEADING
        return [
            number << shift if shift >= 0 else number >> -shift
            for number, shift in zip(leading.astype(np.int64).tolist(), shifts.tolist(), strict=True)
        ]

    def estimate(self) -> float:
        """About how many ids have a total that is not 0: the median of |sum|^p over that of |X|^p."""
        sizes = [log_of(abs(each)) for each in self.sums]
        middle = float(np.median(sizes))
        return 0.0 if middle == -inf else exp(self.p * middle) / scale_factor(self.p)


def log_of(number: int) -> float:
    """The natural logarithm of a whole number of any length, in units of 2^-120.

    >>> round(log_of(1 << 5120) / log(2))
    5000
    """
    if number == 0:
        return -inf
    cut = max(0, number.bit_length() - 60)
    return log(number >> cut) + (cut - FRACTION_BITS) * log(2)
