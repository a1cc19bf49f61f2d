"""Whole sets that have given supports, as nearly as any sets can: post-processing, reads no records.

Any number of any sets may be taken, so that the nearest supports, by least squares, are a point of a cone
with a ray for every set over the items. It is approached as columns are generated for a linear program:
weights are found for the sets at hand, then sets are looked for that would bring the supports nearer (those
for which what the supports lack adds up to more than nothing), until none is found or nothing is lacking.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.itemsets.mining import ItemSet
from penstock.kinds.itemsets.weighted import Numbers, WeightedSets

ROUNDS = 20
MOST_ROWS_IN_ALL = 4000
"""Rounds are fewer where there are many supports, so that all of them together solve no more rows."""
STARTS = 150
"""So many sets are changed item by item in one round, as long as that helps."""
NEW = 60
ENOUGH = 0.5

Reals = NDArray[np.float64]
Bits = NDArray[np.bool_]


def fitting(
    chosen: Sequence[ItemSet],
    supports: NDArray[np.integer],
    number: int,
    surer: float = 1.0,
    largest: int | None = None,
) -> tuple[WeightedSets, int]:
    """Sets whose supports are near to these and whose number is near to `number`, and how many are empty.

    `surer` is how many times as narrow the noise of the number is, compared with that of a support. No set
    has more than `largest` items, where the schema says that.

    >>> found, empty = fitting([(0,), (1,), (0, 1)], np.array([90, 50, 40]), 120)
    >>> found.supports(2).tolist(), found.support((0, 1)), found.total, empty
    ([90, 50], 40, 100, 20)
    """
    items = sorted({item for one in chosen for item in one})
    has = np.array([[item in one for item in items] for one in map(set, chosen)], dtype=np.bool_)
    wanted = np.append(np.clip(supports, 0, max(0, number)), max(0, number)).astype(np.float64)
    scales = np.append(np.ones(len(chosen)), max(1.0, surer))
    most = len(items) if largest is None else largest
    kinds = _of_size(np.unique(np.vstack([np.zeros((1, len(items)), dtype=np.bool_), has]), axis=0), most)
    rounds = max(2, min(ROUNDS, MOST_ROWS_IN_ALL // max(1, len(chosen))))
    for turn in range(rounds):
        weights = _weights(_held(kinds, has), wanted, scales)
        kinds, weights = kinds[weights > 0], weights[weights > 0]
        lacking = wanted - _held(kinds, has) @ weights
        if turn == rounds - 1 or np.abs(lacking).max() <= ENOUGH:
            break
        more = _better(kinds, has, lacking * scales**2, most)
        if not len(more):
            break
        kinds = np.unique(np.vstack([kinds, more]), axis=0)
    counts = _rounded(weights)
    some = kinds.any(axis=1)
    found = zip(kinds[some], counts[some].tolist(), strict=True)
    sets = WeightedSets.of((np.array(items)[kind].tolist(), count) for kind, count in found if count)
    return sets, int(counts[~some].sum())


def _held(kinds: Bits, has: Bits) -> Reals:
    """Which of the chosen sets, by row, each kind holds; and a last row in which all kinds count."""
    sizes = has.sum(axis=1)
    held = has.astype(np.float64) @ kinds.T.astype(np.float64) == sizes[:, None]
    return np.vstack([held, np.ones(len(kinds))]).astype(np.float64)


def _weights(held: Reals, wanted: Reals, scales: Reals) -> Reals:
    from scipy.optimize import lsq_linear, nnls

    rows, right = held * scales[:, None], wanted * scales
    try:
        found: Reals = nnls(rows, right, maxiter=50 * held.shape[1])[0]
    except RuntimeError:  # it gave up; what is slower ends by itself
        found = lsq_linear(rows, right, bounds=(0, np.inf)).x
    return found


def _of_size(kinds: Bits, most: int) -> Bits:
    return np.asarray(kinds[kinds.sum(axis=1) <= most])


def _better(kinds: Bits, has: Bits, lacking: Reals, most: int) -> Bits:
    """Sets that hold more of what is lacking than of what is too much, found one item after the other."""
    members, sizes, gains = has.astype(np.float64), has.sum(axis=1), lacking[:-1]
    short = has[np.argsort(-gains)[: max(1, STARTS // 10)]]
    unions = (kinds[:, None] | short[None]).reshape(-1, has.shape[1])
    every = _of_size(np.vstack([short, kinds, unions]), most)
    tried = every[np.linspace(0, len(every) - 1, min(len(every), STARTS)).astype(np.int64)]
    for _ in range(2 * has.shape[1]):
        missing = sizes - tried.astype(np.float64) @ members.T
        change = np.where(tried, -((missing == 0) * gains) @ members, ((missing == 1) * gains) @ members)
        change[~tried & (tried.sum(axis=1) >= most)[:, None]] = -np.inf
        place = np.argmax(change, axis=1)
        rises = np.flatnonzero(change[np.arange(len(tried)), place] > ENOUGH)
        if not len(rises):
            break
        tried[rises, place[rises]] ^= True
    tried = np.unique(tried, axis=0)
    worth = lacking @ _held(tried, has)
    best = np.argsort(-worth, kind="stable")[:NEW]
    return tried[best[worth[best] > ENOUGH]]


def _rounded(weights: Reals) -> Numbers:
    """Whole numbers with the same sum, but for rounding: those that are nearest to the next are raised."""
    below = np.floor(weights)
    up = round(float((weights - below).sum()))
    below[np.argsort(below - weights, kind="stable")[:up]] += 1
    return below.astype(np.int64)
