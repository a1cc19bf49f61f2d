"""From noisy numbers of likely counters to a number of ids: maximum likelihood over all levels together.

Nothing here sees a counter: what is weighed was made private before, so all of it is free. The first level
that is not full could be read by itself, but then the noise that chooses the level is the noise that is read,
which biases the estimate and makes its bar too short. Here every level says how well each number of ids
explains it, a full one or an empty one hardly anything, and nothing is chosen.

What is taken for granted: ids meet counters at random, so that on a level which an id meets with chance q a
counter is empty with probability exp(-ids q / width), independently of the others. That counts a little more
chance than there is, as the number of all ids is fixed; hence bars are at least as wide as they must be.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import asinh, sqrt

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_POINTS = 801
_FAR = 12.0  # the search begins so many standard errors below nothing
_INSIDE = 4.487
"""Twice the fall of the log-likelihood up to the ends of a 95 % interval: (ln 20)^2 / 2.

So many standard deviations, squared, 95 of 100 Laplace errors stay within. For normal errors 3.841 would do;
those of an answer are of both sorts, and where they are large against what there is to tell, the square of a
normal error is too short.
"""
_AWAY = 30.0


@dataclass(frozen=True)
class Levels:
    """How levels of `width` counters look: an empty counter is likely with `stayed`, any other with `moved`.

    `chances` says how often an id meets each level, `scale` is that of the Laplace noise of a number, and
    `most` bounds the number of ids.
    """

    width: int
    chances: Numbers
    stayed: float
    moved: float
    scale: float
    most: int

    def explained(self, counts: Numbers, ids: Numbers) -> Numbers:
        """The log-likelihood of each number of ids, up to a constant; below nothing it goes on straight."""
        loads = ids[:, None] * self.chances / self.width
        empty = np.where(loads < 0, 1 - loads, np.exp(-np.maximum(loads, 0.0)))
        share = np.minimum(empty, 1.0)
        contrast = self.stayed - self.moved
        mean = self.width * (self.moved + contrast * empty)
        chance = share * self.stayed * (1 - self.stayed) + (1 - share) * self.moved * (1 - self.moved)
        variance = self.width * (chance + contrast**2 * share * (1 - share))
        told: Numbers = log_density(counts - mean, np.sqrt(variance), self.scale).sum(axis=1)
        return told

    def estimate(self, counts: Numbers) -> tuple[float, float, float]:
        """The number of ids that explains the counts best, and the ends of a 95 % interval around it."""
        noise = sqrt(self.width / 4 + 2 * self.scale**2)
        unit = max(1.0, noise / ((self.stayed - self.moved) * float(np.linalg.norm(self.chances))))
        ids = unit * np.sinh(np.linspace(-asinh(_FAR), asinh((self.most + 1) / unit), _POINTS))
        for depth in (_AWAY, _INSIDE):  # a coarse look, and a finer one around what it found
            inside, _ = self._inside(counts, ids, depth)
            ids = np.linspace(ids[max(inside[0] - 1, 0)], ids[min(inside[-1] + 1, _POINTS - 1)], _POINTS)
        inside, best = self._inside(counts, ids, _INSIDE)
        return min(float(ids[best]), float(self.most)), float(ids[inside[0]]), float(ids[inside[-1]])

    def _inside(self, counts: Numbers, ids: Numbers, depth: float) -> tuple[NDArray[np.intp], int]:
        """Which numbers of ids explain the counts almost as well as the best of them, and which that is."""
        told = self.explained(counts, ids)
        return np.flatnonzero(2 * (told.max() - told) <= depth), int(np.argmax(told))


def log_density(errors: Numbers, deviations: Numbers, scale: float) -> Numbers:
    """Of the sum of a normal and a Laplace error.

    >>> errors, flat = np.linspace(-40, 40, 8001), np.ones(8001)
    >>> round(float(np.exp(log_density(errors, flat, 2.0)).sum() * 0.01), 6)
    1.0
    """
    from scipy.special import log_ndtr

    ratio = deviations / scale
    normal = errors / deviations
    told: Numbers = (
        ratio**2 / 2
        - np.log(2 * scale)
        + np.logaddexp(
            log_ndtr(normal - ratio) - normal * ratio,
            log_ndtr(-normal - ratio) + normal * ratio,
        )
    )
    return told
