"""Drafts of item sets: a guess at what the items are, and which rows are one set."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from penstock.drafting.columns import FEW, identifies, identifies_a_person, looks
from penstock.drafting.domain import range_of, too_large
from penstock.drafting.proposal import KindDraft, Notes, propose
from penstock.engine.header import NONE, Header
from penstock.engine.lines import LineSource
from penstock.engine.records import Source
from penstock.engine.tokens import cut
from penstock.errors import DataError
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.privacy.unit import Unit
from penstock.schema import Field, Layout
from penstock.schema.bins import MOST_BINS, Bins
from penstock.schema.field import Constraints

_SAY_ITEMS = (
    "Say which columns make an item set: items: {item: ..., transaction: ...}, or items: {item: ...} where "
    "every row is a whole set. Keep the field of the items and remove the others."
)
_SET = re.compile(
    r"^(basket|transaction|tid|order|cart|receipt|ticket|invoice|visit|session|purchase|trip)s?$",
    re.IGNORECASE,
)
_SEPARATORS = (",", ";", "|", None)  # None: blanks
_LINES = (".dat", ".dat.gz")
"""Files of the FIMI repository are called so: every line is a set, and there are no names above them."""
_TEXT = (".txt", ".txt.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
_NUMBERS = re.compile(r"^\s*[0-9]+(\s+[0-9]+)*\s*$")


class ItemSetsDraft(KindDraft):
    """A column of whole sets, or one item a row and a column that says which rows are one set.

    Files whose lines are sets and nothing else are understood, too.
    """

    def __init__(self) -> None:
        self._header = True
        self._transaction: str | None = None

    def read(self, source: Any, *, table: str | None = None, header: Header = None) -> Source:
        """The records; each line of a text without columns is one."""
        if table is None and isinstance(source, str | os.PathLike) and _lines_are_sets(Path(source), header):
            self._header = False
            return LineSource(Path(source), "items")
        return super().read(source, table=table, header=header)

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        if frame is None and not self._header:
            return fields, ItemSetLayout(item=fields[0].name, header=False)
        found = None if frame is None else self._guess(fields, frame, markers, notes)
        if found is None:
            notes.top.append(_SAY_ITEMS)
            return fields, None
        item, layout = found
        layout = layout.model_copy(update={"header": self._header})
        self._transaction = layout.transaction
        used = (layout.item, layout.transaction)
        notes.top[:] = [
            note for note in notes.top if not any(f"Left out: '{name}' " in note for name in used)
        ]
        left = [each.name for each in fields if each.name not in used]
        notes.top += [f"Left out: '{name}' is no part of an item set." for name in left]
        notes.top.append("The columns under 'items' are a guess from their names and values. Correct them.")
        return [item], layout

    def unit(
        self, names: Sequence[str], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> Unit | None:
        """The people behind the sets: what counts is how many sets they have, not how many rows."""
        gathered = self._transaction
        if frame is not None and gathered is not None:
            frame = frame.unique([gathered, *(name for name in names if identifies_a_person(name))])
            names = [name for name in names if name != gathered]
        return super().unit(names, frame, markers, notes)

    def _guess(
        self, fields: list[Field], frame: pl.DataFrame, markers: tuple[str, ...], notes: Notes
    ) -> tuple[Field, ItemSetLayout] | None:
        """The items, and how they make sets; None where nothing suggests itself."""
        sets = [
            name
            for name in frame.columns
            if _SET.match(name.removesuffix("_id")) and not _holds_sets(frame[name], markers, _SEPARATORS)[0]
        ]
        # a person may have several sets: what names a set says more than who has it
        others = [name for name in frame.columns if identifies(name) and not identifies_a_person(name)]
        people = [name for name in frame.columns if identifies_a_person(name)]
        named = (name for name in (*sets, *others, *people) if frame[name].n_unique() < frame.height)
        transaction = next(named, None)
        # where rows belong together already, a blank is more likely part of an item's name
        separators = _SEPARATORS if transaction is None else _SEPARATORS[:-1]
        for name in frame.columns:
            whole, separator = _holds_sets(frame[name], markers, separators)
            if whole:
                items = self._universe(cut(frame[name], separator)[0], markers, notes)
                return items, ItemSetLayout(item=name, separator=separator)
        listed = [each for each in fields if each.kind == "categorical" and each.name != transaction]
        if transaction is None:
            if len(fields) != 1 or not listed:  # one of the others may name the set
                return None
            return listed[0], ItemSetLayout(item=listed[0].name)
        others = [name for name in frame.columns if name != transaction and not identifies_a_person(name)]
        item = listed[0].name if listed else next(filter(lambda name: _repeats(frame[name]), others), None)
        if item is None:
            return None
        found = listed[0] if listed else self._universe(frame[item], markers, notes)
        return found, ItemSetLayout(item=item, transaction=transaction)

    def _universe(self, items: pl.Series, markers: tuple[str, ...], notes: Notes) -> Field:
        """All items that can be: those that occur, all whole numbers of a range, or a list to be given."""
        found = looks(items, markers)
        if found.type == "integer" and not found.signs and items.n_unique() > FEW:
            numbers = items.cast(pl.String).str.strip_chars().cast(pl.Int64, strict=False).drop_nulls()
            limits = range_of("integer", numbers, codes=False).constraints
            low, high = limits.minimum, limits.maximum
            if not too_large("integer", numbers) and high - low < MOST_BINS:
                notes.fields[items.name] = (
                    "read off the data: its type, its bounds (rounded outwards); every whole number between "
                    "them is an item",
                )
                return Field(
                    name=items.name, type="integer", constraints=limits, bins=Bins(width=1), review=True
                )
        proposed = propose(items, self, markers, notes)
        if isinstance(proposed, Field):
            return proposed
        notes.fields[items.name] = (
            "its items are too many to be listed here: name a public file of all items that can be, one in "
            "each line: constraints: {enum: items.txt}",
        )
        return Field(name=items.name, type="string", constraints=Constraints(enum=()), review=True)


def _lines_are_sets(path: Path, header: Header) -> bool:
    """Whether the lines of a text file are sets: its name says so, or its first lines, unless it has names.

    Without a header, lines with the same number of columns, two or more, are rows of a table.
    """
    name = path.name.lower()
    if not path.is_file() or not name.endswith(_LINES + _TEXT) or header not in (None, NONE):
        return False
    if name.endswith(_LINES):
        return True
    try:
        first = next(LineSource(path, "items").blocks(), None)
    except DataError:  # let it be told by whoever reads tables
        return False
    if first is None:
        return False
    lines = first["items"].head(1000).to_list()
    if header is None:
        return bool(_NUMBERS.match(lines[0]))
    return all(len({line.count(mark) for line in lines}) > 1 or mark not in lines[0] for mark in ",;\t")


def _repeats(column: pl.Series) -> bool:
    """Whether values come back, as those of items do."""
    return not isinstance(column.dtype, pl.List | pl.Array) and 2 * column.n_unique() <= len(column)


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
