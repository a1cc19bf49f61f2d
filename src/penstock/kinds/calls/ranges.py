"""Daily ranges: how far apart the two most distant places of a caller's day are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.calls.region import Numbers, Reals, Region

_SLACK = 1e-9  # of what arithmetic may have rounded away


def daily_ranges(caller: Numbers, day: Numbers, x: Reals, y: Reals, region: Region) -> Reals:
    """For every caller and day with a call, the largest distance between two of the day's places, in miles.

    Exact, without looking at all pairs. Of each day two places that are far apart are found first. Two that
    are further apart do not both lie within half that distance of any point, so that one of them lies
    outside the circle over the first two: only such places, a few of a day, are compared with all others.
    """
    if not len(caller):
        return np.zeros(0)
    order = np.lexsort([y, x, day, caller])
    columns = (each[order] for each in (caller, day, x, y))
    again = np.logical_and.reduce([each[1:] == each[:-1] for each in columns])
    order = order[np.r_[True, ~again]]  # every place of a day once
    days = _Days(caller[order], day[order], x[order], y[order], region)
    middle = [np.add.reduceat(each, days.begins) / days.sizes for each in (days.x, days.y)]
    one, _ = days.farthest(*middle)
    two, known = days.farthest(days.x[one], days.y[one])
    between = (days.x[one] + days.x[two]) / 2, (days.y[one] + days.y[two]) / 2
    outside = days.off(*between) * 2 * (1 + _SLACK) >= known[days.group]
    return days.widest(outside, known)


class _Days:
    """The places of each day of a caller, one after the other."""

    def __init__(self, caller: Numbers, day: Numbers, x: Reals, y: Reals, region: Region) -> None:
        new = (caller[1:] != caller[:-1]) | (day[1:] != day[:-1])
        self.begins = np.flatnonzero(np.r_[True, new])
        self.sizes = np.diff(np.append(self.begins, len(caller)))
        self.group = np.repeat(np.arange(len(self.begins)), self.sizes)
        self.x, self.y, self.region = x, y, region

    def off(self, x: Reals, y: Reals) -> Reals:
        """How far every place is from a point of its day."""
        return self.region.miles(self.x, self.y, x[self.group], y[self.group])

    def farthest(self, x: Reals, y: Reals) -> tuple[Numbers, Reals]:
        """The place of each day that is farthest from a point of the day, and how far that is."""
        apart = self.off(x, y)
        most = np.maximum.reduceat(apart, self.begins)
        places = np.flatnonzero(apart == most[self.group])
        return places[np.searchsorted(places, self.begins)], most

    def widest(self, chosen: NDArray[np.bool_], known: Reals) -> Reals:
        """The largest distance of each day from one of the chosen places to any other, if it is above."""
        found, places = known.copy(), np.flatnonzero(chosen)
        many = np.bincount(self.group[places], minlength=len(self.begins))
        firsts = np.cumsum(many) - many
        for turn in range(int(many.max(initial=0))):
            # the next chosen place of each day that has one more, beside all places of that day
            some = np.flatnonzero(many > turn)
            place, sizes = places[firsts[some] + turn], self.sizes[some]
            starts = np.cumsum(sizes) - sizes
            rows = np.arange(int(sizes.sum())) + np.repeat(self.begins[some] - starts, sizes)
            here = np.repeat(place, sizes)
            apart = self.region.miles(self.x[rows], self.y[rows], self.x[here], self.y[here])
            found[some] = np.maximum(found[some], np.maximum.reduceat(apart, starts))
        return found
