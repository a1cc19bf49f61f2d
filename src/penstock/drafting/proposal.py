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
from typing import Any, ClassVar, Protocol, runtime_checkable

import polars as pl

from penstock import catalogue
from penstock.engine.source import Source
from penstock.engine.source import read as open_source
from penstock.errors import DataError
from penstock.privacy.unit import Unit
from penstock.schema.bins import Bins
from penstock.schema.field import Constraints, Field
from penstock.schema.layout import Layout
from penstock.schema.magnitudes import round_outwards
from penstock.schema.reading import Reading, read
from penstock.schema.schema import Schema
from penstock.schema.values import BLANKS, DATE, DATETIME, NUMBER, Type, at, is_pattern

MARKERS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
MOST_CATEGORIES = 256
_FEW = 20
_PERSON = r"(user|person|patient|customer|client|member|subject|subscriber|caller|employee)"
_PEOPLE = re.compile(rf"^({_PERSON}|{_PERSON}?[_. -]?(id|uid|uuid|no|nr|key|number))$", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"^(.*[_. -])?(id|uid|uuid|guid|ssn|key|nr|no)$|^.*[a-z]I[dD]$"
    r"|^((first|last|sur|full)?[_ ]?name|e-?mail|phone)$"
)


@runtime_checkable
class Records(Protocol):
    """What a draft needs to know of a source: its column names and, if it may, its records."""

    names: tuple[str, ...]

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame: ...


@dataclass
class Notes:
    """What the reviewer is told: at the top of the file, and above each field."""

    top: list[str] = field(default_factory=list)
    fields: dict[str, tuple[str, ...]] = field(default_factory=dict)


class KindDraft:
    """What a draft does for one kind of data, where kinds differ; each kind derives its own.

    `missing_is_a_value` says whether a private draft lets a record lack a value.
    """

    missing_is_a_value: ClassVar[bool] = True

    def read(self, source: Any, *, table: str | None = None) -> Source:
        """The records to draft from."""
        return open_source(source, table=table)

    def why_left_out(self, type_: Type) -> str | None:
        """Why a column with values of this type can be no field, or None where it can."""
        return None

    def bins(self, type_: Type, reading: Reading, constraints: Constraints) -> tuple[Bins | None, str]:
        """Bins that the values suggest, and what was read off them."""
        return None, ""

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        """The fields that stay, and how columns make records; without a frame, no value was read."""
        return fields, None

    def suggest_unit(self, names: Sequence[str], notes: Notes) -> None:
        """A hint at the unit, from the names of the columns."""
        likely = [name for name in names if identifies_a_person(name)]
        if likely:
            notes.top.append(
                f"If one person may have several records, protect people instead of records: "
                f"unit: {{protects: user, column: {likely[0]}, at_most: 1}}"
            )


def kind_draft(kind: str) -> KindDraft:
    """How data of this kind is drafted."""
    info = catalogue.kind(kind)
    found = catalogue.load(info.draft)
    if not isinstance(found, type) or not issubclass(found, KindDraft):
        raise TypeError(f"{info.draft} is no draft of a kind")
    return found()


def draft(
    source: pl.DataFrame | Records | Sequence[str],
    *,
    kind: str = "table",
    headers_only: bool = False,
    drafter: KindDraft | None = None,
) -> Schema:
    """A schema to review; with ``headers_only`` not a single value is read.

    >>> proposal = draft(pl.DataFrame({"age": [3, 45], "sex": ["f", "m"]}))
    >>> proposal.to_review()
    ['age', 'sex', 'unit']
    >>> proposal.field("age").domain
    '0..50'
    """
    drafter = drafter or kind_draft(kind)
    names = _names(source)
    _refuse_bad_names(names)
    notes = Notes(
        [
            "A draft. Compare every fact that is marked for review with what is publicly known,",
            "correct it, and confirm it with 'review: false'.",
        ]
    )
    if headers_only or (not isinstance(source, pl.DataFrame) and not isinstance(source, Records)):
        fields = [_placeholder(name, notes) for name in names]
        markers: tuple[str, ...] = ("",)
        fields, layout = drafter.arranged(fields, None, markers, notes)
    else:
        frame = source if isinstance(source, pl.DataFrame) else source.frame()
        if frame.height == 0:
            raise DataError("The data has no records to draft from. Use '--headers-only', or add records.")
        markers = MARKERS  # all of them: which ones occur is a fact about the records
        fields = []
        for name in names:
            found = propose(frame[name], drafter, markers, notes)
            if isinstance(found, Field):
                fields.append(found)
            else:
                notes.top.append(
                    f"Left out: '{name}' {found}. Add it under 'fields' if it belongs in the release."
                )
        fields, layout = drafter.arranged(fields, frame, markers, notes)
        if not fields:
            raise DataError(
                "No column can become a field: all look like identifiers or free text. "
                "Write the schema by hand, starting from '--headers-only'."
            )
    drafter.suggest_unit(names, notes)
    schema = Schema(
        kind=kind,
        unit=Unit.model_validate({"protects": catalogue.kind(kind).units[0].name, "review": True}),
        missing_values=markers,
        fields=tuple(fields),
        layout=layout,
    )
    return schema.with_remarks({"": tuple(notes.top), **notes.fields})


def _names(source: pl.DataFrame | Records | Sequence[str]) -> tuple[str, ...]:
    if isinstance(source, pl.DataFrame):
        return tuple(source.columns)
    return tuple(source.names) if isinstance(source, Records) else tuple(source)


def _refuse_bad_names(names: Sequence[str]) -> None:
    if not names:
        raise DataError("The data has no columns. Give a file with a header line.")
    for number, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"Column {number} has no name. Name every column in the header line.")
        if is_pattern(name):
            raise DataError(f"{name}: this name reads as a pattern of names, not as one. Rename the column.")
    twice = (
        next((name for name in names if names.count(name) > 1), None)
        if len(set(names)) < len(names)
        else None
    )
    if twice is not None:
        raise DataError(f"{twice}: the data has two columns of this name. Rename one of them.")


def _placeholder(name: str, notes: Notes) -> Field:
    notes.fields[name] = ("no value was read: declare the type and its enum or bounds",)
    return Field(name=name, type="string", constraints=Constraints(enum=()), review=True)


def propose(column: pl.Series, drafter: KindDraft, markers: tuple[str, ...], notes: Notes) -> Field | str:
    """The field that a column suggests, or why it is left out."""
    kind_of_value = type_of(column, markers)
    if kind_of_value is None:
        return f"holds {str(column.dtype).lower()} values"
    if identifies_a_person(column.name) or (identifies(column.name) and _mostly_different(column)):
        return "looks like an identifier"
    why = drafter.why_left_out(kind_of_value)
    if why is not None:
        return why
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
        bins, seen = drafter.bins(kind_of_value, reading, constraints)
        if bins is not None:
            facts.append(seen)
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


def _mostly_different(column: pl.Series) -> bool:
    different = column.n_unique()
    return different > _FEW and 2 * different > len(column)


def type_of(column: pl.Series, markers: tuple[str, ...]) -> Type | None:
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


def identifies(name: str) -> bool:
    """Whether a column's name says that it tells records apart."""
    return bool(_IDENTIFIER.match(name))
