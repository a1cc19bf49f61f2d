"""`penstock methods`: what there is to choose from."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock import catalogue
from penstock.cli.options import Json


def methods(
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also published methods to compare with.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the methods, with the data they are for and the guarantee they give.

    [bold]Examples[/bold]

        penstock methods
        penstock methods --baselines
        penstock methods --json
    """
    listed = catalogue.methods(role=None if baselines else "method")
    if as_json:
        from penstock.cli.screen import print_json

        print_json([_described(info) for info in listed])
        return
    from rich.table import Table

    from penstock.cli.screen import ACCENT, screen

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for title in ("method", "data", "guarantee", "relations", "what it is"):
        table.add_column(title, overflow="fold", no_wrap=title == "method")  # names are to be copied
    for info in listed:
        star = " *" if info.default else ""
        table.add_row(
            f"[{ACCENT}]{info.name}[/]{star}",
            info.kind,
            info.guarantee,
            ", ".join(info.relations),
            info.summary,
        )
    out = screen()
    out.print(table)
    out.print("\n* used when no --method is given. One page about each: docs/methods/.", style="dim")


def _described(info: catalogue.MethodInfo) -> dict[str, object]:
    from penstock.contracts.plug import method_class

    parameters = method_class(info).parameters()
    return {
        "name": info.name,
        "kind": info.kind,
        "answer": info.answer,
        "role": info.role,
        "summary": info.summary,
        "guarantee": info.guarantee,
        "relations": list(info.relations),
        "default": info.default,
        "parameters": {parameter.name: parameter.default for parameter in parameters},
        "ranges": {parameter.name: parameter.domain.words for parameter in parameters},
    }
