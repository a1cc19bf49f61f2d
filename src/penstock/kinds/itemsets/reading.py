"""Item sets: reading them and coding their items, in memory or through DuckDB.

Two layouts are understood, as `schema.items` says: every row is one item of a transaction, or every row is a
whole set, a list or a text of items. What counts is presence: an item that is twice in a set is in it.

Long files are read by DuckDB, which also brings the rows of a transaction and the sets of a user together;
the items are coded a piece at a time. In memory are then the codes, one or two bytes for an item, and the
sizes of the sets. Spark and PostgreSQL count where the records are (`penstock.kinds.itemsets.database`).
Everything here is raw and lies below the seal.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.engine.bound import fresh_key, identified, numbered_users
from penstock.engine.lines import LineSource
from penstock.engine.opening import AUTO, counts_lists, in_memory, placed
from penstock.engine.part import part_of
from penstock.engine.records import Source
from penstock.engine.source import read
from penstock.engine.streaming import streamed
from penstock.engine.strings import Digits
from penstock.engine.tokens import coded, cut
from penstock.errors import DataError
from penstock.kinds.itemsets.incidence import Incidence, Names, Numbers
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.recorded import Recorded
from penstock.progress import progress
from penstock.schema import Schema


def open_itemsets(
    source: Any,
    schema: Schema,
    *,
    table: str | None = None,
    engine: str = AUTO,
    order_key: bytes | None = None,
) -> Recorded:
    """Raw: the item sets of a source, coded by the schema; what it refuses stops here.

    With a user as the privacy unit, each user keeps a random sample of at most `unit.at_most` sets, and each
    set a random sample of at most `items.largest` items; `order_key` makes both repeatable. Spark and
    PostgreSQL count their own.
    """
    columns = ItemSetLayout.of(schema)
    records = _records(source, columns, table)
    placed_there = placed(records, engine)
    if counts_lists(engine, placed_there):
        from penstock.kinds.itemsets.database import SetsInDatabase

        needed = _needed(placed_there, schema, columns)
        return SetsInDatabase(placed_there, schema, needed, order_key or fresh_key())
    return read_itemsets(records, schema, engine=engine, order_key=order_key)


def read_itemsets(
    source: Any,
    schema: Schema,
    *,
    table: str | None = None,
    engine: str = AUTO,
    order_key: bytes | None = None,
) -> Incidence:
    """Raw: the same in memory, wherever they come from."""
    columns = ItemSetLayout.of(schema)
    records = _records(source, columns, table)
    opened = _in_memory if in_memory(engine, records) else _in_pieces
    found, names = opened(records, schema, columns)
    users = None if schema.unit.column is None else schema.unit.records
    digits = Digits(len(schema.field(columns.item).labels))
    return found.at_most(users, columns.largest, order_key or fresh_key(), names, digits)


def some_records(
    source: Any, schema: Schema, *, table: str | None = None, seed: int = 0
) -> tuple[Source, tuple[int, int] | None]:
    """Raw: the records, or a part of those that are too many for memory, and how many of how many it is.

    A set is in the part with all of its rows, or with none: its counts are then a share of all.
    """
    columns = ItemSetLayout.of(schema)
    records = _records(source, columns, table)
    rows_of_sets = () if columns.transaction is None else (columns.transaction, schema.unit.column)
    together = [name for name in rows_of_sets if name is not None]
    return part_of(records, _needed(records, schema, columns), together, seed)


def _records(source: Any, columns: ItemSetLayout, table: str | None) -> Source:
    """The records of a source, whose lines may be sets."""
    lines = not columns.header and isinstance(source, str | PathLike) and not _has_columns(Path(source))
    return LineSource(Path(source), columns.item) if lines else read(source, table=table)


def _has_columns(path: Path) -> bool:
    """Whether it is no text, so that its columns have names whatever the schema says of lines."""
    return path.suffix.lower() in (".parquet", ".pq")


def _needed(records: Source, schema: Schema, columns: ItemSetLayout) -> list[str]:
    """The columns that item sets are made of; DataError names one that the data lack."""
    return records.required((columns.item, columns.transaction, schema.unit.column))


def _in_memory(records: Source, schema: Schema, columns: ItemSetLayout) -> tuple[Incidence, Names | None]:
    """All sets at once, and what their owners are called."""
    frame = records.frame(_needed(records, schema, columns))
    user, gone = schema.unit.column, schema.missing_values
    people = None if user is None else numbered_users(user, frame[user], gone)
    users = None if people is None else people.numbers.astype(np.int64)
    codec = schema.codec(columns.item)
    if columns.transaction is None:
        tokens, lengths = cut(frame[columns.item], columns.separator)
        sets = np.repeat(np.arange(lengths.size), lengths)
        items = coded(tokens, codec, lambda place: int(sets[place]))
        size, owners = lengths.size, users
    else:
        items = coded(frame[columns.item], codec, lambda place: place)
        named = numbered_users(columns.transaction, frame[columns.transaction], gone)
        sets, size, owners = _numbered(named.numbers.astype(np.int64), users)
    found = Incidence.of(sets, items, size, len(codec.field.labels), owners)
    return found, None if people is None else people.names


def _numbered(transactions: Numbers, users: Numbers | None) -> tuple[Numbers, int, Numbers | None]:
    """The set of every row, counted from 0, how many there are, and the owner of every set.

    Rows of different users never make one set: two people's baskets of the same number are two baskets.
    """
    if users is None:
        return transactions, int(transactions.max(initial=-1)) + 1, None
    span = int(transactions.max(initial=0)) + 1
    found, sets = np.unique(users * span + transactions, return_inverse=True)
    return sets.astype(np.int64), len(found), found // span


def _in_pieces(records: Source, schema: Schema, columns: ItemSetLayout) -> tuple[Incidence, Names | None]:
    """The same from pieces of the records, in which what belongs together comes one after the other."""
    together = [name for name in dict.fromkeys((schema.unit.column, columns.transaction)) if name]
    pieces = _Pieces(schema, columns, together, sorted_elsewhere=records.remote)
    with progress("reading item sets"):
        for piece in streamed(records, _needed(records, schema, columns), together=together):
            pieces.add(piece)
    return pieces.gathered()


class _Pieces:
    """Sets as they come: the sizes and codes of those that are complete, and rows of one that may not be."""

    def __init__(
        self, schema: Schema, columns: ItemSetLayout, together: list[str], *, sorted_elsewhere: bool
    ) -> None:
        self._columns, self._together, self._gone = columns, together, schema.missing_values
        self._sorted_elsewhere = sorted_elsewhere
        self._user, self._codec = schema.unit.column, schema.codec(columns.item)
        self._rest: pl.DataFrame | None = None
        none = np.zeros(0, dtype=np.int64)
        nothing = Incidence.of(none, none, 0, len(self._codec.field.labels))
        self._sizes, self._items = [nothing.sizes], [nothing.items]
        self._owners: list[Numbers] = [nothing.sizes]
        self._names: list[pl.Series] = []
        self._keys: list[pl.Series] = []
        self._last: object = None
        self._people = 0

    def add(self, piece: pl.DataFrame) -> None:
        """Some more records; the last transaction among them may go on in the next piece."""
        keys = [identified(name, piece[name], self._gone, counted=False) for name in self._together]
        piece = piece.with_columns(keys)
        if self._columns.transaction is None:
            self._code(piece)
            return
        if self._rest is not None:
            piece = pl.concat([self._rest, piece])
        begun = int(np.flatnonzero(_begins(piece, self._together))[-1]) if piece.height else 0
        self._rest = piece[begun:]
        self._code(piece[:begun])

    def gathered(self) -> tuple[Incidence, Names | None]:
        """All sets, and what their owners are called."""
        if self._rest is not None:
            self._code(self._rest)
        self._refuse_if_torn()
        sizes, items = np.concatenate(self._sizes), np.concatenate(self._items)
        if self._user is None:
            return Incidence(sizes, items), None
        owners = np.concatenate(self._owners)
        names = pl.concat(self._names).cast(pl.String) if self._names else pl.Series(dtype=pl.String)
        return Incidence(sizes, items, owners), names

    def _code(self, piece: pl.DataFrame) -> None:
        """Sets that are complete."""
        if not piece.height:
            return
        if self._columns.transaction is None:
            tokens, lengths = cut(piece[self._columns.item], self._columns.separator)
            size, first = lengths.size, piece
            sets = np.repeat(np.arange(size), lengths)
        else:
            tokens = piece[self._columns.item]
            begins = _begins(piece, self._together)
            first = piece.filter(pl.Series(begins))
            sets, size = np.cumsum(begins) - 1, first.height
            if self._sorted_elsewhere:
                self._keys.append(first.select(self._together).hash_rows())
        found = Incidence.of(sets, coded(tokens, self._codec), size, len(self._codec.field.labels))
        self._sizes.append(found.sizes)
        self._items.append(found.items)
        if self._user is not None:
            self._own(first[self._user])

    def _refuse_if_torn(self) -> None:
        """DataError where a name came back after another: one set would be several, or one user would.

        That happens where a database sorts by a collation that takes other texts for equal ones. DuckDB is
        asked to sort by bytes.
        """
        for came in (self._keys, self._names):
            every = pl.concat(came) if came and self._sorted_elsewhere else pl.Series()
            if every.n_unique() < len(every):
                raise DataError(
                    f"{', '.join(self._together)}: the database does not keep the records of one name "
                    "together, because it takes names for equal that differ, as 'A' and 'a'. Use the memory "
                    "engine, or a collation of bytes. Nothing was spent."
                )

    def _own(self, users: pl.Series) -> None:
        """Whose these sets are: another's where another name stands."""
        new = _begins(users.to_frame(), [users.name])
        new[0] = self._last is None or users[0] != self._last
        self._owners.append(self._people + np.cumsum(new) - 1)
        self._names.append(users.filter(pl.Series(new)))
        self._people += int(new.sum())
        self._last = users[-1]


def _begins(frame: pl.DataFrame, names: list[str]) -> NDArray[np.bool_]:
    """Where a row differs from the one before in one of these columns; the first one does."""
    differs = np.zeros(frame.height, dtype=np.bool_)
    differs[:1] = True
    for name in names:
        column = frame[name]
        differs[1:] |= (column[1:] != column[:-1]).to_numpy()
    return differs
