"""From noisy one-way counts to plausible shares: how much of what was counted is noise.

Where noise is small against the counts of a column, the nearest point of the simplex is a fine estimate of
its shares. Where it is not, that point is little but noise: a few codes that got lucky share everything.
What is known before anyone counts helps then. The counts of a column of k codes are taken to be Gamma
distributed around n / k with some shape: one of 0.03 says that one code has nearly all records, one of 15
that all have about the same. How common each shape is in this table is learned from all of its columns
(empirical Bayes), with the weight of `PATIENCE` columns on what is common in tables at large.

Given the noisy counts, each code then has a distribution of possible counts. Of all shares that add up to
one, those have the smallest expected distance from the truth that lie at one common quantile of these
distributions, for every code: as much mass is more likely to be above as below, at the same odds. The
result is halfway between these and the nearest point of the simplex, because the error of a mean of two
estimates is never above the mean of their errors: what the prior gets wrong of a column costs half.

Everything here is public: counts that were paid for, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln, logsumexp, ndtri

from penstock.postprocessing import onto_simplex

Reals = NDArray[np.float64]

SHAPES = np.array([0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 5.0, 15.0])
COMMON = np.array([0.15, 0.2, 0.2, 0.15, 0.12, 0.08, 0.06, 0.04])
"""How common the shapes are in tables at large."""

PATIENCE = 8.0
"""So many columns does what is common at large count for."""

_STEP = 0.5  # of the grid of possible counts, in scales of the noise
_REACH = 64.0  # noisy counts above are taken as they are, with noise on both sides
_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Noisy:
    """Counts of the codes of a column, adding up to the number of records, and their noise's deviation."""

    counts: Reals
    deviation: float
    gaussian: bool = False

    @property
    def scale(self) -> float:
        """Of Laplace noise with as much variance as is left once the counts add up to a known number."""
        return self.deviation * float(np.sqrt((1 - 1 / len(self.counts)) / 2))

    def misfit(self, distances: Reals) -> Reals:
        """Minus the logarithm of the noise's density at so many scales, less that at 0.

        Gaussian noise of the same variance has a deviation of sqrt(2) scales.
        """
        return np.asarray(distances**2 / 4 if self.gaussian else np.abs(distances))

    def quantile(self, level: float) -> float:
        """Of the noise, in scales."""
        if self.gaussian:
            return float(np.sqrt(2) * ndtri(np.clip(level, 1e-9, 1 - 1e-9)))
        return float(np.log(max(2 * min(level, 1 - level), 1e-12)) * np.sign(0.5 - level))

    @property
    def height(self) -> float:
        """One over the density of the noise where it is largest, in scales."""
        return float(np.sqrt(4 * np.pi)) if self.gaussian else 2.0


def plausible(columns: Sequence[Noisy], total: float) -> list[Reals]:
    """The shares of each column: non-negative, adding up to one.

    >>> counts = np.array([90.0, 10.0])
    >>> sure, unsure = plausible([Noisy(counts, 0.1), Noisy(counts, 300.0)], 100)
    >>> sure.round(2).tolist(), unsure.round(1).tolist()
    ([0.9, 0.1], [0.7, 0.3])
    """
    nearest = [onto_simplex(each.counts, total) / total for each in columns]
    doubtful = [
        number for number, each in enumerate(columns) if len(each.counts) > 1 and each.scale * _STEP > 1e-9
    ]
    if not doubtful:
        return nearest
    posteriors = [_Posterior(columns[number], total) for number in doubtful]
    likely = np.array([each.evidence for each in posteriors])
    weights = COMMON
    for _ in range(_ROUNDS):  # expectation and maximisation: how common each shape is here
        logs = likely + np.log(weights)
        own = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        weights = (own.sum(axis=0) + PATIENCE * COMMON) / (len(own) + PATIENCE)
    shares = list(nearest)
    for number, posterior, mixed in zip(doubtful, posteriors, own, strict=True):
        shares[number] = (posterior.level(mixed) + nearest[number]) / 2
    return shares


class _Posterior:
    """What the counts of a column may have been, for each shape.

    Small counts are looked at on a grid whose step is half a scale of the noise. For counts far above the
    noise the prior is flat, and the posterior is the noise itself. A shape below 1 / k would let one of k
    codes have more than all records, and is taken as 1 / k.
    """

    def __init__(self, column: Noisy, total: float) -> None:
        self.counts, self.scale, self.total = column.counts, column.scale, total
        self.small = self.counts < _REACH * self.scale
        mean = total / len(self.counts)
        shapes = np.maximum(SHAPES, 1 / len(self.counts))
        self.edges = self.scale * np.arange(0, 1.5 * _REACH + _STEP, _STEP)
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        below = gammainc(shapes[:, None], shapes[:, None] * self.edges / mean)
        self.prior = np.diff(below, axis=1) + 1e-300
        self.column = column
        distance = column.misfit((self.counts[self.small, None] - middles) / self.scale)
        nearest = distance.min(axis=1, initial=np.inf, keepdims=True)
        self.fit = np.exp(nearest - distance)
        self.mass = self.fit @ self.prior.T
        large = self.counts[~self.small, None] / mean
        density = shapes * np.log(shapes) - gammaln(shapes) + (shapes - 1) * np.log(large) - shapes * large
        self.evidence = (np.log(self.mass) - nearest).sum(axis=0) + (
            density + np.log(column.height * self.scale / mean)
        ).sum(axis=0)

    def level(self, shapes: Reals) -> Reals:
        """The shares at the common quantile at which they add up to one, for shapes as likely as these."""
        chances = self.fit * ((shapes / self.mass) @ self.prior)
        below = np.concatenate([np.zeros((len(chances), 1)), np.cumsum(chances, axis=1)], axis=1)
        below /= below[:, -1:]
        low, high = 0.0, 1.0
        for _ in range(40):
            level = (low + high) / 2
            counts = self._at(level, below)
            low, high = (level, high) if counts.sum() < self.total else (low, level)
        mass = counts.sum()
        return counts / mass if mass > 0 else np.full(len(counts), 1 / len(counts))

    def _at(self, level: float, below: Reals) -> Reals:
        found = np.empty(len(self.counts))
        found[~self.small] = self.counts[~self.small] + self.scale * self.column.quantile(level)
        place = np.minimum((below < level).sum(axis=1), below.shape[1] - 1)
        rows = np.arange(len(below))
        left, right = below[rows, np.maximum(place - 1, 0)], below[rows, place]
        inside = np.divide(level - left, right - left, out=np.ones(len(below)), where=right > left)
        found[self.small] = self.edges[np.maximum(place - 1, 0)] + np.clip(inside, 0, 1) * (
            self.edges[place] - self.edges[np.maximum(place - 1, 0)]
        )
        return np.maximum(found, 0.0)
