"""The moment of a call, where its date and its time of day stand in two columns.

The two are put together as one text, as ISO 8601 writes it (2011-04-01T09:30), in place of the time; from
there on it is read as every moment is, in memory and in a database. What is missing in either is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from penstock.errors import DataError
from penstock.kinds.calls.layout import CallsLayout
from penstock.schema.values import BLANKS

if TYPE_CHECKING:
    import ibis.expr.types as ir


def in_memory(frame: pl.DataFrame, layout: CallsLayout) -> pl.DataFrame:
    """The rows with the moments of calls in the column of the time."""
    if layout.date is None:
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
    if layout.date is None:
        return table
    day: Any = table[layout.date]
    clock: Any = table[layout.time]
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


def _strange(name: str, dtype: object) -> DataError:
    return DataError(
        f"{name}: the column holds {str(dtype).lower()} values; a date and a time of day are texts such as "
        "2011-04-01 and 09:30, or of these types. Convert the column."
    )
