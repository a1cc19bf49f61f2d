"""Fewer dimensions: a synopsis along a few random directions of a cube that has many.

In many dimensions a tree cuts each field once or not at all before its cells are empty. Along a few random
directions distances are about as they were (Johnson and Lindenstrauss), and cells are fine. Directions are
drawn without looking at any record, so they cost nothing. They stand at right angles to each other: the
nearest of several centres along them is therefore the nearest of the same centres put back into the cube, and
a round of Lloyd's algorithm on all fields can go on from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.engine.directions import Directions
from penstock.errors import UsageError
from penstock.kinds.points.data import COORDINATE_BITS, STEPS

Reals = NDArray[np.float64]

FINE = 1 << 10
"""Weights of a direction are whole multiples of one over this."""
REACH = 3
"""How far every direction reaches from the middle of the cube, whose faces are at 1; beyond, points are moved
to its end. The corners of a cube with many dimensions are further away, and hardly any point is there."""


def drawn(many: int, dimensions: int, draw: int) -> Directions:
    """So many directions at right angles to each other, numbered by `draw`.

    >>> weights = drawn(2, 9, 0).weights / FINE
    >>> (weights @ weights.T).round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rng = np.random.default_rng([draw, many, dimensions])
    across, _ = np.linalg.qr(rng.normal(size=(dimensions, many)))
    return _of(np.rint(across.T * FINE).astype(np.int64))


def stated(weights: Sequence[Sequence[int]], dimensions: int) -> Directions:
    """Directions as a release states them, checked."""
    many = len(weights)
    fits = 1 <= many <= dimensions and all(len(row) == dimensions for row in weights)
    if not fits or max(abs(weight) for row in weights for weight in row) > FINE:
        raise UsageError("its directions do not fit the fields.")
    return _of(np.array(weights, dtype=np.int64))


def _of(weights: NDArray[np.int64]) -> Directions:
    return Directions(weights, COORDINATE_BITS, REACH * FINE * STEPS)


def lifted(directions: Directions, places: Reals) -> Reals:
    """Places along the directions, each from -1 to 1, as points of the cube: the nearest to its middle.

    >>> across = drawn(2, 9, 0)
    >>> there = lifted(across, np.array([[0.1, -0.2]]))
    >>> (there @ across.weights.T / (FINE * REACH)).round(6).tolist()
    [[0.1, -0.2]]
    """
    scaled = directions.weights * (STEPS / directions.reach)
    return np.asarray(np.clip(places @ np.linalg.pinv(scaled).T, -1.0, 1.0))
