"""Bins: how an ordered domain is cut into half-open intervals, the last one closed.

Edges are public and computed in exact decimal arithmetic, so that ten bins over 0..1 have the
edge 0.3 that a reader would type, and every engine compares against the very same double.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import SkipValidation

from penstock.errors import SchemaError
from penstock.schema.fact import Fact
from penstock.schema.round_bins import round_edges
from penstock.schema.values import Type

MOST_BINS = 1 << 20
ROUND_BINS = 100
"""So many bins, or fewer, has a range of which nothing but its bounds is declared (docs/studies/bins.md)."""

ADAPTIVE_BINS = 32
NARROW_BINS = 1024  # from which adaptive bins are merged
MANY_BINS = 64  # from which on a bin is found faster by a guess than by a search


class Bins(Fact):
    """``{count: 16}``, ``{width: 5}`` (dates: days, datetimes: seconds) or ``{edges: [...]}``.

    ``{adaptive: true, most: 32}`` begins with many narrow bins (round ones, at most 1024, or as many as
    ``count`` or ``width`` say), of which a release of a table keeps at most ``most``, found privately and
    paid for.

    ``coarser`` says where bins are still told apart when they are generalised: one list of inner edges for
    each step, the finest first, each a part of the one before. Without it they are merged two by two.
    """

    count: int | None = None
    width: float | None = None
    edges: Annotated[tuple[Any, ...], SkipValidation] | None = None
    adaptive: bool = False
    most: int | None = None
    coarser: Annotated[tuple[tuple[Any, ...], ...], SkipValidation] | None = None

    @property
    def chosen(self) -> int:
        return sum(each is not None for each in (self.count, self.width, self.edges))


@dataclass(frozen=True)
class Edges:
    """The cut of a bounded domain: bin i is [values[i], values[i+1]), the last one closed.

    ``whole`` domains (integers, days, seconds) hold only whole numbers, so bin i ends at
    ``values[i+1] - 1`` and the last bin may consist of the single value ``values[-1]``. Among real
    numbers a bin that ends at the very next double holds a single value too.
    """

    values: tuple[float, ...]
    whole: bool

    @property
    def count(self) -> int:
        return len(self.values) - 1

    @property
    def low(self) -> float:
        return self.values[0]

    @property
    def high(self) -> float:
        return self.values[-1]

    @property
    def end(self) -> float:
        """Where the domain ends on the real line: a whole number k stands for [k, k + 1)."""
        return self.high + 1 if self.whole else self.high

    @cached_property
    def inner(self) -> NDArray[np.float64]:
        return np.asarray(self.values[1:-1], dtype=np.float64)

    @property
    def one_per_value(self) -> bool:
        """Whether each bin of a whole domain holds exactly one value."""
        return self.whole and self.count == self.high - self.low + 1

    def codes(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of inner edges at or below each number."""
        if self.one_per_value:
            with np.errstate(invalid="ignore"):
                shifted = np.nan_to_num(numbers, nan=self.low, posinf=self.high, neginf=self.low)
            return (np.clip(shifted, self.low, self.high) - self.low).astype(np.int64)
        if self.count < MANY_BINS or len(numbers) < MANY_BINS:
            return np.searchsorted(self.inner, numbers, side="right")
        return self._guessed(numbers)

    def _guessed(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The same where bins are many: a guess by proportion, and a search where it is not confirmed."""
        edges, last = np.asarray(self.values, dtype=np.float64), self.count - 1
        with np.errstate(all="ignore"):
            share = (numbers - self.low) * (self.count / (self.high - self.low))
            guess = np.fmax(np.fmin(share, last), 0.0).astype(np.int64)
        fits = (numbers >= edges[guess]) | (guess == 0)
        fits &= (numbers < edges[guess + 1]) | (guess == last)
        (missed,) = np.nonzero(~fits)
        guess[missed] = np.searchsorted(self.inner, numbers[missed], side="right")
        return guess

    def span(self, code: int) -> tuple[float, float]:
        """The first and the last value of a bin (the last one excluded only for real numbers)."""
        first, after = self.values[code], self.values[code + 1]
        if self.whole:
            return first, after - 1 if code < self.count - 1 else after
        return first, first if after == math.nextafter(first, math.inf) else after

    def singling_out(self, values: Sequence[float]) -> "Edges":
        """The same cut, in which each of these values has a bin of its own.

        >>> Edges((0, 50, 100), whole=True).singling_out([0, 60]).values
        (0, 1, 50, 60, 61, 100)
        """
        starts = set(self.values[:-1])
        for value in values:
            after = value + 1 if self.whole else math.nextafter(value, math.inf)
            starts |= {value, after} if after < self.end else {value}
        return Edges((*sorted(starts), self.high), self.whole)


def cut(field: str, kind: Type, low: float, high: float, bins: Bins | None) -> Edges:
    """The edges of a domain; without a wish: at round places, one bin per value up to 101 whole values."""
    whole = kind != "number"
    if bins is not None and bins.most is not None and (not bins.adaptive or bins.most < 1):
        raise SchemaError(
            f"{field}: 'most' is the largest number of adaptive bins. Set 'adaptive: true' and at least 1."
        )
    values = int(high) - int(low) + 1 if whole else 0
    if bins is None or (bins.adaptive and bins.chosen == 0):
        most = ROUND_BINS if bins is None else NARROW_BINS
        if not whole or values > most + 1:  # percentages, 0 to 100, have a bin each
            return Edges((low, *round_edges(kind, low, high, most), high), whole)
        bins = Bins(count=values)
    if bins.chosen != 1:
        raise SchemaError(
            f"{field}: bins need exactly one of 'count', 'width' and 'edges'. Keep one of them."
        )
    if bins.edges is not None:
        return _given(field, bins.edges, low, high, whole)
    if bins.width is not None:
        return _wide(field, bins.width, low, high, whole)
    assert bins.count is not None
    return _equal(field, bins.count, low, high, whole)


def _equal(field: str, count: int, low: float, high: float, whole: bool) -> Edges:
    if not 1 <= count <= MOST_BINS:
        raise SchemaError(f"{field}: bins count {count} is not between 1 and {MOST_BINS}. Choose fewer bins.")
    if whole:
        first, values = int(low), int(high) - int(low) + 1
        if count > values:
            raise SchemaError(
                f"{field}: {count} bins for {values} whole values. Set the bins count to at most {values}."
            )
        inner = [first + i * values // count for i in range(1, count)]
        return Edges((first, *inner, int(high)), True)
    start, length = _decimal(low), _decimal(high) - _decimal(low)
    # low + i (high - low) / count over one denominator: whole numbers are divided to the nearest double
    unit = start.denominator * length.denominator * count
    first, step = start.numerator * length.denominator * count, length.numerator * start.denominator
    return _rising(field, [low, *((first + step * i) / unit for i in range(1, count)), high])


def _wide(field: str, width: float, low: float, high: float, whole: bool) -> Edges:
    if not 0 < width < math.inf or (whole and width != int(width)):
        kind = "a whole number above 0" if whole else "above 0"
        raise SchemaError(f"{field}: bins width {width} is not {kind}. Correct the width.")
    start, step = _decimal(low), _decimal(width)
    length = _decimal(high) - start + (1 if whole else 0)
    count = max(1, -(-length // step))
    if count > MOST_BINS:
        raise SchemaError(f"{field}: bins of width {width} give {count} bins. Choose a larger width.")
    inner = [start + step * i for i in range(1, count)]
    if whole:
        return Edges((int(low), *(int(edge) for edge in inner), int(high)), True)
    return _rising(field, [low, *map(float, inner), high])


def _given(field: str, edges: Sequence[float], low: float, high: float, whole: bool) -> Edges:
    if len(edges) < 2:
        raise SchemaError(f"{field}: bins need at least two edges. Give the first and the last one.")
    if edges[0] != low or edges[-1] != high:
        raise SchemaError(
            f"{field}: the bin edges do not start at the minimum and end at the maximum. Make them agree."
        )
    if whole:
        if any(b <= a for a, b in pairwise(edges[:-1])) or edges[-1] < edges[-2]:
            raise SchemaError(f"{field}: the bin edges do not increase. Sort them and remove repeated ones.")
        return Edges(tuple(int(edge) for edge in edges), True)
    return _rising(field, list(edges))


def _rising(field: str, edges: list[float]) -> Edges:
    single = len(edges) == 2 and edges[0] == edges[1]
    if not single and any(b <= a for a, b in pairwise(edges)):
        raise SchemaError(f"{field}: the bin edges do not increase. Use fewer bins, or sort the edges.")
    return Edges(tuple(edges), False)


def _decimal(number: float) -> Fraction:
    """The number as it is written, not as the nearest double: 0.1 is a tenth."""
    return Fraction(repr(float(number)))
