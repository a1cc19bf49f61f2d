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
from numpy.typing import NDArray

from penstock.contracts.data import Data, Handle
from penstock.errors import SchemaError
from penstock.kinds.calls.callers import SHARE, Callers, Counted
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.reading import open_calls
from penstock.kinds.calls.region import HOURS, Groups, Numbers, Reals, Region, cell_of
from penstock.privacy.mechanisms.choice import Steps
from penstock.privacy.mechanisms.growth import Growth
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

PROFILE_STEPS = 1 << 20
"""The lattice of shares: what a caller's calls at an hour are of all own calls, in steps, rounded down."""
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
        if schema.relation is not Relation.ADD_REMOVE:
            raise SchemaError(
                "Methods for calls protect one caller added or removed; set relation to 'add-remove' in the "
                "schema."
            )
        self._counted, self.schema = counted, schema
        self.region = Region.of(schema)

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> Calls:
        cls(_NOBODY, schema)  # refuses bad schemas before anything is read
        return cls(open_calls(source, schema, table=table, engine=engine), schema)

    def __repr__(self) -> str:
        return f"Calls({self.region.days} days, sealed, {self.schema.relation.value})"

    @property
    def _callers(self) -> Callers:
        return self._counted.callers

    def size(self) -> Sealed[Numbers]:
        """The number of callers with a call within the window, as a vector of one."""
        return Sealed(
            np.array([len(self._callers)], dtype=np.int64),
            ONE,
            self.relation,
            because="every caller is counted once, however many calls there are; whether one is kept "
            "depends on that caller's own calls alone",
        )

    def places(self, which: str, side: int) -> Sealed[Numbers]:
        """How many callers live (or work) in each cell of a grid."""
        return Sealed(
            self._at(which, side),
            ONE,
            self.relation,
            because="a caller has one home and one place of work at most, found from that caller's own rows "
            "and public constants: one cell changes by one",
        )

    def _at(self, which: str, side: int) -> Numbers:
        places = self._callers.home if which == "home" else self._callers.work
        known = places[places[:, 0] >= 0]
        return np.bincount(cell_of(known[:, 0], known[:, 1], side), minlength=side * side)

    def squares(self, which: str, depth: int) -> Squares:
        """The whole box as one square, from which PrivTree grows; the smallest have this depth."""
        counts = [self._at(which, 1 << depth)]
        for level in range(depth, 0, -1):
            half = 1 << (level - 1)
            counts.append(counts[-1].reshape(half, 2, half, 2).sum(axis=(1, 3)).ravel())
        return Squares(counts[::-1], 0, np.zeros(1, dtype=np.int64))

    def _commuters(self, side: int) -> tuple[Numbers, Reals]:
        """Raw: the cell of the home of every caller with home and work, and miles between the two."""
        home, work = self._callers.home, self._callers.work
        known = (home[:, 0] >= 0) & (work[:, 0] >= 0)
        home, work = home[known], work[known]
        apart = self.region.miles(home[:, 0], home[:, 1], work[:, 0], work[:, 1])
        return cell_of(home[:, 0], home[:, 1], side), apart

    def commutes(self, side: int, edges: Reals) -> Sealed[Numbers]:
        """How many callers of each cell of a grid commute how far: a row for a cell, with bins of its own.

        `edges` has the same rows, ascending; what is further than the last edge is counted in the last bin.
        """
        cells, apart = self._commuters(side)
        inner = edges[:, 1:-1]
        bins = (apart[:, None] >= inner[cells]).sum(axis=1) if len(cells) else cells
        size = edges.shape[1] - 1
        counts = np.bincount(cells * size + bins, minlength=side * side * size)
        return Sealed(
            counts.reshape(side * side, size),
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
        cells, apart = self._commuters(side)
        steps = np.clip(np.floor(apart / least), 0, lattice - 1).astype(np.int64)
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
        days = self.region.days
        mean = self._callers.calls / days
        deviation = np.sqrt(np.maximum(self._callers.squares / days - mean**2, 0.0))
        cells = _nearest(mean, means) * len(deviations) + _nearest(deviation, deviations)
        counts = np.bincount(cells, minlength=len(means) * len(deviations))
        return Sealed(
            counts.reshape(len(means), len(deviations)),
            ONE,
            self.relation,
            because="a caller has one mean and one deviation over the public window, and is counted in one "
            "cell; one without calls is nowhere",
        )

    def _profiles(self) -> NDArray[np.int64]:
        """Raw: the shares of a caller's calls at each hour, in steps rounded down."""
        found: NDArray[np.int64] = self._callers.hours * PROFILE_STEPS // self._callers.calls[:, None]
        return found

    def _classes(self, profiles: NDArray[np.int64], centres: Reals) -> Numbers:
        """Raw: the centre nearest to every profile, the first of several."""
        if not len(profiles):
            return np.zeros(0, dtype=np.int64)
        far = [((profiles / PROFILE_STEPS - centre) ** 2).sum(axis=1) for centre in centres]
        return np.asarray(np.argmin(np.stack(far), axis=0), dtype=np.int64)

    def class_sizes(self, centres: Reals) -> Sealed[Numbers]:
        """How many callers are nearest to each centre."""
        return Sealed(
            np.bincount(self._classes(self._profiles(), centres), minlength=len(centres)),
            ONE,
            self.relation,
            because="a caller is nearest to one centre, the first of several; the centres are public by now",
        )

    def class_sums(self, centres: Reals) -> Sealed[Numbers]:
        """For every centre the sum of the profiles nearest to it, hour by hour, in steps."""
        return Sealed(
            self._sums(centres),
            Sensitivity.of(PROFILE_STEPS, monotone=True),
            self.relation,
            because="a caller is nearest to one centre and adds to its row the shares of own calls, which "
            "were rounded down to steps and are all steps there are at most",
        )

    def _sums(self, centres: Reals) -> NDArray[np.int64]:
        profiles = self._profiles()
        sums = np.zeros((len(centres), HOURS), dtype=np.int64)
        np.add.at(sums, self._classes(profiles, centres), profiles)
        return sums

    def around(self, centres: Reals, weight: int) -> Sealed[Numbers]:
        """Both at once: `weight` times the size of each class, then the sums of its profiles, row by row."""
        sizes = np.bincount(self._classes(self._profiles(), centres), minlength=len(centres))
        return Sealed(
            np.column_stack([weight * sizes, self._sums(centres)]),
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


class _Nobody:
    """No calls at all."""

    callers = Callers(
        np.zeros(0, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        np.zeros((0, HOURS), dtype=np.int64),
        np.zeros((0, 2), dtype=np.int64),
        np.zeros((0, 2), dtype=np.int64),
    )

    def hourly(self, groups: Groups, *, shared: bool) -> Numbers:
        return np.zeros((HOURS, groups.size), dtype=np.int64)


_NOBODY = _Nobody()


def _nearest(values: Reals, known: Sequence[float]) -> Numbers:
    """The place of the nearest of some ascending numbers; of two the smaller one."""
    middles = (np.asarray(known[1:], dtype=np.float64) + np.asarray(known[:-1], dtype=np.float64)) / 2
    return np.searchsorted(middles, values, side="left").astype(np.int64)
