"""Drafts: a proposal for a schema, for the custodian to review.

A schema is public, so nothing in it may silently come from the records. Whatever a draft read there
carries ``review: true`` and a comment that names it, and no release is made while such a mark
remains. Bounds are rounded outwards, and columns that look like identifiers or free text are left
out, so that even a draft that is confirmed too quickly shows little.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol, cast, get_args

import polars as pl

from penstock.errors import DataError, UsageError
from penstock.privacy.unit import Unit
from penstock.schema.bins import DEFAULT_BINS, ONE_BIN_PER_VALUE_UP_TO, Bins
from penstock.schema.fact import nearest
from penstock.schema.field import Constraints, Field
from penstock.schema.magnitudes import round_outwards
from penstock.schema.reading import Reading, read
from penstock.schema.schema import DataKind, Schema
from penstock.schema.schema import Sequence as SequenceColumns
from penstock.schema.values import BLANKS, DATE, DATETIME, NUMBER, Type, at

MARKERS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
MOST_CATEGORIES = 256
_SAY_WHICH = "Say which columns make a sequence: sequence: {user: ..., time: ..., symbol: ..., longest: 20}"
_SAY_ITEMS = (
    "Say which columns make an item set: items: {item: ..., transaction: ...}, or items: {item: ...} where "
    "every row is a whole set. Keep the field of the items and remove the others."
)
_FEW = 20
_PERSON = r"(user|person|patient|customer|client|member|subject|subscriber|caller|employee)"
_PEOPLE = re.compile(rf"^({_PERSON}|{_PERSON}?[_. -]?(id|uid|uuid|no|nr|key|number))$", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"^(.*[_. -])?(id|uid|uuid|guid|ssn|key|nr|no)$|^.*[a-z]I[dD]$"
    r"|^((first|last|sur|full)?[_ ]?name|e-?mail|phone)$"
)


class Records(Protocol):
    """What a draft needs to know of a source: its column names and, if it may, its records."""

    names: tuple[str, ...]

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame: ...


@dataclass
class _Notes:
    """What the reviewer is told: at the top of the file, and above each field."""

    top: list[str] = field(default_factory=list)
    fields: dict[str, tuple[str, ...]] = field(default_factory=dict)


def draft(
    source: pl.DataFrame | Records | Sequence[str], *, kind: str = "table", headers_only: bool = False
) -> Schema:
    """A schema to review; with ``headers_only`` not a single value is read.

    >>> proposal = draft(pl.DataFrame({"age": [3, 45], "sex": ["f", "m"]}))
    >>> proposal.to_review()
    ['age', 'sex', 'unit']
    >>> proposal.field("age").domain
    '0..50'
    """
    if kind not in get_args(DataKind):
        raise UsageError(f"'{kind}' is not a kind of data{nearest(kind, get_args(DataKind))}.")
    names = _names(source)
    _refuse_bad_names(names)
    notes = _Notes(
        [
            "A draft. Compare every fact that is marked for review with what is publicly known,",
            "correct it, and confirm it with 'review: false'.",
        ]
    )
    sequence: SequenceColumns | None = None
    if headers_only or (not isinstance(source, pl.DataFrame) and not hasattr(source, "frame")):
        if kind == "sequences":
            notes.top.append(_SAY_WHICH)
        fields = [_placeholder(name, notes) for name in names]
        markers: tuple[str, ...] = ("",)
    else:
        frame = source if isinstance(source, pl.DataFrame) else source.frame()
        if frame.height == 0:
            raise DataError("The data has no records to draft from. Use '--headers-only', or add records.")
        markers = MARKERS  # all of them: which ones occur is a fact about the records
        fields = []
        for name in names:
            found = _propose(frame[name], kind, markers, notes)
            if isinstance(found, Field):
                fields.append(found)
            else:
                notes.top.append(
                    f"Left out: '{name}' {found}. Add it under 'fields' if it belongs in the release."
                )
        if kind == "sequences":
            fields, sequence = _sequences(frame, fields, markers, notes)
        if not fields:
            raise DataError(
                "No column can become a field: all look like identifiers or free text. "
                "Write the schema by hand, starting from '--headers-only'."
            )
    if kind == "itemsets":
        notes.top.append(_SAY_ITEMS)
    if kind != "sequences":
        _suggest_unit(names, notes)
    schema = Schema(
        kind=cast(DataKind, kind),
        unit=Unit(protects="sequence" if kind == "sequences" else "record", review=True),
        missing_values=markers,
        fields=tuple(fields),
        sequence=sequence,
    )
    return schema.with_remarks({"": tuple(notes.top), **notes.fields})


def _names(source: pl.DataFrame | Records | Sequence[str]) -> tuple[str, ...]:
    if isinstance(source, pl.DataFrame):
        return tuple(source.columns)
    return tuple(source.names) if hasattr(source, "names") else tuple(source)


def _refuse_bad_names(names: Sequence[str]) -> None:
    if not names:
        raise DataError("The data has no columns. Give a file with a header line.")
    for number, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"Column {number} has no name. Name every column in the header line.")
    twice = (
        next((name for name in names if names.count(name) > 1), None)
        if len(set(names)) < len(names)
        else None
    )
    if twice is not None:
        raise DataError(f"{twice}: the data has two columns of this name. Rename one of them.")


def _placeholder(name: str, notes: _Notes) -> Field:
    notes.fields[name] = ("no value was read: declare the type and its enum or bounds",)
    return Field(name=name, type="string", constraints=Constraints(enum=()), review=True)


def _propose(column: pl.Series, kind: str, markers: tuple[str, ...], notes: _Notes) -> Field | str:
    """The field that a column suggests, or why it is left out."""
    kind_of_value = _type(column, markers)
    if kind_of_value is None:
        return f"holds {str(column.dtype).lower()} values"
    if _PEOPLE.match(column.name) or (_IDENTIFIER.match(column.name) and _mostly_different(column)):
        return "looks like an identifier"
    if kind == "points" and kind_of_value not in ("integer", "number"):
        return "is not a coordinate"
    any_domain = Field.model_construct(name=column.name, type=kind_of_value)
    reading = read(any_domain, column, markers)
    facts = ["its type"]
    constraints, bins = Constraints(), None
    if kind_of_value == "string":
        categories = reading.values.filter(pl.Series(~reading.missing)).unique().sort().to_list()
        if not categories:
            return "holds no values"
        if len(categories) > MOST_CATEGORIES or _mostly_different(column):
            return "has too many different values for a list of categories"
        constraints = Constraints(enum=tuple(categories))
        facts.append("its categories")
    elif kind_of_value != "boolean":
        constraints = _bounds(kind_of_value, reading)
        facts.append("its bounds (rounded outwards)")
        if kind == "table" and kind_of_value == "integer":
            bins = _apart_from_zero(reading, constraints.maximum)
        if bins is not None:
            facts.append("that most values are 0 (which has a bin of its own)")
    missing = bool(reading.missing.any())
    facts.append("that values are missing" if missing else "that no value is missing")
    notes.fields[column.name] = (f"read off the data: {', '.join(facts)}",)
    return Field(
        name=column.name,
        type=kind_of_value,
        constraints=constraints,
        bins=bins,
        missing="value" if missing else "refuse",
        review=True,
    )


def _apart_from_zero(reading: Reading, highest: Any) -> Bins | None:
    """Bins for amounts that most records lack, such as gains: else nearly all would be drawn positive."""
    known = reading.values.filter(pl.Series(~(reading.missing | reading.unreadable)))
    if 2 * int((known == 0).sum()) <= len(known) or (known < 0).any():
        return None
    if highest < ONE_BIN_PER_VALUE_UP_TO:
        return None
    return Bins(edges=(0, 1, *(round(highest * part / DEFAULT_BINS) for part in range(1, DEFAULT_BINS + 1))))


def _mostly_different(column: pl.Series) -> bool:
    different = column.n_unique()
    return different > _FEW and 2 * different > len(column)


def _type(column: pl.Series, markers: tuple[str, ...]) -> Type | None:
    """The type that fits every value; None for columns that are no plain values."""
    dtype = column.dtype
    if dtype == pl.String or dtype == pl.Null:
        return _type_of_text(column.cast(pl.String), markers)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return "string"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if dtype == pl.Date:
        return "date"
    return "datetime" if isinstance(dtype, pl.Datetime) else None


def _type_of_text(column: pl.Series, markers: tuple[str, ...]) -> Type:
    texts = column.str.strip_chars(BLANKS).unique().drop_nulls()
    texts = texts.filter(~texts.is_in(list(markers)))
    if texts.is_empty():
        return "string"
    if texts.str.contains(NUMBER).all():
        numbers = texts.cast(pl.Float64, strict=False)
        if texts.str.contains("^[+-]?0[0-9]").any() or not numbers.is_finite().all():
            return "string"
        return (
            "integer"
            if (numbers == numbers.floor()).all() and not texts.str.contains(r"\.").any()
            else "number"
        )
    if texts.str.to_lowercase().is_in(["true", "false"]).all():
        return "boolean"
    if texts.str.contains(DATE).all() and _readable(texts, "date"):
        return "date"
    if texts.str.contains(DATETIME).all() and _readable(texts, "datetime"):
        return "datetime"
    return "string"


def _readable(texts: pl.Series, kind: Type) -> bool:
    return not read(Field.model_construct(name="", type=kind), texts, ()).unreadable.any()


def _bounds(kind: Type, reading: Reading) -> Constraints:
    known = reading.values.filter(pl.Series(~(reading.missing | reading.unreadable)))
    numbers = known.to_numpy()
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    if kind in ("integer", "number"):
        low, high = round_outwards(low, high)
        minimum: Any = int(low) if kind == "integer" else low
        maximum: Any = int(high) if kind == "integer" else high
        return Constraints(minimum=minimum, maximum=maximum)
    seconds = 86400 if kind == "date" else 1
    first, last = (at("datetime", where * seconds) for where in (low, high))
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    if kind == "date":
        return Constraints(minimum=date(first.year, 1, 1), maximum=date(last.year, 12, 31))
    return Constraints(minimum=datetime(first.year, 1, 1), maximum=datetime(last.year, 12, 31, 23, 59, 59))


def identifies_a_person(name: str) -> bool:
    """Whether a column's name, which is public, says that it tells people apart."""
    return bool(_PEOPLE.match(name))


