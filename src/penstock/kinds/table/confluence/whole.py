"""All columns in one table, where that is small enough: whether it is worth counting, and its network.

Guarantee: what is spent here is what one table of counts is paid, all that is left of a budget.
Why: a record is in one cell of the table, so that it has the sensitivity of any other table of counts; and
whether it is counted follows from the schema, the budget and numbers that were paid for before.

Nothing that columns have in common is lost, however many of them it takes to see it. What it costs is the
noise of every cell: a table of a pair that is added up from C cells has the deviation of a count times
sqrt(C / c) in each of its c cells, and chance does about sqrt(n / c) to a cell of n records drawn once more.
What is asked is whether the first is small against the second, in every table at once: their ratio, the
deviation times sqrt(C / n), has no c in it. Where it is not small, one table may still be better than tables
of all pairs, if these are so many that each of them would have more noise than is added up here.

What follows is post-processing. Many cells of such a table are empty, and their noise, of which only what is
above zero can stay, flattens everything. Sums of many cells do not have that fault. So cells are first
brought to the simplex, and then scaled, pair by pair (iterative proportional fitting), towards the sums that
the noisy counts have for a pair, as far as these differ from those of the cells by more than noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.conditionals import conditional
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent
from penstock.kinds.table.network.ruled import next_ones
from penstock.postprocessing import onto_simplex

Reals = NDArray[np.float64]
Truth = NDArray[np.bool_]

MOST_CELLS = 1 << 21
"""Of the table. Its network has up to twice as many numbers, which are saved."""

SWEEPS = 2
"""So often the table is brought nearer to the sums of each pair, one after the other."""

_SMALLEST = 1e-9


def of_chance(deviation: float, cells: int, records: float) -> float:
    """The noise of any table that is added up from so many cells, over what chance does to it.

    >>> of_chance(2.0, 400, 10_000)
    0.4
    """
    return deviation * sqrt(cells / records)


def in_pairs(sizes: Sequence[int]) -> float:
    """The noise of all pairs that are added up from one table, for a noise of 1 in each of its cells.

    >>> in_pairs([2, 2, 4])  # 16 cells: pairs of 4, 8 and 8
    30.62741699796952
    """
    return sqrt(prod(sizes)) * sum(sqrt(one * two) for one, two in combinations(sizes, 2))


def likely(
    counts: Reals,
    total: float,
    deviation: float,
    shares: Mapping[int, Reals] | None = None,
    possible: Truth | None = None,
) -> Reals:
    """A distribution over the cells of a noisy table of all columns; cells that are not possible have none.

    `shares` are what some columns shall have, where that is known better than by their sums: neighbouring
    codes of an ordered column even out each other's noise (`smoothing`).

    >>> likely(np.array([[60.0, 0], [-2, 42]]), 100, 1.0).round(2).tolist()
    [[0.59, 0.0], [0.0, 0.41]]
    """
    allowed = np.ones(counts.shape, dtype=np.bool_) if possible is None else possible
    joint = np.zeros(counts.shape)
    joint[allowed] = onto_simplex(counts[allowed], total)
    if not joint.sum() > 0:
        return np.asarray(allowed / max(1, int(allowed.sum())))
    noisy = np.where(allowed, counts, 0.0)
    axes = range(counts.ndim)
    for pair in SWEEPS * list(combinations(axes, 2)) if counts.ndim > 2 else ():
        rest = tuple(axis for axis in axes if axis not in pair)
        have = joint.sum(axis=rest, keepdims=True)
        away = noisy.sum(axis=rest, keepdims=True) - have
        noise = deviation**2 * allowed.sum()  # of all sums of the pair together
        beyond = max(0.0, 1 - noise / max(float(np.square(away).sum()), _SMALLEST))
        wanted = onto_simplex(have + beyond * away, total)
        joint = _scaled(joint, have, wanted)
    for axis, share in (shares or {}).items():
        rest = tuple(other for other in axes if other != axis)
        wanted = share.reshape([-1 if other == axis else 1 for other in axes])
        joint = _scaled(joint, joint.sum(axis=rest, keepdims=True), wanted)
    return np.asarray(joint / joint.sum())


def _scaled(joint: Reals, have: Reals, wanted: Reals) -> Reals:
    """The table with other sums, and the same in all; as it is where nothing would be left of it."""
    scaled = joint * np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)
    return np.asarray(scaled * (joint.sum() / scaled.sum())) if scaled.sum() > 0 else joint


def network(joint: Reals, variables: tuple[Variable, ...], before: Mapping[int, frozenset[int]]) -> Network:
    """The chain rule: every column given all that come before it, those of few codes first."""
    order: list[int] = []
    while len(order) < len(variables):
        may_come = next_ones(len(variables), before, order)
        order.append(min(may_come, key=lambda number: (variables[number].size, number)))
    pairs, tables = [], []
    for place, child in enumerate(order):
        parents = order[:place]
        rest = tuple(sorted(order[place + 1 :]))
        kept = sorted(order[: place + 1])
        table = np.transpose(joint.sum(axis=rest), [kept.index(number) for number in (child, *parents)])
        pairs.append(Pair(child, tuple(Parent(number) for number in parents)))
        tables.append(conditional(table, "back off"))
    return Network(variables, tuple(pairs), tuple(tables))
