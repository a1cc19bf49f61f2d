"""Names above the columns, or a record? A schema is public, and the names of its columns with it.

A file without a header gives its first record away as names: in the schema, in the data package, in the
report and above the synthetic rows. So names that look like values are refused until the custodian says what
they are. The first check looks at the names alone, so it says nothing of the records. The second also looks
at records; it serves drafts, which do so anyway. No refusal quotes a name: it may be somebody's value.

`header` is what the custodian says: None leaves it to the checks, "first" insists that the first row holds
names, "none" that there are none (columns are then called column_1, column_2, …), anything else is the names.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from penstock.errors import DataError, UsageError
from penstock.schema.values import BLANKS, NUMBER

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

Header = str | Sequence[str] | None

FIRST, NONE = "first", "none"
RECORDS = 1000
"""How many records the check of a draft looks at."""

_DIGIT = re.compile(r"\d+")
_WHOLE = re.compile("^[0-9]{1,9}$")
_MOMENT = re.compile(r"^[0-9]{4}-?[0-9]{2}-?[0-9]{2}[T ][0-9:.]+ ?(Z|UTC|[+-][0-9:]+)?$")
_HEXADECIMAL = re.compile(r"^(?=.*[0-9])[0-9a-f]{12,}$", re.IGNORECASE)
_ADDRESS = re.compile(r"^[^@\s]+@[^@\s]+\.[^@\s]+$")
_MARKERS = ("?", "na", "n/a", "nan", "null", "none", "true", "false")
_YEARS = range(1900, 2101)


def told(header: Header) -> Header:
    """What the custodian says of the header, with names as a list.

    >>> told("name, age"), told("first"), told(None)
    (['name', 'age'], 'first', None)
    """
    if header is None or header in (FIRST, NONE):
        return header
    names = next(csv.reader([header]), []) if isinstance(header, str) else list(header)
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise UsageError(
            "header: write 'first' or 'none', or a name for every column, such as --header name,age,income."
        )
    return [name.strip() for name in names]


def position_of_value(names: Sequence[str]) -> int | None:
    """The place of the first name that reads as a value: a number, a date, a missing value; None for none.

    Years and plain numbering are names where the numbers among the names are nothing else: at least two years
    at equal distance, or at least three numbers that count from 0 or 1.

    >>> position_of_value(["region", "2019", "2020"]), position_of_value(["0", "1", "2"])
    (None, None)
    >>> position_of_value(["m", "34", "teacher"]), position_of_value(["name", "2001"])
    (1, 1)
    """
    found = [place for place, name in enumerate(names) if _reads_as_value(name)]
    return None if not found or _counts([names[place] for place in found]) else found[0]


def _reads_as_value(name: str) -> bool:
    text = name.strip(BLANKS)
    if any(each.isdigit() for each in text) and not any(each.isalpha() for each in text):
        return True  # numbers, dates, times, amounts of money, telephone numbers
    patterns = (re.compile(NUMBER), _MOMENT, _ADDRESS)
    if _HEXADECIMAL.match(text.replace("-", "")):
        return True  # keys made by machines
    return text.lower() in _MARKERS or any(pattern.match(text) for pattern in patterns)


def _counts(names: Sequence[str]) -> bool:
    """Whether these are years at equal distance, or the numbers from 0 or 1 on."""
    if not all(_WHOLE.match(name.strip(BLANKS)) for name in names):
        return False
    numbers = [int(name) for name in names]
    steps = {second - first for first, second in pairwise(numbers)}
    if len(steps) != 1 or 0 in steps:
        return False
    years = all(number in _YEARS for number in numbers)
    return years or (len(numbers) > 2 and numbers[0] in (0, 1) and steps == {1})


def refuse_record(label: str, names: Sequence[str], *, text: bool) -> None:
    """Raise DataError where the names alone look like a record."""
    place = position_of_value(names)
    if place is not None:
        raise _refusal(label, f"the name of column {place + 1} reads as a value", text=text)


def refuse_record_among(label: str, names: Sequence[str], records: pl.DataFrame, *, text: bool) -> None:
    """Raise DataError where a name is one of the values of its own column, or is formed like them.

    Upper and lower case make no difference. A name with digits is formed like values that all have digits
    where one of them has letters, digits and other signs in the same places, whatever the numbers' lengths.
    """
    import polars as pl

    for place, name in enumerate(names):
        column = records.to_series(place)
        if column.dtype != pl.String:
            continue
        values = [value.strip(BLANKS).casefold() for value in column.to_list() if value is not None]
        values = [value for value in values if value]
        if name.strip(BLANKS).casefold() in values:
            reason = f"the name of column {place + 1} is also one of its values"
            raise _refusal(label, reason, text=text)
        numbered = len(values) > 1 and all(_DIGIT.search(value) for value in [name, *values])
        if numbered and _shape(name) in {_shape(value) for value in values}:
            reason = f"the name of column {place + 1} is formed like its values"
            raise _refusal(label, reason, text=text)


def refuse_names_of_categories(label: str, schema: Schema, *, text: bool) -> None:
    """Raise DataError where a field is called like one of its own categories; looks at the schema alone."""
    listed = [field for field in schema.fields if field.kind == "categorical"]
    fields = [field for field in listed if field.name in field.spellings]
    if fields and not _counts([field.name for field in schema.fields if _reads_as_value(field.name)]):
        place = schema.names.index(fields[0].name) + 1
        raise _refusal(label, f"field {place} of the schema is called like one of its categories", text=text)


def _shape(text: str) -> str:
    """How a text is formed: which places hold numbers, letters and other signs.

    >>> _shape("AB-12"), _shape("ab-7")
    ('aa-9', 'aa-9')
    """
    return _DIGIT.sub("9", "".join("a" if each.isalpha() else each for each in text))


def _refusal(label: str, reason: str, *, text: bool) -> DataError:
    remedy = (
        "If the file has no header, say --no-header, or name the columns with --header NAME,NAME,…; "
        "if these are names all the same, insist with --header first."
        if text
        else "Read the file that they came from again, without a header; if these are names all the same, "
        "insist with header='first'."
    )
    return DataError(
        f"{label}: the header looks like a record, whose values would be published as the names of columns "
        f"({reason}). {remedy}"
    )
