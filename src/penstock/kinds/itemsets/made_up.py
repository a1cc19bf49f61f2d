"""Item sets that nobody has, to try things out on: a few tastes, each with its favourites."""

from __future__ import annotations

import numpy as np
import polars as pl

from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.schema import Schema

TASTES = 4
_USUAL = 4.0
_MOST = 30


def made_up_sets(schema: Schema, records: int, seed: int = 0) -> pl.DataFrame:
    """So many sets of the declared items, as rows that the schema describes; nothing is read."""
    layout = ItemSetLayout.of(schema)
    rng = np.random.default_rng(seed)
    items = schema.attribute(layout.item).regular
    ranks = np.array([rng.permutation(items) for _ in range(TASTES)]) + 1.0
    liking = np.log(1.0 / ranks)
    largest = min(layout.most_values, items, _MOST)
    sizes = np.clip(rng.poisson(_USUAL - 1.0, records) + 1, 1, largest)
    tastes = rng.integers(TASTES, size=records)
    chosen = []
    for first in range(0, records, 1024):  # the best of noisy likings: draws without replacement
        part = liking[tastes[first : first + 1024]]
        noisy = part + rng.gumbel(size=part.shape)
        chosen.append(np.argsort(-noisy, axis=1)[:, :largest])
    kept = np.concatenate([np.zeros((0, largest), dtype=np.int64), *chosen])
    owner = np.repeat(np.arange(records), sizes)
    place = np.concatenate([np.zeros(0, dtype=np.int64), *map(np.arange, sizes)])
    values = schema.codec(layout.item).decode(kept[owner, place], rng)
    people = np.arange(records) // max(1, schema.unit.records)
    column = schema.unit.column
    if layout.transaction is not None:
        rows = pl.DataFrame({layout.transaction: owner, layout.item: values})
        return (
            rows
            if column in (None, layout.transaction)
            else rows.with_columns(pl.Series(column, people[owner]))
        )
    joined = pl.DataFrame({"owner": owner, layout.item: values.cast(pl.String)})
    listed = joined.group_by("owner", maintain_order=True).agg(layout.item)
    whole = pl.DataFrame({layout.item: listed[layout.item].list.join(layout.separator or " ")})
    return whole if column is None else whole.with_columns(pl.Series(column, people))
