"""What a custodian can do about a fact: each action takes a few words and changes as few letters of the file.

An action never reads a record. It works on what the schema says, so that nothing more of the data can get
into it; whether the changed schema still makes sense is checked before it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Final

from penstock.errors import UsageError
from penstock.review import marks
from penstock.review.marks import Path
from penstock.schema import Field, Schema
from penstock.schema.fact import nearest
from penstock.schema.field import OTHER
from penstock.schema.magnitudes import round_outwards
from penstock.schema.values import at, written

UNIT: Final = "unit"
"""The name under which the privacy unit is reviewed, beside those of the fields."""
NOTHING: Final = "none"
RULES: Final = ("impossible", "always")
INTO: Final = "into"


@dataclass(frozen=True)
class Page:
    """A schema as it is written, and what it means."""

    text: str
    typed: dict[str, Any]
    schema: Schema

    def place(self, name: str) -> Path:
        """Where a field is written down."""
        names = self.schema.names
        if name not in names:
            raise UsageError(
                f"'{name}' is not a field of the schema{nearest(name, names)}; it has {', '.join(names)}."
            )
        return ("fields", names.index(name))

    def field_at(self, place: Path) -> dict[str, Any]:
        found: dict[str, Any] = self.typed["fields"][place[1]]
        return found


@dataclass(frozen=True)
class Action:
    """One thing to do: its name, the words that follow it, what it does."""

    name: str
    words: str
    does: str
    edit: Callable[..., str]
    least: int = 1
    most: int | None = 1

    def __call__(self, page: Page, words: Sequence[str]) -> str:
        """The changed text."""
        if len(words) < self.least or (self.most is not None and len(words) > self.most):
            raise UsageError(f"Write it as '{self.name} {self.words}'.".replace(" '.", "'."))
        return self.edit(page, *words)


def _confirm(page: Page, name: str) -> str:
    return _reviewed(page, name, False)


def _reopen(page: Page, name: str) -> str:
    return _reviewed(page, name, True)


def _reviewed(page: Page, name: str, waiting: bool) -> str:
    if name == UNIT and name not in page.schema.names:
        if not isinstance(page.typed.get(UNIT), dict):
            unit = {"protects": page.schema.unit.protects, "review": waiting}
            return marks.put(page.text, (UNIT,), unit, before="fields")
        return marks.put(page.text, (UNIT, "review"), waiting)
    return marks.put(page.text, (*page.place(name), "review"), waiting)


def _bounds(page: Page, name: str, low: str, high: str) -> str:
    place, field = page.place(name), page.schema.field(name)
    if not field.ranged:
        raise UsageError(f"'{name}' is no range, so it has no bounds; add or merge its categories.")
    text, typed = page.text, page.field_at(place)
    low, high = _as_written(field, low), _as_written(field, high)
    if "constraints" not in typed:
        text = marks.put(text, (*place, "constraints"), {"minimum": low, "maximum": high}, before="review")
    else:
        text = marks.put(text, (*place, "constraints", "minimum"), low)
        text = marks.put(text, (*place, "constraints", "maximum"), high)
    edges = typed.get("bins", {}).get("edges")
    if edges:
        text = marks.put(text, (*place, "bins", "edges", 0), low)
        text = marks.put(text, (*place, "bins", "edges", len(edges) - 1), high)
    return text


def _widen(page: Page, name: str) -> str:
    page.place(name)  # refuses an unknown one with the words of an action
    field = page.schema.field(name)
    if not field.ranged:
        if field.type != "boolean" and not field.labels:
            raise UsageError(f"'{name}' has no categories yet; add those that are publicly known.")
        return _outside(page, name, "other")
    low, high = field.edges.low, field.edges.high
    half = (high - low) / 2 or 1.0
    if field.type in ("date", "datetime"):
        return _years(page, name, field, 1, 1)
    start, end = round_outwards(0.0 if 0 <= low <= half else low - half, high + half)
    return _bounds(page, name, _number(field, start), _number(field, end))


def _round(page: Page, name: str) -> str:
    place, field = page.place(name), page.schema.field(name)
    if not field.ranged:
        raise UsageError(f"'{name}' is no range, so there is nothing to round; merge its rare categories.")
    if field.type in ("date", "datetime"):
        return _years(page, name, field, 0, 10)
    low, high = field.edges.low, field.edges.high
    start, end = _round_number(low, high - low, down=True), _round_number(high, high - low, down=False)
    if (start, end) != (low, high):
        return _bounds(page, name, _number(field, start), _number(field, end))
    if field.decimals:
        return marks.put(page.text, (*place, "decimals"), field.decimals - 1)
    raise UsageError(f"The bounds of '{name}' are round already; type others, or widen them.")


def _round_number(number: float, span: float, *, down: bool) -> float:
    """The next 1, 2 or 5 times a power of ten outwards; zero where it is near."""
    if number == 0 or (down and 0 < number <= span) or (not down and -span <= number < 0):
        return 0.0
    away = (number > 0) != down
    exact = abs(Decimal(repr(number)))
    power = Decimal(1).scaleb(exact.adjusted())
    steps = [power * digit for digit in (1, 2, 5, 10)]
    if not away:  # towards zero: 1998 becomes 1990 rather than 1000
        step = Decimal(1).scaleb(Decimal(repr(span or 1.0)).adjusted())
        kept = (exact / step).to_integral_value(ROUND_FLOOR) * step
    elif span and exact > 5 * Decimal(repr(span)):
        step = Decimal(1).scaleb(Decimal(repr(span)).adjusted())
        kept = (exact / step).to_integral_value(ROUND_CEILING) * step
    else:
        kept = next(step for step in steps if step >= exact)
    return float(kept if number > 0 else -kept)


def _years(page: Page, name: str, field: Field, more: int, whole: int) -> str:
    """Bounds at the ends of years: so many more of them, or up to whole tens."""
    ends = [at(field.type, place) for place in (field.edges.low, field.edges.high)]
    assert isinstance(ends[0], date)
    assert isinstance(ends[1], date)
    first, last = ends[0].year - more, ends[1].year + more
    if whole:
        first, last = first // whole * whole, last // whole * whole + whole - 1
    low: date = date(max(first, 1), 1, 1)
    high: date = date(min(last, 9999), 12, 31)
    if field.type == "datetime":
        low, high = datetime(low.year, 1, 1), datetime(high.year, 12, 31, 23, 59, 59)
    return _bounds(page, name, written(low), written(high))


def _number(field: Field, value: float) -> str:
    return written(int(value) if field.whole or value == int(value) else value)


def _title(page: Page, name: str, title: str = "") -> str:
    place = page.place(name)
    if title:
        return marks.put(page.text, (*place, "title"), title, before="type")
    return marks.remove(page.text, (*place, "title")) if "title" in page.field_at(place) else page.text


def _merge(page: Page, name: str, *words: str) -> str:
    named = len(words) > 2 and words[-2] == INTO
    values, into = (words[:-2], words[-1]) if named else (words, OTHER)
    place, field, known = page.place(name), page.schema.field(name), _categories(page, name)
    unknown = next((value for value in values if value not in known), None)
    if unknown is not None:
        raise UsageError(f"'{unknown}' is not a category of '{name}'{nearest(unknown, known)}.")
    if field.taxonomy is not None:
        raise UsageError(
            f"The categories of '{name}' have a taxonomy; merge them in the file, in both places."
        )
    before = page.field_at(place).get("merged", {})
    away = [value for value in values if value != into]
    kept = [value for value in known if value not in away]
    folded = into == OTHER and into not in known
    if not folded and into not in kept:
        kept.insert(known.index(values[0]) if field.categories_ordered else len(kept), into)
    if not kept:
        raise UsageError(f"'{name}' would have no category left; leave the whole column out instead.")
    text = marks.put_items(page.text, (*place, "constraints", "enum"), [_as_written(field, v) for v in kept])
    after = {each: list(raw) for each, raw in before.items() if each not in away}
    if not folded:
        moved = [raw for value in away for raw in (value, *before.get(value, ()))]
        after[into] = [*after.get(into, ()), *(raw for raw in moved if raw != into)]
        after = {each: [_as_written(field, value) for value in raw] for each, raw in after.items() if raw}
    if after:
        text = marks.put(text, (*place, "merged"), after, before="review")
    elif before:
        text = marks.remove(text, (*place, "merged"))
    return marks.put(text, (*place, "outside"), OTHER, before="review") if folded else text


def _add(page: Page, name: str, *values: str) -> str:
    place, field = page.place(name), page.schema.field(name)
    return marks.put_items(
        page.text,
        (*place, "constraints", "enum"),
        [*dict.fromkeys([*_categories(page, name), *(_as_written(field, value) for value in values)])],
    )


def _as_written(field: Field, value: str) -> str:
    return marks.Number(value.strip()) if field.type in ("integer", "number") else value


def _categories(page: Page, name: str) -> list[str]:
    listed = page.field_at(page.place(name)).get("constraints", {}).get("enum")
    if isinstance(listed, str):
        raise UsageError(f"The categories of '{name}' are those of the file '{listed}'; edit that.")
    if not isinstance(listed, list):
        raise UsageError(f"'{name}' has no list of categories.")
    return list(listed)


def _outside(page: Page, name: str, what: str) -> str:
    return marks.put(page.text, (*page.place(name), "outside"), what, before="review")


def _missing(page: Page, name: str, what: str, *signs: str) -> str:
    place = page.place(name)
    text = marks.put(page.text, (*place, "missing"), what, before="review")
    return marks.put(text, (*place, "missingValues"), list(signs), before="review") if signs else text


def _markers(page: Page, *signs: str) -> str:
    return marks.put(page.text, ("missingValues",), list(dict.fromkeys(["", *signs])), before="fields")


def _leave_out(page: Page, name: str) -> str:
    place, text = page.place(name), page.text
    if len(page.schema.names) == 1:
        raise UsageError(f"'{name}' is the only field that is left.")
    if page.schema.target == name:
        text = marks.remove(text, ("target",))
    return marks.remove(text, place)


def _target(page: Page, name: str) -> str:
    if name == NOTHING and name not in page.schema.names:
        return page.text if page.schema.target is None else marks.remove(page.text, ("target",))
    page.place(name)
    return marks.put(page.text, ("target",), name, before="fields")


def _unit(page: Page, protects: str, column: str = "", at_most: str = "") -> str:
    stated: dict[str, Any] = {"protects": protects}
    stated |= {"column": column} if column else {}
    stated |= {"at_most": marks.Number(at_most)} if at_most else {}
    return marks.put(page.text, (UNIT,), {**stated, "review": page.schema.unit.review}, before="fields")


def _rule(page: Page, kind: str, *condition: str) -> str:
    if kind not in RULES:
        raise UsageError(f"A rule is '{RULES[0]}' or '{RULES[1]}', not '{kind}'.")
    words = " ".join(condition)
    if kind in page.typed:
        return marks.append(page.text, (kind,), words)
    return marks.put(page.text, (kind,), [words], before="fields")


def _drop_rule(page: Page, kind: str, number: str) -> str:
    listed = page.typed.get(kind) if kind in RULES else None
    if not isinstance(listed, list) or not number.isdigit() or not 1 <= int(number) <= len(listed):
        raise UsageError(f"There is no rule {number} under '{kind}'.")
    if len(listed) == 1:
        return marks.remove(page.text, (kind,))
    return marks.remove(page.text, (kind, int(number) - 1))


ACTIONS: Final = {
    action.name: action
    for action in (
        Action("confirm", "FIELD", "Its facts are publicly known: no longer marked for review.", _confirm),
        Action("reopen", "FIELD", "Mark it for review again.", _reopen),
        Action("widen", "FIELD", "Wider bounds; for categories, let others in as 'other'.", _widen),
        Action("round", "FIELD", "Round bounds; if they are round, one decimal less.", _round),
        Action("bounds", "FIELD LOW HIGH", "These bounds.", _bounds, 3, 3),
        Action("rename", "FIELD TITLE", "The title under which reports show it.", _title, 1, 2),
        Action(
            "merge",
            "FIELD VALUE ... [into NAME]",
            "These categories become one of this name, or 'other'.",
            _merge,
            2,
            None,
        ),
        Action("add", "FIELD VALUE ...", "More categories, known from elsewhere.", _add, 2, None),
        Action("outside", "FIELD refuse|clamp|other", "What becomes of other values.", _outside, 2, 2),
        Action(
            "missing", "FIELD value|refuse [SIGN ...]", "Missing values, and their signs.", _missing, 2, None
        ),
        Action("leave-out", "FIELD", "The column is no part of the release.", _leave_out),
        Action("markers", "SIGN ...", "Signs for a missing value in all columns.", _markers, 0, None),
        Action("target", "FIELD|none", "What others will want to predict.", _target),
        Action(
            "unit", "PROTECTS [COLUMN AT_MOST]", "Whose presence is hidden: record, or user.", _unit, 1, 3
        ),
        Action("rule", "impossible|always CONDITION", "What can never be, or always is.", _rule, 2, None),
        Action("drop-rule", "impossible|always NUMBER", "Take a rule back.", _drop_rule, 2, 2),
    )
}
"""All that can be done, by name."""
