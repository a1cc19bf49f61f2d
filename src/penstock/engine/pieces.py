"""Coding records by the codecs of the schema, all at once or piece by piece on their way into DuckDB.

Text is coded here, some megabytes at a time, and only codes are stored: a database would read every text
again for every field, at several times the cost. The table has the columns that `penstock.engine.ibis`
counts over: codes c0, c1, …, coordinates x0, …, and whose record it is, u.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.bound import identified
from penstock.engine.connection import Duck, explained
from penstock.engine.coordinates import values_in_memory
from penstock.engine.database import fresh_name
from penstock.engine.records import Source
from penstock.engine.stored import Stored
from penstock.progress import progress
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

USER = "u"
"""The column that says whose a record is, while users are not bounded yet."""


def code_column(number: int) -> str:
    """The column with the codes of a field."""
    return f"c{number}"


def value_column(number: int) -> str:
    """The column with the coordinates of a field; a record without one has none."""
    return f"x{number}"


def encoded(
    frame: pl.DataFrame, schema: Schema, *, coordinates: bool, before: int = 0
) -> tuple[pl.DataFrame, dict[str, NDArray[Any]], dict[str, NDArray[np.float64]]]:
    """The records that the schema does not drop, and of these the codes of every field and, where coordinates
    are asked for, the values of those with bounds.

    `before` is how many records came before these: messages have the row of a refused value.
    """
    dropped = schema.dropped(frame) if schema.drops else None
    codes: dict[str, NDArray[Any]] = dict(schema.encode(frame, dropped, before=before))
    if dropped is not None:
        (stays,) = np.nonzero(~dropped)
        frame, codes = frame[stays], {name: column[stays] for name, column in codes.items()}
    ranged = [name for name in schema.names if coordinates and schema.field(name).ranged]
    values = {name: values_in_memory(schema.codec(name), frame[name], codes[name]) for name in ranged}
    return frame, codes, values


def stored_in_pieces(
    records: Source, schema: Schema, names: Sequence[str], duck: Duck, *, coordinates: bool
) -> Stored:
    """The codes of all records as a table in DuckDB, checked against the schema and not yet bounded."""
    import polars as pl

    nothing = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    name, done = fresh_name(), 0
    stored = Stored(duck.copied(_columns(nothing, schema, coordinates, 0), name), there=True)
    with progress("encoding records"), explained(records.failure):
        for piece in records.pieces(names):
            duck.copied(_columns(piece, schema, coordinates, done), name)
            done += piece.height
    return stored


def _columns(piece: pl.DataFrame, schema: Schema, coordinates: bool, before: int) -> pa.Table:
    import pyarrow as pa

    piece, codes, values = encoded(piece, schema, coordinates=coordinates, before=before)
    columns: dict[str, Any] = {}
    user = schema.unit.column
    if user is not None:
        columns[USER] = identified(user, piece[user], schema.missing_values, before=before).to_arrow()
    for number, attribute in enumerate(schema.attributes):
        columns[code_column(number)] = pa.array(codes[attribute.name])
        if attribute.name in values:
            columns[value_column(number)] = pa.array(values[attribute.name], from_pandas=True)
    return pa.table(columns)
