"""Sequences of symbols: reading them, coding them, one after the other in one long array.

Two layouts are understood. Either every row is one event, and the events of a user in the order of
time are a sequence; or every row is a whole sequence, a list or a text of symbols. Spark and PostgreSQL
count where the records are (`penstock.kinds.sequences.database`). Everything here is raw and lies below the
seal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.engine.bound import Users, fresh_key, numbered_users, sample_per_user
from penstock.engine.opening import AUTO, counts_lists, placed
from penstock.engine.records import Source
from penstock.engine.source import read
from penstock.engine.tokens import coded, cut
from penstock.errors import DataError
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.sequences.symbols import Recorded, Symbols
from penstock.schema import Codec, Field, Schema
from penstock.schema.reading import fraction_of_text
from penstock.schema.reading import read as reading
from penstock.schema.values import BLANKS, DATETIME, NUMBER

Numbers = NDArray[np.int64]


def open_sequences(
    source: Any,
    schema: Schema,
    *,
    table: str | None = None,
    engine: str = AUTO,
    order_key: bytes | None = None,
) -> Recorded:
    """Raw: the sequences of a source, coded by the schema; what it refuses stops here.

    With a user as the privacy unit, each user keeps a random sample of at most `unit.at_most` sequences;
    `order_key` makes that sample repeatable. Spark and PostgreSQL count their own.
    """
    records = placed(read(source, table=table), engine)
    if counts_lists(engine, records):
        from penstock.kinds.sequences.database import SequencesInDatabase

        needed = needed_columns(records, schema, SequenceLayout.of(schema))
        return SequencesInDatabase(records, schema, needed, order_key or fresh_key())
    return read_sequences(records, schema, order_key=order_key)


def read_sequences(
    source: Any, schema: Schema, *, table: str | None = None, order_key: bytes | None = None
) -> Symbols:
    """Raw: the same in memory, wherever they come from."""
    columns = SequenceLayout.of(schema)
    records = read(source, table=table)
    needed = needed_columns(records, schema, columns)
    codec = schema.codec(columns.symbol)
    if columns.user is None:
        symbols, owners = _whole(records, needed, schema, columns, codec)
    else:
        symbols, owners = _events(records, needed, schema, columns, codec)
    if owners is None:
        return symbols
    kept = sample_per_user(
        owners.numbers,
        schema.unit.records,
        order_key or fresh_key(),
        names=owners.names,
        order=symbols.order(columns.longest, Clock.of(schema), codec.size),
    )
    return symbols.chosen(kept)


def needed_columns(records: Source, schema: Schema, columns: SequenceLayout) -> list[str]:
    """The columns that sequences are made of; DataError names one that the data lack."""
    return records.required((columns.symbol, columns.user, columns.time, schema.unit.column))


def _whole(
    records: Source, needed: list[str], schema: Schema, columns: SequenceLayout, codec: Codec
) -> tuple[Symbols, Users | None]:
    """One row, one sequence."""
    frame = records.frame(needed)
    tokens, lengths = cut(frame[columns.symbol], columns.separator)
    rows = np.cumsum(lengths)

    def row(place: int) -> int:
        return int(np.searchsorted(rows, place, side="right"))

    symbols = Symbols(coded(tokens, codec, row), lengths)
    user = schema.unit.column
    return symbols, None if user is None else numbered_users(user, frame[user], schema.missing_values)


def _events(
    records: Source, needed: list[str], schema: Schema, columns: SequenceLayout, codec: Codec
) -> tuple[Symbols, Users | None]:
    """One row, one event: grouped by whose they are, ordered by time, then as they stand."""
    assert columns.user is not None
    frame = records.frame(needed)
    codes = coded(frame[columns.symbol], codec, lambda place: place)
    users = numbered_users(columns.user, frame[columns.user], schema.missing_values)
    keys: list[NDArray[Any]] = [users.numbers]
    owner, owners = schema.unit.column, None
    if owner is not None and owner != columns.user:
        owners = numbered_users(owner, frame[owner], schema.missing_values)
        keys.append(owners.numbers)
    times = [] if columns.time is None else [_instants(columns.time, frame[columns.time], schema)]
    clock = Clock.of(schema)
    moments = None if clock is None else _moments(clock, frame[clock.codec.field.name], times[0])
    if any(np.any(key[1:] < key[:-1]) for key in keys) or times or len(keys) > 1:
        order = np.lexsort([*times, *keys])
        codes, keys = codes[order], [key[order] for key in keys]
        moments = None if moments is None else moments[order]
    if not len(codes):
        return Symbols(codes, np.zeros(0, dtype=np.int64), moments), owners
    begins = np.flatnonzero(np.r_[True, np.logical_or.reduce([key[1:] != key[:-1] for key in keys])])
    lengths = np.diff(np.r_[begins, len(codes)])
    symbols = Symbols(codes, lengths, moments)
    return symbols, None if owners is None else replace(owners, numbers=keys[1][begins])


def _moments(clock: Clock, column: pl.Series, times: NDArray[Any]) -> Numbers:
    """When each event was, inside the declared domain; what the schema refuses stops here."""
    clock.codec.encode(column)
    inside: Numbers = np.clip(times, clock.starts.low, clock.starts.high).astype(np.int64)
    return inside


def _instants(name: str, column: pl.Series, schema: Schema) -> NDArray[Any]:
    """When each event happened, as numbers that sort in the right order."""
    if name in schema.names:
        found = reading(schema.field(name), column, schema.codec(name).markers)
        times = found.values.to_numpy() if found.values.dtype != pl.String else None
        wrong = found.missing | found.unreadable
    else:
        times, wrong = _undeclared(column)
    if times is None:
        raise DataError(
            f"{name}: the times are neither numbers nor dates (YYYY-MM-DD, YYYY-MM-DDTHH:MM:SS), so that the "
            "order of events is unknown. Convert the column, or remove 'time' to take the rows as they stand."
        )
    if wrong.any():
        raise DataError(
            f"{name}: the time in row {int(np.argmax(wrong)) + 1} is missing or unreadable. Fix the row."
        )
    return times


def _undeclared(column: pl.Series) -> tuple[NDArray[Any] | None, NDArray[np.bool_]]:
    missing = column.is_null().to_numpy()
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        physical = column.to_physical()
        if physical.dtype.is_float():
            missing = missing | physical.is_nan().fill_null(False).to_numpy()
        return physical.fill_null(0).to_numpy(), missing
    if column.dtype != pl.String:
        return None, missing
    text = column.str.strip_chars(BLANKS)
    missing = missing | (text == "").fill_null(False).to_numpy()
    known = text.filter(pl.Series(~missing))
    if known.str.contains(NUMBER).all():
        return text.cast(pl.Float64, strict=False).fill_null(0.0).to_numpy(), missing
    if known.str.contains(DATETIME).all():
        found = reading(Field.model_construct(name=column.name, type="datetime"), text, ())
        seconds = found.values.fill_null(0.0) + fraction_of_text(text.fill_null(""))
        return seconds.to_numpy(), missing | found.unreadable
    return None, missing
