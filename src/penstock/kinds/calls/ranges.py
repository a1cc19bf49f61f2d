"""Daily ranges: how far apart the two most distant places of a caller's day are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.calls.region import Numbers, Reals, Region

MANY = 64
"""Of a day with more calls than this only the outermost are compared: the farthest two are among them."""
TRIED = 16


def daily_ranges(caller: Numbers, day: Numbers, x: Reals, y: Reals, region: Region) -> Reals:
    """For every caller and day with a call, the largest distance between two of the day's places, in miles.

    Exact: of all pairs, for the few calls of a day; of all pairs of outermost places where there are many.
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
            kept[rows] = _outermost(x[rows], y[rows], region)
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


def _outermost(x: Reals, y: Reals, region: Region) -> NDArray[np.bool_]:
    """Of equal places one, and only those that may be one of the farthest two.

    Two places are never further apart than both are from the middle, added up: what lies near the middle is
    nearer to all others than two that are known.
    """
    _, first = np.unique(x + 1j * y, return_index=True)
    x, y, kept = x[first], y[first], np.zeros(len(x), dtype=np.bool_)
    middle = region.miles(x, y, x.mean(), y.mean())
    far = np.argsort(middle)[-TRIED:]
    one, two = np.triu_indices(len(far), 1)
    known = region.miles(x[far[one]], y[far[one]], x[far[two]], y[far[two]]).max(initial=0.0)
    kept[first[(middle + middle.max()) * (1 + 1e-9) >= known]] = True
    return kept
