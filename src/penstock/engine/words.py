"""The codes of a record in few whole numbers: runs of bits, the first column highest.

A database that goes from row to row reads one number sooner than a dozen, and a table of several columns is
then counted by the bits of a number that are theirs, without any arithmetic. Where the bits stand is public:
it follows from the sizes of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.coordinates import MOST_BITS, Coordinate

if TYPE_CHECKING:
    import ibis.expr.types as ir

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

    def together(self, table: ir.Table, numbers: Sequence[int]) -> Any | None:
        """The codes of these columns as one number: the bits of a word that are theirs. None where they stand
        in several words."""
        if len({self.places[number][0] for number in numbers}) != 1:
            return None
        mask = sum(((1 << length) - 1) << below for _, below, length in map(self.places.__getitem__, numbers))
        column: Any = table[_name(self.places[numbers[0]][0])]
        return column & mask

    def apart(self, found: NDArray[np.int64], numbers: Sequence[int]) -> list[NDArray[np.int64]]:
        """The codes of these columns out of numbers that hold them `together`."""
        return [
            (found >> below) & ((1 << length) - 1)
            for _, below, length in map(self.places.__getitem__, numbers)
        ]


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
