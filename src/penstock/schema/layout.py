"""Layouts: how columns make records where a row is not simply a record."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar, Self

from penstock import catalogue
from penstock.errors import SchemaError
from penstock.schema.fact import Fact, nearest

if TYPE_CHECKING:
    from penstock.schema.schema import Schema


class Layout(Fact):
    """The block of a schema in which a kind of data says which columns make its records.

    Each kind that needs one declares its own in the catalogue, with the key under which it stands. `missing`
    is what to tell somebody whose schema lacks it; `not_columns` are its texts that name no column. Every
    key has a description, from which the page about the format is made.
    """

    missing: ClassVar[str]
    required: ClassVar[bool] = False
    """Whether no schema of the kind can do without."""
    not_columns: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, schema: Schema) -> Self:
        """The layout of a schema; SchemaError where it has none, or cannot be meant."""
        found = schema.layout
        if not isinstance(found, cls):
            raise SchemaError(cls.missing)
        found.refuse(schema)
        return found

    def refuse(self, schema: Schema) -> None:
        """Raise SchemaError for a schema that cannot be meant with this layout."""

    @property
    def headless(self) -> bool:
        """Whether the file has no names above its columns, so that only the kind itself can read it."""
        return False

    @property
    def gathered_by(self) -> str | None:
        """The column whose equal values make one record of several rows; None where a record is a row."""
        return None

    @property
    def columns(self) -> list[str]:
        """Every column that the layout names: each of its texts, except those `not_columns`."""
        texts = ((part, getattr(self, part)) for part in type(self).model_fields)
        return [text for part, text in texts if isinstance(text, str) and part not in self.not_columns]

    @property
    def most_values(self) -> int:
        """About how many values one record holds at most, to foresee how much room rows take."""
        return 1

    @property
    def declared(self) -> dict[str, str]:
        """The columns that must be fields of the schema, each with its part in the layout."""
        return {}

    def own_fields(self) -> list[dict[str, Any]]:
        """The fields of a schema that declares none, where the layout says all there is to say."""
        return []

    def refuse_undeclared(self, key: str, names: Collection[str]) -> None:
        """Every column whose values are released has a declared domain."""
        for part, name in self.declared.items():
            if name not in names:
                raise SchemaError(
                    f"{key}: the {part} '{name}' is not a field{nearest(name, names)}. "
                    "Declare its domain under 'fields'."
                )


def layout_class(kind: str) -> tuple[str, type[Layout]] | None:
    """The key and the class of a kind's block, where the kind has one."""
    place = catalogue.kind(kind).layout
    if place is None:
        return None
    key, where = place
    found = catalogue.load(where)
    if not isinstance(found, type) or not issubclass(found, Layout):
        raise TypeError(f"{where} is no layout")
    return key, found
