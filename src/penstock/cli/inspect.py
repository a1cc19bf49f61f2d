"""`penstock inspect`: what was released, with which guarantee, paid with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cli.options import Folder, Json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

    from penstock.privacy.budgets.charges import Entry
    from penstock.privacy.budgets.receipt import Receipt
    from penstock.releases import Release
    from penstock.schema import Schema

_FOLD_AFTER = 24


def inspect(folder: Folder, as_json: Json = False) -> None:
    """Show what a release holds, after checking every file against its fingerprint.

    A file in the folder that the release does not list is named: the guarantee does not cover it.

    [bold]Examples[/bold]

        penstock inspect people-release
        penstock inspect people-release --json | jq .epsilon
    """
    from penstock.cli.screen import print_json, screen
    from penstock.releases import load
    from penstock.releases.loading import unlisted

    release = load(folder)
    files = _files(folder)
    strange = unlisted(folder, (str(file["path"]) for file in files))
    if as_json:
        print_json({"folder": folder, **release.summary(), "files": files, "unlisted": strange})
        return
    out = screen()
    _headline(out, folder, release)
    _receipt(out, release.receipt)
    _fields(out, release.schema)
    _listing(out, files, strange)


def _headline(out: Console, folder: str, release: Release) -> None:
    from rich.panel import Panel

    from penstock.cli.screen import ACCENT, clean

    words = release.receipt.guarantee
    lines = [
        f"[bold]{clean(words[0].upper() + words[1:])}.[/]",
        f"{clean(release.kind)} released with {clean(release.method)}" + _parameters(release),
    ]
    ledger = release.receipt.ledger
    lines.append(f"Booked in a ledger as {clean(ledger)}." if ledger else "Booked in no ledger.")
    if release.schema.drafted is not None:
        lines.append(f"On top, drafting its schema privately cost {clean(release.schema.drafted.words)}.")
    if release.unreviewed:
        facts = ", ".join(release.unreviewed[:6]) + (", …" if len(release.unreviewed) > 6 else "")
        lines.append(
            f"[yellow]Nobody reviewed: {clean(facts)}. The guarantee does not cover what these give away.[/]"
        )
    lines += [f"[yellow]{clean(remark)}[/]" for remark in release.remarks()]
    if not release.publishable:
        lines.append("[bold red]NOT PUBLISHABLE: made with a fixed seed, so its noise protects nobody.[/]")
    out.print(
        Panel(
            "\n".join(lines),
            title=f"[bold {ACCENT}]{clean(folder)}[/]",
            title_align="left",
            border_style=ACCENT if release.publishable else "red",
            padding=(0, 1),
        )
    )


def _parameters(release: Release) -> str:
    from penstock.cli.screen import clean

    chosen = {name: value for name, value in release.parameters.items() if value is not None}
    return (
        " (" + clean(", ".join(f"{name} {value}" for name, value in chosen.items())) + ")" if chosen else ""
    )


def _receipt(out: Console, receipt: Receipt) -> None:
    from rich.tree import Tree

    from penstock.privacy.budgets.amounts import plain

    spent = f"epsilon {plain(receipt.epsilon)} of {plain(receipt.budget_epsilon)}"
    if receipt.budget_delta:
        spent += f", delta {plain(receipt.delta)} of {plain(receipt.budget_delta)}"
    tree = Tree(f"[bold]Receipt[/]  {spent}", guide_style="dim")
    _hang(tree, receipt.paid.parts)
    out.print(tree)
    out.print()


def _hang(tree: Tree, parts: tuple[Entry, ...]) -> None:
    from penstock.cli.screen import ACCENT, clean
    from penstock.privacy.budgets.amounts import brief, plain
    from penstock.privacy.budgets.charges import Apart, Charge, Concentrated

    for part in parts[:_FOLD_AFTER]:
        epsilon, delta = part.cost
        price = f"[{ACCENT}]{brief(plain(epsilon))}[/]" + (
            f" [dim]delta[/] {brief(plain(delta))}" if delta else ""
        )
        if isinstance(part, Charge):
            detail = f", {clean(brief(part.detail))}" if part.detail else ""
            tree.add(f"{price}  {clean(part.label)}  [dim]{clean(part.mechanism)}{detail}[/]")
        elif isinstance(part, Concentrated):
            branch = tree.add(f"{price}  {clean(part.label)} [dim](rho {brief(plain(part.rho))})[/]")
            for portion in part.parts[:_FOLD_AFTER]:
                share = f"rho {brief(plain(portion.rho))}"
                branch.add(f"{share}  {clean(portion.label)}  [dim]{clean(portion.mechanism)}[/]")
        else:
            how = " [dim](disjoint parts: the dearest counts)[/]" if isinstance(part, Apart) else ""
            _hang(tree.add(f"{price}  {clean(part.label)}{how}"), part.parts)
    if len(parts) > _FOLD_AFTER:
        tree.add(f"[dim]… and {len(parts) - _FOLD_AFTER} more, all in receipt.json[/]")


def _fields(out: Console, schema: Schema) -> None:
    from rich.table import Table

    from penstock.cli.screen import clean

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    table.add_column("field")
    table.add_column("type", style="dim")
    table.add_column("domain", overflow="fold")
    for field in schema.fields[:60]:
        table.add_row(clean(field.name), clean(field.type), clean(field.domain))
    if len(schema.fields) > 60:
        table.add_row(f"… and {len(schema.fields) - 60} more", "", "in schema.yaml")
    out.print(table)
    out.print()


def _files(folder: str) -> list[dict[str, object]]:
    """The contents as datapackage.json lists them; `load` has compared each with its SHA-256."""
    import json
    from pathlib import Path

    package = json.loads((Path(folder) / "datapackage.json").read_text(encoding="utf-8"))
    return [
        {
            "path": resource["path"],
            "bytes": resource["bytes"],
            "sha256": resource["hash"].removeprefix("sha256:"),
        }
        for resource in package["resources"]
    ]


def _listing(out: Console, files: list[dict[str, object]], strange: list[str]) -> None:
    from rich.filesize import decimal
    from rich.table import Table

    from penstock.cli.screen import clean

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    table.add_column("file")
    table.add_column("size", justify="right")
    table.add_column("SHA-256", style="dim")
    for file in files:
        size = file["bytes"]
        assert isinstance(size, int)
        table.add_row(clean(file["path"]), decimal(size), f"[green]✓[/] {clean(str(file['sha256'])[:12])}…")
    for name in strange:
        table.add_row(clean(name), "", "[bold yellow]not listed: the guarantee does not cover it[/]")
    out.print(table)
