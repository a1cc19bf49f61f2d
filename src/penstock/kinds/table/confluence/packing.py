"""Views: which pairs are counted in one table, and how the budget is divided over the tables.

A pair p with c_p cells inside a table b with c_b cells comes out with the noise of a cell of b times about
sqrt(c_b / c_p) in each of its cells, in all times sqrt(c_b c_p). Summed over the pairs of the table that is
A_b times the noise of a cell, with A_b = sqrt(c_b) * sum of sqrt(c_p). Under a fixed total the sum over all
tables is smallest when the part of b is in proportion to A_b to a power that depends on the kind of noise
(`tiers`): 1/2 for Laplace noise, 2/3 for Gaussian. These are the weights of tables, and their sum is the
price of a set of views; pairs that share attributes are put into one table when that lowers it.
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
    power: float = 0.5

    @cached_property
    def cells(self) -> int:
        return prod(self.sizes[variable][level] for variable, level in self.parts)

    @cached_property
    def weight(self) -> float:
        """The part of the budget that the table should get, up to a common factor."""
        area = sqrt(self.cells) * sum(sqrt(_cells(pair, self.sizes)) for pair in self.pairs)
        return float(area**self.power)

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
    """Views for these pairs, joined as long as that lowers the price."""
    views = {number: view_of(pair, sizes, power) for number, pair in enumerate(pairs)}
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


def shares(weights: Sequence[float]) -> list[Fraction]:
    """Exact shares in proportion to the weights (to six digits)."""
    whole = [max(1, isqrt(int(weight * weight * 10**12))) for weight in weights]
    return [Fraction(part, sum(whole)) for part in whole]


def _cells(parts: ParentSet, sizes: Sizes) -> int:
    return prod(sizes[variable][level] for variable, level in parts)
