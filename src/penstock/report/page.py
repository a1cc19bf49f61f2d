"""Pages for people: sections of words, cards, tables and charts in one self-contained HTML file.

`render` serves the public report and the custodian's evaluation alike. The page loads nothing: its
content security policy forbids every request and every script but our own two, which it names by
their hashes, so that even a label that slipped through the escaping could not run.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.report.numbers import percent, readable
from penstock.report.picture import Picture
from penstock.report.shapes import as_json
from penstock.report.theme import DARK, LIGHT

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_ROWS = 200


@dataclass(frozen=True)
class Text:
    """Paragraphs; `tone` is "plain", "quiet" or "warning"."""

    shape: ClassVar[str] = "text"
    paragraphs: Sequence[str]
    tone: str = "plain"


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    shape: ClassVar[str] = "points"
    sentences: Sequence[str]


@dataclass(frozen=True)
class Card:
    """One number that matters, with what it is and a note."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Cards:
    """A row of cards."""

    shape: ClassVar[str] = "cards"
    cards: Sequence[Card]


@dataclass(frozen=True)
class Table:
    """Rows under named columns; numbers are aligned and written for people.

    `indents` moves the first cell of each row to the right, for rows that belong together; `notes`
    are quiet second lines in the first cells;
    `strong` names the positions of rows such as totals, `right` those of columns whose text is set
    like numbers. A `folded` table waits behind its caption.
    """

    shape: ClassVar[str] = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    indents: Sequence[int] = ()
    notes: Sequence[str] = ()
    strong: Sequence[int] = ()
    right: Sequence[int] = ()
    folded: bool = False


@dataclass(frozen=True)
class Gallery:
    """Several pictures; narrow ones share a line where there is room."""

    shape: ClassVar[str] = "gallery"
    pictures: Sequence[Picture]

    @property
    def runs(self) -> list[tuple[bool, list[Picture]]]:
        """Neighbouring pictures of the same width."""
        return [(wide, list(run)) for wide, run in groupby(self.pictures, key=lambda shown: shown.wide)]


@dataclass(frozen=True)
class Commands:
    """Lines to type, each under a few words that say what it does."""

    shape: ClassVar[str] = "commands"
    lines: Sequence[tuple[str, str]]


Block = Text | Points | Cards | Table | Gallery | Picture | Commands


@dataclass(frozen=True)
class Section:
    """A titled part of a page; `short` is its name in the navigation."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""
    short: str = ""


@dataclass(frozen=True)
class Gauge:
    """A range on a scale from 0 to 100 %, with the starting point marked."""

    low: float
    high: float
    start: float = 0.5
    low_text: str = ""
    high_text: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Headline:
    """The first thing a reader sees: one number, what it means, and on which terms."""

    value: str
    label: str
    title: str
    paragraphs: Sequence[str]
    gauge: Gauge | None = None
    terms: Sequence[tuple[str, str]] = ()


def render(
    title: str,
    sections: Sequence[Section],
    *,
    subtitle: str = "",
    eyebrow: str = "",
    headline: Headline | None = None,
    stamp: str | None = None,
    banner: str | None = None,
    footer: str = "",
) -> str:
    """One HTML page that opens offline.

    `stamp` is a few loud words across the top ("not for publication"), `banner` a sentence of
    warning. Everything given is text and is escaped; only figures carry structure.
    """
    figures = _Figures()
    body = (
        _environment()
        .get_template("page.html.jinja")
        .render(
            title=title,
            sections=sections,
            subtitle=subtitle,
            eyebrow=eyebrow,
            headline=headline,
            stamp=stamp,
            banner=banner,
            footer=footer,
            figures=figures,
            style=_part("page.css"),
            anchor=_anchor,
            cell=_cell,
            is_number=_is_number,
            most_rows=MOST_ROWS,
            percent=percent,
            scripts=lambda: _scripts(figures),
            themes={"light": LIGHT, "dark": DARK},
        )
    )
    return body.replace("%%POLICY%%", _policy(figures), 1)


class _Figures:
    """The figures of a page, in the order in which the template meets them."""

    def __init__(self) -> None:
        self.found: list[Mapping[str, Any]] = []

    def add(self, picture: Picture) -> int:
        self.found.append(picture.figure.plain)
        return len(self.found) - 1

    def height(self, index: int) -> int:
        return int(self.found[index]["layout"].get("height") or 320)


def _scripts(figures: _Figures) -> Sequence[str]:
    return (_part("chart.js"), _part("page.js")) if figures.found else ()


def _policy(figures: _Figures) -> str:
    allowed = " ".join(f"'sha256-{_hash(script)}'" for script in _scripts(figures)) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _part(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined

    known = {name: _part(name) for name in ("page.html.jinja", "blocks.html.jinja")}
    environment = Environment(
        loader=DictLoader(known),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data"] = _data
    return environment


def _data(value: Any) -> Any:
    """JSON for a data block: no character in it can end the block."""
    from markupsafe import Markup

    text = as_json(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return readable(float(value)) if _is_number(value) else str(value)
