"""Drafts: a proposal for a schema, for the custodian to review.

A schema is public, so nothing in it may silently come from the records. Whatever a draft read there
carries ``review: true`` and a comment that names it, and no release is made while such a mark
remains. Bounds are rounded outwards, and columns that look like identifiers or free text are left
out, so that even a draft that is confirmed too quickly shows little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import polars as pl

from penstock import catalogue
from penstock.drafting.columns import (
    FEW,
    MARKERS,
    MOST_CATEGORIES,
    few,
    identifies,
    identifies_a_person,
    in_order_of_time,
    looks,
    mostly_different,
    numbers_records,
    repeats_like_an_identifier,
    usual_number,
    written_otherwise,
)
from penstock.drafting.domain import Domain, range_of, too_large
from penstock.engine.header import Header
from penstock.engine.opening import AUTO, in_memory
from penstock.engine.records import Source
from penstock.engine.source import read as open_source
from penstock.errors import DataError, UsageError
from penstock.privacy.unit import Unit
from penstock.schema.field import Constraints, Field
from penstock.schema.layout import Layout
from penstock.schema.reading import read
from penstock.schema.schema import Schema
from penstock.schema.values import (
    BLANKS,
    NotAValueError,
    Type,
    is_pattern,
    number,
    parse,
)

MOST_READ = 1 << 17
"""Records of a long file, or of a table in a database, that a draft looks at."""


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

    `missing_is_a_value` says whether a private draft lets a record lack a value, `codes_are_categories`
    whether a few whole numbers are a list of categories, and values that stand out have a bin of their own.
    """

    missing_is_a_value: ClassVar[bool] = True
    codes_are_categories: ClassVar[bool] = True

    def read(self, source: Any, *, table: str | None = None, header: Header = None) -> Source:
        """The records to draft from."""
        return open_source(source, table=table, header=header)

    def why_left_out(self, type_: Type) -> str | None:
        """Why a column with values of this type can be no field, or None where it can."""
        return None

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        """The fields that stay, and how columns make records; without a frame, no value was read."""
        return fields, None

    def unit(
        self, names: Sequence[str], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> Unit | None:
        """The people behind the records where a column's values repeat like theirs; None for the usual unit.

        Where only the name of a column speaks of people, that is a remark.
        """
        likely = [name for name in names if identifies_a_person(name)]
        if frame is not None:
            others = [name for name in names if name not in likely]
            repeated = (name for name in [*likely, *others] if _comes_back(frame[name], markers))
            column = next(repeated, None)
            if column is not None:
                notes.top += [
                    f"'{column}' repeats like an identifier, so that the draft protects those whom it tells "
                    "apart, not records.",
                    "'at_most' is a round number of records that most of them do not exceed; correct both.",
                ]
                at_most = usual_number(frame[column])
                return Unit(protects="user", column=column, at_most=at_most, review=True)
        if likely:
            notes.top.append(
                f"If one person may have several records, protect people instead of records: "
                f"unit: {{protects: user, column: {likely[0]}, at_most: 1}}"
            )
        return None


def kind_draft(kind: str) -> KindDraft:
    """How data of this kind is drafted."""
    info = catalogue.kind(kind)
    if info.draft is None:
        raise UsageError(
            f"Data of kind '{kind}' is fed, not opened, so that there is nothing to draft a schema from; "
            "write "
            "it by hand."
        )
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
    frame: pl.DataFrame | None
    notes = Notes(
        [
            "A draft. Compare every fact that is marked for review with what is publicly known,",
            "correct it, and confirm it with 'review: false'.",
        ]
    )
    if headers_only or (not isinstance(source, pl.DataFrame) and not isinstance(source, Records)):
        frame = None
        fields = [_placeholder(name, notes) for name in names]
        markers: tuple[str, ...] = ("",)
        fields, layout = drafter.arranged(fields, None, markers, notes)
    else:
        frame, rows = (source, source.height) if isinstance(source, pl.DataFrame) else _looked_at(source)
        if frame.height < rows:
            notes.top += [
                f"Read off {frame.height:,} of the {rows:,} records, drawn at random.",
                "Rare categories and values further out may be missing here, and 'at_most' be too small.",
            ]
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
    unit = drafter.unit(names, frame, markers, notes)
    schema = Schema(
        kind=kind,
        unit=unit or Unit.model_validate({"protects": catalogue.kind(kind).units[0].name, "review": True}),
        missing_values=markers,
        fields=tuple(fields),
        layout=layout,
    )
    return schema.with_remarks({"": tuple(notes.top), **notes.fields})


def _comes_back(column: pl.Series, markers: tuple[str, ...]) -> bool:
    found = looks(column, markers).type
    return found is not None and repeats_like_an_identifier(column, found)


def _looked_at(source: Records) -> tuple[pl.DataFrame, int]:
    """The records to draft from, and how many there are; only some where not all should be in memory."""
    if isinstance(source, Source) and not in_memory(AUTO, source):
        return source.sampled(source.names, MOST_READ)
    frame = source.frame()
    return frame, frame.height


def _names(source: pl.DataFrame | Records | Sequence[str]) -> tuple[str, ...]:
    if isinstance(source, pl.DataFrame):
        return tuple(source.columns)
    return tuple(source.names) if isinstance(source, Records) else tuple(source)


def _refuse_bad_names(names: Sequence[str]) -> None:
    if not names:
        raise DataError("The data has no columns. Give a file with a header line.")
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"Column {place} has no name. Name every column in the header line.")
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


