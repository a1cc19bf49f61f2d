"""Drafts of item sets."""

from __future__ import annotations

import polars as pl

from penstock.drafting.proposal import KindDraft, Notes
from penstock.schema import Field, Layout

_SAY_ITEMS = (
    "Say which columns make an item set: items: {item: ..., transaction: ...}, or items: {item: ...} where "
    "every row is a whole set. Keep the field of the items and remove the others."
)


class ItemSetsDraft(KindDraft):
    """Which columns make a set is left to the custodian."""

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        notes.top.append(_SAY_ITEMS)
        return fields, None
