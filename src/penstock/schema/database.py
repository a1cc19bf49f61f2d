"""The codec inside a database: the same codes, as one Ibis expression per column.

This is the twin of ``reading`` and ``Codec.locate``. Numbers are compared as doubles with the very
same edges; the edges travel as text and are cast by the database, because a decimal literal may be
rounded twice. Calendar values are compared as days or seconds since 1970, computed with whole numbers
alone, which every database can do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.operations as ops
import pyarrow as pa

from penstock.errors import DataError
from penstock.schema.field import Field
from penstock.schema.reading import boolean_labels, numeric_labels
from penstock.schema.values import (
    BLANKS,
    DATE,
    DATETIME,
    LARGEST_WHOLE,
    NUMBER,
    NotAValueError,
    number,
    parse,
    position,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from penstock.schema.codec import Codec

REFUSED = -1
_SHIFT = 719468 + 146097  # days from the first of March in the year 0 to 1970, and of 400 years
_LINEAR = 32  # a longer list of categories is joined instead of compared one by one


@dataclass(frozen=True)
class _Read:
    """A column on its way: its comparable value, where it is missing, where it is readable."""

    value: Any
    missing: Any
    readable: Any


def readings(codec: Codec, column: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The position of every value, where it is missing, and where it can be read: `reading.read` in a query.

    What stands at a place that is missing or unreadable is arbitrary, or null.
    """
    found = _read(codec.field, column, codec.markers)
    readable = found.readable.fill_null(False) & ~found.missing
    return found.value, found.missing, readable


def codes(codec: Codec, column: ir.Value) -> ir.IntegerValue:
    """The code of every value of a column, or REFUSED (-1)."""
    return _coded(codec, column.type(), _read(codec.field, column, codec.markers))


def coded(table: ir.Table, codecs: Mapping[str, Codec], keep: Mapping[str, str]) -> ir.Table:
    """The codes of many columns: values are read in an inner query, so that no search repeats the reading."""
    first: dict[str, Any] = {f"kept {name}": table[source] for name, source in keep.items()}
    for name, codec in codecs.items():
        read = _read(codec.field, table[name], codec.markers)
        first |= {
            f"value {name}": read.value,
            f"missing {name}": read.missing,
            f"readable {name}": read.readable,
        }
    inner = table.select(**first)
    listed = [name for name, codec in codecs.items() if _long(codec, table[name].type())]
    for name in listed:
        inner = _joined(inner, f"value {name}", f"code {name}", codecs[name])
    second = {name: inner[f"kept {name}"] for name in keep}
    for name, codec in codecs.items():
        read = _Read(inner[f"value {name}"], inner[f"missing {name}"], inner[f"readable {name}"])
        place = inner[f"code {name}"] if name in listed else None
        second[name] = _coded(codec, table[name].type(), read, place)
    return inner.select(**second)


def within(table: ir.Table, codecs: Mapping[str, Codec]) -> ir.Table:
    """The rows none of whose values lies outside of bounds that drop them; see `Schema.dropped`."""
    for name, codec in codecs.items():
        if codec.field.outside == "drop":
            value, _, readable = readings(codec, table[name])
            edges = codec.field.edges
            low, high = _literal(codec.field, edges.low), _literal(codec.field, edges.high)
            table = table.filter(~readable | ((value >= low) & (value <= high)))
    return table


def _long(codec: Codec, dtype: Any) -> bool:
    return codec.field.type == "string" and dtype.is_string() and len(codec.keys) > _LINEAR


def _joined(table: ir.Table, value: str, code: str, codec: Codec) -> ir.Table:
    """The table with the code of each known category beside it; an expression with thousands of
    comparisons would take longer to be written down than to be answered."""
    text = f"text of {value}"
    known = ibis.memtable(
        pa.table({text: pa.array([str(key) for key in codec.keys]), code: pa.array(codec.keys.values())})
    )
    return table.left_join(known, table[value] == known[text]).drop(text)


def _coded(codec: Codec, dtype: Any, read: _Read, place: Any = None) -> Any:
    """The code of a value that was read; `place` is the code of its category where that was looked up."""
    field, attribute = codec.field, codec.attribute
    gone = REFUSED if attribute.missing is None else attribute.missing
    if place is not None:
        found = [(place.notnull(), place)]
    else:
        found = _bins(field, read) if field.ranged else _categories(codec, dtype, read)
    return ibis.cases((read.missing, _code(gone)), *found, else_=_code(_stray(codec)))


def _stray(codec: Codec) -> int:
    """The code of a value outside the domain."""
    return REFUSED if codec.attribute.other is None else codec.attribute.other


def _code(number: int) -> Any:
    return ibis.literal(number, type="int64")


def _double(number: float) -> Any:
    return ibis.literal(repr(float(number))).cast("float64")


