"""Axis-parallel boxes and regular grids: the public geometry of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import QueryError, SchemaError

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Field, Schema

Reals = NDArray[np.float64]
Boxes = tuple[Reals, Reals]
"""Rows of lower and rows of upper corners."""


@dataclass(frozen=True)
class Box:
    """A half-open box; the domain's own upper faces belong to it.

    >>> Box((0.0, 0.0), (2.0, 1.0)).volume
    2.0
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", tuple(float(value) for value in self.low))
        object.__setattr__(self, "high", tuple(float(value) for value in self.high))
        if len(self.low) != len(self.high) or not self.low:
            raise QueryError("A box needs as many upper as lower bounds, and at least one.")
        if not np.isfinite([*self.low, *self.high]).all():
            raise QueryError("The bounds of a box must be finite numbers.")
        if any(a > b for a, b in zip(self.low, self.high, strict=True)):
            raise QueryError(f"The box {self} has a lower bound above its upper bound.")

    @classmethod
    def of(cls, schema: Schema) -> Box:
        """The public box of a schema, one step beyond the largest value of a whole number; SchemaError where
        a field has no bounds."""
        for field in schema.fields:
            if not field.ranged:
                raise SchemaError(
                    f"{field.name}: for this method a coordinate must be a number or a date with bounds, not "
                    f"{field.kind}. Remove the field, or use the method privtree. Nothing was spent."
                )
        edges = [field.edges for field in schema.fields]
        return cls(tuple(each.low for each in edges), tuple(each.end for each in edges))

    @classmethod
    def parse(cls, text: str) -> Box:
        """A box from 'low,high,low,high,…', one pair for each dimension.

        >>> Box.parse("0,1, -5,5")
        Box(low=(0.0, -5.0), high=(1.0, 5.0))
        """
        try:
            numbers = [float(part) for part in text.split(",")]
        except ValueError:
            raise QueryError(
                f"'{text}' is not a box; write low,high for each dimension, such as 0,1,-5,5."
            ) from None
        if len(numbers) % 2:
            raise QueryError(f"'{text}' has an odd number of bounds; write low,high for each dimension.")
        return cls(tuple(numbers[0::2]), tuple(numbers[1::2]))

    def __str__(self) -> str:
        return " x ".join(f"[{a:g}, {b:g})" for a, b in zip(self.low, self.high, strict=True))

    @property
    def dimensions(self) -> int:
        return len(self.low)

    @property
    def volume(self) -> float:
        return float(np.prod(np.subtract(self.high, self.low)))


@dataclass(frozen=True)
class Grid:
    """A regular grid over a box, cells numbered in C order."""

    domain: Box
    sides: tuple[int, ...]

    @classmethod
    def regular(cls, domain: Box, side: int) -> Grid:
        """The same number of cells along every dimension."""
        return cls(domain, (side,) * domain.dimensions)

    @property
    def cells(self) -> int:
        return int(np.prod(self.sides))

    def edges(self, dimension: int) -> Reals:
        """The cell borders along one dimension."""
        low, high = self.domain.low[dimension], self.domain.high[dimension]
        return np.linspace(low, high, self.sides[dimension] + 1)

    def corners(self, cells: Sequence[int] | NDArray[np.integer]) -> tuple[Reals, Reals]:
        """Lower and upper corner of each of the numbered cells."""
        index = np.stack(np.unravel_index(np.asarray(cells), self.sides), axis=-1)
        low, high = np.array(self.domain.low), np.array(self.domain.high)
        width = (high - low) / np.array(self.sides)
        below = low + index * width
        return below, np.where(index + 1 == np.array(self.sides), high, below + width)


def random_boxes(
    low: Reals, high: Reals, volumes: tuple[float, float], count: int, rng: np.random.Generator
) -> Boxes:
    """Boxes with a volume uniform between two shares of the domain, of random shape and position."""
    dimensions = len(low)
    volume = rng.uniform(*volumes, count)
    sides = volume[:, None] ** rng.dirichlet(np.ones(dimensions), count)
    start = rng.random((count, dimensions)) * (1 - sides)
    return low + start * (high - low), low + (start + sides) * (high - low)


def corners(low: ArrayLike, high: ArrayLike, dimensions: int) -> tuple[Reals, Reals]:
    """Rows of lower and of upper corners of boxes, checked."""
    below, above = (np.atleast_2d(np.asarray(side, dtype=np.float64)) for side in (low, high))
    if below.shape != above.shape or below.shape[1] != dimensions:
        raise QueryError(
            f"The boxes have {below.shape[1]} dimensions and the release {dimensions} numeric fields."
        )
    if not (np.isfinite(below).all() and np.isfinite(above).all()):
        raise QueryError("The bounds of a box must be finite numbers.")
    return below, above


def as_frame(schema: Schema, coordinates: Reals) -> pl.DataFrame:
    """Coordinates as a frame with the schema's names and types; whole numbers and dates are rounded down."""
    import polars as pl

    return pl.DataFrame([column(field, coordinates[:, place]) for place, field in enumerate(schema.fields)])


def column(field: Field, coordinates: Reals) -> pl.Series:
    """The coordinates along one field as values of its type, inside its bounds."""
    import polars as pl

    low, end = field.edges.low, field.edges.end
    values = pl.Series(field.name, coordinates)
    if not field.whole:
        # To a ten-millionth of the range: more digits would only pretend to be exact.
        finest = min(15, max(0, 7 - floor(log10(end - low)))) if end > low else 15
        decimals = finest if field.decimals is None else field.decimals
        return values.round(decimals).clip(low, end)
    values = values.clip(low, end)
    whole = values.floor().clip(field.edges.low, field.edges.high).cast(pl.Int64)
    if field.type == "date":
        return whole.cast(pl.Int32).cast(pl.Date)
    if field.type == "datetime":
        return (whole * 1_000_000).cast(pl.Datetime("us"))
    return whole
