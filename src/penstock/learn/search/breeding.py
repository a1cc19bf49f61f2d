"""PrivGene: vectors that breed, of which the fitter ones are chosen privately.

Guarantee: that of the choices, one after another; crossing and mutating public vectors needs no record.
Every round has a part of the budget and chooses several parents with it; the last one chooses the answer. So
r rounds spend r parts, and none is left over.

Reference: J. Zhang, X. Xiao, Y. Yang, Z. Zhang and M. Winslett, "PrivGene: differentially private model
fitting using genetic algorithms" (SIGMOD 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sealed import Sealed

Reals = NDArray[np.float64]
V = TypeVar("V", np.float64, np.int64)

POPULATION = 200
PARENTS = 10
LEAST_ROUNDS, MOST_ROUNDS = 8, 200
RECORDS_PER_CHOICE = 800


def bred(
    first: NDArray[V],
    scores: Callable[[NDArray[V]], Sealed[NDArray[np.int64]]],
    children: Callable[[NDArray[V]], NDArray[V]],
    pay: Sequence[Budget],
) -> NDArray[V]:
    """One of the vectors of the last generation, after as many choices as there are parts to pay with.

    `scores` says how fit vectors are, and `children` makes the next generation of parents: both see public
    vectors only.
    """
    *earlier, last = pay
    there = first
    for part in earlier:
        there = children(there[choice.best_several(scores(there), PARENTS, pay=part, method="exponential")])
    found: NDArray[V] = there[choice.best(scores(there), pay=last, method="exponential")]
    return found


def offspring(parents: Reals, many: int, sigma: float, rng: np.random.Generator) -> Reals:
    """So many vectors, or one less: tails of two parents exchanged, and one coordinate of each moved.

    The move is normal, of deviation `sigma`.

    >>> rng = np.random.default_rng(0)
    >>> offspring(np.array([[0.0, 0.0], [1.0, 1.0]]), 4, 0.0, rng).shape
    (4, 2)
    """
    length, pairs = parents.shape[1], many // 2
    one, two = (parents[rng.integers(len(parents), size=pairs)] for _ in range(2))
    tail = np.arange(length) >= rng.integers(1, max(2, length), size=pairs)[:, None]
    found = np.concatenate([np.where(tail, two, one), np.where(tail, one, two)])
    moved = rng.integers(length, size=len(found))
    found[np.arange(len(found)), moved] += rng.normal(0.0, sigma, len(found))
    return found
