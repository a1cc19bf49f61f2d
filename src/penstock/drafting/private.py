"""Private drafts: a schema whose types, bounds and categories were found under a small budget.

First a twentieth of the amount counts the records. Their noisy number says of how many columns the rest can
tell anything; these are looked at, the others left to fill in. What they show rules where a closer look pays.
What was found this way is paid for and needs no review. What could not be found is left to fill in, and
marked. Which column identifies a person, and whether a record or a user is the unit, remain the
custodian's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

import polars as pl

from penstock import catalogue
from penstock.drafting.bounds import Closer, Column, closer, frequent, outlines, threshold
from penstock.drafting.columns import MARKERS, identifies_a_person
from penstock.drafting.outline import CELLS, Outline, least_filled
from penstock.drafting.proposal import KindDraft, draft, kind_draft
from penstock.engine import Source
from penstock.engine import read as open_source
from penstock.engine.bound import fresh_key, numbered_users, sample_per_user
from penstock.errors import DataError, UsageError
from penstock.privacy.budgets.amounts import Amount, plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.unit import Unit
from penstock.schema import Constraints, Drafted, Field, Schema, round_outwards
from penstock.schema.schema import refuse_foreign_unit
from penstock.schema.values import Type, at

_ODD: Final = (pl.Binary, pl.Object, pl.Time, pl.Duration)
_EPOCH: Final = date(1970, 1, 1).toordinal()
COUNTING: Final = Fraction(1, 20)
"""The share of an amount that counts the records."""
_OUTLINES: Final = Fraction(9, 20)
_NOTHING: Final = Outline((0,) * len(CELLS), 1)


@dataclass(frozen=True)
class Reach:
    """What an amount can resolve in so many columns, told from public facts alone, before anything is paid.

    `records` is how many one unit has.

    >>> reach = Reach(10, Fraction(1, 10))
    >>> print(reach.words)
    Epsilon 0.1 for 10 columns tells a column's type and rough bounds from about 2,000 records that are
    alike. Of fewer records it looks at fewer columns: one needs about 200.
    >>> reach.columns_from(4500), reach.columns_from(1000), reach.columns_from(500)
    (10, 2, 0)
    """

    columns: int
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    records: int = 1

    def least(self, columns: int) -> int:
        """How many records of one cell it takes to be seen, where so many columns are looked at."""
        return least_filled(columns * self.records / float(self.epsilon * _OUTLINES))

    def columns_from(self, records: int) -> int:
        """Of how many columns something can be told: half of the records should fill a cell.

        The number of records is a noisy one, of which as much as the noise's scale is not trusted.
        """
        sure = records - self.records / float(self.epsilon * COUNTING)
        fitting = (many for many in range(self.columns, 0, -1) if 2 * self.least(many) <= sure)
        return next(fitting, 0)

    @property
    def words(self) -> str:
        """What to expect, for the custodian."""
        count = f"{self.columns:,} column{'' if self.columns == 1 else 's'}"
        told = (
            f"Epsilon {plain(self.epsilon)} for {count} tells a column's type and rough bounds from about "
            f"{_about(self.least(self.columns))} records that are alike"
        )
        if self.delta > 0:
            share = self.epsilon * (1 - COUNTING - _OUTLINES) / self.columns
            shared = threshold(share, self.delta / self.columns, self.records)
            told += f", and names categories that {_about(shared)} records share"
        return f"{told}. Of fewer records it looks at fewer columns: one needs about {_about(self.least(1))}."

    def told(self, looked_at: int) -> list[str]:
        """What became of it, for the head of the draft."""
        if looked_at == self.columns:
            return []
        return [
            f"There are too few records for this epsilon, so that {looked_at:,} of {self.columns:,} columns "
            f"were looked at. {self.words}"
        ]


def _about(number: int) -> str:
    """A number with two digits that count."""
    digits = max(0, len(str(number)) - 2)
    return f"{-(-number // 10**digits) * 10**digits:,}"


def draft_private(
    source: Any,
    budget: Budget,
    *,
    counting: Budget | None = None,
    kind: str = "table",
    table: str | None = None,
    unit: Unit | None = None,
    order_key: bytes | None = None,
) -> Schema:
    """A schema with types, bounds and categories found privately; the budget's receipt says for how much.

    `counting` pays for the number of records, which says whether the rest is worth paying; without it, a
    twentieth of the budget does. Without a delta, columns of text are left for the custodian to describe.
    Give the `unit` when a person has several records: the price then covers all that one person contributes.
    `order_key` repeats the choice of each user's records. With it, or with seeded noise, the schema says that
    it is not publishable, and so does every release that uses it. The records are read into memory.

    Only what a source declares in its header is taken as public: its columns' names, and that a column is
    of lists, bytes or the like and can be no field. What the values suggest is counted and paid for.
    """
    who = unit or Unit(review=True)
    info, drafter = catalogue.kind(kind), kind_draft(kind)
    records, known = _opened(source, kind, table, who)
    names = _looked_for(known, who)
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
    total = budget.epsilon + (counting.epsilon if counting is not None else 0)
    reach = Reach(len(columns), total, budget.delta, who.records)
    first = counting or budget.part("records", COUNTING, delta_share=0)
    many = noise.counts(columns[0].size(), pay=first)
    looked_at = columns[: reach.columns_from(int(many[0]))]
    found: dict[str, Outline] = {}
    domains: dict[str, Constraints] = {}
    if looked_at:
        share = _OUTLINES * total / budget.epsilon
        seen = outlines(looked_at, budget.part("outlines", share, delta_share=0))
        found = {column.name: outline for column, outline in zip(looked_at, seen, strict=True)}
        domains = _domains(looked_at, found, budget.rest("domains"), drafter)
    receipt = budget.receipt()
    before = 0 if counting is None else counting.receipt().epsilon
    paid = Drafted(
        epsilon=plain(receipt.epsilon + before),
        delta=plain(receipt.delta),
        unit=who.words,
        publishable=receipt.publishable and order_key is None,
    )
    top = [
        f"Drafted privately: {paid.words}. A release with this schema costs its own epsilon on top.",
        *reach.told(len(looked_at)),
        *["Made with a fixed seed: neither this schema nor a release with it is publishable."]
        * (not paid.publishable),
        *(f"Left out: '{name}' identifies people." for name in known.names if name not in [*names, *odd]),
        # Which type stands in a header; what it is made of, such as the keys of a struct, may be inferred.
        *(f"Left out: '{name}' is declared as neither text, numbers, dates nor booleans." for name in odd),
    ]
    fields, remarks = [], {}
    for column in columns:
        outline = found.get(column.name, _NOTHING)
        type_ = outline.type
        why = None if type_ is None else drafter.why_left_out(type_)
        if why is not None:
            top.append(f"Left out: '{column.name}' {why}.")
            continue
        place = known.field(column.name)
        field = _field(place, outline, domains.get(column.name), drafter.missing_is_a_value)
        fields.append(field)
        remarks[column.name] = (
            _remark(field, type_, looked=column.name in found, with_delta=budget.delta > 0),
        )
    if not fields:
        raise DataError(
            f"No column can become a field of {info.words}; draft another kind, or write the schema by hand."
        )
    schema = Schema(kind=kind, unit=who, missing_values=MARKERS, fields=tuple(fields), drafted=paid)
    return schema.with_remarks({"": tuple(top), **remarks})


def reach_of(
    source: Any,
    epsilon: Amount,
    delta: Amount = 0,
    *,
    kind: str = "table",
    table: str | None = None,
    unit: Unit | None = None,
) -> Reach:
    """What a private draft for this amount can resolve, from the names of the columns alone; costs nothing.

    >>> reach_of(pl.DataFrame({"patient_id": ["a"], "age": [45], "sex": ["f"]}), 1).columns
    2
    """
    who, asked = unit or Unit(), Budget(epsilon, delta)
    _, known = _opened(source, kind, table, who)
    return Reach(len(_looked_for(known, who)), asked.epsilon, asked.delta, who.records)


def _opened(source: Any, kind: str, table: str | None, who: Unit) -> tuple[Source, Schema]:
    """The records, and a schema that knows the names of their columns alone."""
    if not catalogue.kind(kind).private_drafts:
        raise UsageError(
            f"Data of kind '{kind}' cannot be drafted privately; draft it with '--headers-only'."
        )
    units = [known.name for known in catalogue.kind(kind).units]
    if who.protects not in units:
        words = " or ".join(f"a {name}" for name in units)
        raise UsageError(f"A private draft protects {words}, not {who.words}.")
    refuse_foreign_unit(who, kind)
    records = open_source(source, table=table)
    known = draft(list(records.names), kind=kind, headers_only=True)
    if who.column is not None and who.column not in known.names:
        raise DataError(f"{who.column}: the data has no such column, but the unit protects users by it.")
    return records, known


def _looked_for(known: Schema, who: Unit) -> list[str]:
    """The columns that may become fields, by their names."""
    return [name for name in known.names if name != who.column and not identifies_a_person(name)]


def _columns(frame: pl.DataFrame, names: Sequence[str], unit: Unit, order_key: bytes | None) -> list[Column]:
    """The columns with at most as many records of each user as the unit allows."""
    if unit.column is not None:
        users = numbered_users(unit.column, frame[unit.column], MARKERS)
        frame = frame[
            sample_per_user(users.numbers, unit.records, order_key or fresh_key(), names=users.names)
        ]
    return [Column(frame[name], unit.records) for name in names]


def _domains(
    columns: Sequence[Column], found: dict[str, Outline], pay: Budget, drafter: KindDraft
) -> dict[str, Constraints]:
    """Bounds, codes and categories: equal shares for the columns that a closer look can tell more about.

    Which ones these are is known from their outlines. Delta goes to the columns of text alone; without any,
    the outlines are all there is.
    """
    texts = [column for column in columns if found[column.name].type == "string" and pay.delta > 0]
    ranges = [column for column in columns if found[column.name].bounds is not None]
    share = Fraction(1, max(1, len(texts) + len(ranges)))
    result: dict[str, Constraints] = {}
    for column in columns:
        outline = found[column.name]
        if column in texts:
            part = pay.part(column.name, share, delta_share=Fraction(1, len(texts)))
            named = frequent(column.occurring(), part)
            if named:
                result[column.name] = Constraints(enum=tuple(named))
        elif column in ranges:
            assert outline.type is not None
            part = pay.part(column.name, share, delta_share=0)
            codes = drafter.codes_are_categories
            look = closer(column, outline.type, outline, part, codes_are_categories=codes)
            result[column.name] = _rounded(outline.type, look)
    return result


def _rounded(kind: Type, found: Closer) -> Constraints:
    """Codes as they are; round numbers and whole years around bounds that were found. Costs nothing."""
    low, high = found.low, found.high
    if found.codes:
        return Constraints(enum=found.codes)
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


def _field(place: Field, outline: Outline, domain: Constraints | None, missing_is_a_value: bool) -> Field:
    """What was found, or a place to fill in by hand."""
    kind = outline.type
    gaps = outline.missing and missing_is_a_value
    common: dict[str, Any] = {"name": place.name, "missing": "value" if gaps else "refuse"}
    if outline.signs and gaps:
        common["missing_values"] = (*outline.signs, *MARKERS)
    if kind == "boolean":
        return Field(type="boolean", outside="other", **common)
    if kind is None or domain is None:
        return place
    listed = domain.enum or ()
    return Field(
        type=kind,
        constraints=domain,
        categories_ordered=kind != "string" and len(listed) > 2,
        outside="other" if listed else "clamp",
        **common,
    )


def _remark(field: Field, kind: Type | None, *, looked: bool, with_delta: bool) -> str:
    if not field.review:
        what = {"boolean": ""}.get(
            field.type, ", its categories" if field.constraints.enum else ", its bounds"
        )
        return f"found privately: its type{what}, whether values are missing"
    if not looked:
        return "not looked at, because there is too little epsilon for so many columns: declare it"
    if kind is None:
        return "too few records or too little epsilon to tell its type: declare it"
    why = "too few people share a value" if with_delta else "finding categories needs a delta"
    return f"text, and {why}: declare its categories, or leave it out"
