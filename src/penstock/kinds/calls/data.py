"""The sealed handle on calls: who called when and where, all calls of a caller together.

The unit is a caller with any number of calls. Home, work, commute and calls a day are one place, one pair of
places or one pair of numbers for each caller, so that a caller moves each of these histograms by one. The
calls by the hour are counted in one of two ways: every caller divides the same number of steps among all own
calls, so that busy callers weigh no more than others and no bound on calls is needed; or, as published, every
call counts one, and the bound is that on calls an hour, times the hours of all days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penstock.contracts.data import Data, Handle
from penstock.errors import SchemaError
from penstock.kinds.calls.callers import PROFILE_STEPS, SHARE, Counted, People
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.reading import open_calls
from penstock.kinds.calls.region import HOURS, Groups, Numbers, Reals, Region
from penstock.privacy.mechanisms.choice import Steps
from penstock.privacy.mechanisms.growth import Growth
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

ONE = Sensitivity.of(1, monotone=True)


@dataclass(frozen=True, eq=False, repr=False)
class Squares(Handle):
    """The squares of one depth of a quadtree over homes, or over places of work: PrivTree's hierarchy."""

    _counts: Sequence[Numbers]
    depth: int
    squares: Numbers

    def __repr__(self) -> str:
        return f"Squares({len(self.squares):,} at depth {self.depth}, sealed)"

    @property
    def fans(self) -> Numbers:
        return np.full(len(self.squares), 4 if self.depth + 1 < len(self._counts) else 0, dtype=np.int64)

    def scores(self, asked: Numbers) -> Sealed[Numbers]:
        """The number of callers in each of the squares, which no quarter of it exceeds."""
        return Sealed(
            self._counts[self.depth][self.squares[asked]],
            ONE,
            Relation.ADD_REMOVE,
            because="a caller has one home and one place of work at most, which lies in one square of every "
            "depth: one more caller raises scores by one along one path. A square holds the callers of its "
            "quarters; which squares there are is public, empty ones included",
        )

    def children(self, split: Numbers) -> Self:
        side = 1 << self.depth
        rows, columns = self.squares[split] // side, self.squares[split] % side
        quarters = [(2 * rows + up) * (2 * side) + 2 * columns + across for up in (0, 1) for across in (0, 1)]
        return type(self)(self._counts, self.depth + 1, np.stack(quarters, axis=1).ravel())

    def leaf_counts(self, growth: Growth[Squares]) -> Sealed[Numbers]:
        """The callers in each leaf, level by level."""
        levels = zip(growth.levels, growth.leaves, strict=True)
        return Sealed(
            np.concatenate([level._counts[level.depth][level.squares[leaves]] for level, leaves in levels]),
            ONE,
            Relation.ADD_REMOVE,
            because="the leaves of a quadtree share no place, and a caller has one place at most: leaves are "
            "one histogram, cut unevenly",
        )


