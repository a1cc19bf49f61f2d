"""Questions about points, turned into parts of the axes of a space.

A question is cut into products of conditions on single fields, no two of which hold at once. A
condition on one field selects a part of its axis: intervals of a number, any set of categories. A
tree then answers exactly, up to points being taken as even inside a leaf.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.kinds.points.axis import Axis, Reals
from penstock.kinds.points.space import Space
from penstock.schema import Bins, Codec, Condition, Schema, parse
from penstock.schema.values import at

Part = tuple[Reals, Reals]
"""Positions along an axis, in its own unit, and how much of the axis is selected up to each."""


def region(text: str, schema: Schema, space: Space) -> list[dict[int, Part]]:
    """The question as disjoint products: for each, the selected part of every axis that it restricts."""
    exact = _cut_where_asked(parse(text, schema), schema)
    terms = parse(text, exact).disjoint_terms()
    number = {axis.name: place for place, axis in enumerate(space.axes)}
    return [
        {
            number[name]: _part(space.axes[number[name]], exact[name], weights)
            for name, weights in term.items()
        }
        for term in terms
    ]


def shares(terms: list[dict[int, Part]], low: Reals, high: Reals) -> Reals:
    """The share of every cell that is selected, its volume counted in the axes' own units."""
    total = np.zeros(len(low))
    for term in terms:
        share = np.ones(len(low))
        for axis, (positions, selected) in term.items():
            ends = np.interp(high[:, axis], positions, selected)
            share *= (ends - np.interp(low[:, axis], positions, selected)) / (high[:, axis] - low[:, axis])
        total += share
    return total


def _cut_where_asked(condition: Condition, schema: Schema) -> Mapping[str, Codec]:
    """The schema's codecs, with bins that begin and end exactly where the question changes its mind."""
    codecs = dict(schema.codecs)
    for name in condition.names:
        codec = codecs[name]
        field = codec.field
        if not field.ranged or field.edges.low == field.edges.high:
            continue
        low, high = field.edges.low, field.edges.high
        asked = {cut for bound in condition.bound.values() if bound.codec is codec for cut in bound.cuts()}
        inner = sorted(cut for cut in asked if low < cut < high or (field.whole and cut == high))
        edges = tuple(at(field.type, cut) for cut in (low, *inner, high))
        codecs[name] = Codec(field.with_bounds(edges[0], edges[-1], Bins(edges=edges)), codec.markers)
    return codecs


def _part(axis: Axis, codec: Codec, weights: Reals) -> Part:
    """How much of an axis the codes with these weights select, from its beginning on."""
    if axis.codes is not None:
        return np.arange(axis.places + 1.0), np.concatenate([[0.0], np.cumsum(weights[axis.codes])])
    edges = codec.field.edges
    if edges.low == edges.end:
        return np.array([0.0, axis.length]), np.array([0.0, axis.length * weights[0]])
    begins = np.array(edges.values[:-1], dtype=np.float64)
    positions = np.append(axis.interval(begins, begins)[0], axis.length)
    return positions, np.concatenate([[0.0], np.cumsum(np.diff(positions) * weights[: edges.count])])
