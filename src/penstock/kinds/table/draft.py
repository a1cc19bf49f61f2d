"""Drafts of tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from penstock.drafting.proposal import KindDraft
from penstock.schema import Bins, Constraints
from penstock.schema.bins import DEFAULT_BINS, ONE_BIN_PER_VALUE_UP_TO
from penstock.schema.reading import Reading
from penstock.schema.values import Type


class TableDraft(KindDraft):
    """Every column of plain values can be a field."""

    def bins(self, type_: Type, reading: Reading, constraints: Constraints) -> tuple[Bins | None, str]:
        found = _apart_from_zero(reading, constraints.maximum) if type_ == "integer" else None
        return found, "that most values are 0 (which has a bin of its own)"


def _apart_from_zero(reading: Reading, highest: Any) -> Bins | None:
    """Bins for amounts that most records lack, such as gains: else nearly all would be drawn positive."""
    known = reading.values.filter(pl.Series(~(reading.missing | reading.unreadable)))
    if 2 * int((known == 0).sum()) <= len(known) or (known < 0).any():
        return None
    if highest < ONE_BIN_PER_VALUE_UP_TO:
        return None
    return Bins(edges=(0, 1, *(round(highest * part / DEFAULT_BINS) for part in range(1, DEFAULT_BINS + 1))))