class Calls(Data):
    """Calls that can be counted and not seen.

    >>> import polars as pl
    >>> from datetime import datetime
    >>> schema = Schema.from_yaml('''
    ... kind: calls
    ... calls: {caller: id, time: at, latitude: lat, longitude: lon}
    ... fields:
    ...   - {name: at, type: datetime, constraints: {minimum: 2011-04-01, maximum: "2011-04-02T23:59:59"}}
    ...   - {name: lat, type: number, constraints: {minimum: 40, maximum: 42}}
    ...   - {name: lon, type: number, constraints: {minimum: -75, maximum: -73}}
    ... ''')
    >>> one = pl.DataFrame({"id": [7], "at": [datetime(2011, 4, 1, 20)], "lat": [40.5], "lon": [-74.0]})
    >>> Calls.open(one, schema).places("home", 4)
    Sealed(sensitivity 1, add-remove)
    """

    def __init__(self, counted: Counted, schema: Schema) -> None:
        self.region = _possible(schema)
        self._counted, self.schema = counted, schema

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> Calls:
        _possible(schema)  # before anything is read
        return cls(open_calls(source, schema, table=table, engine=engine), schema)

    def __repr__(self) -> str:
        return f"Calls({self.region.days} days, sealed, {self.schema.relation.value})"

    @property
    def _callers(self) -> People:
        return self._counted.callers

    def size(self) -> Sealed[Numbers]:
        """The number of callers with a call within the window, as a vector of one."""
        return Sealed(
            np.array([self._callers.size], dtype=np.int64),
            ONE,
            self.relation,
            because="every caller is counted once, however many calls there are; whether one is kept "
            "depends on that caller's own calls alone",
        )

    def places(self, which: str, side: int) -> Sealed[Numbers]:
        """How many callers live (or work) in each cell of a grid."""
        return Sealed(
            self._callers.places(which, side),
            ONE,
            self.relation,
            because="a caller has one home and one place of work at most, found from that caller's own rows "
            "and public constants: one cell changes by one",
        )

    def squares(self, which: str, depth: int) -> Squares:
        """The whole box as one square, from which PrivTree grows; the smallest have this depth."""
        counts = [self._callers.places(which, 1 << depth)]
        for level in range(depth, 0, -1):
            half = 1 << (level - 1)
            counts.append(counts[-1].reshape(half, 2, half, 2).sum(axis=(1, 3)).ravel())
        return Squares(counts[::-1], 0, np.zeros(1, dtype=np.int64))

    def commutes(self, side: int, edges: Reals) -> Sealed[Numbers]:
        """How many callers of each cell of a grid commute how far: a row for a cell, with bins of its own.

        `edges` has the same rows, ascending; what is further than the last edge is counted in the last bin.
        """
        return Sealed(
            self._callers.commutes(side, edges),
            ONE,
            self.relation,
            because="a caller lives in one cell and commutes one distance, which lies in one of the cell's "
            "bins; the edges are public by now",
        )

    def commute_ranks(
        self, side: int, least: float, lattice: int, dummies: Sequence[int]
    ) -> Sealed[tuple[Steps, ...]]:
        """For every cell of a grid how far each distance is from the median of those who live there.

        Distances are whole steps of `least` miles, from 0 to `lattice` - 1. The dummy distances belong to
        every cell, so that none is empty. The score of a step is minus |2 k - n|, where k of the n distances
        are at most that far.
        """
        cells, steps, times = self._callers.distances(side, least, lattice)
        cells, steps = np.repeat(cells, times), np.repeat(steps, times)
        order = np.lexsort([steps, cells])
        cells, steps = cells[order], steps[order]
        ends = np.searchsorted(cells, np.arange(side * side + 1))
        found = []
        for cell in range(side * side):
            values = np.sort(np.concatenate([steps[ends[cell] : ends[cell + 1]], dummies]).astype(np.int64))
            edges, first = np.unique(values, return_index=True)
            below = np.append(first, len(values))
            bounds = np.concatenate([[0], edges, [lattice]]).astype(np.int64)
            found.append(Steps(bounds, -np.abs(2 * below - len(values)).astype(np.int64)))
        return Sealed(
            tuple(found),
            Sensitivity.scores(1, 2),
            self.relation,
            because="a caller lives in one cell and has one distance: there n grows by one and k by one or "
            "not at all, so that |2 k - n| moves by one, up or down; in other cells nothing moves",
        )

    def per_day(self, means: Sequence[float], deviations: Sequence[float]) -> Sealed[Numbers]:
        """How many callers have each pair of mean and deviation of calls a day, rounded to public numbers.

        A row for every mean. All days of the window count, those without a call as well.
        """
        return Sealed(
            self._callers.per_day(means, deviations),
            ONE,
            self.relation,
            because="a caller has one mean and one deviation over the public window, and is counted in one "
            "cell; one without calls is nowhere",
        )

    def class_sizes(self, centres: Reals) -> Sealed[Numbers]:
        """How many callers are nearest to each centre."""
        return Sealed(
            self._callers.around(centres)[0],
            ONE,
            self.relation,
            because="a caller is nearest to one centre, the first of several; the centres are public by now",
        )

    def class_sums(self, centres: Reals) -> Sealed[Numbers]:
        """For every centre the sum of the profiles nearest to it, hour by hour, in steps."""
        return Sealed(
            self._callers.around(centres)[1],
            Sensitivity.of(PROFILE_STEPS, monotone=True),
            self.relation,
            because="a caller is nearest to one centre and adds to its row the shares of own calls, which "
            "were rounded down to steps and are all steps there are at most",
        )

    def around(self, centres: Reals, weight: int) -> Sealed[Numbers]:
        """Both at once: `weight` times the size of each class, then the sums of its profiles, row by row."""
        sizes, sums = self._callers.around(centres)
        return Sealed(
            np.column_stack([weight * sizes, sums]),
            Sensitivity.of(PROFILE_STEPS + weight, monotone=True),
            self.relation,
            because="a caller is nearest to one centre: its size moves by the weight, and its sums by all "
            "steps of a profile together at most",
        )

    def hours_by_share(self, groups: Groups) -> Sealed[Numbers]:
        """For every hour of the day and every group of cells the steps that callers give to it."""
        return Sealed(
            self._counted.hourly(groups, shared=True),
            Sensitivity.of(SHARE, monotone=True),
            self.relation,
            because="a caller with T calls gives SHARE / T steps, rounded down, to the hour and group of "
            "each of them: no more than SHARE steps together, however many calls there are",
        )

    def hours_by_call(self, groups: Groups) -> Sealed[Numbers]:
        """For every hour of the day and every group of cells the number of calls, on all days together."""
        busiest = CallsLayout.of(self.schema).busiest
        if busiest is None:
            raise SchemaError(
                "calls: counting every call needs a bound on the calls of a caller in one hour. Add "
                "'busiest: 120' to the schema. Nothing was spent."
            )
        most = busiest * self.region.days
        return Sealed(
            self._counted.hourly(groups, shared=False),
            Sensitivity.of(most * HOURS, monotone=True),
            self.relation,
            because="who has more calls than the bound in any hour of any day is left out, by own calls "
            "alone; anybody else has that many at most in each hour of each day of the public window",
        )


def _possible(schema: Schema) -> Region:
    """The ground of a schema; SchemaError where nothing can be released under it."""
    if schema.relation is not Relation.ADD_REMOVE:
        raise SchemaError(
            "Methods for calls protect one caller added or removed; set relation to 'add-remove' in the "
            "schema."
        )
    return Region.of(schema)
