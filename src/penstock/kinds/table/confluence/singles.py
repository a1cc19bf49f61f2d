"""What all views together say about single attributes and about the number of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.confluence.limits import LIMITS, Limits
from penstock.kinds.table.confluence.plausible import Noisy, plausible
from penstock.kinds.table.confluence.smoothing import smoothed
from penstock.kinds.table.network.conditionals import Measured, added_up, between, grouped
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import Parent
from penstock.postprocessing import clamped, onto_simplex, weighted_mean

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Singles:
    """Views of a table, and what they say about its columns one by one."""

    variables: tuple[Variable, ...]
    views: Sequence[Measured]
    public_total: float | None = None
    limits: Limits = LIMITS
    before: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """For some variables those that must come before them in the order, because rules link them."""

    ordered: frozenset[int] = frozenset()
    """Variables whose codes have an order, so that neighbours are likely to be alike."""

    cleared: Callable[[Sequence[Measured]], Sequence[Measured]] = list
    """Views without what no record can be in; those that are given are without it already."""

    @cached_property
    def total(self) -> float:
        """The number of records, from every view."""
        if self.public_total is not None:
            return self.public_total
        views = [view for view in self.views if not view.together]
        sums = [float(view.counts.sum()) for view in views]
        return max(0.0, weighted_mean(sums, [max(view.total_variance, 1e-12) for view in views]))

    @cached_property
    def shares(self) -> list[Reals]:
        """The distribution of each variable: least squares over all views, then what is plausible."""
        if self.total <= 0:
            return [np.full(variable.size, 1 / variable.size) for variable in self.variables]
        noisy = self._columns
        if self.limits.repair == "clamp":
            found = [clamped(each.counts, 1.0) for each in noisy]
        elif self.limits.repair == "project":
            found = [onto_simplex(each.counts, self.total) / self.total for each in noisy]
        else:
            found = plausible(noisy, self.total)
        return [self._spread(number, share) for number, share in enumerate(found)]

    def _spread(self, number: int, shares: Reals) -> Reals:
        """The shares of groups in which a variable was counted at best, evenly over their codes."""
        if len(shares) == self.variables[number].size:
            return shares
        groups = self.variables[number].levels[self._finest[number]].lookup
        return np.asarray(shares[groups] / np.bincount(groups)[groups])

    @cached_property
    def _of_columns(self) -> list[Measured]:
        """The views that say something about single columns."""
        return [view for view in self.views if len(view.parts) == 1 or not view.together]

    @cached_property
    def _finest(self) -> list[int]:
        """The finest level at which any view sees each variable."""
        levels = [len(variable.levels) for variable in self.variables]
        for view in self._of_columns:
            for number, level in view.parts:
                levels[number] = min(levels[number], level)
        return levels

    @cached_property
    def _columns(self) -> list[Noisy]:
        columns = [self._noisy(number) for number in range(len(self.variables))]
        for number in self.ordered if self.limits.smooth else ():
            counts, deviation = smoothed(columns[number].counts, columns[number].deviation)
            columns[number] = replace(columns[number], counts=counts, deviation=deviation)
        return columns

    def _noisy(self, number: int) -> Noisy:
        """Levels are nested, so all that views say about a variable is about the groups of the finest one.

        What is said of codes is about the groups of the finest level that any view sees. The codes within
        a group share the difference to its least-squares total evenly, which is the exact solution: only the
        one-way counts, all equally noisy, look inside.
        """
        variable = self.variables[number]
        seen = [
            (view, level) for view in self._of_columns if (level := dict(view.parts).get(number)) is not None
        ]
        base = self._finest[number]
        alone = [(view, level) for view, level in seen if len(view.parts) == 1 and level == base]
        if len(alone) == len(seen) or (alone and not self.limits.consistent):
            return self._adding_up(self._pooled(alone), self._left(alone))
        finest = min(level for view, level in seen if (view, level) not in alone)
        groups = variable.sizes[finest]
        own, wanted = np.zeros(groups), np.zeros(groups)
        coarser: list[tuple[NDArray[np.int64], float]] = []
        for view, level in seen:
            sums = added_up(
                view.counts.astype(np.float64), view.parts, (Parent(number, level),), self.variables
            )
            variance = max(view.deviation**2 * view.counts.size / sums.size, 1e-12)
            if level <= finest:
                codes = between(variable, level, finest)
                members = np.bincount(codes)
                own += 1 / (variance * members)
                wanted += grouped(sums, 0, codes) / (variance * members)
            else:
                inside = between(variable, finest, level)
                coarser.append((inside, variance))
                wanted += sums[inside] / variance
        totals, variances = _least_squares(own, coarser, wanted)
        if finest == base:
            return self._adding_up(totals, sqrt(float(variances.mean())))
        groups_of = between(variable, base, finest)
        counts = self._pooled(alone)
        missing = totals - np.bincount(groups_of, counts)
        return self._adding_up(counts + (missing / np.bincount(groups_of))[groups_of], self._left(alone))

    def _pooled(self, alone: Sequence[tuple[Measured, int]]) -> Reals:
        """One-way counts of the same variable, averaged by their precision."""
        precision = [1 / max(view.deviation**2, 1e-12) for view, _ in alone]
        sums = sum(p * view.counts for p, (view, _) in zip(precision, alone, strict=True))
        return np.asarray(sums / sum(precision), dtype=np.float64)

    def _left(self, alone: Sequence[tuple[Measured, int]]) -> float:
        """The deviation of their average."""
        return sqrt(1 / sum(1 / max(view.deviation**2, 1e-12) for view, _ in alone))

    def _adding_up(self, counts: Reals, deviation: float) -> Noisy:
        gaussian = any(view.gaussian for view in self.views)
        return Noisy(counts + (self.total - counts.sum()) / len(counts), deviation, gaussian)

    def _at(self, part: Parent) -> Reals:
        shares = self.shares[part.variable]
        return (
            shares
            if part.level == 0
            else grouped(shares, 0, self.variables[part.variable].levels[part.level].lookup)
        )


def _least_squares(
    own: Reals, coarser: Sequence[tuple[NDArray[np.int64], float]], wanted: Reals
) -> tuple[Reals, Reals]:
    """Counts and their variances, from what is said of each of them and of groups of them.

    Columns may have a hundred thousand codes: there is no matrix where nothing is said of groups.
    """
    if not coarser:
        return wanted / own, 1 / own
    weights = np.diag(own)
    for inside, variance in coarser:
        weights += (inside[:, None] == inside[None, :]) / variance
    inverse = np.linalg.inv(weights)
    return np.asarray(np.linalg.solve(weights, wanted), dtype=np.float64), np.diag(inverse)
