"""From noisy counts of every set over a small universe to plausible ones: post-processing, reads no records.

A count that stands out of the noise of all sets together is kept. The others are too small to be believed one
by one, but their sums are not: how many of them hold an item, or two, is a sum of thousands of counts whose
noise mostly cancels. So they are replaced by the distribution of maximum entropy that agrees with these sums
as far as their noise allows: log p(set) is a sum of one number for each item and each pair of items that the
set holds.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.itemsets.mining import subset_sums, superset_sums

Reals = NDArray[np.float64]

ROUNDS = 100
STEP = 0.25
LARGEST_STEP = 0.5
SHRINKAGE = 0.09
MARGIN = 1.1
WORSE = 2.0
"""How many times as far from the sums as the nearest so far a round may lead."""


def plausible(noisy: NDArray[np.int64], deviation: float) -> Reals:
    """Counts of 0 or more for every set over the universe; bit i of a place stands for item i.

    `deviation` is that of the noise of each count.

    >>> counts = np.array([0, 900, 3, 500])
    >>> plausible(counts, 1.4).round().tolist()
    [0.0, 900.0, 3.0, 500.0]
    """
    counts = noisy.astype(np.float64)
    believed = counts > MARGIN * log(max(2, len(counts))) * deviation / 2**0.5
    rest = np.where(believed, 0.0, counts)
    mass = float(rest.sum())
    if mass <= 0 or believed.all():
        return np.where(believed, counts, 0.0)
    return np.where(believed, counts, _entropic(rest, mass, ~believed, deviation))


def _entropic(rest: Reals, mass: float, free: NDArray[np.bool_], deviation: float) -> Reals:
    """The distribution over the free sets whose items and pairs occur about as often as the sums say.

    Every round moves the number of each item and pair by what its sum lacks, relative to how often it occurs
    and less where noise is large; what noise could explain is shrunk towards no tie at all. Where rounds lead
    away from the sums, it goes back to the nearest so far and on by half of the step.
    """
    sizes = _sizes(len(rest))
    few = (sizes == 1) | (sizes == 2)
    wanted = superset_sums(rest)
    variance = deviation**2 * len(rest) / 2.0**sizes
    ties = np.zeros(len(rest))
    single = sizes == 1
    shares = np.clip(wanted[single] / mass, 1e-4, 0.9)
    ties[single] = np.log(shares / (1 - shares))
    step, best, least = STEP, ties, np.inf
    for _ in range(ROUNDS):
        model = np.maximum(superset_sums(_guess(ties, free, mass)), 1.0)
        miss = float(((wanted - model) ** 2 / variance)[few].sum())
        if miss > WORSE * least:  # sums that hang together were moved too far at once, again and again
            ties, step, least = best, step / 2, np.inf
            continue
        if miss < least:
            best, least = ties, miss
        moved = step * (wanted - model) * model / (model**2 + variance)
        shrunk = np.where(single, 0.0, SHRINKAGE * ties * np.minimum(1.0, variance / model**2))
        ties = ties + np.where(few, np.clip(moved - shrunk, -LARGEST_STEP, LARGEST_STEP), 0.0)
    return _guess(ties, free, mass)


def _guess(ties: Reals, free: NDArray[np.bool_], mass: float) -> Reals:
    """The counts that go with the numbers of items and pairs."""
    heights = np.where(free, subset_sums(ties), -np.inf)
    weights = np.exp(heights - heights.max())
    guess: Reals = weights * (mass / weights.sum())
    return guess


def _sizes(cells: int) -> NDArray[np.int64]:
    """How many items each set has."""
    sizes = np.zeros(1, dtype=np.int64)
    while len(sizes) < cells:
        sizes = np.concatenate([sizes, sizes + 1])
    return sizes
