"""What a reviewer sees: a card for each column, with what was read off the data and why that may be secret.

A draft says above each field what it read. The reasons stand here, one for each sort of fact, so that a
custodian need not know the theory to see what a confirmation gives away.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from penstock import catalogue
from penstock.review import marks
from penstock.review.actions import RULES, UNIT
from penstock.review.sheet import Sheet
from penstock.schema import Field
from penstock.schema.values import at, written

READ: Final = "read off the data:"
FROM: Final = "from the codebook"
MOST_SHOWN: Final = 400

_REASONS: Final = (
    (
        "categories",
        "A category that only one person has shows that this person is there. Keep those that a public list "
        "or a questionnaire names, and merge the rare ones.",
    ),
    (
        "bounds",
        "The smallest and the largest value belong to somebody. Take the bounds of the questionnaire or of "
        "common sense, and nobody's value shows.",
    ),
    (
        "stand",
        "That a value stands out says that many people have it, or one person often. Keep it if it is known "
        "from elsewhere, such as a top code.",
    ),
    (
        "bins",
        "Bins that were cut around the records show where the records lie. Confirm them if the cut is a "
        "usual one.",
    ),
    (
        "missing",
        "Whether any value is missing can hang on one person. Say what the questionnaire allows; if in "
        "doubt, let values be missing.",
    ),
    (
        "mean it",
        "A sign for a missing value was found among the records. The codebook should name it.",
    ),
    ("means it", "A sign for a missing value was found among the records. The codebook should name it."),
    ("decimals", "How finely values are written is a fact about all of them; it is usually public."),
    ("type", "The type follows from every value together; it is usually public."),
)


@dataclass(frozen=True)
class Card:
    """One column, or the unit: what it says, where that comes from, and what can be done."""

    name: str
    shape: str
    waiting: bool
    domain: str
    title: str = ""
    type: str = ""
    read: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    source: str = ""
    values: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    more_values: int = 0
    low: str = ""
    high: str = ""
    outside: str = "refuse"
    missing: str = "refuse"
    signs: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


def cards(sheet: Sheet) -> list[Card]:
    """A card for the unit, then one for every field, in the order of the file."""
    found = [_unit(sheet)]
    for place, field in enumerate(sheet.schema.fields):
        told = marks.remarks_above(sheet.page.text, ("fields", place))
        found.append(_of(field, told, sheet.schema.missing_values))
    return found


def _of(field: Field, told: list[str], markers: tuple[str, ...]) -> Card:
    read = [fact for line in told if line.startswith(READ) for fact in _facts(line.removeprefix(READ))]
    source = next((line for line in told if line.startswith(FROM)), "")
    hints = tuple(line for line in told if not line.startswith((READ, FROM)))
    always = ("confirm" if field.review else "reopen", "rename", "missing", "outside", "leave-out")
    card = Card(
        name=field.name,
        shape=field.kind,
        waiting=field.review,
        domain=field.domain if field.ranged or field.labels else "nothing yet",
        title=field.title or "",
        type=field.type,
        read=tuple(read),
        why=tuple(_why(read)) if field.review else (),
        hints=hints,
        source=source,
        outside=field.outside,
        missing=field.missing,
        signs=markers if field.missing_values is None else field.missing_values,
    )
    if field.ranged:
        low, high = (written(at(field.type, place)) for place in (field.edges.low, field.edges.high))
        return replace(card, low=low, high=high, actions=(*always, "bounds", "widen", "round"))
    if field.type == "boolean":
        return replace(card, actions=always)
    return replace(
        card,
        values=field.labels[:MOST_SHOWN],
        merged=tuple(f"{written(into)}: {', '.join(map(written, raw))}" for into, raw in field.merged),
        more_values=max(0, len(field.labels) - MOST_SHOWN),
        actions=(*always, "merge", "add", "widen"),
    )


def _unit(sheet: Sheet) -> Card:
    unit, waiting = sheet.schema.unit, sheet.schema.unit.review
    why = (
        "The guarantee hides this and nothing larger: where a person has several records, hiding one record "
        "does not hide the person.",
    )
    return Card(
        name=UNIT,
        shape=UNIT,
        waiting=waiting,
        domain=unit.words,
        why=why if waiting else (),
        actions=("confirm" if waiting else "reopen", UNIT),
    )


def _facts(listed: str) -> list[str]:
    return [fact for fact in re.split(r", (?=its |that )", listed.strip()) if fact]


def _why(read: list[str]) -> list[str]:
    """The reasons that these facts call for, the gravest first and each once."""
    if not read:
        return ["Nothing is known about where this comes from. Compare it with what anybody may know."]
    joined = ", ".join(read)
    return list(dict.fromkeys(why for word, why in _REASONS if word in joined))


def overview(sheet: Sheet) -> dict[str, Any]:
    """All that a face of the review shows, as plain data."""
    schema = sheet.schema
    kind = catalogue.kind(schema.kind)
    return {
        "file": sheet.path.name,
        "title": schema.title or sheet.path.name.partition(".")[0],
        "kind": kind.words,
        "left": sheet.left,
        "total": sheet.total,
        "notes": _at_top(sheet.page.text),
        "cards": [asdict(card) for card in cards(sheet)],
        "unit": {
            "protects": schema.unit.protects,
            "column": schema.unit.column or "",
            "at_most": schema.unit.at_most or "",
            "choices": [
                {"name": each.name, "bounded": each.bounded, "together": each.together} for each in kind.units
            ],
        },
        "targets": list(schema.names) if kind.targets else [],
        "target": schema.target or "",
        "markers": [sign for sign in schema.missing_values if sign],
        "rules": [
            {"kind": key, "number": number, "words": words}
            for key in RULES
            for number, words in enumerate(getattr(schema, key), start=1)
        ],
        "can_undo": sheet.can_undo,
    }


def _at_top(text: str) -> list[str]:
    """The comment lines with which the file begins."""
    found = []
    for line in text.split("\n"):
        if not line.startswith("#"):
            break
        found.append(line.lstrip("#").strip())
    return found
