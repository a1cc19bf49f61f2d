"""Records that are lists of codes, kept in a database as texts: each code in digits of one width.

A sequence of symbols or a set of items is one row. Whatever stands at a place of the list is a part of its
text, and so is any run of neighbours, which every database can cut out and compare with a short list of them.
Such texts sort as the lists do, code by code. Everything here is raw and lies below the seal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.stored import database_of
from penstock.errors import DataError
from penstock.schema.values import BLANKS

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from penstock.schema import Codec

ROW, PLACE, TOKEN = "row", "place", "token"
"""Of every value of a list: the number of its list, its place there from 0, and what stands there."""


@dataclass(frozen=True)
class Digits:
    """How the codes 0 ... size - 1 are written.

    >>> Digits(12).text([3, 11])
    '0311'
    """

    size: int

    @property
    def width(self) -> int:
        return len(str(self.size - 1))

    def text(self, codes: Iterable[int]) -> str:
        return "".join(f"{code:0{self.width}d}" for code in codes)

    def written(self, column: Any) -> Any:
        """A column of codes as texts."""
        text = column.cast("string")
        return text if self.width == 1 else text.lpad(self.width, "0")

    def cut(self, text: Any, place: Any, many: int = 1) -> Any:
        """So many codes of a text from a place on, which counts from 0, as a text."""
        return text.substr((place * self.width).cast("int32"), many * self.width)

    def at(self, text: Any, place: Any) -> Any:
        """The code at a place of a text, which counts from 0."""
        return self.cut(text, place).cast("int64")


def ranked(codes: NDArray[np.integer], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank of every list among all of them, as their texts are sorted; equal lists have the same.

    >>> ranked(np.array([2, 1, 1, 0, 2]), np.array([1, 1, 2, 0, 1])).tolist()
    [4, 2, 3, 1, 4]
    """
    import polars as pl
    import pyarrow as pa

    data = codes.astype(">u4").tobytes()  # which compare byte by byte as the numbers do
    ends = np.concatenate([[0], 4 * np.cumsum(lengths)]).astype(np.int64)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(data)]
    lists = pl.Series(pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers))
    return lists.rank("dense").cast(pl.Int64).to_numpy()


def cut_up(table: ir.Table, column: str, separator: str | None, keep: Mapping[str, str]) -> ir.Table:
    """The values of a column of lists, one a row: `penstock.engine.tokens.cut` in a query.

    A list without values is one row, in which PLACE is missing. `keep` names further columns.
    """
    import ibis

    # with our names for them first, since the columns of the data may be called like ours
    named = table.select(**{TOKEN: table[column]}, **{name: table[source] for name, source in keep.items()})
    numbered = database_of(table).numbered(named, ROW)
    given: Any = numbered[TOKEN]
    kept = {name: numbered[name] for name in (ROW, *keep)}
    kind = given.type()
    if kind.is_array():
        lists = given
    elif not kind.is_string():
        place = ibis.ifelse(given.isnull(), ibis.null("int64"), ibis.literal(0, type="int64"))
        return numbered.select(**kept, **{TOKEN: given, PLACE: place})
    else:
        text = given.fill_null("")
        if separator is None:
            text = text.re_replace(f"[{BLANKS}]+", " ")
        text = text.strip()
        parts = database_of(table).split(text, " " if separator is None else separator)
        lists = ibis.ifelse(text == "", ibis.null("array<string>"), parts)
    return numbered.select(**kept, **{TOKEN: lists}).unnest(TOKEN, offset=PLACE, keep_empty=True)


def places_of(table: ir.Table, last: Any) -> ir.Table:
    """Every record once for each whole number from 1 up to an expression of it, as the column PLACE."""
    columns = {name: table[name] for name in table.columns}
    return table.select(**columns, **{PLACE: database_of(table).counted_up(last).unnest()})


def refuse_values(wrong: int, codec: Codec, table: ir.Table) -> None:
    """DataError where so many values of the column TOKEN are refused by the schema; it names one of them."""
    from penstock.schema.database import coded

    if not wrong:
        return
    values = table.filter(table[PLACE].notnull()) if PLACE in table.columns else table
    both = coded(values, {TOKEN: codec}, {"raw": TOKEN})
    found = both.filter(both[TOKEN] < 0).limit(1).to_pyarrow()["raw"].to_pylist()
    more = f" ({wrong} values are like that.)" if wrong > 1 else ""
    raise DataError(f"{codec.complaint(found[0] if found else None)}{more}")


def listed_texts(texts: Sequence[str], like: ir.Table, name: str, number: str) -> ir.Table:
    """Public texts as a table of the database, each with its number."""
    import pyarrow as pa

    from penstock.engine.arrow_memory import owned

    return database_of(like).listed(
        {name: pa.array(texts, type=pa.string()), number: owned(np.arange(len(texts)))}
    )
