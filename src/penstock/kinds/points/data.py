"""The sealed handle on points: records with coordinates in a public box, and categories beside them.

A point falls into exactly one cell of any grid, so a histogram has L1 sensitivity 1 when one point
is added or removed, and m when a user with up to m points is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.data import Data, Handle
from penstock.engine import Engine, MemoryEngine, Within, open_engine
from penstock.engine.coordinates import in_grid
from penstock.engine.directions import Directions
from penstock.engine.mixing import mixed
from penstock.errors import SchemaError
from penstock.kinds.points.axis import Numbers
from penstock.kinds.points.cloud import Cloud, Keys, Source
from penstock.kinds.points.space import LATTICE_BITS, Cells, Space
from penstock.privacy.mechanisms.choice import Steps
from penstock.privacy.mechanisms.growth import Growth
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Field, Relation, Schema

Counts = NDArray[np.int64]

COORDINATE_BITS = 20
STEPS = 1 << COORDINATE_BITS
REACH = STEPS - 1
"""Coordinates that are summed lie on 2**20 places of their range. The middles of places are whole numbers of
steps from the middle of the range, and none is further away than REACH."""

COARSE_BITS = 10
COARSE = 1 << COARSE_BITS
"""The lattice on which squared distances are summed, and how far it reaches from the middle of the range."""
COARSE_REACH = COARSE - 1
"""The furthest middle of a place of that lattice."""

Analysis = Callable[[NDArray[np.float64]], Counts]

_AT_ONCE = 1 << 16
CELLS_AT_ONCE = 1 << 20
"""How many cells a database is asked for at once; finer ones only where a tree has grown."""


@dataclass(frozen=True, eq=False, repr=False)
class CellLevel(Handle):
    """All cells of one depth with their points: a level of the hierarchy that PrivTree grows in.

    A point lies in one cell of every depth, so a point more raises the scores along one path by one;
    a user with up to m points raises them along m paths.
    """

    space: Space
    _source: Source
    sensitivity: Sensitivity
    depth: int
    cells: Cells
    keys: Keys
    _cloud: Cloud
    _begin: Numbers
    _end: Numbers

    @classmethod
    def top(cls, space: Space, source: Source, sensitivity: Sensitivity) -> CellLevel:
        """The whole space as one cell."""
        cells, keys = space.top(), np.zeros((1, space.words), dtype=np.uint64)
        cloud = source(0, cells)
        return cls(space, source, sensitivity, 0, cells, keys, cloud, *cloud.stretches(space, keys, 0))

    def __repr__(self) -> str:
        return f"CellLevel({len(self.cells):,} cells at depth {self.depth}, sealed)"

    @property
    def fans(self) -> Numbers:
        return self.space.fans(self.cells, self.depth)

    def scores(self, asked: Numbers) -> Sealed[Numbers]:
        """The number of points in each of the cells, which no child exceeds."""
        return Sealed(
            self._counts(asked),
            self.sensitivity,
            Relation.ADD_REMOVE,
            because="the cells of one depth share no point, so a point is counted in one of them at most: a "
            "unit of m points raises scores by one along m paths at most. A cell holds the points of its "
            "children, whose scores are no larger; which cells there are is public, empty ones included",
        )

    def _counts(self, asked: Numbers) -> Numbers:
        """Raw: the number of points in each of the cells."""
        return self._cloud.counts(self._begin[asked], self._end[asked])

    def children(self, split: Numbers) -> Self:
        cells, keys = self.cells.take(split), self.keys[split]
        cloud, begin, end = self._cloud, self._begin[split], self._end[split]
        if self.depth >= cloud.depth:
            cloud = self._source(self.depth, cells)
            begin, end = cloud.stretches(self.space, keys, self.depth)
        cells, parents, codes = self.space.children(cells, self.depth)
        word, shift = self.space.slot(self.depth)
        keys = keys[parents]
        keys[:, word] |= codes.astype(np.uint64) << np.uint64(shift)
        begins = cloud.find(word, keys[:, word], begin[parents], end[parents])
        last = np.append(parents[1:] != parents[:-1], True)
        ends = np.where(last, end[parents], np.append(begins[1:], 0))
        return type(self)(
            self.space, self._source, self.sensitivity, self.depth + 1, cells, keys, cloud, begins, ends
        )


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Handle):
    """What an analysis found in each of several disjoint blocks of the points: a row for a block.

    A point lies in one block, and whether it is there or not moves no other point to another block. So a unit
    of m points changes m rows at most, in whichever way.
    """

    _rows: Counts
    records: int

    def __repr__(self) -> str:
        return f"Blocks({len(self._rows)}, sealed)"

    def ranks(self, output: int, share: Fraction) -> Sealed[Steps]:
        """A score for every step of the lattice: minus how far its rank among the blocks is from a share."""
        values = np.sort(self._rows[:, output])
        found, first = np.unique(values, return_index=True)
        below = np.append(first, len(values))
        target = share * len(values)
        apart = [abs(int(each) * target.denominator - target.numerator) for each in below]
        return Sealed(
            Steps(
                np.concatenate([[-REACH], found + 1, [REACH + 1]]),
                -np.array(apart, dtype=np.int64),
            ),
            Sensitivity.scores(self.records * target.denominator, 2),
            Relation.ADD_REMOVE,
            because="the number of blocks is public, and a unit of m points changes the values of m of them "
            "at most: each of these moves the rank of a step by one, up or down",
        )

    def clipped_sum(self, output: int, low: int, high: int) -> Sealed[Counts]:
        """The sum over all blocks of what was found, moved into a public range; as a vector of one."""
        return Sealed(
            np.array([np.clip(self._rows[:, output], low, high).sum()], dtype=np.int64),
            Sensitivity.of(self.records * (high - low)),
            Relation.ADD_REMOVE,
            because="the number of blocks is public, and a unit of m points changes the values of m of them "
            "at most, each by no more than the length of the range that it was moved into",
        )


class Points(Data):
    """Points that can be counted and not seen.

    >>> import polars as pl
    >>> schema = Schema.from_yaml('''
    ... kind: points
    ... fields:
    ...   - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
    ... ''')
    >>> Points.open(pl.DataFrame({"x": [0.5, 0.7]}), schema).histogram([4])
    Sealed(sensitivity 1, add-remove)
    """

    def __init__(self, engine: Engine, schema: Schema) -> None:
        if schema.relation is not Relation.ADD_REMOVE:
            raise SchemaError(
                "Methods for points protect one point or user added or removed; set relation to "
                "'add-remove' in the schema."
            )
        self._engine = engine
        self.schema = schema

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> Points:
        opened = open_engine(
            source, schema, table=table, engine=engine, order_key=order_key, coordinates=True
        )
        return cls(opened, schema)

    def __repr__(self) -> str:
        return f"Points({' x '.join(self.names)}, sealed, {self.schema.relation.value})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def sensitivity(self) -> Sensitivity:
        """Of one histogram over disjoint cells."""
        records = self.schema.unit.records
        return Sensitivity.of(records, linf=records, l2_squared=records**2, monotone=True)

    def size(self) -> Sealed[Counts]:
        """The number of points, as a vector of one."""
        return Sealed(
            np.array([self._engine.rows()], dtype=np.int64),
            self.sensitivity,
            self.schema.relation,
            because="every point is counted once, and a unit has at most so many as the schema says",
        )

    def histogram(self, sides: Sequence[int]) -> Sealed[Counts]:
        """Counts of the cells of a regular grid over the public box, flat in C order."""
        return Sealed(
            self._engine.grid(self.names, LATTICE_BITS, sides),
            self.sensitivity,
            self.schema.relation,
            because="a point falls into exactly one cell of a grid that covers the public box, so a unit of "
            "m points moves the counts by m together, all of it perhaps in one cell",
        )

    def patchwork(self, side: int, inner: Counts) -> Sealed[Counts]:
        """Counts of a regular grid whose cells are cut into `inner` parts along every axis, each as it likes.

        Cell by cell, the parts of each in C order. A point still lies in exactly one of them.
        """
        columns, weights = self._positions(len(self.names))
        outer = in_grid(columns, LATTICE_BITS, [side] * len(columns))
        parts = inner[outer]
        cells = np.zeros(len(outer), dtype=np.int64)
        for column in columns:
            cells *= parts
            cells += ((column * side * parts) >> LATTICE_BITS) - ((column * side) >> LATTICE_BITS) * parts
        sizes = inner ** len(columns)
        cells += (np.cumsum(sizes) - sizes)[outer]
        counts = _tally(cells, weights, int(sizes.sum()))
        return Sealed(
            counts,
            self.sensitivity,
            self.schema.relation,
            because="a point falls into one cell of the grid and into one part of that cell, so a unit of m "
            "points moves the counts by m together, all of it perhaps in one part",
        )

    def around(self, centres: Counts, weight: int) -> Sealed[Counts]:
        """For every centre `weight` times the number of points nearest to it, and the sum of each coordinate.

        Coordinates are whole steps of a lattice, from -REACH to REACH over the public range; so are the
        centres, one a row. The answer has a row for every centre: the number, then the sums.
        """
        found, sums = self._engine.nearest(self.names, COORDINATE_BITS, centres + STEPS)
        steps = 2 * sums + found[:, None] * (1 - STEPS)
        records, axes = self.schema.unit.records, len(self.names)
        return Sealed(
            np.column_stack([weight * found, steps]),
            Sensitivity.of(
                records * (axes * REACH + weight),
                linf=records * max(REACH, weight),
                l2_squared=records**2 * (axes * REACH**2 + weight**2),
            ),
            self.schema.relation,
            because="a point is nearest to one centre only, the first of several: it moves the number of one "
            "row by the weight and each of the row's sums by REACH at most, because every coordinate was put "
            "on the lattice of the public range first. A unit of m points moves the table by m times that, "
            "all of it perhaps in one row",
        )

    def moments(self) -> Sealed[Counts]:
        """The sums of all coordinates, times COARSE_REACH, and of the products of every two: a flat vector.

        Coordinates are whole steps of a coarser lattice, from -COARSE_REACH to COARSE_REACH over the public
        range. Products are those of the upper half of the symmetric matrix, row by row.
        """
        many, sums, products = self._engine.moments(self.names, COARSE_BITS)
        steps = 2 * sums - COARSE_REACH * many
        both = sums[:, None] + sums
        squares = 4 * products - 2 * COARSE_REACH * both + COARSE_REACH**2 * many
        upper = squares[np.triu_indices(len(sums))]
        entries, records = len(sums) + len(upper), self.schema.unit.records
        return Sealed(
            np.concatenate([COARSE_REACH * steps, upper]),
            Sensitivity.of(
                records * entries * COARSE_REACH**2,
                linf=records * COARSE_REACH**2,
                l2_squared=records**2 * entries * COARSE_REACH**4,
            ),
            self.schema.relation,
            because="every coordinate was put on the lattice of its public range, so that a point adds no "
            "more than COARSE_REACH squared to any entry, up or down; a unit of m points m times that",
        )

    def projected(self, directions: Directions) -> Points:
        """The same points along public directions of the box, one field for each.

        Every point stays one point and has one place, so a unit moves whatever is counted as much as before.
        """
        made = Points(self._engine.projected(self.names, directions), along(self.schema, directions))
        made.repeatable, made.made_of = self.repeatable, self.booked
        return made

    def distances(self, candidates: Counts) -> Sealed[Counts]:
        """For every set of centres minus the sum of squared distances of all points to the nearest.

        Sets, centres and coordinates are the axes of `candidates`, in steps of a coarser lattice, from
        -COARSE to COARSE over the public range.
        """
        positions, weights = self._engine.lattice(self.names, COARSE_BITS)
        places = (2 * positions + 1 - COARSE).astype(np.float64)
        scores = [-int(weights @ _least_squares(places, each)) for each in candidates.astype(np.float64)]
        furthest = len(self.names) * (2 * COARSE) ** 2 * self.schema.unit.records
        return Sealed(
            np.array(scores, dtype=np.int64),
            Sensitivity.scores(furthest, len(candidates), monotone=True),
            self.schema.relation,
            because="a point more adds to the sum of every set its squared distance to one centre: no less "
            "than 0, and no more than that of opposite corners of the public box, in which points and "
            "centres lie. So all scores fall together, each by that for every point of a unit at most",
        )

    def blocks(self, many: int, outputs: int, analysis: Analysis) -> Blocks:
        """An analysis of each of so many disjoint blocks of the points: `outputs` whole numbers for a block.

        `analysis` takes rows of steps from -REACH to REACH, perhaps none, and gives numbers in that range; it
        may be anything that gives the same numbers for the same rows. A point's own place, and how many of
        its like came before it, decide its block, by a public function that mixes well.
        """
        positions, weights = self._engine.lattice(self.names, COORDINATE_BITS)
        block = _mixed(positions, weights, many)
        steps = np.repeat((2 * positions + 1 - STEPS).astype(np.float64), weights, axis=0)
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(many + 1))
        rows = [analysis(steps[order[ends[place] : ends[place + 1]]]) for place in range(many)]
        found = np.clip(np.array(rows, dtype=np.int64).reshape(many, outputs), -REACH, REACH)
        return Blocks(found, self.schema.unit.records)

    def _positions(self, dimensions: int) -> tuple[list[Counts], Counts | None]:
        """Raw: all points on the lattice, and how often each occurs (None: once)."""
        bits = [LATTICE_BITS] * dimensions
        if isinstance(self._engine, MemoryEngine):
            return self._engine.places(self.names, bits), None
        positions, weights = self._engine.lattice(self.names, bits)
        return list(positions.T), weights

    def top(self, space: Space) -> CellLevel:
        """The whole of a space over these fields as one cell, from which PrivTree grows."""
        if isinstance(self._engine, MemoryEngine):
            cloud = self._sorted(self._engine, space)
            return CellLevel.top(space, lambda depth, cells: cloud, self.sensitivity)
        return CellLevel.top(space, partial(self._nearer, space), self.sensitivity)

    def leaf_counts(self, growth: Growth[CellLevel]) -> Sealed[Counts]:
        """The points in each leaf, level by level."""
        levels = zip(growth.levels, growth.leaves, strict=True)
        counts = [level._counts(leaves) for level, leaves in levels]
        return Sealed(
            np.concatenate(counts),
            self.sensitivity,
            self.schema.relation,
            because="the leaves of a tree of cells share no point: they are one histogram, cut unevenly, "
            "which a unit of m points moves by m together, all of it perhaps in one leaf",
        )

    def _sorted(self, engine: MemoryEngine, space: Space) -> Cloud:
        """All points at once, down to the smallest cells."""
        raw = engine.places(self.names, [axis.asked for axis in space.axes])
        keys = space.keys([axis.placed(column) for axis, column in zip(space.axes, raw, strict=True)])
        return Cloud.of(keys, None, space.deepest)

    def _nearer(self, space: Space, depth: int, cells: Cells) -> Cloud:
        """The points inside some cells, counted in the database as finely as the number of cells allows."""
        finer, expected = depth + 1, len(cells)
        while finer < space.deepest and expected * space.fan_out**2 <= CELLS_AT_ONCE:
            finer, expected = finer + 1, expected * space.fan_out
        finer = min(finer, space.deepest)
        halved = [number for number, axis in enumerate(space.axes) if axis.listed is None]
        near, far = space.levels[finer], space.levels[depth]
        asked = [
            near[number] if axis.listed is None else axis.asked for number, axis in enumerate(space.axes)
        ]
        cut = [number for number in halved if far[number] > 0]
        within = None
        if cut:
            shifts = [space.axes[number].bits - far[number] for number in cut]
            coarse = np.unique(cells.start[:, cut] >> np.array(shifts), axis=0)
            within = Within([self.names[number] for number in cut], [far[number] for number in cut], coarse)
        positions, weights = self._engine.lattice(self.names, asked, within)
        places = [
            column << (axis.bits - near[number]) if axis.listed is None else axis.placed(column)
            for number, (axis, column) in enumerate(zip(space.axes, positions.T, strict=True))
        ]
        return Cloud.of(space.keys(places), weights, finer)


def along(schema: Schema, directions: Directions) -> Schema:
    """The schema of points along directions of the box that a schema declares; the unit stays."""
    ends = {"minimum": directions.coordinate.low, "maximum": directions.coordinate.high}
    fields = tuple(
        Field.model_validate({"name": name, "type": "number", "constraints": ends})
        for name in directions.names
    )
    return Schema(kind=schema.kind, fields=fields, unit=schema.unit, relation=schema.relation)


def _least_squares(places: NDArray[np.float64], centres: NDArray[np.float64]) -> Counts:
    """The squared distance of every place to its nearest centre: whole numbers that doubles hold exactly."""
    lengths = (centres**2).sum(axis=1)
    least = np.concatenate(
        [
            (lengths - 2 * places[begin : begin + _AT_ONCE] @ centres.T).min(axis=1)
            for begin in range(0, len(places), _AT_ONCE)
        ]
        or [np.zeros(0)]
    )
    found: Counts = (least + (places**2).sum(axis=1)).astype(np.int64)
    return found


def _mixed(positions: Counts, weights: Counts, many: int) -> Counts:
    """The block of every point: a mixture of its coordinates and of how many like it came before."""
    length = int(weights.sum())
    before = np.arange(length) - np.repeat(np.cumsum(weights) - weights, weights)
    columns = (*(np.repeat(axis, weights) for axis in positions.T), before)
    keys = mixed((column.astype(np.uint64) for column in columns), length)
    return (keys % np.uint64(many)).astype(np.int64)


def _tally(cells: Counts, weights: Counts | None, size: int) -> Counts:
    """The number of points in each cell, added up as whole numbers: `np.bincount` adds weights as doubles."""
    if weights is None:
        return np.bincount(cells, minlength=size)
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, cells, weights)
    return counts
