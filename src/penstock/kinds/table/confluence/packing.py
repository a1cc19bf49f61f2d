"""Views: which pairs are counted in one table, and how the budget is divided over the tables.

A pair p with c_p cells inside a table b with c_b cells comes out with the noise of a cell of b times about
sqrt(c_b / c_p) in each of its cells, in all times sqrt(c_b c_p). Summed over the pairs of the table that is
A_b times the noise of a cell, with A_b = sqrt(c_b) * sum of sqrt(c_p). Under a fixed total the sum over all
tables is smallest when the part of b is in proportion to A_b to a power that depends on the kind of noise
(`tiers`): 1/2 for Laplace noise, 2/3 for Gaussian. These are the weights of tables, and their sum is the
price of a set of views; pairs that share attributes are put into one table when that lowers it. All three
pairs of three attributes are put into one when that does not raise it: for the same price their table says
what no pair can, how the three hang together. Two of them with the third left out would rarely be.

Under rho a pair in a table of its own is counted without what single columns have (`contrasts`), and has
the noise of a table with one group less of each; of other tables, too, only that part of the noise of a pair
counts that columns do not tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt, prod, sqrt

import numpy as np

from penstock.kinds.table.network.parents import Parent, ParentSet

MOST_CELLS = 1024
"""The largest table that several pairs are put into."""

GAUSSIAN = 2 / 3
"""The power of Gaussian noise."""

_NOTHING = 1e-9

Sizes = Sequence[Sequence[int]]
"""For each variable its number of groups at each level."""


@dataclass(frozen=True)
class View:
    """A table to be counted, and the pairs that it is counted for; some get `times` as much as others.

    One that is `whole` is counted with its columns where others of its kind are not.
    """

    parts: ParentSet
    pairs: tuple[ParentSet, ...]
    sizes: Sizes
    power: float = 0.5
    times: float = 1.0
    whole: bool = False

    @cached_property
    def cells(self) -> int:
        return prod(self.sizes[variable][level] for variable, level in self.parts)

    @property
    def apart(self) -> bool:
        """Whether only what its two columns have together is counted."""
        return not self.whole and self.power == GAUSSIAN and len(self.pairs) == 1 and len(self.pairs[0]) == 2

    @cached_property
    def area(self) -> float:
        """How much noise its pairs have in all, for a cell's noise of 1."""
        if self.apart:
            return float(noisy_cells(self.parts, self.sizes, self.power))
        return sqrt(self.cells) * sum(sqrt(noisy_cells(pair, self.sizes, self.power)) for pair in self.pairs)

    @cached_property
    def weight(self) -> float:
        """The part of the budget that the table should get, up to a common factor."""
        return float(self.times * self.area**self.power)

    @cached_property
    def levels(self) -> dict[int, int]:
        return dict(self.parts)

    def joined_with(self, other: View) -> View:
        """One table for the pairs of both."""
        levels = dict(self.levels)
        for variable, level in other.parts:
            levels[variable] = min(level, levels.get(variable, level))
        parts = tuple(Parent(variable, level) for variable, level in sorted(levels.items()))
        return View(parts, (*self.pairs, *other.pairs), self.sizes, self.power)


def view_of(pair: ParentSet, sizes: Sizes, power: float = 0.5) -> View:
    return View(tuple(sorted(pair)), (pair,), sizes, power)


def packed(
    pairs: Sequence[ParentSet], sizes: Sizes, most: int = MOST_CELLS, power: float = 0.5
) -> list[View]:
    """Views for these pairs, joined as long as that lowers the price; triangles of early pairs first."""
    single = [view_of(pair, sizes, power) for pair in pairs]
    joined_first, left = _triangles(single, most)
    views = dict(enumerate([*joined_first, *(single[number] for number in left)]))
    gains: dict[tuple[int, int], tuple[float, View]] = {}

    def consider(one: int, two: int) -> None:
        if set(views[one].levels) & set(views[two].levels):
            joined = views[one].joined_with(views[two])
            if joined.cells <= most:
                gains[one, two] = (views[one].weight + views[two].weight - joined.weight, joined)

    for one in views:
        for two in views:
            if one < two:
                consider(one, two)
    while gains:
        (one, two), (gain, joined) = max(gains.items(), key=lambda item: item[1][0])
        if gain <= 1e-9:
            break
        del views[one], views[two]
        gains = {key: value for key, value in gains.items() if one not in key and two not in key}
        new = max(views, default=-1) + len(pairs)
        views[new] = joined
        for other in list(views):
            if other != new:
                consider(other, new)
    return list(views.values())


