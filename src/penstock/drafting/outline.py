"""The outline of a column: one look that tells its type, its signs for missing values and its rough bounds.

Every value lies in one of a short public list of cells: a format of text, a known sign for "missing", or a
power of ten of a number, or a decade of a date. One noisy histogram of all cells is all that is paid for. Few
cells, each of them wide, hold many records each, so that little epsilon tells filled cells from empty ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from math import ceil, log, nextafter
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.drafting.columns import MARKERS, SENTINELS, SIGNS
from penstock.schema import Field
from penstock.schema.reading import read
from penstock.schema.values import BLANKS, DATE, DATETIME, NUMBER, Type, position, written

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

DOUBT: Final = 0.02
"""The chance that any empty cell of an outline is taken for a filled one."""
_DECADES: Final = range(1900, 2110, 10)
_WHOLE: Final = 16
_FINEST, _COARSEST = -6, 12


@dataclass(frozen=True)
class Cell:
    """Values of one type between two positions, both included; or a `sign` for a missing value."""

    type: Type | None
    low: float = 0.0
    high: float = 0.0
    sign: str | None = None


def _powers(type_: Type, powers: range) -> list[Cell]:
    """Zero, and the numbers between consecutive powers of ten on either side, in their order."""
    spans = [(10.0**power, 10.0 ** (power + 1)) for power in powers]
    last = [high - 1 if type_ == "integer" else nextafter(high, 0) for _, high in spans]
    above = [Cell(type_, low, high) for (low, _), high in zip(spans, last, strict=True)]
    return [*(Cell(type_, -each.high, -each.low) for each in reversed(above)), Cell(type_), *above]


def _years(type_: Type, seconds: int) -> list[Cell]:
    starts = [position(date(year, 1, 1)) * seconds for year in _DECADES]
    inner = [Cell(type_, low, high - 1) for low, high in pairwise(starts)]
    early, late = position(date.min) * seconds, (position(date.max) + 1) * seconds - 1
    return [Cell(type_, early, starts[0] - 1), *inner, Cell(type_, starts[-1], late)]


CELLS: Final = (
    Cell(None, sign=""),
    *(Cell(None, sign=sign) for sign in sorted(SIGNS)),
    *(Cell("integer", value, value, sign=written(value)) for value in SENTINELS),
    Cell("string"),
    Cell("boolean"),
    *_powers("integer", range(_WHOLE)),
    *_powers("number", range(_FINEST, _COARSEST)),
    *_years("date", 1),
    *_years("datetime", 86400),
)
"""All cells. The first holds what is missing by any of the usual markers."""

_FIRST: Final = {
    type_: next(place for place, cell in enumerate(CELLS) if cell.type == type_ and cell.sign is None)
    for type_ in ("string", "boolean", "integer", "number", "date", "datetime")
}
_NUMBERED: Final = {cell.sign: place for place, cell in enumerate(CELLS) if cell.sign is not None}


def cells_of(column: pl.Series) -> Numbers:
    """The number in `CELLS` of each value of a raw column."""
    types, texts = _formats(column)
    found = np.full(len(column), _FIRST["string"])
    for type_, where in types.items():
        if type_ == "boolean":
            found[where] = _FIRST["boolean"]
            continue
        kind: Type = type_  # type: ignore[assignment]
        values = _positions(column, kind)
        places = _place(kind, values)
        found[where] = places[where]
        if type_ == "integer":
            for value in SENTINELS:
                found[where & (values == value)] = _NUMBERED[written(value)]
    if texts is not None:
        lowered = texts.str.to_lowercase()
        for sign in SIGNS:
            found[(lowered == sign).fill_null(False).to_numpy()] = _NUMBERED[sign]
        found[texts.is_in(list(MARKERS)).fill_null(False).to_numpy()] = 0
    missing = column.is_null()
    if column.dtype.is_float():
        missing = missing | column.is_nan().fill_null(False)
    found[missing.to_numpy()] = 0
    return found


def _formats(column: pl.Series) -> tuple[dict[str, NDArray[np.bool_]], pl.Series | None]:
    """Which values have which format, and the column as text where it is text."""
    dtype = column.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum) or dtype == pl.Null:
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        text = column.str.strip_chars(BLANKS)
        finite = text.str.contains(NUMBER) & text.cast(pl.Float64, strict=False).is_finite()
        plain = finite & ~text.str.contains("^[+-]?0[0-9]")
        whole = ~text.str.contains(r"[.eE]")
        day = text.str.contains(DATE)
        tests = {
            "integer": plain & whole,
            "number": plain & ~whole,
            "boolean": text.str.to_lowercase().is_in(["true", "false"]),
            "date": day,
            "datetime": text.str.contains(DATETIME) & ~day,
        }
        return {name: test.fill_null(False).to_numpy() for name, test in tests.items()}, text
    present = column.is_not_null()
    if dtype.is_numeric():
        numbers = column.cast(pl.Float64)
        finite, whole = numbers.is_finite(), numbers == numbers.floor()
        tests = {"integer": finite & whole, "number": finite & ~whole}
    else:
        tests = {"boolean" if dtype == pl.Boolean else "date" if dtype == pl.Date else "datetime": present}
    return {name: test.fill_null(False).to_numpy() for name, test in tests.items()}, None


def _positions(column: pl.Series, type_: Type) -> Reals:
    """Positions of the values that have this type; what stands elsewhere is arbitrary, and a number."""
    any_domain = Field.model_construct(name=column.name, type=type_)
    values = read(any_domain, column, MARKERS).values
    return values.fill_null(0.0).fill_nan(0.0).to_numpy().astype(np.float64)


def _place(type_: Type, values: Reals) -> Numbers:
    """The cell of each position among those of its type; beyond the last it is the last."""
    mine = [cell for cell in CELLS if cell.type == type_ and cell.sign is None]
    lows = np.array([cell.low for cell in mine])
    if type_ in ("integer", "number"):
        # A negative number lies in the cell of its size on the other side; what is tiny counts as zero.
        side = len(mine) // 2
        sizes = np.searchsorted(lows[side + 1 :], np.abs(values), side="right")
        return _FIRST[type_] + side + np.sign(values).astype(np.int64) * sizes
    return _FIRST[type_] + np.maximum(np.searchsorted(lows, values, side="right") - 1, 0)


def least_filled(scale: float, cells: int = len(CELLS), doubt: float = DOUBT) -> int:
    """The noisy count that none of so many empty cells reaches, but for a small chance."""
    return ceil(scale * log(cells / doubt))


@dataclass(frozen=True)
class Outline:
    """The noisy counts of a column's cells; those of at least `least` are taken for filled."""

    counts: tuple[int, ...]
    least: int

    @cached_property
    def _filled(self) -> list[Cell]:
        return [cell for cell, count in zip(CELLS, self.counts, strict=True) if count >= self.least]

    @property
    def missing(self) -> bool:
        """Whether values are missing, by a usual marker or a sign."""
        return self.counts[0] >= self.least or bool(self.signs)

    @property
    def type(self) -> Type | None:
        """The type that all filled cells fit; None where none is filled."""
        found = {cell.type for cell in self._filled if cell.sign is None}
        if not found:
            return "string" if any(cell.sign and cell.type is None for cell in self._filled) else None
        for type_, parts in _FITTING.items():
            if found <= parts:
                return type_
        return "string"

    @property
    def signs(self) -> tuple[str, ...]:
        """The filled signs for missing values of a column of numbers or dates, as they may be written.

        Numbers such as -9 are signs only where nothing else is below zero.
        """
        if self.type in (None, "string", "boolean"):
            return ()
        below = any(cell.high < 0 for cell in self._filled if cell.sign is None)
        signs = [cell.sign for cell in self._filled if cell.sign and (cell.type is None or not below)]
        ways = [
            (sign.upper(), sign) if len(sign) < 4 else (sign, sign.capitalize(), sign.upper())
            for sign in signs
        ]
        return tuple(dict.fromkeys(way for each in ways for way in each))

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The first and the last value of the filled cells of an ordered type."""
        spans = [(cell.low, cell.high) for cell in self._filled if cell.type is not None and not cell.sign]
        if self.type in (None, "string", "boolean") or not spans:
            return None
        return min(low for low, _ in spans), max(high for _, high in spans)


_FITTING: Final[dict[Type, set[Any]]] = {
    "integer": {"integer"},
    "number": {"integer", "number"},
    "boolean": {"boolean"},
    "date": {"date"},
    "datetime": {"date", "datetime"},
}
