"""Hierarchy: noisy grids of every resolution, made to agree.

Guarantee: pure epsilon for one point added or removed (for one user: as many points as the schema
allows a user).
Why: a point lies in one cell of each of the `height` grids, and each grid is paid for by its part of the
budget. Making the grids agree is least squares on public numbers.

Reference: M. Hay, V. Rastogi, G. Miklau and D. Suciu, "Boosting the accuracy of differentially private
histograms through consistency" (VLDB 2010); W. Qardaji, W. Yang and N. Li, "Understanding hierarchical
methods for differentially private histograms" (VLDB 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.errors import UsageError
from penstock.kinds.points.box import Box, Grid, Reals
from penstock.kinds.points.data import Points
from penstock.kinds.points.grid import MOST_CELLS, GridRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.schema import Schema


@dataclass(frozen=True)
class Hierarchy(Method[Points]):
    """Grids of `fan` cells along each axis, each cell cut again, `height` times; the root is not counted.

    >>> from penstock.demo import rides, rides_schema
    >>> from penstock.kinds.points.box import Box
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> points = Points.open(rides(500), Schema.from_yaml(rides_schema()))
    >>> release = Hierarchy().fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> 20 < release.count(Box((0, 0), (10, 7))).value < 120
    True
    """

    name: ClassVar[str] = "hierarchy"

    fan: Annotated[int, Whole(2, MOST_CELLS)] = 8
    height: Annotated[int, Whole(1, MOST_CELLS.bit_length() - 1)] = 3

    def check(self, schema: Schema) -> None:
        """Refuse fields without bounds, and a finest grid of more cells than there may be."""
        dimensions = Box.of(schema).dimensions
        if (self.fan**self.height) ** dimensions > MOST_CELLS:
            raise UsageError(
                f"A hierarchy of height {self.height} with {self.fan} parts along {dimensions} axes has more "
                f"than {MOST_CELLS:,} cells; choose a smaller fan or height. Nothing was spent."
            )

    def fit(self, points: Points, budget: Budget) -> GridRelease:
        """Noisy grids, coarsest first, for equal parts of the budget; spends all of it."""
        self.ready(points, budget)
        domain = Box.of(points.schema)
        dimensions = domain.dimensions
        measured: list[Reals] = []
        for level, pay in enumerate(budget.evenly([f"grid {level + 1}" for level in range(self.height)])):
            sides = [self.fan ** (level + 1)] * dimensions
            measured.append(noise.counts(points.histogram(sides), pay=pay).astype(np.float64).reshape(sides))
        return GridRelease(
            method=self.name,
            schema=points.schema,
            parameters={"fan": self.fan, "height": self.height},
            receipt=budget.receipt(points.schema.unit, points.relation),
            grid=Grid.regular(domain, self.fan**self.height),
            counts=consistent(measured, self.fan).ravel(),
            deviation=None,
        )


def consistent(measured: Sequence[Reals], fan: int) -> Reals:
    """The least-squares leaf counts behind noisy grids of equal variance, coarsest first.

    Up: what a cell's own count and its children's sums say together. Down: what a parent knows better
    than its children is shared evenly among them.
    """
    children = fan ** measured[0].ndim
    estimates = [measured[-1]]
    for height, own in enumerate(reversed(measured[:-1]), start=2):
        whole, part = children**height, children ** (height - 1)
        below = _sums(estimates[0], fan)
        mixed = (whole - part) / (whole - 1) * own + (part - 1) / (whole - 1) * below
        estimates.insert(0, mixed)
    settled = estimates[0]
    for finer in estimates[1:]:
        surplus = (settled - _sums(finer, fan)) / children
        settled = finer + _spread(surplus, fan)
    return settled


def _sums(grid: Reals, fan: int) -> Reals:
    """The sums over blocks of `fan` cells along every axis."""
    for axis in range(grid.ndim):
        grid = np.add.reduceat(grid, np.arange(0, grid.shape[axis], fan), axis=axis)
    return grid


def _spread(grid: Reals, fan: int) -> Reals:
    """Every cell repeated `fan` times along every axis."""
    for axis in range(grid.ndim):
        grid = np.repeat(grid, fan, axis=axis)
    return grid
