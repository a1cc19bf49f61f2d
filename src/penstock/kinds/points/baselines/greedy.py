"""GreedyH: a binary hierarchy over a vector of counts, weighted level by level for a workload.

Rows of the hierarchy are the sums over its nodes. A level with weight w gets the share w of the budget,
and the weights of all levels add up to one. They are chosen from the leaves up: with everything below a
node settled, its own sum gets the weight that answers the workload's questions about the node best.
The weights follow from public questions only. Least squares over all levels is post-processing.

Reference: C. Li, M. Hay and G. Miklau, "A data- and workload-aware algorithm for range queries under
differential privacy" (VLDB 2014), section 5. A question counts at a node unless it treats the node's
parent as a whole, since the parent then answers for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.points.box import Reals
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import Sealed

Counts = NDArray[np.int64]
STEPS = np.arange(100) / 100
FINEST = 10_000


def greedy_hierarchy(sealed: Sealed[Counts], questions: Reals, pay: Budget, length: int) -> Reals:
    """Estimates of `length` disjoint counts, good for the rows of `questions`; pays all of `pay`.

    Each count belongs to one node of every level, so a level of sums has the counts' own sensitivity,
    and the levels' parts of the budget add up.
    """
    levels = max(length - 1, 0).bit_length()
    padded = 1 << levels
    weights = level_weights(np.pad(questions, [(0, 0), (0, padded - length)]))
    measured: list[tuple[Reals, float] | None] = []
    for depth, (pay_level, weight) in enumerate(_parts(pay, weights)):
        if weight == 0:
            measured.append(None)
            continue
        width = padded >> depth

        def sums(counts: Counts, width: int = width) -> Counts:
            full: Counts = np.zeros(padded, dtype=np.int64)
            full[:length] = counts
            return np.asarray(full.reshape(-1, width).sum(axis=1))

        level = sealed.claim(
            sums,
            sealed.sensitivity,
            shape=(1 << depth,),
            because="nodes of one level share no cell: their sums move by no more in all than the cells do",
        )
        deviation = noise.standard_deviation(level.sensitivity.l1, pay_level.epsilon)
        measured.append((noise.counts(level, pay=pay_level).astype(np.float64), deviation**2))
    return settle(measured)[:length]


def _parts(pay: Budget, weights: Sequence[Fraction]) -> list[tuple[Budget, Fraction]]:
    """The budget's parts for the levels, from the root down; the leaves take what is left."""
    parts = [(pay.part(f"level {depth}", weight), weight) for depth, weight in enumerate(weights[:-1])]
    return [*parts, (pay.rest("leaves"), weights[-1])]


def level_weights(questions: Reals) -> list[Fraction]:
    """The weight of each level, from the root down to the leaves; they add up to one.

    For a node with children of total uncertainty k = 1' G 1, G the inverse of their normal matrix, a
    weight t for its own sum turns every x' G y into (x' G y - f (1' G x) (1' G y)) / (1 - t)**2 with
    f = t**2 / ((1 - t)**2 + t**2 k): the Sherman-Morrison formula. So two numbers for each question and
    node are enough, its own error e and its product s with the sum.
    """
    error, product, k = questions**2, questions.copy(), 1.0
    low, high = questions, questions
    own: list[float] = []
    while error.shape[1] > 1:
        error, product = _paired(error), _paired(product)
        low = np.minimum(low[:, 0::2], low[:, 1::2])
        high = np.maximum(high[:, 0::2], high[:, 1::2])
        k *= 2
        if low.shape[1] > 1:
            parted = np.minimum(low[:, 0::2], low[:, 1::2]) < np.maximum(high[:, 0::2], high[:, 1::2])
            counted = np.repeat(parted, 2, axis=1)
        else:
            counted = np.ones_like(error, dtype=np.bool_)
        errors, squares = float(error[counted].sum()), float((product[counted] ** 2).sum())
        factor = STEPS**2 / ((1 - STEPS) ** 2 + STEPS**2 * k)
        best = int(np.argmin((errors - factor * squares) / (1 - STEPS) ** 2))
        weight, f = float(STEPS[best]), float(factor[best])
        scale = (1 - weight) ** -2
        error = scale * (error - f * product**2)
        product = scale * (product - f * k * product)
        k = scale * (k - f * k**2)
        own.append(weight)
    shares, left = [], 1.0
    for weight in reversed(own):
        shares.append(Fraction(int(weight * left * FINEST), FINEST))
        left *= 1 - weight
    return [*shares, 1 - sum(shares, Fraction(0))]


def _paired(values: Reals) -> Reals:
    return values[:, 0::2] + values[:, 1::2]


def settle(measured: Sequence[tuple[Reals, float] | None]) -> Reals:
    """The least-squares leaves of a binary tree from noisy levels (root first) with their variances."""
    assert measured[-1] is not None
    estimate, variance = measured[-1]
    levels = [estimate]
    for above in reversed(measured[:-1]):
        estimate, variance = estimate.reshape(-1, 2).sum(axis=1), 2 * variance
        if above is not None:
            own, spread = above
            estimate = (estimate * spread + own * variance) / (spread + variance)
            variance = variance * spread / (spread + variance)
        levels.insert(0, estimate)
    settled = levels[0]
    for _, finer in pairwise(levels):
        surplus = (settled - finer.reshape(-1, 2).sum(axis=1)) / 2
        settled = finer + np.repeat(surplus, 2)
    return settled
