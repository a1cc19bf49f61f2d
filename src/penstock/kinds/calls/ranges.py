"""Daily ranges: how far apart the two most distant places of a caller's day are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.calls.region import Numbers, Reals, Region

MANY = 64
"""Of a day with more calls than this only the corners are compared: the farthest two are among them."""


def daily_ranges(caller: Numbers, day: Numbers, x: Reals, y: Reals, region: Region) -> Reals:
    """For every caller and day with a call, the largest distance between two of the day's places, in miles.

    Exact: of all pairs, for the few calls of a day; of all pairs of corners where there are many.
    """
    if not len(caller):
        return np.zeros(0)
    order = np.lexsort([day, caller])
    caller, day, x, y = caller[order], day[order], x[order], y[order]
    begins, sizes = _groups(caller, day)
    if sizes.max() > MANY:
        kept = np.ones(len(caller), dtype=np.bool_)
        for many in np.flatnonzero(sizes > MANY):
            rows = slice(int(begins[many]), int(begins[many] + sizes[many]))
            kept[rows] = _corners(np.column_stack([x[rows], y[rows]]))
        caller, day, x, y = caller[kept], day[kept], x[kept], y[kept]
        begins, sizes = _groups(caller, day)
    widest = np.zeros(len(begins))
    for step in range(1, int(sizes.max())):
        # the pair of each call with the one `step` places later on the same day
        left = np.maximum(sizes - step, 0)
        group = np.repeat(np.arange(len(begins)), left)
        first = begins[group] + np.arange(len(group)) - np.repeat(np.cumsum(left) - left, left)
        apart = region.miles(x[first], y[first], x[first + step], y[first + step])
        np.maximum.at(widest, group, apart)
    return widest


def _groups(caller: Numbers, day: Numbers) -> tuple[Numbers, Numbers]:
    """Where each day of a caller begins in rows that are sorted, and how many rows it has."""
    new = (caller[1:] != caller[:-1]) | (day[1:] != day[:-1])
    begins = np.flatnonzero(np.r_[True, new])
    return begins, np.diff(np.append(begins, len(caller)))


def _corners(places: Reals) -> NDArray[np.bool_]:
    """The corners of some places: the farthest two of them are corners, however the map is stretched."""
    from scipy.spatial import ConvexHull, QhullError

    distinct, first = np.unique(places, axis=0, return_index=True)
    chosen = first
    if len(distinct) > MANY:
        try:
            chosen = first[ConvexHull(distinct).vertices]
        except QhullError:  # all on one line: its ends
            middle = distinct - distinct.mean(axis=0)
            along = middle @ np.linalg.svd(middle, full_matrices=False)[2][0]
            chosen = first[[int(along.argmin()), int(along.argmax())]]
    kept = np.zeros(len(places), dtype=np.bool_)
    kept[chosen] = True
    return kept
