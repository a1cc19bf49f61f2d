"""Reading raw columns in memory: from what a file holds to typed values, without losing track.

A column may be text (a CSV) or typed (Parquet, a DataFrame). Either way a value ends up in one of
three states: readable, missing, or unreadable. The database twin of this module is
``database``; both follow the rule in ``values`` and must give the same codes.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.schema.field import Field
from penstock.schema.values import BASIC, BLANKS, DATE, DATETIME, NUMBER, OFFSET, NotAValueError, number

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Reading:
    """Typed values beside two masks: where they are missing, where they are unreadable.

    Values are text for strings, positions (see ``values``) for everything else; what stands at a
    missing or unreadable place is arbitrary.
    """

    values: pl.Series
    missing: Mask
    unreadable: Mask


def read(field: Field, column: pl.Series, markers: tuple[str, ...]) -> Reading:
    """The readable values of a column for this field."""
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Null:
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return _from_text(field, column, markers)
    return _from_typed(field, column, markers)


def _from_text(field: Field, column: pl.Series, markers: tuple[str, ...]) -> Reading:
    text = column.str.strip_chars(BLANKS)
    missing = column.is_null()
    stripped = [marker.strip(BLANKS) for marker in markers]
    for marker in stripped:
        missing = missing | (text == marker).fill_null(False)
    match field.type:
        case "string":
            values = text
        case "integer" | "number":
            values = text.set(~text.str.contains(NUMBER).fill_null(False), None).cast(
                pl.Float64, strict=False
            )
        case "boolean":
            words = {word.strip(BLANKS): 1.0 for word in field.true_values}
            words |= {word.strip(BLANKS): 0.0 for word in field.false_values}
            values = text.replace_strict(
                list(words), list(words.values()), default=None, return_dtype=pl.Float64
            )
        case "date":
            shaped = text.set(~text.str.contains(DATE).fill_null(False), None)
            values = _days(shaped.str.to_date("%Y-%m-%d", strict=False))
        case "datetime":
            values = _seconds_of_text(text)
    return _settle(field, values, missing)


def _extended(text: pl.Series) -> pl.Series:
    """Times that are written without signs between their numbers, with them."""
    day_and_minute = "^([0-9]{4})([0-9]{2})([0-9]{2}T[0-9]{2})([0-9]{2})"
    written = text.str.replace(day_and_minute, "${1}-${2}-${3}:${4}")
    written = written.str.replace("^(.{16})([0-9]{2})", "${1}:${2}")
    return written.zip_with(text.str.contains(BASIC).fill_null(False), text)


def _seconds_of_text(text: pl.Series) -> pl.Series:
    shaped = _extended(text.set(~text.str.contains(DATETIME).fill_null(False), None))
    days = _days(shaped.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False))
    clock = shaped.str.slice(11)
    offset = clock.str.extract(OFFSET, 1)
    hour, minute = (
        clock.str.slice(start, 2).cast(pl.Float64, strict=False).fill_null(0.0) for start in (0, 3)
    )
    second = (
        clock.str.extract("^[0-9]{2}:[0-9]{2}:([0-9]{2})", 1).cast(pl.Float64, strict=False).fill_null(0.0)
    )
    right = (hour < 24) & (minute < 60) & (second < 60)
    ahead = (
        offset.str.slice(1, 2).cast(pl.Float64, strict=False).fill_null(0.0) * 3600
        + offset.str.extract("^...:?([0-9]{2})$", 1).cast(pl.Float64, strict=False).fill_null(0.0) * 60
    )
    ahead = ahead * (1 - 2 * offset.str.starts_with("-").fill_null(False).cast(pl.Float64))
    seconds = days * 86400 + hour * 3600 + minute * 60 + second - ahead
    return seconds.set(~right.fill_null(False), None)


def fraction_of_text(text: pl.Series) -> pl.Series:
    """What a time adds to its whole second, for ordering events that share it."""
    digits = text.str.extract(r"[.,]([0-9]{1,9})", 1)
    return ("0." + digits).cast(pl.Float64, strict=False).fill_null(0.0)


def _from_typed(field: Field, column: pl.Series, markers: tuple[str, ...]) -> Reading:
    missing, dtype = column.is_null(), column.dtype
    if dtype.is_numeric():
        numbers = column.cast(pl.Float64)
        for marker in markers:
            missing = missing | _marked(numbers, marker)
        if field.type in ("integer", "number"):
            return _settle(field, numbers, missing)
        if field.type == "string":
            return _settle(field, _text_of_numbers(field, numbers), missing)
        if field.type == "boolean":
            return _settle(field, numbers.set(~numbers.is_in([0.0, 1.0]), None), missing)
    elif dtype == pl.Boolean:
        if field.type == "boolean":
            return _settle(field, column.cast(pl.Float64), missing)
        if field.type == "string":
            return _settle(field, _text_of_booleans(field, column), missing)
    elif dtype == pl.Date or isinstance(dtype, pl.Datetime):
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        if field.type == "date":
            return _settle(field, _days(column.cast(pl.Date)), missing)
        if field.type == "datetime":
            return _settle(field, column.cast(pl.Datetime("us")).dt.epoch("s").cast(pl.Float64), missing)
        if field.type == "string":
            pattern = "%Y-%m-%d" if dtype == pl.Date else "%Y-%m-%dT%H:%M:%S"
            return _settle(field, column.dt.strftime(pattern), missing)
    raise DataError(
        f"{field.name}: the column holds {str(dtype).lower()} values, the schema declares {field.type}. "
        "Correct the type in the schema, or convert the column."
    )


def _marked(numbers: pl.Series, marker: str) -> pl.Series:
    """Where a typed number equals a missing marker; the marker 'NaN' means what it says."""
    if marker.strip(BLANKS).lower() == "nan":
        return numbers.is_nan().fill_null(False)
    try:
        return (numbers == number(marker)).fill_null(False)
    except NotAValueError:
        return pl.repeat(False, len(numbers), eager=True)


def numeric_labels(field: Field) -> dict[float, str]:
    """Categories written as numbers, by their value: what a typed numeric column is matched against."""
    found: dict[float, str] = {}
    for label, code in field.spellings.items():
        try:
            value = number(label)
        except NotAValueError:
            continue
        if value in found and field.spellings[found[value]] != code:
            raise DataError(
                f"{field.name}: the column holds numbers, but the categories '{found[value]}' and '{label}' "
                "are the same number. Store the column as text."
            )
        found[value] = label
    return found


def boolean_labels(field: Field) -> dict[bool, str]:
    """Categories that spell true or false: what a typed boolean column is matched against."""
    spelt = ((True, field.true_values), (False, field.false_values))
    return {value: label for value, words in spelt if (label := _first(words, field.spellings)) is not None}


def _first(words: tuple[str, ...], labels: Collection[str]) -> str | None:
    return next((word for word in words if word in labels), None)


def _text_of_numbers(field: Field, numbers: pl.Series) -> pl.Series:
    known = numeric_labels(field)
    if not known:
        return numbers.cast(pl.String)
    return numbers.replace_strict(
        list(known), list(known.values()), default=numbers.cast(pl.String), return_dtype=pl.String
    )


def _text_of_booleans(field: Field, column: pl.Series) -> pl.Series:
    known = boolean_labels(field)
    words = [known.get(False, "false"), known.get(True, "true")]
    return column.cast(pl.Int8).replace_strict([0, 1], words, default=None, return_dtype=pl.String)


def _days(dates: pl.Series) -> pl.Series:
    return dates.cast(pl.Int32).cast(pl.Float64)


def _settle(field: Field, values: pl.Series, missing: pl.Series) -> Reading:
    unreadable = values.is_null()
    if field.type != "string":
        unreadable = unreadable | ~values.is_finite().fill_null(False)
        if field.whole:
            unreadable = unreadable | (values != values.floor()).fill_null(True)
    gone = missing.to_numpy()
    return Reading(values, gone, unreadable.to_numpy() & ~gone)
