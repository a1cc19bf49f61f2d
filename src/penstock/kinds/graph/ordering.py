"""Degrees after noise: put back into ascending order, whole and possible. Post-processing, costs nothing.

Degrees were counted in ascending order, and noise spoils it. The nearest ascending sequence (least squares,
by pooling adjacent violators) takes most of the noise away wherever many nodes have similar degrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AscendingDegrees:
    """An ascending sequence in blocks of equal value: each has a whole total and a number of nodes.

    >>> AscendingDegrees.nearest(np.array([14, 9, 10, 15])).values.tolist()
    [11.0, 11.0, 11.0, 15.0]
    """

    totals: Numbers
    nodes: Numbers

    @classmethod
    def nearest(cls, noisy: Numbers) -> AscendingDegrees:
        """The ascending sequence nearest to noisy degrees, in their order."""
        from scipy.optimize import isotonic_regression

        if not noisy.size:
            return cls(noisy, noisy)
        edges = isotonic_regression(noisy.astype(np.float64)).blocks
        return cls(np.add.reduceat(noisy, edges[:-1]), np.diff(edges).astype(np.int64))

    @property
    def n(self) -> int:
        return int(self.nodes.sum())

    @cached_property
    def values(self) -> Reals:
        """The sequence, one value a node; values may be negative."""
        return np.repeat(self.totals / self.nodes, self.nodes)

    @cached_property
    def possible(self) -> Reals:
        """The sequence held between 0 and n - 1."""
        return np.clip(self.values, 0, max(0, self.n - 1))

    @cached_property
    def whole(self) -> Numbers:
        """Whole degrees between 0 and n - 1 in ascending order: a block keeps its total."""
        totals = np.clip(self.totals, 0, self.nodes * max(0, self.n - 1))
        low, more = totals // np.maximum(self.nodes, 1), totals % np.maximum(self.nodes, 1)
        place = np.arange(self.n) - np.repeat(np.cumsum(self.nodes) - self.nodes, self.nodes)
        raised = place >= np.repeat(self.nodes - more, self.nodes)
        # blocks ascend, and so do whole numbers on either side of each block's value
        return np.sort(np.repeat(low, self.nodes) + raised)

    def stars(self, k: int) -> float:
        """How many k-stars such degrees make; 1 for twice the number of edges, halved."""
        total = np.ones_like(self.possible)
        for j in range(k):
            total = total * np.maximum(self.possible - j, 0) / (j + 1)
        return float(total.sum()) / (2 if k == 1 else 1)
