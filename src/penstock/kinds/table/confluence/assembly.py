"""From noisy views to a network: order, parents and conditional tables, without touching a record.

The views say how strongly every two attributes seem to depend on each other, beyond what the noise
alone would show. Attributes are put in the order of their ties; each takes the attributes before it
to which it is tied most, as far as a table has room; and the joint table of each such family is the
one of maximum entropy that agrees with everything that was counted about it (`entropy`). Families can
therefore be far larger than any table that was paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, permutations
from math import hypot, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.confluence.entropy import Constraint, fitted
from penstock.kinds.table.confluence.implied import averaged, implied, of_three
from penstock.kinds.table.confluence.singles import Singles
from penstock.kinds.table.network.conditionals import (
    Measured,
    added_up,
    between,
    conditional,
    grouped,
)
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent, ParentSet
from penstock.kinds.table.network.ruled import next_ones
from penstock.kinds.table.network.spectrum import InCommon, told
from penstock.postprocessing import onto_simplex

Reals = NDArray[np.float64]

MOST_STORED = 1 << 20
"""Cells of the conditional table of a family, with all codes of the child."""

TIES = 4
"""An attribute's place in the order depends on this many of its strongest ties to those before it."""

_SURE = 1e-6  # the deviation of a count without noise, at least
_MEAN = 0.8  # mean absolute value of a normal variable, in standard deviations
_SPREAD = 0.75  # the standard deviation of that absolute value over its mean


