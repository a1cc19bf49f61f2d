"""Mistakes that can be made from outside a method, for the broken copies of `penstock.audit.methods`.

A data handle that states too small a sensitivity, and schemas read off the records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from penstock.contracts.data import Handle
from penstock.privacy.seals.sealed import Sealed
from penstock.schema import Schema

Change = Callable[[str, Sealed[Any]], Sealed[Any]]
"""What becomes of a sealed value that a handle gives out under a name."""


class _Changed:
    """A data handle whose sealed values are others than the true ones."""

    def __init__(self, data: Any, change: Change) -> None:
        self._data, self._change = data, change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._data, name)
        if callable(found):
            return lambda *values, **named: self._seen(name, found(*values, **named))
        return self._seen(name, found)

    def prepared(self, budget: Any) -> Any:
        """What is found in the records first is found through the same wrong values."""
        return type(self._data).prepared(self, budget)

    def _seen(self, name: str, value: Any) -> Any:
        if isinstance(value, Sealed):
            return self._change(name, value)
        if isinstance(value, list):
            return [self._seen(name, item) for item in value]
        if isinstance(value, Handle):
            return _Changed(value, self._change)
        return value


def changed(data: Any, change: Change) -> Any:
    """The handle, and all handles that it gives out, with other sealed values than the true ones."""
    return _Changed(data, change)


def understated(data: Any, factor: Fraction) -> Any:
    """The handle with every sensitivity multiplied by a factor below one: a wrong proof, from outside."""

    def lower(name: str, value: Sealed[Any]) -> Sealed[Any]:
        return value.claim(
            lambda whole: whole,
            value.sensitivity.scaled(factor),
            because="it does not hold: a wrong proof on purpose, for an audit to refute",
        )

    return _Changed(data, lower)


def seen_categories(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """The enumerations shortened to the values that occur."""
    text = schema.model_dump(by_alias=True, exclude_defaults=True)
    for place, described in enumerate(text["fields"]):
        listed = described.get("constraints", {}).get("enum")
        if listed is not None:
            seen = {record[place] for record in records}
            described["constraints"]["enum"] = [value for value in listed if value in seen]
    return Schema.model_validate(text)
