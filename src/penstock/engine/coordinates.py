"""Coordinates: values of bounded fields as positions on a fine public lattice.

Methods for points and trees count cells at many resolutions. A lattice of 2**bits steps per
coordinate serves them all, and its positions are computed by the same double-precision operations
in memory and inside a database, so every engine agrees on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.schema import Codec
from penstock.schema.reading import read

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

MOST_BITS = 32
_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Coordinate:
    """The public bounds of a field on the real line."""

    low: float
    high: float

    @classmethod
    def of(cls, codec: Codec) -> Coordinate:
        return cls(float(codec.field.edges.low), float(codec.field.edges.end))

    def positions(self, values: NDArray[np.float64], bits: int) -> NDArray[np.int64]:
        """min(floor((x - low) / (high - low) * 2**bits), 2**bits - 1) of values within the bounds.

        >>> Coordinate(0.0, 1.0).positions(np.array([0.0, 0.3, 1.0]), 2).tolist()
        [0, 1, 3]
        """
        steps = _steps(bits)
        found = np.zeros(len(values), dtype=np.int64)
        if self.low == self.high:
            return found
        for begin in range(0, len(values), _AT_ONCE):  # so many at a time that they stay in the cache
            scaled = values[begin : begin + _AT_ONCE] - self.low
            scaled /= self.high - self.low
            scaled *= float(steps)
            np.minimum(scaled, steps - 1, out=scaled)
            found[begin : begin + _AT_ONCE] = np.floor(scaled, out=scaled)
        return found

    def positions_in_database(self, values: ir.Value, bits: int) -> ir.Value:
        """The same positions as an expression."""
        import ibis

        steps = _steps(bits)
        if self.low == self.high:
            return ibis.literal(0, type="int64")
        scaled = (values - _double(self.low)) / _double(self.high - self.low) * _double(float(steps))
        return ibis.least(scaled.floor().cast("int64"), ibis.literal(steps - 1, type="int64"))


def values_in_memory(codec: Codec, column: pl.Series, codes: NDArray[Any]) -> NDArray[np.float64]:
    """The value of each record within the field's bounds; NaN where the record has none."""
    edges = codec.field.edges
    numbers = read(codec.field, column, codec.markers).values.to_numpy().astype(np.float64)
    inside = codes < codec.attribute.regular
    return np.where(inside, np.clip(np.where(inside, numbers, edges.low), edges.low, edges.high), np.nan)


def values_in_database(codec: Codec, column: ir.Value, code: ir.Value) -> ir.Value:
    """The same values as an expression; null where the record has none."""
    import ibis

    field = codec.field
    if field.type not in ("integer", "number"):
        raise DataError(
            f"{field.name}: a {field.type} as a coordinate is not counted inside a database. "
            "Use the memory engine, or store it as a number."
        )
    inside = (code >= 0) & (code < codec.attribute.regular)
    if column.type().is_string():
        # Only texts that the codec found to be numbers reach the conversion.
        column = ibis.ifelse(inside, column.strip(), ibis.literal("0"))
    number = column.cast("float64")
    low, high = _double(field.edges.low), _double(field.edges.high)
    clamped = ibis.ifelse(number < low, low, ibis.ifelse(number > high, high, number))
    return ibis.ifelse(inside, clamped, ibis.null("float64"))


def per_field(names: Sequence[str], bits: int | Sequence[int | None]) -> Sequence[int | None]:
    """The bits of each field, where one number may stand for all."""
    return [bits] * len(names) if isinstance(bits, int) else list(bits)


def in_grid(columns: Sequence[NDArray[np.int64]], bits: int, sides: Sequence[int]) -> NDArray[np.int64]:
    """The cell of a regular grid, in C order, that each lattice position lies in."""
    cells = np.zeros(len(columns[0]), dtype=np.int64)
    for column, side in zip(columns, sides, strict=True):
        cells *= side
        cells += (column * side) >> bits
    return cells


def _steps(bits: int) -> int:
    if not 0 <= bits <= MOST_BITS:
        raise ValueError(f"a lattice has 0 to {MOST_BITS} bits per coordinate, not {bits}")
    return 1 << bits


def _double(number: float) -> Any:
    """A literal that the database reads as the very same double."""
    import ibis

    return ibis.literal(repr(float(number))).cast("float64")
