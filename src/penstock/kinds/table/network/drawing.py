"""Synthetic codes from tables of probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Codes = NDArray[np.int64]


def draw(groups: Codes, tables: Reals, rng: np.random.Generator) -> Codes:
    """For each row a code from the distribution `tables[group]` of its group.

    Every row has exactly that distribution. Within a group the draws are spread evenly over it
    (systematic sampling in a random order), so that the counts of a group differ from what is expected
    by less than one each: synthetic tables repeat the model more closely than independent draws would.

    >>> draw(np.zeros(8, dtype=np.int64), np.array([[0.25, 0.75]]), np.random.default_rng(0)).sum()
    np.int64(6)
    """
    n, size = len(groups), tables.shape[1]
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    shuffled = rng.permutation(n)
    order = shuffled[np.argsort(groups[shuffled].astype(np.min_scalar_type(len(tables))), kind="stable")]
    sorted_groups = groups[order]
    rows = np.bincount(sorted_groups, minlength=len(tables))
    first = np.cumsum(rows) - rows
    offsets = rng.random(len(tables))
    places = (np.arange(n) - first[sorted_groups] + offsets[sorted_groups]) / rows[sorted_groups]
    heights = np.cumsum(tables, axis=1)
    heights /= np.where(heights[:, -1:] > 0, heights[:, -1:], 1.0)
    # rounding must not reach a code without probability, or the next group
    last = size - 1 - np.argmax(tables[:, ::-1] > 0, axis=1)
    flat = (heights + np.arange(len(tables))[:, None]).ravel()
    found = np.searchsorted(flat, sorted_groups + places, side="right") - sorted_groups * size
    codes = np.empty(n, dtype=np.int64)
    codes[order] = np.minimum(found, last[sorted_groups])
    return codes
