"""`penstock select`: the most frequent items or categories, or those above a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import (
    AcceptDraft,
    AccountName,
    EngineName,
    Epsilon,
    File,
    HeaderNames,
    HoldsAtMost,
    Json,
    LedgerUrl,
    Memory,
    NoHeader,
    NoSpill,
    SchemaFile,
    Seed,
    Spill,
    TableName,
    Threads,
)
from penstock.learn.selection.mechanism import Mechanism

if TYPE_CHECKING:
    from penstock.learn.selection.release import SelectionRelease


def select(
    file: File,
    schema: SchemaFile,
    epsilon: Epsilon,
    c: Annotated[
        int | None,
        typer.Option(
            "-c", metavar="N", show_default=False, help="How many to select; with a threshold, at most."
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            metavar="T",
            show_default=False,
            help="Select those whose count reaches T. Choose it without looking at the data.",
        ),
    ] = None,
    counts: Annotated[
        str,
        typer.Option(
            "--counts",
            metavar="SHARE",
            help="The share of epsilon for noisy counts of what is selected: 1/4.",
        ),
    ] = "0",
    column: Annotated[
        str | None,
        typer.Option(
            "--column", metavar="NAME", show_default=False, help="The column of a table to select from."
        ),
    ] = None,
    mechanism: Annotated[
        Mechanism, typer.Option(help="How to choose; 'auto' takes the one with the least noise.")
    ] = "auto",
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", show_default=False, help="A new folder for the release."
        ),
    ] = None,
    table: TableName = None,
    header: HeaderNames = None,
    no_header: NoHeader = False,
    engine: EngineName = "auto",
    ledger: LedgerUrl = None,
    account: AccountName = None,
    holds_at_most: HoldsAtMost = None,
    seed: Seed = None,
    accept_unreviewed_draft: AcceptDraft = False,
    spill: Spill = None,
    no_spill: NoSpill = False,
    memory: Memory = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Select the most frequent items of FILE, or those above a threshold, under differential privacy.

    FILE holds item sets (kind 'itemsets': one row for each item of a transaction, or one for each
    transaction) or a table. The candidates are those that the schema declares. Everything is checked
    before anything is spent, and what is printed is paid for.

    [bold]Examples[/bold]

        penstock select baskets.csv -s baskets.schema.yaml --epsilon 1 -c 20
        penstock select baskets.csv -s baskets.schema.yaml -e 1 -c 20 \\
            --counts 1/4 --out top-20 --ledger ledger.db --account baskets
        penstock select baskets.csv -s baskets.schema.yaml -e 0.5 \\
            --threshold 1000 -c 50
        penstock select people.csv -s people.schema.yaml -e 1 -c 5 \\
            --column occupation
    """
    from penstock.api import select as choose
    from penstock.cli.options import header as names
    from penstock.cli.options import note_caveats, spilling_to
    from penstock.cli.screen import clean, note, print_json, progress_bars

    with progress_bars():
        made = choose(
            file,
            schema,
            epsilon=epsilon,
            c=c,
            threshold=threshold,
            counts=counts,
            column=column,
            mechanism=mechanism,
            table=table,
            header=names(header, no_header),
            engine=engine,
            ledger=ledger,
            account=account,
            holds_at_most=holds_at_most,
            seed=seed,
            accept_unreviewed_draft=accept_unreviewed_draft,
            spill=spilling_to(spill, no_spill),
            memory=memory,
            threads=threads,
            out=out,
        )
    if as_json:
        print_json(
            {
                **made.summary(),
                "candidates": made.candidates,
                "counted": made.counted,
                "margin": made.margin,
                "selected": made.frame().to_dicts(),
                "folder": out,
            }
        )
    else:
        _show(made)
    note(f"{clean(made.receipt.guarantee[0].upper() + made.receipt.guarantee[1:])}.")
    note_caveats(made, "select")
    if out is not None:
        note(f"Report: {clean(out)}/report.html")


def _show(made: SelectionRelease) -> None:
    from rich.table import Table

    from penstock.cli.screen import ACCENT, clean, screen
    from penstock.report.numbers import readable

    out = screen()
    if not made.items:
        out.print(f"None of {made.candidates:,} candidates was found above the threshold.")
        return
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    shown.add_column("", justify="right", style="dim")
    shown.add_column(clean(made.field), overflow="fold")
    if made.counts is not None and made.margin is not None:
        bar = "no error bar" if made.favoured else f"± {readable(made.margin)}"
        shown.add_column(f"{made.counted} ({bar})", justify="right")
    for rank, item in enumerate(made.items, start=1):
        row = [str(rank), f"[{ACCENT}]{clean(item)}[/]"]
        if made.counts is not None:
            row.append(f"{int(made.counts[rank - 1]):,}")
        shown.add_row(*row)
    out.print(shown)
    out.print()
    out.print(f"{len(made.items)} of {made.candidates:,} candidates.", style="dim")
