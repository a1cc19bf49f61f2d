"""Sequences that nobody has, to try things out on: steps of a chain over the declared symbols."""

from __future__ import annotations

import numpy as np
import polars as pl

from penstock.errors import UsageError
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.schema import Schema

_EVENNESS = 0.3  # of what follows a symbol: a few others are likely
_USUAL = 6


def made_up_sequences(schema: Schema, records: int, seed: int = 0) -> pl.DataFrame:
    """So many sequences over the declared symbols, as rows that the schema describes; nothing is read."""
    layout = SequenceLayout.of(schema)
    if layout.first or layout.last or layout.once or layout.never_both:
        raise UsageError(
            "There are no made-up sequences that keep rules of order, such as 'first' or 'once'."
        )
    rng = np.random.default_rng(seed)
    labels = schema.attribute(layout.symbol).labels[: schema.attribute(layout.symbol).regular]
    longest = min(layout.most_values, 100)
    after = np.cumsum(rng.dirichlet(np.full(len(labels), _EVENNESS), len(labels) + 1), axis=1)
    after[:, -1] = 1.0
    lengths = np.clip(rng.geometric(1 / min(_USUAL, longest), records), 1, longest)
    steps = np.zeros((records, int(lengths.max(initial=1))), dtype=np.int64)
    before = np.full(records, len(labels))
    for number in range(steps.shape[1]):
        before = (after[before] < rng.random(records)[:, None]).sum(axis=1)
        steps[:, number] = before
    owner = np.repeat(np.arange(records), lengths)
    place = np.concatenate([np.zeros(0, dtype=np.int64), *map(np.arange, lengths)])
    symbols = schema.codec(layout.symbol).decode(steps[owner, place], rng)
    if layout.user is None:
        joined = pl.DataFrame({"owner": owner, layout.symbol: symbols.cast(pl.String)})
        listed = joined.group_by("owner", maintain_order=True).agg(layout.symbol)
        whole = listed[layout.symbol].list.join(layout.separator or " ")
        return pl.DataFrame({layout.symbol: whole}).with_columns(_people(schema, records))
    rows = pl.DataFrame({layout.user: owner, layout.symbol: symbols})
    if layout.time in schema.names:
        codec = schema.codec(layout.time or "")
        instants = codec.decode(np.sort(rng.integers(codec.attribute.regular, size=len(owner))), rng)
        return rows.with_columns(instants.sort().alias(layout.time or ""))
    return rows if layout.time is None else rows.with_columns(pl.Series(layout.time, place))


def _people(schema: Schema, records: int) -> list[pl.Series]:
    """Whose sequences they are, where the unit is somebody whom a column tells apart."""
    if schema.unit.column is None:
        return []
    return [pl.Series(schema.unit.column, np.arange(records) // max(1, schema.unit.records))]
