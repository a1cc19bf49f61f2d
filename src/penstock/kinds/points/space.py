"""Spaces: the public hierarchy of cells over the fields of a schema.

An axis is one field, seen as places that are cut level by level (`penstock.kinds.points.axis`). A cell of the
space is one interval of places on every axis. Splitting it cuts all axes whose turn it is, and its
children are all combinations of the parts. Axes that are down to a single place stay as they are. All of
this follows from the schema alone, so that the tree of all cells is public.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from penstock.errors import SchemaError, UsageError
from penstock.kinds.points.axis import Axis, Numbers, axis_of
from penstock.schema import Schema

Words = list[NDArray[np.uint64]]

LATTICE_BITS = 30
MOST_CHILDREN = 4096
MOST_FIELDS = 64  # beyond, the volume of a cell leaves the range of doubles
TOGETHER = 6  # more axes than this take turns
IN_TURN = 3
LONG_WINDOW, SHORT_WINDOW = 15, 6


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one depth: the places [start, stop) on every axis, one row a cell."""

    start: Numbers
    stop: Numbers

    def __len__(self) -> int:
        return len(self.start)

    def take(self, chosen: Numbers) -> Cells:
        return Cells(self.start[chosen], self.stop[chosen])


@dataclass(frozen=True)
class _Slot:
    """Where the parts chosen at one depth stand in the key of a place: a word, a shift, bits per axis."""

    word: int
    shift: int
    widths: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Space:
    """All cells over some axes. `turns` lists, depth by depth, which axes are cut: `together` at a time."""

    axes: tuple[Axis, ...]
    turns: tuple[tuple[int, ...], ...]
    together: int

    @classmethod
    def of(cls, schema: Schema, *, together: int | None = None, deepest: int | None = None) -> Space:
        """The space of a schema's fields; `together` axes are cut at a time (all of up to six)."""
        count = len(schema.fields)
        if count > MOST_FIELDS:
            raise SchemaError(
                f"Points have at most {MOST_FIELDS} fields, and the schema declares {count}; remove those "
                "that nobody will ask about. Nothing was spent."
            )
        bits = LATTICE_BITS if count <= 4 else max(12, 4 * LATTICE_BITS // count)
        axes = tuple(axis_of(codec, bits) for codec in schema.codecs.values())
        if together is None:
            together = count if count <= TOGETHER else IN_TURN
        if together < 1 or (deepest is not None and deepest < 0):
            raise UsageError("together must be at least 1 and deepest at least 0.")
        space = cls(axes, tuple(_turns([axis.depth for axis in axes], together, deepest)), together)
        if space.fan_out > MOST_CHILDREN:
            raise SchemaError(
                f"Cutting {', '.join(schema.names)} at once makes up to {space.fan_out:,} children of one "
                f"cell, more than {MOST_CHILDREN:,}; set together to fewer axes, or give the longest list "
                "of categories a taxonomy with smaller groups. Nothing was spent."
            )
        return space

    @property
    def deepest(self) -> int:
        return len(self.turns)

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """How often each axis has been cut at each depth."""
        cut, found = [0] * len(self.axes), []
        for turn in (*self.turns, ()):
            found.append(tuple(cut))
            for axis in turn:
                cut[axis] += 1
        return tuple(found)

    @cached_property
    def fan_out(self) -> int:
        """The largest number of children that any cell has; at least 2."""
        fans = [
            prod(self.axes[axis].fan(self.levels[depth][axis]) for axis in turn)
            for depth, turn in enumerate(self.turns)
        ]
        return max(2, *fans) if fans else 2

    def top(self) -> Cells:
        """The one cell of depth 0: everything."""
        places = np.array([[axis.places for axis in self.axes]], dtype=np.int64)
        return Cells(np.zeros_like(places), places)

    def fans(self, cells: Cells, depth: int) -> Numbers:
        """How many children each cell of a depth has; 0 for a cell that is a single place."""
        if depth >= self.deepest:
            return np.zeros(len(cells), dtype=np.int64)
        fans = np.ones(len(cells), dtype=np.int64)
        for axis in self.turns[depth]:
            fans *= self._parts(cells, depth, axis)
        return np.where((cells.stop - cells.start > 1).any(axis=1), fans, 0)

    def _parts(self, cells: Cells, depth: int, axis: int) -> Numbers:
        return self.axes[axis].parts(cells.start[:, axis], cells.stop[:, axis], self.levels[depth][axis])

    def children(self, cells: Cells, depth: int) -> tuple[Cells, Numbers, Numbers]:
        """All children of the cells of a depth, cell by cell; the parent and the part numbers of each."""
        turn = self.turns[depth]
        parts = {axis: self._parts(cells, depth, axis) for axis in turn}
        fans = np.prod(np.stack([parts[axis] for axis in turn]), axis=0)
        parents = np.repeat(np.arange(len(cells)), fans)
        rest = np.arange(len(parents)) - np.repeat(np.cumsum(fans) - fans, fans)
        start, stop = cells.start[parents], cells.stop[parents]
        codes, shift = np.zeros(len(parents), dtype=np.int64), 0
        # the first axis is the slowest, so that the part numbers of siblings ascend
        for axis, width in reversed(list(zip(turn, self._slots[depth].widths, strict=True))):
            digit = rest % parts[axis][parents]
            rest //= parts[axis][parents]
            codes |= digit << shift
            shift += width
            start[:, axis], stop[:, axis] = self.axes[axis].part(
                start[:, axis], stop[:, axis], self.levels[depth][axis], digit
            )
        return Cells(start, stop), parents, codes

    # Keys: sorted by them, the places inside any cell follow one another -----------------------------

    @cached_property
    def _slots(self) -> tuple[_Slot, ...]:
        slots, word, used = [], 0, 0
        for depth, turn in enumerate(self.turns):
            widths = tuple(
                max(0, self.axes[axis].fan(self.levels[depth][axis]) - 1).bit_length() for axis in turn
            )
            if used + sum(widths) > 64:
                word, used = word + 1, 0
            used += sum(widths)
            slots.append(_Slot(word, 64 - used, widths))
        return tuple(slots)

    @property
    def words(self) -> int:
        """The number of 64-bit words of a key."""
        return self._slots[-1].word + 1 if self._slots else 1

    @property
    def in_one_word(self) -> int:
        """Down to which depth a key has one word only, which is sorted several times as fast as two."""
        return sum(slot.word == 0 for slot in self._slots)

    def slot(self, depth: int) -> tuple[int, int]:
        """The word and the shift of the part numbers chosen at a depth."""
        return self._slots[depth].word, self._slots[depth].shift

    def keys(self, places: Sequence[Numbers]) -> Words:
        """The key of every place, most significant word first."""
        count = len(places[0])
        words: Words = [np.zeros(count, dtype=np.uint64) for _ in range(self.words)]
        for axis, at in enumerate(places):
            found = self.axes[axis]
            if found.listed is not None:
                for word, table in self._tables(axis, np.arange(found.places), range(found.depth)):
                    words[word] |= table[at]
                continue
            # what a window of bits contributes is looked up; a longer window pays off for many points
            window = LONG_WINDOW if count > 1 << LONG_WINDOW else SHORT_WINDOW
            for below in range(0, found.bits, window):
                above = min(below + window, found.bits)
                levels = range(found.bits - above, found.bits - below)
                for word, table in self._tables(axis, np.arange(1 << (above - below)) << below, levels):
                    words[word] |= table[(at >> below) & ((1 << window) - 1)]
        return words

    def _tables(self, axis: int, places: Numbers, levels: range) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """What the parts chosen at some levels of an axis contribute to each word of the key."""
        tables: dict[int, NDArray[np.uint64]] = {}
        for level in levels:
            if level >= len(self._cut_at[axis]):
                continue
            depth = self._cut_at[axis][level]
            slot, position = self._slots[depth], self.turns[depth].index(axis)
            shift = slot.shift + sum(slot.widths[position + 1 :])
            digits = self.axes[axis].digits(places, level).astype(np.uint64)
            table = tables.setdefault(slot.word, np.zeros(len(places), dtype=np.uint64))
            table |= digits << np.uint64(shift)
        yield from tables.items()

    @cached_property
    def _cut_at(self) -> list[list[int]]:
        """The depths at which each axis is cut, in order."""
        return [
            [depth for depth, turn in enumerate(self.turns) if axis in turn] for axis in range(len(self.axes))
        ]


def _turns(depths: Sequence[int], together: int, deepest: int | None) -> Iterator[tuple[int, ...]]:
    """Which axes are cut at each depth: all that are left, or `together` of them in turn."""
    left, following, made = list(depths), 0, 0
    while any(left) and (deepest is None or made < deepest):
        order = [(following + step) % len(left) for step in range(len(left))]
        turn = [axis for axis in order if left[axis] > 0][:together]
        following = (turn[-1] + 1) % len(left)
        for axis in turn:
            left[axis] -= 1
        made += 1
        yield tuple(sorted(turn))
