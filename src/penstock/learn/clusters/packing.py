"""Where clustering starts: centres that lie apart from each other, found without looking at any record.

On a synopsis some starts follow its noisy counts, which are public (`spread_starts`); others need nothing.

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


def spread_starts(places: Reals, weights: Reals, k: int, many: int, draw: int) -> Reals:
    """So many sets of k cells: the first by its weight, each other by its weight and its distance from those.

    The rule of k-means++ (Arthur and Vassilvitskii 2007), on noisy counts of cells, which are public. Weights
    below zero count as none.

    >>> places = np.array([[-1.0], [-0.9], [1.0]])
    >>> spread_starts(places, np.array([5.0, -3.0, 5.0]), 2, 1, 0).ravel().tolist() in ([-1, 1], [1, -1])
    True
    """
    rng = np.random.default_rng([draw, k, len(places)])
    chance = np.maximum(weights, 0.0)
    chance = chance if chance.any() else np.ones(len(places))
    starts = np.empty((many, k, places.shape[1]))
    apart = np.ones((many, len(places)))
    for number in range(k):
        reached = np.cumsum(chance * apart, axis=1)
        lost = reached[:, -1] <= 0  # no cell with weight is left apart from those chosen
        reached[lost] = np.cumsum(chance)
        wanted = rng.random(many) * reached[:, -1]
        chosen = [
            int(np.searchsorted(row, each, side="right")) for row, each in zip(reached, wanted, strict=True)
        ]
        starts[:, number] = places[np.minimum(chosen, len(places) - 1)]
        distance = ((places - starts[:, number, None]) ** 2).sum(axis=2)
        apart = distance if number == 0 else np.minimum(apart, distance)
    return starts


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
        apart = ((drawn[:, None] - placed) ** 2).sum(axis=2)
        fits &= apart.min(axis=1, initial=np.inf) >= (2 * radius) ** 2
        (chosen,) = np.nonzero(fits)
        if not len(chosen):
            return None
        placed = np.vstack([placed, drawn[chosen[0]]])
    return placed


def _free(points: Reals, boundary: Boundary) -> Reals:
    """How far points are from the nearest corner of the cube, or from its nearest face."""
    gaps = 1.0 - np.abs(points)
    return np.asarray(gaps.min(axis=1) if boundary == "border" else np.sqrt((gaps**2).sum(axis=1)))
