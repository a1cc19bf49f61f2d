"""Triangles counted by a loop that Numba compiles, where it is installed (the extra `fast`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.engine.compiled import compiled


@compiled
def closed(starts: NDArray[np.int32], ends: NDArray[np.int32]) -> int:
    """How often two steps downwards end where one does; `starts` and `ends` are rows of lower numbers."""
    last = np.full(len(starts) - 1, -1, dtype=np.int32)  # of whom a node is known to be a neighbour
    total = 0
    for node in range(len(starts) - 1):
        for place in range(starts[node], starts[node + 1]):
            last[ends[place]] = node
        for place in range(starts[node], starts[node + 1]):
            for further in range(starts[ends[place]], starts[ends[place] + 1]):
                if last[ends[further]] == node:
                    total += 1
    return total
