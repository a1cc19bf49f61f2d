"""Private drafts: a schema whose types, bounds and categories were found under a small budget.

What was found this way is paid for and needs no review. What could not be found is left to fill in, and
marked. Which column identifies a person, and whether a record or a user is the unit, remain the
custodian's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

import polars as pl

from penstock import catalogue
from penstock.drafting.bounds import Column, bounds, frequent, kinds
from penstock.drafting.proposal import MARKERS, draft, identifies_a_person, kind_draft
from penstock.engine import read as open_source
from penstock.engine.bound import fresh_key, numbered_users, sample_per_user
from penstock.errors import DataError, UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.unit import Unit
from penstock.schema import Constraints, Drafted, Field, Schema, round_outwards
from penstock.schema.schema import refuse_foreign_unit
from penstock.schema.values import Type, at

_RANGED: Final = ("integer", "number", "date", "datetime")
_ODD: Final = (pl.Binary, pl.Object, pl.Time, pl.Duration)
_EPOCH: Final = date(1970, 1, 1).toordinal()


def draft_private(
    source: Any,
    budget: Budget,
    *,
    kind: str = "table",
    table: str | None = None,
    unit: Unit | None = None,
    order_key: bytes | None = None,
) -> Schema:
    """A schema with types, bounds and categories found privately; the budget's receipt says for how much.

    Without a delta, columns of text are left for the custodian to describe. Give the `unit` when a
    person has several records: the price then covers all that one person contributes. `order_key`
    repeats the choice of each user's records. With it, or with seeded noise, the schema says that it is not
    publishable, and so does every release that uses it. The records are read into memory.

    Only what a source declares in its header is taken as public: its columns' names, and that a column is
    of lists, bytes or the like and can be no field. What the values suggest is counted and paid for.
    """
    who = unit or Unit(review=True)
    info, drafter = catalogue.kind(kind), kind_draft(kind)
    if not info.private_drafts:
        raise UsageError(
            f"Data of kind '{kind}' cannot be drafted privately; draft it with '--headers-only'."
        )
    units = [known.name for known in info.units]
    if who.protects not in units:
        words = " or ".join(f"a {name}" for name in units)
        raise UsageError(f"A private draft protects {words}, not {who.words}.")
    refuse_foreign_unit(who, kind)
    records = open_source(source, table=table)
    known = draft(list(records.names), kind=kind, headers_only=True)
    if who.column is not None and who.column not in known.names:
        raise DataError(f"{who.column}: the data has no such column, but the unit protects users by it.")
    names = [name for name in known.names if name != who.column and not identifies_a_person(name)]
    if not names:
        raise DataError("All columns seem to identify people; write the schema by hand.")
    frame = records.plain(known.names)
    odd = [name for name in names if frame[name].dtype.is_nested() or frame[name].dtype in _ODD]
    names = [name for name in names if name not in odd]
    if not names:
        raise DataError("No column holds plain values that could be drafted; write the schema by hand.")
    if order_key is not None:
        budget.mark_repeatable()
    columns = _columns(frame, names, who, order_key)
    found = kinds(columns, budget.part("types", "1/5", delta_share=0))
    domains = _domains(columns, [kind_of_value for kind_of_value, _ in found], budget.rest("domains"))
    paid = Drafted(
        epsilon=plain(budget.epsilon),
        delta=plain(budget.delta),
        unit=who.words,
        publishable=budget.receipt().publishable and order_key is None,
    )
    top = [
        f"Drafted privately: {paid.words}. A release with this schema costs its own epsilon on top.",
        *["Made with a fixed seed: neither this schema nor a release with it is publishable."]
        * (not paid.publishable),
        *(f"Left out: '{name}' identifies people." for name in known.names if name not in [*names, *odd]),
        # Which type stands in a header; what it is made of, such as the keys of a struct, may be inferred.
        *(f"Left out: '{name}' is declared as neither text, numbers, dates nor booleans." for name in odd),
    ]
    fields, remarks = [], {}
    for column, (type_, missing) in zip(columns, found, strict=True):
        why = None if type_ is None else drafter.why_left_out(type_)
        if why is not None:
            top.append(f"Left out: '{column.name}' {why}.")
            continue
        place = known.field(column.name)
        field = _field(place, type_, domains.get(column.name), missing and drafter.missing_is_a_value)
        fields.append(field)
        remarks[column.name] = (_remark(field, type_, with_delta=budget.delta > 0),)
    if not fields:
        raise DataError(
            f"No column can become a field of {info.words}; draft another kind, or write the schema by hand."
        )
    schema = Schema(kind=kind, unit=who, missing_values=MARKERS, fields=tuple(fields), drafted=paid)
    return schema.with_remarks({"": tuple(top), **remarks})


def _columns(frame: pl.DataFrame, names: Sequence[str], unit: Unit, order_key: bytes | None) -> list[Column]:
    """The columns with at most as many records of each user as the unit allows."""
    if unit.column is not None:
        users = numbered_users(unit.column, frame[unit.column], MARKERS)
        frame = frame[
            sample_per_user(users.numbers, unit.records, order_key or fresh_key(), names=users.names)
        ]
    return [Column(frame[name], unit.records) for name in names]


def _domains(columns: Sequence[Column], types: Sequence[Type | None], pay: Budget) -> dict[str, Constraints]:
    """Bounds and categories, each column with an equal share; delta goes to the columns of text alone."""
    texts = [
        column for column, kind in zip(columns, types, strict=True) if kind == "string" and pay.delta > 0
    ]
    ranges = {column.name: kind for column, kind in zip(columns, types, strict=True) if kind in _RANGED}
    share = Fraction(1, max(1, len(texts) + len(ranges)))
    result: dict[str, Constraints] = {}
    for column in columns:
        if column in texts:
            part = pay.part(column.name, share, delta_share=Fraction(1, len(texts)))
            named = frequent(column.occurring(), part)
            if named:
                result[column.name] = Constraints(enum=tuple(named))
        elif column.name in ranges:
            kind = ranges[column.name]
            assert kind is not None
            ends = bounds(column, kind, pay.part(column.name, share, delta_share=0))
            if ends is not None:
                result[column.name] = _rounded(kind, *ends)
    return result


def _rounded(kind: Type, low: float, high: float) -> Constraints:
    """Round numbers and whole years around bounds that were found; costs nothing."""
    if kind in ("integer", "number"):
        start, end = round_outwards(low, high)
        return (
            Constraints(minimum=int(start), maximum=int(end))
            if kind == "integer"
            else Constraints(minimum=start, maximum=end)
        )
    first, last = (_year(kind, where) for where in (low, high))
    if kind == "date":
        return Constraints(minimum=date(first, 1, 1), maximum=date(last, 12, 31))
    return Constraints(minimum=datetime(first, 1, 1), maximum=datetime(last, 12, 31, 23, 59, 59))


def _year(kind: Type, where: float) -> int:
    """The year of a position, held within the calendar."""
    days = where if kind == "date" else where // 86400
    earliest, latest = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH
    day = at("date", min(max(days, earliest), latest))
    assert isinstance(day, date)
    return day.year


def _field(place: Field, kind: Type | None, domain: Constraints | None, missing: bool) -> Field:
    """What was found, or a place to fill in by hand."""
    if kind == "boolean":
        return Field(
            name=place.name, type="boolean", outside="other", missing="value" if missing else "refuse"
        )
    if kind is None or domain is None:
        return place
    return Field(
        name=place.name,
        type=kind,
        constraints=domain,
        outside="other" if kind == "string" else "clamp",
        missing="value" if missing else "refuse",
    )


def _remark(field: Field, kind: Type | None, *, with_delta: bool) -> str:
    if not field.review:
        what = {"string": ", its categories", "boolean": ""}.get(field.type, ", its bounds")
        return f"found privately: its type{what}, whether values are missing"
    if kind is None:
        return "too few records or too little epsilon to tell its type: declare it"
    if kind == "string":
        why = "too few people share a value" if with_delta else "finding categories needs a delta"
        return f"text, and {why}: declare its categories, or leave it out"
    return f"{kind}, and too little was paid to find its bounds: declare them"