def propose(
    column: pl.Series, drafter: KindDraft, markers: tuple[str, ...], notes: Notes, *, most: int = FEW
) -> Field | str:
    """The field that a column suggests, or why it is left out; up to `most` whole numbers may be codes."""
    found = looks(column, markers)
    if found.type is None:
        return f"holds {str(column.dtype).lower()} values"
    if _is_identifier(column, found.type):
        return "looks like an identifier"
    why = drafter.why_left_out(found.type)
    if why is not None:
        return why
    reading = read(Field.model_construct(name=column.name, type=found.type), column, (*markers, *found.signs))
    known = reading.values.filter(pl.Series(~(reading.missing | reading.unreadable)))
    facts, domain = ["its type"], Domain()
    different = known.n_unique()
    if found.type == "string":
        if known.is_empty():
            return "holds no values"
        seems = written_otherwise(known.unique())
        if different > MOST_CATEGORIES or mostly_different(column):
            many = (
                "has too many different values for a list of categories (a public list, however long, may be "
                "named as a file: constraints: {enum: codes.txt})"
            )
            return many if seems is None else f"is read as text and {many}; its values seem to be {seems}"
        names = tuple(sorted(known.unique().to_list(), key=_in_order))
        ordered = in_order_of_time(known.unique())
        domain = Domain(Constraints(enum=names), categories_ordered=ordered, seems=seems)
    elif found.type in ("integer", "number") and drafter.codes_are_categories and few(known, different, most):
        enum = tuple(parse(found.type, value) for value in known.unique().sort().to_list())
        domain = Domain(Constraints(enum=enum), categories_ordered=len(enum) > 2)
    elif too_large(found.type, known):
        return "holds numbers that are too large to be told apart"
    elif found.type != "boolean":
        domain = range_of(found.type, known, codes=drafter.codes_are_categories)
    facts += domain.facts
    missing = bool(reading.missing.any())
    facts.append("that values are missing" if missing else "that no value is missing")
    if found.signs:
        facts.append(
            f"that {', '.join(map(repr, found.signs))} mean it"
            if len(found.signs) > 1
            else f"that {found.signs[0]!r} means it"
        )
    notes.fields[column.name] = (f"read off the data: {', '.join(facts)}", *domain.hints)
    return Field(
        name=column.name,
        type=found.type,
        constraints=domain.constraints,
        categories_ordered=domain.categories_ordered,
        bins=domain.bins,
        spikes=domain.spikes,
        decimals=domain.decimals,
        missing="value" if missing else "refuse",
        missing_values=_all_signs(column, found.signs, markers),
        review=True,
    )


def _in_order(text: str) -> tuple[bool, float, str]:
    """Numbers before words, each in their own order: 1, 2, 10, a."""
    try:
        return False, number(text), text
    except NotAValueError:
        return True, 0.0, text


def _is_identifier(column: pl.Series, type_: Type) -> bool:
    """Whether a column tells people or records apart; one of two values says something about them instead."""
    if identifies_a_person(column.name):
        return column.n_unique() > 2 or len(column) < 8
    comes_back = repeats_like_an_identifier(column, type_)
    if identifies(column.name) and (mostly_different(column) or comes_back):
        return True
    return type_ == "integer" and (comes_back or numbers_records(column, type_))


def _all_signs(column: pl.Series, signs: tuple[str, ...], markers: tuple[str, ...]) -> tuple[str, ...] | None:
    """The column's own signs for a missing value, with those of all columns that occur in it too."""
    if not signs:
        return None
    texts = column.cast(pl.String).str.strip_chars(BLANKS)
    return (*signs, *(marker for marker in markers if marker and (texts == marker).any()), "")
