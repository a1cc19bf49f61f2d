"""Real values as whole steps of a public lattice.

Doubles are not evenly spaced, so adding noise to them lets the low bits of the result betray the value. Real
values are therefore rounded to whole multiples of a public power of two before any noise; from then on they
are integers, and the result is a multiple again. Rounding moves each of two neighbouring values by at most
half a step, so a coordinate's change grows by at most one step, which the mechanism pays for.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError, UsageError
from penstock.privacy.randomness.samplers import Integers


def power_of_two(below: Fraction) -> Fraction:
    """The largest power of two that is not above `below`.

    >>> power_of_two(Fraction(3, 10)), power_of_two(Fraction(4))
    (Fraction(1, 4), Fraction(4, 1))
    """
    if below <= 0:
        raise ValueError(f"there is no power of two at or below {below}")
    exponent = below.numerator.bit_length() - below.denominator.bit_length()
    step = Fraction(2) ** exponent
    return step if step <= below else step / 2


def public_step(granularity: Fraction | float | None, proposed: Fraction) -> Fraction:
    """The step to use: the one asked for, which must be a power of two a double can hold, or `proposed`."""
    try:
        step = proposed if granularity is None else Fraction(granularity)
    except (ValueError, OverflowError, TypeError):
        step = Fraction(0)
    if step <= 0 or power_of_two(step) != step or not -1000 <= _exponent(step) <= 1000:
        raise UsageError(
            f"granularity must be a power of two such as 2**-10, not {granularity}. Nothing was spent."
        )
    return step


def to_steps(values: NDArray[Any], step: Fraction) -> Integers:
    """Each value divided by the step and rounded to the nearest whole number."""
    reals = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(reals)):
        raise DataError(
            "A sealed value is not a finite number, so that no sensitivity can hold for it; "
            "clip to public bounds before summing."
        )
    with np.errstate(over="ignore"):
        scaled = np.rint(np.ldexp(reals, -_exponent(step)))  # exact up to the rounding: a power of two
    if np.all(np.abs(scaled) < 2.0**61):
        return scaled.astype(np.int64)
    exact = [round(Fraction(float(value)) / step) for value in reals.ravel()]
    return np.array(exact, dtype=object).reshape(reals.shape)


def from_steps(steps: Integers, step: Fraction) -> NDArray[np.float64]:
    """The lattice points as doubles."""
    return np.ldexp(steps.astype(np.float64), _exponent(step))


def _exponent(step: Fraction) -> int:
    return step.numerator.bit_length() - step.denominator.bit_length()
