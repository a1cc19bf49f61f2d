"""Mistakes that can be made from outside a method, for the broken copies of `penstock.audit.methods`.

A data handle that states too small a sensitivity, schemas read off the records, and records that were scaled
by what the smallest and the largest of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from penstock.contracts.data import Handle
from penstock.privacy.seals.sealed import Sealed
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

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


def stretched(schema: Schema, frame: pl.DataFrame) -> pl.DataFrame:
    """Every range of numbers from its smallest to its largest value that occurs, moved onto the declared one.

    The schema, and so all that is published about it, stays as it is.
    """
    import polars as pl

    moved = []
    for field in schema.fields:
        if field.type not in ("integer", "number") or not field.ranged:
            continue
        values = frame[field.name].cast(pl.Float64)
        seen = [value for value in values.to_list() if value is not None]
        if not seen or min(seen) == max(seen):
            continue
        low, high = field.constraints.minimum, field.constraints.maximum
        share = (values - min(seen)) / (max(seen) - min(seen))
        scaled = float(low) + share * (float(high) - float(low))
        moved.append((scaled.round().cast(pl.Int64) if field.type == "integer" else scaled).alias(field.name))
    return frame.with_columns(moved)
