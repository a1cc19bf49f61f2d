"""pandas frames, read so that one value never decides how another one is read.

A pandas column of Python objects has no type of its own: whoever infers one looks at all of its values, and
a single record would change what is public of everybody's. So each object becomes text by itself, as a CSV
file would hold it, and the schema decides what the text means. Only for sequences and item sets a column of
nothing but lists stays one of lists.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import DataError
from penstock.schema.values import written

if TYPE_CHECKING:
    import polars as pl

NOT_PLAIN = "(not a plain value)"
"""What stands for a dictionary, a list or any other object among plain values: the same for all of them."""

_LISTS = (list, tuple, np.ndarray)


def single(column: Any, name: str) -> pl.Series:
    """A column of one value a cell: with its own type, or as text where it has none."""
    from pandas.api import types

    if types.is_object_dtype(column.dtype) or types.is_complex_dtype(column.dtype):
        return _texts(column.astype(object), name)
    return _converted(column, name)


def typed(column: Any, name: str) -> pl.Series:
    """The same, except that a column of lists stays one."""
    if column.dtype != object:
        return single(column, name)
    known = column[~column.isna()]
    lists = sum(isinstance(value, _LISTS) for value in known)
    if lists == 0:
        return _texts(column, name)
    if lists < len(known):
        raise _mixed(name)
    return _converted(column, name)


def plain(column: Any, name: str) -> pl.Series:
    """A column whose type says nothing of its values: numbers, truth values, instants, and text for the rest.

    How a value reads depends on that value alone, whichever of these types pandas has given the column.
    """
    from pandas.api import types

    by_type = (types.is_numeric_dtype, types.is_bool_dtype, types.is_datetime64_any_dtype)
    if any(test(column.dtype) for test in by_type) and not types.is_complex_dtype(column.dtype):
        return _converted(column, name)
    return _texts(column.astype(object), name)


def as_text(value: object) -> str:
    """One object as the text that stands for it.

    >>> as_text(31), as_text(2.0), as_text(True), as_text(date(2020, 1, 2)), as_text({"key": 1})
    ('31', '2', 'True', '2020-01-02', '(not a plain value)')
    """
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case complex() if value.imag == 0:  # one complex number makes a column of them
            return as_text(value.real)
        case float():
            return written(value) if math.isfinite(value) else str(value)
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)).isoformat()
        case date():
            return value.isoformat()
        case int() if abs(value) < 10**400:  # no double is larger, and Python writes no endless numbers
            return str(value)
        case Decimal() | time() | timedelta():
            return str(value)
    return NOT_PLAIN


def _texts(column: Any, name: str) -> pl.Series:
    import polars as pl

    gone: Sequence[bool] = column.isna().tolist()
    return pl.Series(
        name,
        [None if missing else as_text(value) for missing, value in zip(gone, column.tolist(), strict=True)],
        dtype=pl.String,
    )


def _converted(column: Any, name: str) -> pl.Series:
    import polars as pl
    import pyarrow as pa

    try:
        found: pl.Series = pl.from_pandas(column)
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        raise _mixed(name) from None
    return found.rename(name)


def _mixed(name: str) -> DataError:
    return DataError(
        f"The pandas frame's column '{name}' mixes kinds of values. Convert it to one kind, for example with "
        ".astype('string')."
    )
