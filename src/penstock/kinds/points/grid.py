"""Uniform grid: one flat noisy histogram over a public box.

Guarantee: pure epsilon for one point added or removed (for one user: as many points as the schema
allows a user).
Why: a point falls into exactly one cell, so the histogram has L1 sensitivity 1; the number of
cells comes from the noisy total, which is paid for.

Reference: the side follows Su et al. (2016), m = (n epsilon / 10) ** (2 / (d + 2)) cells along each
of d dimensions, which balances the noise of the cells against the error of assuming that points
are spread evenly inside a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.contracts.parameters import Number, Whole
from penstock.errors import QueryError, ReleaseError, UsageError
from penstock.kinds.points.box import Box, Grid, Reals, as_frame, corners
from penstock.kinds.points.data import Points
from penstock.kinds.points.regions import region
from penstock.kinds.points.release import PointsRelease
from penstock.kinds.points.running import Running
from penstock.kinds.points.space import Space
from penstock.postprocessing import onto_simplex
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.releases import Answer, Manifest, Model
from penstock.report.maps import grid_map
from penstock.report.picture import Picture
from penstock.report.pictures import histogram
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class UniformGrid(Method[Points]):
    """Noisy counts of a regular grid, fine where the budget allows it.

    `points_per_cell` is the constant of the rule (10 in the literature); `side` fixes the number of
    cells along each dimension instead, and then nothing is paid for the total.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml('''
    ... kind: points
    ... fields:
    ...   - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
    ...   - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
    ... ''')
    >>> frame = pl.DataFrame({"x": [0.1] * 500 + [0.9] * 500, "y": [0.2] * 500 + [0.7] * 500})
    >>> points = Points.open(frame, schema)
    >>> release = UniformGrid().fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> 400 < release.count(Box((0, 0), (0.5, 0.5))).value < 600
    True
    """

    name: ClassVar[str] = "uniform-grid"

    points_per_cell: Annotated[float, Number(above=0)] = 10.0
    side: Annotated[int | None, Whole(1, MOST_CELLS)] = None

    def check(self, schema: Schema) -> None:
        """Refuse fields without bounds, and a grid of more cells than there may be."""
        dimensions = Box.of(schema).dimensions
        if self.side is not None and self.side**dimensions > MOST_CELLS:
            raise UsageError(
                f"A grid of {self.side} cells along each of {dimensions} dimensions has more than "
                f"{MOST_CELLS:,} cells; choose a smaller side. Nothing was spent."
            )

    def fit(self, points: Points, budget: Budget) -> GridRelease:
        """Count the points, unless `side` is given, then the cells; spends the whole budget."""
        self.ready(points, budget)
        domain = Box.of(points.schema)
        if self.side is None:
            for_total, for_cells = budget.split(number_of_points="1/20", cells="19/20")
            total = float(noise.counts(points.size(), pay=for_total)[0])
            side = self._side(total, float(for_cells.epsilon), domain.dimensions)
        else:
            for_cells, side = budget.rest("cells"), self.side
        grid = Grid.regular(domain, side)
        sealed = points.histogram(grid.sides)
        deviation = noise.standard_deviation(sealed.sensitivity.l1, for_cells.epsilon)
        counts = noise.counts(sealed, pay=for_cells)
        return GridRelease(
            method=self.name,
            schema=points.schema,
            parameters={"points_per_cell": self.points_per_cell, "side": self.side},
            receipt=budget.receipt(points.schema.unit, points.relation),
            grid=grid,
            counts=counts,
            deviation=deviation,
        )

    def cells(self, schema: Schema) -> int:
        """The grid that `side` asks for; without one, noise decides."""
        axes = sum(field.ranged for field in schema.fields)
        return super().cells(schema) if self.side is None else min(MOST_CELLS, self.side**axes)

    def _side(self, total: float, epsilon: float, dimensions: int) -> int:
        """The side that balances noise against non-uniformity, from public and paid-for numbers."""
        ideal: float = (max(total, 0.0) * epsilon / self.points_per_cell) ** (2.0 / (dimensions + 2))
        most = int(MOST_CELLS ** (1.0 / dimensions) + 1e-9)
        return max(1, round(min(ideal, most)))


class _Saved(BaseModel):
    sides: list[int]
    low: list[float]
    high: list[float]
    deviation: float | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GridRelease(PointsRelease):
    """A noisy histogram over a regular grid: counts of boxes, synthetic points, a map.

    >>> from penstock import Schema, release
    >>> from penstock.demo import rides, rides_schema
    >>> schema = Schema.from_yaml(rides_schema())
    >>> grid = release(rides(500), schema, epsilon=1, method="uniform-grid", seed=1)
    >>> grid.count(Box((0, 0), (20, 14))).value == grid.total
    True
    >>> grid.sample(3, seed=1).columns
    ['x_km', 'y_km']
    """

    form: ClassVar[str] = "grid"

    grid: Grid

    @cached_property
    def _running(self) -> Running:
        edges = [self.grid.edges(axis) for axis in range(self.grid.domain.dimensions)]
        return Running(edges, self.counts.reshape(self.grid.sides).astype(np.float64))

    def range_counts(self, low: ArrayLike, high: ArrayLike) -> Reals:
        return self._running.count(*corners(low, high, self.grid.domain.dimensions))

    @cached_property
    def _cells(self) -> Running:
        return Running(self._running.edges, np.ones(self.grid.sides))

    def range_cells(self, low: ArrayLike, high: ArrayLike) -> tuple[Reals, Reals]:
        box = corners(low, high, self.grid.domain.dimensions)
        return self._cells.count(*box), self._running.squares(*box)

    def ask(self, expression: str) -> Answer:
        """The estimated number of points that meet a condition on the coordinates."""
        space = Space.of(self.schema, deepest=0)
        share = np.zeros(self.grid.sides)
        for term in region(expression, self.schema, space):
            part: Reals = np.ones(())
            for number, axis in enumerate(space.axes):
                along = axis.interval(*[self.grid.edges(number)] * 2)[0]
                whole = np.array([0.0, axis.length])
                positions, selected = term.get(number, (whole, whole))
                part = np.multiply.outer(
                    part, np.diff(np.interp(along, positions, selected)) / np.diff(along)
                )
            share += part
        return self.stated(float(self.counts @ share.ravel()), float(share.sum()), float(np.sum(share**2)))

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Points drawn from the cells in proportion to their plausible counts, evenly inside a cell."""
        weights = onto_simplex(self.counts, max(self.total, 1.0))
        cells = rng.choice(self.grid.cells, size=n, p=weights / weights.sum())
        low, high = self.grid.corners(cells)
        return as_frame(self.schema, low + (high - low) * rng.random(low.shape))

    def model(self) -> Model:
        import polars as pl

        json = _Saved(
            sides=list(self.grid.sides),
            low=list(self.grid.domain.low),
            high=list(self.grid.domain.high),
            deviation=self.deviation,
        )
        return Model(json=json.model_dump(), tables={"counts": pl.DataFrame({"count": self.counts})})

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        if (
            not saved.sides
            or min(saved.sides) < 1
            or np.prod([float(side) for side in saved.sides]) > MOST_CELLS
        ):
            raise ReleaseError("model.json describes a grid of an impossible size; get the release again.")
        try:
            grid = Grid(Box(tuple(saved.low), tuple(saved.high)), tuple(saved.sides))
        except QueryError as problem:
            raise ReleaseError(f"model.json describes an impossible box: {problem}") from None
        if len(saved.sides) != grid.domain.dimensions or grid.domain.dimensions != len(manifest.schema.names):
            raise ReleaseError("model.json and schema.yaml disagree about the number of dimensions.")
        kind = pl.Int64 if saved.deviation is not None else pl.Float64
        counts = model.table("counts", {"count": kind}, rows=grid.cells)["count"].to_numpy()
        return cls(**manifest.common, grid=grid, counts=counts, deviation=saved.deviation)

    def pictures(self) -> Sequence[Picture]:
        names, cells = self.schema.names, np.maximum(self.counts, 0).reshape(self.grid.sides)
        shown = []
        if len(names) == 2:
            shown.append(
                grid_map(
                    "Map of the released points",
                    self.grid.edges(0),
                    self.grid.edges(1),
                    cells,
                    x_name=names[0],
                    y_name=names[1],
                )
            )
        for dimension, name in enumerate(names):
            others = tuple(axis for axis in range(len(names)) if axis != dimension)
            along = np.maximum(self.counts.reshape(self.grid.sides).sum(axis=others), 0)
            shown.append(
                histogram(
                    f"Points along {name}", self.grid.edges(dimension), along, amount="points", axis=name
                )
            )
        return shown

    def explain(self) -> Sequence[str]:
        shape = " x ".join(str(side) for side in self.grid.sides)
        holds = (
            "Each cell holds an estimate made from noisy sums of many cells."
            if self.deviation is None
            else "Each cell holds a count to which exact noise with a standard deviation of "
            f"{self.deviation:.3g} was added."
        )
        return [
            f"A regular grid of {shape} cells over the declared box. {holds} Counts of larger areas add up "
            "the cells; inside a cell, points are taken to be spread evenly."
        ]

    def limits(self) -> Sequence[str]:
        return [
            "Detail finer than a cell is not in this release.",
            "Sparse areas are mostly noise: single cells there mean little, sums over many cells more.",
        ]
