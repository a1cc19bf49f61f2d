"""Which column of a table is predicted from the others: a public fact, from the schema or from who asks."""

from __future__ import annotations

from penstock.errors import UsageError
from penstock.schema import Schema


def target_of(schema: Schema, stated: str | None) -> str:
    """The column to be predicted: the one that is stated, or else that of the schema.

    It must be a column of categories with at least two codes: the labels are public.
    """
    target = schema.target if stated is None else stated
    if target is None:
        raise UsageError("Say which column is to be predicted: target=... Nothing was spent.")
    if target not in schema.names:
        raise UsageError(f"target must be a column of the table, not '{target}'. Nothing was spent.")
    if schema.field(target).ranged:
        raise UsageError(
            f"target must be a column of categories, and '{target}' is a range; declare its values as an "
            "enum. Nothing was spent."
        )
    if schema.attribute(target).size < 2:
        raise UsageError(f"target '{target}' has one value only, so it is known. Nothing was spent.")
    return target
