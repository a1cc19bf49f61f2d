"""Two fields compared with each other: ``discharged >= admitted``.

On codes, where values are even inside a bin, a comparison has a chance for every pair of codes: 1 or 0 where
all values of two bins compare alike, something between where the bins overlap. On rows it is plain.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.schema.codec import Codec
from penstock.schema.reading import read
from penstock.schema.syntax import Comparison, Expression, Operator, Predicate
from penstock.schema.values import NotAValueError, parse, position

Reals = NDArray[np.float64]
Truth = NDArray[np.bool_]

_POINTS = 64  # of a bin that stand for all its values; a bin of fewer whole numbers is taken as it is
_SIGNS: dict[Operator, Callable[[Reals, Reals], Truth]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_AMOUNTS = ("integer", "number")


def compared(predicate: Predicate, codecs: Mapping[str, Codec]) -> Expression:
    """The predicate, or the comparison of two fields that it is meant to be.

    It is one when what stands for a value is the name of a field and no value of the first.
    """
    if predicate.operator not in _SIGNS or predicate.name not in codecs:
        return predicate
    (text,) = predicate.values
    field = codecs[predicate.name].field
    if text not in codecs or (field.type == "string" or field.type == "boolean"):
        return predicate
    try:
        parse(field.type, text)
    except NotAValueError:
        return Comparison(predicate.name, predicate.operator, text, predicate.at)
    return predicate


@dataclass(frozen=True)
class Between:
    """A comparison that fits its fields; making one checks that they can be compared."""

    comparison: Comparison
    one: Codec
    two: Codec

    def __post_init__(self) -> None:
        left, right = self.one.field, self.two.field
        alike = left.type == right.type or (left.type in _AMOUNTS and right.type in _AMOUNTS)
        if not alike:
            raise QueryError(
                f"{left.name} holds {left.type}s and {right.name} {right.type}s: they cannot be compared. "
                "Compare fields of one type."
            )
        exact = self.comparison.operator in ("=", "!=")
        if exact and left.ranged and right.ranged and not (left.whole and right.whole):
            raise QueryError(
                f"{left.name} and {right.name}: two real numbers are hardly ever equal. Use '<=' or '>='."
            )

    @cached_property
    def chances(self) -> Reals:
        """For every pair of codes the chance that the comparison holds; none where a value is missing."""
        holds = _SIGNS[self.comparison.operator]
        rows, columns = _points(self.one), _points(self.two)
        table = np.zeros((self.one.size, self.two.size))
        for code, mine in rows.items():
            for other, theirs in columns.items():
                table[code, other] = holds(mine[:, None], theirs[None, :]).mean()
        return table

    def in_columns(self, one: pl.Series, two: pl.Series) -> Truth:
        """Where the comparison holds among raw or decoded values."""
        left, right = (
            read(codec.field, column, codec.markers) for codec, column in ((self.one, one), (self.two, two))
        )
        known = ~(left.missing | left.unreadable | right.missing | right.unreadable)
        values = [each.values.to_numpy().astype(np.float64, copy=False) for each in (left, right)]
        return np.asarray(_SIGNS[self.comparison.operator](*values) & known)


def _points(codec: Codec) -> dict[int, Reals]:
    """Values that stand for those of each code, ends included; missing and other values have none."""
    field = codec.field
    if not field.ranged:
        return {code: np.array([float(position(value))]) for code, value in enumerate(field.values)}
    found = {}
    for code in range(field.edges.count):
        first, last = field.edges.span(code)
        many = min(last - first + 1, _POINTS) if field.whole else _POINTS
        points = np.linspace(first, last, max(1, int(many)))
        found[code] = np.rint(points) if field.whole else points
    return found
