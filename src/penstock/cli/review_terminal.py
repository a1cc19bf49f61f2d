"""The review in a terminal, for servers: the same cards and the same actions, a line of words at a time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding

from penstock.cli.screen import ACCENT, clean, screen
from penstock.errors import PenstockError
from penstock.review.actions import ACTIONS
from penstock.review.cards import Card, cards
from penstock.review.sheet import UNDO, Sheet

if TYPE_CHECKING:
    from rich.console import Console

_MOST = 30
_WIDE = 36
_FIELD = "FIELD"


def describe(console: Console, card: Card) -> None:
    """One card in a few lines."""
    title = f" · {clean(card.title)}" if card.title else ""
    kind = f" [dim]({clean(card.type)})[/]" if card.type else ""
    console.print(f"\n[bold {ACCENT}]{clean(card.name)}[/]{title}{kind}")
    many = len(card.values) + card.more_values
    lines = [clean(card.domain) if not card.values else f"{many} categor{'y' if many == 1 else 'ies'}"]
    if card.values:
        rest = many - len(card.values[:_MOST])
        listed = ", ".join(clean(value) for value in card.values[:_MOST])
        lines.append(f"[dim]{listed}{f' and {rest} more' if rest else ''}[/]")
    lines += [f"[dim]merged into {clean(words)}[/]" for words in card.merged]
    lines += [f"[dim]{clean(card.source)}[/]"] if card.source else []
    lines += [f"[bold]Read off the data:[/] {clean(', '.join(card.read))}."] if card.read else []
    lines += [clean(words) for words in (*card.why, *card.hints)]
    for line in lines:
        console.print(Padding(line, (0, 0, 0, 2), expand=False))


def converse(sheet: Sheet) -> None:
    """Go through what is open until nothing is left or the custodian stops; every step is written at once."""
    console = screen()
    skipped: set[str] = set()
    shown: Card | None = None
    written = False
    console.print(
        "Enter confirms, 's' skips, 'q' stops, '?' lists all actions; or type one, such as 'bounds 0 120'."
    )
    while True:
        waiting = [card for card in cards(sheet) if card.waiting and card.name not in skipped]
        if not waiting:
            break
        card = waiting[0]
        if card != shown:  # after a mistake or a list of actions the card is still in sight
            describe(console, card)
        elif written:
            console.print("[dim]Written.[/]")
        shown, written = card, False
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
            for name, words, does in _typed():
                console.print(f"  [bold]{clean(f'{name} {words}'.rstrip().ljust(_WIDE))}[/] {clean(does)}")
        else:
            try:
                _obey(sheet, card.name, line or "confirm")
                written = True
            except (PenstockError, ValueError) as problem:
                console.print(f"[yellow]{clean(problem)}[/]")
    left = len(sheet.left)
    console.print(f"{left} of {sheet.total} left to review." if left else "Nothing left to review.")


def _obey(sheet: Sheet, name: str, line: str) -> None:
    """An action as it is typed under a card: the card's field need not be named."""
    first, *words = shlex.split(line)
    action = ACTIONS.get("confirm" if first in ("c", "y") else first)
    if action is None:
        sheet.do(first, *words)
    elif action.words.startswith(f"{_FIELD} "):
        sheet.do(action.name, name, *words)
    elif action.words.startswith(_FIELD):  # and nothing else, so that another may be named
        sheet.do(action.name, *(words or [name]))
    else:
        sheet.do(action.name, *words)


def _typed() -> Iterator[tuple[str, str, str]]:
    """Every action, the words behind it under a card, and what it does."""
    for action in ACTIONS.values():
        first, _, rest = action.words.partition(" ")
        words = rest if first == _FIELD else action.words
        yield action.name, f"[{words}]" if words.startswith(f"{_FIELD}|") else words, action.does
    yield UNDO, "", "Take the last step back."
