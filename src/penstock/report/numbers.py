"""Numbers as people read them."""

from __future__ import annotations

from math import floor, inf, log10


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


def placed(number: float, step: float) -> str:
    """A place on an axis, to about a tenth of the step between two such places.

    >>> placed(7.083333333, 5 / 12), placed(-73.9791666, 0.0416), placed(120.0, 20.0)
    ('7.08', '-73.979', '120')
    """
    digits = max(0, 1 - floor(log10(step))) if 0 < step < inf else 6
    text = f"{number:.{min(digits, 12)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def sentence(words: str) -> str:
    """Words that begin with a capital letter.

    >>> sentence("less than half.")
    'Less than half.'
    """
    return words[:1].upper() + words[1:]


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
