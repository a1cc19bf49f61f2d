"""From noisy supports of many items to likely ones: post-processing, reads no records.

One noisy support says little about a rare item, but all of them together say how many items are rare, and how
rare. So the distribution of the true supports is estimated first, the one under which all noisy ones are most
likely, and every support then becomes the number whose expected relative error is the least, given that
distribution and its own noisy value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

CLEAR = 10.0
"""A noisy support of so many scales of its noise is left as it is."""
ROUNDS = 60
FINENESS = 8
"""Noisy supports are told apart in steps of this part of their scale."""


def likely(noisy: Reals, scale: float, least: float) -> Reals:
    """Supports of 0 or more, given noisy ones with Laplace noise of this scale.

    Errors count relative to the support, or to `least` where that is more.

    >>> noisy = np.r_[np.full(50, -1.0), np.full(50, 1.0), 40.0, 5000.0]
    >>> likely(noisy, 2.0, 1.0)[[0, 60, 101]].round(1).tolist()
    [0.0, 0.0, 5000.0]
    """
    unclear = noisy < CLEAR * scale
    found = noisy.copy()
    if not unclear.any():
        return found
    steps, place, times = np.unique(
        np.round(noisy[unclear] * FINENESS / scale), return_inverse=True, return_counts=True
    )
    grid = _grid(scale)
    chance = np.exp(-np.abs(steps[:, None] / FINENESS - grid / scale))
    prior = np.full(len(grid), 1 / len(grid))
    for _ in range(ROUNDS):
        after = chance * prior
        after /= after.sum(axis=1, keepdims=True)
        prior = times @ after / times.sum()
    wanted = np.cumsum(chance * prior / np.maximum(grid, least), axis=1)
    best = grid[np.argmax(2 * wanted >= wanted[:, -1:], axis=1)]
    found[unclear] = best[place]
    return found


def _grid(scale: float) -> Reals:
    """The supports that come into question: none, a few small ones, and evenly up to clear ones."""
    small = np.geomspace(min(1.0, scale / 4), scale, 40)
    return np.concatenate([[0.0], small, np.arange(1.25, 2 * CLEAR, 0.25) * scale])
