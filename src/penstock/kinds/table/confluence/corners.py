"""Vectors of whole numbers for the codes of a column: the corners of a regular simplex around the origin.

Of a table of counts between the vectors of two columns, V' T W, there is left what the columns have together:
the vectors of a column add up to nothing, so that whatever is the same for all of its codes is gone. With
r codes they have r - 1 dimensions, and noise on them has about the same size in every direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Corners:
    """One vector, a row, for each of two codes or more."""

    vectors: Counts

    @classmethod
    def of(cls, codes: int, length: float) -> Corners:
        """Vectors of about this length, that add up to nothing; no number is rounded by 1 or more.

        >>> Corners.of(2, 8.0).vectors.tolist()
        [[-8], [8]]
        """
        contrasts = np.triu(np.full((codes, codes - 1), -1.0))
        contrasts[np.arange(1, codes), np.arange(codes - 1)] = np.arange(1, codes)
        contrasts /= np.linalg.norm(contrasts, axis=0)
        # sums of the first vectors are rounded, not the vectors: so what rounding leaves is nobody's alone
        sums = np.rint(np.cumsum(contrasts * (length / sqrt(1 - 1 / codes)), axis=0))
        sums[-1] = 0
        return cls(np.diff(sums, axis=0, prepend=0).astype(np.int64))

    @cached_property
    def back(self) -> Reals:
        """What turns a sum of these vectors back into counts that add up to nothing: V (V' V)^-1."""
        wide = self.vectors.astype(np.float64)
        return wide @ np.linalg.inv(wide.T @ wide)

    @cached_property
    def deviation(self) -> float:
        """Of counts that were turned back, in any of their directions, for noise of 1 on every number."""
        return float(np.linalg.norm(self.back)) / sqrt(self.vectors.shape[1])

    @cached_property
    def products(self) -> Counts:
        """Of every two vectors."""
        return np.asarray(self.vectors @ self.vectors.T)

    @property
    def longest(self) -> int:
        """The square of the length of the longest vector."""
        return int(self.products.diagonal().max())

    @property
    def sum(self) -> int:
        """The largest sum of the absolute numbers of a vector."""
        return int(np.abs(self.vectors).sum(axis=1).max())

    @property
    def largest(self) -> int:
        """Of all numbers, without their signs."""
        return int(np.abs(self.vectors).max())
