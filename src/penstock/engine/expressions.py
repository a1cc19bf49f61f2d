"""Expressions of a database: long sums, exact literals, the nearest of some centres, lookups.

A database reads an expression only so many levels deep (SQLite: a hundred), and a sum that is written one
term after another is as deep as it is long. Added up in pairs, sixty-four terms are six levels deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import ibis.expr.types as ir


def added(terms: Sequence[Any]) -> Any:
    """The sum of one or more terms, in pairs, and pairs of pairs.

    >>> added(["a", "b", "c"])
    'abc'
    """
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return added(terms[:half]) + added(terms[half:])


def double(number: float) -> Any:
    """A literal that every database takes for the very same double.

    SQLite reads some long texts as the double beside it: so whole numbers are written, and powers of two.
    """
    import ibis

    share, power = frexp(number)
    whole, power = int(ldexp(share, 53)), power - 53
    zeros = (whole & -whole).bit_length() - 1 if whole else -power
    whole, power = whole >> zeros, power + zeros
    found: Any = ibis.literal(whole, type="int64").cast("float64")
    while power:
        step = max(-62, min(62, power))
        factor = ibis.literal(1 << abs(step), type="int64").cast("float64")
        found, power = found * factor if step > 0 else found / factor, power - step
    return found


def packed(columns: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Several whole numbers from 0 as one, the first slowest, where each is below its size."""
    import ibis

    if not columns:
        return ibis.literal(0, type="int64")
    key, *others = (column.cast("int64") for column in columns)
    for size, column in zip(sizes[1:], others, strict=True):
        key = key * size + column
    return key


def joined(sizes: Sequence[int]) -> list[list[int]]:
    """Places of numbers with these sizes, in as few groups as 62 bits hold.

    >>> joined([1 << 40, 1 << 20, 1 << 10])
    [[0, 1], [2]]
    """
    words: list[list[int]] = []
    cells = 0
    for place, size in enumerate(sizes):
        cells *= size
        if not words or cells > 1 << 62:
            words.append([])
            cells = size
        words[-1].append(place)
    return words


def nearer(placed: ir.Table, begin: int, centres: Sequence[Sequence[int]]) -> ir.Table:
    """The records with the best of these centres, where one of them is nearer than the best before."""
    import ibis

    apart: dict[str, Any] = {}
    for number, centre in enumerate(centres):
        steps: Any = [2 * placed[f"p{axis}"] + (1 - at) for axis, at in enumerate(centre)]
        apart[f"d{number}"] = added([step * step for step in steps])
    measured = placed.mutate(**apart)
    least: Any = ibis.least(measured["apart"], *(measured[name] for name in apart))
    chosen = ibis.cases(
        (measured["apart"] == least, measured["best"]),
        *(
            (measured[name] == least, ibis.literal(begin + number, type="int64"))
            for number, name in enumerate(apart)
        ),
        else_=measured["best"],
    )
    return measured.mutate(best=chosen, apart=least).drop(*apart)


def through(column: Any, lookup: NDArray[np.intp]) -> Any:
    """A lookup as an expression: one comparison for each run of equal codes."""
    import ibis

    ends = np.flatnonzero(np.diff(lookup)) + 1
    last = ibis.literal(int(lookup[-1]), type="int64")
    if len(ends) == 0:
        return last
    branches = [(column < int(end), ibis.literal(int(lookup[end - 1]), type="int64")) for end in ends]
    return ibis.cases(*branches, else_=last)
