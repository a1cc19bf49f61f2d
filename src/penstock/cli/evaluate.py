"""`penstock evaluate`: how close a release is to the records, for the custodian's eyes only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import File, Folder, HeaderNames, Json, NoHeader, TableName

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.evaluation import Evaluation, Score


def evaluate(
    folder: Folder,
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="REPORT.html",
            show_default=False,
            help="Write the custodian's report here.",
        ),
    ] = None,
    table: TableName = None,
    header: HeaderNames = None,
    no_header: NoHeader = False,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="FIELD",
            show_default=False,
            help="The field to predict from the others; when not given, the schema's target, or else a few "
            "that are chosen.",
        ),
    ] = None,
    k_marginal: Annotated[
        bool,
        typer.Option("--k-marginal", help="Add the k-marginal score of SDNist (0 to 1000, pairs of fields)."),
    ] = False,
    as_json: Json = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing report.")] = False,
) -> None:
    """Compare a release with the records it came from.

    Every score stands between a floor (what a release that knows almost nothing would score) and a
    ceiling (the original itself, resampled). The result is [bold]not private[/bold]: it is computed
    from the records and must not be published.

    [bold]Examples[/bold]

        penstock evaluate people-release people.csv
        penstock evaluate people-release people.csv --out evaluation.html
        penstock evaluate people-release people.csv --target income --k-marginal --json
    """
    from penstock.api import evaluate as compare
    from penstock.cli.draft import refuse_existing, refuse_unwritable
    from penstock.cli.options import header as names
    from penstock.cli.screen import clean, note, print_json, progress_bars, screen
    from penstock.releases.custodian import refuse_inside_release

    if out is not None:
        refuse_existing(Path(out), force)
        refuse_inside_release(Path(out), "an evaluation")
        refuse_unwritable(Path(out))
    with progress_bars():
        found = compare(
            folder, file, table=table, header=names(header, no_header), target=target, k_marginal=k_marginal
        )
        if out is not None:
            found.save(out)
    if as_json:
        print_json(found.to_dict())
    else:
        console = screen()
        console.print("[bold yellow]NOT FOR PUBLICATION[/]  computed from the records, without noise")
        console.print()
        console.print(_scores(found))
        for remark in found.remarks:
            console.print(f"  {clean(remark)}", style="dim")
    if out is not None:
        note(f"{clean(out)}: the custodian's report. Keep it to yourself.")


def _scores(found: Evaluation) -> Table:
    from rich.table import Table

    from penstock.cli.screen import clean

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    table.add_column("score")
    for title in ("floor", "release", "ceiling"):
        table.add_column(title, justify="right")
    table.add_column("floor ········ ceiling")
    for score in found.scores:
        better = "lower is better" if score.lower_is_better else "higher is better"
        table.add_row(
            f"{clean(score.name)} [dim]({better})[/]",
            _digits(score.floor),
            f"[bold]{_digits(score.value)}[/]",
            _digits(score.ceiling),
            _position(score),
        )
    return table


def _digits(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}"


def _position(score: Score) -> str:
    """Where the release stands between floor and ceiling, on a line of twenty-one marks."""
    from penstock.cli.screen import ACCENT

    if score.position is None:
        return "[dim]floor and ceiling meet[/]"
    place = round(min(1.0, max(0.0, score.position)) * 20)
    return f"[dim]{'─' * place}[/][bold {ACCENT}]●[/][dim]{'─' * (20 - place)}[/]"
