"""Drafts of points."""

from __future__ import annotations

from typing import ClassVar

from penstock.drafting.proposal import KindDraft
from penstock.schema.values import Type


class PointsDraft(KindDraft):
    """Numbers are coordinates; other columns are left to the custodian."""

    missing_is_a_value: ClassVar[bool] = False
    codes_are_categories: ClassVar[bool] = False

    def why_left_out(self, type_: Type) -> str | None:
        return None if type_ in ("integer", "number") else "is not a coordinate"
