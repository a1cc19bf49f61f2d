"""`penstock release`: from records to a paid-for release."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock import catalogue
from penstock.cli.options import (
    AcceptDraft,
    AccountName,
    EngineName,
    Epsilon,
    File,
    HeaderNames,
    HoldsAtMost,
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


def release(
    file: File,
    schema: SchemaFile,
    epsilon: Epsilon,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FOLDER", show_default=False, help="A new folder for the release."
        ),
    ],
    delta: Annotated[
        str,
        typer.Option(
            metavar="D", help="For methods that use one, 0.01 at most; choose it far below 1/records."
        ),
    ] = "0",
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
            "--set",
            "-p",
            metavar="NAME=VALUE",
            show_default=False,
            help="A parameter of the method; may be repeated.",
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
) -> None:
    """Release FILE under differential privacy, as a folder of plain files.

    Everything is checked before anything is spent: the options, the schema, the destination, the
    ledger, then every record against the schema.

    [bold]Examples[/bold]

        penstock release people.csv --schema people.schema.yaml \\
            --epsilon 1 --out people-release
        penstock release people.parquet -s people.schema.yaml -e 0.5 \\
            -o release-2 --ledger ledger.db --account people
        penstock release rides.csv -s rides.schema.yaml -e 1 \\
            --method uniform-grid --param side=40 -o rides-release
        penstock release 'people/*.csv.gz' -s people.schema.yaml -e 1 \\
            --memory 4GiB -o people-release
        penstock release postgresql://host/db --table people \\
            -s people.schema.yaml -e 1 -o people-release
    """
    from penstock.cli.loading import loading
    from penstock.cli.options import header as names
    from penstock.cli.options import note_caveats, parameters, spilling_to
    from penstock.cli.screen import ACCENT, clean, note, progress_bars

    with loading():
        from penstock.api import release as make
        from penstock.releases.formulas import formulas
        from penstock.schema import Schema

        described = Schema.load(schema)
        info = catalogue.default_method(described.kind) if method is None else catalogue.method(method)
        chosen = parameters(param or (), info)  # which loads the method
    with progress_bars():
        made = make(
            file,
            described,
            epsilon=epsilon,
            delta=delta,
            method=info.name,
            parameters=chosen,
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
    note(f"[{ACCENT}]{clean(out)}[/]: {clean(made.receipt.guarantee)}.")
    if not info.takes_delta and delta != "0":
        note(f"{info.name} is pure: it needed no delta, and none was spent.")
    for remark in made.remarks():
        note(f"[yellow]Mind:[/] {clean(remark)}")
    note_caveats(made, "release")
    risky = formulas(described) if made.can_sample else []
    if risky:
        shown = ", ".join(repr(text[:40]) for text in risky[:3]) + (", …" if len(risky) > 3 else "")
        note(
            f"[yellow]Spreadsheets would run these texts of synthetic.csv as formulas:[/] {clean(shown)}. "
            "Rename them in the schema, or hand out rows of 'penstock sample --for-spreadsheets'."
        )
    note(f"Report: {clean(out)}/report.html")
