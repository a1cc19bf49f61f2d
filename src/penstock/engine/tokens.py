"""Cells that hold several values: lists, or text cut at a separator. Raw, and below the seal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.schema import Codec
from penstock.schema.codec import REFUSED
from penstock.schema.values import BLANKS

Numbers = NDArray[np.int64]


def cut(column: pl.Series, separator: str | None) -> tuple[pl.Series, Numbers]:
    """All symbols of a column of sequences, and the number of symbols of each row."""
    if isinstance(column.dtype, pl.Categorical | pl.Enum) or column.dtype == pl.Null:
        column = column.cast(pl.String)
    if isinstance(column.dtype, pl.Array):
        column = column.arr.to_list()
    if isinstance(column.dtype, pl.List):
        return _flat(column)
    if column.dtype != pl.String:
        # a column of plain values: every row is a sequence of one symbol, or of none
        return column.drop_nulls(), column.is_not_null().cast(pl.Int64).to_numpy()
    text = column.fill_null("").str.strip_chars(BLANKS)
    if separator is not None:
        tokens, lengths = _split(text, separator)
        empty = (text == "").to_numpy()
        return tokens.filter(pl.Series(~np.repeat(empty, lengths))), np.where(empty, 0, lengths)
    tokens, lengths = _split(text, " ")
    if tokens.unique().str.contains(f"[{BLANKS}]").any():
        tokens, lengths = _split(text.str.replace_all(f"[{BLANKS}]", " "), " ")
    empty = (tokens == "").to_numpy()
    if not empty.any():
        return tokens, lengths
    owner = np.repeat(np.arange(len(lengths)), lengths)[~empty]
    return tokens.filter(pl.Series(~empty)), np.bincount(owner, minlength=len(lengths))


def _split(text: pl.Series, separator: str) -> tuple[pl.Series, Numbers]:
    """The parts of all texts, and the number of parts of each, at least one."""
    lists = text.str.split(separator)
    return lists.explode(), lists.list.len().cast(pl.Int64).to_numpy()


def _flat(lists: pl.Series) -> tuple[pl.Series, Numbers]:
    """The elements of all lists, and the length of each; some may be empty."""
    lengths = lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    return pl.Series(lists.name, lists.rechunk().to_arrow().flatten()), lengths


def coded(
    tokens: pl.Series, codec: Codec, row: Callable[[int], int] | None = None
) -> NDArray[np.unsignedinteger]:
    """The codes of many symbols of few kinds: each kind is looked up once.

    `row` says in which row a symbol stands, for the message about one that the schema refuses.
    """
    kinds = tokens.unique()
    codes = codec.locate(kinds)
    if (codes == REFUSED).any():
        refused = kinds.filter(pl.Series(codes == REFUSED))
        missing = tokens.is_in(refused.drop_nulls().implode()).fill_null(False)
        if refused.null_count():
            missing = missing | tokens.is_null()
        place = int(missing.arg_max() or 0)
        raise codec.complaint(tokens[place], None if row is None else row(place) + 1)
    found = tokens.replace_strict(kinds, pl.Series(codes, dtype=pl.UInt32), return_dtype=pl.UInt32)
    return found.to_numpy().astype(codec.attribute.dtype)
