"""Drafts of item sets: a guess at what the items are, and which rows are one set."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from penstock.drafting.columns import identifies, identifies_a_person, looks
from penstock.drafting.proposal import (
    KindDraft,
    Notes,
    propose,
)
from penstock.engine.tokens import cut
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.schema import Field, Layout

_SAY_ITEMS = (
    "Say which columns make an item set: items: {item: ..., transaction: ...}, or items: {item: ...} where "
    "every row is a whole set. Keep the field of the items and remove the others."
)
_SET = re.compile(
    r"^(basket|transaction|tid|order|cart|receipt|ticket|invoice|visit|session|purchase|trip)s?$",
    re.IGNORECASE,
)
_SEPARATORS = (",", ";", "|", None)  # None: blanks


class ItemSetsDraft(KindDraft):
    """A column of whole sets, or one item a row and a column that says which rows are one set."""

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        found = None if frame is None else self._guess(fields, frame, markers, notes)
        if found is None:
            notes.top.append(_SAY_ITEMS)
            return fields, None
        item, layout = found
        used = (layout.item, layout.transaction)
        notes.top[:] = [
            note for note in notes.top if not any(f"Left out: '{name}' " in note for name in used)
        ]
        left = [each.name for each in fields if each.name not in used]
        notes.top += [f"Left out: '{name}' is no part of an item set." for name in left]
        notes.top.append("The columns under 'items' are a guess from their names and values. Correct them.")
        return [item], layout

    def _guess(
        self, fields: list[Field], frame: pl.DataFrame, markers: tuple[str, ...], notes: Notes
    ) -> tuple[Field, ItemSetLayout] | None:
        """The items, and how they make sets; None where nothing suggests itself."""
        named = (
            name
            for name in frame.columns
            if identifies(name)
            or identifies_a_person(name)
            or (_SET.match(name) and not _holds_sets(frame[name], markers, _SEPARATORS)[0])
        )
        transaction = next((name for name in named if frame[name].n_unique() < frame.height), None)
        # where rows belong together already, a blank is more likely part of an item's name
        separators = _SEPARATORS if transaction is None else _SEPARATORS[:-1]
        for name in frame.columns:
            whole, separator = _holds_sets(frame[name], markers, separators)
            if whole:
                items = propose(cut(frame[name], separator)[0], self, markers, notes)
                if isinstance(items, Field):
                    return items, ItemSetLayout(item=name, separator=separator)
        listed = [each for each in fields if each.kind == "categorical" and each.name != transaction]
        if not listed or (transaction is None and len(fields) > 1):  # one of the others may name the set
            return None
        return listed[0], ItemSetLayout(item=listed[0].name, transaction=transaction)


def _holds_sets(
    column: pl.Series, markers: tuple[str, ...], separators: Sequence[str | None]
) -> tuple[bool, str | None]:
    """Whether rows seem to be whole sets, lists or texts of several items, and what separates their items."""
    if isinstance(column.dtype, pl.List | pl.Array):
        return True, None
    if column.dtype != pl.String or looks(column, markers).type != "string":
        return False, None
    for separator in separators:
        tokens, lengths = cut(column, separator)
        # items come back from set to set; the words of names and sentences mostly do not
        if (lengths > 1).any() and 2 * tokens.n_unique() <= len(tokens):
            return True, separator
    return False, None
