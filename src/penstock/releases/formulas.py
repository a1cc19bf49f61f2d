"""Texts that a spreadsheet would take for formulas, and run on the machine of whoever opens the rows.

A category such as ``=HYPERLINK(...)`` is a text to us and to every reader of CSV, and a program to a
spreadsheet. A release keeps it as it is, because rows must be what the schema says; who declares it is told,
and `penstock sample --for-spreadsheets` writes rows that are safe to open.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.schema.values import NUMBER

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")  # the wide ones, too: some spreadsheets read them alike
_NUMBER = re.compile(NUMBER)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet might run a text.

    >>> is_formula("=1+1"), is_formula("-5"), is_formula("-cmd")
    (True, False, True)
    """
    return _FORMULA.match(text) is not None and _NUMBER.match(text) is None


def formulas(schema: Schema) -> list[str]:
    """The names of fields, and the categories, that a spreadsheet might run."""
    labels = [label for field in schema.fields if not field.ranged for label in field.labels]
    return [text for text in (*schema.names, *labels) if is_formula(text)]


def without_formulas(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows with an apostrophe before every name and text that a spreadsheet might run."""
    import polars as pl

    safe = [
        column.replace_strict(
            list(risky := {text: f"'{text}" for text in column.unique().drop_nulls() if is_formula(text)}),
            list(risky.values()),
            default=column,
            return_dtype=pl.String,
        )
        for column in rows.get_columns()
        if column.dtype == pl.String
    ]
    named = rows.with_columns(safe)
    return named.rename({name: f"'{name}" for name in named.columns if is_formula(name)})
