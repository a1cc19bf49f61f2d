"""What a code is worth where numbers are added up: the values that it may stand for, and their mean.

A category that is a number is worth that number. A bin is worth the mean of its values, which are taken to be
even inside, as when synthetic rows are drawn; between its least and its largest value lies what it may really
be worth. A missing value, and one outside of the domain, is worth nothing and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.schema.codec import Codec
from penstock.schema.field import Field
from penstock.schema.values import LARGEST_WHOLE

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Amounts:
    """The least, the mean and the largest value of each code of a field; NaN where it has none.

    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml('''
    ... fields: [{name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {count: 2}}]
    ... ''')
    >>> Amounts.of(schema.codec("age")).mean
    array([24.5, 74.5])
    """

    low: Reals
    mean: Reals
    high: Reals

    @classmethod
    def of(cls, codec: Codec) -> Amounts:
        """What the codes of a field of numbers are worth; QueryError for a field of anything else."""
        field = codec.field
        if field.type not in ("integer", "number"):
            raise QueryError(
                f"{field.name} is a field of type '{field.type}', whose values cannot be added up. "
                "Name a field of numbers."
            )
        low, mean, high = (np.full(codec.size, np.nan) for _ in range(3))
        if field.ranged:
            ends = np.array([field.edges.span(code) for code in range(field.edges.count)]).T
            low[: field.edges.count], high[: field.edges.count] = ends
            mean[: field.edges.count] = means(field, *ends)
        else:
            numbers = np.array([float(value) for value in field.values])  # type: ignore[arg-type]
            for each in (low, mean, high):
                each[: len(numbers)] = numbers
        return cls(low, mean, high)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which codes stand for numbers."""
        return ~np.isnan(self.mean)


def means(field: Field, low: Reals, high: Reals) -> Reals:
    """The means of values that are drawn evenly from ranges of a field, ends included where it counts.

    Numbers of few decimals are drawn among those that can be written so, which excludes the end of a bin.
    """
    middle = np.asarray((low + high) / 2)
    if field.whole or field.decimals is None:
        return middle
    scale = 10.0**field.decimals
    if np.nanmax(np.abs([low, high]), initial=0.0) * scale > LARGEST_WHOLE / 4:
        return middle
    last = np.where((high > low) & (high < field.edges.high), np.nextafter(high, -np.inf), high)
    first, end = np.ceil(low * scale - 1e-6), np.floor(last * scale + 1e-6)
    end = np.where(end / scale > last, end - 1, end)
    return np.where(first <= end, (first + end) / 2 / scale, middle)
