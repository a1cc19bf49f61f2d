"""Axes: one field of a schema, seen as places 0, 1, 2, ... and cut level by level.

A real number has places on a fine lattice and is halved again and again. A whole number, a date or an
ordered category is a place by itself and halved down to single values. Categories stand in the order of
their taxonomy and are cut the way it branches. All of this follows from the schema alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from penstock.engine.coordinates import Coordinate
from penstock.schema import Codec, Field, Taxonomy

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

MOST_LISTED = 4096  # whole numbers up to this many are places one by one; beyond, cells may hold two
FLAT = 16  # a plain list of more categories than this is cut in several steps


@dataclass(frozen=True, eq=False)
class Axis:
    """One field as places, cut level by level.

    `listed` holds the first places of the cells at each level, from the whole axis down; without it
    the axis has 2**`bits` places and is halved. `asked` is what the engine is asked for: the
    bits of a lattice position, or None for the code of a category. `spread` says that such a
    lattice is laid over whole values, several of which may share a place.
    """

    name: str
    codec: Codec
    bits: int
    asked: int | None
    listed: tuple[Numbers, ...] | None = None
    codes: Numbers | None = None
    spread: bool = False

    @property
    def field(self) -> Field:
        return self.codec.field

    @property
    def places(self) -> int:
        return 1 << self.bits if self.listed is None else len(self.listed[-1])

    @property
    def depth(self) -> int:
        """How many times the axis can be cut."""
        return self.bits if self.listed is None else len(self.listed) - 1

    @property
    def category(self) -> bool:
        """Whether the places are categories, of which a question may ask for any selection."""
        return self.codes is not None

    def fan(self, level: int) -> int:
        """The largest number of parts into which a cell of this level is cut."""
        if self.listed is None:
            return 2
        return int(np.diff(self._first[level]).max())

    @cached_property
    def _first(self) -> list[Numbers]:
        """For each level, where the parts of each of its cells begin among the cells of the next."""
        assert self.listed is not None
        return [
            np.searchsorted(after, np.append(before, self.places))
            for before, after in zip(self.listed[:-1], self.listed[1:], strict=True)
        ]

    def parts(self, start: Numbers, stop: Numbers, level: int) -> Numbers:
        """Into how many parts the cells [start, stop) of a level are cut."""
        if self.listed is None:
            return np.full(len(start), 2)
        cells = np.searchsorted(self.listed[level], start)
        return np.diff(self._first[level])[cells]

    def part(self, start: Numbers, stop: Numbers, level: int, digit: Numbers) -> tuple[Numbers, Numbers]:
        """The part of each cell with the given number."""
        if self.listed is None:
            half = (stop - start) >> 1
            return start + digit * half, start + (digit + 1) * half
        after = np.append(self.listed[level + 1], self.places)
        chosen = self._first[level][np.searchsorted(self.listed[level], start)] + digit
        return after[chosen], after[chosen + 1]

    def digits(self, places: Numbers, level: int) -> Numbers:
        """In which part of its cell each place lies when the cells of a level are cut."""
        if self.listed is None:
            return (places >> (self.bits - 1 - level)) & 1
        before = np.searchsorted(self.listed[level], places, side="right") - 1
        after = np.searchsorted(self.listed[level + 1], places, side="right") - 1
        return after - self._first[level][before]

    @cached_property
    def _table(self) -> Numbers | None:
        """The place of every category's code; None where lattice positions decide."""
        if self.codes is None:
            return None
        table: Numbers = np.empty(self.places, dtype=np.int64)
        table[self.codes] = np.arange(self.places)
        return table

    @cached_property
    def _positions(self) -> Numbers:
        """The lattice position of every whole number of the domain."""
        assert self.asked is not None
        values = np.asarray(self.bounds[0] + np.arange(self.places), dtype=np.float64)
        return Coordinate.of(self.codec).positions(values, self.asked)

    def placed(self, raw: Numbers) -> Numbers:
        """The places of what the engine answers: lattice positions or codes."""
        if self._table is not None:
            return self._table[raw]
        return raw if self.listed is None else np.searchsorted(self._positions, raw)

    # Public geometry -----------------------------------------------------------------------------

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Where the field's domain begins and ends on the real line."""
        edges = self.field.edges
        return edges.low, edges.end

    @cached_property
    def length(self) -> float:
        """The whole axis in its own unit: lattice steps, whole values, or categories."""
        counted = self.spread or (self.listed is not None and not self.category)
        return float(self._values) if counted else float(self.places)

    @property
    def _values(self) -> int:
        low, end = self.bounds
        return int(end) - int(low)

    def measured(self, places: Numbers) -> Reals:
        """Where places lie, in the axis' own unit."""
        if self.spread:
            return self._first_values(places).astype(np.float64)
        return places.astype(np.float64)

    def _first_values(self, places: Numbers) -> Numbers:
        """The first whole value at or beyond each lattice place, by the arithmetic of the lattice."""
        size, coordinate, low = self._values, Coordinate.of(self.codec), self.bounds[0]
        guess: Numbers = np.minimum(np.ceil(places * (size / self.places)), size).astype(np.int64)

        def reached(values: Numbers) -> NDArray[np.bool_]:
            return coordinate.positions(np.asarray(low + values, dtype=np.float64), self.bits) >= places

        while (high := (guess > 0) & reached(np.maximum(guess - 1, 0))).any():
            guess = guess - high
        while (short := (guess < size) & ~reached(np.minimum(guess, size - 1))).any():
            guess = guess + short
        return guess

    def interval(self, low: Reals, high: Reals) -> tuple[Reals, Reals]:
        """Intervals [low, high) of the field, in the axis' own unit and cut to it.

        One that reaches the end of the domain includes it.
        """
        first, last = self.bounds
        if first == last:
            return np.where(low <= first, 0.0, self.length), np.where(high >= first, self.length, 0.0)
        begin, end = ((at - first) / (last - first) * self.length for at in (low, high))
        return np.clip(begin, 0.0, self.length), np.clip(end, 0.0, self.length)

    def values(self, units: Reals) -> Reals:
        """The numbers of the field at positions in the axis' own unit."""
        first, last = self.bounds
        return np.minimum(first + units / self.length * (last - first), last)


