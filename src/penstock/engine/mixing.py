"""A public function that scatters records: what decides, from a record's own values, where it goes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def mixed(columns: Iterable[NDArray[np.uint64]], length: int, key: int = 0) -> NDArray[np.uint64]:
    """64 bits for each row, which look as if drawn at random and are the same for equal rows and keys.

    >>> one = np.array([3, 4, 3], dtype=np.uint64)
    >>> bits = mixed([one], 3)
    >>> bool(bits[0] == bits[2]), bool(bits[0] == bits[1])
    (True, False)
    """
    keys = np.full(length, key, dtype=np.uint64)
    for column in columns:
        keys = (keys ^ column) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
        keys *= np.uint64(0xBF58476D1CE4E5B9)
        keys ^= keys >> np.uint64(32)
    return keys
