"""The public ground on which calls are made: a box, a window of days, and distances in miles.

Places lie on a lattice of 2**20 steps each way, west to east and south to north. All grids are cut from it
with whole numbers, so that every engine finds the same cell. Nothing here knows a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import cos, hypot, radians
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import SchemaError
from penstock.kinds.calls.layout import CallsLayout
from penstock.schema import Schema

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

BITS = 20
STEPS = 1 << BITS
DAY = 86_400
HOURS = 24
MOST_DAYS = 3_660
KILOMETRES = 1.609344
"""Of one mile."""
_NORTH, _EAST = 69.0, 69.172
"""Miles of a degree of latitude, and of longitude at the equator."""


@dataclass(frozen=True)
class Region:
    """The box and the days of a schema, with distances in miles.

    >>> schema = Schema.from_yaml('''
    ... kind: calls
    ... calls: {caller: id, time: at, latitude: lat, longitude: lon}
    ... fields:
    ...   - {name: at, type: datetime, constraints: {minimum: 2011-04-01, maximum: "2011-06-30T23:59:59"}}
    ...   - {name: lat, type: number, constraints: {minimum: 40, maximum: 42}}
    ...   - {name: lon, type: number, constraints: {minimum: -75, maximum: -73}}
    ... ''')
    >>> region = Region.of(schema)
    >>> region.days, round(region.width, 1), round(region.height, 1)
    (91, 104.4, 138.0)
    """

    west: float
    east: float
    south: float
    north: float
    miles_east: float
    miles_north: float
    first_day: int
    days: int

    @classmethod
    def of(cls, schema: Schema) -> Region:
        layout = CallsLayout.of(schema)
        x, y = schema.field(layout.longitude).edges, schema.field(layout.latitude).edges
        clock = schema.field(layout.time).edges
        first, last = int(clock.low) // DAY, int(clock.high) // DAY
        days = last - first + 1
        if days > MOST_DAYS:
            raise SchemaError(
                f"{layout.time}: the window has {days:,} days, and at most {MOST_DAYS:,} are possible. "
                "Narrow its bounds."
            )
        east, north = 1.0, 1.0
        if layout.coordinates == "kilometres":
            east = north = 1 / KILOMETRES
        elif layout.coordinates == "degrees":
            middle = (float(y.low) + float(y.end)) / 2
            if not -90 <= float(y.low) <= float(y.end) <= 90:
                raise SchemaError(
                    f"{layout.latitude}: latitudes lie between -90 and 90 degrees. Correct the bounds, or "
                    "say 'coordinates: kilometres'."
                )
            east, north = _EAST * max(1e-6, cos(radians(middle))), _NORTH
        return cls(float(x.low), float(x.end), float(y.low), float(y.end), east, north, first, days)

    @property
    def width(self) -> float:
        """Miles from west to east."""
        return (self.east - self.west) * self.miles_east

    @property
    def height(self) -> float:
        """Miles from south to north."""
        return (self.north - self.south) * self.miles_north

    @property
    def diagonal(self) -> float:
        """No two places are further apart, in miles."""
        return hypot(self.width, self.height)

    @cached_property
    def begins(self) -> datetime:
        """The first midnight of the window."""
        return datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + timedelta(days=self.first_day)

    @property
    def first_weekday(self) -> int:
        """The weekday of the first day; Monday is 0."""
        return (self.first_day + 3) % 7

    def miles(self, x: Any, y: Any, other_x: Any, other_y: Any) -> Reals:
        """Miles between places of the lattice."""
        across = (np.asarray(x, dtype=np.float64) - other_x) * (self.width / STEPS)
        up = (np.asarray(y, dtype=np.float64) - other_y) * (self.height / STEPS)
        return np.asarray(np.hypot(across, up), dtype=np.float64)

    def coordinates(self, x: Reals, y: Reals) -> tuple[Reals, Reals]:
        """Longitudes and latitudes of places of the lattice."""
        across = self.west + np.asarray(x, dtype=np.float64) / STEPS * (self.east - self.west)
        up = self.south + np.asarray(y, dtype=np.float64) / STEPS * (self.north - self.south)
        return np.clip(across, self.west, self.east), np.clip(up, self.south, self.north)

    def cell_size(self, side: int) -> tuple[float, float]:
        """Miles across and up of one cell of a grid with so many cells each way."""
        return self.width / side, self.height / side


def cell_of(x: Any, y: Any, side: int) -> Any:
    """The cell of a place in a grid of side x side cells, row by row from the south.

    Whole numbers only, so that arrays, Polars and databases give the same.
    """
    return ((y * side) // STEPS) * side + (x * side) // STEPS


def coarser(cells: Numbers, side: int, wanted: int) -> Numbers:
    """The cell of a coarser grid in which the middle of each cell lies."""
    rows, columns = cells // side, cells % side
    return ((2 * rows + 1) * wanted // (2 * side)) * wanted + (2 * columns + 1) * wanted // (2 * side)


@dataclass(frozen=True)
class Groups:
    """Which cells of a grid are counted together by the hour.

    Either blocks, a coarser grid of so many each way, which lie together on the map; or, as published, runs
    of so many consecutive cells row by row, the last of which may be shorter.

    >>> Groups.runs(2000, 2184).size, Groups.blocks(128, 16).size
    (1832, 256)
    """

    side: int
    block_side: int = 0
    run: int = 0

    @classmethod
    def blocks(cls, side: int, block_side: int) -> Groups:
        return cls(side, block_side=block_side)

    @classmethod
    def runs(cls, side: int, run: int) -> Groups:
        return cls(side, run=run)

    @property
    def size(self) -> int:
        return -(-self.side * self.side // self.run) if self.run else self.block_side**2

    def of_place(self, x: Any, y: Any) -> Any:
        """The group of a place of the lattice, in whole numbers."""
        return cell_of(x, y, self.side) // self.run if self.run else cell_of(x, y, self.block_side)

    def of_cell(self, cells: Numbers) -> Numbers:
        """The group of a cell of the grid."""
        return cells // self.run if self.run else coarser(cells, self.side, self.block_side)

    @property
    def weights(self) -> Reals:
        """How many cells each group has; whole or not, groups share the box by it."""
        if not self.run:
            return np.full(self.size, self.side**2 / self.size)
        sizes = np.full(self.size, float(self.run))
        sizes[-1] = self.side**2 - self.run * (self.size - 1)
        return sizes
