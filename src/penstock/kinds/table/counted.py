"""Answers that rest on noisy counts alone: which tables see a question, and what they say together.

A table of noisy counts sees a question when every one of its cells lies wholly inside or wholly outside.
Then the sum of the cells inside is an unbiased answer, and the sum of those outside says what all records
have in common with it. Several tables, each with noise of its own, are combined by generalised least squares
in two unknowns, the records inside and outside; the number of records, where it is public, is the sum of
both. So an answer is a weighted sum of noisy counts with known weights. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.releases.answer import Bar
from penstock.releases.error_bars import EXACT, Noises, bar, linear, normal

Reals = NDArray[np.float64]
Truth = NDArray[np.bool_]

MOST_CELLS = 1 << 18
"""Combinations of codes of the columns of one question; beyond it, the model answers."""

_LEAST = 1e-6  # noise of sensitivity 0 has no deviation; weights need one


@dataclass(frozen=True, eq=False)
class CountedTable:
    """Noisy counts with one axis for each of some attributes, and the deviation of the noise of each cell.

    `places` gives for each attribute the place of every code along its axis: several codes may share one,
    and a place may belong to none. `possible` is false for cells that the schema declares impossible: they
    hold noise alone and are left out of every sum. The noise is discrete Laplace, or discrete Gaussian where
    `gaussian` says so. A table that tells only what its columns have `together` sees questions about all of
    them, and nothing of fewer.
    """

    attributes: tuple[str, ...]
    places: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.number]
    deviation: float
    possible: Truth | None = None
    gaussian: bool = False
    together: bool = False

    def place(self, name: str) -> NDArray[np.int64]:
        return self.places[self.attributes.index(name)]

    def sees(self, names: Sequence[str]) -> bool:
        """Whether the table tells anything of these columns."""
        inside = set(names) <= set(self.attributes)
        return inside and not (self.together and len(set(names)) < len(self.attributes))

    def refines(self, other: CountedTable, name: str) -> bool:
        """Whether it has a column at least as finely as another table."""
        if name not in self.attributes:
            return False
        fine, coarse = self.place(name), other.place(name)
        return bool((_groups(fine, coarse)[fine] == coarse).all())

    def along(self, name: str, values: Reals) -> Reals:
        """One of these values for every cell, by its place along a column."""
        axis = self.attributes.index(name)
        return values.reshape([-1 if place == axis else 1 for place in range(self.counts.ndim)])

    def without(self, impossible: Iterable[tuple[tuple[str, ...], Truth]]) -> CountedTable:
        """The same table, told which combinations of codes of which attributes cannot occur."""
        possible = np.ones(self.counts.shape, dtype=np.bool_)
        for names, table in impossible:
            if set(names) <= set(self.attributes):
                shape = [self.counts.shape[self.attributes.index(name)] for name in names]
                _, some = _extremes(~table, [self.place(name) for name in names], shape)
                axes = [self.attributes.index(name) for name in names]
                turned = np.transpose(some > 0, np.argsort(axes))
                lengths = [size if axis in axes else 1 for axis, size in enumerate(self.counts.shape)]
                possible &= turned.reshape(lengths)
        return replace(self, possible=possible)

    def seen(self, names: Sequence[str], weights: Reals) -> Seen | None:
        """What the table says about a question with these weights of the codes; None if it sees too little.

        A weight of NaN marks a combination of codes that cannot occur.
        """
        if not self.sees(names):
            return None
        least, most = self.extremes(names, weights)
        known = np.isfinite(most)
        if (least[known] != most[known]).any() or not np.isin(most[known], (0.0, 1.0)).all():
            return None
        sums, cells = self.sums(names)
        inside, outside = known & (most == 1.0), known & (most == 0.0)
        return Seen(
            float(sums[inside].sum()),
            int(cells[inside].sum()),
            float(sums[outside].sum()),
            int(cells[outside].sum()),
            max(self.deviation, _LEAST),
            self.gaussian,
        )

    def extremes(self, names: Sequence[str], weights: Reals) -> tuple[Reals, Reals]:
        """The least and the largest weight of the codes at each place of some of the columns.

        They are +inf and -inf where no code can occur.
        """
        shape = [self.counts.shape[self.attributes.index(name)] for name in names]
        return _extremes(weights, [self.place(name) for name in names], shape)

    def sums(self, names: Sequence[str]) -> tuple[Reals, Reals]:
        """The noisy count at each place of some of the columns, and of how many cells it is the sum."""
        axes = [self.attributes.index(name) for name in names]
        kept = np.ones(self.counts.shape, dtype=np.bool_) if self.possible is None else self.possible
        others = tuple(axis for axis in range(self.counts.ndim) if axis not in axes)
        order = np.argsort(np.argsort(axes))
        counts = np.where(kept, self.counts, 0).sum(axis=others).astype(np.float64)
        return np.transpose(counts, order), np.transpose(kept.sum(axis=others).astype(np.float64), order)

    def everything(self) -> Seen:
        """The table as a count of all records."""
        kept = np.ones(self.counts.shape, dtype=np.bool_) if self.possible is None else self.possible
        return Seen(
            float(self.counts[kept].sum()),
            int(kept.sum()),
            0.0,
            0,
            max(self.deviation, _LEAST),
            self.gaussian,
        )


@dataclass(frozen=True)
class Seen:
    """The noisy sums of the cells inside and outside of a question, of how many cells, and their noise."""

    inside: float
    cells_inside: int
    outside: float
    cells_outside: int
    deviation: float
    gaussian: bool = False


def combined(seen: Sequence[Seen], totals: Sequence[Seen], public: float | None) -> tuple[float, Bar]:
    """The records inside a question and their error bar.

    `seen` are tables that tell inside from outside, both of which have cells; `totals` count all records.

    >>> combined([Seen(40.0, 1, 62.0, 1, 10.0)], [], public=100.0)
    (39.0, Bar(half=14.5..., covers=0.95))
    """
    if public is not None:
        inner = [1 / (each.cells_inside * each.deviation**2) for each in seen]
        outer = [1 / (each.cells_outside * each.deviation**2) for each in seen]
        whole = sum(inner) + sum(outer)
        value = sum(w * each.inside for w, each in zip(inner, seen, strict=True))
        value += sum(w * (public - each.outside) for w, each in zip(outer, seen, strict=True))
        shares = [
            Noises(w / whole, each.deviation, each.cells_inside, each.gaussian)
            for w, each in zip(inner, seen, strict=True)
        ] + [
            Noises(w / whole, each.deviation, each.cells_outside, each.gaussian)
            for w, each in zip(outer, seen, strict=True)
        ]
        return value / whole, bar(shares)
    common = sum(1 / (each.cells_inside * each.deviation**2) for each in totals)
    within = sum(1 / (each.cells_inside * each.deviation**2) for each in seen)
    without = sum(1 / (each.cells_outside * each.deviation**2) for each in seen)
    determinant = within * without + common * (within + without)  # nothing is subtracted that could cancel
    value, shares = 0.0, []
    for each in seen:
        for sign, amount, number in (
            ((without + common) / determinant, each.inside, each.cells_inside),
            (-common / determinant, each.outside, each.cells_outside),
        ):
            weight = sign / (number * each.deviation**2)
            value += weight * amount
            shares.append(Noises(weight, each.deviation, number, each.gaussian))
    for each in totals:
        weight = without / determinant / (each.cells_inside * each.deviation**2)
        value += weight * each.inside
        shares.append(Noises(weight, each.deviation, each.cells_inside, each.gaussian))
    return value, bar(shares)


def total(tables: Sequence[Seen]) -> tuple[float, Bar]:
    """The number of all records from several counts of it, and its error bar.

    >>> total([Seen(100.0, 1, 0.0, 0, 10.0), Seen(104.0, 1, 0.0, 0, 10.0)])
    (102.0, Bar(half=14.5..., covers=0.95))
    """
    weights = [1 / (each.cells_inside * each.deviation**2) for each in tables]
    whole = sum(weights)
    value = sum(w * each.inside for w, each in zip(weights, tables, strict=True)) / whole
    shares = [
        Noises(w / whole, each.deviation, each.cells_inside, each.gaussian)
        for w, each in zip(weights, tables, strict=True)
    ]
    return value, bar(shares)


def answered(
    tables: Sequence[CountedTable], names: Sequence[str], weights: Reals, public: float | None
) -> tuple[float, Bar] | None:
    """What all tables that see a question say about it, with the error bar; None where no table sees it."""
    found = [(table, table.seen(names, weights)) for table in tables]
    able = [seen for _, seen in found if seen is not None]
    if not able:
        return None
    if all(not seen.cells_outside for seen in able):  # it holds for every record
        if public is not None:
            return public, EXACT
        return total([table.everything() for table in tables if not table.together])
    if all(not seen.cells_inside for seen in able):  # it holds for none
        return 0.0, EXACT
    telling = [
        seen
        for table, seen in found
        if seen is not None and seen.cells_inside and seen.cells_outside and not table.together
    ]
    others = [table.everything() for table, seen in found if seen is None and not table.together]
    known = [combined(telling, others, public)] if telling else []
    known += in_parts([table for table, seen in found if seen is not None], tables, names, weights, public)
    if not known:
        return None
    value, narrowest = min(known, key=lambda one: one[1].half)  # how wide bars are is public
    return (value if public is None else min(value, public)), narrowest


def in_parts(
    able: Sequence[CountedTable],
    tables: Sequence[CountedTable],
    names: Sequence[str],
    weights: Reals,
    public: float | None,
) -> list[tuple[float, Bar]]:
    """What tables that are `able` say of what their columns have together, with all of its noise."""
    found = []
    for table in (each for each in able if each.together):
        told = sums_of(table, tables, names, public)
        if told is not None:
            least, _ = table.extremes(names, weights)
            held = np.where(np.isfinite(least), least, 0.0)
            found.append((told.sum(held), told.bar(held)))
    return found


class Sums(Protocol):
    """What a table says of weighted sums over its places, and how far off that is."""

    def sum(self, worth: Reals) -> float: ...

    def bar(self, worth: Reals) -> Bar: ...


def sums_of(
    table: CountedTable, tables: Sequence[CountedTable], names: Sequence[str], public: float | None
) -> Sums | None:
    """Of a table that sees these columns; None where others do not tell what it leaves to them.

    Weights of one or two columns are a number for all records, a part for each column and one for both. A
    table that tells what columns have together is told the others by the tables of a noisy matrix of
    products, each with noise of its own, or by tables of counts.
    """
    sums, cells = table.sums(names)
    if not table.together:
        return OfCells(sums, cells, table.deviation, table.gaussian)
    told = {each.attributes: each for each in tables if each.together or not each.attributes}
    below = [told.get((name,)) for name in names]
    if len(names) > 2 or (None in below and len(names) == 1):
        return None
    if None not in below:
        if public is None and () not in told:
            return None
        known = 0.0 if public is not None else told[()].deviation
        sides = [each.deviation for each in below if each is not None]
        return OfMatrix(sums, known, sides, table.deviation if len(names) > 1 else 0.0)
    counted = [each for each in tables if not each.together]
    finest = [
        min(
            (each for each in counted if each.refines(table, name)),
            key=lambda each: each.deviation**2 * each.counts.size,
            default=None,
        )
        for name in names
    ]
    if None in finest:
        return None
    sides_ = [(name, each) for name, each in zip(names, finest, strict=True) if each is not None]
    return OfColumns(table, sums, counted, sides_, public)


@dataclass(frozen=True, eq=False)
class OfCells:
    """Noisy counts, each the sum of so many cells with independent noise."""

    sums: Reals
    cells: Reals
    deviation: float
    gaussian: bool

    def sum(self, worth: Reals) -> float:
        return float((worth * self.sums).sum())

    def bar(self, worth: Reals) -> Bar:
        return linear(worth, self.cells, self.deviation, self.gaussian)


@dataclass(frozen=True, eq=False)
class OfMatrix:
    """Tables made of a noisy matrix: all parts add up in them, each with a deviation of its own."""

    sums: Reals
    records: float
    sides: Sequence[float]
    both: float

    def sum(self, worth: Reals) -> float:
        return float((worth * self.sums).sum())

    def bar(self, worth: Reals) -> Bar:
        mean, owns, rest = _parts(worth)
        parts = [(self.records, np.array([mean])), *zip(self.sides, owns, strict=True), (self.both, rest)]
        return normal(sum(each**2 * float(np.square(part).sum()) for each, part in parts))


@dataclass(frozen=True, eq=False)
class OfColumns:
    """What two columns have together by a table of that, and what each has by tables of counts.

    All noise is Gaussian, and a sum is one of weighted cells of all these tables: its variance is exact.
    """

    table: CountedTable
    sums: Reals
    counted: Sequence[CountedTable]
    sides: Sequence[tuple[str, CountedTable]]
    public: float | None

    def sum(self, worth: Reals) -> float:
        mean, _, rest = _parts(worth)
        found = float((rest * self.sums).sum()) + (0.0 if self.public is None else mean * self.public)
        return found + sum(
            float((each * table.counts).sum())
            for each, table in zip(self._weights(worth), self.counted, strict=True)
        )

    def bar(self, worth: Reals) -> Bar:
        variance = self.table.deviation**2 * float(np.square(_parts(worth)[2]).sum())
        for each, table in zip(self._weights(worth), self.counted, strict=True):
            cells = table.counts.size / each.size
            variance += table.deviation**2 * cells * float(np.square(each).sum())
        return normal(variance)

    def _weights(self, worth: Reals) -> list[Reals]:
        """Of the cells of all tables of counts: those of what each column adds, and of all records."""
        mean, owns, _ = _parts(worth)
        found = [np.full((1,) * table.counts.ndim, mean * share) for table, share in self._records]
        for (name, side), own in zip(self.sides, owns, strict=True):
            place = next(number for number, table in enumerate(self.counted) if table is side)
            groups = _groups(side.place(name), self.table.place(name))
            found[place] = found[place] + side.along(name, own[groups])
        return found

    @cached_property
    def _records(self) -> list[tuple[CountedTable, float]]:
        """How much each table says of the number of records, where that is not public."""
        precision = [1 / max(each.deviation**2 * each.counts.size, _LEAST) for each in self.counted]
        known = self.public is not None
        return [
            (table, 0.0 if known else one / sum(precision))
            for table, one in zip(self.counted, precision, strict=True)
        ]


def _parts(held: Reals) -> tuple[float, list[Reals], Reals]:
    """The mean of a table of one or two axes, what each axis adds to that, and what both together do."""
    mean = float(held.mean())
    if held.ndim == 1:
        return mean, [held - mean], np.zeros_like(held)
    owns = [held.mean(axis=1 - axis) - mean for axis in range(2)]
    return mean, owns, held - mean - np.add.outer(*owns)


def _groups(fine: NDArray[np.int64], coarse: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each place among finer ones the coarser one of its codes."""
    found = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    found[fine] = coarse
    return found


def identity(sizes: Mapping[str, int], names: Sequence[str]) -> tuple[NDArray[np.int64], ...]:
    """The places of codes in a table that holds all of them."""
    return tuple(np.arange(sizes[name]) for name in names)


def _extremes(
    values: NDArray[np.generic], places: Sequence[NDArray[np.int64]], shape: Sequence[int]
) -> tuple[Reals, Reals]:
    """The least and the largest value among the codes at each place; +inf and -inf where there is none.

    Codes whose value is NaN do not occur, and do not count.
    """
    least = np.asarray(values, dtype=np.float64)
    most = least
    for axis, (lookup, size) in enumerate(zip(places, shape, strict=True)):
        low = np.full((*least.shape[:axis], size, *least.shape[axis + 1 :]), np.inf)
        high = np.full(low.shape, -np.inf)
        np.fmin.at(np.moveaxis(low, axis, 0), lookup, np.moveaxis(least, axis, 0))
        np.fmax.at(np.moveaxis(high, axis, 0), lookup, np.moveaxis(most, axis, 0))
        least, most = low, high
    return least, most
