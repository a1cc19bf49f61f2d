"""Probabilities to a hundred digits: numbers known between two decimals, and their logarithms.

Nothing is drawn here. Audits ask how likely an output was, and an answer that was rounded somewhere would
leave room for doubt. So a number that is not a fraction is held between two decimals, each operation rounded
outwards. The decimal module computes `exp` and `ln` correctly rounded, so one step to the next representable
number brackets the truth, on every machine alike. A logarithm keeps its rational part apart, exactly:
whatever is exp(-x) times something never leaves the fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import Final, Self

DIGITS: Final = 100
_DOWN = Context(prec=DIGITS, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
_UP = Context(prec=DIGITS, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_NEVER = Decimal("-Infinity")


@dataclass(frozen=True, slots=True)
class Between:
    """A number of 0 or more that lies between two decimals.

    >>> third = Between.of(Fraction(1, 3))
    >>> third.low < Fraction(1, 3) < third.high, float((third + third).high)
    (True, 0.666...)
    """

    low: Decimal
    high: Decimal

    @classmethod
    def of(cls, number: Fraction | int) -> Self:
        if isinstance(number, int):
            return cls(_DOWN.plus(Decimal(number)), _UP.plus(Decimal(number)))
        above, below = Decimal(number.numerator), Decimal(number.denominator)
        return cls(_DOWN.divide(above, below), _UP.divide(above, below))

    @classmethod
    def exp(cls, x: Fraction) -> Between:
        """e to a rational power."""
        return _exp(x)

    def __add__(self, other: Between) -> Between:
        return Between(_DOWN.add(self.low, other.low), _UP.add(self.high, other.high))

    def __sub__(self, other: Between) -> Between:
        """The difference, which is known to be 0 or more."""
        low = _DOWN.subtract(self.low, other.high)
        return Between(max(low, Decimal(0)), _UP.subtract(self.high, other.low))

    def __mul__(self, other: Between) -> Between:
        return Between(_DOWN.multiply(self.low, other.low), _UP.multiply(self.high, other.high))

    def __truediv__(self, other: Between) -> Between:
        return Between(_DOWN.divide(self.low, other.high), _UP.divide(self.high, other.low))

    def root(self) -> Between:
        """The square root."""
        return Between(_DOWN.next_minus(_DOWN.sqrt(self.low)), _UP.next_plus(_UP.sqrt(self.high)))

    def fallen(self) -> Between:
        """e to minus this number."""
        low = _DOWN.next_minus(_DOWN.exp(self.high.copy_negate()))
        return Between(max(low, Decimal(0)), _UP.next_plus(_UP.exp(self.low.copy_negate())))


ZERO, ONE = Between.of(0), Between.of(1)
PI = Between(
    Decimal(
        "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342"
    ),
    Decimal(
        "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825343"
    ),
)


@lru_cache(maxsize=1 << 14)
def _exp(x: Fraction) -> Between:
    if x == 0:
        return ONE
    above, below = Decimal(x.numerator), Decimal(x.denominator)
    low = _DOWN.next_minus(_DOWN.exp(_DOWN.divide(above, below)))
    return Between(max(low, Decimal(0)), _UP.next_plus(_UP.exp(_UP.divide(above, below))))


@dataclass(frozen=True, slots=True)
class Log:
    """The logarithm of a probability or of a ratio of two: an exact fraction, and a rest between decimals.

    >>> half = Log.ln(Between.of(Fraction(1, 2)))
    >>> round(float(half), 6), (Log(Fraction(1, 3)) - half + half).exceeds(Fraction(1, 3))
    (-0.693147, False)
    """

    exact: Fraction = Fraction(0)
    low: Decimal = Decimal(0)
    high: Decimal = Decimal(0)

    @classmethod
    def ln(cls, number: Between, exact: Fraction = Fraction(0)) -> Log:
        """The natural logarithm of a number, and an exact part to be added to it."""
        if number.high == 0:
            return NEVER
        low = _NEVER if number.low == 0 else _ln(number.low, _DOWN)
        return cls(exact, low, _ln(number.high, _UP))

    def __add__(self, other: Log) -> Log:
        return Log(self.exact + other.exact, _DOWN.add(self.low, other.low), _UP.add(self.high, other.high))

    def __sub__(self, other: Log) -> Log:
        low, high = _DOWN.subtract(self.low, other.high), _UP.subtract(self.high, other.low)
        return Log(self.exact - other.exact, low, high)

    def __mul__(self, times: int) -> Log:
        """So many times this logarithm, for a whole number of 0 or more."""
        if times == 0:
            return Log()
        many = Decimal(times)
        return Log(self.exact * times, _DOWN.multiply(self.low, many), _UP.multiply(self.high, many))

    def __float__(self) -> float:
        """The middle of what is known, as a double."""
        if self.low == self.high or not (self.low.is_finite() and self.high.is_finite()):
            rest = self.low if self.low == self.high else self.high if self.low == _NEVER else self.low
            return float(rest) if rest.is_infinite() else float(self.exact + Fraction(rest))
        return float(self.exact + (Fraction(self.low) + Fraction(self.high)) / 2)

    @property
    def width(self) -> float:
        """How far apart the bounds are: the precision with which this number is known."""
        if self.low == self.high:
            return 0.0
        return inf if self.low.is_infinite() or self.high.is_infinite() else float(self.high - self.low)

    def exceeds(self, limit: Fraction) -> bool:
        """Whether the number is above the limit for certain."""
        return self.low == -_NEVER or (self.low.is_finite() and self.exact + Fraction(self.low) > limit)


NEVER = Log(Fraction(0), _NEVER, _NEVER)
"""The logarithm of the probability 0."""


def _ln(number: Decimal, context: Context) -> Decimal:
    if number == 1:
        return Decimal(0)
    found = context.ln(number)
    return context.next_minus(found) if context is _DOWN else context.next_plus(found)
