"""Views: which pairs are counted in one table, and how the budget is divided over the tables.

A pair p with c_p cells inside a table b with c_b cells and budget e_b comes out with noise of about
sqrt(c_b / c_p) / e_b in each of its cells, in all sqrt(c_b c_p) / e_b. Summed over the pairs of the
table that is A_b / e_b with A_b = sqrt(c_b) * sum of sqrt(c_p). Under a fixed total the sum of A_b / e_b is
smallest for e_b proportional to sqrt(A_b), and is then (sum of sqrt(A_b))² / e. So the sum of sqrt(A_b) is
the price of a set of views; pairs that share attributes are put into one table when that lowers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt, prod, sqrt

from penstock.kinds.table.network.parents import Parent, ParentSet

MOST_CELLS = 1024
"""The largest table that several pairs are put into."""

Sizes = Sequence[Sequence[int]]
"""For each variable its number of groups at each level."""


@dataclass(frozen=True)
class View:
    """A table to be counted, and the pairs that it is counted for."""

    parts: ParentSet
    pairs: tuple[ParentSet, ...]
    sizes: Sizes

    @cached_property
    def cells(self) -> int:
        return prod(self.sizes[variable][level] for variable, level in self.parts)

    @cached_property
    def weight(self) -> float:
        """sqrt(A_b): the budget that the table should get, up to a common factor."""
        return sqrt(sqrt(self.cells) * sum(sqrt(_cells(pair, self.sizes)) for pair in self.pairs))

    @cached_property
    def levels(self) -> dict[int, int]:
        return dict(self.parts)

    def joined_with(self, other: View) -> View:
        """One table for the pairs of both."""
        levels = dict(self.levels)
        for variable, level in other.parts:
            levels[variable] = min(level, levels.get(variable, level))
        parts = tuple(Parent(variable, level) for variable, level in sorted(levels.items()))
        return View(parts, (*self.pairs, *other.pairs), self.sizes)


def view_of(pair: ParentSet, sizes: Sizes) -> View:
    return View(tuple(sorted(pair)), (pair,), sizes)


def packed(pairs: Sequence[ParentSet], sizes: Sizes, most: int = MOST_CELLS) -> list[View]:
    """Views for these pairs, joined as long as that lowers the price."""
    views = {number: view_of(pair, sizes) for number, pair in enumerate(pairs)}
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


def covering(blocks: Sequence[Sequence[int]], levels: Mapping[int, int], sizes: Sizes) -> list[View]:
    """One view for each block of variables, for all pairs in it."""
    views = []
    for block in blocks:
        parts = tuple(Parent(variable, levels[variable]) for variable in sorted(block))
        pairs = tuple((one, two) for i, one in enumerate(parts) for two in parts[i + 1 :])
        views.append(View(parts, pairs, sizes))
    return views


def price(views: Sequence[View]) -> float:
    """The sum of sqrt(A_b): its square over the budget is the expected noise of all pairs together."""
    return sum(view.weight for view in views)


def shares(weights: Sequence[float]) -> list[Fraction]:
    """Exact shares in proportion to the weights (to six digits)."""
    whole = [max(1, isqrt(int(weight * weight * 10**12))) for weight in weights]
    return [Fraction(part, sum(whole)) for part in whole]


def _cells(parts: ParentSet, sizes: Sizes) -> int:
    return prod(sizes[variable][level] for variable, level in parts)
