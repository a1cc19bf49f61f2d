"""What reaches the terminal: results on stdout, everything else on stderr.

Text from a release folder may come from anybody, so it passes through `clean` before it is shown:
no escape sequence, no markup.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import cleandoc
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from penstock.progress import Step, show

if TYPE_CHECKING:
    from rich.console import Console

ACCENT = "dark_cyan"
WIDE = 120


def clean(text: object) -> str:
    """One line of printable text, with Rich's markup switched off.

    >>> clean("a[red]b\\x1b[31m"), clean("35\\u00a0%")
    ('a\\\\[red]b�[31m', '35 %')
    """
    from rich.markup import escape

    words = str(text).replace("\N{NO-BREAK SPACE}", " ")
    return escape(
        "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words)
    )


def printable(text: str) -> str:
    """Lines of text for a terminal, which would obey the escape sequences in them.

    >>> printable("a,b\\n\\x1b[2Jc,d\\n")
    'a,b\\n�[2Jc,d\\n'
    """
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def paragraphs(text: str | None) -> str:
    """A docstring as help text: each paragraph on one line for the terminal to wrap, examples coloured.

    >>> paragraphs("One\\ntwo.\\n\\n    penstock demo")
    'One two.\\n\\n[dark_cyan]penstock demo[/]'
    """
    blocks = cleandoc(text or "").split("\n\n")
    return "\n\n".join(
        f"[{ACCENT}]{dedent(block)}[/]" if block.startswith(" ") else " ".join(block.split("\n"))
        for block in blocks
    )


def screen() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE)


def notes() -> Console:
    """Where remarks go that are not the result."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def note(text: str) -> None:
    """A remark (Rich markup is understood) beside the result."""
    notes().print(text, soft_wrap=not sys.stderr.isatty())


def complain(message: str) -> None:
    """An error, as plain text and without any password: in a terminal with a red mark before it."""
    from penstock.errors import without_password

    message = without_password(message)
    if sys.stderr.isatty():
        notes().print(f"[bold red]✗[/] {clean(message)}")
    else:
        print(printable(message), file=sys.stderr)  # what is piped may still end in a terminal


def print_json(value: Any) -> None:
    """The machine-readable answer, and nothing else on stdout; what a terminal would obey is escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    print(
        "".join(
            letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text
        )
    )


@contextmanager
def progress_bars() -> Iterator[None]:
    """Show the progress of long steps on stderr, when somebody is watching."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(style=ACCENT),
        TextColumn("{task.description}"),
        BarColumn(complete_style=ACCENT),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=notes(),
        transient=True,
    ) as bars:

        @contextmanager
        def display(label: str, total: int | None) -> Iterator[Step]:
            task = bars.add_task(label, total=total)
            try:
                yield lambda amount: bars.advance(task, amount)
            finally:
                bars.remove_task(task)

        with show(display):
            yield
