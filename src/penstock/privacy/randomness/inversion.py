"""Exact draws by inversion, deciding with as few random bits as it takes.

A distribution on 0, 1, ..., K is a list of K cut points in [0, 1]: with u uniform on [0, 1), the number of
cut points above u has the distribution. Think of u as an endless string of fair bits that is uncovered from
the left. Whenever the uncovered digits put u strictly to one side of a cut, no further digit can change that
answer, so the draw is finished; otherwise more digits are uncovered. No probability is ever rounded: the cuts
may be irrational (they are made of exp(-x)) and are known as integers floor(2**bits * cut) to as many bits as
a comparison turns out to need. The result has exactly the stated distribution, and nothing is decided by
floating-point arithmetic. This is the classical lazy form of inversion (von Neumann's comparison of digits,
Knuth and Yao's optimal trees).

The vectorised draw uncovers 16 bits for everybody and looks the answer up; 48 more for the few whose 16 bits
share a cell with a cut; and big integers for the one in about 2**50 that is still open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Randomness

Floor = Callable[[int, int], int]
"""(cut number, bits) -> floor(2**bits * cut)."""

FEW: Final = 4096
"""Below this many draws, tables cost more than they save."""


def exp_floor(x: Fraction, bits: int) -> int:
    """floor(2**bits * exp(-x)) for a rational x >= 0, exactly.

    Integer arithmetic brackets the value; the bracket is narrowed until both ends have the same floor. That
    happens after finitely many steps because exp(-x) is irrational for rational x > 0 (Lindemann).
    """
    if x < 0:
        raise ValueError(f"exp_floor needs x >= 0, not {x}")
    if x == 0:
        return 1 << bits
    if x >= bits:  # exp(-x) < 2**-x
        return 0
    spare = 32
    while True:
        low, high = exp_bracket(x, bits + spare)
        if low >> spare == high >> spare:
            return low >> spare
        spare *= 2


def exp_bracket(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers low <= 2**bits * exp(-x) <= high, a few units apart, for 0 <= x."""
    # exp(-x) = exp(-x / 2**halvings) squared `halvings` times; each squaring doubles the error.
    halvings = max(0, int(x).bit_length() + 6)
    work = bits + halvings + 16
    y = (x.numerator << work) // (x.denominator << halvings)  # 2**work * x / 2**halvings, rounded down
    term = total = 1 << work
    terms = 0
    while term:
        terms += 1
        term = (term * y >> work) // terms
        total += -term if terms % 2 else term
    # Every term is below its true value by less than 2 and the alternating rest is below the first term left
    # out; y itself is below its true value by less than 1, which moves the sum by less than 1.
    slack = 2 * terms + 4
    low, high = max(0, total - slack), min(1 << work, total + slack)
    for _ in range(halvings):
        low, high = low * low >> work, (high * high >> work) + 1
    extra = work - bits
    return low >> extra, (high >> extra) + 1


