"""The review in a terminal, for servers: the same cards and the same actions, a line of words at a time."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from penstock.cli.screen import ACCENT, clean, screen
from penstock.errors import PenstockError
from penstock.review.actions import ACTIONS
from penstock.review.cards import Card, cards
from penstock.review.sheet import UNDO, Sheet

if TYPE_CHECKING:
    from rich.console import Console

_MOST = 30


def describe(console: Console, card: Card) -> None:
    """One card in a few lines."""
    title = f" · {clean(card.title)}" if card.title else ""
    kind = f" [dim]({clean(card.type)})[/]" if card.type else ""
    console.print(f"\n[bold {ACCENT}]{clean(card.name)}[/]{title}{kind}")
    console.print(f"  {clean(card.domain)}")
    if card.values:
        shown = ", ".join(clean(value) for value in card.values[:_MOST])
        rest = len(card.values) - _MOST + card.more_values
        console.print(f"  [dim]{shown}{f' and {rest} more' if rest > 0 else ''}[/]")
    for words in card.merged:
        console.print(f"  [dim]merged into {clean(words)}[/]")
    if card.source:
        console.print(f"  [dim]{clean(card.source)}[/]")
    if card.read:
        console.print(f"  [bold]Read off the data:[/] {clean(', '.join(card.read))}.")
    for words in (*card.why, *card.hints):
        console.print(f"  {clean(words)}")


def converse(sheet: Sheet) -> None:
    """Go through what is open until nothing is left or the custodian stops; every step is written at once."""
    console = screen()
    skipped: set[str] = set()
    console.print(
        "Enter confirms, 's' skips, 'q' stops, '?' lists all actions; or type one, such as 'bounds 0 120'."
    )
    while True:
        waiting = [card for card in cards(sheet) if card.waiting and card.name not in skipped]
        if not waiting:
            break
        card = waiting[0]
        describe(console, card)
        try:
            line = console.input(f"[{ACCENT}]{len(sheet.left)} left, {clean(card.name)}>[/] ").strip()
        except EOFError:
            console.print()
            break
        if line in ("q", "quit"):
            break
        if line in ("s", "skip"):
            skipped.add(card.name)
        elif line == "?":
            for action in ACTIONS.values():
                words = action.words.removeprefix("FIELD").strip()
                console.print(f"  [bold]{clean(f'{action.name} {words}'.strip()):36}[/] {clean(action.does)}")
            console.print(f"  [bold]{UNDO:36}[/] Take the last step back.")
        else:
            try:
                _obey(sheet, card.name, line or "confirm")
            except (PenstockError, ValueError) as problem:
                console.print(f"[yellow]{clean(problem)}[/]")
    left = len(sheet.left)
    console.print(f"{left} of {sheet.total} left to review." if left else "Nothing left to review.")


def _obey(sheet: Sheet, name: str, line: str) -> None:
    """An action as it is typed under a card: the card's field need not be named."""
    first, *words = shlex.split(line)
    action = ACTIONS.get("confirm" if first in ("c", "y") else first)
    if action is not None and action.words.startswith("FIELD"):
        sheet.do(action.name, name, *words)
    else:
        sheet.do(first, *words)
