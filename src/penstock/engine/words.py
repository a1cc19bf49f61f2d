"""The codes of a record in few whole numbers: runs of bits, the first column highest.

A database that goes from row to row reads one number sooner than a dozen, and a table of several columns is
then counted by the bits of a number that are theirs, without any arithmetic. Where the bits stand is public:
it follows from the sizes of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.coordinates import MOST_BITS, Coordinate

if TYPE_CHECKING:
    import ibis.expr.types as ir

_HALF = 32
_BITS = 62  # of a whole number of 64 bits that is never negative, unless a code is


@dataclass(frozen=True)
class Words:
    """Where the bits of each column stand: in which word, behind how many bits, and how many they are.

    >>> Words.of([3, 1 << 40, 1 << 20, 2]).places
    ((0, 60, 2), (0, 20, 40), (0, 0, 20), (1, 0, 1))
    """

    places: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Words:
        """For columns of these sizes, in their order."""
        before: list[tuple[int, int, int]] = []
        used: list[int] = []
        for length in (max(1, (size - 1).bit_length()) for size in sizes):
            if not used or used[-1] + length > _BITS:
                used.append(0)
            before.append((len(used) - 1, used[-1], length))
            used[-1] += length
        return cls(tuple((word, used[word] - above - length, length) for word, above, length in before))

    @property
    def names(self) -> list[str]:
        """The columns that hold the words."""
        return [_name(word) for word in range(max((word for word, _, _ in self.places), default=-1) + 1)]

    def packed(self, codes: Sequence[Any]) -> dict[str, Any]:
        """The words of a record with these codes; a code of -1, which marks what is refused, makes the word
        that it is in negative."""
        found: dict[str, Any] = {}
        for (word, below, _), code in zip(self.places, codes, strict=True):
            moved = code.cast("int64") << below if below else code.cast("int64")
            name = _name(word)
            found[name] = found[name] | moved if name in found else moved
        return found

    def code(self, table: ir.Table, number: int) -> Any:
        """The code of a column."""
        word, below, length = self.places[number]
        column: Any = table[_name(word)]
        return (column >> below if below else column) & ((1 << length) - 1)

    def together(self, table: ir.Table, numbers: Sequence[int]) -> tuple[Any, list[int]] | None:
        """The codes of these columns as one number: the bits of the words that are theirs, some of them
        moved; and behind how many bits each stands there. None where they find no place."""
        runs: list[_Run] = []
        by_word: dict[int, list[int]] = {}
        for number in sorted(numbers, key=lambda each: self.places[each]):
            by_word.setdefault(self.places[number][0], []).append(number)
        for word, some in by_word.items():
            found = self._moved(word, some, sum(run.folded for run in runs))
            if found is None:
                return None
            runs += found
        terms = [run.bits(table) for run in runs]
        behind = {number: self.places[number][1] + run.up for run in runs for number in run.numbers}
        return reduce(or_, terms), [behind[number] for number in numbers]

    def _moved(self, word: int, numbers: list[int], taken: int) -> list[_Run] | None:
        """The columns of a word where their bits are not taken, moved together or else in halves."""
        mask = sum(((1 << self.places[each][2]) - 1) << self.places[each][1] for each in numbers)
        lowest = (mask & -mask).bit_length() - 1
        for up in sorted(range(-lowest, _BITS - mask.bit_length() + 1), key=abs):
            folded = _folded(mask << up if up >= 0 else mask >> -up)
            if folded is not None and not folded & taken:
                return [_Run(_name(word), mask, up, folded, tuple(numbers))]
        if len(numbers) == 1:
            return None
        half = len(numbers) // 2
        first = self._moved(word, numbers[:half], taken)
        if first is None:
            return None
        second = self._moved(word, numbers[half:], taken | sum(run.folded for run in first))
        return None if second is None else first + second

    def codes_of(
        self, found: NDArray[np.int64], numbers: Sequence[int], behind: Sequence[int]
    ) -> list[NDArray[np.int64]]:
        """The codes of these columns out of numbers that hold them `together`."""
        return [
            (found >> below) & ((1 << self.places[number][2]) - 1)
            for number, below in zip(numbers, behind, strict=True)
        ]


@dataclass(frozen=True)
class _Run:
    """Bits of a word, and how far they are moved up."""

    word: str
    mask: int
    up: int
    folded: int
    numbers: tuple[int, ...]

    def bits(self, table: ir.Table) -> Any:
        found: Any = table[self.word] & self.mask
        return found << self.up if self.up > 0 else found >> -self.up if self.up < 0 else found


def _folded(mask: int) -> int | None:
    """The bits of a number with the upper half laid upon the lower one; None where they meet.

    PostgreSQL hashes a number of 64 bits so: what meets there is told apart only by comparing.

    >>> _folded(5 | 2 << 32), _folded(5 | 1 << 32)
    (7, None)
    """
    upper, lower = mask >> _HALF, mask & ((1 << _HALF) - 1)
    return None if upper & lower else upper | lower


def _name(word: int) -> str:
    return f"w{word}"


def finest(coordinate: Coordinate, values: ir.Value) -> Any:
    """Positions on the finest lattice, from which those on every other follow by whole numbers alone: a power
    of two changes no digit of a double. None where a record has no value."""
    import ibis

    found = coordinate.positions_in_database(values, MOST_BITS)
    return ibis.ifelse(values.notnull(), found, ibis.null("int64"))


def coarser(positions: Any, bits: int) -> Any:
    """Positions on a lattice of 2**bits steps out of those on the finest one."""
    return positions if bits == MOST_BITS else positions >> (MOST_BITS - bits)