def _literal(field: Field, where: float) -> Any:
    """A position of the field's type as the database compares it."""
    if field.type in ("date", "datetime"):
        return ibis.literal(int(where), type="int64")
    return _double(where)


def _days(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970-01-01: years begin in March, so that the leap day is the last of a year.

    Years are shifted by 400, a whole number of calendar cycles, so that nothing divided is negative.
    """
    early = ibis.ifelse(month <= 2, _code(1), _code(0))
    years = year + 400 - early
    in_year = (153 * (month + 12 * early - 3) + 2) // 5 + day - 1
    return years * 365 + years // 4 - years // 100 + years // 400 + in_year - _SHIFT


def _bins(field: Field, read: _Read) -> list[tuple[Any, Any]]:
    edges = field.edges
    low, high = _literal(field, edges.low), _literal(field, edges.high)
    if edges.one_per_value and field.type == "integer":
        inside: Any = (read.value - low).cast("int64")
    else:
        inside = _tree(read.value, [_literal(field, edge) for edge in edges.values[1:-1]], 0, edges.count - 1)
    if field.outside == "clamp":
        return [
            (read.readable & (read.value <= low), _code(0)),
            (read.readable & (read.value >= high), _code(edges.count - 1)),
            (read.readable, inside),
        ]
    return [(read.readable & (read.value >= low) & (read.value <= high), inside)]


def _tree(value: Any, inner: Sequence[Any], first: int, last: int) -> Any:
    """Nested comparisons that find the bin in the logarithm of the number of bins."""
    if first == last:
        return _code(first)
    middle = (first + last) // 2
    below, above = _tree(value, inner, first, middle), _tree(value, inner, middle + 1, last)
    return ibis.ifelse(value < inner[middle], below, above)


def _categories(codec: Codec, dtype: Any, read: _Read) -> list[tuple[Any, Any]]:
    field = codec.field
    if field.type != "string":
        ranked = sorted(codec.keys.items())
        pairs = [
            (read.readable & (read.value == _literal(field, float(key))), _code(code)) for key, code in ranked
        ]
        if field.outside == "clamp":
            (least, first), (most, last) = ranked[0], ranked[-1]
            pairs = [
                (read.readable & (read.value <= _literal(field, float(least))), _code(first)),
                (read.readable & (read.value >= _literal(field, float(most))), _code(last)),
                *pairs,
            ]
        return pairs
    place = {label: code for code, label in enumerate(field.labels)}
    if dtype.is_numeric():
        return [
            (read.value == _double(key), _code(place[label])) for key, label in numeric_labels(field).items()
        ]
    if dtype.is_boolean():
        return [(read.value == key, _code(place[label])) for key, label in boolean_labels(field).items()]
    if dtype.is_date() or dtype.is_timestamp():
        kind = "date" if dtype.is_date() else "datetime"
        return [
            (read.value == ibis.literal(key, type="int64"), _code(place[label]))
            for label in field.labels
            if (key := _iso_key(kind, label.strip(BLANKS))) is not None
        ]
    return [(read.value == str(key), _code(code)) for key, code in codec.keys.items()]


def _iso_key(kind: Any, label: str) -> int | None:
    """The key of a category that is written exactly as the calendar value would be."""
    try:
        value = parse(kind, label)
    except NotAValueError:
        return None
    assert hasattr(value, "isoformat")
    return int(position(value)) if value.isoformat() == label else None


def _read(field: Field, column: ir.Value, markers: tuple[str, ...]) -> _Read:
    if column.type().is_null():
        column = column.cast("string")
    return (
        _from_text(field, column, markers)
        if column.type().is_string()
        else _from_typed(field, column, markers)
    )


def _from_text(field: Field, column: Any, markers: tuple[str, ...]) -> _Read:
    text = column.strip()
    missing = column.isnull()
    if markers:
        missing = missing | text.isin([marker.strip(BLANKS) for marker in markers])
    match field.type:
        case "string":
            return _Read(text, missing, text.notnull())
        case "boolean":
            value = ibis.cases(
                (text.isin([word.strip(BLANKS) for word in field.true_values]), _double(1)),
                (text.isin([word.strip(BLANKS) for word in field.false_values]), _double(0)),
                else_=ibis.null("float64"),
            )
            return _Read(value, missing, value.notnull())
        case "date" | "datetime":
            return _calendar_text(field, text, missing)
        case _:
            shaped = ibis.ifelse(text.re_search(NUMBER), text, ibis.null("string"))
            return _numbers(field, _cast(shaped, "float64"), missing, whole=False)


def _from_typed(field: Field, column: Any, markers: tuple[str, ...]) -> _Read:
    dtype, missing = column.type(), column.isnull()
    if dtype.is_numeric() and field.type in ("integer", "number", "boolean", "string"):
        value = column.cast("float64")
        for marker in markers:
            missing = missing | _marked(column, value, marker)
        if field.type == "boolean":
            return _Read(value, missing, value.isin([_double(0), _double(1)]))
        return _numbers(field, value, missing, whole=dtype.is_integer())
    if dtype.is_boolean() and field.type == "boolean":
        return _Read(ibis.ifelse(column, _double(1), _double(0)), missing, column.notnull())
    if dtype.is_boolean() and field.type == "string":
        return _Read(column, missing, column.notnull())
    if (dtype.is_date() or dtype.is_timestamp()) and field.type in ("date", "datetime", "string"):
        key = _days(*(part.cast("int64") for part in (column.year(), column.month(), column.day())))
        if field.type == "datetime" or (field.type == "string" and dtype.is_timestamp()):
            key = key * 86400
            if dtype.is_timestamp():
                key = key + column.hour() * 3600 + column.minute() * 60 + column.second()
        return _Read(key, missing, key.notnull())
    raise DataError(
        f"{field.name}: the column holds {str(dtype).lower()} values, the schema declares {field.type}. "
        "Correct the type in the schema, or convert the column."
    )


def _numbers(field: Field, value: Any, missing: Any, whole: bool) -> _Read:
    # infinity minus itself is not a number, everywhere: this keeps exactly the finite doubles
    readable = value - value == _double(0)
    if field.type == "integer" and not whole:
        # beyond 2^53 every double is whole, and rounding down may leave the database's integers
        small = ibis.ifelse(value.abs() < _double(LARGEST_WHOLE), value, _double(0))
        readable = readable & (small == small.floor())
    return _Read(value, missing, readable)


def _marked(column: Any, value: Any, marker: str) -> Any:
    if marker.strip(BLANKS).lower() == "nan":
        nan = column.type().is_floating() and _offers(column, ops.IsNan)
        return value.isnan().fill_null(False) if nan else ibis.literal(False)
    try:
        return (value == _double(number(marker))).fill_null(False)
    except NotAValueError:
        return ibis.literal(False)


def _calendar_text(field: Field, text: Any, missing: Any) -> _Read:
    shape = text.re_search(DATE if field.type == "date" else DATETIME)
    shaped = ibis.ifelse(shape, text, ibis.null("string"))
    if field.type == "datetime":
        shaped = _extended(shaped)
    year, month, day = (
        _cast(shaped.substr(start, size), "int64") for start, size in ((0, 4), (5, 2), (8, 2))
    )
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    right = month.between(1, 12) & (day >= 1)
    right = right & (
        (day <= 28)
        | ((day == 29) & ((month != 2) | leap))
        | ((day == 30) & (month != 2))
        | ((day == 31) & month.isin([1, 3, 5, 7, 8, 10, 12]))
    )
    key = _days(year, month, day)
    if field.type == "datetime":
        clocked = shaped.length() > 10
        zero = ibis.literal(0, type="int64")
        hour = ibis.ifelse(clocked, _cast(shaped.substr(11, 2), "int64"), zero)
        minute = ibis.ifelse(clocked, _cast(shaped.substr(14, 2), "int64"), zero)
        second = ibis.ifelse(shaped.substr(16, 1) == ":", _cast(shaped.substr(17, 2), "int64"), zero)
        right = right & (hour < 24) & (minute < 60) & (second < 60)
        key = key * 86400 + hour * 3600 + minute * 60 + second - _ahead(shaped)
    return _Read(key, missing, shape & right)


def _extended(text: Any) -> Any:
    """A time that is written without signs between its numbers, with them; any other text as it is."""
    dated = text.re_replace("^([0-9]{4})([0-9]{2})([0-9]{2}T[0-9]{2})([0-9]{2})", r"\1-\2-\3:\4")
    return dated.re_replace("^(.{13}:[0-9]{2})([0-9]{2})", r"\1:\2")


def _ahead(text: Any) -> Any:
    """How many seconds the written offset is ahead of UTC; none is written where the text has no sign.

    Parts are cut out by patterns: a place that is counted from the end would write the text down many times.
    """
    clock = text.substr(11, 30)
    long, short = r"^.*[+-]([0-9]{2}):?([0-9]{2})$", r"^.*[+-]([0-9]{2})$"
    hours, minutes, alone = (
        _cast(clock.re_replace(pattern, part), "int64")
        for pattern, part in ((long, r"\1"), (long, r"\2"), (short, r"\1"))
    )
    found = ibis.cases(
        (clock.re_search(long), hours * 3600 + minutes * 60),
        (clock.re_search(short), alone * 3600),
        else_=_code(0),
    )
    return found * ibis.ifelse(clock.contains("-"), _code(-1), _code(1))


def _cast(text: Any, kind: str) -> Any:
    """Text to a number without an error, where the database can promise that."""
    return text.try_cast(kind) if _offers(text, ops.TryCast) else text.cast(kind)


def _offers(expression: Any, operation: Any) -> bool:
    try:
        return bool(expression.get_backend().has_operation(operation))
    except ibis.common.exceptions.IbisError:
        return True
