"""What is known of every caller, and of all calls by the hour: raw, below the seal.

A caller is a few whole numbers: calls in all, the sum of the squares of the calls of each day, calls at each
hour of the day, home and work. Each of them follows from the caller's own rows and public constants, so that
one more caller changes nothing about another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from penstock.engine.expressions import added
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import HOURS, STEPS, Groups, Numbers, Reals, Region, cell_of

RULE_SIDE = 1024
"""The grid of the cells that are compared to find a caller's home and work: so many cells each way."""
RULE_CELLS = RULE_SIDE**2
NIGHT = (19, 7)
AFTERNOON = (13, 17)
WEEKDAYS = 5
SHARE = 1 << 24
"""The steps that a caller divides among the calls, where every caller counts the same."""
PACKED = STEPS
"""Two steps of the lattice in one number: x times this, and y."""


PROFILE_STEPS = 1 << 20
"""The lattice of shares: what a caller's calls at an hour are of all own calls, in steps, rounded down."""


class People(Protocol):
    """Callers that can be counted: in memory, or where they are. Raw."""

    @property
    def size(self) -> int:
        """How many callers are kept."""

    def places(self, which: str, side: int) -> Numbers:
        """How many live (or work) in each cell of a grid."""

    def commutes(self, side: int, edges: Reals) -> Numbers:
        """How many who live in each cell of a grid commute how far: a row for a cell, with its own edges.

        What is further than the last edge is in the last bin.
        """

    def distances(self, side: int, least: float, lattice: int) -> tuple[Numbers, Numbers, Numbers]:
        """Cells of a grid, steps of `least` miles up to the last of a lattice, and how many who live there
        commute so far; cells and steps may be there more than once."""

    def per_day(self, means: Sequence[float], deviations: Sequence[float]) -> Numbers:
        """How many have each pair of mean and deviation of calls a day, rounded to these: a row for each
        mean."""

    def around(self, centres: Reals) -> tuple[Numbers, Numbers]:
        """How many profiles are nearest to each centre, the first of several, and their sums by the hour."""


@dataclass(frozen=True, eq=False)
class Callers:
    """Raw: one row for every caller that is kept. Places are steps of the lattice, -1 where none is known."""

    region: Region
    calls: Numbers
    squares: Numbers
    hours: Numbers
    home: Numbers
    work: Numbers

    @property
    def size(self) -> int:
        return len(self.calls)

    @classmethod
    def of(cls, frame: pl.DataFrame, region: Region, *, ruled: frozenset[str]) -> Callers:
        """From the columns calls, squares, h0 to h23, home and work: what the rule says best, or packed."""
        hours = np.column_stack([_whole(frame[f"h{hour}"]) for hour in range(HOURS)])
        home, work = (
            np.column_stack(_known(_whole(frame[name]), by_rule if name in ruled else unpacked))
            for name in ("home", "work")
        )
        return cls(region, _whole(frame["calls"]), _whole(frame["squares"]), hours, home, work)

    def places(self, which: str, side: int) -> Numbers:
        places = self.home if which == "home" else self.work
        known = places[places[:, 0] >= 0]
        return np.bincount(cell_of(known[:, 0], known[:, 1], side), minlength=side * side)

    def _commuters(self, side: int) -> tuple[Numbers, Reals]:
        """The cell of the home of everybody with home and work, and miles between the two."""
        known = (self.home[:, 0] >= 0) & (self.work[:, 0] >= 0)
        home, work = self.home[known], self.work[known]
        apart = self.region.miles(home[:, 0], home[:, 1], work[:, 0], work[:, 1])
        return cell_of(home[:, 0], home[:, 1], side), apart

    def commutes(self, side: int, edges: Reals) -> Numbers:
        cells, apart = self._commuters(side)
        size = edges.shape[1] - 1
        counts = np.bincount(cells * size + bins_of(apart, edges[cells]), minlength=side * side * size)
        return counts.reshape(side * side, size)

    def distances(self, side: int, least: float, lattice: int) -> tuple[Numbers, Numbers, Numbers]:
        cells, apart = self._commuters(side)
        return cells, steps_of(apart, least, lattice), np.ones(len(cells), dtype=np.int64)

    def per_day(self, means: Sequence[float], deviations: Sequence[float]) -> Numbers:
        days = self.region.days
        mean = self.calls / days
        deviation = np.sqrt(np.maximum(self.squares / days - mean * mean, 0.0))
        rows, columns = (
            np.searchsorted(middles(known), values, side="left")
            for values, known in ((mean, means), (deviation, deviations))
        )
        shape = len(means), len(deviations)
        return np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)

    def around(self, centres: Reals) -> tuple[Numbers, Numbers]:
        profiles = self.hours * PROFILE_STEPS // self.calls[:, None]
        columns = (profiles / PROFILE_STEPS).T
        classes = np.argmin(np.stack([far(list(columns), centre) for centre in centres]), axis=0)
        sums = np.zeros((len(centres), HOURS), dtype=np.int64)
        np.add.at(sums, classes, profiles)
        return np.bincount(classes, minlength=len(centres)), sums


