"""Synopses: noisy counts of disjoint cells that cover the cube, on which clustering costs nothing.

Counts stay as noise left them, below zero too: in a large cluster positive and negative noise cancel, and
cutting single cells off at zero would add phantom points wherever there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.engine.directions import Directions
from penstock.kinds.points.partition import Partition

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
Signs = Literal["signed", "non-negative"]

MOST_BLOCKS, IN_FEW_DIMENSIONS = 1 << 12, 1 << 10
"""So many blocks are clustered from every start; fewer where dimensions are few and blocks small enough."""
FEW = 3


@dataclass(frozen=True, eq=False)
class Cells:
    """Points of the cube with weights: `sums` and `squares` are those of the weighted cells behind each.

    Where a point stands for one cell, its sum is weight times place; a block of cells has the exact sums of
    all of them, and is moved from one cluster to another as a whole.
    """

    places: Reals
    weights: Reals
    sums: Reals
    squares: Reals

    @classmethod
    def of(cls, places: Reals, weights: Reals) -> Cells:
        sums = places * weights[:, None]
        return cls(places, weights, sums, (places * sums).sum(axis=1))

    def __len__(self) -> int:
        return len(self.weights)

    def blocks(self) -> Cells:
        """The same in blocks of neighbouring cells, where there are many more."""
        dimensions = self.places.shape[1]
        most = IN_FEW_DIMENSIONS if dimensions <= FEW else MOST_BLOCKS
        if len(self) <= MOST_BLOCKS:
            return self
        sides = self._sides(most)
        block = np.zeros(len(self), dtype=np.int64)
        for axis in np.flatnonzero(sides > 1).tolist():
            inside = ((self.places[:, axis] + 1) * (sides[axis] / 2)).astype(np.int64)
            block = block * sides[axis] + np.minimum(inside, sides[axis] - 1)
        every = np.bincount(block, minlength=int(sides.prod()))
        some = np.flatnonzero(every)
        cells = every[some]

        def added(values: Reals) -> Reals:
            found = np.bincount(block, weights=values, minlength=len(every))[some]
            return found.astype(np.float64, copy=False)

        def added_up(rows: Reals) -> Reals:
            return np.column_stack([added(column) for column in rows.T])

        return Cells(
            added_up(self.places) / cells[:, None],
            added(self.weights),
            added_up(self.sums),
            added(self.squares),
        )

    def _sides(self, most: int) -> Numbers:
        """Into how many parts each axis is cut for so many blocks: where parts spread most comes next.

        In many dimensions there is hardly one cut for each, and axes differ in what a cut is good for.
        """
        weights = np.maximum(self.weights, 0.0)
        weights = weights if weights.any() else np.ones(len(weights))
        middle = np.average(self.places, axis=0, weights=weights)
        spread = np.average((self.places - middle) ** 2, axis=0, weights=weights)
        sides = np.ones(len(spread), dtype=np.int64)
        for _ in range(most.bit_length() - 1):
            sides[np.argmax(spread / sides**2)] *= 2
        return sides


@dataclass(frozen=True, eq=False)
class GridSynopsis:
    """A regular grid over the cube, cells in C order; `deviation` is that of the noise of every count."""

    sides: tuple[int, ...]
    counts: Numbers
    deviation: float

    @cached_property
    def places(self) -> Reals:
        """The middle of every cell."""
        rest = np.arange(prod(self.sides))
        found = np.empty((len(rest), len(self.sides)))
        for axis in reversed(range(len(self.sides))):  # the last axis is the fastest
            rest, place = np.divmod(rest, self.sides[axis])
            found[:, axis] = -1 + (2 * place + 1) / self.sides[axis]
        return found

    @property
    def ends(self) -> tuple[Reals, Reals]:
        """Where every cell begins and ends along each axis."""
        half = 1 / np.array(self.sides)
        return self.places - half, self.places + half

    @property
    def words(self) -> str:
        return f"a regular grid of {' x '.join(map(str, self.sides))} cells"


@dataclass(frozen=True, eq=False)
class GrownSynopsis:
    """The leaves of a tree that PrivTree grew, level by level; over all fields, or along some directions."""

    partition: Partition
    counts: Numbers
    deviation: float
    directions: Directions | None = None

    @cached_property
    def places(self) -> Reals:
        """The middle of every leaf."""
        low, high = self.ends
        return np.asarray((low + high) / 2)

    @property
    def ends(self) -> tuple[Reals, Reals]:
        """Where every leaf begins and ends along each axis."""
        leaves = self.partition.leaves
        half = np.array([axis.length for axis in self.partition.space.axes]) / 2
        return self.partition.low[leaves] / half - 1, self.partition.high[leaves] / half - 1

    @property
    def words(self) -> str:
        along = ""
        if self.directions is not None:
            along = f" along {len(self.directions.weights)} directions of the box"
        return f"a tree of boxes with {len(self.counts):,} leaves{along}, fine where points are many"


Synopsis = GridSynopsis | GrownSynopsis


def weighted(synopsis: Synopsis, signs: Signs) -> Cells:
    """The cells of a synopsis with their counts as weights, as they are or rounded up to zero."""
    counts = synopsis.counts if signs == "signed" else np.maximum(synopsis.counts, 0)
    return Cells.of(synopsis.places, counts.astype(np.float64))
