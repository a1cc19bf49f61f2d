"""Noisy marginals made to agree with each other, in the way of PriView (Qardaji, Yang, Li 2014).

Two marginals that share attributes say two different things about them, because each has its own noise. The
best linear guess is the mean of both by the variance of their noise, and a marginal whose sums differ
from it is moved by the same amount in all cells concerned. Everything here is public already.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.conditionals import Measured, added_up, between
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import Parent, ParentSet

Reals = NDArray[np.float64]
T = TypeVar("T", bound=Hashable)

MOST_SETS = 20_000
"""Of variables on which marginals are made to agree; more would take too long."""


def agreeing(marginals: Sequence[Measured], variables: Sequence[Variable]) -> list[Reals]:
    """Counts that agree on all that several marginals say, each variable at the coarsest level of theirs.

    From the total to the largest sets of variables that they share: sets that come later leave what was
    agreed on before as it is. Of very many sets only the smallest `MOST_SETS` are made to agree.
    """
    counts = [one.counts.astype(np.float64) for one in marginals]
    seen = [frozenset(part.variable for part in one.parts) for one in marginals]
    order = sorted(shared(seen), key=lambda each: (len(each), sorted(each)))
    for common in order[:MOST_SETS]:
        members = [number for number, each in enumerate(seen) if common <= each]
        levels = [dict(marginals[number].parts) for number in members]
        parts = tuple(Parent(v, max(each[v] for each in levels)) for v in sorted(common))
        sums = [added_up(counts[number], marginals[number].parts, parts, variables) for number in members]
        trust = [
            own.size / (marginals[number].counts.size * max(marginals[number].deviation ** 2, 1e-12))
            for number, own in zip(members, sums, strict=True)
        ]
        mean = np.tensordot(np.array(trust) / sum(trust), np.stack(sums), axes=1)
        for number, own in zip(members, sums, strict=True):
            counts[number] = counts[number] + spread(mean - own, parts, marginals[number], variables)
    return counts


def shared(sets: Iterable[frozenset[T]]) -> set[frozenset[T]]:
    """All intersections of two or more of the sets; of very many, those that are found first.

    >>> sorted(sorted(each) for each in shared([frozenset("abc"), frozenset("abd"), frozenset("bcd")]))
    [['a', 'b'], ['b'], ['b', 'c'], ['b', 'd']]
    """
    every = list(sets)
    found = {one & two for one, two in combinations(every, 2)}
    new = found
    while new and len(found) < MOST_SETS:
        new = {one & two for one in new for two in every} - found
        found |= new
    return found


def spread(missing: Reals, parts: ParentSet, marginal: Measured, variables: Sequence[Variable]) -> Reals:
    """What each cell of a marginal gets of what is missing in the sums that it belongs to."""
    axes = {part.variable: (axis, part.level) for axis, part in enumerate(marginal.parts)}
    others = prod(
        size
        for part, size in zip(marginal.parts, marginal.counts.shape, strict=True)
        if part.variable not in dict(parts)
    )
    groups, members = [], np.full(missing.shape, float(others))
    for place, (variable, level) in enumerate(parts):
        axis, own = axes[variable]
        lookup = between(variables[variable], own, level)
        groups.append(lookup.reshape([-1 if i == axis else 1 for i in range(marginal.counts.ndim)]))
        inside = np.bincount(lookup, minlength=missing.shape[place])
        members *= inside.reshape([-1 if i == place else 1 for i in range(missing.ndim)])
    return np.asarray((missing / members)[tuple(groups)])
