"""Public thresholds, exactly, as whole numbers that whole queries are compared with.

A threshold is known before anyone looks, or was itself paid for. A sealed value is neither and is refused by
its type. Whole queries reach a threshold exactly when they reach the next whole number, so rounding up
changes no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.privacy.randomness.samplers import Integers
from penstock.privacy.seals.sealed import Sealed

Threshold = int | float | Fraction | SupportsFloat
Thresholds = Threshold | Sequence[Threshold] | NDArray[Any]

_ROOM = 1 << 61


def exact_threshold(threshold: Threshold) -> Fraction:
    """A public number, exactly: a constant, or what a release answered.

    >>> exact_threshold(0.5), exact_threshold(7)
    (Fraction(1, 2), Fraction(7, 1))
    """
    if isinstance(threshold, Sealed):
        raise UsageError(
            "A threshold must be public: a constant, or what a mechanism returned that was paid for. "
            "Nothing was spent on it."
        )
    try:
        if isinstance(threshold, bool | str):
            raise TypeError
        if isinstance(threshold, Fraction):
            return threshold
        return Fraction(int(threshold) if isinstance(threshold, int | np.integer) else float(threshold))
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"A threshold is a finite public number, not {threshold!r:.60}.") from None


def whole_thresholds(thresholds: Thresholds, size: int, step: Fraction | None) -> Integers:
    """One whole number for each of `size` queries, in steps of the queries' lattice where there is one."""
    unit = step or Fraction(1)
    given: Integers
    if isinstance(thresholds, list | tuple | np.ndarray) and np.ndim(np.asarray(thresholds, dtype=object)):
        given = _each(thresholds, unit)
        if given.shape != (size,):
            raise UsageError(
                f"There are {given.size} thresholds for {size} queries; give one for each, or one for all."
            )
        return given
    one = ceil(exact_threshold(thresholds) / unit)  # type: ignore[arg-type]  # whatever else it is, it is refused
    given = np.array(one, dtype=np.int64 if -_ROOM < one < _ROOM else object)
    return np.broadcast_to(given, size)


def _each(thresholds: Any, unit: Fraction) -> Integers:
    numbers = np.asarray(thresholds)
    if numbers.ndim == 1 and numbers.dtype.kind in "iuf" and np.all(np.isfinite(numbers)):
        if numbers.dtype.kind in "iu" and unit == 1:
            return numbers
        scaled = np.ceil(numbers.astype(np.float64) / float(unit))  # exact up to the rounding: a power of two
        if numbers.dtype.kind == "f" and np.all(np.abs(scaled) < _ROOM):
            return scaled.astype(np.int64)
    return np.array([ceil(exact_threshold(one) / unit) for one in thresholds], dtype=object)


def margins(values: Integers, limits: Integers, noise: Integers) -> Integers:
    """value + noise - threshold, exactly, in 64 bits where that is enough."""
    if all(part.dtype != object and fits(part) for part in (values, limits, noise)):
        fast: Integers = values.astype(np.int64) + noise - limits.astype(np.int64)
        return fast
    slow: Integers = values.astype(object) + noise.astype(object) - limits.astype(object)
    return slow


def fits(whole: Integers) -> bool:
    """Whether sums of three of these stay inside 64 bits."""
    return not whole.size or bool(whole.min() > -_ROOM and whole.max() < _ROOM)
