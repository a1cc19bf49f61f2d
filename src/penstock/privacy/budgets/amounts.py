"""Amounts as people write and read them: exact fractions on the way in, short decimals on the way out."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from penstock.errors import BudgetError

Amount = int | float | str | Fraction | Decimal

# What a person writes. An exponent of more than three digits is a slip, and expanding it would never end.
_WRITTEN = re.compile(r"\s*[+-]?(\d{1,400}/\d{1,400}|\d{0,400}\.?\d{0,400}([eE][+-]?\d{1,3})?)\s*", re.ASCII)
# What is read may come from anybody's file: neither a zero below the line nor a number without end.
_LONG_FRACTION = re.compile(r"(?<!\d)(\d{2,300})/([1-9]\d{2,299})(?!\d)")


def exact(amount: Amount, name: str = "epsilon") -> Fraction:
    """The amount as a fraction; a float means the decimal that it prints as.

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
            return Fraction(text)
        value = Fraction(amount)
        # NumPy integers would stay inside the fraction and wrap around in later arithmetic.
        return Fraction(int(value.numerator), int(value.denominator))
    except (ValueError, OverflowError, TypeError, ZeroDivisionError):
        raise BudgetError(
            f"{name} must be a finite number such as 0.5 or '7/10', not {amount!r:.60}. Nothing was spent."
        ) from None


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
