"""The one rule by which text becomes a value, shared by schemas, queries and every engine.

- Surrounding ASCII whitespace is ignored.
- A number matches ``NUMBER`` (no NaN, no infinity, no digit separators) and is finite as a double;
  an integer is a number without a fractional part, so ``12``, ``12.0`` and ``1.2e1`` are the same.
- A date is ``YYYY-MM-DD``; a datetime is a date, optionally followed by ``T`` or a space and
  ``HH:MM[:SS[.ffffff]]`` and an optional offset: ``Z``, ``+02:00``, ``+0200`` or ``+02``. Datetimes are
  UTC, unless an offset says otherwise, and count in whole seconds.
- A boolean is one of the field's true and false values.

Ordered values are compared as *positions*: doubles for numbers, days since 1970 for dates,
seconds since 1970 for datetimes.
"""

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Literal

Type = Literal["string", "integer", "number", "boolean", "date", "datetime"]
Value = str | int | float | bool | date | datetime

BLANKS = " \t\n\r\x0b\x0c"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?"
OFFSET = r"(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)$"
_OFFSET = f"({OFFSET.removesuffix('$')})?"
BASIC = rf"^[0-9]{{8}}T[0-9]{{4}}([0-9]{{2}}([.,][0-9]{{1,9}})?)?{_OFFSET}$"
"""ISO 8601 without signs between the numbers: 20250301T100000Z."""
DATETIME = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{CLOCK}{_OFFSET})?$|{BASIC}"
TRUE_VALUES = ("true", "True", "TRUE", "1")
FALSE_VALUES = ("false", "False", "FALSE", "0")
LARGEST_WHOLE = 1 << 53

_EPOCH = date(1970, 1, 1)
_NOUNS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "date": "a date (YYYY-MM-DD)",
    "datetime": "a datetime (YYYY-MM-DDTHH:MM:SS)",
}


class NotAValueError(Exception):
    """A raw value that the rule of text does not accept for a type."""


def is_pattern(name: str) -> bool:
    """Whether Polars would take a column's name for a pattern of names, and read other columns or none.

    >>> is_pattern("^x$"), is_pattern("*"), is_pattern("x*"), is_pattern("^x")
    (True, True, False, False)
    """
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def noun(kind: Type) -> str:
    """What a value of this type is called in messages."""
    return _NOUNS[kind]


def number(text: str) -> float:
    """The finite double that a text denotes.

    >>> number(" 1e3 ")
    1000.0
    """
    stripped = text.strip(BLANKS)
    if re.match(NUMBER, stripped):
        found = float(stripped)
        if math.isfinite(found):
            return found
    raise NotAValueError(text)


def parse(
    kind: Type, raw: object, true: Sequence[str] = TRUE_VALUES, false: Sequence[str] = FALSE_VALUES
) -> Value:
    """The value of this type that a Python object or a text denotes; NotAValueError if there is none.

    >>> parse("integer", "12.0"), parse("date", "2020-02-29")
    (12, datetime.date(2020, 2, 29))
    """
    match kind:
        case "string":
            if isinstance(raw, str):
                return raw
            if isinstance(raw, int) and not isinstance(raw, bool):
                return str(raw)
        case "integer" | "number":
            if isinstance(raw, bool):
                raise NotAValueError(raw)
            if isinstance(raw, str):
                text = raw.strip(BLANKS)
                raw = int(text) if re.match("^[+-]?[0-9]{1,19}$", text) else number(text)
            if isinstance(raw, int | float) and math.isfinite(raw):
                if kind == "number":
                    return float(raw)
                if raw == int(raw):
                    return int(raw)
        case "boolean":
            if isinstance(raw, bool):
                return raw
            text = str(raw).strip(BLANKS)
            if text in true:
                return True
            if text in false:
                return False
        case "date" | "datetime":
            return _calendar(kind, raw)
    raise NotAValueError(raw)


def _calendar(kind: Type, raw: object) -> date | datetime:
    if isinstance(raw, str):
        text = raw.strip(BLANKS)
        if not re.match(DATE if kind == "date" else DATETIME, text):
            raise NotAValueError(raw)
        try:
            raw = date.fromisoformat(text) if kind == "date" else datetime.fromisoformat(text)
        except ValueError:
            raise NotAValueError(raw) from None
    if isinstance(raw, datetime):
        try:
            raw = raw if raw.tzinfo is None else raw.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise NotAValueError(raw) from None
        return raw.replace(microsecond=0) if kind == "datetime" else raw.date()
    if isinstance(raw, date):
        return raw if kind == "date" else datetime(raw.year, raw.month, raw.day)
    raise NotAValueError(raw)


def position(value: Value) -> float:
    """Where a value of an ordered type stands on the line of doubles or whole numbers."""
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)) // timedelta(seconds=1)
    if isinstance(value, date):
        return (value - _EPOCH).days
    assert isinstance(value, int | float)
    return value


def at(kind: Type, where: float) -> Value:
    """The value of an ordered type that stands at a position."""
    match kind:
        case "date":
            return _EPOCH + timedelta(days=int(where))
        case "datetime":
            return datetime(1970, 1, 1) + timedelta(seconds=int(where))
        case "integer":
            return int(where)
        case _:
            return float(where)


def written(value: Value) -> str:
    """A value as labels and messages show it; parsing it gives the value back.

    >>> written(12.0), written(True), written(date(2020, 1, 2))
    ('12', 'true', '2020-01-02')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value)
