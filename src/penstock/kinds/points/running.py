"""Running totals of a dense grid: the count of any box from its corners alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Running:
    """A grid of counts with the borders of its cells along every axis; points are even inside a cell.

    >>> grid = Running([np.array([0.0, 1.0, 3.0])], np.array([4.0, 6.0]))
    >>> grid.count(np.array([[0.5], [1.0]]), np.array([[2.0], [9.0]]))
    array([5., 6.])
    """

    edges: Sequence[Reals]
    cells: Reals

    @cached_property
    def _below(self) -> Reals:
        """The count below every corner of the grid."""
        totals = self.cells
        for axis in range(totals.ndim):
            totals = np.cumsum(totals, axis=axis)
        return np.pad(totals, [(1, 0)] * totals.ndim)

    def count(self, low: Reals, high: Reals) -> Reals:
        """The counts in boxes: rows of lower and of upper corners, cut to the grid.

        Between its corners the count below a point is linear along every axis, so that a box takes
        4**d numbers, whatever its size.
        """
        flat, answers = self._below.ravel(), np.zeros(len(low))
        strides = np.array(self._below.strides) // self._below.itemsize
        terms = [
            [*_between(edges, high[:, axis], 1.0), *_between(edges, low[:, axis], -1.0)]
            for axis, edges in enumerate(self.edges)
        ]
        for chosen in product(*terms):
            place = np.zeros(len(low), dtype=np.int64)
            weight = np.ones(len(low))
            for (index, factor), stride in zip(chosen, strides, strict=True):
                place += index * stride
                weight *= factor
            answers += weight * flat[place]
        return answers

    def squares(self, low: Reals, high: Reals) -> Reals:
        """The sum of the squared shares of the cells in each box: the variance per noise variance."""
        result = np.ones(len(low))
        for axis, edges in enumerate(self.edges):
            (first, after), (last, beyond) = (
                _position(edges, np.maximum(corner, low[:, axis])) for corner in (low[:, axis], high[:, axis])
            )
            apart = (1 - after) ** 2 + (last - first - 1) + beyond**2
            result *= np.where(first == last, (beyond - after) ** 2, apart)
        return result


def _position(edges: Reals, values: Reals) -> tuple[Numbers, Reals]:
    """The cell that each value lies in, and the share of the cell below it; values are held inside."""
    held = np.clip(values, edges[0], edges[-1])
    cell = np.clip(np.searchsorted(edges, held, side="right") - 1, 0, len(edges) - 2)
    return cell, (held - edges[cell]) / (edges[cell + 1] - edges[cell])


def _between(edges: Reals, values: Reals, sign: float) -> list[tuple[Numbers, Reals]]:
    """Each value as a mixture of the two edges around it: their numbers and weights."""
    cell, share = _position(edges, values)
    return [(cell, sign * (1.0 - share)), (cell + 1, sign * share)]
