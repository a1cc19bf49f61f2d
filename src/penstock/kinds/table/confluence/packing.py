"""Views: which pairs are counted in one table, and how the budget is divided over the tables.

A pair p with c_p cells inside a table b with c_b cells comes out with the noise of a cell of b times about
sqrt(c_b / c_p) in each of its cells, in all times sqrt(c_b c_p). Summed over the pairs of the table that is
A_b times the noise of a cell, with A_b = sqrt(c_b) * sum of sqrt(c_p). Under a fixed total the sum over all
tables is smallest when the part of b is in proportion to A_b to a power that depends on the kind of noise
(`tiers`): 1/2 for Laplace noise, 2/3 for Gaussian. These are the weights of tables, and their sum is the
price of a set of views; pairs that share attributes are put into one table when that lowers it. All three
pairs of three attributes are put into one when that does not raise it: for the same price their table says
what no pair can, how the three hang together. Two of them with the third left out would rarely be.
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


def shares(weights: Sequence[float]) -> list[Fraction]:
    """Exact shares in proportion to the weights (to six digits)."""
    whole = [max(1, isqrt(int(weight * weight * 10**12))) for weight in weights]
    return [Fraction(part, sum(whole)) for part in whole]


def _cells(parts: ParentSet, sizes: Sizes) -> int:
    return prod(sizes[variable][level] for variable, level in parts)
