"""Drafts of tables."""

from __future__ import annotations

import polars as pl

from penstock.drafting.columns import event_log
from penstock.drafting.proposal import KindDraft, Notes
from penstock.schema import Bins, Field, Layout
from penstock.schema.bins import ROUND_BINS

ENOUGH = 10_000
"""Records from which bins that follow them are worth what they cost at epsilon 1 (docs/studies/bins.md)."""


class TableDraft(KindDraft):
    """Every column of plain values can be a field."""

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        log = None if frame is None else event_log(frame, markers)
        if log is not None and log.named and log.time is not None:
            notes.top.append(
                f"'{log.case}', '{log.time}' and '{log.activity}' look like an event log, of which a table "
                "keeps single events alone. Draft it with '--kind sequences' to keep their order."
            )
        if frame is not None and frame.height >= ENOUGH:
            fields = [_adaptive(field, notes) for field in fields]
        return fields, None


def _adaptive(field: Field, notes: Notes) -> Field:
    """The field with bins that follow the records, where its bounds alone would leave it wide ones.

    Dates and times stay in weeks, months or years, in which people ask about them.
    """
    if field.kind not in ("integer", "number") or field.bins is not None or field.edges.one_per_value:
        return field
    notes.fields[field.name] = (
        *notes.fields.get(field.name, ()),
        f"of {ENOUGH:,} records and more, bins that follow them are worth a twentieth of epsilon 1; for a "
        f"smaller epsilon leave 'bins' out: then at most {ROUND_BINS} round ones are taken",
    )
    return field.with_bins(Bins(adaptive=True))
