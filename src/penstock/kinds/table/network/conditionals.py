"""Noisy marginals, and the conditional tables made of them.

Guarantee: the marginals that are counted cost what their parts of the budget are, together the whole.
Why: a record lies in one cell of a marginal, so each table of counts has L1 sensitivity 1 (2 under
replace) for each record of a unit and gets discrete Laplace noise for its part of the budget, or discrete
Gaussian noise by its L2 sensitivity where it is paid in rho. What
follows, adding up to smaller marginals and to coarser levels, normalising, touches no records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.data import Table
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import ParentSet
from penstock.privacy.budgets.accounting import sigma_squared
from penstock.privacy.budgets.budget import Budget, Rho
from penstock.privacy.mechanisms import noise

Reals = NDArray[np.float64]
Repair = Literal["clamp", "project"]
"""How noisy counts become a distribution: negative ones cut off, or the nearest point of the simplex."""

Empty = Literal["back off", "uniform"]
"""What is drawn given parents that were never seen: see `conditional`."""

ROUNDED = sqrt(1 / 12)
"""The deviation of what rounding to whole numbers changes."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Counts of a marginal with noise: one axis for each part, and the noise's standard deviation.

    The noise is discrete Laplace, or discrete Gaussian where `gaussian` says so, or nearly that: an entry of
    a noisy matrix of products is a sum of many terms. What is computed from such counts to make a model of,
    and never saved, may be fractions (`spectrum`).

    A table may tell only what its columns have `together`: what any fewer of them have, and how many records
    there are, is in it as other tables tell it, and known no better by this one (`confluence.products`,
    `confluence.contrasts`).
    """

    parts: ParentSet
    counts: NDArray[np.int64] | Reals
    deviation: float
    gaussian: bool = False
    together: bool = False

    @property
    def total_variance(self) -> float:
        """Of the sum of all counts."""
        return self.counts.size * self.deviation**2


def measure(
    table: Table,
    variables: Sequence[Variable],
    marginals: Sequence[ParentSet],
    budgets: Sequence[Budget | Rho],
) -> list[Measured]:
    """The counts of each marginal with the noise that its budget pays for: Gaussian where that is rho."""
    sealed = table.counts(
        [tuple(variables[variable].column(level) for variable, level in parts) for parts in marginals]
    )
    found = []
    for parts, counts, pay in zip(marginals, sealed, budgets, strict=True):
        sizes = tuple(variables[variable].sizes[level] for variable, level in parts)
        if isinstance(pay, Rho):
            deviation = sqrt(sigma_squared(pay.left, counts.sensitivity.l2_squared))
            noisy = noise.gaussian(counts, pay=pay)
        else:
            deviation = noise.standard_deviation(counts.sensitivity.l1, pay.epsilon)
            noisy = noise.counts(counts, pay=pay)
        found.append(Measured(parts, noisy.reshape(sizes), deviation, isinstance(pay, Rho)))
    return found


def added_up(values: Reals, parts: ParentSet, wanted: ParentSet, variables: Sequence[Variable]) -> Reals:
    """A joint table over `parts` summed to the axes and levels of `wanted`, in that order."""
    places = {part.variable: axis for axis, part in enumerate(parts)}
    levels = dict(parts)
    keep = [places[part.variable] for part in wanted]
    drop = tuple(axis for axis in range(len(parts)) if axis not in keep)
    table = values.sum(axis=drop) if drop else values
    remaining = [axis for axis in range(len(parts)) if axis not in drop]
    table = np.transpose(table, [remaining.index(axis) for axis in keep])
    for axis, (variable, level) in enumerate(wanted):
        if levels[variable] != level:
            table = grouped(table, axis, between(variables[variable], levels[variable], level))
    return table


def between(variable: Variable, fine: int, coarse: int) -> NDArray[np.int64]:
    """The group at the coarse level for each group of the finer one."""
    lookup = np.zeros(variable.levels[fine].size, dtype=np.int64)
    lookup[variable.levels[fine].lookup] = variable.levels[coarse].lookup
    return lookup


def grouped(values: Reals, axis: int, groups: NDArray[np.int64]) -> Reals:
    """The sums over the groups along one axis."""
    size = int(groups.max()) + 1
    moved = np.moveaxis(values, axis, 0)
    sums = np.zeros((size, *moved.shape[1:]))
    np.add.at(sums, groups, moved)
    return np.moveaxis(sums, 0, axis)


def conditional(joint: Reals, empty: Empty) -> Reals:
    """The distribution of the first axis given the others; rows are configurations, columns the child.

    A configuration without mass takes the distribution given fewer of its parents, dropping the last
    one first (`back off`), or the uniform one as the authors' code does.

    >>> conditional(np.array([[3.0, 0.0], [1.0, 0.0]]), "back off").tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    child = joint.shape[0]
    rows = np.moveaxis(joint, 0, -1).reshape(-1, child)
    table = np.full(rows.shape, 1 / child)
    waiting = np.ones(len(rows), dtype=np.bool_)
    axes = list(joint.shape[1:])
    while True:
        mass = rows.sum(axis=1)
        repeats = len(table) // len(rows)
        usable = waiting & np.repeat(mass > 0, repeats)
        shares = rows / np.where(mass > 0, mass, 1.0)[:, None]
        table[usable] = np.repeat(shares, repeats, axis=0)[usable]
        waiting &= ~usable
        if empty == "uniform" or not axes or not waiting.any():
            return table
        rows = rows.reshape(-1, axes.pop(), child).sum(axis=1)
