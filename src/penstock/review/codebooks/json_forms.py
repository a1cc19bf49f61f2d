"""Codebooks in JSON: Frictionless packages and table schemas, CSV on the Web, and dictionaries as NIST's."""

from __future__ import annotations

import re
from typing import Any, get_args

from penstock.errors import UsageError
from penstock.review.codebooks.entry import Entry, listed, text_of
from penstock.schema.values import NUMBER, Type

_CSVW: dict[str, Type] = {
    **dict.fromkeys(("integer", "int", "long", "short", "byte", "gYear", "nonNegativeInteger"), "integer"),
    **dict.fromkeys(("number", "decimal", "double", "float"), "number"),
    **dict.fromkeys(("string", "normalizedString", "token", "any"), "string"),
    "boolean": "boolean",
    "date": "date",
    "datetime": "datetime",
    "dateTime": "datetime",
}
_ONE_OF = re.compile(r"^\^?\(?([^()\[\]\\.*+?{}]+)\)?\$?$")
_WORDS = ("description", "link", "values", "min", "max", "title", "label", "type", "dtype", "kind", "name")


def read(found: Any, source: str) -> list[Entry]:
    """The entries of a JSON codebook, whichever of the three it is."""
    if isinstance(found, dict):
        if "tableSchema" in found or "tables" in found:
            return _csvw(found)
        if "resources" in found or isinstance(found.get("fields"), list):
            return _frictionless(found)
        found = found.get("schema", found)
        if isinstance(found, dict) and found and all(isinstance(each, dict) for each in found.values()):
            return [_nist(str(name), facts) for name, facts in found.items()]
    raise UsageError(
        f"'{source}' is JSON, and neither a Frictionless package or table schema, nor CSV on the Web, nor a "
        "dictionary of variables by name."
    )


def _frictionless(found: dict[str, Any]) -> list[Entry]:
    resources = found.get("resources")
    schemas = [each.get("schema") for each in resources] if isinstance(resources, list) else [found]
    entries = []
    for schema in schemas:
        if not isinstance(schema, dict):
            continue
        common = listed(schema.get("missingValues") or ())
        for field in schema.get("fields") or ():
            limits = field.get("constraints") or {}
            values = limits.get("enum") or field.get("categories") or ()
            kind: Any = field.get("type")
            signs = listed(field["missingValues"]) if "missingValues" in field else common
            entries.append(
                Entry(
                    name=str(field.get("name", "")),
                    title=text_of(field.get("title") or ""),
                    description=text_of(field.get("description") or ""),
                    type="integer" if kind == "year" else kind if kind in get_args(Type) else None,
                    values=listed(values),
                    low=_maybe(limits.get("minimum")),
                    high=_maybe(limits.get("maximum")),
                    ordered=bool(field.get("categoriesOrdered")),
                    signs=tuple(sign for sign in signs if sign),
                    required=bool(limits.get("required")),
                )
            )
    return entries


def _csvw(found: dict[str, Any]) -> list[Entry]:
    tables = found.get("tables") or [found]
    entries = []
    for table in tables:
        for column in (table.get("tableSchema") or {}).get("columns") or ():
            kind = column.get("datatype", "string")
            kind = {"base": kind} if isinstance(kind, str) else kind
            titles = column.get("titles") or ""
            titles = titles if isinstance(titles, str) else next(iter(_flat(titles)), "")
            pattern = _ONE_OF.match(str(kind.get("format", "")))
            choices = pattern[1].split("|") if pattern and "|" in pattern[1] else []
            null = column.get("null", table.get("null", ()))
            entries.append(
                Entry(
                    name=str(column.get("name") or titles),
                    title=str(titles) if column.get("name") and titles != column.get("name") else "",
                    description=text_of(column.get("dc:description") or column.get("rdfs:comment") or ""),
                    type=_CSVW.get(str(kind.get("base", "string"))),
                    values=listed(choices),
                    low=_maybe(kind.get("minimum", kind.get("minInclusive"))),
                    high=_maybe(kind.get("maximum", kind.get("maxInclusive"))),
                    signs=tuple(sign for sign in ([null] if isinstance(null, str) else null) if sign),
                    required=bool(column.get("required")),
                )
            )
    return entries


def _flat(titles: Any) -> list[str]:
    """Titles may be a list, or a mapping from languages to either."""
    if isinstance(titles, dict):
        return [text for each in titles.values() for text in _flat(each)]
    return [str(each) for each in titles] if isinstance(titles, list) else [str(titles)]


def _nist(name: str, facts: dict[str, Any]) -> Entry:
    """A variable of a dictionary by name: codes with labels, and bounds as `min` and `max` among them.

    Beside bounds, a code that is a number is a value that stands out, and another code a missing value.
    """
    values = facts.get("values", {key: each for key, each in facts.items() if key not in _WORDS})
    if isinstance(values, list):
        values = listed(values)
    limits = {**facts, **values}
    low, high = _maybe(limits.get("min")), _maybe(limits.get("max"))
    codes = {text_of(key): text_of(label) for key, label in values.items() if key not in ("min", "max")}
    words = text_of(facts.get("description") or facts.get("label") or "")
    if low is None or high is None:
        return Entry(name, description=words, values=codes)
    numbers = sorted((code for code in codes if re.match(NUMBER, code)), key=float)
    ends = sorted([low, high, *numbers], key=float)
    labels = "; ".join(f"{code} = {label}" for code, label in codes.items() if label)
    return Entry(
        name,
        description=". ".join(part.rstrip(".") for part in (words, labels) if part),
        low=ends[0],
        high=ends[-1],
        spikes=tuple(numbers),
        signs=tuple(code for code in codes if code not in numbers),
    )


def _maybe(value: Any) -> str | None:
    return None if value is None or value == "" else text_of(value)
