"""How much disk a release may need, from public facts alone: the schema and the method's parameters.

How many synthetic rows there will be follows from the records, so nobody asks them. Rows are counted as the
schema declares their number, or else as a hundred thousand; where there are more and the disk is full, the
model is kept.
"""

from __future__ import annotations

from penstock.releases.folder import MANY_ROWS, MOST_ROWS
from penstock.schema import Schema
from penstock.schema.field import Field

REPORT = 6 << 20
"""Bytes of a report: the plotting library in it has five million."""

_CELL = 8
_WIDEST = {"integer": 20, "number": 24, "boolean": 5, "date": 10, "datetime": 26}


def room(schema: Schema, cells: int) -> int:
    """Bytes for a release with a model of so many numbers.

    >>> small = Schema.from_yaml("{size: 10, fields: [{name: smoker, type: boolean}]}")
    >>> 0 < room(small, 2) - REPORT < 1000
    True
    """
    rows = min(schema.size or MANY_ROWS, MOST_ROWS)
    each = 1 if schema.layout is None else schema.layout.most_values
    written = rows * each * sum(_width(field) for field in schema.fields)
    return REPORT + cells * _CELL + len(schema.to_yaml()) + written * (2 if rows > MANY_ROWS else 1)


def _width(field: Field) -> int:
    """Bytes of the longest value of a field and the comma behind it."""
    if field.ranged:
        return _WIDEST[field.type] + 1
    return max((len(label.encode()) for label in field.labels), default=0) + 3
