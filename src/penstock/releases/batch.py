"""Many questions from a file: one in each line, or in a column of a table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import PenstockError, QueryError
from penstock.releases.answer import Answer

if TYPE_CHECKING:
    import polars as pl


def answered(path: str, column: str, ask: Callable[[str], Answer], *, named: bool = True) -> pl.DataFrame:
    """The questions of a file with their answers: the columns of the file, then those of `with_answers`.

    A CSV or Parquet file with a column of the given name keeps its other columns. In any other file
    every line is one question, written as on the command line; empty lines are passed over. `named`
    is false where a first line with that name would itself be a question.
    """
    frame, places = _read(path, column, named=named)
    answers: list[Answer] = []
    for place, question in zip(places, frame[column], strict=True):
        if question is None or not question.strip():
            raise QueryError(f"'{path}', {place}: the {column} is empty; write one or leave the row out.")
        try:
            answers.append(ask(question))
        except PenstockError as problem:
            raise QueryError(f"'{path}', {place}: {problem}") from None
    return with_answers(frame, answers)


ANSWERED = ("error", "covers", "low", "high", "range", "rests_on", "caveats")
"""The columns of answers, behind that of their value."""


def with_answers(frame: pl.DataFrame, answers: Sequence[Answer], value: str = "count") -> pl.DataFrame:
    """The rows with the answer to each beside it: its number, bar, range, basis, and caveats as one text."""
    import polars as pl

    return frame.with_columns(
        pl.Series(value, [each.value for each in answers], dtype=pl.Float64),
        pl.Series("error", [each.error for each in answers], dtype=pl.Float64),
        pl.Series("covers", [each.covers for each in answers], dtype=pl.Float64),
        pl.Series("low", [each.range and each.range.low for each in answers], dtype=pl.Float64),
        pl.Series("high", [each.range and each.range.high for each in answers], dtype=pl.Float64),
        pl.Series("range", [each.range and each.range.known for each in answers], dtype=pl.String),
        pl.Series("rests_on", [each.rests_on for each in answers], dtype=pl.String),
        pl.Series("caveats", [" ".join(each.caveats) for each in answers], dtype=pl.String),
    )


def _read(path: str, column: str, *, named: bool) -> tuple[pl.DataFrame, list[str]]:
    """The questions in a column of that name, and where each of them stands."""
    import polars as pl

    place = Path(path)
    try:
        if place.suffix.lower() == ".parquet":
            return _table(pl.read_parquet(place), path, column)
        text = place.read_text(encoding="utf-8-sig")
        head = next(csv.reader(text.splitlines()[:1]), [])
        if named and column in (name.strip() for name in head):
            refuse_ragged(text, path)
            texts = {name: pl.String for name in head if name.strip() == column}
            frame = pl.read_csv(text.encode(), schema_overrides=texts, infer_schema_length=None)
            return _table(frame.rename(str.strip), path, column)
    except (OSError, UnicodeDecodeError, csv.Error, pl.exceptions.PolarsError) as problem:
        why = str(getattr(problem, "strerror", None) or problem).splitlines()[0].rstrip(".")
        raise QueryError(f"'{path}' cannot be read: {why}.") from None
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise QueryError(f"'{path}' is empty; write one {column} in each line.")
    frame = pl.DataFrame({column: [line.strip() for _, line in lines]})
    return frame, [f"line {number}" for number, _ in lines]


def _table(frame: pl.DataFrame, path: str, column: str) -> tuple[pl.DataFrame, list[str]]:
    import polars as pl

    if column not in frame.columns:
        raise QueryError(f"'{path}' has no column '{column}'; it has {', '.join(frame.columns)}.")
    if not frame.height:
        raise QueryError(f"'{path}' has a header and no rows; write one {column} in each row.")
    if frame[column].dtype == pl.List(pl.String):
        frame = frame.with_columns(pl.col(column).list.join(","))
    return frame.with_columns(pl.col(column).cast(pl.String)), [
        f"row {number}" for number in range(1, frame.height + 1)
    ]


def refuse_ragged(text: str, path: str) -> None:
    """Every row must have as many values as the header has names."""
    rows = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        width = len(next(rows, []))
        for number, row in enumerate((row for row in rows if row), 1):
            if len(row) != width:
                raise QueryError(
                    f"'{path}', row {number}: {len(row)} values where the header has {width} names; a value "
                    "with commas goes between double quotes."
                )
    except csv.Error as problem:
        raise QueryError(
            f"'{path}', line {rows.line_num}: this is no CSV ({problem}); a quote may not be closed."
        ) from None
