"""`penstock explain`: what an epsilon means for data of this schema and size, before any record is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import Json

if TYPE_CHECKING:
    from penstock.explanation import Explanation


def explain(
    schema: Annotated[
        str, typer.Argument(metavar="SCHEMA.yaml", help="The reviewed schema.", show_default=False)
    ],
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            "-n",
            metavar="N",
            show_default=False,
            help="About how many records there are; as publicly known, not counted for this.",
        ),
    ] = None,
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", metavar="E", help="One, a list 0.1,1,10 or a range 0.1..10.")
    ] = "0.1..10",
    delta: Annotated[str, typer.Option(metavar="D", help="For methods that use one.")] = "0",
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            show_default=False,
            help="See 'penstock methods'; chosen by the kind of data when not given.",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            show_default=False,
            help="A parameter of the method; may be repeated.",
        ),
    ] = None,
    no_trial: Annotated[
        bool, typer.Option("--no-trial", help="Formulas only; releases of made-up records take a while.")
    ] = False,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", min=1, max=100, metavar="N", help="Releases of made-up records for each epsilon."
        ),
    ] = 1,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="PAGE.html", show_default=False, help="Write a page with curves here."
        ),
    ] = None,
    as_json: Json = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing page.")] = False,
) -> None:
    """Say what each epsilon means for data of this schema and size, before any record is read.

    Formulas say how sure an observer can become, and how far off a count and the cells of every field
    will be. Then made-up records are drawn from the schema and released with the method, to see how
    its error falls. No record is read and nothing is spent.

    [bold]Examples[/bold]

        penstock explain people.schema.yaml --rows 10000
        penstock explain people.schema.yaml --rows 10000 \\
            --epsilon 0.1..10 --out epsilon.html
        penstock explain people.schema.yaml -n 2000000 -e 0.01,0.1,1 --no-trial
        penstock explain rides.schema.yaml -n 20000 --method uniform-grid --json
    """
    from penstock import catalogue
    from penstock.cli.draft import refuse_existing, refuse_unwritable
    from penstock.cli.options import parameters
    from penstock.cli.screen import clean, note, print_json, progress_bars
    from penstock.explanation import explain as foresee
    from penstock.schema import Schema

    described = Schema.load(schema)
    info = catalogue.default_method(described.kind) if method is None else catalogue.method(method)
    if out is not None:
        refuse_existing(Path(out), force)
        refuse_unwritable(Path(out))
    with progress_bars():
        found = foresee(
            described,
            records=rows,
            epsilon=epsilon,
            delta=delta,
            method=info.name,
            parameters=parameters(param or (), info),
            trial=not no_trial,
            runs=runs,
        )
    if out is not None:
        _write(Path(out), found.report())
        note(f"Page: {clean(out)}")
    if as_json:
        print_json(found.to_dict())
    else:
        _show(found)


def _write(target: Path, text: str) -> None:
    from penstock.errors import UsageError
    from penstock.releases.disk import reason, whole_file

    try:
        with whole_file(target) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"'{target}' cannot be written: {reason(problem)}.") from None


def _show(found: Explanation) -> None:
    from rich.table import Table

    from penstock.cli.screen import clean, screen
    from penstock.explanation.page import COLUMNS, GUIDE, MEANING, NO_RECORDS, rows_of
    from penstock.privacy.budgets.amounts import plain
    from penstock.report.numbers import readable

    out = screen()
    out.print(
        f"[bold]{found.records:,} records[/], protected: {clean(found.unit)}, {found.schema.relation.words}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, title in enumerate(COLUMNS):
        table.add_column(title, justify="right" if place else "left", overflow="fold")
    for row in rows_of(found):
        table.add_row(*row)
    out.print(table)
    for sentence in MEANING:
        out.print(f"  {sentence}", style="dim")
    out.print()
    if found.curves:
        out.print(f"[bold]Made-up records, released with {clean(found.method)}[/]")
        trial = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        trial.add_column("measure", overflow="fold")
        for title in (*(f"ε {plain(line.epsilon)}" for line in found.lines), "floor", "ceiling"):
            trial.add_column(title, justify="right")
        for curve in found.curves:
            figures = (*curve.values, curve.floor, curve.ceiling)
            trial.add_row(clean(curve.name), *(readable(figure) for figure in figures))
        out.print(trial)
        out.print(f"  {GUIDE}", style="dim")
    else:
        out.print(clean(found.remark or ""))
    out.print(NO_RECORDS, style="dim")
