"""Directions: public mixtures of several coordinates, seen as fewer coordinates.

A record's place along a direction is a sum of whole numbers, weights times steps of the lattice, moved into a
public range. No rounding is involved, so that every engine has a record in the same place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.engine.coordinates import Coordinate

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Directions:
    """Weights of the coordinates, a row for every direction; the middle of each, and how far all reach.

    Positions have `bits` bits; the middle of position q lies 2q + 1 - 2**bits steps from that of the range.

    >>> across = Directions(np.array([[1, -1]]), np.array([0]), bits=3, reach=8)
    >>> across.along([np.array([0, 7, 7]), np.array([7, 7, 0])])[0].tolist()
    [-8, 0, 8]
    """

    weights: Numbers
    middle: Numbers
    bits: int
    reach: int

    def __post_init__(self) -> None:
        furthest = int(np.abs(self.weights).sum(axis=1).max(initial=0)) << self.bits
        if max(furthest + int(np.abs(self.middle).max(initial=0)), self.reach) >= 1 << 53:
            raise ValueError("directions may not leave the whole numbers that doubles hold")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"direction {number + 1}" for number in range(len(self.weights)))

    @property
    def coordinate(self) -> Coordinate:
        """The range of every direction."""
        return Coordinate(float(-self.reach), float(self.reach))

    def along(self, positions: list[Numbers]) -> list[Numbers]:
        """Where records are along every direction, by their positions on the lattice of the coordinates."""
        steps = [2 * column + (1 - (1 << self.bits)) for column in positions]
        found = []
        for row, middle in zip(self.weights.tolist(), self.middle.tolist(), strict=True):
            total = np.full(len(steps[0]), -middle, dtype=np.int64)
            for weight, column in zip(row, steps, strict=True):
                total += weight * column
            found.append(np.clip(total, -self.reach, self.reach))
        return found
