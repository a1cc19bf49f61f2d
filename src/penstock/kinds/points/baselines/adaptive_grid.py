"""Adaptive grid: a coarse grid, each of whose cells is cut as finely as its noisy count suggests.

Guarantee: pure epsilon for one point added or removed (for one user: as many points as the schema
allows a user).
Why: a point lies in one cell of the coarse grid and in one of the fine cells, and each set of counts is
paid for by its part of the budget; the fineness follows from noisy counts only. So does the size of the
coarse grid: the number of points is a parameter where it is public, and paid for where it is not.

Reference: W. Qardaji, W. Yang and N. Li, "Differentially private grids for geospatial data" (ICDE 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.contracts.parameters import Share, Whole
from penstock.errors import ReleaseError, SchemaError
from penstock.kinds.points.axis import Numbers, Reals
from penstock.kinds.points.box import Box
from penstock.kinds.points.data import Points
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.ranges import Ranges
from penstock.kinds.points.space import Space
from penstock.kinds.points.tree import TreeRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.growth import Shape
from penstock.releases import Manifest, Model
from penstock.schema import Schema

MOST_SIDE = 1000
MOST_INNER = 500
MOST_CELLS = 4_000_000
"""Fine cells in all; there are a million coarse ones at most."""


@dataclass(frozen=True)
class AdaptiveGrid(Method[Points]):
    """Two levels of grids over two dimensions.

    `coarse` is the share of the budget for the coarse counts. `size` is the number of points where
    that is public; otherwise a hundredth of the budget pays for a noisy one.

    >>> from penstock.demo import rides, rides_schema
    >>> from penstock.kinds.points.box import Box
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> points = Points.open(rides(500), Schema.from_yaml(rides_schema()))
    >>> release = AdaptiveGrid().fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> 50 < release.count(Box((0, 0), (10, 7))).value < 110
    True
    """

    name: ClassVar[str] = "adaptive-grid"

    coarse: Annotated[Amount, Share()] = "1/2"
    size: Annotated[int | None, Whole(0, 10**15)] = None

    def check(self, schema: Schema) -> None:
        """Refuse anything but two fields with bounds."""
        if Box.of(schema).dimensions != 2:
            raise SchemaError("The adaptive grid is defined for two numeric fields. Nothing was spent.")

    def fit(self, points: Points, budget: Budget) -> AdaptiveGridRelease:
        """Counts of both grids, and of the points where `size` is not public; spends the whole budget."""
        self.ready(points, budget)
        space = Space.of(points.schema, deepest=0)
        alpha = exact(self.coarse, "coarse")
        total, rest = self.size, budget
        if total is None:
            for_total = budget.part("number of points", "1/100")
            total = int(noise.counts(points.size(), pay=for_total)[0])
            rest = budget.rest("grids")
        epsilon = rest.epsilon
        for_coarse, for_fine = rest.split(coarse_cells=alpha, fine_cells=1 - alpha)
        side = coarse_side(total, float(epsilon))
        above = noise.counts(points.histogram([side, side]), pay=for_coarse).astype(np.float64)
        inner = fine_sides(above, float(epsilon * (1 - alpha)))
        below = noise.counts(points.patchwork(side, inner), pay=for_fine).astype(np.float64)
        return AdaptiveGridRelease(
            method=self.name,
            schema=points.schema,
            parameters={"coarse": str(alpha), "size": self.size},
            receipt=budget.receipt(points.schema.unit, points.relation),
            partition=patchwork(space, side, inner),
            counts=agreed(above, below, inner, float(alpha)),
            deviation=None,
            side=side,
            inner=inner,
        )


def coarse_side(total: int, epsilon: float) -> int:
    """The side of the coarse grid: a quarter of the uniform grid's, at least 10."""
    return min(MOST_SIDE, max(10, ceil(ceil(sqrt(max(total, 0) * epsilon / 10)) / 4)))