def _suggest_unit(names: Sequence[str], notes: _Notes) -> None:
    likely = [name for name in names if _PEOPLE.match(name)]
    if likely:
        notes.top.append(
            f"If one person may have several records, protect people instead of records: "
            f"unit: {{protects: user, column: {likely[0]}, at_most: 1}}"
        )


def _sequences(
    frame: pl.DataFrame, fields: list[Field], markers: tuple[str, ...], notes: _Notes
) -> tuple[list[Field], SequenceColumns | None]:
    """A guess, from names and types, at whose sequences these are and of what; other fields are left out."""
    names = frame.columns
    user = next((name for name in names if _PEOPLE.match(name) or _IDENTIFIER.match(name)), None)
    symbol = next((each for each in fields if each.kind == "categorical" and each.name != user), None)
    time = next((each.name for each in fields if each.type in ("date", "datetime")), None)
    if user is None:
        whole = next((name for name in names if _holds_sequences(frame[name], markers)), None)
        symbol, time = (None if whole is None else _alphabet(frame[whole], markers, notes)), None
    if symbol is None:
        notes.top.append(_SAY_WHICH)
        return fields, None
    used = (symbol.name, user, time)
    notes.top[:] = [note for note in notes.top if not any(f"Left out: '{name}' " in note for name in used)]
    left = [each.name for each in fields if each.name not in used]
    notes.top += [f"Left out: '{name}' is no part of a sequence." for name in left]
    notes.top += [
        "The columns under 'sequence' are a guess from their names. Correct them.",
        "'longest' was not read off the data: choose a length that most sequences do not exceed,",
        "counting the end as one symbol. What comes after it is cut off.",
    ]
    return [symbol], SequenceColumns(user=user, time=time, symbol=symbol.name, longest=20)


def _holds_sequences(column: pl.Series, markers: tuple[str, ...]) -> bool:
    """Whether every row seems to be a whole sequence: a list, or several words of few kinds."""
    if isinstance(column.dtype, pl.List):
        return True
    if column.dtype != pl.String or _type(column, markers) != "string":
        return False
    words = column.drop_nulls().str.split(" ").explode()
    return len(words) > len(column) and words.n_unique() <= MOST_CATEGORIES


def _alphabet(column: pl.Series, markers: tuple[str, ...], notes: _Notes) -> Field | None:
    """The field of symbols that whole sequences are made of."""
    lists = column.str.split(" ") if column.dtype == pl.String else column
    found = _propose(lists.explode().drop_nulls(), "sequences", markers, notes)
    return found if isinstance(found, Field) else None
