"""From noisy views to a network: order, parents and conditional tables, without touching a record.

The views say how strongly every two attributes seem to depend on each other, beyond what the noise
alone would show. Attributes are put in the order of their ties; each takes the attributes before it
to which it is tied most, as far as a table has room; and the joint table of each such family is the
one of maximum entropy that agrees with everything that was counted about it (`entropy`). Families can
therefore be far larger than any table that was paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import hypot, prod, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.confluence.entropy import RIDGE, STEPS, Constraint, fitted
from penstock.kinds.table.confluence.implied import averaged, implied
from penstock.kinds.table.confluence.plausible import Noisy, plausible
from penstock.kinds.table.confluence.smoothing import smoothed
from penstock.kinds.table.network.conditionals import (
    Measured,
    Repair,
    added_up,
    between,
    conditional,
    grouped,
)
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent, ParentSet
from penstock.kinds.table.network.ruled import next_ones
from penstock.postprocessing import clamped, onto_simplex, weighted_mean

Reals = NDArray[np.float64]

MOST_STORED = 1 << 20
"""Cells of the conditional table of a family, with all codes of the child."""

TIES = 4
"""An attribute's place in the order depends on this many of its strongest ties to those before it."""

_MEAN = 0.8  # mean absolute value of a normal variable, in standard deviations
_SPREAD = 0.75  # the standard deviation of that absolute value over its mean


@dataclass(frozen=True)
class Limits:
    """How large families may be, and how far noisy counts are trusted.

    A family has at most `cells` cells, or `clear` times the records over the noise of a count where that is
    more, up to `most`. A tie counts when it is `hint` standard deviations above what noise and chance alone
    would show; attributes that nothing else connects are connected only by ties that are `doubt` of them
    above. `ridge` and `steps` are those of `entropy.fitted`. The distribution of one attribute
    comes from all views that see it (`consistent`) or from its one-way counts alone, is made smooth where its
    codes have an order (`smooth`), and is then made plausible (`plausible`), projected onto the simplex or
    has its negatives cut off.
    """

    parents: int = 12
    cells: int = 4096
    clear: float = 0.3
    most: int = 1 << 16
    together: int = 1 << 20
    hint: float = 0.0
    doubt: float = 2.0
    ridge: float = RIDGE
    steps: int = STEPS
    smooth: bool = True
    consistent: bool = True
    repair: Repair | Literal["plausible"] = "plausible"


LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Assembly:
    """All that is known about a table once its views are counted."""

    variables: tuple[Variable, ...]
    views: Sequence[Measured]
    public_total: float | None = None
    limits: Limits = LIMITS
    before: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """For some variables those that must come before them in the order, because rules link them."""

    ordered: frozenset[int] = frozenset()
    """Variables whose codes have an order, so that neighbours are likely to be alike."""

    @cached_property
    def total(self) -> float:
        """The number of records, from every view."""
        if self.public_total is not None:
            return self.public_total
        sums = [float(view.counts.sum()) for view in self.views]
        return max(0.0, weighted_mean(sums, [max(view.total_variance, 1e-12) for view in self.views]))

    @cached_property
    def _reals(self) -> dict[int, Reals]:
        return {id(view): view.counts.astype(np.float64) for view in self.views}

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
    def _finest(self) -> list[int]:
        """The finest level at which any view sees each variable."""
        levels = [len(variable.levels) for variable in self.variables]
        for view in self.views:
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
        seen = [(view, level) for view in self.views if (level := dict(view.parts).get(number)) is not None]
        base = self._finest[number]
        alone = [(view, level) for view, level in seen if len(view.parts) == 1 and level == base]
        if len(alone) == len(seen) or (alone and not self.limits.consistent):
            return self._adding_up(self._pooled(alone), self._left(alone))
        finest = min(level for view, level in seen if (view, level) not in alone)
        groups = variable.sizes[finest]
        weights, wanted = np.zeros((groups, groups)), np.zeros(groups)
        for view, level in seen:
            sums = added_up(
                view.counts.astype(np.float64), view.parts, (Parent(number, level),), self.variables
            )
            variance = max(view.deviation**2 * view.counts.size / sums.size, 1e-12)
            if level < finest:
                codes = between(variable, level, finest)
                members = np.bincount(codes)
                weights += np.diag(1 / (variance * members))
                wanted += grouped(sums, 0, codes) / (variance * members)
            else:
                inside = between(variable, finest, level)
                weights += (inside[:, None] == inside[None, :]) / variance
                wanted += sums[inside] / variance
        totals = np.asarray(np.linalg.solve(weights, wanted), dtype=np.float64)
        if finest == base:
            return self._adding_up(totals, sqrt(float(np.diag(np.linalg.inv(weights)).mean())))
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

    def expected(self, one: Parent, two: Parent) -> Reals:
        """The counts of a pair if it were independent."""
        return self.total * np.multiply.outer(self._at(one), self._at(two))

    def passed_on(self, pairs: Sequence[ParentSet], finest: Sequence[int]) -> dict[tuple[int, int], Reals]:
        """The counts of all pairs at these levels if some of them, a tree, told everything (`implied`)."""
        given = {}
        for one, two in ((a.variable, b.variable) for a, b in pairs):
            for first, second in ((one, two), (two, one)):
                if (second, first) in self.ties:
                    seen = self.ties[second, first][1]
                    table = self._table(Pair(second, (Parent(first, seen),)))
                    columns = self.variables[second].levels[finest[second]].lookup
                    codes = grouped(table, 1, columns)[self.variables[first].levels[seen].lookup]
                    rows = self.variables[first].levels[finest[first]].lookup
                    given[first, second] = averaged(codes, self.shares[first], rows)
        shares = [self._at(Parent(number, level)) for number, level in enumerate(finest)]
        return {couple: self.total * joint for couple, joint in implied(shares, given).items()}

    def _at(self, part: Parent) -> Reals:
        shares = self.shares[part.variable]
        return (
            shares
            if part.level == 0
            else grouped(shares, 0, self.variables[part.variable].levels[part.level].lookup)
        )

    def apparent(self, one: Parent, two: Parent) -> float:
        """About the gap of an independent pair: chance, and the noise of what is expected.

        Of n records a cell with the shares p and q on its sides holds n p q, give or take the square root of
        n p (1 - p) q (1 - q), and the sum of the roots is a product.
        """
        chance = self._chances[one] * self._chances[two] * sqrt(self.total)
        return hypot(_MEAN * chance, self.blurred(one, two))

    def blurred(self, one: Parent, two: Parent) -> float:
        """About the gap that the noise of the one-way counts alone would show: no record is behind it."""
        return _MEAN * hypot(self._errors[one], self._errors[two])

    @cached_property
    def _parts(self) -> list[Parent]:
        return [
            Parent(number, level)
            for number, variable in enumerate(self.variables)
            for level in range(len(variable.levels))
        ]

    @cached_property
    def _chances(self) -> dict[Parent, float]:
        shares = {part: self._at(part) for part in self._parts}
        return {part: float(np.sqrt(np.maximum(p * (1 - p), 0)).sum()) for part, p in shares.items()}

    @cached_property
    def _errors(self) -> dict[Parent, float]:
        """The deviations of the groups of a variable, added up."""
        return {
            Parent(number, level): self._columns[number].deviation
            * sqrt(len(self._columns[number].counts) * (groups - 1))
            for number, variable in enumerate(self.variables)
            for level, groups in enumerate(variable.sizes)
        }

    @property
    def _clearest(self) -> Iterator[tuple[Measured, Parent, Parent]]:
        """The views of each pair of variables; where all pairs have tables of their own, these alone.

        Triples that were counted beside them would have luck look at every pair many times.
        """
        own = {frozenset(part.variable for part in view.parts) for view in self.views if len(view.parts) == 2}
        all_ = len(own) == len(self.variables) * (len(self.variables) - 1) // 2
        for view in self.views:
            for one, two in combinations(view.parts, 2) if len(view.parts) == 2 or not all_ else ():
                yield view, one, two

    @cached_property
    def ties(self) -> dict[tuple[int, int], tuple[float, int]]:
        """For (child, parent) the strength beyond noise, and the finest level at which it was seen."""
        seen: list[tuple[Parent, Parent]] = []
        excess: list[float] = []
        deviation: list[float] = []
        for view, one, two in self._clearest:
            counts = added_up(self._reals[id(view)], view.parts, (one, two), self.variables)
            away = counts - self.expected(one, two)
            # what is left of it is about dependence; rows and columns as such only add noise
            away -= away.mean(axis=0) + away.mean(axis=1, keepdims=True) - away.mean()
            free = max(1, (counts.shape[0] - 1) * (counts.shape[1] - 1))
            noise = _MEAN * view.deviation * sqrt(view.counts.size * free)
            alone = hypot(noise, self.apparent(one, two))
            seen.append((one, two))
            excess.append(float(np.abs(away).sum()) - alone)
            deviation.append(max(alone * _SPREAD / sqrt(free), 1e-9))
        likely, doubt = believed(np.array(excess), np.array(deviation))
        found: dict[tuple[int, int], tuple[float, int]] = {}
        group = np.arange(len(self.variables))
        for (one, two), strength, deviations in zip(
            seen, likely / (2 * max(self.total, 1.0)), likely / doubt, strict=True
        ):
            if strength <= 0 or deviations <= self.limits.hint:
                continue
            if deviations > self.limits.doubt:
                group[group == group[one.variable]] = group[two.variable]
            for child, parent in ((one, two), (two, one)):
                known = found.get((child.variable, parent.variable), (0.0, parent.level))
                found[child.variable, parent.variable] = (
                    max(known[0], float(strength)),
                    min(known[1], parent.level),
                )
        return {pair: tie for pair, tie in found.items() if group[pair[0]] == group[pair[1]]}

    def order(self) -> list[int]:
        """The variable with the strongest ties first, then always the one that is tied most to these."""
        strength = {
            number: sum(tie for (child, _), (tie, _) in self.ties.items() if child == number)
            for number in range(len(self.variables))
        }
        count = len(self.variables)
        there = [min(next_ones(count, self.before, ()), key=lambda number: (-strength[number], number))]
        while len(there) < count:

            def tied(number: int) -> float:
                ties = sorted((self.ties.get((number, other), (0.0, 0))[0] for other in there), reverse=True)
                return sum(ties[:TIES])

            there.append(
                min(next_ones(count, self.before, there), key=lambda number: (-tied(number), number))
            )
        return there

    def network(self) -> Network:
        """The network and its conditional tables."""
        pairs, tables = [], []
        there: list[int] = []
        for child in self.order():
            pair = Pair(child, self._parents(child, there))
            pairs.append(pair)
            tables.append(self._table(pair))
            there.append(child)
        return Network(self.variables, tuple(pairs), tuple(tables))

    def _parents(self, child: int, there: Sequence[int]) -> ParentSet:
        """The strongest ties first, each at the level of its count, or coarser for lack of room."""
        tied = sorted(
            (other for other in there if (child, other) in self.ties),
            key=lambda other: (-self.ties[child, other][0], other),
        )
        chosen: list[Parent] = []
        cells = self.variables[child].sizes[self._level(child, tied)]
        stored = self.variables[child].size
        for other in tied:
            if len(chosen) == self.limits.parents:
                break
            sizes = self.variables[other].sizes
            levels = [
                level
                for level in range(self.ties[child, other][1], len(sizes))
                if cells * sizes[level] <= self.limits.cells and stored * sizes[level] <= MOST_STORED
            ]
            if levels:
                chosen.append(Parent(other, levels[0]))
                cells *= sizes[levels[0]]
                stored *= sizes[levels[0]]
        return tuple(chosen)

    def _level(self, child: int, others: Sequence[int]) -> int:
        """The finest level at which a child was seen together with any of these."""
        return min((self.ties[other, child][1] for other in others), default=0)

    def _table(self, pair: Pair) -> Reals:
        """Of a child given its parents; within a group of its codes that no view told apart, as alone."""
        child = Parent(pair.child, self._level(pair.child, [parent.variable for parent in pair.parents]))
        if not pair.parents:
            return self.shares[pair.child][None, :]
        family = (child, *pair.parents)
        shape = [self.variables[variable].sizes[level] for variable, level in family]
        codes = np.indices(shape, dtype=np.int64).reshape(len(family), -1)
        base = np.ones(prod(shape))
        for axis, part in enumerate(family):
            base *= self._at(part)[codes[axis]]
        constraints = [
            found for view in self.views if (found := self._constraint(view, family, codes)) is not None
        ]
        joint = fitted(base, constraints, self.total, ridge=self.limits.ridge, steps=self.limits.steps)
        table = conditional(joint.reshape(shape), "back off")
        if child.level == 0:
            return table
        groups = self.variables[pair.child].levels[child.level].lookup
        mass = self._at(child)[groups]
        alone = 1 / np.bincount(groups)[groups]
        within = np.divide(self.shares[pair.child], mass, out=alone, where=mass > 0)
        return np.asarray(table[:, groups] * within)

    def _constraint(self, view: Measured, parts: ParentSet, codes: NDArray[np.int64]) -> Constraint | None:
        """What a view says about a family: its counts over the variables that they share."""
        levels = dict(parts)
        place = {part.variable: axis for axis, part in enumerate(parts)}
        shared = [part for part in view.parts if part.variable in levels]
        if not shared or (len(shared) == 1 and len(view.parts) > 1):
            return None
        seen = tuple(Parent(part.variable, max(part.level, levels[part.variable])) for part in shared)
        counts = added_up(self._reals[id(view)], view.parts, seen, self.variables)
        cells = np.zeros(codes.shape[1], dtype=np.int64)
        for variable, level in seen:
            own = codes[place[variable]]
            if level != levels[variable]:
                own = between(self.variables[variable], levels[variable], level)[own]
            cells = cells * self.variables[variable].sizes[level] + own
        flat = counts.ravel()
        deviation = view.deviation * sqrt(view.counts.size / flat.size)
        return Constraint(cells, flat + (self.total - flat.sum()) / flat.size, deviation)


def believed(seen: Reals, deviation: Reals) -> tuple[Reals, Reals]:
    """What numbers probably are that were seen with noise, and how uncertain that is.

    They are taken to scatter around a mean that is learned from all of them: one number that is large among
    many that are not has to stand for itself, while many that are all a little above zero vouch for each
    other. The uncertainty is that of the number, and of the mean so far as it leans on that.

    >>> alone, many = np.array([2.0, 0, 0, 0]), np.full(100, 2.0)
    >>> for seen in (alone, many):
    ...     value, doubt = believed(seen, np.ones_like(seen))
    ...     print(f"{value[0]:.1f} {doubt[0]:.1f}")
    0.5 0.5
    2.0 0.1
    """
    if not len(seen):
        return seen, seen
    noise = deviation**2
    weights = 1 / (noise + max(0.0, float(np.var(seen) - noise.mean())))
    mean = float((weights * seen).sum() / weights.sum())
    scatter = max(0.0, float(((seen - mean) ** 2 - noise).mean()))
    leaning = noise / (noise + scatter)
    return seen + leaning * (mean - seen), np.sqrt(leaning * scatter + leaning**2 / weights.sum())
