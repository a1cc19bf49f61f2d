"""Bins that follow the data: PrivTree on single columns, paid from the budget of the release.

A field that declares ``bins: {adaptive: true, most: 16}`` is coded in many narrow public bins. For each
such field PrivTree decides where they are worth telling apart; the shape of its tree is all that is
kept, and it decides which neighbouring bins are merged. Where it finds fewer bins than are wished, round
ones, which are public, fill up. Every later step sees the merged bins only.

Why it is private: the decisions of each tree cost its part of the budget
(`penstock.privacy.mechanisms.splitting`; a record moves the counts along one path of a tree by one), and
merging is post-processing of the shape. The new edges are therefore public facts of the release's schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Shape, grow
from penstock.privacy.mechanisms.splitting import Constant, Splitter
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Bins, Field, Schema
from penstock.schema.bins import ADAPTIVE_BINS
from penstock.schema.round_bins import round_edges
from penstock.schema.values import at, position

Numbers = NDArray[np.int64]

SHARE = Fraction(1, 20)
"""What finding all adaptive bins may cost of a release's budget."""


@dataclass(frozen=True, eq=False, repr=False)
class Stretches:
    """Stretches of neighbouring bins, halved again and again: a level of the tree over one column."""

    histogram: Sealed[Numbers]
    start: Numbers
    stop: Numbers

    @property
    def fans(self) -> Numbers:
        return np.where(self.stop - self.start > 1, 2, 0)

    def scores(self, asked: Numbers) -> Sealed[Numbers]:
        """The records in each stretch."""
        start, stop = self.start[asked], self.stop[asked]

        def sums(counts: Numbers) -> Numbers:
            before: Numbers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
            return np.asarray(before[stop] - before[start])

        moves = self.histogram.sensitivity
        return self.histogram.claim(
            sums,
            Sensitivity.of(moves.l1, linf=moves.l1),
            shape=(len(asked),),
            because="stretches of one depth share no bin: their sums move by no more in all than the bins do",
        )

    def children(self, split: Numbers) -> Stretches:
        start, stop = self.start[split], self.stop[split]
        middle = (start + stop + 1) // 2
        return Stretches(
            self.histogram,
            np.column_stack([start, middle]).ravel(),
            np.column_stack([middle, stop]).ravel(),
        )


def stretch(histogram: Sealed[Numbers], bins: int) -> Stretches:
    """All bins of a column as one stretch; the missing values behind them are left out."""
    regular = histogram.claim(
        lambda counts: counts[:bins],
        histogram.sensitivity,
        shape=(bins,),
        because="some cells of a histogram move by no more than all of them",
    )
    return Stretches(regular, np.array([0]), np.array([bins]))


class Binned(Protocol):
    """What is needed of a table: its public facts, sealed counts, and coarser copies."""

    schema: Schema

    @property
    def relation(self) -> Relation: ...

    def counts(self, marginals: Sequence[tuple[str, ...]]) -> list[Sealed[Numbers]]: ...

    def merged(self, lookups: Mapping[str, Numbers], schema: Schema) -> Self: ...


T = TypeVar("T", bound=Binned)


def adaptive(schema: Schema) -> list[str]:
    """The fields whose bins are to follow the data."""
    return [field.name for field in schema.fields if field.bins is not None and field.bins.adaptive]


def adapt(table: T, pay: Budget, *, constant: Constant = "tight") -> T:
    """The table with every adaptive field in bins that follow its data; pays evenly for all of them.

    A table without adaptive fields comes back as it is, and nothing is paid.
    """
    names = adaptive(table.schema)
    if not names:
        return table
    lookups: dict[str, Numbers] = {}
    fields: dict[str, Field] = {}
    histograms = table.counts([(name,) for name in names])
    for name, histogram, part in zip(names, histograms, pay.evenly(names), strict=True):
        field = table.schema.field(name)
        starts = _first_bins(table, histogram, field, part, constant)
        attribute = table.schema.attribute(name)
        regular = np.searchsorted(starts, np.arange(field.edges.count), side="right") - 1
        special = np.arange(attribute.size - attribute.regular) + len(starts)
        lookups[name] = np.concatenate([regular, special])
        fields[name] = _with_edges(field, starts)
    return table.merged(lookups, _with_fields(table.schema, fields))