class Inversion:
    """A distribution on 0 ... K, given by its K cut points in decreasing order.

    The draw is the number of cut points above u, so the cut with number k (counted from 0) is the probability
    that the draw exceeds k.
    """

    def __init__(self, floors: Sequence[int], floor: Floor) -> None:
        """`floors` are floor(2**64 * cut) in decreasing order; `floor` gives the cuts to any precision."""
        if len(floors) >= 1 << 15:
            raise ValueError(f"an inversion table holds fewer than {1 << 15} cut points, not {len(floors)}")
        self._floor = floor
        self._cuts = len(floors)
        # A cut of 1 would be 2**64, which a word cannot hold; such a cut is above every u.
        self._certain = sum(1 for value in floors if value >> 64)
        self._rising = np.array(floors[self._certain :][::-1], dtype=np.uint64)
        self._first: NDArray[np.int16] | None = None

    def draw(self, source: Randomness, count: int) -> NDArray[np.int64]:
        """`count` independent draws."""
        # The way is chosen by the count alone: a seeded run must not depend on what ran before it.
        if count < FEW:
            return self._settle(source.words(count), source)
        if self._first is None:
            self._first = self._look_up_table()
        start = source.quarters(count)
        drawn = self._first[start].astype(np.int64)
        (open_,) = np.nonzero(drawn < 0)
        if open_.size:
            words = source.words(open_.size) >> np.uint64(16)
            words |= start[open_].astype(np.uint64) << np.uint64(48)
            drawn[open_] = self._settle(words, source)
        return drawn

    def _settle(self, words: NDArray[np.uint64], source: Randomness) -> NDArray[np.int64]:
        """The draws whose first 64 bits are `words`."""
        below = np.searchsorted(self._rising, words, side="left")
        upto = np.searchsorted(self._rising, words, side="right")
        drawn = (self._cuts - upto).astype(np.int64)
        for place in np.nonzero(below != upto)[0]:
            drawn[place] = self._refine(int(words[place]), int(below[place]), int(upto[place]), source)
        return drawn

    def _refine(self, u: int, below: int, upto: int, source: Randomness) -> int:
        """Uncover more of u, of which the cuts ranked below ... upto - 1 from the smallest share 64 bits."""
        bits = 64
        while below < upto:
            u, bits = u << 64 | source.bits(64), bits + 64
            sharing = [self._floor(self._cuts - 1 - rank, bits) for rank in range(below, upto)]
            upto = below + sum(1 for value in sharing if value <= u)
            below += sum(1 for value in sharing if value < u)
        return self._cuts - upto

    def _look_up_table(self) -> NDArray[np.int16]:
        """The draw for every value of the first 16 bits, -1 where a cut shares them."""
        edges = np.arange(1 << 16, dtype=np.uint64) << 48
        last = edges | ((1 << 48) - 1)
        below = np.searchsorted(self._rising, edges, side="left")
        upto = np.searchsorted(self._rising, last, side="right")
        return np.where(below == upto, self._cuts - upto, -1).astype(np.int16)


def coin(floor: Callable[[int], int]) -> Inversion:
    """Draws 1 with the probability p of which `floor(bits)` is floor(2**bits * p), else 0."""
    return Inversion([floor(64)], lambda _, bits: floor(bits))


@lru_cache(maxsize=64)
def digit(x: Fraction, size: int) -> Inversion:
    """A draw d from 0 ... size - 1 with probability proportional to exp(-x d)."""
    if size < 2:
        raise ValueError(f"a digit has at least two values, not {size}")
    return _truncated(x, size - 1, size)


@lru_cache(maxsize=64)
def leading(x: Fraction, cap: int) -> Inversion:
    """The smaller of `cap` and a geometric variable: P(draw >= k) = exp(-x k) for k <= cap."""
    return _truncated(x, cap, None)


def _truncated(x: Fraction, cuts: int, size: int | None) -> Inversion:
    """Cuts P(d > k) = (exp(-x (k+1)) - t) / (1 - t), where t = exp(-x size), or 0 when there is no size."""
    # For tiny x both differences are tiny; the extra bits keep them exact enough to divide.
    enough = 64 + max(0, x.denominator.bit_length() - x.numerator.bit_length())

    def floor(k: int, bits: int) -> int:
        if size is None:
            return exp_floor(x * (k + 1), bits)
        spare = enough
        while True:
            one = 1 << (bits + spare)
            tail = exp_bracket(x * size, bits + spare)
            value = exp_bracket(x * (k + 1), bits + spare)
            low, high = _share(value, tail, one)
            if low >> spare == high >> spare:
                return low >> spare
            spare *= 2

    # All cuts at once to 64 bits by repeated multiplication; the few that this leaves open, one by one.
    spare = enough
    one = 1 << (64 + spare)
    step_low, step_high = exp_bracket(x, 64 + spare)
    tail = (0, 0) if size is None else exp_bracket(x * size, 64 + spare)
    low = high = one
    floors = []
    for k in range(cuts):
        low, high = low * step_low >> (64 + spare), (high * step_high >> (64 + spare)) + 1
        bottom, top = (low, high) if size is None else _share((low, high), tail, one)
        floors.append(bottom >> spare if bottom >> spare == top >> spare else floor(k, 64))
    return Inversion(floors, floor)


def _share(value: tuple[int, int], tail: tuple[int, int], one: int) -> tuple[int, int]:
    """A bracket of (value - tail) / (1 - tail) in units of 1 / one."""
    low = max(0, value[0] - tail[1]) * one // (one - tail[0])
    high = min(one, max(0, value[1] - tail[0]) * one // (one - tail[1]) + 1)
    return low, high