def _triangles(single: Sequence[View], most: int) -> tuple[list[View], list[int]]:
    """Tables for all three pairs of three variables at no higher a price, and the pairs that are left over.

    Pairs are taken to come in the order of what they are worth, and so are triangles.
    """
    place = {frozenset(view.levels): number for number, view in enumerate(single)}
    beside: dict[int, set[int]] = {}
    for one, two in map(tuple, place):
        beside.setdefault(one, set()).add(two)
        beside.setdefault(two, set()).add(one)
    found: list[tuple[int, tuple[int, ...], View]] = []
    for one, two in map(sorted, place):
        for three in (other for other in beside[one] & beside[two] if other > two):
            edges = tuple(place[frozenset(edge)] for edge in ((one, two), (two, three), (one, three)))
            first, second, third = (single[edge] for edge in edges)
            table = first.joined_with(second).joined_with(third)
            if table.cells <= most and table.weight <= first.weight + second.weight + third.weight:
                found.append((sum(edges), edges, table))
    used: set[int] = set()
    views = []
    for _, edges, table in sorted(found, key=lambda each: each[:2]):
        if used.isdisjoint(edges):
            used.update(edges)
            views.append(table)
    return views, [number for number in range(len(single)) if number not in used]


def covering(
    blocks: Sequence[Sequence[int]], levels: Mapping[int, int], sizes: Sizes, power: float = 0.5
) -> list[View]:
    """One view for each block of variables, for all pairs in it."""
    views = []
    for block in blocks:
        parts = tuple(Parent(variable, levels[variable]) for variable in sorted(block))
        pairs = tuple((one, two) for i, one in enumerate(parts) for two in parts[i + 1 :])
        views.append(View(parts, pairs, sizes, power))
    return views


def price(views: Sequence[View]) -> float:
    """The sum of the weights: to the power 1 / `power`, the noise of all pairs for a cell's noise of 1."""
    return sum(view.weight for view in views)


def averaged(views: Sequence[View]) -> list[float]:
    """The areas of tables, each of whose columns is known as well as all of them together tell it.

    >>> sizes = [[2]] * 3
    >>> pairs = [view_of((Parent(a), Parent(b)), sizes) for a, b in ((0, 1), (0, 2), (1, 2))]
    >>> [round(area, 2) for area in averaged(pairs)]  # of four cells one is told once, two are told twice
    [2.83, 2.83, 2.83]
    """
    often = Counter(variable for view in views for variable in view.levels)
    return [
        sqrt(view.cells)
        * sum(
            sqrt(
                noisy_cells(pair, view.sizes, GAUSSIAN)
                + sum((view.sizes[at][level] - 1) / often[at] for at, level in pair)
            )
            for pair in view.pairs
        )
        for view in views
    ]


def beside_columns(sizes: Sequence[int], alone: Sequence[float]) -> float:
    """The area of all pairs under rho, each without its columns, beside tables of these.

    The areas of columns `alone` decide what they are paid. The noise of a pair has three parts, independent
    of one another: its own and that of each of its columns.

    >>> round(beside_columns([2, 2, 2], [2.0, 2.0, 2.0]), 1)
    15.7
    """
    groups = np.array(sizes, dtype=np.float64)
    one, two = np.triu_indices(len(sizes), 1)
    own = (groups[one] - 1) * (groups[two] - 1)
    weights = np.array(alone) ** GAUSSIAN
    total = float((own**GAUSSIAN).sum() + weights.sum())
    columns = (
        groups * (groups - 1) * total / np.maximum(weights, _NOTHING)
    )  # squared, of a pair of the column
    squared = own ** (2 - GAUSSIAN) * total + columns[one] + columns[two]
    return float(np.sqrt(squared).sum())


def shares(weights: Sequence[float]) -> list[Fraction]:
    """Exact shares in proportion to the weights (to six digits)."""
    whole = [max(1, isqrt(int(weight * weight * 10**12))) for weight in weights]
    return [Fraction(part, sum(whole)) for part in whole]


def noisy_cells(parts: ParentSet, sizes: Sizes, power: float) -> int:
    """The cells whose noise counts: of a pair under rho as many as it has directions of its own.

    >>> pair = (Parent(0), Parent(1))
    >>> noisy_cells(pair, [[4], [3]], 0.5), noisy_cells(pair, [[4], [3]], GAUSSIAN)
    (12, 6)
    """
    less = int(power == GAUSSIAN and len(parts) == 2)
    return prod(max(1, sizes[variable][level] - less) for variable, level in parts)
