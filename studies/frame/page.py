"""A study in the documentation: one screen of findings, the details, and the long tables on a page beside it.

Every page begins alike: what was asked, what was found (what does not hold included), how to run it again,
and what it rests on. `Page` refuses a first screen that is longer than a screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import fill

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "studies"
LONGEST_SCREEN = 44
"""Lines of Markdown above the first section; about what a reader sees without scrolling far."""
LONGEST_TABLE = 10
"""Rows of a table on the first screen."""


@dataclass(frozen=True)
class Page:
    """What a study has to say, in the order in which it is read.

    `found` begins with a paragraph; tables and lists may follow. `details` and `tables` are sections with
    their headings; the tables go to a page of their own.
    """

    name: str
    title: str
    asked: str
    found: Sequence[str]
    again: str
    rests_on: str
    details: Sequence[str]
    tables: Sequence[str]

    def __post_init__(self) -> None:
        lines = self.screen.splitlines()
        longest = max((rows for rows in map(_rows, _blocks(lines))), default=0)
        if len(lines) > LONGEST_SCREEN or longest > LONGEST_TABLE:
            raise ValueError(
                f"The first screen of {self.name} has {len(lines)} lines and a table of {longest} rows; "
                f"it may have {LONGEST_SCREEN} and {LONGEST_TABLE}."
            )

    @property
    def screen(self) -> str:
        """All that stands above the first section."""
        first, *rest = self.found
        parts = [
            f"# {self.title}",
            wrapped(f"**Asked.** {self.asked}"),
            wrapped(f"**Found.** {first}"),
            *rest,
            wrapped(f"**Run it again.** {self.again}"),
            wrapped(f"**Rests on.** {self.rests_on} [All tables]({self.name}-tables.md) are an appendix."),
        ]
        return "\n\n".join(parts)

    def text(self) -> str:
        return _joined([self.screen, *self.details])

    def appendix(self) -> str:
        head = f"# {self.title}: all tables\n\nThe appendix of [what was found]({self.name}.md)."
        return _joined([head, *self.tables])

    def write(self, folder: Path = FOLDER) -> None:
        """Both pages, and a line that says so."""
        folder.mkdir(parents=True, exist_ok=True)
        for place, text in ((f"{self.name}.md", self.text()), (f"{self.name}-tables.md", self.appendix())):
            (folder / place).write_text(text, encoding="utf-8")
            print(f"written: {place}")


def wrapped(text: str) -> str:
    """A paragraph in lines that fit the other pages; code and links stay whole."""
    whole = re.sub(
        r"`[^`]+`|\[[^]]+\]\([^)]+\)", lambda part: part[0].replace(" ", "\0"), " ".join(text.split())
    )
    return fill(whole, 110, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _blocks(lines: Sequence[str]) -> list[list[str]]:
    """Lines that stand together."""
    return [list(block) for empty, block in groupby(lines, lambda line: not line.strip()) if not empty]


def _rows(block: Sequence[str]) -> int:
    """The rows of a table, without its head; 0 for other blocks."""
    return len(block) - 2 if block[0].startswith("|") else 0
