"""Synthetic rows brought nearer to what was counted than the network is that they were drawn from.

A network holds families of a few columns. What was counted about columns that no family holds together it
tells only through others, and what several views say of one family it tells as a compromise. The noisy counts
know better, as far as they are not noise. So rows that were drawn are changed, one code at a time: a row
proposes a code from its own distribution given all its other codes, as the network has it, and takes it where
that brings the rows nearer to the counts. What the network rules out stays ruled out, since a proposal has a
probability above zero. Where columns are nearly functions of each other, a network hardly ever proposes
another code; so rounds of flatter proposals follow for as long as these still help, and the one that does not
is taken back.

*How far a view is trusted.* Let r be the rows in a cell, y what the view says of so many rows, and s the
deviation of its noise. The network is taken to be off by a variance of a r in a cell of r rows, and all cells
together tell a: it is what the squares of y - r exceed those of noise by, over all rows. Then there should be
r + (y - r) a r / (a r + s²) rows in a cell. Where the counts are nearer to the rows than noise would put
them, a is 0, and the view asks that nothing changes.

How much noise there is between a view and the rows depends on the network. It follows the noise of counts
that it was made of, where families hold all pairs of their columns or where they are told by what all pairs
have in common (`spectrum`): what is left of that noise is taken to be as small as it may well be. All other
views of several columns have an a of their own where they are sure of it; those that are not, since few cells
cannot tell it, learn it from one another. Single columns are known better than any one view of them says, and
ask only where they are sure. What is asked for is found once, of the rows as they were drawn: what is left of
it after a round looks like noise, and is not.

*What nobody counted* shall stay as the network has it, as far as the views let it: of other tables, pairs and
some triples, every cell should hold the rows that it has, put right by what the finest views of its pairs ask
for, one pair after the other (iterative proportional fitting). Without these tables the rows would repeat the
counts and forget everything else; there are as many of them as the views leave room for.

Everything here is post-processing: it knows a release and rows that were drawn from it, and no record.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import ceil, comb, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.balancing import BLOCKS, FILLED
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.encoding import Codes, Grouping
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.kinds.table.network.spectrum import InCommon

Reals = NDArray[np.float64]

ROUNDS = 5
"""So often every row proposes another code in every column, at most."""

STILL = 0.9
"""Of what was left to do before a round, what is left after the last one."""

FLATTER = 0.5
"""The power of the probabilities of a proposal in the rounds that follow."""

FURTHER = 10
"""So many of these, at most."""

ENOUGH = 0.0005
"""The mean distance between views and rows, as far as it is asked for, below which there is no round."""

FOLLOWED = 4.0
"""The deviations of the sum of the squares of noise, by which it is taken to be smaller than expected where
the network follows it. Chosen on tables of `studies/suite.py` that are there to choose by."""

DOUBT = 2.0
"""Those by which it may be larger by chance."""

SWEEPS = 2
"""So often each of the pairs of a table that nobody counted is put right, one after the other."""

TRIPLES = 200
"""So many tables of three columns that nobody counted are looked at."""

MOST_WORK = 400_000_000
"""Rows times columns of all tables that are looked at, at most: of the views those that ask for most."""

MOST_CHANCES = 1 << 30
"""Rows times codes of the columns in which codes are proposed, at most: those of fewest codes first."""

MOST_CELLS = 1 << 25
"""Of all tables together that nobody counted and that are looked at, at most."""

_AT_ONCE = 1 << 21  # rows times codes of a column, or times tables
_SMALLEST = 1e-12
_LEAST = 0.5  # rows in a cell, at least, for the variance that the network is off by


def aligned(
    columns: Sequence[Codes],
    network: Network,
    views: Sequence[Measured],
    total: float,
    rng: np.random.Generator,
) -> list[Codes]:
    """These rows of a network, nearer to the views, in which `total` records were counted."""
    rows = len(columns[0]) if columns else 0
    if not rows or total < 1:
        return list(columns)
    order = rng.permutation(rows)  # once: neighbours in memory are then any rows
    shuffled = [codes[order] for codes in columns]
    proposing = _smallest([variable.size for variable in network.variables], MOST_CHANCES // rows)
    work = _Rows(network, shuffled)
    if not work.ask([view for view in views if view.parts], rows / total):
        return list(columns)
    work.keep(MOST_WORK // rows - sum(len(look.parts) for look in work.looks), rng)
    for _ in range(ROUNDS):
        if not work.went_on(proposing, rng):
            break
    for _ in range(FURTHER):
        before = [codes.copy() for codes in shuffled]
        if not work.went_on(proposing, rng, FLATTER):
            shuffled = before
            break
    back = np.argsort(order)
    return [codes[back] for codes in shuffled]


@dataclass(eq=False)
class _Look:
    """A table of the rows: for every cell the rows that are there, less those that should be."""

    parts: ParentSet
    excess: Reals

    @cached_property
    def variables(self) -> frozenset[int]:
        return frozenset(part.variable for part in self.parts)


@dataclass(frozen=True, eq=False)
class _Seen:
    """What a view says of the rows: how many a cell has, and how many more it should have but for noise.

    `noise` is the variance of a count, `heavy` how far its squares scatter: 2 for Gaussian noise, 5 for
    Laplace noise. Of a view that is `held` the network follows the noise.
    """

    parts: ParentSet
    rows: NDArray[np.int64]
    away: Reals
    noise: float
    heavy: int
    held: bool

    @cached_property
    def mass(self) -> Reals:
        return np.maximum(self.rows, _LEAST)

    @property
    def joins(self) -> bool:
        """Whether others of its kind may say how far the network is off."""
        return len(self.parts) > 1 and not self.held and self.noise > 0

    def off(self, others: float) -> float:
        """The variance that the network is off by for each row; what others say counts if it joins them."""
        cells = self.away.size
        chance = sqrt(self.heavy * cells)
        squares = max(0.0, cells - FOLLOWED * chance) if self.held else cells + DOUBT * chance
        alone = max(0.0, float(np.square(self.away).sum()) - self.noise * squares) / float(self.mass.sum())
        return max(alone, others) if self.joins else alone


def _off_by_all(told: Sequence[_Seen]) -> float:
    """That variance by all these views together, each by what it can tell; 0 where chance may explain it."""
    precise = [1 / max(one.noise, _SMALLEST) ** 2 for one in told]
    squares = sum(
        weight * (float(np.square(one.away).sum()) - one.noise * one.away.size)
        for one, weight in zip(told, precise, strict=True)
    )
    spread = sqrt(
        sum(
            weight**2 * one.noise**2 * one.heavy * one.away.size
            for one, weight in zip(told, precise, strict=True)
        )
    )
    mass = sum(weight * float(one.mass.sum()) for one, weight in zip(told, precise, strict=True))
    return squares / mass if squares > DOUBT * spread else 0.0


@dataclass(eq=False)
class _Side:
    """The rows that a view asks for in each cell of a pair, and the levels of both."""

    cells: Reals
    first: Grouping
    second: Grouping

    @property
    def in_full(self) -> bool:
        return self.cells.shape == (len(self.first.groups), len(self.second.groups))

    def put_right(self, table: Reals, one: int, two: int) -> Reals:
        """This table with as many rows in the cells of these two axes as the view asks for."""
        rest = tuple(axis for axis in range(table.ndim) if axis not in (one, two))
        codes = np.ix_(self.first.lookup, self.second.lookup)
        have = np.zeros_like(self.cells)
        np.add.at(have, codes, table.sum(axis=rest))
        ratio = np.divide(self.cells, have, out=np.ones_like(have), where=have > 0)
        wide = [size if axis in (one, two) else 1 for axis, size in enumerate(table.shape)]
        return np.asarray(table * ratio[codes].reshape(wide))


@dataclass(eq=False)
class _Rows:
    """Rows on their way: their codes, the tables that are looked at, and what is asked of pairs."""

    network: Network
    columns: list[Codes]
    looks: list[_Look] = field(default_factory=list)
    sides: dict[tuple[int, int], _Side] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.columns[0])

    @property
    def left(self) -> float:
        """How far the tables are from what they should be: the sum of the squares of all excesses."""
        return sum(float(np.square(look.excess).sum()) for look in self.looks)

    @cached_property
    def followed(self) -> set[tuple[int, int]]:
        """The pairs of variables that some table of the network holds together."""
        families = [(pair.child, *(each.variable for each in pair.parents)) for pair in self.network.pairs]
        return {couple for family in families for couple in combinations(sorted(family), 2)}

    def went_on(self, proposing: Container[int], rng: np.random.Generator, power: float = 1.0) -> bool:
        """One more round over these columns; whether it did enough for another one."""
        before = self.left
        for number in rng.permutation(len(self.columns)):
            if number in proposing:
                self.propose(int(number), rng, power)
        return self.left <= STILL * before

    def ask(self, views: Sequence[Measured], scale: float) -> bool:
        """Look at the views, those first that ask for most; whether they ask for anything worth a round."""
        told = [self.against(view, scale) for view in sorted(views, key=lambda one: one.total_variance)]
        others = _off_by_all([one for one in told if one.joins and not one.off(0.0)])
        asked = [self.asked(one, others) for one in told]
        sums = {id(look): float(np.abs(look.excess).sum()) for look in asked}
        room = MOST_WORK // self.count
        for look in sorted(asked, key=lambda look: -sums[id(look)]):
            room -= len(look.parts)
            if room >= 0:  # those that ask for nothing, too: they shall stay as they are
                self.looks.append(look)
        return sum(sums.values()) > ENOUGH * 2 * self.count * len(asked)

    def against(self, view: Measured, scale: float) -> _Seen:
        """A view beside the rows, of which there are `scale` for a record."""
        counts = view.counts * scale + (self.count - view.counts.sum() * scale) / view.counts.size
        rows = np.bincount(self.places(view.parts), minlength=counts.size).reshape(counts.shape)
        noise = (view.deviation * scale) ** 2
        couples = list(combinations(sorted(part.variable for part in view.parts), 2))
        held = bool(couples) and all(couple in self.followed for couple in couples)
        held |= isinstance(view, InCommon)
        return _Seen(view.parts, rows, counts - rows, noise, 2 if view.gaussian else 5, held)

    def asked(self, told: _Seen, others: float) -> _Look:
        """What a view asks of the rows, by itself and by what others say of how far they are off."""
        beyond = told.off(others)
        more = told.away * (beyond * told.mass / (beyond * told.mass + told.noise) if beyond > 0 else 0.0)
        rows, parts = told.rows, told.parts
        wanted: Reals = np.maximum(rows + more, 0.0)
        wanted *= self.count / max(_SMALLEST, float(wanted.sum()))
        for one, two in combinations(range(len(parts)), 2):
            rest = tuple(axis for axis in range(len(parts)) if axis not in (one, two))
            ends = parts[one], parts[two]
            first, second = (self.network.variables[end.variable].levels[end.level] for end in ends)
            side = _Side(wanted.sum(axis=rest), first, second)
            couple = ends[0].variable, ends[1].variable
            # the finest tells most; of those that are alike the least noisy, which comes first
            if couple not in self.sides or side.cells.size > self.sides[couple].cells.size:
                self.sides[couple] = side
        return _Look(parts, (rows - wanted).ravel())

    def keep(self, room: int, rng: np.random.Generator) -> None:
        """Also look at tables that nobody counted, as many as there is room for."""
        cells = MOST_CELLS
        for some in self._uncounted(rng):
            room -= len(some)
            if room < 0:
                return
            shape = [self.network.variables[number].size for number in some]
            if prod(shape) > min(cells, FILLED * self.count):
                continue  # nearly all of its cells are empty, or too many others are there
            cells -= prod(shape)
            parts = tuple(Parent(number) for number in some)
            rows = np.bincount(self.places(parts), minlength=prod(shape)).reshape(shape)
            wanted = rows.astype(np.float64)
            known = [(a, b) for a, b in combinations(range(len(some)), 2) if (some[a], some[b]) in self.sides]
            for one, two in SWEEPS * known:
                wanted = self.sides[some[one], some[two]].put_right(wanted, one, two)
            wanted *= self.count / max(_SMALLEST, float(wanted.sum()))
            self.looks.append(_Look(parts, (rows - wanted).ravel()))

    def _uncounted(self, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
        """Pairs that no view has in full, then some triples that no view has, in a random order."""
        columns = len(self.columns)
        pairs = [
            pair
            for pair in combinations(range(columns), 2)
            if pair not in self.sides or not self.sides[pair].in_full
        ]
        yield from (pairs[place] for place in rng.permutation(len(pairs)))
        counted = {some for look in self.looks for some in combinations(sorted(look.variables), 3)}
        triples: Iterable[tuple[int, ...]] = combinations(range(columns), 3)
        if comb(columns, 3) > TRIPLES:
            drawn = (rng.choice(columns, 3, replace=False, shuffle=False) for _ in range(TRIPLES))
            triples = dict.fromkeys(tuple(sorted(map(int, some))) for some in drawn)
        yield from (some for some in triples if some not in counted)

    def places(self, parts: ParentSet, without: int = -1, rows: Codes | slice = slice(None)) -> Codes:
        """The cell of each row in a table, as if one variable had its first code."""
        found = np.zeros(len(self.columns[0][rows]), dtype=np.int64)
        for variable, level in parts:
            grouping = self.network.variables[variable].levels[level]
            found *= grouping.size
            if variable != without:
                codes = self.columns[variable][rows]
                found += codes if level == 0 else grouping.lookup[codes]
        return found

    def steps(self, parts: ParentSet, number: int) -> Codes:
        """By how much each code of a variable moves a row's cell in a table."""
        found = np.zeros(self.network.variables[number].size, dtype=np.int64)
        for variable, level in parts:
            grouping = self.network.variables[variable].levels[level]
            found = found * grouping.size + (grouping.lookup if variable == number else 0)
        return found

    def chances(self, number: int, rows: Codes) -> Reals:
        """For these rows the probability of each code of a variable given all others, up to a factor."""
        found = np.ones((len(rows), self.network.variables[number].size))
        for pair, table in zip(self.network.pairs, self.network.tables, strict=True):
            if pair.child == number:
                found *= table[self.places(pair.parents, rows=rows)]
            elif any(parent.variable == number for parent in pair.parents):
                places = self.places(pair.parents, number, rows)[:, None] + self.steps(pair.parents, number)
                found *= table[places, self.columns[pair.child][rows][:, None]]
            else:
                continue
            largest = found.max(axis=1, keepdims=True)
            found /= np.where(largest > 0, largest, 1.0)  # products of many would vanish
        return found

    def propose(self, number: int, rng: np.random.Generator, power: float = 1.0) -> None:
        """Every row draws one column again and keeps what brings the tables nearer to what they should be.

        It is drawn by its probabilities to that power.
        """
        size = self.network.variables[number].size
        mine = [look for look in self.looks if number in look.variables]
        if size < 2 or not mine:
            return
        starts = np.cumsum([0, *(look.excess.size for look in mine)])
        excess = np.concatenate([look.excess for look in mine])
        steps = np.stack([self.steps(look.parts, number) for look in mine], axis=1)
        codes = self.columns[number]
        slabs = ceil(self.count * max(size, len(mine)) / _AT_ONCE)
        blocks = ceil(BLOCKS * sqrt(self.count) / slabs)
        for first, last in _parts(self.count, slabs):
            slab = np.arange(first, last)
            chances = self.chances(number, slab) ** power
            heights = np.cumsum(chances, axis=1)
            drawn = rng.random(len(slab)) * heights[:, -1]
            proposed = np.minimum((heights <= drawn[:, None]).sum(axis=1), size - 1)
            other = (proposed != codes[slab]) & (chances[np.arange(len(slab)), proposed] > 0)
            slab, proposed = slab[other], proposed[other]
            places = np.stack([self.places(look.parts, number, slab) for look in mine], axis=1) + starts[:-1]
            there, here = places + steps[proposed], places + steps[codes[slab]]
            moved = there != here
            for start, end in _parts(len(slab), blocks):
                new, old, moves = there[start:end], here[start:end], moved[start:end]
                # half of what the sum of the squares of all excesses would change by
                gain = np.where(moves, excess[new] - excess[old] + 1, 0.0).sum(axis=1)
                better = np.flatnonzero(gain < 0)
                np.add.at(excess, new[better], 1.0)
                np.add.at(excess, old[better], -1.0)
                codes[slab[start:end][better]] = proposed[start:end][better]
        for look, start, end in zip(mine, starts[:-1], starts[1:], strict=True):
            look.excess = excess[start:end]


def _smallest(sizes: Sequence[int], most: int) -> set[int]:
    """The places of the smallest numbers that add up to no more than that.

    >>> _smallest([5, 2, 9, 2], 9)
    {0, 1, 3}
    """
    order = np.argsort(sizes, kind="stable")
    sums = np.cumsum(np.asarray(sizes)[order])
    return set(order[sums <= most].tolist())


def _parts(count: int, parts: int) -> Iterator[tuple[int, int]]:
    """So many stretches of nearly the same length, from the first to the last."""
    ends = np.linspace(0, count, min(count, parts) + 1).astype(int)
    return zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
