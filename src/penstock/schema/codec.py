"""Codecs: raw columns to small unsigned integer codes, and codes back to plausible raw values.

Encoding reads private records and stays below the seal; decoding only uses the public schema and
fresh randomness. A value that the schema refuses stops everything before a budget is touched.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.errors import DataError, SchemaError
from penstock.schema.attribute import Attribute, Codes
from penstock.schema.fact import nearest
from penstock.schema.field import OTHER, Field
from penstock.schema.reading import Reading, read
from penstock.schema.values import BLANKS, LARGEST_WHOLE, NotAValueError, noun, parse, position, written

if TYPE_CHECKING:
    import ibis.expr.types as ir

_DECODED: dict[str, Any] = {
    "string": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
}
REFUSED = -1
SETTINGS = ("missing: value", "outside: clamp", "outside: other")
"""What a field may say about values that its domain does not hold."""


@dataclass(frozen=True)
class Codec:
    """One field's way from raw values to codes and back.

    ``markers`` are the texts that stand for a missing value.
    """

    field: Field
    markers: tuple[str, ...] = ("",)

    @cached_property
    def attribute(self) -> Attribute:
        if not self.field.labels:
            raise SchemaError(
                f"{self.field.name}: no categories are declared. List them under 'constraints: enum'."
            )
        return Attribute.of(self.field)

    @property
    def size(self) -> int:
        return self.attribute.size

    def encode(
        self, values: pl.Series, ignored: NDArray[np.bool_] | None = None, *, before: int = 0
    ) -> Codes:
        """The code of every value; DataError names the first value that the schema refuses, and its row.

        Values of `ignored` rows are never refused, and have an arbitrary code. `before` is how many records
        came before these.
        """
        if values.dtype == pl.Boolean and self.field.type == "boolean" and not values.null_count():
            off, on = (self.keys.get(place) for place in (0.0, 1.0))
            if off is not None and on is not None:  # every value has a code, which needs no search
                return np.where(values.to_numpy(), on, off).astype(self.attribute.dtype)
        codes = self.locate(values)
        refused = codes == REFUSED
        if ignored is not None:
            codes[refused & ignored] = 0
            refused &= ~ignored
        if refused.any():
            row = int(np.argmax(refused))
            raise self.complaint(values[row], before + row + 1)
        return codes.astype(self.attribute.dtype)

    def dropped(self, values: pl.Series) -> NDArray[np.bool_]:
        """Which values take their whole record out of the data: numbers and dates outside of the bounds."""
        if self.field.outside != "drop":
            return np.zeros(len(values), dtype=np.bool_)
        reading = read(self.field, values, self.markers)
        _, stray = self._bins(reading)
        return stray & ~reading.missing & ~reading.unreadable

    def locate(self, values: pl.Series) -> NDArray[np.int64]:
        """The code of every value, or REFUSED."""
        reading = read(self.field, values, self.markers)
        codes, stray = self._bins(reading) if self.field.ranged else self._categories(reading)
        stray = (stray | reading.unreadable) & ~reading.missing
        codes[stray] = REFUSED if self.attribute.other is None else self.attribute.other
        codes[reading.missing] = REFUSED if self.attribute.missing is None else self.attribute.missing
        return codes

    def _bins(self, reading: Reading) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        edges, numbers = self.field.edges, reading.values.to_numpy().astype(np.float64, copy=False)
        codes = edges.codes(numbers)
        if self.field.outside == "clamp":
            return np.minimum(codes, edges.count - 1), np.zeros(len(codes), dtype=np.bool_)
        return codes, ~((numbers >= edges.low) & (numbers <= edges.high))

    def _categories(self, reading: Reading) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        values = reading.values
        if self.field.outside == "clamp":
            bounds = [position(value) for value in self.field.values]
            values = values.clip(min(bounds), max(bounds))
        found = values.replace_strict(
            list(self.keys), list(self.keys.values()), default=REFUSED, return_dtype=pl.Int64
        )
        codes = np.array(found.to_numpy(), dtype=np.int64)
        return codes, codes == REFUSED

    @cached_property
    def keys(self) -> dict[str | float, int]:
        """The code of every category, by the readable values that mean it."""
        if self.field.type == "string":
            return {str(value).strip(BLANKS): code for value, code in self.field.meanings}
        return {float(position(value)): code for value, code in self.field.meanings}

    @cached_property
    def merged(self) -> frozenset[str | float]:
        """Those of the readable values that are no category, but merged into one."""
        return frozenset(list(self.keys)[len(self.field.values) :])

    def decode(self, codes: NDArray[Any], rng: np.random.Generator) -> pl.Series:
        """A raw value for every code: the category, or a uniform draw inside the bin; missing is null."""
        chosen = np.asarray(codes).astype(np.int64)
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < self.size):
            raise ValueError(f"{self.field.name}: codes must lie in 0..{self.size - 1}")
        if self.field.ranged:
            return self._draw(chosen, rng)
        labels: list[Any] = list(self.field.values) + [None] * (self.size - len(self.field.values))
        if self.field.type == "string" and self.attribute.other is not None:
            labels[self.attribute.other] = OTHER
        return pl.Series(self.field.name, labels, dtype=_DECODED[self.field.type]).gather(chosen)

    def _draw(self, codes: NDArray[np.int64], rng: np.random.Generator) -> pl.Series:
        edges = self.field.edges
        inside = codes < edges.count
        spans = np.array([edges.span(code) for code in range(edges.count)])
        low, high = spans[np.where(inside, codes, 0)].T
        if self.field.whole:
            drawn = pl.Series(rng.integers(low.astype(np.int64), high.astype(np.int64), endpoint=True))
        else:
            numbers = low + (high - low) * rng.random(len(codes))
            # a rounded sum may land on the next bin's first value, which is not this bin's
            last = np.where((codes < edges.count - 1) & (high > low), np.nextafter(high, -np.inf), high)
            numbers = np.clip(numbers, low, last)
            if self.field.decimals is not None:
                drawn = pl.Series(_with_decimals(numbers, low, last, self.field.decimals, rng))
            else:
                drawn = pl.Series(_few_digits(numbers, low, last, np.ptp(spans, axis=1)))
        match self.field.type:
            case "date":
                drawn = drawn.cast(pl.Int32).cast(pl.Date)
            case "datetime":
                drawn = (drawn * 1_000_000).cast(pl.Datetime("us"))
        return drawn.set(pl.Series(~inside), None).alias(self.field.name)

    @property
    def marker(self) -> str | None:
        """The text that a missing value is written as, the first of the markers; None for no text at all."""
        return self.markers[0] if self.markers and self.markers[0].strip(BLANKS) else None

    def marked(self, values: pl.Series, *, as_text: bool = False) -> pl.Series:
        """A decoded column whose missing values are written as they came.

        A marker that is a value of the column's type stands among them, such as -9 among whole numbers; any
        other is kept for text, as a CSV file holds it (`as_text`).
        """
        if self.marker is None or not values.null_count():
            return values
        if values.dtype == pl.String:
            return values.fill_null(self.marker)
        if self.field.type in ("integer", "number"):
            try:
                return values.fill_null(parse(self.field.type, self.marker))
            except NotAValueError:
                pass
        return values.cast(pl.String).fill_null(self.marker) if as_text else values

    def expression(self, column: ir.Value) -> ir.IntegerValue:
        """The very same codes computed inside a database; REFUSED (-1) marks refused values."""
        from penstock.schema.database import codes

        return codes(self, column)

    def complaint(
        self, value: object, row: int | None = None, settings: Collection[str] = SETTINGS
    ) -> DataError:
        """Why the schema refuses this raw value, and what the custodian can do about it.

        `settings` are those that the kind of data allows for the field.
        """
        field = self.field
        where = f" in row {row}" if row is not None else ""
        reading = read(field, pl.Series([value]), self.markers)
        if reading.missing[0]:
            return DataError(
                f"{field.name}: the value{where} is missing. "
                f"{_remedy('Fix the row', settings, 'missing: value')}"
            )
        shown = f"value {value!r}" if isinstance(value, str) else f"value {_plain(value)}"
        if reading.unreadable[0]:
            return DataError(
                f"{field.name}: {shown}{where} is not {noun(field.type)}; "
                f"the schema declares {field.domain}. {_remedy('Fix the row', settings, 'outside: other')}"
            )
        if field.ranged:
            return DataError(
                f"{field.name}: {shown}{where} is outside the declared {field.domain}. "
                f"{_remedy('Fix the row', settings, 'outside: clamp', 'outside: other')}"
            )
        return DataError(
            f"{field.name}: {shown}{where} is not a declared category{nearest(value, field.labels)}. "
            f"{_remedy('Add it to the enum', settings, 'outside: other')}"
        )


def _remedy(first: str, allowed: Collection[str], *settings: str) -> str:
    """What to do about a value: what always helps, or one of the settings that the field may have."""
    able = " or ".join(f'"{setting}"' for setting in settings if setting in allowed)
    return f"{first}, or set {able} for this field." if able else f"{first}."


def _plain(value: object) -> str:
    return written(value) if isinstance(value, int | bool) else str(value)


def _few_digits(
    numbers: NDArray[np.float64],
    low: NDArray[np.float64],
    last: NDArray[np.float64],
    widths: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The draws as people write numbers, each still in its bin: the narrowest bin keeps a thousand values.

    More digits would say nothing, for a draw is anywhere in its bin.
    """
    narrowest = min((float(width) for width in widths if width > 0), default=0.0)
    if not 1e-12 < narrowest < 1e300:
        return numbers
    decimals = max(0, 3 - floor(log10(narrowest)))
    step = 10.0**-decimals
    rounded = np.round(numbers, decimals)
    rounded = np.where(rounded > last, np.round(rounded - step, decimals), rounded)
    rounded = np.where(rounded < low, np.round(rounded + step, decimals), rounded)
    return np.where((rounded >= low) & (rounded <= last), rounded, numbers)


def _with_decimals(
    numbers: NDArray[np.float64],
    low: NDArray[np.float64],
    last: NDArray[np.float64],
    decimals: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Even draws among the numbers of so many decimals in each bin; a bin that holds none keeps its draw."""
    scale = 10.0**decimals
    if max(np.abs(low).max(initial=0), np.abs(last).max(initial=0)) * scale > LARGEST_WHOLE / 4:
        return numbers
    first, end = (np.rint(ends * scale) for ends in (low, last))
    first += first / scale < low
    end -= end / scale > last
    drawn = (
        rng.integers(first.astype(np.int64), np.maximum(first, end).astype(np.int64), endpoint=True) / scale
    )
    return np.where((drawn >= low) & (drawn <= last), drawn, numbers)
