"""Lloyd's algorithm on a synopsis, from many starts at once: post-processing, reads no records.

With weights below zero it need not settle: a cluster's centre may leap, and rounds may repeat each other. So
there is a cap, a repetition is noticed, rounds that do not make it better are counted, and what counts is the
best round on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.learn.clusters.synopsis import Cells

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]

CAP = 100
PATIENCE = 5
"""So many rounds may pass without a better one; with weights of zero and more every round is better."""
AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Found:
    """Centres, with the weight of each cluster and the weighted sum of squared distances to them."""

    centres: Reals
    weights: Reals
    error: float

    @property
    def sound(self) -> bool:
        """Whether every cluster has some weight and the error is one: noise can make them less than none."""
        return bool((self.weights > 0).all()) and self.error > 0

    @property
    def nicv(self) -> float:
        """The error for each unit of weight."""
        return self.error / float(self.weights.sum())

    @property
    def validity(self) -> float:
        """Ray and Turi's index: the error for each unit of weight over the least squared distance of centres.

        Infinite where noise made the clusters senseless, or where there is one only.
        """
        if len(self.centres) < 2 or not self.sound:
            return float("inf")
        apart = ((self.centres[:, None] - self.centres) ** 2).sum(axis=2)
        closest = float(apart[np.triu_indices(len(apart), 1)].min())
        return self.nicv / closest if closest > 0 else float("inf")


def cluster(cells: Cells, starts: Reals, cap: int = CAP) -> list[Found]:
    """What Lloyd's algorithm finds from every start, the least error first.

    Many cells are clustered in blocks from all starts, and the best result then goes on with all of them; the
    others follow as they were found on blocks.
    """
    blocks = cells.blocks()
    found = sorted(lloyd(blocks, starts, cap), key=lambda each: each.error)
    if blocks is cells:
        return found
    return [*lloyd(cells, found[0].centres[None], cap), *found[1:]]


def lloyd(cells: Cells, starts: Reals, cap: int = CAP) -> list[Found]:
    """The best round from every start: until a round repeats, too many were no better, or `cap` are made.

    Starts whose cells are assigned as they were from any start before go the same way from there on, and are
    not followed further.
    """
    centres, marks = starts.copy(), _marks(len(cells))
    best_centres, best_weights = starts.copy(), np.zeros(starts.shape[:2])
    best_errors, waited = np.full(len(starts), np.inf), np.zeros(len(starts), dtype=np.int64)
    seen, going = np.zeros(0, dtype=np.uint64), np.arange(len(starts))
    for number in range(cap + 1):
        found = measured(cells, centres[going])
        better = found.errors < best_errors[going]
        waited[going] = np.where(better, 0, waited[going] + 1)
        chosen = going[better]
        best_centres[chosen], best_weights[chosen] = centres[chosen], found.weights[better]
        best_errors[chosen] = found.errors[better]
        marked = (found.assigned.astype(np.uint64) + np.uint64(1)) @ marks
        _, first = np.unique(marked, return_index=True)
        kept = first[~np.isin(marked[first], seen) & (waited[going[first]] <= PATIENCE)]
        if number == cap or not len(kept):
            break
        seen, going = np.concatenate([seen, marked[kept]]), going[kept]
        centres[going] = moved(found.weights[kept], found.sums[kept], centres[going])
    best = zip(best_centres, best_weights, best_errors.tolist(), strict=True)
    return [Found(*each) for each in best]


def _marks(many: int) -> NDArray[np.uint64]:
    """Odd numbers by which assignments are told apart: two that differ hardly ever have the same sum."""
    drawn = np.random.default_rng(0).integers(1 << 63, size=many, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


class Measured(NamedTuple):
    """For many sets of centres: the nearest of every cell, the clusters' weights and sums, and the errors."""

    assigned: Numbers
    weights: Reals
    sums: Reals
    errors: Reals


def measured(cells: Cells, centres: Reals) -> Measured:
    """What there is around many sets of centres."""
    sets, k, dimensions = centres.shape
    assigned = np.empty((sets, len(cells)), dtype=np.int64)
    lengths = (centres**2).sum(axis=2).ravel()
    flat = 2 * centres.reshape(-1, dimensions).T
    step = max(1, AT_ONCE // (sets * k))
    for begin in range(0, len(cells), step):
        part = cells.places[begin : begin + step]
        apart = (lengths - part @ flat).reshape(len(part), sets, k)
        assigned[:, begin : begin + step] = np.argmin(apart, axis=2).T
    weights, sums = totals(cells, assigned, k)
    squares = float(cells.squares.sum())
    errors = squares + ((centres**2).sum(axis=2) * weights - 2 * (centres * sums).sum(axis=2)).sum(axis=1)
    return Measured(assigned, weights, sums, errors)


def totals(cells: Cells, assigned: Numbers, k: int) -> tuple[Reals, Reals]:
    """The weight and the weighted sum of places of every cluster, for many assignments."""
    sets, dimensions = len(assigned), cells.places.shape[1]
    keys = (assigned + k * np.arange(sets)[:, None]).ravel()

    def added(values: Reals) -> Reals:
        found = np.bincount(keys, weights=np.tile(values, sets), minlength=sets * k)
        return found.astype(np.float64, copy=False).reshape(sets, k)

    sums = np.stack([added(cells.sums[:, axis]) for axis in range(dimensions)], axis=2)
    return added(cells.weights), sums


def moved(weights: Reals, sums: Reals, centres: Reals) -> Reals:
    """Every centre moved to the weighted mean of its cells, within the cube; without weight it stays.

    >>> cells = Cells.of(np.array([[-0.75], [-0.25], [0.25], [0.75]]), np.array([5.0, -1.0, 2.0, 4.0]))
    >>> start = np.array([[[-0.5], [0.5]]])
    >>> around = measured(cells, start)
    >>> moved(around.weights, around.sums, start).round(6).tolist()
    [[[-0.875], [0.583333]]]
    """
    some = weights != 0
    means = sums / np.where(some, weights, 1.0)[:, :, None]
    return np.where(some[:, :, None], np.clip(means, -1.0, 1.0), centres)


def most_valid(candidates: Sequence[Sequence[Found]]) -> int | None:
    """Which number of clusters is best: the place of the results that hold the least validity; None without.

    For every number the least validity over all starts counts, which need not be that of the least error.
    """
    least = [min((each.validity for each in results), default=float("inf")) for results in candidates]
    place = int(np.argmin(least))
    return place if np.isfinite(least[place]) else None