def at_most(schema: Schema) -> Schema:
    """The schema with as many bins of every adaptive field as may come out: what is public beforehand.

    >>> schema = Schema.from_yaml('''
    ... fields:
    ...   - {name: sex, constraints: {enum: [f, m]}}
    ...   - name: age
    ...     type: integer
    ...     constraints: {minimum: 0, maximum: 99}
    ...     bins: {adaptive: true, count: 100, most: 8}
    ... ''')
    >>> schema.sizes, at_most(schema).sizes
    ({'sex': 2, 'age': 100}, {'sex': 2, 'age': 8})
    """
    fields: dict[str, Field] = {}
    for name in adaptive(schema):
        field = schema.field(name)
        assert field.bins is not None
        kept = min(field.edges.count, field.bins.most or ADAPTIVE_BINS)
        fields[name] = _with_edges(field, np.arange(kept) * field.edges.count // kept)
    return _with_fields(schema, fields)


def with_adaptive_bins(table: T, budget: Budget) -> tuple[T, Budget]:
    """The table with its adaptive bins found, and what is left of the budget for the release itself."""
    if not adaptive(table.schema):
        return table, budget
    return adapt(table, budget.part("bins", SHARE)), budget.rest("release")


def _first_bins(
    table: Binned, histogram: Sealed[Numbers], field: Field, pay: Budget, constant: Constant
) -> Numbers:
    """The first narrow bin of each merged one."""
    splitter = Splitter.paid(
        pay,
        fan_out=2,
        paths=table.schema.unit.records,
        constant=constant,
        relation=table.relation,
    )
    count = field.edges.count
    growth = grow(stretch(histogram, count), splitter, deepest=max(1, count - 1).bit_length())
    assert field.bins is not None
    most = field.bins.most or ADAPTIVE_BINS
    kept = fullest(growth.shape, most)
    starts = np.concatenate([level.start for level in growth.levels])[kept]
    filled = np.union1d(starts, _round_places(field, most - len(starts)))
    return np.union1d(filled, _around_spikes(field))


def _round_places(field: Field, most: int) -> Numbers:
    """The narrow bins at which some round bins begin, at most so many.

    Where few records, or little budget, let a tree tell little apart, round bins fill up to what is wished:
    without them all of a column would be one bin. They depend on the bounds and on how many bins were found.
    """
    if most < 1:
        return np.zeros(0, dtype=np.int64)
    inner = round_edges(field.type, field.edges.low, field.edges.high, most + 1)
    return np.unique(field.edges.codes(np.array(inner, dtype=np.float64)))


def _around_spikes(field: Field) -> Numbers:
    """The narrow bins of the declared spikes and those behind them: both begin a bin, whatever is merged."""
    spikes = field.edges.codes(np.array([position(value) for value in field.spikes], dtype=np.float64))
    behind = np.unique(np.concatenate([spikes, spikes + 1]))
    return behind[behind < field.edges.count]


def fullest(shape: Shape, most: int) -> Numbers:
    """At most `most` nodes that cover the tree, fine where it has many leaves.

    PrivTree's leaves hold similar numbers of records, so a node with many leaves below it holds many.
    From the root on, the node with the most leaves is split until there are enough; public, because
    the shape is.

    >>> fullest(Shape(np.array([2, 2, 0, 2, 0, 0, 0])), 3).tolist()
    [2, 3, 4]
    """
    below = shape.sums(np.ones(len(shape.leaves), dtype=np.int64))
    open_nodes = [(-int(below[0]), 0)]
    heapify(open_nodes)
    settled: list[int] = []
    while open_nodes and len(settled) + len(open_nodes) < most:
        _, node = heappop(open_nodes)
        fan, first = int(shape.fans[node]), int(shape.first[node])
        if fan == 0:
            settled.append(node)
            continue
        for child in range(first, first + fan):
            heappush(open_nodes, (-int(below[child]), child))
    return np.sort(np.array(settled + [node for _, node in open_nodes], dtype=np.int64))


def _with_edges(field: Field, starts: Numbers) -> Field:
    """The field with the edges at which its merged bins begin."""
    edges = [field.edges.values[start] for start in starts.tolist()] + [field.edges.high]
    values = tuple(at(field.type, edge) for edge in edges)
    return field.with_bounds(values[0], values[-1], Bins(edges=values))


def _with_fields(schema: Schema, fields: Mapping[str, Field]) -> Schema:
    """The schema with some of its fields replaced, checked again."""
    if not fields:
        return schema
    replaced = tuple(fields.get(field.name, field) for field in schema.fields)
    return Schema.model_validate(schema.model_copy(update={"fields": replaced}).model_dump(by_alias=True))
