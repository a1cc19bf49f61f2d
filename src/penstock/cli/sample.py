"""`penstock sample`: synthetic rows from a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import Folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl


def sample(
    folder: Folder,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            metavar="N",
            show_default=False,
            help="How many rows, callers or graphs; about as many as there were records when not given.",
        ),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS",
            show_default=False,
            help="On how many days callers call, where rows have days; as in the data when not given.",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPRESSION",
            show_default=False,
            help="Only rows for which a condition holds, drawn from the model given that it does.",
        ),
    ] = None,
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
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            help="The same rows again. Harmless: the model is public already.",
        ),
    ] = None,
    for_spreadsheets: Annotated[
        bool,
        typer.Option(
            "--for-spreadsheets",
            help="Put an apostrophe before texts that a spreadsheet would take for formulas.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Draw synthetic rows, any number of them, at no further privacy cost.

    [bold]Examples[/bold]

        penstock sample people-release -n 10000 -o synthetic.csv
        penstock sample people-release -n 1000000 -o synthetic.parquet
        penstock sample people-release -o synthetic.csv --for-spreadsheets
        penstock sample people-release -n 5
        penstock sample people-release -n 1000 --where "age > 60 and smoker = true"
        penstock sample calls-release -n 100000 --days 30 -o calls.parquet
    """
    from penstock.cli.draft import refuse_existing
    from penstock.cli.screen import clean, note, printable, progress_bars
    from penstock.errors import UsageError
    from penstock.releases import load
    from penstock.releases.disk import reason, whole_file
    from penstock.releases.folder import flat
    from penstock.releases.formulas import without_formulas

    target = None if out is None else Path(out)
    opened = load(folder)
    if days is not None:
        opened = opened.on_days(days)
    writers = opened.files()
    ending = "" if target is None else target.suffix.lower()
    if target is not None:
        endings = [".csv", ".parquet", *writers]
        if ending not in endings:
            known = f"{', '.join(endings[:-1])} or {endings[-1]}"
            raise UsageError(f"'{out}' must end in {known}, so that it is clear what to write.")
        refuse_existing(target, force)
    drawing = opened.drawing(n, seed)

    def pieces() -> Iterator[pl.DataFrame]:
        drawn = opened.pieces(*drawing) if where is None else iter([opened.draw_where(where, *drawing)])
        for piece in drawn:
            rows = opened.schema.marked(piece)
            yield without_formulas(flat(rows, opened.schema)) if for_spreadsheets else rows

    with progress_bars():
        if target is None:
            for number, rows in enumerate(pieces()):
                text = flat(rows, opened.schema).write_csv(include_header=number == 0)
                print(printable(text) if sys.stdout.isatty() else text, end="")
            return
        try:
            with whole_file(target) as partial:
                if ending == ".csv":
                    written = _as_csv(partial, (flat(rows, opened.schema) for rows in pieces()))
                elif ending == ".parquet":
                    written = _as_parquet(partial, pieces())
                else:
                    whole = opened.draw(*drawing) if where is None else opened.draw_where(where, *drawing)
                    rows = opened.schema.marked(whole)
                    writers[ending](rows, partial)
                    written = rows.height
        except OSError as problem:
            raise UsageError(f"'{out}' cannot be written: {reason(problem)}.") from None
    note(f"{clean(out)}: {written:,} synthetic rows.")


def _as_csv(place: Path, pieces: Iterator[pl.DataFrame]) -> int:
    """Rows written piece by piece, below one line of names; how many they are."""
    written = 0
    with place.open("wb") as stream:
        for number, rows in enumerate(pieces):
            rows.write_csv(stream, include_header=number == 0)
            written += rows.height
    return written


def _as_parquet(place: Path, pieces: Iterator[pl.DataFrame]) -> int:
    """The same as Parquet, a row group for each piece; a single piece as Polars writes it."""
    import pyarrow.parquet as pq

    first = next(pieces)
    second = next(pieces, None)
    if second is None:
        first.write_parquet(place)
        return first.height
    written = first.height + second.height
    names = first.to_arrow().schema
    with pq.ParquetWriter(place, names) as writer:
        writer.write_table(first.to_arrow())
        writer.write_table(second.to_arrow().cast(names))
        for rows in pieces:
            writer.write_table(rows.to_arrow().cast(names))
            written += rows.height
    return written
