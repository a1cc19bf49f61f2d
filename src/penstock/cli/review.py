"""`penstock review`: the facts of a draft, one card each, in the browser or in the terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AccountName, Json, LedgerUrl

if TYPE_CHECKING:
    from penstock.review.sheet import Sheet

_SCHEMAS = (".yaml", ".yml", ".json")


def review(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", show_default=False, help="A schema (YAML), or data to draft one from first."
        ),
    ],
    codebook: Annotated[
        list[str] | None,
        typer.Option(
            "--codebook",
            metavar="CODEBOOK",
            show_default=False,
            help="Take over what a codebook publishes: Frictionless, CSVW or NIST JSON, DDI XML, Stata, "
            "SPSS, or a CSV of two columns.",
        ),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            "--do",
            metavar="ACTION",
            show_default=False,
            help="Carry out one action, such as 'confirm age'; may be given several times. Opens no page.",
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what is left to review and open no page.")
    ] = False,
    page: Annotated[
        bool | None,
        typer.Option(
            "--page/--terminal",
            show_default=False,
            help="Review in the browser or in the terminal; when not given, in the browser if there is one.",
        ),
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the browser, or only print the page's address.")
    ] = True,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The page's port on 127.0.0.1; 0 takes a free one.")
    ] = 0,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="DATA", show_default=False, help="The records, to release them from the page."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FOLDER", show_default=False, help="Where a release would go."),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="What the records are, when FILE is data.")
    ] = "table",
    ledger: LedgerUrl = None,
    account: AccountName = None,
    as_json: Json = False,
) -> None:
    """Review a draft: what was read off the data, why it may not be public, and what to do about it.

    The page is served on this machine alone and works without a network. Every step is written to the file
    at once, with all its comments kept. Where the data are known, the reviewed schema can be released from
    the page.

    [bold]Examples[/bold]

        penstock review people.schema.yaml
        penstock review people.csv --out people-release
        penstock review people.schema.yaml --terminal
        penstock review people.schema.yaml --codebook codebook.xml --list
        penstock review people.schema.yaml --do "bounds age 0 120" \\
            --do "confirm age"
    """
    from penstock.cli.screen import clean, note
    from penstock.review.sheet import Sheet

    schema = Path(file)
    if schema.suffix.lower() not in _SCHEMAS:
        data = data or file
        schema = _drafted(file, kind)
    sheet = Sheet(schema)
    for each in codebook or ():
        from penstock.review.codebooks.importing import take_in

        note(f"{clean(each)}: {take_in(sheet, each).words}.")
    for each in do or ():
        _do(sheet, each)
    if do or listed or as_json:
        _tell(sheet, as_json=as_json)
        return
    if page is None:
        page = _has_browser() and _has_desk()
    if not page:
        from penstock.cli.review_terminal import converse

        converse(sheet)
        return
    _serve(sheet, data=data, out=out, ledger=ledger, account=account, port=port, open_it=open_it)


def _drafted(file: str, kind: str) -> Path:
    """The schema beside some data; drafted first where there is none yet."""
    from penstock.api import draft
    from penstock.cli.draft import beside, refuse_unwritable, write
    from penstock.cli.screen import clean, note, progress_bars

    schema = beside(file)
    if schema.exists():
        note(f"{clean(schema)}: there is a schema already, so that one is reviewed.")
        return schema
    refuse_unwritable(schema)
    with progress_bars():
        write(schema, draft(file, kind=kind).to_yaml())
    note(f"{clean(schema)}: drafted from {clean(file)}.")
    return schema


def _do(sheet: Sheet, words: str) -> None:
    import shlex

    from penstock.errors import UsageError

    try:
        name, *rest = shlex.split(words)
    except ValueError:
        raise UsageError(
            f"--do takes an action with its words, such as 'confirm age', not '{words}'."
        ) from None
    sheet.do(name, *rest)


def _tell(sheet: Sheet, *, as_json: bool) -> None:
    from penstock.cli.review_terminal import describe
    from penstock.cli.screen import print_json, screen
    from penstock.review.cards import cards, overview

    if as_json:
        print_json(overview(sheet))
        return
    console = screen()
    for card in cards(sheet):
        if card.waiting:
            describe(console, card)
    left = len(sheet.left)
    console.print(f"{left} of {sheet.total} left to review." if left else "Nothing left to review.")


def _has_browser() -> bool:
    """Whether a page could be seen: there is a browser, and a screen for it."""
    import webbrowser

    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _has_desk() -> bool:
    try:
        import starlette
        import uvicorn
    except ModuleNotFoundError:
        return False
    return bool(starlette.__version__ and uvicorn.__version__)


def _serve(
    sheet: Sheet,
    *,
    data: str | None,
    out: str | None,
    ledger: str | None,
    account: str | None,
    port: int,
    open_it: bool,
) -> None:
    from penstock.cli.screen import note
    from penstock.errors import UsageError

    if not _has_desk():
        raise UsageError(
            "The page needs Starlette and uvicorn: 'pip install penstock[desk]', or review with --terminal."
        )
    from penstock.desk.app import Desk, Releasing
    from penstock.desk.serving import serve

    releasing = None
    if data is not None:
        from penstock.api import release

        stem = sheet.path.name.partition(".")[0]
        folder = Path(out) if out is not None else sheet.path.with_name(f"{stem}-release")
        releasing = Releasing(
            lambda epsilon: release(
                data, sheet.path, epsilon=epsilon, ledger=ledger, account=account, out=folder
            ),
            folder,
        )

    def opened(address: str) -> None:
        print(address, flush=True)
        note("The address works once. Ctrl-C, or 'Close the desk' on the page, ends the review.")
        if open_it:
            import webbrowser

            webbrowser.open(address)

    serve(Desk(sheet, releasing), port=port, opened=opened)
    left = len(sheet.left)
    note(f"{left} of {sheet.total} left to review." if left else "Nothing left to review.")
