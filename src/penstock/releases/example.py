"""A first question to a release, made from its public schema alone."""

from __future__ import annotations

import re
from math import inf, nextafter

from penstock.errors import QueryError
from penstock.schema import Field, Schema
from penstock.schema.expression import parse
from penstock.schema.values import at, position, written

_BARE = re.compile(r"[^\W\d]\w*\Z")
_TAKEN = ("and", "or", "not", "in", "is", "missing")


def example_query(schema: Schema, most: int = 2) -> str | None:
    """A question about the first two fields, or `most` of them; None where no simple one can be written.

    >>> print(example_query(Schema.from_yaml('''
    ... fields:
    ... - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}}
    ... - {name: home town, constraints: {enum: [York, Leeds]}}
    ... ''')))
    age < 50 and "home town" = 'York'
    """
    told = [field for field in schema.fields if len(field.labels) > 1][:most]
    text = " and ".join(_term(field) for field in told)
    try:
        parse(text, schema)
    except QueryError:
        return None
    return text


def _term(field: Field) -> str:
    bare = _BARE.match(field.name) and field.name.lower() not in _TAKEN
    name = field.name if bare else '"' + field.name.replace('"', '""') + '"'
    if field.ranged:
        after_spikes = {nextafter(position(value), inf) for value in field.spikes}
        plain = [edge for edge in field.edges.values if field.whole or edge not in after_spikes]
        middle = plain[len(plain) // 2]
        return f"{name} < {written(at(field.type, middle))}"
    if field.type in ("integer", "number", "boolean", "date", "datetime"):
        return f"{name} = {field.labels[0]}"
    quoted = field.labels[0].replace("'", "''")
    return f"{name} = '{quoted}'"
