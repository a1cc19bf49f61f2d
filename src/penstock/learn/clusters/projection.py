"""Fewer dimensions: a synopsis along a few directions of a cube that has many.

In many dimensions a tree cuts each field once or not at all before its cells are empty. Along few directions
cells are fine. There are two kinds of them:

* *random*: drawn without looking at any record, so they cost nothing. Distances along them are about as they
  were (Johnson and Lindenstrauss).
* *paid*: those along which points spread most, the first axes of a principal component analysis. They follow
  from noisy sums and sums of products, all charged at once (`Points.moments`); what is done with these is
  post-processing. (With noise on the matrix of products: A. Blum, C. Dwork, F. McSherry and K. Nissim,
  "Practical privacy: the SuLQ framework", PODS 2005; here with Laplace noise, for pure epsilon.)

Directions stand at right angles to each other: the nearest of several centres along them is therefore the
nearest of the same centres put back into the cube, and a round of Lloyd's algorithm on all fields can go on
from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.engine.directions import Directions
from penstock.errors import UsageError
from penstock.kinds.points.data import COARSE_REACH, COORDINATE_BITS, STEPS, Points
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
Projection = Literal["none", "random", "paid"]

FINE = 1 << 10
"""Weights of a direction are whole multiples of one over this."""
UNIT = FINE * STEPS
"""As long as half an edge of the cube, along a direction."""
REACH = 2
"""How far a direction reaches from its middle, where faces of the cube are at 1 from its own: points beyond
are moved to the end. The corners of a cube with many dimensions are further away, and hardly a point is."""


def drawn(many: int, dimensions: int, draw: int) -> Directions:
    """So many random directions at right angles to each other, numbered by `draw`.

    >>> weights = drawn(2, 9, 0).weights / FINE
    >>> np.allclose(weights @ weights.T, np.eye(2), atol=0.01)
    True
    """
    rng = np.random.default_rng([draw, many, dimensions])
    across, _ = np.linalg.qr(rng.normal(size=(dimensions, many)))
    return _around(across.T, np.zeros(dimensions))


def spreading(points: Points, n: float, many: int, pay: Budget) -> Directions:
    """So many directions along which points spread most, by noisy moments; spends all of `pay`.

    `n` is about how many points there are, public or paid for.
    """
    noisy = noise.counts(points.moments(), pay=pay).astype(np.float64) / (n * COARSE_REACH**2)
    dimensions = len(points.names)
    middle = np.clip(noisy[:dimensions], -1.0, 1.0)
    products = np.zeros((dimensions, dimensions))
    products[np.triu_indices(dimensions)] = noisy[dimensions:]
    products = np.triu(products) + np.triu(products, 1).T
    _, vectors = np.linalg.eigh(products - np.outer(middle, middle))
    return _around(vectors.T[::-1][:many], middle)


def stated(weights: Sequence[Sequence[int]], middle: Sequence[int], dimensions: int) -> Directions:
    """Directions as a release states them, checked."""
    many = len(weights)
    fits = 1 <= many <= dimensions and len(middle) == many and all(len(row) == dimensions for row in weights)
    if not fits or max(abs(weight) for row in weights for weight in row) > FINE:
        raise UsageError("its directions do not fit the fields.")
    if max(abs(begin) for begin in middle) > dimensions * UNIT:
        raise UsageError("its directions begin outside the box.")
    return _of(np.array(weights, dtype=np.int64), np.array(middle, dtype=np.int64))


def lifted(directions: Directions, places: Reals) -> Reals:
    """Places along the directions, each from -1 to 1, as points of the cube: the nearest to its middle.

    >>> across = drawn(2, 9, 0)
    >>> there = lifted(across, np.array([[0.1, -0.2]]))
    >>> (there @ across.weights.T / (FINE * REACH)).round(6).tolist()
    [[0.1, -0.2]]
    """
    along = (places * directions.reach + directions.middle) / UNIT
    return np.asarray(np.clip(along @ np.linalg.pinv(directions.weights / FINE).T, -1.0, 1.0))


def _around(vectors: Reals, middle: Reals) -> Directions:
    """Directions from unit vectors, one a row, and the point of the cube in the middle of them."""
    weights = np.rint(vectors * FINE).astype(np.int64)
    return _of(weights, np.rint(weights @ (middle * STEPS)).astype(np.int64))


def _of(weights: Numbers, middle: Numbers) -> Directions:
    return Directions(weights, middle, COORDINATE_BITS, REACH * UNIT)
