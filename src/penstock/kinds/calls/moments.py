"""The moment of a call: one column, or its date and its time of day in two.

A date alone is no moment: all calls would be made at midnight. Where there are two columns, they are put
together as one text, as ISO 8601 writes it (2011-04-01T09:30), in place of the time; from there on it is read
as every moment is, in memory and in a database. What is missing in either is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.kinds.calls.layout import SETTINGS, CallsLayout
from penstock.schema import Codec
from penstock.schema.values import BLANKS, DATE

if TYPE_CHECKING:
    import ibis.expr.types as ir


def in_memory(frame: pl.DataFrame, layout: CallsLayout) -> pl.DataFrame:
    """The rows with the moments of calls in the column of the time."""
    if layout.date is None:
        if frame[layout.time].dtype == pl.Date:
            raise _no_hour(layout.time, "the column holds dates")
        return frame
    day, clock = frame[layout.date], frame[layout.time]
    if day.dtype == pl.Date or day.dtype == pl.Datetime:
        day = day.dt.strftime("%Y-%m-%d")
    if clock.dtype == pl.Time:
        clock = clock.dt.strftime("%H:%M:%S")
    texts = [_text(column) for column in (day, clock)]
    return frame.with_columns((texts[0] + "T" + texts[1]).alias(layout.time))


def _text(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Null or isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        raise _strange(column.name, column.dtype)
    return column.str.strip_chars(BLANKS)


def in_database(table: ir.Table, layout: CallsLayout) -> ir.Table:
    """The same in a query."""
    clock: Any = table[layout.time]
    if layout.date is None:
        if clock.type().is_date():
            raise _no_hour(layout.time, "the column holds dates")
        return table
    day: Any = table[layout.date]
    if day.type().is_timestamp():
        day = day.date()
    texts = []
    # times that count nanoseconds, as Polars writes them, have no name among the types of Ibis
    timed = clock.type().is_time() or "time_ns" in str(clock.type()).lower()
    for column, typed in ((day, day.type().is_date()), (clock, timed)):
        if not (typed or column.type().is_string() or column.type().is_null()):
            raise _strange(column.get_name(), column.type())
        texts.append(column.cast("string").strip())
    return table.mutate(**{layout.time: texts[0] + "T" + texts[1]})


def without_hour(column: pl.Series) -> NDArray[np.bool_]:
    """Where a text is a date and nothing else."""
    if column.dtype != pl.String:
        return np.zeros(len(column), dtype=np.bool_)
    return column.str.strip_chars(BLANKS).str.contains(DATE).fill_null(False).to_numpy()


def without_hour_in_database(column: Any) -> Any:
    """The same in a query; None where no value can be one."""
    return column.strip().re_search(DATE).fill_null(False) if column.type().is_string() else None


def complaint(codec: Codec, value: object, row: int | None = None) -> DataError:
    """Why a value makes no call, and what to do about it."""
    if codec.field.type == "datetime" and without_hour(pl.Series([value])).any():
        return _no_hour(
            codec.field.name, f"value '{value}'{'' if row is None else f' in row {row}'} is a date"
        )
    return codec.complaint(value, row, SETTINGS)


def _no_hour(name: str, what: str) -> DataError:
    return DataError(
        f"{name}: {what} without a time of day, and calls need one. Give both in this column, or name a "
        "column for each in the schema: 'calls: {date: …, time: …}'."
    )


def _strange(name: str, dtype: object) -> DataError:
    return DataError(
        f"{name}: the column holds {str(dtype).lower()} values; a date and a time of day are texts such as "
        "2011-04-01 and 09:30, or of these types. Convert the column."
    )
