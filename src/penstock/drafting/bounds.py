"""Types, bounds and categories found under a small budget instead of read off the data.

Guarantee: pure epsilon for types and bounds, (epsilon, delta) for lists of categories; one unit added
or removed.
Why: every record falls into one cell of each histogram below, so a unit of m records moves it by at
most m in all (L1), and discrete Laplace noise of scale m/epsilon pays for it. The cells are public:
seven kinds of text, the powers of two, then equal bins between two bounds that were found before.
Categories have no public list to begin with; `frequent` counts only those that occur, and names those
whose noisy count reaches a threshold that a single unit passes with probability at most delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.drafting.proposal import MARKERS, MOST_CATEGORIES
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
from penstock.schema.values import BLANKS, DATE, DATETIME, NUMBER, Type

CLASSES: Final = ("missing", "integer", "number", "boolean", "date", "datetime", "string")
_BINS: Final = 128
_NEARLY_ALL: Final = 0.99
_DOUBT: Final = 0.01  # the chance that any empty cell of a histogram is taken for a filled one


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

    def classes(self) -> Sealed[NDArray[np.int64]]:
        """How many values look like each of `CLASSES`; a record lies in one class."""
        return self._seal(_class_of(self._values), len(CLASSES))

    def magnitudes(self, kind: Type) -> Sealed[NDArray[np.int64]]:
        """How many values lie in each cell of the public grid of signed powers of two."""
        grid = Magnitudes.of(kind)
        return self._seal(grid.cells(self._positions(kind)), grid.size)

    def bins(self, kind: Type, edges: NDArray[np.float64]) -> Sealed[NDArray[np.int64]]:
        """How many values lie in each half-open bin; what is outside counts nowhere."""
        where = np.searchsorted(edges, self._positions(kind), side="right") - 1
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

    def _positions(self, kind: Type) -> NDArray[np.float64]:
        reading = read(_any_domain(self.name, kind), self._values, MARKERS)
        return reading.values.filter(pl.Series(~(reading.missing | reading.unreadable))).to_numpy()


@dataclass(frozen=True)
class Magnitudes:
    """The public grid: zero, and the intervals between consecutive powers of two on either side.

    >>> grid = Magnitudes(0, 3)
    >>> [grid.span(cell) for cell in range(grid.size)]
    [(-8.0, -4.0), (-4.0, -2.0), (-2.0, -1.0), (0.0, 0.0), (1.0, 2.0), (2.0, 4.0), (4.0, 8.0)]
    """

    lowest: int
    highest: int

    @classmethod
    def of(cls, kind: Type) -> Magnitudes:
        """Whole numbers up to 2^53; reals from about a billionth up to about 10^18."""
        return cls(-30, 60) if kind == "number" else cls(0, 53)

    @property
    def size(self) -> int:
        return 2 * (self.highest - self.lowest) + 1

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The cell of each value; what is larger than the grid lies in its last cell."""
        side = self.highest - self.lowest
        exponent = np.clip(np.frexp(values)[1] - 1, self.lowest, self.highest - 1) - self.lowest
        near_zero = np.abs(values) < 2.0**self.lowest
        return np.where(near_zero, side, side + np.sign(values).astype(np.int64) * (exponent + 1))

    def span(self, cell: int) -> tuple[float, float]:
        """The interval of a cell."""
        place = cell - (self.highest - self.lowest)
        if place == 0:
            return 0.0, 0.0
        near, far = 2.0 ** (self.lowest + abs(place) - 1), 2.0 ** (self.lowest + abs(place))
        return (near, far) if place > 0 else (-far, -near)


def kinds(columns: Sequence[Column], pay: Budget) -> list[tuple[Type | None, bool]]:
    """The type of each column (None: cannot be told), and whether values are missing; pays all of `pay`.

    One noisy histogram of all columns together. A type is taken when nearly all values fit it.
    """
    sealed = join([column.classes() for column in columns])
    least = _surely_filled(sealed.sensitivity, len(columns) * len(CLASSES), pay.left[0])
    noisy = noise.counts(sealed, pay=pay).reshape(len(columns), len(CLASSES))
    return [
        (_type_of(dict(zip(CLASSES, row.tolist(), strict=True)), least), bool(row[0] >= least))
        for row in noisy
    ]


def _type_of(counts: dict[str, int], least: int) -> Type | None:
    kept = {name: max(0, count) for name, count in counts.items() if name != "missing"}
    total = sum(kept.values())
    if total < 2 * least:
        return None
    for kind, members in _FITTING.items():
        if sum(kept[name] for name in members) >= _NEARLY_ALL * total - least:
            return kind
    return "string"


