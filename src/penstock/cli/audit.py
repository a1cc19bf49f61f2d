"""`penstock audit`: attempts to refute the guarantees."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import Json


def audit(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME…",
            show_default=False,
            help="What to audit: names, 'shipped' or 'broken'; everything when not given.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N", show_default=False, help="Runs on each input; more runs find smaller leaks."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives another set of runs.")] = 0,
    as_json: Json = False,
) -> None:
    """Run mechanisms and methods on neighbouring inputs and try to refute their guarantees.

    Shipped claims should stand, and deliberately broken copies should be refuted: they show that the
    audit would notice. The exit code is 1 when anything turns out otherwise. A claim that stands is
    not thereby proven. All of it takes some minutes; name what you want to know about.

    [bold]Examples[/bold]

        penstock audit
        penstock audit independent uniform-grid --trials 20000
        penstock audit broken --json
    """
    from penstock.audit import TRIALS, run
    from penstock.cli.screen import print_json, progress_bars, screen

    with progress_bars():
        verdicts = run(names or (), TRIALS if trials is None else trials, seed=seed)
    if as_json:
        print_json([verdict.to_dict() for verdict in verdicts])
    else:
        from penstock.audit.findings import summary, table

        out = screen()
        out.print(table(verdicts))
        out.print()
        out.print(summary(verdicts), markup=False)
    if not all(verdict.expected for verdict in verdicts):
        raise typer.Exit(1)
