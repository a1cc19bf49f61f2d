"""How strongly the columns of a table hang together: one noisy number, before anything else is counted.

Guarantee: what is spent here is what a single noisy number is paid.
Why: let C be the table of counts of a pair, A and B its row and column sums and N the number of records.
The distance from independence is the sum over cells of |C - A B / N|. A record that comes at row i and
column j changes C - A B / N by N / (N + 1) times the product of (e_i - A / N) and (e_j - B / N), where e_i
is 1 at i and 0 elsewhere: the two sides differ by exactly that. The entries of either factor add up to at
most 2 in absolute value, so that the distance of any pair moves by less than 4, and rounded down to a whole
number by at most 4. A record that goes moves it back, one that is replaced goes and comes (8), a unit of m
records moves m times as much. Distances are computed in whole numbers, as the sum of |C N - A B| divided by
N, so that nothing is rounded before it is rounded down.

What is told is the largest sum over the pairs of a spanning tree: those that connect d columns by d - 1 pairs
with the largest distances. The sum over any one tree moves by at most d - 1 times that bound, and the
largest of numbers that each move by at most so much moves by no more. Divided by d - 1, it says how strong
the dependence is that a tree of views would catch. The mean over all pairs moves as far, and is far smaller
where columns depend on few others. It is asked for where tables of all pairs would have little noise against
what a tree tells: whether a tree leaves much to the others is what it says then.

Nothing about the records is known yet, so that the groups in which columns are looked at follow from the
schema: neighbours in an ordered column, else codes that leave the same remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.engine.marginal import Column
from penstock.kinds.table.confluence.tiers import Tier
from penstock.kinds.table.data import Table
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema.attribute import Attribute

Counts = NDArray[np.int64]

GROUPS = 8
"""In so many groups a column is looked at, at most; in two where there are more columns than MANY."""

MANY = 128

_MOVES = 4
_CHANCE = 0.4  # half the mean absolute value of a standard normal variable


@dataclass(frozen=True, eq=False)
class Dependence:
    """The distances of pairs of these columns from independence, along the tree where they are largest."""

    table: Table
    columns: Sequence[Attribute]

    @cached_property
    def couples(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.columns)), 2))

    @cached_property
    def looks(self) -> list[Column]:
        """Each column in groups that the schema alone decides."""
        most = GROUPS if len(self.columns) <= MANY else 2
        return [_look(each, min(most, each.size)) for each in self.columns]

    @property
    def edges(self) -> int:
        """Of a spanning tree."""
        return len(self.columns) - 1

    @property
    def moves(self) -> Sensitivity:
        """Of one pair."""
        units = 1 if self.table.relation is Relation.ADD_REMOVE else 2
        return Sensitivity.of(_MOVES * units * self.table.schema.unit.records)

    @cached_property
    def each(self) -> Sealed[Counts]:
        """The distance of every pair, in the order of `couples`, rounded down."""
        return self.table.derive(
            [(self.looks[one], self.looks[two]) for one, two in self.couples],
            lambda counts: np.array(list(map(self._distance, self.couples, counts))),
            Sensitivity.scores(self.moves.linf, candidates=len(self.couples)),
            shape=(len(self.couples),),
            because="a record that comes changes C - AB/N by N/(N+1) times the product of two vectors whose "
            "entries add up to at most 2 in absolute value, so that the distance of a pair moves by less "
            "than 4 and, rounded down, by at most 4; one that goes moves it back, one that is replaced does "
            "both, and a unit of m records moves m times as much",
        )

    def sealed(self) -> Sealed[Counts]:
        """The sum of the distances along the tree."""
        return self.each.claim(
            lambda distances: np.array([spanning([int(each) for each in distances])]),
            self.moves.scaled(self.edges),
            shape=(1,),
            because="the sum over a tree of a public number of pairs moves by that number times what one of "
            "them moves by, and so does the largest over all trees",
        )

    def together(self) -> Sealed[Counts]:
        """The sum of the distances of all pairs."""
        return self.each.claim(
            lambda distances: np.array([distances.sum()]),
            self.moves.scaled(len(self.couples)),
            shape=(1,),
            because="the sum over all pairs, whose number is public, moves by that number times what one of "
            "them moves by",
        )

    def strength(self, tier: Tier, share: Fraction, records: float) -> float:
        """The mean distance as a share of the records, from 0 to 1, less what chance alone would show."""
        mean = tier.number(self.sealed(), "dependence", share) / self.edges
        return mean / (2 * records) - self.by_chance(records)

    def of_all(self, tier: Tier, share: Fraction, records: float) -> float:
        """The same of all pairs."""
        mean = tier.number(self.together(), "dependence of all pairs", share) / len(self.couples)
        return mean / (2 * records) - self.by_chance(records)

    def doubt(self, tier: Tier, share: Fraction, records: float) -> float:
        """How far off either is on average."""
        return tier.noise(self.moves, share) / (2 * records)

    def by_chance(self, records: float) -> float:
        """About the mean strength of independent columns in so many records."""
        roots = [sqrt((look.size or 1) - 1) for look in self.looks]
        pairs = (sum(roots) ** 2 - sum(root**2 for root in roots)) / 2
        return _CHANCE * pairs / (len(self.couples) * sqrt(records))

    def _distance(self, couple: tuple[int, int], flat: Counts) -> int:
        one, two = couple
        return distance(flat.reshape(self.looks[one].size or 1, self.looks[two].size or 1))


def distance(counts: Counts) -> int:
    """The sum of |C - A B / N| over the cells of a pair, rounded down.

    >>> distance(np.array([[50, 0], [0, 50]])), distance(np.array([[25, 25], [25, 25]]))
    (100, 0)
    """
    total = int(counts.sum())
    if total == 0:
        return 0
    # products of two counts fit in 64 bits for tables of up to three billion records, else Python's integers
    wide = counts if total < 1 << 31 else counts.astype(object)
    apart = np.abs(wide * total - np.multiply.outer(wide.sum(axis=1), wide.sum(axis=0)))
    return int(sum(int(cell) for cell in apart.ravel()) // total)


def spanning(distances: Sequence[int]) -> int:
    """The largest sum over a tree that connects all columns, of the distances of pairs in their order.

    >>> spanning([5, 1, 4])  # of three columns: the first with the second, the second with the third
    9
    """
    columns = (1 + isqrt(1 + 8 * len(distances))) // 2
    between = np.zeros((columns, columns), dtype=np.int64)
    between[np.triu_indices(columns, 1)] = distances
    between += between.T
    nearest, outside, total = between[0].copy(), np.arange(columns) > 0, 0
    while outside.any():
        next_ = int(np.argmax(np.where(outside, nearest, -1)))
        total += int(nearest[next_])
        outside[next_] = False
        nearest = np.maximum(nearest, between[next_])
    return total


def _look(attribute: Attribute, groups: int) -> Column:
    codes = range(attribute.size)
    if attribute.ordered:
        return Column.of(attribute.name, [code * groups // attribute.size for code in codes], groups)
    return Column.of(attribute.name, [code % groups for code in codes], groups)
