"""The schema: all that is public about the data before anyone looks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import (
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from penstock import catalogue
from penstock.errors import DataError, QueryError, SchemaError
from penstock.privacy.unit import Relation, Unit
from penstock.schema import document
from penstock.schema.attribute import Attribute, Codes
from penstock.schema.codec import Codec
from penstock.schema.editing import html_of, with_facts, with_field, without_field
from penstock.schema.expression import Condition, any_of, parse, parse_rule
from penstock.schema.fact import Fact, nearest, refuse_unknown_keys
from penstock.schema.field import Field
from penstock.schema.ground import Ground, checked
from penstock.schema.layout import Layout, layout_class
from penstock.schema.values import BLANKS, is_pattern

if TYPE_CHECKING:
    import ibis.expr.types as ir

Amount = Annotated[str, StringConstraints(pattern=r"^[0-9][0-9./e-]{0,200}$")]


class Drafted(Fact):
    """What finding this schema's facts in the records cost; a release costs its own amount on top.

    `publishable` is false when the noise came from a fixed seed: whoever knows the seed can subtract it, and
    neither this schema nor a release with it protects anybody.

    >>> Drafted(epsilon="0.1", unit="one record").words
    'epsilon 0.1 for one record'
    """

    epsilon: Amount
    delta: Amount = "0"
    unit: Annotated[str, StringConstraints(max_length=300)] = "one record"
    publishable: bool = True

    @property
    def words(self) -> str:
        delta = "" if self.delta == "0" else f" and delta {self.delta}"
        return f"epsilon {self.epsilon}{delta} for {self.unit}"


class Schema(Fact):
    """Columns, domains, taxonomies, bounds and the privacy unit.

    >>> schema = Schema.from_yaml('''
    ... fields:
    ... - {name: sex, constraints: {enum: [Female, Male]}}
    ... - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}}
    ... ''')
    >>> [(a.name, a.size) for a in schema.attributes]
    [('sex', 2), ('age', 10)]
    """

    kind: str = "table"
    title: str | None = None
    description: str | None = None
    unit: Unit = Unit()
    relation: Relation = Relation.ADD_REMOVE
    size: int | None = None
    missing_values: tuple[str, ...] = ("",)
    fields: tuple[Field, ...]
    impossible: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    target: str | None = None
    ground: Annotated[Ground, PlainValidator(checked), PlainSerializer(list)] = ()
    drafted: Drafted | None = None
    layout: SerializeAsAny[Layout] | None = None

    _remarks: dict[str, tuple[str, ...]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _in_the_words_of_its_kind(cls, data: Any) -> Any:
        """The unit is spelt right, and what the kind of data has of its own is found: unit and layout."""
        if not isinstance(data, Mapping):
            return data
        if isinstance(data.get("unit"), Mapping):
            refuse_unknown_keys(Unit, data["unit"], "unit")
        found = dict(data)
        kind = _kind(found.get("kind", "table"))
        for other in catalogue.every_kind():
            if other.layout is not None and other.name != kind.name and other.layout[0] in found:
                raise SchemaError(
                    f"{other.layout[0]}: this block belongs to data of kind '{other.name}', and the schema "
                    f"describes '{kind.name}'. Write 'kind: {other.name}', or remove the block."
                )
        if found.get("unit") is None and kind.units[0].name != Unit().protects:
            found["unit"] = {"protects": kind.units[0].name}
        block = layout_class(kind.name)
        if block is not None:
            key, layout = block
            stated = found.pop(key, None)
            if stated is None and layout.required and found.get("fields") is None:
                raise SchemaError(layout.missing)
            if stated is not None:
                found["layout"] = layout.model_validate(stated)
        if found.get("fields") is None and isinstance(found.get("layout"), Layout):
            found["fields"] = found["layout"].own_fields()
        return found

    @model_serializer(mode="wrap")
    def _with_its_layout(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The layout stands under the key of its kind, behind everything else."""
        facts: dict[str, Any] = handler(self)
        stated = facts.pop("layout", None)
        block = catalogue.kind(self.kind).layout
        return facts if block is None or stated is None else {**facts, block[0]: stated}

    @classmethod
    def _keys(cls, data: Mapping[str, Any]) -> list[str]:
        """The keys of any schema, and the layouts of all kinds: what belongs to another kind is told so."""
        layouts = [info.layout[0] for info in catalogue.every_kind() if info.layout is not None]
        return [key for key in super()._keys(data) if key != "layout"] + layouts

    @model_validator(mode="after")
    def _consistent(self) -> Schema:
        if not self.fields:
            raise SchemaError("schema: no fields are declared. List at least one column under 'fields'.")
        seen: set[str] = set()
        placed = () if self.layout is None else self.layout.columns
        for name in (*self.names, *placed, self.unit.column or ""):
            if is_pattern(name):
                raise SchemaError(
                    f"{name}: this name reads as a pattern of names, not as one. Rename the column."
                )
        for field in self.fields:
            if field.name in seen:
                raise SchemaError(f"{field.name}: the field is declared twice. Remove one of the two.")
            seen.add(field.name)
        if self.size is not None and self.size < 1:
            raise SchemaError(f"schema: size {self.size} is not positive. Give the public number of records.")
        for name, codec in self.codecs.items():
            marked = {marker.strip(BLANKS) for marker in codec.markers}
            both = [
                label
                for label in (() if codec.field.ranged else codec.field.spellings)
                if label.strip(BLANKS) in marked
            ]
            if both:
                raise SchemaError(
                    f"{name}: the category '{both[0]}' is also a sign for a missing value. "
                    "Remove it from the enum, or give the field its own 'missingValues'."
                )
        self._refuse_foreign_target(seen)
        if self.drops and not catalogue.kind(self.kind).drops:
            kinds = " and ".join(info.words for info in catalogue.every_kind() if info.drops)
            raise SchemaError(
                f"outside: only {kinds} can be dropped, and the schema describes '{self.kind}'. Set "
                "'outside: clamp' or 'outside: refuse'."
            )
        if self.ground and not catalogue.kind(self.kind).maps:
            raise SchemaError(f"ground: data of kind '{self.kind}' have no map to draw it under. Remove it.")
        refuse_foreign_unit(self.unit, self.kind)
        block = layout_class(self.kind)
        if self.layout is not None and block is not None:
            self.layout.refuse_undeclared(block[0], seen)
        try:
            _ = self.rules
        except QueryError as problem:
            raise SchemaError(str(problem)) from None
        return self

    def _refuse_foreign_target(self, declared: set[str]) -> None:
        if self.target is None:
            return
        if not catalogue.kind(self.kind).targets:
            kinds = [info.words for info in catalogue.every_kind() if info.targets]
            raise SchemaError(
                f"target: only {' and '.join(kinds)} can have a target, and the schema describes "
                f"'{self.kind}'. Remove it."
            )
        if self.target not in declared:
            raise SchemaError(
                f"target: '{self.target}' is not among the fields. Name one of them, or remove the target."
            )

    def __eq__(self, other: object) -> bool:
        """Equal facts; remarks for the reviewer are not facts."""
        if not isinstance(other, Schema):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).model_fields)

    def __hash__(self) -> int:
        return hash((self.kind, self.fields))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a YAML file; a taxonomy given as a path is read from beside it."""
        return cls.model_validate(document.read(Path(path)))

    @classmethod
    def from_yaml(cls, text: str) -> Schema:
        """Read YAML text in which everything is written out."""
        return cls.model_validate(document.parse(text))

    def to_yaml(self) -> str:
        """YAML that reads back as an equal schema; a draft's remarks become comments."""
        facts = self.model_dump(by_alias=True, exclude_defaults=True)
        fields = zip(self.fields, facts["fields"], strict=True)
        facts["fields"] = [{"name": field.name, "type": field.type, **shown} for field, shown in fields]
        return document.write(facts, self._remarks)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the schema as YAML; an existing file, which may have been reviewed, only where told so."""
        try:
            with Path(path).open("w" if overwrite else "x", encoding="utf-8") as file:
                file.write(self.to_yaml())
        except FileExistsError:
            raise SchemaError(
                f"{path}: exists already. Choose another place, or replace it with 'overwrite=True'."
            ) from None
        except OSError as problem:
            raise SchemaError(
                f"{path}: cannot be written ({problem.strerror}). Choose another place."
            ) from None

    def with_field(self, name: str, **facts: Any) -> Schema:
        """The same schema with some facts of a field changed, or with a further field; checked anew.

        Facts are the words of the YAML; `minimum`, `maximum` and `enum` need no block around them.

        >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}]")
        >>> wider = schema.with_field("age", type="integer", minimum=0, maximum=99, bins={"width": 10})
        >>> wider.with_field("age", maximum=119).field("age").domain
        '0..119'
        """
        return with_field(self, name, facts)

    def without_field(self, name: str) -> Schema:
        """The same schema without a field: its column is not released."""
        return without_field(self, name)

    def with_facts(self, **facts: Any) -> Schema:
        """The same schema with other facts in the words of the YAML, such as ``target="income"``."""
        return with_facts(self, facts)

    def _repr_html_(self) -> str:
        return html_of(self)

    def with_remarks(self, remarks: Mapping[str, tuple[str, ...]]) -> Schema:
        """The same schema with comment lines for the reviewer, by field name ('' for the top)."""
        copy = self.model_copy()
        copy._remarks = dict(remarks)
        return copy

    def with_remark(self, remark: str) -> Schema:
        """The same schema with one more comment line at its top."""
        return self.with_remarks({**self._remarks, "": (*self._remarks.get("", ()), remark)})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def field(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise SchemaError(
            f"{name}: not a field of the schema{nearest(name, self.names)}. "
            f"Its fields are {', '.join(self.names)}."
        )

    def to_review(self) -> list[str]:
        """What still carries ``review: true``: fields by name, and 'unit'."""
        return [field.name for field in self.fields if field.review] + ["unit"] * self.unit.review

    @property
    def booked(self) -> Unit:
        """The unit as a ledger keeps it: a record that is gathered from rows goes by the column that does it.

        A row of an event log and a whole sequence of its events are different units: without one row, its
        sequence is still there, and another. So they may not both be a plain record in one account.
        """
        gathered = None if self.layout is None else self.layout.gathered_by
        if gathered is None or self.unit.column is not None:
            return self.unit
        return Unit(protects=self.unit.protects, column=gathered, at_most=1)

    @property
    def publishable(self) -> bool:
        """False when its facts were drafted with a fixed seed, which anyone could use to undo the noise."""
        return self.drafted is None or self.drafted.publishable

    def refuse_if_unreviewed(self) -> None:
        """Facts read off the data are not public before the custodian has confirmed them."""
        waiting = self.to_review()
        if waiting:
            shown = ", ".join(waiting[:8]) + (f" and {len(waiting) - 8} more" if len(waiting) > 8 else "")
            raise SchemaError(
                f"schema: not yet reviewed: {shown}. Check each against public knowledge, "
                "then change its 'review: true' to 'review: false'."
            )

    def refuse_if_nothing_is_possible(self) -> None:
        """Rules that leave no row possible would make a release useless, and only after it was paid for."""
        if not self.rules:
            return
        try:
            _ = [rule.can_hold() for rule in self.rules]
            possible = any_of(self.rules).negated.can_hold()
        except QueryError as problem:
            raise SchemaError(f"impossible: {problem}") from None
        if not possible:
            raise SchemaError("impossible: together the rules leave no row possible. Loosen one of them.")

    @cached_property
    def codecs(self) -> dict[str, Codec]:
        return {
            field.name: Codec(
                field, self.missing_values if field.missing_values is None else field.missing_values
            )
            for field in self.fields
        }

    def codec(self, name: str) -> Codec:
        self.field(name)
        return self.codecs[name]

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The coded view, in the order of the fields."""
        return tuple(codec.attribute for codec in self.codecs.values())

    def attribute(self, name: str) -> Attribute:
        return self.codec(name).attribute

    @property
    def sizes(self) -> dict[str, int]:
        """The number of codes of every field."""
        return {attribute.name: attribute.size for attribute in self.attributes}

    @cached_property
    def rules(self) -> tuple[Condition, ...]:
        """What can never occur, ready to be asked: the impossible, and the opposite of what always holds."""
        found = []
        for key, listed, read in (
            ("impossible", self.impossible, parse),
            ("always", self.always, parse_rule),
        ):
            for rule in listed:
                try:
                    found.append(read(rule, self.codecs))
                except QueryError as problem:
                    raise QueryError(f"{key}: {problem}") from None
        return tuple(found)

    def rules_out(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """For every row whether it breaks a rule."""
        ruled = [rule.holds(frame) for rule in self.rules]
        return np.logical_or.reduce(ruled) if ruled else np.zeros(frame.height, dtype=np.bool_)

    def refuse_lacking_columns(self, columns: list[str]) -> None:
        """Every declared field must be a column of the data; other columns are left alone."""
        for name in self.names:
            if name not in columns:
                raise DataError(
                    f"{name}: the data has no such column{nearest(name, columns)}. "
                    "Correct the name in the schema, or remove the field."
                )

    def encode(
        self, frame: pl.DataFrame, ignored: NDArray[np.bool_] | None = None, *, before: int = 0
    ) -> dict[str, Codes]:
        """The codes of every field; columns that the schema does not declare are not read.

        `before` is how many records came before these, for the row in a message.
        """
        self.refuse_lacking_columns(frame.columns)
        return {
            name: codec.encode(frame[name], ignored, before=before) for name, codec in self.codecs.items()
        }

    @property
    def drops(self) -> bool:
        """Whether a record that lies outside of some field's bounds is no part of the data."""
        return any(field.outside == "drop" for field in self.fields)

    def dropped(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """For every row whether it lies outside of bounds that say so.

        Whether a row stays depends on that row alone, so data that differ in one record still do.
        """
        found: NDArray[np.bool_] = np.logical_or.reduce(
            [codec.dropped(frame[name]) for name, codec in self.codecs.items()]
        )
        return found

    def staying(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows that are not dropped."""
        return frame[np.flatnonzero(~self.dropped(frame))] if self.drops else frame

    def within(self, table: ir.Table) -> ir.Table:
        """The same inside a database."""
        from penstock.schema.database import within

        return within(table, self.codecs) if self.drops else table

    def coded(self, table: ir.Table, keep: Mapping[str, str] | None = None) -> ir.Table:
        """The same codes computed inside a database, -1 where a value must be refused.

        ``keep`` carries further columns along, under a new name: ``{"user": "patient_id"}``.
        """
        from penstock.schema.database import coded

        self.refuse_lacking_columns(list(table.columns))
        return coded(table, self.codecs, keep or {})

    def decode(self, codes: Mapping[str, NDArray[Any]], rng: np.random.Generator) -> pl.DataFrame:
        """A frame of plausible raw values for these codes, in the order of the fields."""
        return pl.DataFrame(
            [self.codecs[name].decode(codes[name], rng) for name in self.names if name in codes]
        )

    def marked(self, frame: pl.DataFrame, *, as_text: bool = False) -> pl.DataFrame:
        """Decoded rows whose missing values are written as they came (see `Codec.marked`)."""
        own = {name: codec for name, codec in self.codecs.items() if codec.marker and name in frame.columns}
        return frame.with_columns(codec.marked(frame[name], as_text=as_text) for name, codec in own.items())


def refuse_foreign_unit(unit: Unit, kind: str) -> None:
    """The unit is one that the kind of data knows, and has a column and a bound just where it needs them."""
    known = {info.name: info for info in catalogue.kind(kind).units}
    if unit.protects not in known:
        first = next(iter(known))
        raise SchemaError(
            f"unit: in data of kind '{kind}' the unit is {' or '.join(map(repr, known))}, not "
            f"'{unit.protects}'. Write 'unit: {{protects: {first}}}', or correct the kind."
        )
    bounded = [name for name, info in known.items() if info.bounded]
    if unit.column is None and unit.protects in bounded:
        raise SchemaError(
            f"unit: protects '{unit.protects}' needs 'column', the field that identifies a {unit.protects}."
        )
    if unit.at_most is not None and unit.column is None and not known[unit.protects].together:
        raise SchemaError(f"unit: 'at_most' needs 'column', the field that identifies a {unit.protects}.")
    if unit.column is not None and unit.protects not in bounded:
        words = " or ".join(f"'protects: {name}'" for name in bounded) or "other kinds of data"
        raise SchemaError(f"unit: 'column' and 'at_most' belong to {words}, not to '{unit.protects}'.")


def _kind(name: object) -> catalogue.KindInfo:
    """The kind of data that a schema names."""
    known = {info.name: info for info in catalogue.every_kind()}
    if not isinstance(name, str) or name not in known:
        words = ", ".join(repr(each) for each in known)
        raise SchemaError(f"schema: 'kind' is {name!r}; write one of {words}{nearest(name, known)}.")
    return known[name]
