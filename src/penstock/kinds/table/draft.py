"""Drafts of tables."""

from __future__ import annotations

import polars as pl

from penstock.drafting.columns import event_log
from penstock.drafting.proposal import KindDraft, Notes
from penstock.schema import Field, Layout


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
        return fields, None
