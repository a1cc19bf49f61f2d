"""Drafts of sequences: a guess at whose sequences these are, and of what."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from penstock.drafting.columns import MOST_CATEGORIES, event_log, looks
from penstock.drafting.proposal import KindDraft, Notes, propose
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.schema import Field, Layout, Unit

_SAY_WHICH = "Say which columns make a sequence: sequence: {user: ..., time: ..., symbol: ..., longest: 20}"


class SequencesDraft(KindDraft):
    """A user, a time and a symbol where the names and types suggest them, or a column of whole sequences."""

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        if frame is None:
            notes.top.append(_SAY_WHICH)
            return fields, None
        log = event_log(frame, markers)
        user = time = symbol = None
        if log is not None:
            user, time = log.case, log.time
            found = propose(frame[log.activity], self, markers, notes, most=MOST_CATEGORIES)
            symbol = found if isinstance(found, Field) and not found.ranged else None
        else:
            whole = next((name for name in frame.columns if _holds_sequences(frame[name], markers)), None)
            symbol = None if whole is None else self._alphabet(frame[whole], markers, notes)
        if symbol is None:
            notes.top.append(_SAY_WHICH)
            return fields, None
        if user is not None and time is None:
            notes.top += [
                "No column reads as a time (such as 2025-03-01T10:00:00+02:00): events are taken in the",
                "order of the rows. Where that is not theirs, write times in ISO form and name their column.",
            ]
        used = (symbol.name, user, time)
        clock = [each for each in fields if each.name == time and each.missing == "refuse"]
        notes.top[:] = [
            note for note in notes.top if not any(f"Left out: '{name}' " in note for name in used)
        ]
        left = [each.name for each in fields if each.name not in used]
        notes.top += [f"Left out: '{name}' is no part of a sequence." for name in left]
        notes.top += [
            "The columns under 'sequence' are a guess from their names and values. Correct them.",
            "'longest' was not read off the data: choose a length that most sequences do not exceed,",
            "counting the end as one symbol. What comes after it is cut off.",
        ]
        if clock:
            notes.top += [
                f"Since the bounds of '{time}' are declared, a part of a release's budget pays for times.",
                "Remove that field to release the order of events alone.",
            ]
        return [symbol, *clock], SequenceLayout(user=user, time=time, symbol=symbol.name, longest=20)

    def unit(
        self, names: Sequence[str], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> Unit | None:
        """The unit is a whole sequence; whose it is stands in the layout."""
        return None

    def _alphabet(self, column: pl.Series, markers: tuple[str, ...], notes: Notes) -> Field | None:
        """The field of symbols that whole sequences are made of."""
        lists = column.str.split(" ") if column.dtype == pl.String else column
        found = propose(lists.explode().drop_nulls(), self, markers, notes, most=MOST_CATEGORIES)
        return found if isinstance(found, Field) else None


def _holds_sequences(column: pl.Series, markers: tuple[str, ...]) -> bool:
    """Whether every row seems to be a whole sequence: a list, or several words of few kinds.

    Names of several words are none: there are fewer of them than words.
    """
    if isinstance(column.dtype, pl.List):
        return True
    if column.dtype != pl.String or looks(column, markers).type != "string":
        return False
    words = column.drop_nulls().str.split(" ").explode()
    return len(column) < len(words) and words.n_unique() <= min(column.n_unique(), MOST_CATEGORIES)
