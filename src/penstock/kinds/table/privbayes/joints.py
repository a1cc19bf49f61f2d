"""The joint table of every pair of a network: which are counted, and which follow from those.

After Algorithms 1 and 3. A marginal that another one contains (the same variables, at levels as fine or
finer) need not be paid for: it is added up from the larger one. In a binary network of degree k this
leaves d - k marginals, because the first k pairs lie within the (k+1)-st: the first-k trick of
Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.conditionals import Repair
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import Pair, ParentSet
from penstock.postprocessing import clamped, onto_simplex

Reals = NDArray[np.float64]


def sources(variables: Sequence[Variable], pairs: Sequence[Pair], *, reuse: bool) -> list[int]:
    """For each pair the number of the pair whose marginal is counted for it, often its own.

    With `reuse`, a marginal within others comes from the smallest of them that is counted.
    """
    if not reuse:
        return list(range(len(pairs)))
    cells = [_cells(variables, pair.parts) for pair in pairs]
    counted: list[int] = []
    for number in sorted(range(len(pairs)), key=lambda i: (-cells[i], i)):
        if not any(contains(pairs[other].parts, pairs[number].parts) for other in counted):
            counted.append(number)
    return [
        min(
            (other for other in counted if contains(pairs[other].parts, pairs[number].parts)),
            key=lambda other: (other != number, cells[other], other),
        )
        for number in range(len(pairs))
    ]


def contains(larger: ParentSet, smaller: ParentSet) -> bool:
    """Whether the smaller marginal can be added up from the larger one."""
    levels = dict(larger)
    return all(part.variable in levels and levels[part.variable] <= part.level for part in smaller)


def repaired(counts: NDArray[np.number], repair: Repair) -> Reals:
    """A distribution near the noisy counts: negatives cut off, or the nearest point of the simplex."""
    if repair == "clamp":
        return clamped(counts, 1.0)
    total = float(counts.sum())
    if total <= 0:
        return clamped(counts, 1.0)
    return onto_simplex(counts, total) / total


def _cells(variables: Sequence[Variable], parts: ParentSet) -> int:
    return prod(variables[variable].sizes[level] for variable, level in parts)
