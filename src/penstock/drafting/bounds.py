"""Types, bounds and categories found under a small budget instead of read off the data.

Guarantee: pure epsilon for types and bounds, (epsilon, delta) for lists of categories; one unit added
or removed.
Why: every record falls into one cell of each histogram below, so a unit of m records moves it by at
most m in all (L1), and discrete Laplace noise of scale m/epsilon pays for it. The cells are public: those of
an outline (`penstock.drafting.outline`), then equal bins between two bounds that were found before.
Categories have no public list to begin with; `frequent` counts only those that occur, and names those
whose noisy count reaches a threshold that a single unit passes with probability at most delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.drafting.columns import FEW, MARKERS, MOST_CATEGORIES
from penstock.drafting.outline import CELLS, Outline, cells_of, least_filled
from penstock.errors import UsageError
from penstock.privacy.budgets.accounting import exp_down, ln_down, ln_up
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.naming import Named
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import Sealed, join, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Field
from penstock.schema.reading import read
from penstock.schema.values import Type

_BINS: Final = 128


@dataclass(frozen=True)
class Occurring:
    """Values that occur and how often: which ones is as private as how often."""

    values: tuple[str, ...]
    counts: NDArray[np.int64]


class Column:
    """One raw column that can be counted and not seen.

    `records` is the largest number of records that one unit has in it.
    """

    def __init__(self, values: pl.Series, records: int = 1) -> None:
        self.name = values.name
        self._values = values
        self._sensitivity = Sensitivity.of(records, monotone=True)

    def _seal(self, cells: NDArray[Any], size: int) -> Sealed[NDArray[np.int64]]:
        """A count of each cell; a record lies in one cell, or in none."""
        return Sealed(
            np.bincount(cells, minlength=size),
            self._sensitivity,
            Relation.ADD_REMOVE,
            because="a record's value lies in one cell, or in none, so a unit of m records moves the counts "
            "by m together, all of it perhaps in one cell",
        )

    def outline(self) -> Sealed[NDArray[np.int64]]:
        """How many values lie in each of `CELLS`."""
        return self._seal(cells_of(self._values), len(CELLS))

    def size(self) -> Sealed[NDArray[np.int64]]:
        """The number of records, as a vector of one."""
        return self._seal(np.zeros(len(self._values), dtype=np.int64), 1)

    def bins(
        self, kind: Type, edges: NDArray[np.float64], signs: tuple[str, ...] = ()
    ) -> Sealed[NDArray[np.int64]]:
        """How many values lie in each half-open bin; what is outside, or a sign, counts nowhere."""
        where = np.searchsorted(edges, self._positions(kind, signs), side="right") - 1
        return self._seal(where[(where >= 0) & (where < len(edges) - 1)], len(edges) - 1)

    def occurring(self) -> Sealed[Occurring]:
        """The different texts and how often each occurs."""
        reading = read(_any_domain(self.name, "string"), self._values, MARKERS)
        texts = reading.values.filter(pl.Series(~(reading.missing | reading.unreadable)))
        table = texts.value_counts(sort=False, name="times")
        found = Occurring(tuple(table[texts.name].to_list()), table["times"].to_numpy().astype(np.int64))
        return Sealed(
            found,
            self._sensitivity,
            Relation.ADD_REMOVE,
            because="a record has one text and moves its count by one, also from or to not occurring, so a "
            "unit of m records moves the counts by m together",
        )

    def _positions(self, kind: Type, signs: tuple[str, ...]) -> NDArray[np.float64]:
        reading = read(_any_domain(self.name, kind), self._values, (*MARKERS, *signs))
        return reading.values.filter(pl.Series(~(reading.missing | reading.unreadable))).to_numpy()


def outlines(columns: Sequence[Column], pay: Budget) -> list[Outline]:
    """The outline of each column, from one noisy histogram of all of them; pays all of `pay`."""
    sealed = join([column.outline() for column in columns])
    least = least_filled(float(sealed.sensitivity.l1 / pay.left[0]))
    noisy = noise.counts(sealed, pay=pay).reshape(len(columns), len(CELLS))
    return [Outline(tuple(row), least) for row in noisy.tolist()]


@dataclass(frozen=True)
class Closer:
    """What a closer look shows: bounds, or a few whole numbers that are codes."""

    low: float
    high: float
    codes: tuple[int, ...] = ()


def closer(
    column: Column, kind: Type, outline: Outline, pay: Budget, *, codes_are_categories: bool = True
) -> Closer:
    """Look closer between the rough bounds of an outline; pays all of `pay`.

    A few values at either end may fall outside: that is what hides them. Where a bin is a single whole
    number, the filled ones are codes if they are few and nothing much lies between them.
    """
    assert outline.bounds is not None
    (low, high), whole = outline.bounds, kind != "number"
    edges = np.linspace(low, high, _BINS + 1)
    if whole:
        edges = np.unique([*np.floor(edges), high + 1])
    elif low == high:
        edges = np.array([low, np.nextafter(high, np.inf)])
    sealed = column.bins(kind, edges, outline.signs)
    scale = float(sealed.sensitivity.l1 / pay.left[0])
    noisy = noise.counts(sealed, pay=pay)
    if codes_are_categories and kind == "integer" and len(edges) == high - low + 2:
        codes = _codes(noisy, scale)
        if codes:
            return Closer(low, high, tuple(int(low) + code for code in codes))
    first, last = _ends(noisy, scale)
    return Closer(float(edges[first]), float(edges[last + 1] - (1 if whole else 0)))


def _codes(noisy: NDArray[np.int64], scale: float) -> list[int]:
    """The filled bins where they are few and the others together seem empty; else none."""
    filled = noisy >= least_filled(scale, len(noisy))
    rest = float(noisy[~filled].sum())
    allowed = 4 * scale * sqrt(2 * len(noisy)) + float(noisy[filled].sum()) / 50
    few = 1 <= int(filled.sum()) <= FEW
    return np.flatnonzero(filled).tolist() if few and rest <= allowed else []


def _ends(noisy: NDArray[np.int64], scale: float) -> tuple[int, int]:
    """The bins between which nearly everything lies, from either end.

    From outside in, a sum of noisy counts that starts anew whenever it falls below zero (CUSUM), and loses
    half the noise's scale with every bin, stays small while there is only noise and grows as soon as there
    are records. What it takes to notice them is what may be lost: one record in a hundred, up to one in
    twenty where there is much noise.
    """
    whole, total = (0, len(noisy) - 1), float(noisy.sum())
    noticed = max(total / 100, min(10 * scale, total / 20))
    if noticed < 5 * scale:
        return whole

    def first_noticed(counts: list[int]) -> int:
        met = 0.0
        for place, count in enumerate(counts):
            met = max(0.0, met + count - scale / 2)
            if met >= noticed:
                return place
        return 0

    first, last = first_noticed(noisy.tolist()), len(noisy) - 1 - first_noticed(noisy[::-1].tolist())
    return (first, last) if first <= last else whole


def threshold(epsilon: Fraction, delta: Fraction, records: int = 1) -> int:
    """The noisy count from which `frequent` names a value: exact integers, never too small.

    Noise Z has P(Z >= t) = a^t / (1 + a) for t >= 0, with a = e^{-epsilon/m}. Values that only one
    unit has occur c_1, ..., c_k >= 1 times, at most m in all, and one of them is named with
    probability at most the sum of a^(T - c_i) / (1 + a). That is convex in the c_i, so it is largest
    for one value m times or m values once: a^T max(e^epsilon, m e^{epsilon/m}) / (1 + a) <= delta.

    >>> threshold(Fraction(1), Fraction(1, 10**6))
    15
    """
    rate = epsilon / records
    most = max(epsilon, ln_up(Fraction(records)) + rate)
    least = (most - ln_down(1 + exp_down(-rate)) - ln_down(delta)) / rate
    return max(records, ceil(least))


def frequent(sealed: Sealed[Occurring], pay: Budget, *, most: int = MOST_CATEGORIES) -> list[str]:
    """Values that many units have, sorted; pays all that is left of `pay`, which needs a delta.

    Stability-based histogram, (epsilon, delta)-DP under add-remove. Proof. Let D have one unit more
    than D', with c of its records in values that occur in D only. Values that occur in both move by at
    most m - c in all, so under the noise of scale m/epsilon their named set changes by a factor of at
    most e^{epsilon (m - c)/m}. Under D one of the values of D alone is named with probability p <= delta
    (see `threshold`), under D' never. For a set S of answers, P_D(S) <= e^epsilon P_D'(S) + p, and
    P_D'(S) <= e^epsilon P_D(S) + p because P_D(S) >= (1 - p) e^{-epsilon} P_D'(S) on answers without
    them. Keeping the `most` most frequent and sorting them is post-processing.
    """
    epsilon, delta = pay.left
    if delta == 0:
        raise UsageError(
            "Categories can only be found with a delta above 0; give one, such as 1e-6, or declare the "
            "categories in the schema. Nothing was spent."
        )
    if most < 1:
        raise UsageError("At least one category must be allowed.")
    records = int(sealed.sensitivity.l1)
    least = threshold(epsilon, delta, records)
    source = pay.spend("stability histogram", sealed, amount=epsilon, detail=f"threshold {least}")
    found = open_seal(sealed)
    named = source.draw(Named(found.values, found.counts, Fraction(records) / epsilon, least))
    ranked = sorted(((count, value) for value, count in named.items()), reverse=True)
    return sorted(value for _, value in ranked[:most])


def _any_domain(name: str, kind: Type) -> Field:
    return Field.model_construct(name=name, type=kind)
