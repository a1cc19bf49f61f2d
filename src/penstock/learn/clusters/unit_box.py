"""The public box as a cube from -1 to 1, on whose lattice sums of coordinates are exact whole numbers.

Every coordinate of a record is first put on one of 2**20 places of its public range; the middle of place q
is 2q + 1 - 2**20 steps of 2**-20 away from the middle of the range. So a coordinate is a whole number of
steps between -REACH and REACH, whatever the record says, and so is any sum of them.

A whole number n fills the stretch from n to n + 1 of its axis, and stands in the middle of it: half a unit
to the right of the place where the lattice has it. Centres are moved there and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.errors import SchemaError
from penstock.kinds.points.box import Box
from penstock.kinds.points.data import STEPS
from penstock.kinds.points.space import MOST_FIELDS
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class UnitBox:
    """The declared box of a schema: `low` and `width` of every axis, and half a unit where it has units.

    >>> schema = Schema.from_yaml('''
    ... kind: points
    ... fields:
    ...   - {name: x, type: number, constraints: {minimum: 0, maximum: 10}}
    ...   - {name: rooms, type: integer, constraints: {minimum: 1, maximum: 4}}
    ... ''')
    >>> box = UnitBox.of(schema)
    >>> box.units(np.array([[5.0, 1.0], [10.0, 4.0]])).tolist()
    [[0.0, -0.75], [1.0, 0.75]]
    >>> box.values(np.array([[0.0, -0.75]])).tolist()
    [[5.0, 1.0]]
    """

    schema: Schema
    low: Reals
    width: Reals
    half: Reals

    @classmethod
    def of(cls, schema: Schema) -> UnitBox:
        if len(schema.fields) > MOST_FIELDS:
            raise SchemaError(
                f"Clusters have at most {MOST_FIELDS} fields, and the schema declares {len(schema.fields)}; "
                "remove those that say least. Nothing was spent."
            )
        box = Box.of(schema)
        low = np.array(box.low)
        half = np.array([0.5 if field.whole else 0.0 for field in schema.fields])
        return cls(schema, low, np.array(box.high) - low, half)

    @property
    def names(self) -> tuple[str, ...]:
        return self.schema.names

    @property
    def dimensions(self) -> int:
        return len(self.low)

    @property
    def _scale(self) -> Reals:
        """The width of every axis; 1 where it has none, so that its one value is in the middle."""
        return np.where(self.width > 0, self.width, 1.0)

    @property
    def offset(self) -> Reals:
        """How far values stand to the right of where the lattice has them, in the cube."""
        return np.asarray(2 * self.half / self._scale)

    def units(self, values: Reals) -> Reals:
        """Values of the fields as points of the cube; those outside the bounds are moved onto it."""
        inside = 2 * (values - self.low + self.half) / self._scale - 1
        return np.clip(np.where(self.width > 0, inside, 0.0), -1.0, 1.0)

    def values(self, units: Reals) -> Reals:
        """Points of the cube as values of the fields, within their bounds."""
        found = self.low + (units + 1) / 2 * self.width - self.half
        return np.clip(found, self.low, self.low + self.width - 2 * self.half)

    def steps(self, units: Reals) -> Numbers:
        """Points of the cube in steps of the lattice, as records are counted on it."""
        found: Numbers = np.rint((units - self.offset) * STEPS).astype(np.int64)
        return found

    def means(self, sums: Reals, counts: Reals) -> Reals:
        """Sums of steps over numbers of records, as points of the cube; the numbers are not zero."""
        return np.clip(sums / (counts[:, None] * STEPS) + self.offset, -1.0, 1.0)

    def points(self, rows: pl.DataFrame) -> tuple[Reals, NDArray[np.bool_]]:
        """Rows as points of the cube, and which of them have all coordinates."""
        from penstock.schema.reading import read

        columns: list[Reals] = []
        present = np.ones(rows.height, dtype=np.bool_)
        for name in self.names:
            reading = read(self.schema.field(name), rows[name], self.schema.codec(name).markers)
            present &= ~(reading.missing | reading.unreadable)
            columns.append(np.nan_to_num(reading.values.to_numpy().astype(np.float64)))
        return self.units(np.column_stack(columns)), present


def nearest(points: Reals, centres: Reals) -> Numbers:
    """The centre that each point is nearest to; of several the first.

    >>> nearest(np.array([[0.0], [0.4], [0.5]]), np.array([[0.0], [1.0]])).tolist()
    [0, 0, 0]
    """
    found = np.empty(len(points), dtype=np.int64)
    for begin in range(0, len(points), AT_ONCE):
        part = points[begin : begin + AT_ONCE]
        found[begin : begin + AT_ONCE] = np.argmin(squared(part, centres), axis=1)
    return found


def squared(points: Reals, centres: Reals) -> Reals:
    """The squared distance of every point to every centre."""
    apart: Reals = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    return np.maximum(apart, 0.0)


AT_ONCE = 1 << 16
