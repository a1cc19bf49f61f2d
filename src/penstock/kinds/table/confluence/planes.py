"""Views that cover every pair: affine planes, so that all pairs together cost what a few tables cost.

Counting all d(d-1)/2 pairs of attributes one by one divides the budget by their number. An affine
plane of order q arranges q² points in q² + q lines of q points such that every two points lie on
exactly one line. With the attributes as points and a table of counts for each line, every pair is
counted once, and the budget is divided by the number of lines only. What a pair loses by being added up
from a larger table is less than that wins as long as the tables stay small.
"""

from __future__ import annotations

ORDERS = (2, 3, 4, 5, 7, 8)
"""Orders of the planes that are used."""

LARGEST = ORDERS[-1] ** 2
"""The largest number of points that `lines` can arrange."""

_POLYNOMIALS = {4: 0b111, 8: 0b1011}  # irreducible over GF(2)


def lines(points: int) -> list[tuple[int, ...]]:
    """Sets of points such that every two of them are in one; the smallest plane that has room.

    >>> lines(4)
    [(0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2)]
    """
    if points < 2:
        return []
    order = next((q for q in ORDERS if q * q >= points), None)
    if order is None:
        raise ValueError(f"no plane of order up to {ORDERS[-1]} has {points} points")
    found = []
    for slope in (None, *range(order)):
        for intercept in range(order):
            if slope is None:
                line = [intercept * order + y for y in range(order)]
            else:
                line = [x * order + _add(_times(slope, x, order), intercept, order) for x in range(order)]
            present = tuple(sorted(point for point in line if point < points))
            if len(present) > 1:
                found.append(present)
    return found


def _add(a: int, b: int, order: int) -> int:
    return a ^ b if order in _POLYNOMIALS else (a + b) % order


def _times(a: int, b: int, order: int) -> int:
    if order not in _POLYNOMIALS:
        return a * b % order
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        if a & order:
            a ^= _POLYNOMIALS[order]
        b >>= 1
    return product
