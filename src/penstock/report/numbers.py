"""Numbers as people read them."""

from __future__ import annotations


def readable(number: float) -> str:
    """A number as people read it: whole above 100, else three significant digits.

    >>> readable(1234.56), readable(0.012345), readable(12.0)
    ('1,235', '0.0123', '12')
    """
    if number != number or number in (float("inf"), float("-inf")):
        return str(number)
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def percent(share: float) -> str:
    r"""A share in words: never rounded to certainty.

    >>> percent(0.731).replace("\u00a0", " "), percent(0.99999).replace("\u00a0", " ")
    ('73 %', 'more than 99.9 %')
    """
    if 0.999 < share < 1:
        return "more than 99.9\u00a0%"
    if 0 < share < 0.001:
        return "less than 0.1\u00a0%"
    digits = 1 if 0.99 < share < 1 or 0 < share < 0.01 else 0
    return f"{100 * share:.{digits}f}\u00a0%"
