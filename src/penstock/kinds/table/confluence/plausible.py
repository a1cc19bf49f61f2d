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
estimates is never above the mean of their errors: what the prior gets wrong of a column costs half. Where
noise alone would make a mean distance of more than one, nothing is left of a column in that nearest point
unless a few of its codes have nearly everything: it gets the less weight the more noise there is, but for the
chance that this is such a column.

Everything here is public: counts that were paid for, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.postprocessing import onto_simplex

Reals = NDArray[np.float64]

SHAPES = np.array([0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 5.0, 15.0])
COMMON = np.array([0.15, 0.2, 0.2, 0.15, 0.12, 0.08, 0.06, 0.04])
"""How common the shapes are in tables at large."""

PATIENCE = 8.0
"""So many columns does what is common at large count for."""

STEEP = 3
"""So many of the shapes, the first ones, have a few codes that stand out of noise which buries all others."""

_STEP = 0.5  # of the grid of possible counts, in scales of the noise
_REACH = 64.0  # noisy counts above are taken as they are, with noise on both sides
_ROUNDS = 30
_HALVINGS = 40


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

    @property
    def height(self) -> float:
        """One over the density of the noise where it is largest, in scales."""
        return float(np.sqrt(4 * np.pi)) if self.gaussian else 2.0


def plausible(columns: Sequence[Noisy], total: float) -> list[Reals]:
    """The shares of each column: non-negative, adding up to one.

    >>> counts = np.array([90.0, 10.0])
    >>> sure, unsure = plausible([Noisy(counts, 0.1), Noisy(counts, 300.0)], 100)
    >>> sure.round(2).tolist(), unsure.round(2).tolist()
    ([0.9, 0.1], [0.67, 0.33])
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
        own = np.exp(logs - logs.max(axis=1, keepdims=True))
        own /= own.sum(axis=1, keepdims=True)
        weights = (own.sum(axis=0) + PATIENCE * COMMON) / (len(own) + PATIENCE)
    shares = list(nearest)
    for number, level, mine in zip(doubtful, _levelled(posteriors, own, total), own, strict=True):
        weight = _weight(columns[number], total, float(mine[:STEEP].sum()))
        shares[number] = (1 - weight) * level + weight * nearest[number]
    return shares


def _weight(column: Noisy, total: float, steep: float) -> float:
    """Of the nearest point of the simplex; `steep` is how likely a few codes of the column stand out.

    >>> [round(_weight(Noisy(np.zeros(8), deviation), 100, 0.5), 3) for deviation in (1.0, 70.0)]
    [0.5, 0.323]
    """
    noisy = len(column.counts) * column.scale / (2 * total)  # the mean distance that noise alone would make
    return (steep + (1 - steep) / max(1.0, noisy) ** 2) / 2


class _Posterior:
    """What the counts of a column may have been, for each shape.

    Small counts are looked at on a grid whose step is half a scale of the noise. For counts far above the
    noise the prior is flat, and the posterior is the noise itself. A shape below 1 / k would let one of k
    codes have more than all records, and is taken as 1 / k.
    """

    def __init__(self, column: Noisy, total: float) -> None:
        from scipy.special import gammainc, gammaln

        self.counts, self.scale = column.counts, column.scale
        self.small = self.counts < _REACH * self.scale
        mean = total / len(self.counts)
        shapes = np.maximum(SHAPES, 1 / len(self.counts))
        edges = self.scale * np.arange(0, 1.5 * _REACH + _STEP, _STEP)
        middles = (edges[1:] + edges[:-1]) / 2
        below = gammainc(shapes[:, None], shapes[:, None] * edges / mean)
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

    def below(self, shapes: Reals) -> Reals:
        """How likely each small count is below each edge, for shapes as likely as these."""
        chances = self.fit * ((shapes / self.mass) @ self.prior)
        sums = np.concatenate([np.zeros((len(chances), 1)), np.cumsum(chances, axis=1)], axis=1)
        return np.asarray(sums / sums[:, -1:])


def _levelled(posteriors: Sequence[_Posterior], shapes: Reals, total: float) -> list[Reals]:
    """For each column the shares at the common quantile at which they add up to one; all columns at once."""
    below = np.concatenate([each.below(own) for each, own in zip(posteriors, shapes, strict=True)])
    small = np.concatenate([each.small for each in posteriors])
    column = np.repeat(np.arange(len(posteriors)), [len(each.counts) for each in posteriors])
    scales = np.array([each.scale for each in posteriors])
    gaussian = np.array([each.column.gaussian for each in posteriors])
    found = np.concatenate([each.counts for each in posteriors])
    large = found[~small]
    steps, rows = np.arange(below.shape[1]) * _STEP, np.arange(len(below))
    low, high = np.zeros(len(posteriors)), np.ones(len(posteriors))
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        wanted = level[column[small]]
        place = np.minimum((below < wanted[:, None]).sum(axis=1), below.shape[1] - 1)
        before = np.maximum(place - 1, 0)
        left, right = below[rows, before], below[rows, place]
        inside = np.divide(wanted - left, right - left, out=np.ones(len(below)), where=right > left)
        reached = steps[before] + np.clip(inside, 0, 1) * (steps[place] - steps[before])
        found[small] = scales[column[small]] * reached
        found[~small] = large + (scales * _quantile(level, gaussian))[column[~small]]
        np.maximum(found, 0.0, out=found)
        mass = np.bincount(column, found, len(posteriors))
        low, high = np.where(mass < total, level, low), np.where(mass < total, high, level)
    ends = np.cumsum([len(each.counts) for each in posteriors])[:-1]
    return [
        counts / whole if whole > 0 else np.full(len(counts), 1 / len(counts))
        for counts, whole in zip(np.split(found, ends), mass, strict=True)
    ]


def _quantile(level: Reals, gaussian: NDArray[np.bool_]) -> Reals:
    """Of the noise of each column, in scales."""
    from scipy.special import ndtri

    normal = np.sqrt(2) * ndtri(np.clip(level, 1e-9, 1 - 1e-9))
    laplace = np.log(np.maximum(2 * np.minimum(level, 1 - level), 1e-12)) * np.sign(0.5 - level)
    return np.asarray(np.where(gaussian, normal, laplace))
