"""Predicates bound to a field: on which codes, and on which part of a bin, they hold.

A bin is cut into *pieces* at every value that a question mentions, so that each predicate either
holds on a whole piece or nowhere on it. Whole numbers, days and seconds are counted, real numbers
measured; values are taken to be even inside a bin, which is how codes are decoded.

A comparison never holds for a missing value, whatever it compares with; ``not`` is plain negation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.schema.codec import Codec
from penstock.schema.fact import nearest
from penstock.schema.field import OTHER
from penstock.schema.reading import read
from penstock.schema.syntax import Predicate
from penstock.schema.values import BLANKS, DATE, NotAValueError, noun, number, parse, position

Truth = NDArray[np.bool_]
Span = tuple[float, float]


@dataclass(frozen=True)
class Pieces:
    """The parts of a field's codes: which code each belongs to, its share of it, and what holds there.

    `ends` are the least and the largest value of each piece of a range, in two rows; None for categories.
    """

    codes: NDArray[np.int64]
    shares: NDArray[np.float64]
    holds: dict[Predicate, Truth]
    ends: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Bound:
    """A predicate that fits its field; making one checks the operator and every value."""

    predicate: Predicate
    codec: Codec

    def __post_init__(self) -> None:
        if self.predicate.operator not in ("missing", "code"):
            _ = self.spans if self.codec.field.ranged else self.on_codes

    @property
    def spans(self) -> list[Span]:
        """The ranges of positions that the written values stand for."""
        field, values = self.codec.field, self.predicate.values
        spans = [self._span(value) for value in values]
        if self.predicate.operator == "range" and spans[0][0] > spans[1][1]:
            raise QueryError(f"{field.name}: the range {values[0]}..{values[1]} is empty. Exchange its ends.")
        return spans

    def _span(self, text: str) -> Span:
        field = self.codec.field
        try:
            if field.type in ("integer", "number"):
                return (number(text),) * 2
            where = position(parse(field.type, text))
        except NotAValueError:
            raise QueryError(
                f"{field.name}: '{text}' is not {noun(field.type)}; the field holds {field.domain}."
            ) from None
        whole_day = field.type == "datetime" and pl.Series([text.strip(BLANKS)]).str.contains(DATE)[0]
        return (where, where + 86399) if whole_day else (where, where)

    def at(self, positions: NDArray[np.float64]) -> Truth:
        """Where the predicate holds among readable values of a range."""
        spans, operator = self.spans, self.predicate.operator
        if operator not in ("=", "!=", "in", "not in"):
            return _compare(positions, operator, spans[0][0], spans[-1][1])
        among = np.zeros(len(positions), dtype=np.bool_)
        for first, last in spans:
            among |= (positions >= first) & (positions <= last)
        return among if operator in ("=", "in") else ~among

    def cuts(self) -> list[float]:
        """The positions at which the predicate may change, each the first of a new piece."""
        if self.predicate.operator in ("missing", "code"):
            return []
        whole = self.codec.field.whole
        found: list[float] = []
        for first, last in self.spans:
            found += [math.ceil(first), math.floor(last) + 1] if whole else [first, last]
        return found

    @property
    def on_codes(self) -> Truth:
        """Where the predicate holds among the codes of a field with categories."""
        field, attribute = self.codec.field, self.codec.attribute
        operator, codes = self.predicate.operator, np.arange(attribute.size)
        if operator == "code":
            return np.equal(codes, int(self.predicate.values[0]))
        if operator == "missing":
            return np.equal(codes, -1 if attribute.missing is None else attribute.missing)
        known = np.ones(attribute.size, dtype=np.bool_)
        if attribute.missing is not None:
            known[attribute.missing] = False
        if operator in ("=", "!=", "in", "not in"):
            among = np.isin(codes, [code for value in self.predicate.values for code in self._codes(value)])
            return known & (among if operator in ("=", "in") else ~among)
        if (field.type == "string" and not field.categories_ordered) or field.type == "boolean":
            raise QueryError(
                f"{field.name}: its categories have no order, so '{operator}' means nothing. "
                "Use '=' or 'in', or declare 'categoriesOrdered: true'."
            )
        places = np.full(attribute.size, np.nan)
        ranks = range(attribute.regular)
        places[: attribute.regular] = ranks if field.type == "string" else [position(v) for v in field.values]
        if field.type != "string":
            return self.at(places)
        ends = [float(code) for value in self.predicate.values for code in self._codes(value)]
        return _compare(places, operator, min(ends), max(ends))

    def _codes(self, text: str) -> Sequence[int]:
        """The codes that a written value stands for: a category, a group of the taxonomy, or other."""
        field, keys = self.codec.field, self.codec.keys
        try:
            value = parse(field.type, text, field.true_values, field.false_values)
            key = str(value).strip(BLANKS) if isinstance(value, str) else float(position(value))
        except NotAValueError:
            key = text
        if key in keys:
            if key in self.codec.merged:
                raise QueryError(
                    f"{field.name}: '{text}' is merged into '{field.labels[keys[key]]}', and is not counted "
                    "alone. Ask for that."
                )
            return [keys[key]]
        if field.taxonomy is not None and (leaves := field.taxonomy.under(text)):
            return [field.labels.index(leaf) for leaf in leaves]
        if self.codec.attribute.other is not None and text in (OTHER, f"({OTHER})"):
            return [self.codec.attribute.other]
        known = field.labels if field.taxonomy is None else (*field.labels, *field.taxonomy.inner_labels())
        raise QueryError(
            f"{field.name}: '{text}' is not one of its categories{nearest(text, known)}. "
            f"They are {field.domain}."
        )

    def in_column(self, column: pl.Series) -> Truth:
        """Where the predicate holds among raw values, judged by the values themselves."""
        if self.predicate.operator == "code":
            return np.equal(self.codec.locate(column), int(self.predicate.values[0]))
        if not self.codec.field.ranged:
            codes = self.codec.locate(column)
            stray = self.predicate.operator in ("!=", "not in")
            reading = read(self.codec.field, column, self.codec.markers)
            if self.predicate.operator == "missing":
                return reading.missing
            return np.append(self.on_codes, stray)[codes] & ~reading.missing
        reading = read(self.codec.field, column, self.codec.markers)
        if self.predicate.operator == "missing":
            return reading.missing
        numbers = reading.values.to_numpy().astype(np.float64, copy=False)
        return self.at(numbers) & ~reading.missing & ~reading.unreadable


def _compare(places: NDArray[np.float64], operator: str, first: float, last: float) -> Truth:
    match operator:
        case "<":
            return places < first
        case "<=":
            return places <= last
        case ">":
            return places > last
        case ">=":
            return places >= first
        case _:
            return (places >= first) & (places <= last)


def pieces(codec: Codec, bound: Sequence[Bound]) -> Pieces:
    """The field's codes, cut so that every one of these predicates is constant on each piece."""
    size = codec.attribute.size
    if not codec.field.ranged:
        return Pieces(np.arange(size), np.ones(size), {each.predicate: each.on_codes for each in bound})
    edges = codec.field.edges
    point = edges.low == edges.high
    alone = [edges.low] if point else [position(value) for value in codec.field.spikes]
    for each in bound:
        listed = each.predicate.operator in ("=", "!=", "in", "not in")
        apart = point or (listed and all(first in alone for first, _ in each.spans))
        if listed and not codec.field.whole and not apart:
            raise QueryError(
                f"{codec.field.name}: a single real number has no share of a bin. "
                f"Ask for a range, such as {codec.field.name} = {codec.field.domain}."
            )
    cuts = [cut for each in bound for cut in each.cuts() if edges.low < cut <= edges.high]
    starts = np.unique(np.asarray([*edges.values[:-1], *cuts], dtype=np.float64))
    codes = np.minimum(edges.codes(starts), edges.count - 1)
    if edges.whole:
        ends = np.append(starts[1:] - 1, edges.high)
        amounts, middles = ends - starts + 1, starts
    else:
        ends = np.append(starts[1:], edges.high)
        lengths, single = ends - starts, np.isin(starts, alone)
        ends = np.where(single, starts, ends)
        amounts, middles = np.where(single, 1.0, lengths), np.where(single, starts, starts + lengths / 2)
    totals = np.bincount(codes, weights=amounts, minlength=edges.count)
    special = np.arange(edges.count, size)
    holds = {}
    for each in bound:
        if each.predicate.operator == "code":
            regular, extra = (part == int(each.predicate.values[0]) for part in (codes, special))
        elif each.predicate.operator == "missing":
            regular = np.zeros(len(starts), dtype=np.bool_)
            extra = special == (-1 if codec.attribute.missing is None else codec.attribute.missing)
        else:
            regular, extra = each.at(middles), np.zeros(len(special), dtype=np.bool_)
        holds[each.predicate] = np.concatenate([regular, extra])
    shares = np.concatenate([amounts / totals[codes], np.ones(len(special))])
    unknown = np.full(len(special), np.nan)
    spans = np.array([np.concatenate([starts, unknown]), np.concatenate([ends, unknown])])
    return Pieces(np.concatenate([codes, special]), shares, holds, spans)
