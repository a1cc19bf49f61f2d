"""Mistakes that can be made from outside a method, for the broken copies of `penstock.audit.methods`.

A data handle that states too small a sensitivity, and schemas read off the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from penstock.contracts.data import Handle
from penstock.privacy.seals.sealed import Sealed
from penstock.schema import Schema


class _Understated:
    """A data handle whose sealed values state less sensitivity than they have."""

    def __init__(self, data: Any, factor: Fraction) -> None:
        self._data, self._factor = data, factor

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._data, name)
        if callable(found):
            return lambda *values, **named: self._lower(found(*values, **named))
        return self._lower(found)

    def prepared(self, budget: Any) -> Any:
        """What is found in the records first is found through the same wrong sensitivities."""
        return type(self._data).prepared(self, budget)

    def _lower(self, value: Any) -> Any:
        if isinstance(value, Sealed):
            return value.claim(
                lambda whole: whole,
                value.sensitivity.scaled(self._factor),
                because="it does not hold: a wrong proof on purpose, for an audit to refute",
            )
        if isinstance(value, list):
            return [self._lower(item) for item in value]
        if isinstance(value, Handle):
            return _Understated(value, self._factor)
        return value


def understated(data: Any, factor: Fraction) -> Any:
    """The handle with every sensitivity multiplied by a factor below one: a wrong proof, from outside."""
    return _Understated(data, factor)


def seen_categories(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """The enumerations shortened to the values that occur."""
    text = schema.model_dump(by_alias=True, exclude_defaults=True)
    for place, described in enumerate(text["fields"]):
        listed = described.get("constraints", {}).get("enum")
        if listed is not None:
            seen = {record[place] for record in records}
            described["constraints"]["enum"] = [value for value in listed if value in seen]
    return Schema.model_validate(text)
