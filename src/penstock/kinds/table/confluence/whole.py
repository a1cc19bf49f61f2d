"""All columns in one table, where that is small enough: whether it is worth counting, and its network.

Guarantee: what is spent here is what one table of counts is paid, all that is left of a budget.
Why: a record is in one cell of the table, so that it has the sensitivity of any other table of counts; and
whether it is counted follows from the schema, the budget and numbers that were paid for before.

Nothing that columns have in common is lost, however many of them it takes to see it. What it costs is the
noise of every cell: a table of a pair that is added up from C cells has the deviation of a count times
sqrt(C / c) in each of its c cells, and chance does about sqrt(n / c) to a cell of n records drawn once more.
What is asked is whether the first is small against the second, in every table at once: their ratio, the
deviation times sqrt(C / n), has no c in it. Where it is not small, one table may still be better than tables
of all pairs, if these are so many that each of them would have more noise than is added up here. And where
single columns have hardly more noise by one table than by tables of their own, little is lost by it even if
nothing depends on anything, and pairs come along: six yes/no columns have 1.4 times the noise that two tables
of three of them give. Not where noise is far beyond chance: of single columns more can be made there.

What follows is post-processing. Many cells of such a table are empty, and their noise, of which only what is
above zero can stay, flattens everything. Sums of many cells do not have that fault. So cells are first
brought to the simplex, and then scaled, pair by pair (iterative proportional fitting), towards the sums that
the noisy counts have for a pair, as far as these differ from those of the cells by more than noise.

Where noise exceeds what chance does, much of what cells say is noise all the same. A more careful table
begins at the other end: independent columns, then the sums of pairs as far as these differ from that by more
than noise, then the cells. The result is between the two, halfway where noise is large: the error of a mean
of two estimates is never above the mean of their errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
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

DOUBT = 0.5
"""The weight of the more careful table where noise exceeds what chance does."""

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


def in_columns(sizes: Sequence[int]) -> float:
    """The noise of all columns that are added up from one table, for a noise of 1 in each of its cells.

    >>> round(in_columns([2, 2, 4]), 2)  # 16 cells: columns of 2, 2 and 4, of 8, 8 and 4 cells for each code
    19.31
    """
    return sqrt(prod(sizes)) * sum(map(sqrt, sizes))


def likely(
    counts: Reals,
    total: float,
    deviation: float,
    shares: Sequence[Reals],
    smooth: Iterable[int] = (),
    possible: Truth | None = None,
) -> Reals:
    """A distribution over the cells of a noisy table of all columns; cells that are not possible have none.

    `shares` are what the columns seem to have. Those that are `smooth` know that better than their sums tell:
    neighbouring codes of an ordered column even out each other's noise (`smoothing`).

    >>> columns = [np.array([0.6, 0.4]), np.array([0.58, 0.42])]
    >>> likely(np.array([[60.0, 0], [-2, 42]]), 100, 1.0, columns).round(2).tolist()
    [[0.59, 0.0], [0.0, 0.41]]
    """
    allowed = np.ones(counts.shape, dtype=np.bool_) if possible is None else possible
    if not total > 0 or not allowed.any():
        return np.asarray(allowed / max(1, int(allowed.sum())))
    noisy = _Noisy(counts, total, deviation, allowed)
    joint = noisy.with_pairs(noisy.nearest(counts))
    for axis in smooth:
        joint = noisy.with_column(joint, axis, shares[axis])
    careful = DOUBT * min(1.0, of_chance(deviation, int(allowed.sum()), total) ** 2)
    if careful > 0:
        joint = (1 - careful) * joint + careful * noisy.from_columns(shares)
    return np.asarray(joint / joint.sum())


@dataclass(frozen=True, eq=False)
class _Noisy:
    """Noisy counts of cells of which some are `allowed` to hold records, that add up to a `total`."""

    counts: Reals
    total: float
    deviation: float
    allowed: Truth

    def nearest(self, table: Reals) -> Reals:
        """The table without negative cells that is nearest to this one."""
        joint = np.zeros(table.shape)
        joint[self.allowed] = onto_simplex(table[self.allowed], self.total)
        return joint

    def from_columns(self, shares: Sequence[Reals]) -> Reals:
        """Independent columns, moved to the counts of pairs and then of cells as far as these tell more."""
        alone = self.total * reduce(np.multiply.outer, shares)
        joint = self.with_pairs(self.nearest(alone))
        away = self.counts - joint
        return self.nearest(joint + self._beyond(away) * away)

    def with_pairs(self, joint: Reals) -> Reals:
        """The table moved to the sums of every pair, as far as these tell more than noise."""
        axes = range(joint.ndim)
        seen = np.where(self.allowed, self.counts, 0.0)
        for pair in SWEEPS * list(combinations(axes, 2)) if joint.ndim > 2 else ():
            rest = tuple(axis for axis in axes if axis not in pair)
            have = joint.sum(axis=rest, keepdims=True)
            away = seen.sum(axis=rest, keepdims=True) - have
            joint = _scaled(joint, have, onto_simplex(have + self._beyond(away) * away, self.total))
        return joint

    def with_column(self, joint: Reals, axis: int, share: Reals) -> Reals:
        """The table with these shares of one column."""
        rest = tuple(other for other in range(joint.ndim) if other != axis)
        wanted = share.reshape([-1 if other == axis else 1 for other in range(joint.ndim)])
        return _scaled(joint, joint.sum(axis=rest, keepdims=True), wanted)

    def _beyond(self, away: Reals) -> float:
        """The part of a difference that is not noise; the noise of all sums of cells is that of all cells."""
        noise = self.deviation**2 * float(self.allowed.sum())
        return max(0.0, 1 - noise / max(float(np.square(away).sum()), _SMALLEST))


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
