"""`penstock predict`: the cluster, the label or the number of new rows, from a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import File, Folder, HeaderNames, Json, NoHeader, TableName

if TYPE_CHECKING:
    import polars as pl


def predict(
    folder: Folder,
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            show_default=False,
            help="A .csv or .parquet file; CSV on the screen when not given.",
        ),
    ] = None,
    target_name: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="FIELD",
            show_default=False,
            help="For a release of a whole table: the field to predict. A logistic regression is trained on "
            "synthetic rows of the release; when not given, the schema's target.",
        ),
    ] = None,
    table: TableName = None,
    header: HeaderNames = None,
    no_header: NoHeader = False,
    as_json: Json = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Say to which cluster or label each row of a file belongs, or its number, at no further privacy cost.

    One row for each row of FILE, in its order: the cluster, the label or the number, and the probability of
    every label where the release knows it. A row that lacks what the release asks for has no answer, and how
    many there are is said. The release stays as private as it is; what is written here is about the rows of
    FILE, and as private as they are.

    [bold]Examples[/bold]

        penstock predict rides-clusters rides.csv -o clusters.csv
        penstock predict income-release applicants.parquet -o labels.parquet
        penstock predict income-release applicants.csv --json
        penstock predict adult-release applicants.csv --target income -o labels.csv
    """
    from penstock.cli.draft import refuse_existing, refuse_unwritable
    from penstock.cli.options import header as names
    from penstock.cli.screen import clean, note, print_json, printable, progress_bars
    from penstock.engine import read
    from penstock.errors import UsageError
    from penstock.releases import load
    from penstock.releases.custodian import custodians_file, refuse_inside_release
    from penstock.releases.disk import reason

    target = None if out is None else Path(out)
    if target is not None:
        if target.suffix.lower() not in (".csv", ".parquet"):
            raise UsageError(f"'{out}' must end in .csv or .parquet, so that it is clear what to write.")
        refuse_existing(target, force)
        refuse_inside_release(target, "what is said about single rows")
        refuse_unwritable(target)
    opened = load(folder).predicting(target_name)
    if opened.learned_from:
        note(f"Answers are those of {opened.learned_from}.")
    with progress_bars():
        source = read(file, table=table, header=names(header, no_header))
        known = [name for name in opened.predictors if name in source.names]
        # a model that looks at no column still answers once for every row
        found = opened.predict(source.cells(known or source.names[:1]))
        if target is not None:
            try:
                with custodians_file(target, "what is said about single rows") as partial:
                    if target.suffix.lower() == ".csv":
                        Path(partial).write_text(_as_csv(found), encoding="utf-8", newline="")
                    else:
                        found.write_parquet(partial)
            except OSError as problem:
                raise UsageError(f"'{out}' cannot be written: {reason(problem)}.") from None
    if as_json:
        print_json(found.to_dicts())
    elif target is None:
        text = _as_csv(found)
        print(printable(text) if sys.stdout.isatty() else text, end="")
    if target is not None:
        note(f"{clean(out)}: {found.height:,} rows, as private as those of {clean(file)}.")
    missing = found.to_series(0).is_null()
    if unanswered := missing.sum():
        have, they = ("have", "they have") if unanswered > 1 else ("has", "it has")
        first = f"{'first ' if unanswered > 1 else ''}row {missing.arg_true()[0] + 1:,}"
        note(
            f"{unanswered:,} of the {found.height:,} rows {have} no answer ({first}): in a column that the "
            f"release looks at {they} no value that its schema knows."
        )


def _as_csv(found: pl.DataFrame) -> str:
    """A line for every row. A single column is numbered: a row without an answer would be a blank line there,
    which readers pass over."""
    return (found.with_row_index("row", 1) if found.width == 1 else found).write_csv()
