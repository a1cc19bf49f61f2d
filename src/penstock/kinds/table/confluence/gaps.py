"""Which pairs or triples of attributes are worth their noise: private choices that know what a count costs.

Guarantee: what is spent here is what `choice.best` is paid.
Why: once the one-way counts are public, so is the table Q that a pair would have if its two attributes
were independent, or what a tree of pairs that were counted before expects of it; so is the table that its
three pairs, counted or expected, make one expect of a triple (`implied`). The gap of a pair or of a triple is
||C - Q||, the sum over cells of |count - expected|. A record lies in one cell of C and Q is fixed, so adding
or removing a record moves any gap, at any levels of generalisation, by at most 1; replacing one moves it by
at most 2 (a unit of m records: m times as much). The gaps of all candidates are integers. What is subtracted
from a gap before a choice is made, the price of counting that table, is computed from public numbers and
moves nothing. So is what stopping is worth: what luck alone would give the best of as many candidates as
there are.

The sum of all gaps moves by their number times as much, and their mean by no more than one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import log

import numpy as np
from numpy.typing import NDArray

from penstock.engine.marginal import Marginal
from penstock.kinds.table.confluence.packing import noisy_cells
from penstock.kinds.table.confluence.tiers import Tier
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.conditionals import between
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]
Together = tuple[int, ...]
"""Two variables, or three, smaller number first."""

Tables = Mapping[Together, Counts]
"""For each of them a table at the finest levels that are looked at."""

_EXACT = 1 << 51  # with as many records, sums stay below 2**53
_FITS = 1 << 61  # and the sum over all pairs within 64 bits


@dataclass(frozen=True, eq=False)
class Gaps:
    """The sealed gaps of sets of variables, pairs or triples, at levels of about as many groups each.

    `finest` is the level of each variable at which they are counted; coarser levels are added up. Every
    further candidate is one more that luck can favour, and pairs of a fine and a coarse level are rarely
    worth more than those of two in between.
    """

    table: Table
    variables: Sequence[Variable]
    finest: Sequence[int]
    sets: Sequence[Together]

    @classmethod
    def of_pairs(cls, table: Table, variables: Sequence[Variable], finest: Sequence[int]) -> Gaps:
        return cls(table, variables, finest, list(combinations(range(len(variables)), 2)))

    @cached_property
    def candidates(self) -> list[ParentSet]:
        """Every set at every number of groups, the most first."""
        return [
            tuple(
                Parent(number, self.finest[number] + above)
                for number, above in zip(some, levels, strict=True)
            )
            for some in self.sets
            for levels in self._levels(some)
        ]

    def _levels(self, some: Together) -> list[Together]:
        """For each number of groups the finest level of each with no more; counted from its finest."""
        sizes = [self.variables[number].sizes[self.finest[number] :] for number in some]
        steps = sorted({size for each in sizes for size in each}, reverse=True)
        least = max(each[-1] for each in sizes)
        found = [
            tuple(next(place for place, size in enumerate(each) if size <= step) for each in sizes)
            for step in steps
            if step >= least
        ]
        return list(dict.fromkeys(found))

    @property
    def sensitivity(self) -> Sensitivity:
        moves = self.table.schema.unit.records * (1 if self.table.relation is Relation.ADD_REMOVE else 2)
        return Sensitivity.scores(moves, candidates=len(self.candidates))

    def of_all(self, expected: Tables) -> Sealed[Counts]:
        """The gap of every candidate.

        Expectations beyond any real number of records, as noise can make them, are cut to where all sums
        stay exact: a rounded sum could move by more than the bound.
        """
        most = min(_EXACT, _FITS // max(1, len(self.sets)))
        expected = {
            some: np.clip(table, -(most // table.size), most // table.size)
            for some, table in expected.items()
        }
        return self.table.derive(
            [self._marginal(some) for some in self.sets],
            lambda counts: np.concatenate(
                [self._gaps(some, flat, expected[some]) for some, flat in zip(self.sets, counts, strict=True)]
            ),
            self.sensitivity,
            shape=(len(self.candidates),),
            because="a record is in one cell of a table at any levels and what is expected is public, so "
            "that it moves a sum of |count - expected| by at most 1 when it comes or goes and by 2 when it "
            "is replaced, and a unit of m records by m times as much; the sums are exact",
        )

    def together(self, gaps: Sealed[Counts]) -> Sealed[Counts]:
        """The sum of the gaps of all sets at their finest levels."""
        places = [
            place
            for place, parts in enumerate(self.candidates)
            if all(part.level == self.finest[part.variable] for part in parts)
        ]
        moves = Sensitivity.of(self.sensitivity.linf * len(self.sets))
        return gaps.claim(
            lambda values: np.array([values[places].sum()]),
            moves,
            shape=(1,),
            because="a unit moves each gap by at most the stated amount, and the sum of them all "
            "by that times their public number",
        )

    def _marginal(self, some: Together) -> Marginal:
        return tuple(self.variables[number].column(self.finest[number]) for number in some)

    def _gaps(self, some: Together, flat: Counts, expected: Counts) -> Counts:
        """The gaps of one set in the order of `candidates`."""
        # whole numbers, and sums of their absolute values below 2**53: exact in floating point
        sums = (flat.reshape(expected.shape) - expected).astype(np.float64)
        for number in some:  # each in turn is the first axis, and the last one afterwards
            sums = np.tensordot(sums, self._stacks[number][0], axes=(0, 1))
        away = np.abs(sums)
        for axis, number in enumerate(some):
            away = np.add.reduceat(away, self._stacks[number][1], axis=axis)
        levels = tuple(list(each) for each in zip(*self._levels(some), strict=True))
        return np.asarray(away[levels], dtype=np.int64)

    @cached_property
    def _stacks(self) -> list[tuple[Reals, list[int]]]:
        """For each variable the 0/1 matrices that add up to its levels, one below the other."""
        stacks = []
        for variable, finest in zip(self.variables, self.finest, strict=True):
            blocks, starts, height = [], [], 0
            for level in range(finest, len(variable.levels)):
                groups = between(variable, finest, level)
                blocks.append(
                    (groups[None, :] == np.arange(variable.sizes[level])[:, None]).astype(np.float64)
                )
                starts.append(height)
                height += variable.sizes[level]
            stacks.append((np.concatenate(blocks), starts))
        return stacks


def choose(
    gaps: Sealed[Counts],
    candidates: Sequence[ParentSet],
    sizes: Sequence[Sequence[int]],
    tier: Tier,
    *,
    most: int,
    share: Fraction,
    scale: float,
    caution: float,
    method: choice.Method = "permute-and-flip",
    apparent: Reals | None = None,
    beside: float = 0.0,
    tree: bool = False,
    luck: float = 0.0,
    given: Sequence[ParentSet] = (),
    only_tree: bool = False,
    label: str = "choice",
) -> list[ParentSet]:
    """Up to `most` pairs or triples, each for `share` of everything, until no gap seems worth its noise.

    With W the sum of the weights of all tables, those counted `beside` the chosen ones included, the
    expected noise of all of them together is scale * W² (Gaussian noise: scale * W^3/2; see `tiers`), and a
    table costs what it adds to that. A candidate's score is its gap minus `caution` times that, and minus
    the `apparent` gap that it would have without any dependence. Stopping has `luck` times the score that the
    best of as many candidates of score 0 would seem to have: the logarithm of their number, times what scores
    may differ by to be told apart.

    With `tree`, pairs that connect what is not connected yet come first: the candidates are those between
    different groups of attributes until there is one group, or none of them seems worth its noise, and all
    others after that; while they connect, stopping has score 0. With
    `only_tree` nothing is chosen after that. Pairs that are `given` are among the chosen without a choice.
    """
    weights = np.array([noisy_cells(parts, sizes, tier.power) ** tier.power for parts in candidates])
    number_of: dict[Together, int] = {}
    which = np.array([number_of.setdefault(_variables(parts), len(number_of)) for parts in candidates])
    seeming = np.zeros(len(candidates)) if apparent is None else apparent
    open_ = np.ones(len(candidates), dtype=np.bool_)
    ends = np.array([_variables(parts)[:2] for parts in candidates])
    group = np.arange(len(sizes))
    chosen: list[ParentSet] = list(given)
    total = beside
    for parts in given:
        a, b = _variables(parts)[:2]
        group[group == group[a]] = group[b]
        total += float(noisy_cells(parts, sizes, tier.power) ** tier.power)
        open_ &= which != number_of[_variables(parts)]
    connecting = tree
    for number in range(1, most + 1):
        apart = open_ & (group[ends[:, 0]] != group[ends[:, 1]])
        connecting = connecting and bool(apart.any())
        places = np.flatnonzero(apart if connecting else open_)
        if not len(places) or (only_tree and not connecting):
            break
        dilution = scale * ((total + weights[places]) ** (1 / tier.power) - total ** (1 / tier.power))
        prices = np.rint(caution * dilution + seeming[places])
        costs = np.minimum(prices, float(_FITS)).astype(np.int64)  # a difference must not wrap around

        seems = luck * log(len(places)) * tier.resolution(gaps.sensitivity, share)
        stop = 0 if connecting else round(min(seems, float(_FITS)))

        def scores(
            values: Counts, places: NDArray[np.intp] = places, costs: Counts = costs, stop: int = stop
        ) -> Counts:
            return np.append(values[places] - costs, stop)

        sealed = gaps.claim(
            scores,
            gaps.sensitivity,
            shape=(len(places) + 1,),
            because="subtracting public prices, and a constant for stopping, moves nothing",
        )
        index = tier.choose(sealed, f"{label} {number}", share, method)
        if index == len(places) and not connecting:
            break
        if index == len(places):
            connecting = False  # what is left apart is not worth connecting; others may be worth more views
            continue
        best = places[index]
        chosen.append(candidates[best])
        group[group == group[ends[best, 0]]] = group[ends[best, 1]]
        total += float(weights[best])
        open_ &= which != which[best]
    return chosen


def _variables(parts: ParentSet) -> Together:
    return tuple(part.variable for part in parts)
