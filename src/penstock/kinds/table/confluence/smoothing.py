"""Noisy counts along an ordered attribute: neighbours vouch for each other.

Grades, ages and bins of a number rarely jump at every code. The counts are taken to be constant over runs of
neighbouring codes; where the runs begin is not known. With noise of deviation s, a run is likely by
exp(-(sum of squares around its mean) / 2 s²), and each run more is taken to be e times less likely. The
result is the mean over all ways to cut the codes into runs, each by how likely it is: where noise is large,
few runs remain and most of it averages out; a spike that stands out from the noise is a run by itself;
without noise every code is.

Everything here is public: counts that were paid for, and no others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

MOST = 512
"""Attributes of more codes are left as they are."""

FEWEST = 4
"""And those of fewer."""

_RUN = 1.0  # minus the logarithm of how likely one run more is


def smoothed(counts: Reals, deviation: float) -> tuple[Reals, float]:
    """The counts, and about the deviation that is left.

    >>> flat, left = smoothed(np.array([90.0, 110, 95, 105]), 50.0)
    >>> flat.round().tolist(), left < 35
    ([97.0, 101.0, 100.0, 102.0], True)
    >>> smoothed(np.array([90.0, 110, 95, 105]), 0.1)[0].round().tolist()
    [90.0, 110.0, 95.0, 105.0]
    """
    codes = len(counts)
    if not FEWEST <= codes <= MOST or deviation < 1e-9:
        return counts, deviation
    centre = counts.mean()
    away = counts - centre
    sums, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (away, away**2))
    first, end = np.triu_indices(codes + 1, 1)
    length = end - first
    means = np.zeros((codes + 1, codes + 1))
    means[first, end] = (sums[end] - sums[first]) / length
    misfit = np.maximum(squares[end] - squares[first] - length * means[first, end] ** 2, 0.0)
    misfit[length == 1] = 0.0
    likely = np.full_like(means, -np.inf)
    likely[first, end] = -misfit / (2 * deviation**2) - _RUN
    before, after = np.full(codes + 1, -np.inf), np.full(codes + 1, -np.inf)
    before[0] = after[codes] = 0.0
    for place in range(1, codes + 1):  # all ways to cut the codes before a place
        before[place] = np.logaddexp.reduce(before[:place] + likely[:place, place])
    for place in range(codes - 1, -1, -1):  # and those after it
        after[place] = np.logaddexp.reduce(after[place + 1 :] + likely[place, place + 1 :])
    chance = np.exp(before[:, None] + likely + after[None, :] - before[codes])
    found = chance * means
    # a code is in the runs that begin at it or before it, and not in those that end there
    inside = np.cumsum(found.sum(axis=1))[:codes] - np.cumsum(found.sum(axis=0))[:codes]
    return inside + centre, deviation * float(np.sqrt(min(1.0, chance.sum() / codes)))
