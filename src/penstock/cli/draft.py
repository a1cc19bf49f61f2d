"""`penstock draft`: a proposal for the schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import catalogue
from penstock.cli.options import AccountName, File, HeaderNames, HoldsAtMost, LedgerUrl, NoHeader, TableName

_KINDS = ", ".join(info.name for info in catalogue.kinds())


def _known(kind: str) -> str:
    if kind not in [info.name for info in catalogue.kinds()]:
        raise typer.BadParameter(f"'{kind}' is not one of {', '.join(i.name for i in catalogue.kinds())}.")
    return kind


def draft(
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="SCHEMA.yaml",
            show_default=False,
            help="Where to write the schema; next to FILE when not given.",
        ),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", callback=_known, help=f"What the records are: one of {_KINDS}.")
    ] = "table",
    headers_only: Annotated[
        bool, typer.Option("--headers-only", help="Read the column names and not a single value.")
    ] = False,
    table: TableName = None,
    header: HeaderNames = None,
    no_header: NoHeader = False,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E",
            help="Draft privately: pay this much for bounds and "
            "categories instead of reading them off the data.",
        ),
    ] = None,
    delta: Annotated[
        str, typer.Option(metavar="D", help="Delta of a private draft; categories need one.")
    ] = "0",
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Say what this epsilon can resolve, pay nothing and write nothing."),
    ] = False,
    ledger: LedgerUrl = None,
    account: AccountName = None,
    holds_at_most: HoldsAtMost = None,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", show_default=False, help="Protect the people whom this column tells apart."
        ),
    ] = None,
    at_most: Annotated[
        int,
        typer.Option(min=1, metavar="M", help="The most records that one of them contributes (with --user)."),
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing schema file.")] = False,
) -> None:
    """Propose a schema for FILE: columns, domains and the privacy unit.

    A schema is public, so it must not be read off the records silently. Whatever a draft did read
    there carries [bold]review: true[/bold]. Replace it by what anybody may know, and confirm it with
    [bold]review: false[/bold].

    [bold]Examples[/bold]

        penstock draft people.csv
        penstock draft people.csv -o people.schema.yaml --headers-only
        penstock draft rides.parquet --kind points
        penstock draft sqlite:///people.db --table people -o people.schema.yaml
        penstock draft visits.csv --user patient_id --at-most 3
        penstock draft people.csv --epsilon 0.1 --delta 1e-6 --plan
        penstock draft adult.data.csv --header age,work,sex,income
        penstock draft people.csv --epsilon 0.1 --delta 1e-6 \\
            --ledger ledger.db --account people
    """
    from penstock.api import draft as propose
    from penstock.cli.options import header as names
    from penstock.cli.screen import clean, note, progress_bars
    from penstock.drafting.private import reach_of
    from penstock.engine import read
    from penstock.errors import UsageError
    from penstock.releases.custodian import refuse_inside_release
    from penstock.schema import Unit

    unit = None if user is None else Unit(protects="user", column=user, at_most=at_most)
    if plan and epsilon is None:
        raise UsageError("A plan says what an epsilon can resolve; give one with --epsilon.")
    if plan and epsilon is not None:
        source = read(file, table=table, header=names(header, no_header))
        note(reach_of(source, epsilon, delta, kind=kind, unit=unit).words)
        return
    target = Path(out) if out is not None else beside(file)
    refuse_existing(target, force)
    refuse_inside_release(target, "a draft")
    refuse_unwritable(target)
    if epsilon is not None and not headers_only and (ledger is None) == (account is None):
        source = read(file, table=table, header=names(header, no_header))
        note(reach_of(source, epsilon, delta, kind=kind, unit=unit).words)
    with progress_bars():
        schema = propose(
            file,
            kind=kind,
            headers_only=headers_only,
            table=table,
            header=names(header, no_header),
            unit=unit,
            epsilon=epsilon,
            delta=0 if delta == "0" else delta,
            ledger=ledger,
            account=account,
            holds_at_most=holds_at_most,
        )
    write(target, schema.to_yaml())
    marks = len(schema.to_review())
    if marks:
        note(
            f"{clean(target)}: {len(schema.fields)} fields, {marks} {'fact' if marks == 1 else 'facts'} "
            f"to review. 'penstock review {clean(target)}' shows them; or change each 'review: true' to "
            "'review: false' once it says what is public."
        )
    else:
        note(f"{clean(target)}: {len(schema.fields)} fields, nothing left to review.")


def refuse_existing(target: Path, force: bool) -> None:
    """An existing file is only replaced on request."""
    from penstock.errors import UsageError

    if target.exists() and not force:
        raise UsageError(f"'{target}' exists already; choose another file, or overwrite it with --force.")


def refuse_unwritable(target: Path) -> None:
    """Find out before anything is spent whether the result can be written."""
    import tempfile

    from penstock.errors import UsageError

    try:
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as problem:
        raise UsageError(f"'{target}' cannot be written: {problem.strerror or problem}.") from None


def write(target: Path, text: str) -> None:
    """Write a draft, all of it or nothing; a place that cannot be written is the user's to fix."""
    from penstock.errors import UsageError
    from penstock.releases.custodian import custodians_file
    from penstock.releases.disk import reason

    try:
        with custodians_file(target, "a draft") as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"'{target}' cannot be written: {reason(problem)}.") from None


def beside(file: str) -> Path:
    """Where the schema of some data is written when nobody says."""
    from penstock.errors import UsageError

    if "://" in file:
        raise UsageError("Say where to write the schema of a database table: -o SCHEMA.yaml.")
    path = Path(file)
    return path.with_name(f"{path.name.partition('.')[0] or path.name}.schema.yaml")
