"""Synthetic callers and their calls, drawn from the six distributions in the order that WHERE draws them.

A caller's home comes first, then a distance, then a place of work among the cells at that distance; then how
many calls a day, and the class that says when. Each call is made at home or at work, as the hour's calls are
shared between the two. All of it is post-processing of public tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.calls.region import STEPS, Numbers, Reals, Region, coarser
from penstock.kinds.calls.tables import CLASSES, Tables

LARGEST_SIDE = 64
"""Places of work are looked for on a grid of at most so many cells each way, and inside a cell by its own
shares."""
FURTHEST_MILES = 200.0
"""A tolerance is doubled up to this distance; whoever finds no work by then works at home."""
CHUNK = 256
CALLERS_AT_ONCE = 4096
_NARROWEST = 0.05
_HALVINGS = 50
_erfc = np.vectorize(erfc, otypes=[np.float64])


@dataclass(frozen=True, eq=False)
class People:
    """Synthetic callers: cells of home and work, places inside, calls a day, and the class."""

    home: Numbers
    work: Numbers
    home_place: Reals
    work_place: Reals
    mean: Reals
    deviation: Reals
    kind: Numbers

    def __len__(self) -> int:
        return len(self.home)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Synthetic calls: whose, on which day, at which second of it, at home or not, and where."""

    caller: Numbers
    day: Numbers
    second: Numbers
    at_home: NDArray[np.bool_]
    x: Reals
    y: Reals


def _draw(shares: Reals, size: int, rng: np.random.Generator) -> Numbers:
    """Places drawn with these probabilities."""
    rungs = np.cumsum(shares)
    found = np.searchsorted(rungs, rng.random(size) * rungs[-1], side="right")
    return np.asarray(np.minimum(found, len(shares) - 1), dtype=np.int64)


