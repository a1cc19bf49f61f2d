"""Amounts as people write and read them: exact fractions on the way in, short decimals on the way out."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from penstock.errors import BudgetError

Amount = int | float | str | Fraction | Decimal

DIGITS = 400
"""As many digits may a number have that somebody gives, on either side of a fraction's line: no double needs
more, and Python writes no number of more than 4,300 digits, however it came about."""
_TOO_LONG: int = 10**DIGITS
_STEPS: int = 10**2000  # a difference of two such amounts can still be written

# What a person writes. An exponent of more than three digits is a slip, and expanding it would never end.
_WRITTEN = re.compile(r"\s*[+-]?(\d{1,400}/\d{1,400}|\d{0,400}\.?\d{0,400}([eE][+-]?\d{1,3})?)\s*", re.ASCII)
# What is read may come from anybody's file: neither a zero below the line nor a number without end.
_LONG_FRACTION = re.compile(r"(?<!\d)(\d{2,300})/([1-9]\d{2,299})(?!\d)")


def exact(amount: Amount, name: str = "epsilon", *, derived: bool = False) -> Fraction:
    """The amount as a fraction; a float means the decimal that it prints as.

    `derived` amounts are products and sums of those that were given, and may be longer than these.

    >>> exact(0.1), exact("7/10")
    (Fraction(1, 10), Fraction(7, 10))
    """
    try:
        if isinstance(amount, bool):
            raise TypeError
        if isinstance(amount, float | str | Decimal):
            text = str(amount)
            if not _WRITTEN.fullmatch(text):
                raise ValueError
            value = Fraction(text)
        else:
            given = Fraction(amount)
            # NumPy integers would stay inside the fraction and wrap around in later arithmetic.
            value = Fraction(int(given.numerator), int(given.denominator))
        if is_long(value) and not derived:
            raise ValueError
        return value
    except (ValueError, OverflowError, TypeError, ZeroDivisionError):
        raise BudgetError(
            f"{name} must be a finite number such as 0.5 or '7/10', not {shown(amount)}. Nothing was spent."
        ) from None


def is_long(value: int | Fraction) -> bool:
    """Whether a number has more digits than anybody may give.

    >>> is_long(10**399), is_long(10**400), is_long(Fraction(1, 10**400))
    (False, True, True)
    """
    return max(abs(value.numerator), value.denominator) >= _TOO_LONG


def held_up(amount: Fraction) -> Fraction:
    """The amount; where it has too many digits to be written, the next multiple of 10**-2000 above it.

    Sums of fractions get longer with every term, and Python writes no number of more than 4,300 digits.

    >>> held_up(Fraction(1, 3)), held_up(Fraction(1, 3**9000)) == Fraction(1, 10**2000)
    (Fraction(1, 3), True)
    """
    if max(amount.numerator, amount.denominator) < _STEPS:
        return amount
    return Fraction(-(-amount.numerator * _STEPS // amount.denominator), _STEPS)


def shown(value: object) -> str:
    """A value in a complaint about it: a few words, whatever it is.

    >>> shown(Fraction(3, 10)), shown("a lot"), shown(10**5000)
    ('0.3', "'a lot'", 'a number of more than 400 digits')
    """
    if isinstance(value, int | Fraction) and is_long(value):
        return f"a number of more than {DIGITS} digits"
    try:
        return f"{plain(value):.60}" if isinstance(value, Fraction) else f"{value!r:.60}"
    except ValueError:  # it holds such a number
        return f"a {type(value).__name__} with such numbers in it"


def brief(text: str) -> str:
    """Words with their long fractions as rounded decimals, for eyes; receipt.json has them exactly.

    >>> brief("scale 52096031/892000"), brief("scale 1/3, 40 candidates")
    ('scale ≈ 58.4', 'scale 1/3, 40 candidates')
    """
    return _LONG_FRACTION.sub(lambda found: f"≈ {int(found[1]) / int(found[2]):.4g}", text)


def plain(amount: Fraction) -> str:
    """A fraction as people write it: a decimal when a short one is exact, else the fraction.

    >>> plain(Fraction(3, 10)), plain(Fraction(1, 3)), plain(Fraction(1, 10**9))
    ('0.3', '1/3', '1e-09')
    """
    try:
        nearest = float(amount)
    except OverflowError:
        return "more than 1e308"
    for short in (f"{nearest:.6g}", f"{nearest:.15g}"):
        if Fraction(short) == amount:
            return short
    return f"{amount.numerator}/{amount.denominator}"
