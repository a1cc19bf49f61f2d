"""Drafts of sequences: a guess at whose sequences these are, and of what."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from penstock.drafting.proposal import (
    MOST_CATEGORIES,
    KindDraft,
    Notes,
    identifies,
    identifies_a_person,
    propose,
    type_of,
)
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.schema import Field, Layout

_SAY_WHICH = "Say which columns make a sequence: sequence: {user: ..., time: ..., symbol: ..., longest: 20}"


class SequencesDraft(KindDraft):
    """A user, a time and a symbol where the names and types suggest them, or a column of whole sequences."""

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        if frame is None:
            notes.top.append(_SAY_WHICH)
            return fields, None
        names = frame.columns
        user = next((name for name in names if identifies_a_person(name) or identifies(name)), None)
        symbol = next((each for each in fields if each.kind == "categorical" and each.name != user), None)
        time = next((each.name for each in fields if each.type in ("date", "datetime")), None)
        if user is None:
            whole = next((name for name in names if _holds_sequences(frame[name], markers)), None)
            symbol, time = (None if whole is None else self._alphabet(frame[whole], markers, notes)), None
        if symbol is None:
            notes.top.append(_SAY_WHICH)
            return fields, None
        used = (symbol.name, user, time)
        notes.top[:] = [
            note for note in notes.top if not any(f"Left out: '{name}' " in note for name in used)
        ]
        left = [each.name for each in fields if each.name not in used]
        notes.top += [f"Left out: '{name}' is no part of a sequence." for name in left]
        notes.top += [
            "The columns under 'sequence' are a guess from their names. Correct them.",
            "'longest' was not read off the data: choose a length that most sequences do not exceed,",
            "counting the end as one symbol. What comes after it is cut off.",
        ]
        return [symbol], SequenceLayout(user=user, time=time, symbol=symbol.name, longest=20)

    def suggest_unit(self, names: Sequence[str], notes: Notes) -> None:
        """The unit is a whole sequence; whose it is stands in the layout."""

    def _alphabet(self, column: pl.Series, markers: tuple[str, ...], notes: Notes) -> Field | None:
        """The field of symbols that whole sequences are made of."""
        lists = column.str.split(" ") if column.dtype == pl.String else column
        found = propose(lists.explode().drop_nulls(), self, markers, notes)
        return found if isinstance(found, Field) else None


def _holds_sequences(column: pl.Series, markers: tuple[str, ...]) -> bool:
    """Whether every row seems to be a whole sequence: a list, or several words of few kinds."""
    if isinstance(column.dtype, pl.List):
        return True
    if column.dtype != pl.String or type_of(column, markers) != "string":
        return False
    words = column.drop_nulls().str.split(" ").explode()
    return len(words) > len(column) and words.n_unique() <= MOST_CATEGORIES
