"""Views that cover every pair: affine planes and spaces, with which all pairs cost what a few tables cost.

Counting all d(d-1)/2 pairs of attributes one by one divides the budget by their number. An affine
plane of order q arranges q² points in q² + q lines of q points such that every two points lie on
exactly one line. With the attributes as points and a table of counts for each line, every pair is
counted once, and the budget is divided by the number of lines only. What a pair loses by being added up
from a larger table is less than that wins as long as the tables stay small. Where there are so many
attributes that the lines of a plane would be too long, those of a space of three dimensions do the same with
shorter ones: q³ points, and q²(q² + q + 1) lines of q points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

ORDERS = (2, 3, 4, 5, 7, 8)
"""Orders of the planes and spaces that are used."""

_POLYNOMIALS = {4: 0b111, 8: 0b1011}  # irreducible over GF(2)


def lines(points: int, dimensions: int = 2) -> list[tuple[int, ...]]:
    """Sets of points such that every two of them are in one; the smallest plane, or space, that has room.

    >>> lines(4)
    [(0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2)]
    """
    if points < 2:
        return []
    order = next((q for q in ORDERS if q**dimensions >= points), None)
    if order is None:
        raise ValueError(f"no order up to {ORDERS[-1]} makes {points} points in {dimensions} dimensions")
    found = []
    for direction in _directions(order, dimensions):
        # of the points of a line just one is zero where its direction first is not
        fixed = next(axis for axis, step in enumerate(direction) if step)
        for start in product(range(order), repeat=dimensions):
            if start[fixed]:
                continue
            line = [_number(start, direction, along, order) for along in range(order)]
            present = tuple(sorted(point for point in line if point < points))
            if len(present) > 1:
                found.append(present)
    return found


def most_points(dimensions: int) -> int:
    """The largest number of points that `lines` can arrange."""
    return int(ORDERS[-1] ** dimensions)


def _directions(order: int, dimensions: int) -> Iterator[tuple[int, ...]]:
    """One for each set of parallel lines: the first step that is not zero is one."""
    for steps in product(range(order), repeat=dimensions):
        if next((step for step in steps if step), 0) == 1:
            yield steps


def _number(start: Sequence[int], direction: Sequence[int], along: int, order: int) -> int:
    """The number of the point so many steps along a line."""
    number = 0
    for first, step in zip(start, direction, strict=True):
        number = number * order + _add(first, _times(step, along, order), order)
    return number


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
