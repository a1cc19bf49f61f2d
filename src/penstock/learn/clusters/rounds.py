"""One private round of Lloyd's algorithm: noisy numbers and noisy sums of the points around every centre.

Guarantee: pure epsilon, all of what pays for the round, for one point added or removed (or one user).
Why: a point is nearest to one centre. It moves the number of that cluster by 1 and each of its d sums by 1 at
most, where the cube is from -1 to 1. All numbers are multiplied by a weight first and then get the same noise
together with the sums: with g for the weight, the number gets g/(d+g) of the epsilon and each sum 1/(d+g).
Centres before the round are public, and dividing afterwards is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.points.data import REACH, Points
from penstock.learn.clusters.planning import count_weight
from penstock.learn.clusters.unit_box import UnitBox
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.releases.error_bars import Noises, bar

Reals = NDArray[np.float64]
Split = Literal["equal", "optimal"]
Sparse = Literal["clip", "keep"]


@dataclass(frozen=True, eq=False)
class Round:
    """Centres after a round, how many points were around each before it moved, and how wide that noise is."""

    centres: Reals
    sizes: Reals
    error: float


def weight(split: Split, dimensions: int) -> int:
    """What a point counts for in the number of its cluster, where it counts for REACH at most in a sum."""
    return round((1.0 if split == "equal" else count_weight(dimensions)) * REACH)


def noisy_round(
    points: Points, box: UnitBox, centres: Reals, pay: Budget, *, split: Split, sparse: Sparse
) -> Round:
    """One round from public centres; spends all of `pay`, in one charge.

    Where noise left less than one point, "keep" leaves a centre where it is, and "clip" takes the mean as it
    comes, moved onto the cube.
    """
    times = weight(split, box.dimensions)
    sealed = points.around(box.steps(centres), times)
    deviation = noise.standard_deviation(sealed.sensitivity.l1, pay.epsilon)
    noisy = noise.counts(sealed, pay=pay).astype(np.float64)
    sizes, sums = noisy[:, 0] / times, noisy[:, 1:]
    usable = sizes >= 1 if sparse == "keep" else sizes != 0
    means = box.means(sums, np.where(usable, sizes, 1.0))
    error = bar([Noises(1.0, deviation, 1)]).half / times
    return Round(np.where(usable[:, None], means, centres), sizes, error)
