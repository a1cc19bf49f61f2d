"""The different values of a long array of integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every value once, ascending.

    What `np.unique` answers; but that hashes integers since NumPy 2.3, and takes some twenty times as long
    as sorting where most of them differ.

    >>> distinct(np.array([3, 1, 3, 2]))
    array([1, 2, 3])
    """
    ordered = np.sort(values)
    return ordered[np.r_[True, ordered[1:] != ordered[:-1]]] if ordered.size else ordered