_FITTING: Final[dict[Type, tuple[str, ...]]] = {
    "integer": ("integer",),
    "number": ("integer", "number"),
    "boolean": ("boolean",),
    "date": ("date",),
    "datetime": ("date", "datetime"),
}


def bounds(column: Column, kind: Type, pay: Budget) -> tuple[float, float] | None:
    """Positions between which nearly all values lie, both inclusive; None when too few were found.

    Half of `pay` finds the powers of two; the other half looks closer between them, when there is
    something to look at. A few values at either end may fall outside: that is what hides them.
    """
    for_magnitudes, for_ends = pay.split(magnitude="1/2", ends="1/2")
    grid, whole = Magnitudes.of(kind), kind != "number"
    sealed = column.magnitudes(kind)
    least = _surely_filled(sealed.sensitivity, grid.size, for_magnitudes.epsilon)
    (filled,) = np.nonzero(noise.counts(sealed, pay=for_magnitudes) >= least)
    if filled.size == 0:
        return None
    low, high = grid.span(int(filled[0]))[0], grid.span(int(filled[-1]))[1]
    if low == high:
        return low, high
    edges = np.linspace(low, high, _BINS + 1)
    if whole:
        edges = np.unique([*np.floor(edges), high + 1])
    first, last = _ends(column.bins(kind, edges), for_ends)
    return float(edges[first]), float(edges[last + 1] - (1 if whole else 0))


def _ends(sealed: Sealed[NDArray[np.int64]], pay: Budget) -> tuple[int, int]:
    """The bins between which nearly everything lies, from either end.

    From outside in, a sum of noisy counts that starts anew whenever it falls below zero (CUSUM) stays
    small while there is only noise and grows as soon as there are records. What it takes to notice
    them is what may be lost: one record in a hundred, up to one in twenty where there is much noise.
    """
    scale = float(sealed.sensitivity.l1 / pay.left[0])
    noisy = noise.counts(sealed, pay=pay)
    whole, total = (0, len(noisy) - 1), float(noisy.sum())
    noticed = max(total / 100, min(10 * scale, total / 20))
    if noticed < 5 * scale:
        return whole

    def first_noticed(counts: list[int]) -> int:
        met = 0
        for place, count in enumerate(counts):
            met = max(0, met + count)
            if met >= noticed:
                return place
        return 0

    first, last = first_noticed(noisy.tolist()), len(noisy) - 1 - first_noticed(noisy[::-1].tolist())
    return (first, last) if first <= last else whole


def _surely_filled(sensitivity: Sensitivity, cells: int, epsilon: Fraction) -> int:
    """The noisy count that none of so many empty cells reaches, but for a small chance."""
    return ceil(float(sensitivity.l1 / epsilon) * log(cells / _DOUBT))


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


def _class_of(column: pl.Series) -> NDArray[np.int64]:
    """The number in `CLASSES` of each value."""
    dtype = column.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum) or dtype == pl.Null:
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        text = column.str.strip_chars(BLANKS)
        number = text.str.contains(NUMBER) & text.cast(pl.Float64, strict=False).is_finite()
        tests = {
            "date": text.str.contains(DATE),
            "datetime": text.str.contains(DATETIME) & ~text.str.contains(DATE),
            "boolean": text.str.to_lowercase().is_in(["true", "false"]),
            "number": number & text.str.contains(r"[.eE]") & ~text.str.contains("^[+-]?0[0-9]"),
            "integer": number & ~text.str.contains(r"[.eE]") & ~text.str.contains("^[+-]?0[0-9]"),
            "missing": text.is_in(MARKERS),
        }
    elif dtype.is_numeric():
        number = column.cast(pl.Float64)
        tests = {
            "number": number.is_finite(),
            "integer": number.is_finite() & (number == number.floor()),
            "missing": number.is_nan(),
        }
    elif dtype == pl.Boolean:
        tests = {"boolean": column.is_not_null()}
    elif dtype == pl.Date:
        tests = {"date": column.is_not_null()}
    else:
        tests = {"datetime": column.is_not_null()}
    result = np.full(len(column), CLASSES.index("string"))
    for name, test in tests.items():
        result[test.fill_null(False).to_numpy()] = CLASSES.index(name)
    result[column.is_null().to_numpy()] = CLASSES.index("missing")
    return result
