"""Schemas as people edit and see them in a notebook: one field at a time, and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from penstock.errors import SchemaError
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    from penstock.schema.schema import Schema

_CONSTRAINTS = ("minimum", "maximum", "enum", "required", "pattern")
_HEAD = "text-align:left;padding:2px 14px 2px 0"


def with_field(schema: Schema, name: str, facts: Mapping[str, Any]) -> Schema:
    """The schema with facts of one field changed, or with a field added behind the others."""
    said = _facts(schema)
    known = {each["name"]: each for each in said["fields"]}
    field = dict(known.get(name, {"name": name}))
    constraints = dict(field.get("constraints") or {})
    for key, value in facts.items():
        if key in _CONSTRAINTS:
            constraints[key] = value
        else:
            field[_alias(schema, key)] = value
    constraints = {key: value for key, value in constraints.items() if value is not None}
    field = {**field, "constraints": constraints} if constraints else {**field}
    if not constraints:
        field.pop("constraints", None)
    fields = [field if each["name"] == name else each for each in said["fields"]]
    return _made(schema, said, fields if name in known else [*fields, field])


def with_facts(schema: Schema, facts: Mapping[str, Any]) -> Schema:
    """The schema with facts changed that belong to no field."""
    said = {**_facts(schema), **facts}
    return _made(schema, said, said["fields"])


def without_field(schema: Schema, name: str) -> Schema:
    """The schema without one of its fields."""
    if name not in schema.names:
        raise SchemaError(
            f"{name}: not a field of the schema{nearest(name, schema.names)}. Name one that is."
        )
    said = _facts(schema)
    return _made(schema, said, [each for each in said["fields"] if each["name"] != name])


def _facts(schema: Schema) -> dict[str, Any]:
    """All that the schema says, in the words of the YAML."""
    said: dict[str, Any] = schema.model_dump(by_alias=True, exclude_defaults=True)
    fields = zip(schema.fields, said["fields"], strict=True)
    said["fields"] = [{"name": field.name, "type": field.type, **facts} for field, facts in fields]
    return said


def _made(schema: Schema, said: Mapping[str, Any], fields: list[dict[str, Any]]) -> Schema:
    changed = type(schema).model_validate({**said, "fields": fields})
    return changed.with_remarks(schema._remarks)


def _alias(schema: Schema, key: str) -> str:
    """The word of the YAML for a fact that may be written as Python writes names."""
    told = type(schema.fields[0]).model_fields.get(key)
    return key if told is None or told.alias is None else str(told.alias)


def html_of(schema: Schema) -> str:
    """The schema as a small table: a row for each field, and what is left to review."""
    head = "".join(f'<th style="{_HEAD}">{title}</th>' for title in ("field", "type", "domain", "review"))
    rows = []
    for field in schema.fields:
        try:
            domain = field.domain
        except SchemaError:
            domain = "not declared yet"
        cells = (field.name, field.type, domain, "to review" if field.review else "")
        rows.append("<tr>" + "".join(f'<td style="{_HEAD}">{escape(cell)}</td>' for cell in cells) + "</tr>")
    waiting = len(schema.to_review())
    left = f"{waiting} to review" if waiting else "nothing left to review"
    facts = f"data of kind {schema.kind}, one {schema.unit.words.removeprefix('one ')} is protected, {left}"
    return (
        f'<div style="border-left:4px solid #0072B2;padding:4px 0 4px 14px"><strong>Schema</strong> '
        f'<span style="opacity:.7">{escape(facts)}</span>'
        f'<table style="border:0;margin-top:4px"><tr>{head}</tr>{"".join(rows)}</table></div>'
    )
