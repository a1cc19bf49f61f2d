"""Fills the page about the command line from the program itself, so that it cannot go stale."""

from __future__ import annotations

import inspect
import re
from typing import Any

PLACE = "<!-- the commands, generated from the program itself -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return markdown.replace(PLACE, commands()) if PLACE in markdown else markdown


def commands() -> str:
    """Every command with its help text and options, in Markdown."""
    import typer.main

    from penstock.cli.app import app

    root = typer.main.get_command(app)
    return "\n\n".join(_pages("penstock", root))


def _pages(path: str, command: Any) -> list[str]:
    inner = getattr(command, "commands", None)
    if inner is None:
        return [_page(path, command)]
    pages = []
    for name in sorted(inner):
        pages += _pages(f"{path} {name}", inner[name])
    return pages


def _page(path: str, command: Any) -> str:
    words = _markdown(inspect.cleandoc(command.help or ""))
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(
        [
            path,
            "[OPTIONS]",
            *(f"[{each.metavar}]" if not each.required else each.metavar for each in arguments),
        ]
    )
    rows = []
    for option in command.params:
        if option.param_type_name == "argument" or option.name == "help" or getattr(option, "hidden", False):
            continue
        names = ", ".join(f"`{name}`" for name in option.opts)
        needed = " **Required.**" if option.required else ""
        rows.append(f"| {names} | {_markdown(option.help or '')}{needed} |")
    table = "\n".join(["| option | meaning |", "|---|---|", *rows]) if rows else ""
    return f"## {path}\n\n```text\n{usage}\n```\n\n{words}\n\n{table}"


def _markdown(text: str) -> str:
    """Rich's marks as Markdown's."""
    code = re.sub(r"\[dark_cyan\](.*?)\[/\]", r"```text\n\1\n```", text, flags=re.DOTALL)
    return re.sub(r"\[bold\](.*?)\[/bold\]", r"**\1**", code).replace("\\\\\n", "\\\n")
