"""Which cells of a huge public table reach a threshold under noise, without looking at each of them.

Most cells of such a table are empty: a part of the records is cut into all combinations of ten groups, and
few combinations occur. Every cell gets the same noise and is held to the same threshold, whether it occurs
or not. For those that do not occur only the outcome is drawn: how many of them pass is a binomial number,
which of them is uniform, and what noise has left above the threshold is geometric because it has no
memory. That is the law of noise on every single cell, exactly.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.laws.additive import exact_sum, log_centre
from penstock.privacy.randomness.binomial import binomial
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.inversion import exp_bracket
from penstock.privacy.randomness.logarithms import ONE, Between, Log
from penstock.privacy.randomness.samplers import Integers, discrete_laplace, geometric, permutation

Numbers = NDArray[np.int64]

FEW_CELLS = 32
"""Tables up to this size get their noise cell by cell: that is as quick."""
MANY_PASS = 256
"""So do tables of which more empty cells than this are expected to pass."""


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """The counts of a table of `size` cells of which most are 0: the cells that are not, ascending.

    The size is public; which cells occur, and how often, is not.
    """

    cells: Numbers
    counts: Numbers
    size: int


@dataclass(frozen=True, eq=False)
class Passed:
    """The cells that passed, ascending, and their noisy counts where these are told."""

    cells: Numbers
    counts: Integers | None


@dataclass(frozen=True, eq=False)
class Passing(Law[Passed]):
    """The cells whose count plus discrete Laplace noise of this rate is `least` (1 or more) or above.

    With `told` their noisy counts come out too; else only which they are.
    """

    table: SparseCounts
    rate: Fraction
    least: int
    told: bool

    def __post_init__(self) -> None:
        if self.least < 1:
            raise ValueError(f"the least count that passes is 1 or more, not {self.least}")

    @property
    def public(self) -> Hashable:
        return "passing cells", self.table.size, self.rate, self.least, self.told

    def draw(self, source: Randomness) -> Passed:
        size = self.table.size
        if size <= FEW_CELLS or size * _bracket(self.rate, self.least, 64)[1] > MANY_PASS << 64:
            dense = np.zeros(size, dtype=np.int64)
            dense[self.table.cells] = self.table.counts
            return self._noisy(np.arange(size), dense, source)
        found = self._noisy(self.table.cells, self.table.counts, source)
        absent = size - self.table.cells.size
        many = binomial(absent, lambda bits: _bracket(self.rate, self.least, bits), source)
        if not many:
            return found
        cells = np.concatenate([found.cells, _absent(self.table, many, source)])
        order = np.argsort(cells)
        if found.counts is None:
            return Passed(cells[order], None)
        above = geometric(self.rate, many, source)
        counts = np.concatenate([found.counts, exact_sum(np.full(many, self.least, dtype=object), above)])
        return Passed(cells[order], counts[order])

    def _noisy(self, cells: Numbers, counts: Numbers, source: Randomness) -> Passed:
        """These cells with noise, those below the threshold left out."""
        noisy = exact_sum(counts, discrete_laplace(1 / self.rate, counts.size, source))
        above = np.asarray(noisy >= self.least, dtype=np.bool_)
        return Passed(cells[above], noisy[above] if self.told else None)

    def log_probability(self, output: Passed) -> Log:
        """Cell by cell; of the empty ones that did not pass all are equally unlikely."""
        counts = dict(zip(self.table.cells.tolist(), self.table.counts.tolist(), strict=True))
        passed = output.cells.tolist()
        noisy = [None] * len(passed) if output.counts is None else output.counts.tolist()
        total = Log()
        for cell, value in zip(passed, noisy, strict=True):
            count = counts.get(cell, 0)
            total = total + (
                log_tail(self.rate, self.least - count)
                if value is None
                else log_centre(1 / self.rate) + Log(-self.rate * abs(value - count))
            )
        for cell in set(counts).difference(passed):
            total = total + log_tail(self.rate, 1 - self.least + counts[cell])
        rest = self.table.size - len(set(counts).union(passed))
        return total + log_tail(self.rate, 1 - self.least) * rest


@lru_cache(maxsize=1 << 12)
def log_tail(rate: Fraction, least: int) -> Log:
    """ln P(Z >= least) of discrete Laplace noise: a^k / (1 + a) for k >= 1, with a = exp(-rate).

    >>> from math import exp
    >>> round(exp(log_tail(Fraction(3, 10), 5)), 6)
    0.128175
    """
    share = ONE + Between.exp(-rate)
    if least >= 1:
        return Log.ln(ONE / share, -rate * least)
    return Log.ln(ONE - Between.exp(-rate * (1 - least)) / share)


@lru_cache(maxsize=1 << 10)
def _bracket(rate: Fraction, least: int, bits: int) -> tuple[int, int]:
    """Integers around 2**bits * a^least / (1 + a): an empty cell passes with this chance."""
    spare = 8
    one = 1 << (bits + spare)
    top, share = exp_bracket(rate * least, bits + spare), exp_bracket(rate, bits + spare)
    low, high = top[0] * one // (one + share[1]), top[1] * one // (one + share[0]) + 1
    return low >> spare, (high >> spare) + 1


def _absent(table: SparseCounts, many: int, source: Randomness) -> Numbers:
    """So many different cells among those that do not occur, every choice of them as likely as any other."""
    taken = set(table.cells.tolist())
    if 2 * (len(taken) + many) > table.size:
        free = np.setdiff1d(np.arange(table.size), table.cells, assume_unique=True)
        return free[permutation(free.size, source)[:many]]
    chosen: list[int] = []
    while len(chosen) < many:
        cell = source.below(table.size)
        if cell not in taken:
            taken.add(cell)
            chosen.append(cell)
    return np.array(chosen, dtype=np.int64)
