"""Making noisy counts plausible: post-processing that costs nothing and touches no records.

Noisy counts can be negative, and two of them can disagree about the same quantity. Nothing here
reads a sealed value: the inputs are already public.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def onto_simplex(values: NDArray[np.number], total: float) -> Reals:
    """The non-negative vector of the given sum that is nearest to `values` (least squares).

    Compared with cutting negatives off and rescaling, this takes the surplus evenly from all cells,
    so large counts keep their size and empty cells stay empty.

    >>> onto_simplex(np.array([5.0, 1.0, -2.0]), 4.0).tolist()
    [4.0, 0.0, 0.0]
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    if flat.size == 0:
        return flat.reshape(np.shape(values))
    if total <= 0:
        return np.zeros(np.shape(values))
    # Adding a constant changes nothing, and what lies further below the largest than the total becomes zero:
    # measured from the largest and cut there, huge noise does not drown a small total in rounding.
    flat = np.maximum(flat - flat.max(), -total)
    descending = np.sort(flat)[::-1]
    surplus = np.cumsum(descending) - total
    # the k largest stay positive for the largest k with value_k above its share of the surplus
    kept = np.nonzero(descending * np.arange(1, flat.size + 1) > surplus)[0]
    last = int(kept[-1]) if kept.size else 0
    shift = surplus[last] / (last + 1)
    nearest = np.maximum(flat - shift, 0.0)
    return np.asarray((nearest * (total / nearest.sum())).reshape(np.shape(values)), dtype=np.float64)


def clamped(values: NDArray[np.number], total: float) -> Reals:
    """Negatives cut to zero, the rest rescaled to `total`; all-zero becomes uniform (PrivBayes' rule).

    >>> clamped(np.array([3.0, 1.0, -2.0]), 8.0).tolist()
    [6.0, 2.0, 0.0]
    """
    positive = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    mass = positive.sum()
    if mass <= 0:
        return np.full(positive.shape, total / max(1, positive.size))
    return np.asarray(positive * (total / mass), dtype=np.float64)


def weighted_mean(estimates: Sequence[float], variances: Sequence[float]) -> float:
    """The combination of unbiased estimates of one quantity with the least variance.

    >>> weighted_mean([10.0, 20.0], [1.0, 4.0])
    12.0
    """
    weights = [1.0 / variance for variance in variances]
    return sum(weight * value for weight, value in zip(weights, estimates, strict=True)) / sum(weights)