class Assembly(Singles):
    """All that is known about a table once its views are counted."""

    @cached_property
    def told(self) -> Sequence[Measured]:
        """The views, with what all pairs have in common where all were counted (`spectrum`)."""
        return self.cleared(told(self.views, self.variables, self.total))

    @cached_property
    def _anew(self) -> frozenset[ParentSet]:
        """The pairs that are told anew, by all that views say of them."""
        return frozenset(view.parts for view in self.told if isinstance(view, InCommon))

    @cached_property
    def _holding(self) -> dict[tuple[int, ...], list[int]]:
        """For each variable the places of the views of it alone, for every two those of views of both."""
        found: dict[tuple[int, ...], list[int]] = {}
        for place, view in enumerate(self.told):
            numbers = sorted(part.variable for part in view.parts)
            for some in combinations(numbers, min(2, len(numbers))):
                found.setdefault(some, []).append(place)
        return found

    def _views_of(self, variables: Iterable[int]) -> list[Measured]:
        """The views that tell of one of these alone, or of several together, in their order."""
        numbers = sorted(variables)
        some = [(number,) for number in numbers] + list(combinations(numbers, 2))
        places = {place for each in some for place in self._holding.get(each, ())}
        return [self.told[place] for place in sorted(places)]

    def expected(self, one: Parent, two: Parent) -> Reals:
        """The counts of a pair if it were independent."""
        return self.total * np.multiply.outer(self._at(one), self._at(two))

    def paired(self, one: Parent, two: Parent, unseen: Reals | None = None) -> Reals:
        """The counts of a pair, from all views that see it so finely.

        Where none does they are `unseen`, or those of an independent pair.
        """
        wanted, precision = np.zeros(()), 0.0
        for view in self._views_of((one.variable, two.variable)):
            seen = dict(view.parts)
            if all(seen.get(part.variable, part.level + 1) <= part.level for part in (one, two)):
                sums = added_up(_reals(view), view.parts, (one, two), self.variables)
                weight = sums.size / max(view.deviation**2 * view.counts.size, 1e-12)
                wanted, precision = wanted + weight * sums, precision + weight
        if not precision or self.total <= 0:
            return self.expected(one, two) if unseen is None else unseen
        return onto_simplex(wanted.ravel() / precision, self.total).reshape(wanted.shape)

    def passed_on(self, pairs: Sequence[ParentSet], finest: Sequence[int]) -> dict[tuple[int, int], Reals]:
        """The counts of all pairs at these levels if these told everything, the others along a tree of them.

        That tree has those first that come first (`implied`).
        """
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

    def spread(self, number: int, groups: int) -> float:
        """How far from independent a pair can be that this attribute, in so many groups, is one of.

        No further than it is from itself, which is the probability that two records differ in it.
        """
        sizes = self.variables[number].sizes
        level = next((level for level, size in enumerate(sizes) if size <= groups), len(sizes) - 1)
        return float(1 - np.square(self._at(Parent(number, level))).sum())

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
        own = {frozenset(part.variable for part in view.parts) for view in self.told if len(view.parts) == 2}
        all_ = len(own) == len(self.variables) * (len(self.variables) - 1) // 2
        for view in self.told:
            for one, two in combinations(view.parts, 2) if len(view.parts) == 2 or not all_ else ():
                yield view, one, two

    @cached_property
    def ties(self) -> dict[tuple[int, int], tuple[float, int]]:
        """For (child, parent) the strength beyond noise, and the finest level at which it was seen."""
        seen: list[tuple[Parent, Parent]] = []
        excess: list[float] = []
        deviation: list[float] = []
        for view, one, two in self._clearest:
            counts = added_up(_reals(view), view.parts, (one, two), self.variables)
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
        for three, strength in self._beyond_pairs:
            for child, parent in permutations(three, 2):
                group[group == group[child.variable]] = group[parent.variable]
                known = found.get((child.variable, parent.variable), (0.0, parent.level))
                found[child.variable, parent.variable] = (max(known[0], strength), known[1])
        return {pair: tie for pair, tie in found.items() if group[pair[0]] == group[pair[1]]}

    @property
    def _beyond_pairs(self) -> Iterator[tuple[ParentSet, float]]:
        """Views of three attributes and how strong they are beyond their pairs, where that is clear.

        It asks for as much as a tie that connects something. Triples that were chosen for their gaps pass it
        a little more easily; a tie too many costs room in a family and tells nothing wrong.
        """
        for view in self.told:
            if len(view.parts) != 3:
                continue
            expected = of_three(*(self.paired(one, two) for one, two in combinations(view.parts, 2)))
            noise = _MEAN * view.deviation * view.counts.size
            chance = _MEAN * float(np.sqrt(np.maximum(expected, 0.0)).sum())
            alone = hypot(noise, chance)
            excess = float(np.abs(_reals(view) - expected).sum()) - alone
            if excess > self.limits.doubt * alone * _SPREAD / sqrt(view.counts.size):
                yield view.parts, excess / (2 * max(self.total, 1.0))

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
        constraints = [self._column(part, codes[axis]) for axis, part in enumerate(family)]
        constraints += [
            found
            for view in self._views_of(part.variable for part in family)
            if (found := self._constraint(view, family, codes)) is not None
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

    def _column(self, part: Parent, codes: NDArray[np.int64]) -> Constraint:
        """What all views together say about one column of a family, and how uncertain that is."""
        column, share = self._columns[part.variable], self._at(part)
        deviation = column.deviation * sqrt(len(column.counts) / len(share))
        return Constraint(codes, self.total * share, max(deviation, _SURE))

    def _constraint(self, view: Measured, parts: ParentSet, codes: NDArray[np.int64]) -> Constraint | None:
        """What a view says about the variables of a family that it sees together.

        Each of them is known better from all views than from this one, which is put right by that.
        """
        levels = dict(parts)
        place = {part.variable: axis for axis, part in enumerate(parts)}
        shared = [part for part in view.parts if part.variable in levels]
        if len(shared) < 2:
            return None
        if len(shared) == 2 < len(view.parts) and tuple(shared) in self._anew:
            return None  # what this view says of the pair is in what is told of it
        seen = tuple(Parent(part.variable, max(part.level, levels[part.variable])) for part in shared)
        counts = added_up(_reals(view), view.parts, seen, self.variables)
        cells = np.zeros(codes.shape[1], dtype=np.int64)
        for variable, level in seen:
            own = codes[place[variable]]
            if level != levels[variable]:
                own = between(self.variables[variable], levels[variable], level)[own]
            cells = cells * self.variables[variable].sizes[level] + own
        deviation = view.deviation * sqrt(view.counts.size / counts.size)
        return Constraint(cells, self._with_columns(counts, seen).ravel(), deviation)

    def _with_columns(self, counts: Reals, parts: ParentSet) -> Reals:
        """These counts with the sums that their columns have by all views, as near to them as may be."""
        for axis, part in enumerate(parts):
            rest = tuple(other for other in range(counts.ndim) if other != axis)
            missing = self.total * self._at(part) - counts.sum(axis=rest)
            counts = counts + np.expand_dims(missing, rest) * len(missing) / counts.size
        return counts


def _reals(view: Measured) -> Reals:
    return view.counts.astype(np.float64)


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
