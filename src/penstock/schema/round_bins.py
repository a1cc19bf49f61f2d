"""Round bins: the cut of a range that its type and its bounds suggest, without a look at any record.

A range is cut at multiples of the finest round step that leaves at most so many bins: 1, 2 or 5 times a power
of ten for numbers; days, weeks from Monday on, months, quarters, half-years, years and round numbers of years
for dates; for datetimes also round numbers of seconds, minutes and hours. So the edges are where people ask:
at 20 and 1,000, at the first of a month.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import MAXYEAR, date, timedelta
from fractions import Fraction
from math import ceil, floor

from penstock.schema.values import Type, position

_CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
_DAY = 86_400
_MONTHS = (1, 3, 6)
_TENS = (1, 2, 5)
_MONDAY = 4  # days since 1970 of the first one


def round_edges(kind: Type, low: float, high: float, most: int) -> tuple[float, ...]:
    """The inner edges of at most `most` round bins between two positions of an ordered type.

    >>> round_edges("integer", 0, 100, 12)
    (10, 20, 30, 40, 50, 60, 70, 80, 90)
    >>> round_edges("number", 0.25, 0.75, 6)
    (0.3, 0.4, 0.5, 0.6, 0.7)
    >>> first, last = position(date(2025, 11, 5)), position(date(2026, 2, 20))
    >>> [str(date(1970, 1, 1) + timedelta(days=day)) for day in round_edges("date", first, last, 4)]
    ['2025-12-01', '2026-01-01', '2026-02-01']
    """
    if low == high or most < 2:
        return ()
    if kind in ("integer", "number"):
        return _decimal(kind == "integer", low, high, most)
    if kind == "datetime":
        return _datetimes(int(low), int(high), most)
    return _dates(int(low), int(high), most)


def _decimal(whole: bool, low: float, high: float, most: int) -> tuple[float, ...]:
    """Multiples of the smallest 1, 2 or 5 times a power of ten of which at most most - 1 lie inside."""
    start, end = Fraction(repr(float(low))), Fraction(repr(float(high)))
    each = (end - start) / most  # its number of digits gives a power that is too small, or just right
    power = 0 if whole else len(str(each.numerator)) - len(str(each.denominator)) - 1
    while True:
        for digit in _TENS:
            step = digit * Fraction(10) ** power
            first, last = floor(start / step) + 1, ceil(end / step) - 1
            if last - first + 1 < most:
                inner = (number * step for number in range(first, last + 1))
                if whole:
                    return tuple(int(edge) for edge in inner)
                return tuple(sorted({float(edge) for edge in inner if low < float(edge) < high}))
        power += 1


def _multiples(low: int, high: int, step: int, shift: int = 0) -> tuple[int, ...]:
    return tuple(range((low - shift) // step * step + step + shift, high, step))


def _datetimes(low: int, high: int, most: int) -> tuple[int, ...]:
    for step in _CLOCK:
        if (high - low) // step <= most and len(found := _multiples(low, high, step)) < most:
            return found
    days = _dates(low // _DAY, -(-high // _DAY), most)
    return tuple(day * _DAY for day in days if low < day * _DAY < high)


def _dates(low: int, high: int, most: int) -> tuple[int, ...]:
    for step, shift in ((1, 0), (7, _MONDAY)):
        if (high - low) // step <= most and len(found := _multiples(low, high, step, shift)) < most:
            return found
    for months in _steps():
        if (high - low) // (31 * months) <= most and len(begun := _months(low, high, months)) < most:
            return begun
    raise AssertionError("ten thousand years are one bin")


def _steps() -> Iterator[int]:
    """Months, quarters, half-years, years and round numbers of years."""
    yield from _MONTHS
    yield from (12 * digit * 10**power for power in range(5) for digit in _TENS)


def _months(low: int, high: int, step: int) -> tuple[int, ...]:
    """The first days of every so many months inside, counted from January of the year 0."""
    start = date(1970, 1, 1) + timedelta(days=low)
    month = (start.year * 12 + start.month - 1) // step * step + step
    found = []
    while month < 12 * (MAXYEAR + 1):
        day = position(date(month // 12, month % 12 + 1, 1))
        if day >= high:
            break
        found.append(int(day))
        month += step
    return tuple(found)
