"""`penstock recover`: releases that were paid for and not finished."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import Json

if TYPE_CHECKING:
    from penstock.privacy.ledger.entries import LedgerEntry
    from penstock.releases.kept import Kept


def recover(
    place: Annotated[
        str | None,
        typer.Argument(
            metavar="FOLDER",
            show_default=False,
            help="The --out of the release to finish, or a folder to look in; here when not given.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FOLDER", show_default=False, help="Finish it in another new folder."),
    ] = None,
    discard: Annotated[
        bool, typer.Option("--discard", help="Remove what is kept for FOLDER. What it cost stays spent.")
    ] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            metavar="URL",
            show_default=False,
            help="Note there what was finished, and list what was paid and became nothing.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Finish releases that were paid for and interrupted: by Ctrl-C, a full disk or a power cut.

    The model of a release is written before everything else and kept until the release is complete. It
    costs nothing more to finish it. Without FOLDER, or with one in which releases were to be written, what is
    kept is listed. Where a destination's disk refused even the model, it is kept in PENSTOCK_STATE, a
    folder that you can set.

    [bold]Examples[/bold]

        penstock recover
        penstock recover people-release --ledger ledger.db
        penstock recover people-release --to /other/disk/people-release
        penstock recover people-release --discard
    """
    from penstock.api import discard as drop
    from penstock.api import recover as finish
    from penstock.cli.screen import clean, note
    from penstock.errors import UsageError
    from penstock.releases.kept import find, meant_for
    from penstock.releases.paths import absolute

    mine = [] if place is None else meant_for(absolute(place))
    if place is None or (not mine and Path(place).is_dir() and not (discard or to)):
        if discard or to:
            raise UsageError("Name the folder of the release that is meant: penstock recover FOLDER.")
        _listed(find(absolute(place or ".")), ledger, as_json=as_json)
        return
    if discard:
        for kept in drop(place):
            note(f"Removed the model that was kept for {clean(kept.destination)}; what it cost stays spent.")
        return
    made = finish(place, to=to, ledger=ledger)
    note(f"{clean(to or place)}: {clean(made.receipt.guarantee)}.")


def _listed(found: list[Kept], ledger: str | None, *, as_json: bool) -> None:
    """What is kept, and, with a ledger, what was paid and neither finished nor kept."""
    from penstock.cli.screen import clean, print_json, screen

    kept: list[dict[str, Any]] = [
        {
            "destination": str(each.destination),
            "since": each.since,
            "kept_in": str(each.folder),
            "entry": each.entry,
            "busy": each.busy,
        }
        for each in found
    ]
    lost = [] if ledger is None else _nothing_of(ledger, {each["entry"] for each in kept})
    if as_json:
        print_json({"kept": kept, "open": [entry.to_dict() for entry in lost]})
        return
    out = screen()
    for each in kept:
        state = "being written" if each["busy"] else "kept since " + each["since"].replace("T", " ")[:16]
        out.print(f"{clean(each['destination'])}  [dim]{clean(state)}[/]", soft_wrap=True)
    for entry in lost:
        out.print(
            f"{clean(entry.name)}  [dim]{clean(entry.label)}: booked at {clean(entry.time[:16])} and not "
            "finished. Either it is at work, or it stopped before there was a model; it counts as spent.[/]",
            soft_wrap=True,
        )
    if not kept and not lost:
        out.print("Nothing is kept here: no release was interrupted after it was paid for.")
    elif any(not each["busy"] for each in kept):
        out.print("[dim]Finish one with 'penstock recover FOLDER', or drop it with '--discard'.[/]")


def _nothing_of(ledger: str, kept: set[str | None]) -> list[LedgerEntry]:
    from penstock.privacy.ledger.ledger import Ledger

    book = Ledger.open(ledger)
    entries = [entry for balance in book.balances() for entry in book.account(balance.account).entries()]
    return [entry for entry in entries if entry.status == "reserved" and entry.name not in kept]