def fine_sides(counts: Reals, epsilon: float) -> Numbers:
    """Into how many parts each coarse cell is cut along each axis; `MOST_CELLS` in all, the finest cut less.

    Counts that are nothing but noise, of users with very many points say, would call for more than fit.

    >>> fine_sides(np.full(100, 1e15), 1.0).tolist()[:1]
    [200]
    """
    wanted = np.ceil(np.sqrt(np.maximum(counts, 0.0) * epsilon / 5.0))
    inner = np.clip(wanted, 1, MOST_INNER).astype(np.int64)
    few, many = 1, MOST_INNER
    while few < many:
        most = (few + many + 1) // 2
        fits = int((np.minimum(inner, most) ** 2).sum()) <= MOST_CELLS
        few, many = (most, many) if fits else (few, most - 1)
    return np.minimum(inner, few)


def agreed(above: Reals, below: Reals, inner: Numbers, alpha: float) -> Reals:
    """Fine counts that add up to the best estimate of their coarse cell.

    >>> agreed(np.array([100.0]), np.full(9, 94 / 9), np.array([3]), 0.5).round(4).tolist()[:1]
    [11.0444]
    """
    cells = inner**2
    sums = np.add.reduceat(below, np.cumsum(cells) - cells)
    weight = alpha**2 * cells / ((1 - alpha) ** 2 + alpha**2 * cells)
    better = weight * above + (1 - weight) * sums
    return np.asarray(below + np.repeat((better - sums) / cells, cells))


def patchwork(space: Space, side: int, inner: Numbers) -> Partition:
    """The two grids as a tree of depth two."""
    outer = np.array([(i, j) for i in range(side) for j in range(side)], dtype=np.float64)
    cells = inner**2
    parent = np.repeat(np.arange(side * side), cells)
    within = np.arange(len(parent)) - np.repeat(np.cumsum(cells) - cells, cells)
    fine = np.column_stack([within // inner[parent], within % inner[parent]])
    step = 1.0 / inner[parent][:, None]
    low = np.concatenate([[[0.0, 0.0]], outer, outer[parent] + fine * step]) / side
    high = np.concatenate([[[side, side]], outer + 1, outer[parent] + (fine + 1) * step]) / side
    lengths = np.array([axis.length for axis in space.axes])
    fans = np.concatenate([[side * side], cells, np.zeros(len(parent), dtype=np.int64)])
    return Partition(space, Shape(fans), low * lengths, high * lengths)


class _Saved(BaseModel):
    side: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AdaptiveGridRelease(TreeRelease):
    """Counts of a patchwork of grids, asked and drawn from like a tree.

    >>> from penstock import Schema, release
    >>> from penstock.demo import rides, rides_schema
    >>> schema = Schema.from_yaml(rides_schema())
    >>> grids = release(rides(500), schema, epsilon=1, method="adaptive-grid", seed=1)
    >>> len(grids.inner) == grids.side**2
    True
    """

    form: ClassVar[str] = "adaptive-grid"

    side: int
    inner: Numbers

    @cached_property
    def ranges(self) -> Ranges:
        counts = self.partition.shape.sums(np.asarray(self.counts, dtype=np.float64))
        return Ranges(self.partition, counts, additive=False)

    def model(self) -> Model:
        import polars as pl

        return Model(
            json=_Saved(side=self.side).model_dump(),
            tables={
                "cells": pl.DataFrame({"parts": self.inner}),
                "counts": pl.DataFrame({"count": self.counts}),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        side = model.read(_Saved).side
        if not 1 <= side <= MOST_SIDE or len(manifest.schema.names) != 2:
            raise ReleaseError("model.json describes a grid of an impossible size; get the release again.")
        inner = model.table("cells", {"parts": pl.Int64}, rows=side * side)["parts"].to_numpy()
        if inner.min() < 1 or inner.max() > MOST_INNER:
            raise ReleaseError("model-cells.parquet cuts a cell in an impossible way; get the release again.")
        counts = model.table("counts", {"count": pl.Float64}, rows=int((inner**2).sum()))["count"].to_numpy()
        partition = patchwork(Space.of(manifest.schema, deepest=0), side, inner)
        return cls(
            **manifest.common, partition=partition, counts=counts, deviation=None, side=side, inner=inner
        )