class Counted(Protocol):
    """Calls that were read: what is known of the callers, and all calls by the hour."""

    @property
    def callers(self) -> People: ...

    def hourly(self, groups: Groups, *, shared: bool) -> Numbers:
        """Raw: for every hour of the day and every group the calls there, or the steps that callers give."""


def far(profile: Sequence[Any], centre: Iterable[Any]) -> Any:
    """The square of how far a profile is from a centre, in columns of arrays or of a database.

    Sums of real numbers depend on their order. This one is fixed, so that nobody is nearer to another centre
    elsewhere.
    """
    squares = [(share - at) * (share - at) for share, at in zip(profile, centre, strict=True)]
    return added([squares[hour] + squares[hour + 8] + squares[hour + 16] for hour in range(HOURS // 3)])


def middles(known: Sequence[float]) -> Reals:
    """Half way between some ascending numbers: a value is rounded up beyond it."""
    numbers = np.asarray(known, dtype=np.float64)
    return np.asarray((numbers[1:] + numbers[:-1]) / 2, dtype=np.float64)


def bins_of(apart: Reals, edges: Reals) -> Numbers:
    """The bin of each distance between the edges of its own row."""
    return np.asarray((apart[:, None] >= edges[:, 1:-1]).sum(axis=1), dtype=np.int64)


def steps_of(apart: Reals, least: float, lattice: int) -> Numbers:
    """Distances in whole steps of so many miles, from 0 to the last of the lattice."""
    return np.clip(np.floor(apart / least), 0, lattice - 1).astype(np.int64)


def _whole(column: pl.Series) -> Numbers:
    return column.cast(pl.Int64).fill_null(-1).to_numpy()


def _known(told: Numbers, place: Callable[[Numbers], tuple[Numbers, Numbers]]) -> list[Numbers]:
    """Steps of the lattice from what is told of places, -1 where nothing is."""
    return [np.where(told >= 0, steps, -1) for steps in place(told)]


def unpacked(packed: Any) -> tuple[Any, Any]:
    """The two steps of the lattice in one number."""
    return packed // PACKED, packed % PACKED


def by_rule(best: Any) -> tuple[Any, Any]:
    """The middle of the cell that won: the most frequent one, of several the first."""
    cells = RULE_CELLS - 1 - best % RULE_CELLS
    width = STEPS // RULE_SIDE
    return cells % RULE_SIDE * width + width // 2, cells // RULE_SIDE * width + width // 2


def rule_score(number: Any, cell: Any) -> Any:
    """What the most frequent cell of a caller has most of; of several the first wins."""
    return number * RULE_CELLS + (RULE_CELLS - 1 - cell)


def at_night(hour: Any) -> Any:
    """Whether calls at this hour speak of a home."""
    return (hour >= NIGHT[0]) | (hour < NIGHT[1])


def at_work(day: Any, hour: Any, region: Region) -> Any:
    """Whether calls at this hour of this day speak of a place of work."""
    weekday = (day + region.first_weekday) % 7 < WEEKDAYS
    return weekday & (hour >= AFTERNOON[0]) & (hour < AFTERNOON[1])


def ruled(layout: CallsLayout) -> frozenset[str]:
    """Which of home and work follow from a caller's calls, because no columns say them."""
    return frozenset({"home", "work"} - set(layout.places))


def spread(found: pl.DataFrame, groups: Groups) -> Numbers:
    """Grouped numbers as a table: a row for every hour, a column for every group."""
    table = np.zeros((HOURS, groups.size), dtype=np.int64)
    at = found["hour"].cast(pl.Int64).to_numpy(), found["group"].cast(pl.Int64).to_numpy()
    table[at] = found["total"].cast(pl.Int64).to_numpy()
    return table
