"""Where clustering starts: centres that lie apart from each other, found without looking at any record.

Sphere packing (Su's Algorithm 12): centres are drawn one after the other, each at least 2a from all others
and a from every corner of the cube, with a radius a as large as still works. Starts are public, so their
randomness is ordinary and repeatable: `draw` numbers it.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Boundary = Literal["corner", "border"]

TRIES = 100
"""How often one centre is drawn again before a radius counts as too large."""
STEPS = 40
CLOSE = 1e-3
SHRINK = 0.97


def uniform_starts(k: int, dimensions: int, many: int, draw: int) -> Reals:
    """So many sets of k uniform points of the cube."""
    return np.random.default_rng([draw, k, dimensions]).uniform(-1.0, 1.0, (many, k, dimensions))


@lru_cache(maxsize=64)
def packed_starts(k: int, dimensions: int, many: int, draw: int, boundary: Boundary = "corner") -> Reals:
    """So many sets of k points of the cube that lie apart from each other.

    >>> one, = packed_starts(2, 1, 1, 0)
    >>> bool(abs(one[0, 0] - one[1, 0]) > 0.5)
    True
    """
    rng = np.random.default_rng([draw, k, dimensions])
    sets = []
    for _ in range(many):
        radius = widest(k, dimensions, boundary)
        found = _packed(k, dimensions, radius, boundary, rng)
        while found is None:  # the radius worked once; luck may be less this time
            radius *= SHRINK
            found = _packed(k, dimensions, radius, boundary, rng)
        sets.append(found)
    starts = np.stack(sets)
    starts.flags.writeable = False  # whoever asks again gets the same array
    return starts


@lru_cache(maxsize=256)
def widest(k: int, dimensions: int, boundary: Boundary) -> float:
    """The largest radius with which k centres could be placed, by halving; 0 where none could."""
    rng = np.random.default_rng([0, k, dimensions])
    low, high = 0.0, sqrt(dimensions)
    for _ in range(STEPS):
        if high - low < CLOSE:
            break
        middle = (low + high) / 2
        if _packed(k, dimensions, middle, boundary, rng) is None:
            high = middle
        else:
            low = middle
    return low


def _packed(
    k: int, dimensions: int, radius: float, boundary: Boundary, rng: np.random.Generator
) -> Reals | None:
    """k points with this radius, or None where one of them was drawn so often in vain."""
    placed = np.empty((0, dimensions))
    for _ in range(k):
        drawn = rng.uniform(-1.0, 1.0, (TRIES, dimensions))
        fits = _free(drawn, boundary) >= radius
        for other in placed:
            fits &= ((drawn - other) ** 2).sum(axis=1) >= (2 * radius) ** 2
        (chosen,) = np.nonzero(fits)
        if not len(chosen):
            return None
        placed = np.vstack([placed, drawn[chosen[0]]])
    return placed


def _free(points: Reals, boundary: Boundary) -> Reals:
    """How far points are from the nearest corner of the cube, or from its nearest face."""
    gaps = 1.0 - np.abs(points)
    return np.asarray(gaps.min(axis=1) if boundary == "border" else np.sqrt((gaps**2).sum(axis=1)))
