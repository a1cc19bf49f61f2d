"""Adding many updates to counters on a circle: each counter is written once, with its sum already reduced.

A sum that was not reduced yet would tell more than the counters may, so it exists only inside one call.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.sketch import Counters

PIECE = 1 << 15
"""So many updates at a time stay in the processor's own memory."""


def add(
    counters: Counters,
    moves: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
    prime: int,
    number: int,
) -> None:
    """Add amounts at places of the flat counters, modulo a prime, in place; `number` says how many there are.

    >>> counters = np.array([5, 0, 1], dtype=np.uint32)
    >>> add(counters, [(np.array([0, 2, 0]), np.array([1, 3, 4]))], 7, 3)
    >>> counters.tolist()
    [3, 0, 4]
    """
    flat = counters.reshape(-1)
    many = number * 4 > flat.size
    summed = np.zeros(flat.size if many else 0, dtype=np.int64)
    for place, amount in moves:
        if many:
            np.add.at(summed, place, amount)
        else:
            touched, inverse = np.unique(place, return_inverse=True)
            together = np.zeros(touched.size, dtype=np.int64)
            np.add.at(together, inverse, amount)
            flat[touched] = (flat[touched] + together) % prime
    if many:
        summed += flat
        summed %= prime
        flat[:] = summed
