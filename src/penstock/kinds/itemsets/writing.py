"""Item sets as text and rows: items that somebody wrote, synthetic sets in the layout of the schema."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.arrow_memory import owned
from penstock.errors import QueryError, ReleaseError, SchemaError
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.weighted import Numbers
from penstock.privacy.unit import Relation
from penstock.schema import Schema
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    import polars as pl

Text = str | Sequence[str]


def parse(text: Text, universe: Sequence[str]) -> tuple[int, ...]:
    """The codes of some items, written with commas between them; each counts once.

    >>> parse("milk, bread", ["bread", "milk"]), parse("'a,b'", ["a,b"])
    ((0, 1), (0,))
    """
    words = _words(text) if isinstance(text, str) else [str(word) for word in text]
    known = {label: code for code, label in enumerate(universe)}
    for word in words:
        if word not in known:
            raise QueryError(
                f"'{word}' is not an item of this release{nearest(word, universe)}. Items are separated by "
                "commas."
            )
    if not words:
        raise QueryError("There are no items; write some, with commas between them.")
    return tuple(sorted({known[word] for word in words}))


def _words(text: str) -> list[str]:
    quote = "'" if text.lstrip().startswith("'") or ",'" in text.replace(" ", "") else '"'
    try:
        rows = list(csv.reader([text], skipinitialspace=True, quotechar=quote, strict=True))
    except csv.Error:
        raise QueryError("A quote is not closed in these items.") from None
    return [word.strip() for word in rows[0]] if rows and any(word.strip() for word in rows[0]) else []


def laid_out(schema: Schema, sizes: Numbers, items: Numbers, rng: np.random.Generator) -> pl.DataFrame:
    """Coded sets as rows, in the layout that the schema describes."""
    import polars as pl
    import pyarrow as pa

    layout = ItemSetLayout.of(schema)
    labels = schema.codec(layout.item).decode(items, rng)
    if layout.transaction is not None:
        number = pl.Series(layout.transaction, np.repeat(np.arange(1, len(sizes) + 1), sizes))
        return pl.DataFrame([number, labels])
    offsets = owned(np.r_[0, np.cumsum(sizes)].astype(np.int64))
    texts = labels.cast(pl.String).to_arrow()
    lists = pl.Series(layout.item, pa.LargeListArray.from_arrays(offsets, texts))
    return pl.DataFrame([lists.list.join(" " if layout.separator is None else layout.separator)])


def universe_of(schema: Schema) -> int:
    """The number of items of a saved release, whose schema must be one of item sets."""
    try:
        return len(schema.field(ItemSetLayout.of(schema).item).labels)
    except SchemaError as problem:
        raise ReleaseError(f"schema.yaml does not describe item sets: {problem}") from None


def refuse_unwritable(schema: Schema) -> None:
    """Refuse what no release of synthetic sets can be made of, from public facts alone."""
    if schema.relation is not Relation.ADD_REMOVE:
        raise SchemaError(
            "Parts of the records are private together when a set is added or removed; set relation to "
            "'add-remove' in the schema."
        )
    layout = ItemSetLayout.of(schema)
    if layout.transaction is not None:
        return
    for label in schema.field(layout.item).labels:
        apart = label.split(layout.separator)
        if apart != [label]:
            sign = "a blank" if layout.separator is None else f"'{layout.separator}'"
            raise SchemaError(
                f"items: the item '{label}' holds {sign}, which separates items, so that synthetic sets "
                "could not be read again. Set another 'separator' in the schema."
            )
