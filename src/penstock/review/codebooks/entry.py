"""What a codebook says of one variable, whatever form it was written in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.schema.values import DATE, NUMBER, Type

LONGEST = 2000
_WHOLE = re.compile(r"^[+-]?[0-9]+$")


@dataclass(frozen=True)
class Entry:
    """One variable: its domain as far as the codebook gives it, in texts.

    `values` are its categories, with a label each (or ""); `low` and `high` its bounds; `signs` what stands
    for a missing value; `required` says that none is missing.
    """

    name: str
    title: str = ""
    description: str = ""
    type: Type | None = None
    values: dict[str, str] = field(default_factory=dict)
    low: str | None = None
    high: str | None = None
    ordered: bool = False
    spikes: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    required: bool = False

    @property
    def bounded(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def whole(self) -> bool:
        """Whether it says all that a schema needs."""
        return bool(self.values) or self.bounded or self.type == "boolean"

    @property
    def kind(self) -> Type:
        """The type that it states, or that follows from its values or bounds; never from the data."""
        texts = list(self.values) or [
            text for text in (self.low, self.high, *self.spikes) if text is not None
        ]
        if self.type is not None and not (self.type == "boolean" and self.values):
            return self.type
        if all(map(_WHOLE.match, texts)):
            return "integer"
        if all(re.match(NUMBER, text) for text in texts):
            return "number"
        return "date" if not self.values and all(re.match(DATE, text) for text in texts) else "string"

    @property
    def told(self) -> list[str]:
        """What it says, in words."""
        found = ["its categories"] if self.values else ["its bounds"] if self.bounded else []
        found += ["its type"] if self.type is not None else []
        found += ["what stands out"] if self.spikes else []
        return found + (["its signs for missing values"] if self.signs else [])

    def facts(self) -> dict[str, Any]:
        """The field of a schema that it amounts to; what it does not say is left out."""
        described = "; ".join(f"{value} = {label}" for value, label in self.values.items() if label)
        words = ". ".join(part.rstrip(".") for part in (self.description, described) if part)
        found: dict[str, Any] = {"type": self.kind}
        if self.title:
            found["title"] = self.title
        if words:
            found["description"] = words[:LONGEST]
        if self.values:
            found["constraints"] = {"enum": list(self.values)}
            if self.ordered and len(self.values) > 2:
                found["categoriesOrdered"] = True
        elif self.bounded:
            found["constraints"] = {"minimum": self.low, "maximum": self.high}
        if self.spikes and not self.values:
            found["spikes"] = list(self.spikes)
        found["missing"] = "refuse" if self.required else "value"
        if self.signs:
            found["missingValues"] = [*dict.fromkeys([*self.signs, ""])]
        return found


def text_of(value: Any) -> str:
    """A value of a JSON codebook as text: 1.0 is written 1.

    >>> text_of(1.0), text_of(True), text_of(" a ")
    ('1', 'true', 'a')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def listed(values: Iterable[Any]) -> dict[str, str]:
    """Categories given as plain values, or as mappings with a label."""
    found = {}
    for each in values:
        if isinstance(each, dict):
            found[text_of(each.get("value", ""))] = text_of(each.get("label", ""))
        else:
            found[text_of(each)] = ""
    return found
