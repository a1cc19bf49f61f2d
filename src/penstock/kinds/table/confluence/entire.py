"""All columns in one table, where that is small enough: whether it is worth counting, and its network.

A record is in one cell of it, so that the table gets all that is left of a budget and loses nothing that
columns have in common, however many of them it takes to see it. Its noise is that of every cell: a table of
a pair that is added up from C cells has the deviation of a count times sqrt(C / c) in each of its c cells,
and chance does about sqrt(n / c) to a cell of n records drawn once more. What is asked is whether the first
is small against the second, in every table at once: their ratio, the deviation times sqrt(C / n), has no c in
it. Where it is not small, one table may still be better than tables of all pairs, if these are so many that
each of them would have more noise than is added up here.

All of that is public: the schema, the budget, the noisy number of records. So is what follows, the
distribution that is made of the noisy counts. Most cells of such a table are often empty, and their noise,
of which only what is above zero can stay, would flatten everything. Sums of many cells do not have that
fault. So cells are first brought to the simplex, and then scaled until all pairs of columns have the counts
that the noisy table has for them (iterative proportional fitting).
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

MOST_CELLS = 1 << 21
"""Of the table: its network has about twice as many numbers, which are saved and answer every question."""

SWEEPS = 3
"""So often the table is brought to the counts of each pair, one after the other."""


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


def likely(counts: Reals, total: float) -> Reals:
    """A distribution over the cells of a noisy table of all columns, that has its pairs.

    >>> likely(np.array([[60.0, 0], [-2, 42]]), 100).round(2).tolist()
    [[0.59, 0.0], [0.0, 0.41]]
    """
    joint = onto_simplex(counts, total)
    axes = range(counts.ndim)
    wanted = {}
    for pair in combinations(axes, 2):
        rest = tuple(axis for axis in axes if axis not in pair)
        wanted[pair] = rest, onto_simplex(counts.sum(axis=rest, keepdims=True), total)
    for rest, sums in SWEEPS * list(wanted.values()):
        have = joint.sum(axis=rest, keepdims=True)
        joint = joint * np.divide(sums, have, out=np.zeros_like(have), where=have > 0)
    mass = float(joint.sum())
    return joint / mass if mass > 0 else np.full(counts.shape, 1 / counts.size)


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
