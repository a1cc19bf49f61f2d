"""The codec inside a database: the same codes, as one Ibis expression per column.

This is the twin of ``reading`` and ``Codec.locate``. Numbers are compared as doubles with the very
same edges; the edges travel as text and are cast by the database, because a decimal literal may be
rounded twice. Calendar values are compared as days or seconds since 1970, computed with whole numbers
alone, which every database can do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.operations as ops
import numpy as np
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
_MOST_ENTRIES = 1_600  # of a list of columns: PostgreSQL takes 1,664
_FEW_EDGES = 8  # of which the right one is found by comparing, even where they are evenly spaced
_MOST_OTHERS = 8  # of which each is compared, beside evenly spaced ones

Listed = Callable[[Mapping[str, Any]], "ir.Table"]
"""Public columns (of Arrow) as a table of the database."""


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


def _in_memory(columns: Mapping[str, Any]) -> ir.Table:
    return ibis.memtable(pa.table(dict(columns)))


def coded(
    table: ir.Table,
    codecs: Mapping[str, Codec],
    keep: Mapping[str, str],
    *,
    computed: Callable[[ir.Table], ir.Table] = lambda inner: inner,
    listed: Listed = _in_memory,
) -> ir.Table:
    """The codes of many columns: values are read in an inner query, so that no search repeats the reading.

    `computed` keeps an inner query from being merged into the outer one, in databases that would compute its
    columns again wherever they are named; `listed` is how the database takes a long list of categories.
    """
    long = {name for name, codec in codecs.items() if _long(codec, table[name].type())}
    light = {name for name, codec in codecs.items() if _light(codec, table[name])}
    entries = len(keep) + len(light) + 3 * (len(codecs) - len(light))
    if entries > _MOST_ENTRIES and _named(table) == "postgres":
        light = codecs.keys() - long
    if len(light) == len(codecs):
        return table.select(
            **{name: table[source] for name, source in keep.items()},
            **{name: _at_once(codec, table[name]) for name, codec in codecs.items()},
        )
    first: dict[str, Any] = {f"kept {name}": table[source] for name, source in keep.items()}
    first |= {f"raw {name}": table[name] if name in light else _stripped(table[name]) for name in codecs}
    stripped = computed(table.select(**first))
    second: dict[str, Any] = {f"kept {name}": stripped[f"kept {name}"] for name in keep}
    for name, codec in codecs.items():
        if name in light:
            second[f"raw {name}"] = stripped[f"raw {name}"]
            continue
        read = _read_stripped(codec.field, stripped[f"raw {name}"], codec.markers)
        second |= {
            f"value {name}": read.value,
            f"missing {name}": read.missing,
            f"readable {name}": read.readable,
        }
    inner = computed(stripped.select(**second))
    for name in (name for name in codecs if name in long):
        inner = _joined(inner, f"value {name}", f"code {name}", codecs[name], listed)
    third = {name: inner[f"kept {name}"] for name in keep}
    for name, codec in codecs.items():
        if name in light:
            third[name] = _at_once(codec, inner[f"raw {name}"])
            continue
        read = _Read(inner[f"value {name}"], inner[f"missing {name}"], inner[f"readable {name}"])
        place = inner[f"code {name}"] if name in long else None
        third[name] = _coded(codec, table[name].type(), read, place)
    return inner.select(**third)


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


def _joined(table: ir.Table, value: str, code: str, codec: Codec, listed: Listed) -> ir.Table:
    """The table with the code of each known category beside it; an expression with thousands of
    comparisons would take longer to be written down than to be answered."""
    text = f"text of {value}"
    known = listed(
        {
            text: pa.array([str(key) for key in codec.keys]),
            code: pa.array(codec.keys.values(), type=pa.int64()),
        }
    )
    return table.left_join(known, table[value] == known[text]).drop(text)


def _light(codec: Codec, column: ir.Value) -> bool:
    """Whether PostgreSQL, which computes row by row and expression by expression, codes a column soonest
    without an inner query: that costs more than reading a number, or a text of few categories, again."""
    dtype = column.type()
    if _named(column) != "postgres":
        return False
    if dtype.is_string():
        return codec.field.type == "string" and not _long(codec, dtype)
    return bool(dtype.is_numeric()) and codec.field.type in ("integer", "number")


def _at_once(codec: Codec, column: Any) -> Any:
    """The code of a value of a light column. Nearly every text is a category as it stands, without blanks
    around it, which take longer to be removed than the category to be found."""
    if not column.type().is_string() or codec.field.type != "string":
        return codes(codec, column)
    gone = REFUSED if codec.attribute.missing is None else codec.attribute.missing
    known = {marker.strip(BLANKS): gone for marker in codec.markers}
    known = {**{str(key): code for key, code in codec.keys.items()}, **known}
    found = [(text, _code(code)) for text, code in known.items()]
    as_it_stands = [(column == text, code) for text, code in found if text == text.strip(BLANKS)]
    stripped: Any = _stripped(column)
    otherwise = stripped.cases(*found, else_=_code(_stray(codec)))
    return ibis.cases(*as_it_stands, (column.isnull(), _code(gone)), else_=otherwise)


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
        inside = _found(field, read.value)
    if field.outside == "clamp":
        return [
            (read.readable & (read.value <= low), _code(0)),
            (read.readable & (read.value >= high), _code(edges.count - 1)),
            (read.readable, inside),
        ]
    return [(read.readable & (read.value >= low) & (read.value <= high), inside)]


def _found(field: Field, value: Any) -> Any:
    """The number of inner edges at or below a value within the bounds.

    Evenly spaced edges are found by a division. Its rounding is put right by comparing with the two nearest
    edges, each computed by the very operations that give all of them here; edges that no such operations
    give, and few ones, are found by comparisons alone.
    """
    edges = field.edges
    if edges.count > _FEW_EDGES and _named(value) == "postgres":  # which searches sorted edges by itself
        return _width_bucket(value.cast("float64"), _array(edges.inner.tolist())).cast("int64")
    even = _even(edges.inner) if edges.count > _FEW_EDGES else None
    if even is None:
        return _tree(value, [_literal(field, edge) for edge in edges.values[1:-1]], 0, edges.count - 1)
    number = value.cast("float64")
    first, step, parts = _double(even.first), _double(even.step), _double(even.parts)

    def edge(place: Any) -> Any:
        return (first + place.cast("float64") * step) / parts

    guess = ((number * parts - first) / step).floor().cast("int64")
    guess = guess + ibis.ifelse(number < edge(guess), _code(0), _code(1))
    guess = guess + ibis.ifelse(number < edge(guess), _code(0), _code(1))
    found = ibis.least(ibis.greatest(guess, _code(0)), _code(even.count))
    for other in even.others:
        found = found + ibis.ifelse(number < _double(other), _code(0), _code(1))
    return found


@ibis.udf.scalar.builtin(name="width_bucket", signature=(("float64", "array<float64>"), "int32"))  # type: ignore[untyped-decorator]  # untyped library
def _width_bucket(value: Any, edges: Any) -> Any:
    """How many of the edges are at or below the value, found by PostgreSQL."""


def _array(numbers: Sequence[float]) -> Any:
    return ibis.literal(f"{{{','.join(map(repr, numbers))}}}").cast("array<float64>")


@dataclass(frozen=True)
class _Even:
    """Edge i of `count` is (first + i * step) / parts, computed in doubles; `others` stand between them."""

    first: float
    step: float
    parts: float
    count: int
    others: tuple[float, ...]


def _even(inner: Any) -> _Even | None:
    """Edges as evenly spaced ones and a few others; None where most are otherwise.

    >>> _even(np.array([0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6]))
    _Even(first=1.0, step=1.0, parts=10.0, count=6, others=(0.25,))
    >>> _even(np.array([1.0, 2.0, 4.0, 8.0])) is None
    True
    """
    widths, times = np.unique(np.round(np.diff(inner), 12), return_counts=True)
    step = float(widths[np.argmax(times)])
    start = int(np.argmin(np.abs(np.diff(inner) - step)))
    known = set(inner.tolist())
    for parts in (1.0, float(round(1 / step)) if 0 < step < 1 else 1.0):
        first = float(inner[start]) if parts == 1 else float(round(inner[start] * parts))
        many = step if parts == 1 else float(round(step * parts))
        if many <= 0:
            continue
        edges = ((first + np.arange(len(inner)) * many) / parts).tolist()
        count = next((place for place, edge in enumerate(edges) if edge not in known), len(edges))
        others = tuple(sorted(known - set(edges[:count])))
        if len(others) <= _MOST_OTHERS and count > 4 * len(others):
            return _Even(first, many, parts, count, others)
    return None


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
    labelled = field.spellings
    if dtype.is_numeric():
        return [
            (read.value == _double(key), _code(labelled[label]))
            for key, label in numeric_labels(field).items()
        ]
    if dtype.is_boolean():
        return [(read.value == key, _code(labelled[label])) for key, label in boolean_labels(field).items()]
    if dtype.is_date() or dtype.is_timestamp():
        kind = "date" if dtype.is_date() else "datetime"
        return [
            (read.value == ibis.literal(key, type="int64"), _code(code))
            for label, code in labelled.items()
            if (key := _iso_key(kind, label.strip(BLANKS))) is not None
        ]
    if _named(read.value) == "pyspark":  # Java does not compile what so many comparisons are written as
        listed: Any = ibis.literal([str(key) for key in codec.keys], type="array<string>")
        codes: Any = ibis.literal(list(codec.keys.values()), type="array<int64>")
        place = listed.index(read.value).cast("int32")
        return [(place >= 0, codes[place])]
    return [(read.value == str(key), _code(code)) for key, code in codec.keys.items()]


def _iso_key(kind: Any, label: str) -> int | None:
    """The key of a category that is written exactly as the calendar value would be."""
    try:
        value = parse(kind, label)
    except NotAValueError:
        return None
    assert hasattr(value, "isoformat")
    return int(position(value)) if value.isoformat() == label else None


def _stripped(column: ir.Value) -> ir.Value:
    """A text without the blanks around it, anything else as it is; nothing but nulls are texts, too."""
    if column.type().is_null():
        column = column.cast("string")
    return column.strip() if column.type().is_string() else column


def _read(field: Field, column: ir.Value, markers: tuple[str, ...]) -> _Read:
    return _read_stripped(field, _stripped(column), markers)


def _read_stripped(field: Field, column: ir.Value, markers: tuple[str, ...]) -> _Read:
    return (
        _from_text(field, column, markers)
        if column.type().is_string()
        else _from_typed(field, column, markers)
    )


def _from_text(field: Field, text: Any, markers: tuple[str, ...]) -> _Read:
    missing = text.isnull()
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


def _named(expression: Any) -> str:
    """What Ibis calls the database; nothing where there is none yet."""
    try:
        return str(expression.get_backend().name)
    except ibis.common.exceptions.IbisError:
        return ""


def _offers(expression: Any, operation: Any) -> bool:
    try:
        return bool(expression.get_backend().has_operation(operation))
    except ibis.common.exceptions.IbisError:
        return True
