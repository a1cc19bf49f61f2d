"""How single columns are counted: in how much detail, and which of them in one table.

*Together.* A table of three yes/no columns has eight cells. Each of its columns is added up from four cells
on either side, with twice the noise of one, but the table gets the budget of three: the noise of a column is
two thirds of what it is for three tables of one column each. Under epsilon that holds for columns of two and
three codes, and what the columns have to do with each other comes along. With the prices of `packing`, a
column of s cells in a table of c has the area sqrt(c s), and a block grows as long as its price falls against
that of its columns one by one. Under rho the prices are the same at best, and columns stay alone.

*In detail.* Where there are few records and many bins, one-way counts are mostly noise, and more so the more
bins there are: d columns of k bins, n records and an epsilon give a mean distance of about
k d / (2 n epsilon) each. Neighbouring bins of an ordered column are then counted in groups. What the groups
hide is about `HIDDEN` over their number, as for a hill that covers a small part of the range, and less noise
that neighbours even out by themselves (`smoothing`); where that is less than the noise that they save, they
are counted; but never where the noise of a column does not exceed its records, since a spike (all those who
have nothing) would still stand out of it, and is lost in a group. Beyond that one noisy number says how much
the largest codes of these columns have (`Largest`): where that is half of the records or more, and stands out
of noise, columns are counted in full after all. Which groups there are follows from the schema, how many from
public numbers: the budget, the sizes, and the noisy number of records.

Why that number is private: a record that comes raises one count of each column by 1, and the largest count of
a column, or of some of its codes, by at most 1; one that goes lowers it by at most 1, and one that is
replaced does both to a column, which moves its largest count by at most 1 in either direction. So does every
record of a unit, and the sum over columns moves by their number, which is public, times as much.

*For how much.* Tables share a budget by the roots of their areas, which makes the sum of their noise least.
Of thousands of categories that nobody can put in groups hardly anything is told by a small budget, and they
would take nearly all of it from columns of which much would be. Where the noise of a table would be `LOST`
times what is there, it gets no more than is left over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.engine.marginal import Column
from penstock.kinds.table.confluence.packing import Sizes, View, view_of
from penstock.kinds.table.confluence.tiers import Tier
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.encoding import Grouping
from penstock.kinds.table.network.parents import Parent
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema.attribute import Attribute

Counts = NDArray[np.int64]

HIDDEN = 4.0
"""The distance between the bins of a column and its groups, times the number of groups; chosen on tables of
`studies/bins.py` and `studies/suite.py` that are there to choose by."""

BURIED = 1.0
"""The mean distance that noise alone makes in a column, above which even one code with everybody is lost."""

LOST = 3.0
"""That distance, if a column got its part of the budget, above which it gets next to nothing; chosen on
tables that `studies/frame/families.py` makes."""

LEFT_OVER = 0.3
"""What such a table gets, times what all others get together, over the number of all."""

SPIKE = 0.5
"""The mean share of the largest code of columns that would be counted in groups, above which they are not;
chosen on tables that `studies/frame/families.py` makes."""

_SMALL = 3  # codes of a column that may gain from company


def blocks(columns: Sequence[Parent], sizes: Sizes, power: float) -> list[View]:
    """Tables that together hold every one of these columns once, small ones in company where that pays.

    >>> [view.parts for view in blocks([Parent(0), Parent(1), Parent(2)], [[2], [9], [2]], 0.5)]
    [(Parent(variable=0, level=0), Parent(variable=2, level=0)), (Parent(variable=1, level=0),)]
    """
    found: list[View] = []
    block: View | None = None
    worth = 1.0
    small = [part for part in columns if sizes[part.variable][part.level] <= _SMALL]
    for part in sorted(small, key=lambda part: (sizes[part.variable][part.level], part.variable)):
        single = view_of((part,), sizes, power)
        if block is not None:
            joined = block.joined_with(single)
            alone = sum(view_of(each, sizes, power).weight for each in joined.pairs)
            if joined.weight / alone < worth - 1e-9:
                block, worth = joined, joined.weight / alone
                continue
            found.append(block)
        block, worth = single, 1.0
    if block is not None:
        found.append(block)
    found += [view_of((part,), sizes, power) for part in columns if part not in small]
    return sorted(found, key=lambda view: view.parts)


def told(views: Sequence[View], noise: float) -> list[View]:
    """Those tables of single columns of which noise leaves something; one at least.

    `noise` is the mean noise of one count that gets all that these tables share, as a share of the records.

    >>> views = [view_of((Parent(number),), [[4], [900]]) for number in range(2)]
    >>> len(told(views, 0.001)), len(told(views, 0.1))
    (2, 1)
    """
    kept = {number: view.weight for number, view in enumerate(views)}
    while len(kept) > 1:
        total = sum(kept.values())
        far = {
            number: views[number].area
            * noise
            * (total / weight) ** (1 / views[number].power - 1)
            / (2 * len(views[number].parts))
            for number, weight in kept.items()
        }
        worst = max(far, key=lambda number: far[number])
        if far[worst] <= LOST:
            break
        del kept[worst]
    return [views[number] for number in kept]


def weights(views: Sequence[View], noise: float) -> list[float]:
    """For how much tables of single columns are counted: less where noise leaves nothing anyway.

    >>> views = [view_of((Parent(number),), [[4], [900]]) for number in range(2)]
    >>> [round(each, 1) for each in weights(views, 0.001)], [round(each, 1) for each in weights(views, 0.1)]
    ([2.0, 30.0], [2.0, 0.3])
    """
    kept = told(views, noise)
    least = LEFT_OVER * sum(view.weight for view in kept) / len(views)
    return [view.weight if view in kept else min(least, view.weight) for view in views]


def detail(attributes: Sequence[Attribute], fixed: Sequence[bool], noise: float) -> list[Grouping | None]:
    """For each column the groups in which it is counted first, or None for all of its codes.

    `noise` is the mean noise of one count that gets the whole budget, as a share of the records; columns that
    are `fixed`, and those without an order, are counted in full.
    """
    choices = [
        [attribute.size] if keep or not attribute.ordered else [level.size for level in attribute.levels]
        for attribute, keep in zip(attributes, fixed, strict=True)
    ]
    best, least = 0, float("inf")
    for step in range(max((len(each) for each in choices), default=0)):
        seen = [each[min(step, len(each) - 1)] for each in choices]
        hidden = sum(HIDDEN / size for size, each in zip(seen, choices, strict=True) if size < each[0])
        # every column's distance is half of its size times its noise; its share goes by the root of its size
        error = hidden + sum(map(sqrt, seen)) ** 2 * noise / 2
        if step == 0 and error < BURIED * len(choices):
            break
        if error < least:
            best, least = step, error
    found: list[Grouping | None] = []
    for attribute, each in zip(attributes, choices, strict=True):
        level = attribute.levels[min(best, len(each) - 1)]
        whole = level.size == attribute.size
        found.append(None if whole else Grouping(tuple(int(code) for code in level.codes), level.size))
    return found


def standing_out(sizes: Sequence[int], some: Sequence[int], noise: float) -> float:
    """The share that one code of `some` of these columns must have to exceed the noise of all others.

    Of k numbers of Laplace noise the largest is about ln k times their scale.

    >>> round(standing_out([64, 64], [0], 0.01), 3)
    0.083
    """
    roots = [sqrt(size) for size in sizes]
    return sum(log(sizes[number]) * noise * sum(roots) / roots[number] for number in some) / len(some)


@dataclass(frozen=True, eq=False)
class Largest:
    """The counts of the largest codes of some columns, added up: one number.

    Missing and other values do not count: they are groups of their own at every level.
    """

    table: Table
    columns: Sequence[Attribute]

    @property
    def moves(self) -> Sensitivity:
        """Of the largest count of one column."""
        return Sensitivity.of(self.table.schema.unit.records)

    def sealed(self) -> Sealed[Counts]:
        return self.table.derive(
            [(Column(each.name),) for each in self.columns],
            lambda counts: np.array([sum(map(self._largest, self.columns, counts))]),
            self.moves.scaled(len(self.columns)),
            shape=(1,),
            because="a record that comes raises one count of a column by 1, and so its largest count by at "
            "most 1; one that goes lowers it by at most that, one that is replaced moves it one way or the "
            "other by at most that, and a unit of m records by m times as much; the sum over a public number "
            "of columns moves by that number times as much",
        )

    def _largest(self, column: Attribute, counts: Counts) -> int:
        """Of the codes that groups would hide: missing and other values are groups of their own anyway."""
        return int(counts[: column.regular].max(initial=0))

    def share(self, tier: Tier, share: Fraction, records: float) -> float:
        """The mean over these columns, as a share of the records."""
        return tier.number(self.sealed(), "largest counts", share) / (len(self.columns) * records)

    def doubt(self, tier: Tier, share: Fraction, records: float) -> float:
        """How far off that is on average."""
        return tier.noise(self.moves, share) / records
