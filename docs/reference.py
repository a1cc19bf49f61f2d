"""Fills pages from the program itself, so that they cannot go stale: commands, and lists of the reference."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

HERE = Path(__file__).parent
Entry = tuple[str, str]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    for place, filled in PLACES.items():
        if place in markdown:
            markdown = markdown.replace(place, filled())
    return re.sub(r"<!-- the modules of ([a-z_.]+) -->", lambda found: room(found[1]), markdown)


def methods() -> list[Entry]:
    """Every method and baseline by name, with the dotted path of its class: the one list of this page."""
    from penstock import catalogue

    return [(info.name, info.where.replace(":", ".")) for info in catalogue.methods()]


def handles() -> list[Entry]:
    """Every kind of data by name, with the dotted path of the handle that its methods take."""
    from penstock import catalogue

    return [(info.name, info.data.replace(":", ".")) for info in catalogue.kinds()]


def forms() -> list[Entry]:
    """Every form of a saved release by name, with the dotted path of its class; each class once."""
    from penstock import catalogue

    known = {str(catalogue.form(form)).replace(":", "."): form for form in reversed(catalogue.forms())}
    return sorted((form, where) for where, form in known.items())


def listed(entries: Iterable[Entry]) -> str:
    """A section for each: its name, the page about it if there is one, and what its docstrings say."""
    parts = []
    for name, where in entries:
        page = HERE / "methods" / f"{name}.md"
        about = (
            f"[When to use it, its theorem, how good it is](../methods/{name}.md)." if page.exists() else ""
        )
        parts.append("\n\n".join(part for part in (f"## {name}", about, f"::: {where}") if part))
    return "\n\n".join(parts)


def room(package: str) -> str:
    """Every module of a room: what its docstrings say."""
    found = import_module(package)
    names = [module.name for module in iter_modules(found.__path__) if not module.name.startswith("_")]
    return "\n\n".join(f"::: {package}.{name}" for name in names)


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


PLACES: dict[str, Callable[[], str]] = {
    "<!-- the commands, generated from the program itself -->": commands,
    "<!-- the methods -->": lambda: listed(methods()),
    "<!-- the handles -->": lambda: listed(handles()),
    "<!-- the forms -->": lambda: listed(forms()),
}
