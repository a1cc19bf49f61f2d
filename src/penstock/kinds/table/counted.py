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
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.releases.answer import Bar
from penstock.releases.error_bars import EXACT, Noises, bar

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
    """What tables that are `able` say of what their columns have together, with all of its noise.

    A question about one or two columns is a number of records, a part for each column and one for both. In
    such a table all of them add up, each with the noise of where it is told: the number by the table of no
    column, each column by its own.
    """
    told = {table.attributes: table for table in tables if table.together or not table.attributes}
    found = []
    for table in (each for each in able if each.together):
        least, _ = table.extremes(names, weights)
        held = np.where(np.isfinite(least), least, 0.0)
        below = [told.get((name,)) for name in names] if len(names) > 1 else []
        if len(names) > 2 or any(each is None for each in below) or (public is None and () not in told):
            continue
        mean = float(held.mean())
        variance = 0.0 if public is not None else (mean * told[()].deviation) ** 2
        rest = held - mean
        for axis, one in enumerate(below):
            own = rest.mean(axis=1 - axis)
            variance += 0.0 if one is None else one.deviation**2 * float(np.square(own).sum())
            rest = rest - np.expand_dims(own, 1 - axis)
        variance += table.deviation**2 * float(np.square(rest).sum())
        sums, _ = table.sums(names)
        found.append((float((held * sums).sum()), bar([Noises(1.0, sqrt(variance), 1, True)])))
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
