"""From a codebook to a schema: facts that are published already need no second look.

What a codebook says replaces what a draft read off the data, and whatever else the draft read there about
the same column is taken out, so that nothing of the data is confirmed by the way. Each such field says in a
comment which codebook it comes from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.errors import UsageError
from penstock.review import marks
from penstock.review.cards import FROM, READ
from penstock.review.codebooks import ddi, json_forms, statistical, two_columns
from penstock.review.codebooks.entry import Entry
from penstock.review.sheet import Sheet
from penstock.schema import document

FORMS: Final = (
    "Frictionless, CSV on the Web or a NIST data dictionary (.json), DDI (.xml), Stata (.dta), SPSS (.sav), "
    "or two columns (.csv)"
)
_MOST: Final = 50_000_000
_KEPT: Final = ("name", "outside", "review", "trueValues", "falseValues")
"""What no draft reads off the data, so that it stays."""


@dataclass(frozen=True)
class Imported:
    """What became of a codebook: fields that it confirmed, fields that it only named, and strangers."""

    confirmed: tuple[str, ...]
    titled: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def words(self) -> str:
        found = f"{len(self.confirmed)} fields confirmed by the codebook"
        if self.titled:
            found += f", {len(self.titled)} given a title only"
        return found + (
            f"; {len(self.unknown)} of its variables are not in the schema" if self.unknown else ""
        )


def entries(path: str | Path) -> list[Entry]:
    """What a codebook says, by variable."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in (".dta", ".sav", ".zsav"):
        return statistical.read(path)
    try:
        if path.stat().st_size > _MOST:
            raise UsageError(f"'{path}' is larger than any codebook ({_MOST // 10**6} MB).")
        content = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"'{path}' cannot be read: {problem.strerror}.") from None
    if suffix == ".xml":
        return ddi.read(content, str(path))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"'{path}' is not UTF-8 text; save it as UTF-8.") from None
    if suffix in (".csv", ".txt", ".tsv"):
        return two_columns.read(text.replace("\t", ",") if suffix == ".tsv" else text, str(path))
    if suffix == ".json":
        try:
            return json_forms.read(json.loads(text), str(path))
        except (ValueError, RecursionError):
            raise UsageError(f"'{path}' is not valid JSON.") from None
        except (AttributeError, TypeError, KeyError):
            raise UsageError(f"'{path}' is not built as its form demands.") from None
    raise UsageError(f"'{path}' is no codebook that can be read; there are {FORMS}.")


def take_in(sheet: Sheet, path: str | Path) -> Imported:
    """Write what a codebook says into the schema, all of it in one step."""
    by_name = {entry.name: entry for entry in entries(path)}
    folded = {name.casefold(): entry for name, entry in by_name.items()}
    text, confirmed, titled = sheet.page.text, [], []
    for place, field in enumerate(sheet.schema.fields):
        entry = by_name.get(field.name) or folded.get(field.name.casefold())
        if entry is None:
            continue
        where: marks.Path = ("fields", place)
        if entry.whole:
            text = _confirmed(text, where, entry, Path(path).name)
            confirmed.append(field.name)
        elif entry.title or entry.description:
            for key in ("title", "description"):
                if getattr(entry, key):
                    text = marks.put(text, (*where, key), getattr(entry, key), before="type")
            titled.append(field.name)
    names = {name.casefold() for name in sheet.schema.names}
    sheet.write(text)
    unknown = tuple(name for name in by_name if name.casefold() not in names)
    return Imported(tuple(confirmed), tuple(titled), unknown)


def _confirmed(text: str, where: marks.Path, entry: Entry, source: str) -> str:
    """The field as the codebook has it, with a comment that says so in place of what the draft read."""
    facts: dict[str, Any] = entry.facts()
    typed = document.as_typed(text)["fields"][where[1]]
    numeric = facts["type"] in ("integer", "number")
    merged: dict[str, list[str]] = typed.get("merged", {})
    if entry.values and merged:  # which somebody has decided, and the codebook lists what they are made of
        means = {value: name for name, values in merged.items() for value in values}
        listed = [*(means.get(value, value) for value in entry.values), *merged]
        facts["constraints"] = {"enum": list(dict.fromkeys(listed))}
        facts["merged"] = merged
    for key in [key for key in typed if key not in facts and key not in _KEPT]:
        text = marks.remove(text, (*where, key))
    for key, value in facts.items():
        text = marks.put(text, (*where, key), _numbers(value) if numeric else value, before="review")
    text = marks.put(text, (*where, "review"), False)
    text = marks.without_remarks(text, where, READ)
    return marks.remark(text, where, f"{FROM} {source}: {', '.join(entry.told)}")


def _numbers(value: Any) -> Any:
    """Bounds, categories and spikes of a numeric field, as digits without quotes."""
    if isinstance(value, dict):
        return {
            key: [marks.Number(e) for e in each] if isinstance(each, list) else marks.Number(each)
            for key, each in value.items()
        }
    return value
