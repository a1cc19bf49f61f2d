"""`penstock sample`: synthetic rows from a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Folder


def sample(
    folder: Folder,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            metavar="N",
            show_default=False,
            help="How many rows, or graphs; about as many as there were records when not given.",
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
    writers = opened.files()
    ending = "" if target is None else target.suffix.lower()
    if target is not None:
        endings = [".csv", ".parquet", *writers]
        if ending not in endings:
            known = f"{', '.join(endings[:-1])} or {endings[-1]}"
            raise UsageError(f"'{out}' must end in {known}, so that it is clear what to write.")
        refuse_existing(target, force)
    with progress_bars():
        rows = opened.sample(n, seed=seed)
        if for_spreadsheets:
            rows = without_formulas(flat(rows, opened.schema))
        if target is None:
            text = flat(rows, opened.schema).write_csv()
            print(printable(text) if sys.stdout.isatty() else text, end="")
            return
        try:
            with whole_file(target) as partial:
                if ending == ".csv":
                    flat(rows, opened.schema).write_csv(partial)
                elif ending == ".parquet":
                    rows.write_parquet(partial)
                else:
                    writers[ending](rows, partial)
        except OSError as problem:
            raise UsageError(f"'{out}' cannot be written: {reason(problem)}.") from None
    note(f"{clean(out)}: {rows.height:,} synthetic rows.")