def _inside(cells: Numbers, side: int, rng: np.random.Generator) -> Reals:
    """A place of the lattice, evenly inside each cell: x and y."""
    width = STEPS / side
    across = (cells % side + rng.random(len(cells))) * width
    up = (cells // side + rng.random(len(cells))) * width
    return np.column_stack([across, up])


def population(tables: Tables, region: Region, size: int, rng: np.random.Generator) -> People:
    """So many synthetic callers."""
    home = _draw(tables.home, size, rng)
    distance = _distances(tables, home, rng)
    work = _workplaces(tables, region, home, distance, rng)
    pair = _draw(tables.per_day.ravel(), size, rng)
    many = len(tables.deviations)
    return People(
        home,
        work,
        _inside(home, tables.side, rng),
        _inside(work, tables.side, rng),
        np.asarray(tables.means, dtype=np.float64)[pair // many],
        np.asarray(tables.deviations, dtype=np.float64)[pair % many],
        _draw(tables.classes, size, rng),
    )


def _distances(tables: Tables, home: Numbers, rng: np.random.Generator) -> Reals:
    """How far everybody goes to work: a bin of the row of their home, and a distance evenly inside it."""
    area = coarser(home, tables.side, tables.commute_side)
    rungs = np.cumsum(tables.commute, axis=1)[area]
    aim = rng.random(len(home)) * rungs[:, -1]
    bins = np.minimum((rungs <= aim[:, None]).sum(axis=1), tables.commute.shape[1] - 1)
    low, high = tables.edges[area, bins], tables.edges[area, bins + 1]
    return np.asarray(low + (high - low) * rng.random(len(home)), dtype=np.float64)


def _workplaces(
    tables: Tables, region: Region, home: Numbers, distance: Reals, rng: np.random.Generator
) -> Numbers:
    """A cell of work for everybody, by the shares of work among the cells about that far from home."""
    side = min(tables.side, LARGEST_SIDE)
    worked = np.flatnonzero(tables.work > 0)  # of millions of cells that may be few
    coarse = coarser(worked, tables.side, side)
    shares = np.bincount(coarse, weights=tables.work[worked], minlength=side * side)
    taken = np.flatnonzero(shares > 0)
    wide, high = region.cell_size(side)
    apart = np.arange(1 - side, side)
    # the distances of all cells from one of them lie in a square of this table, which begins `first` before
    table = np.hypot(apart * wide, (apart * high)[:, None]).ravel()
    across = len(apart)
    first, places = (side - 1) * (across + 1), taken // side * across + taken % side
    start = coarser(home, tables.side, side)
    begins = first - (start // side * across + start % side)
    found = np.full(len(home), -1, dtype=np.int64)
    left = np.arange(len(home))
    tolerance = float(np.hypot(wide, high)) / 2
    while left.size and tolerance <= max(FURTHEST_MILES, 2 * float(np.hypot(wide, high))):
        for begin in range(0, left.size, CHUNK):
            some = left[begin : begin + CHUNK]
            off = table[begins[some, None] + places]
            off -= distance[some, None]
            row, cell = np.nonzero(np.abs(off, out=off) <= tolerance)
            rungs = np.append(0.0, np.cumsum(shares[taken[cell]]))
            ends = np.searchsorted(row, np.arange(len(some) + 1))
            low, top = rungs[ends[:-1]], rungs[ends[1:]]
            aim = low + rng.random(len(some)) * (top - low)
            place = np.clip(np.searchsorted(rungs, aim, side="right") - 1, ends[:-1], ends[1:] - 1)
            found[some] = np.where(ends[1:] > ends[:-1], np.append(taken[cell], -1)[place], -1)
        left = left[found[left] < 0]
        tolerance *= 2
    at_home = found < 0
    if side == tables.side:
        return np.where(at_home, home, found)
    return np.where(at_home, home, _finer(tables.work, worked, coarse, np.maximum(found, 0), rng))


def _finer(
    work: Reals, worked: Numbers, coarse: Numbers, chosen: Numbers, rng: np.random.Generator
) -> Numbers:
    """A cell where somebody works inside each chosen one of the coarser grid, by its share of work."""
    order = np.argsort(coarse, kind="stable")
    rungs = np.cumsum(work[worked[order]])
    ends = np.searchsorted(coarse[order], np.arange(max(int(coarse.max()), int(chosen.max())) + 2))
    low = np.where(ends[chosen] > 0, rungs[ends[chosen] - 1], 0.0)
    high = rungs[ends[chosen + 1] - 1]
    place = np.searchsorted(rungs, low + (high - low) * rng.random(len(chosen)), side="right")
    return worked[order[np.clip(place, ends[chosen], ends[chosen + 1] - 1)]]


def at_home(tables: Tables, people: People, hour: NDArray[np.int64] | int) -> Reals:
    """The probability that a call is made at home, for every caller at an hour (or an hour of each)."""
    return _chance(tables, tables.groups.of_cell(people.home), tables.groups.of_cell(people.work), hour)


def _chance(tables: Tables, home: Numbers, work: Numbers, hour: NDArray[np.int64] | int) -> Reals:
    """The part of home in what home and work have of an hour's calls; a half where they have none."""
    there, elsewhere = tables.density[hour, home], tables.density[hour, work]
    both = there + elsewhere
    return np.where(both > 0, there / np.where(both > 0, both, 1.0), 0.5)


def calls_of(tables: Tables, people: People, days: int, rng: np.random.Generator) -> Drawn:
    """All calls of some callers on so many days, caller by caller and in the order of time."""
    centre, spread = (each[:, None] for each in _normal(people.mean, people.deviation))
    number = np.rint(rng.normal(centre, spread, (len(people), days)))
    number = np.maximum(number, 0).astype(np.int64)
    slots = np.repeat(np.arange(len(people) * days), number.ravel())
    caller, day = slots // days, slots % days
    minute = np.zeros(len(slots), dtype=np.int64)
    for kind in range(CLASSES):
        theirs = people.kind[caller] == kind
        minute[theirs] = _draw(tables.minutes[kind], int(theirs.sum()), rng)
    second = minute * 60 + rng.integers(0, 60, len(slots))
    order = np.lexsort([second, day, caller])
    caller, day, second = caller[order], day[order], second[order]
    homes, works = tables.groups.of_cell(people.home), tables.groups.of_cell(people.work)
    home = rng.random(len(slots)) < _chance(tables, homes[caller], works[caller], second // 3600)
    place = _inside(np.where(home, people.home[caller], people.work[caller]), tables.side, rng)
    return Drawn(caller, day, second, home, place[:, 0], place[:, 1])


def _normal(mean: Reals, deviation: Reals) -> tuple[Reals, Reals]:
    """The normal law that is rounded and cut off at 0 to get the calls of a day: its mean and deviation.

    They are those that were counted, as WHERE has it. But whoever calls less than once a day would hardly
    ever be drawn a call that way: there the law is moved so that what is left of it has the mean that was
    counted.
    """
    seldom = (mean > 0) & (mean < 1)
    centre, spread = mean.copy(), deviation.copy()
    if not seldom.any():
        return centre, spread
    pairs, which = np.unique(np.column_stack([mean, deviation])[seldom], axis=0, return_inverse=True)
    wide = np.maximum(pairs[:, 1], _NARROWEST)
    low, high = 0.5 - 40 * wide, np.full(len(pairs), 2.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reach = np.arange(2 + int(np.ceil(2.0 + 8 * wide.max()))) + 0.5
        drawn = (_erfc((reach - middle[:, None]) / wide[:, None] / sqrt(2)) / 2).sum(axis=1)
        low, high = np.where(drawn < pairs[:, 0], middle, low), np.where(drawn < pairs[:, 0], high, middle)
    centre[seldom], spread[seldom] = ((low + high) / 2)[which.ravel()], wide[which.ravel()]
    return centre, spread


def drawn_in_pieces(
    tables: Tables, region: Region, size: int, days: int, rng: np.random.Generator
) -> Iterator[tuple[int, People, Drawn]]:
    """Callers and their calls, some thousand callers at a time: the number of the first of them, too."""
    for begin in range(0, size, CALLERS_AT_ONCE):
        people = population(tables, region, min(CALLERS_AT_ONCE, size - begin), rng)
        yield begin, people, calls_of(tables, people, days, rng)
