"""The plainest codebook: a CSV file whose first column names variables, the second what they hold."""

from __future__ import annotations

import csv
import io
import re

from penstock.errors import UsageError
from penstock.review.codebooks.entry import Entry
from penstock.schema.values import DATE, NUMBER

_HEADS = ("variable", "name", "column", "field")


def read(text: str, source: str) -> list[Entry]:
    """One line for each variable: `age,0..120`, `sex,male; female`, `edu,1=primary; 2=secondary`.

    Several lines of one variable add up. A second column that is neither bounds nor a list is a title.

    >>> [(e.name, e.low, list(e.values)) for e in read("age,0..120\\nsex,f; m\\n", "codes.csv")]
    [('age', '0', []), ('sex', None, ['f', 'm'])]
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    except csv.Error as problem:
        raise UsageError(f"'{source}' cannot be read as CSV: {problem}.") from None
    if rows and rows[0][0].strip().lower() in _HEADS:
        rows = rows[1:]
    gathered: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise UsageError(
                f"'{source}', line {number}, has {len(row)} columns; a plain codebook has two: the variable, "
                "and its bounds (0..120) or its values (a; b; c)."
            )
        gathered.setdefault(row[0].strip(), []).append(row[1].strip())
    if not gathered:
        raise UsageError(f"'{source}' holds no line of two columns.")
    return [_entry(name, said) for name, said in gathered.items()]


def _entry(name: str, said: list[str]) -> Entry:
    if len(said) == 1:
        low, dots, high = (part.strip() for part in said[0].partition(".."))
        if dots and all(re.match(f"{NUMBER}|{DATE}", end) for end in (low, high)):
            return Entry(name, low=low, high=high)
        if ";" not in said[0] and "|" not in said[0] and "=" not in said[0]:
            return Entry(name, title=said[0])
    values = {}
    for piece in (part.strip() for line in said for part in re.split(r"[;|]", line)):
        value, _, label = (each.strip() for each in piece.partition("="))
        if value:
            values[value] = label
    return Entry(name, values=values)
