"""Sums of products of tables: exact inference by eliminating one variable after another.

A factor is a table over some numbered variables. The joint weight of an assignment is the product of
all factors; here it is summed over everything that nobody asked for. Eliminating a variable multiplies
the factors that mention it and sums it out; the order is chosen greedily by the size of the table that
arises. Whether that stays small depends on the public shape of the factors only, so it is known before
anything is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Sizes = Mapping[int, int]

MOST_CELLS = 1 << 22
"""The largest table that elimination may build: 32 MiB."""


class TooWideError(Exception):
    """Exact inference would need a table beyond the limit."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A table with one axis for each of its variables."""

    variables: tuple[int, ...]
    values: Reals

    def over(self, variables: Sequence[int]) -> Reals:
        """The table with an axis for each of `variables` in that order, of length 1 where it has none."""
        present = [variable for variable in variables if variable in self.variables]
        turned = np.transpose(self.values, [self.variables.index(variable) for variable in present])
        lengths = dict(zip(present, turned.shape, strict=True))
        return turned.reshape([lengths.get(variable, 1) for variable in variables])


@dataclass(frozen=True)
class Step:
    """The elimination of one variable from the table over `scope`, in which it comes last."""

    variable: int
    scope: tuple[int, ...]


def plan(
    scopes: Sequence[Collection[int]], sizes: Sizes, keep: Collection[int], limit: int = MOST_CELLS
) -> list[Step]:
    """An order in which to eliminate all variables but `keep`; TooWideError if a table exceeds the limit.

    >>> [step.variable for step in plan([(0, 1), (1, 2)], {0: 2, 1: 3, 2: 4}, keep=[2])]
    [0, 1]
    """
    kept = set(keep)
    if prod(sizes[variable] for variable in kept) > limit:
        raise TooWideError
    current = [set(scope) for scope in scopes]
    left = set().union(*current) - kept if current else set()
    neighbours = {variable: set().union(*(s for s in current if variable in s)) for variable in left}
    steps: list[Step] = []
    while left:
        cost = {variable: prod(sizes[other] for other in neighbours[variable]) for variable in left}
        variable = min(left, key=lambda each: (cost[each], each))
        if cost[variable] > limit:
            raise TooWideError
        rest = neighbours.pop(variable) - {variable}
        steps.append(Step(variable, (*sorted(rest), variable)))
        left.remove(variable)
        for other in rest & left:
            neighbours[other] = (neighbours[other] | rest) - {variable}
    return steps


def run(factors: Sequence[Factor], steps: Sequence[Step], sizes: Sizes) -> tuple[list[Reals], list[Factor]]:
    """The table from which each step summed its variable out, and the factors that are left."""
    pool = list(factors)
    tables: list[Reals] = []
    for step in steps:
        mine = [factor for factor in pool if step.variable in factor.variables]
        pool = [factor for factor in pool if step.variable not in factor.variables]
        table = product(mine, step.scope, sizes)
        tables.append(table)
        pool.append(Factor(step.scope[:-1], table.sum(axis=-1)))
    return tables, pool


def product(factors: Sequence[Factor], variables: Sequence[int], sizes: Sizes) -> Reals:
    """The product of the factors as one table over `variables`."""
    table = np.ones([sizes[variable] for variable in variables])
    for factor in factors:
        table = table * factor.over(variables)
    return table


def sums(factors: Sequence[Factor], sizes: Sizes, keep: Sequence[int], limit: int = MOST_CELLS) -> Reals:
    """The sum of the product of all factors over everything but `keep`, one axis for each of these.

    >>> coin = Factor((0,), np.array([0.4, 0.6]))
    >>> copy = Factor((0, 1), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> sums([coin, copy], {0: 2, 1: 2}, keep=[1]).round(2).tolist()
    [0.48, 0.52]
    """
    steps = plan([factor.variables for factor in factors], sizes, keep, limit)
    return product(run(factors, steps, sizes)[1], keep, sizes)