def axis_of(codec: Codec, bits: int) -> Axis:
    """The axis of a field; a real number gets 2**`bits` places."""
    field = codec.field
    if not field.ranged:
        starts, codes = _categories(codec)
        return Axis(field.name, codec, 0, None, starts, codes)
    if not field.whole:
        return Axis(field.name, codec, 0 if field.edges.low == field.edges.high else bits, bits)
    values = int(field.edges.end) - int(field.edges.low)
    if values <= MOST_LISTED:
        return Axis(field.name, codec, 0, values.bit_length() + 1, tuple(_cut_evenly(values, 2)))
    # every cell of the deepest level holds a whole value, because there are fewer cells than values
    used = min(bits, values.bit_length() - 1)
    return Axis(field.name, codec, used, used, spread=True)


def _cut_evenly(size: int, fan: int) -> Iterator[Numbers]:
    """The first places of cells that are cut into `fan` even parts until each is a single place."""
    starts = np.array([0])
    yield starts
    while len(starts) < size:
        ends = np.append(starts[1:], size)
        parts = [
            begin + np.unique(np.arange(min(fan, end - begin)) * (end - begin) // min(fan, end - begin))
            for begin, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
        starts = np.concatenate(parts)
        yield starts


def _categories(codec: Codec) -> tuple[tuple[Numbers, ...], Numbers]:
    """The cuts along a list of categories, and the codes in the order of the places.

    Missing and other values are places of their own, beside the topmost groups.
    """
    field, attribute = codec.field, codec.attribute
    special = np.arange(attribute.regular, attribute.size)
    if field.taxonomy is None:
        codes = np.arange(attribute.size)
        if field.ordered:
            inner = list(_cut_evenly(attribute.regular, 2))
        else:
            steps = max(1, ceil(np.log(max(attribute.regular, 2)) / np.log(FLAT) - 1e-9))
            inner = list(_cut_evenly(attribute.regular, ceil(attribute.regular ** (1 / steps) - 1e-9)))
    else:
        code = {label: number for number, label in enumerate(field.labels)}
        order = [code[leaf] for leaf in field.taxonomy.leaves]
        codes = np.concatenate([np.array(order, dtype=np.int64), special])
        inner = _branches(field.taxonomy)
    if len(special):
        # the first cut sets missing and other values apart, together with the first cut of the rest
        inner = [np.array([0]), *(np.concatenate([cut, special]) for cut in inner[1:] or [np.array([0])])]
    return tuple(inner), codes


def _branches(taxonomy: Taxonomy) -> list[Numbers]:
    """The first leaves of the groups at each depth of a taxonomy, with single children passed over."""
    cuts: list[Numbers] = [np.array([0])]
    nodes = [_branching(taxonomy)]
    while any(node.children for node in nodes):
        nodes = [_branching(child) for node in nodes for child in (node.children or (node,))]
        sizes = np.array([max(1, len(node.leaves)) for node in nodes])
        cuts.append(np.cumsum(sizes) - sizes)
    return cuts


def _branching(node: Taxonomy) -> Taxonomy:
    """The node, or the first one below it that has more or less than one child."""
    while len(node.children) == 1:
        node = node.children[0]
    return node
