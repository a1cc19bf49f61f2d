"""Item sets: reading them, coding their items, and who has which.

Two layouts are understood, as `schema.items` says: every row is one item of a transaction, or every row is a
whole set, a list or a text of items. What counts is presence: an item that is twice in a set is in it.
Everything here is raw and lies below the seal.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.engine.bound import fresh_key, numbered_users, sample_per_user
from penstock.engine.delimited import GZIP
from penstock.engine.distinct import distinct
from penstock.engine.source import FrameSource, Source, read
from penstock.engine.tokens import coded, cut
from penstock.errors import DataError
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.schema import Schema
from penstock.schema.fact import nearest

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Incidence:
    """Raw: which set holds which item, once each, and whose set it is.

    `sets` and `items` go side by side, one entry for each item of each set; `owners` has the unit of every
    set, which is the set itself where no user is protected.
    """

    sets: Numbers
    items: Numbers
    owners: Numbers

    @property
    def size(self) -> int:
        """Raw: the number of sets, empty ones included."""
        return self.owners.size

    def holders(self, universe: int) -> Numbers:
        """Raw: for every code of an item, the number of units that have it in any of their sets."""
        pairs = distinct(self.owners[self.sets] * universe + self.items)
        return np.bincount(pairs % universe, minlength=universe).astype(np.int64)


def open_itemsets(
    source: Any, schema: Schema, *, table: str | None = None, order_key: bytes | None = None
) -> Incidence:
    """Raw: the item sets of a source, coded by the schema; what it refuses stops here.

    With a user as the privacy unit, each user keeps a random sample of at most `unit.at_most` sets, and each
    set a random sample of at most `items.largest` items; `order_key` makes both repeatable.
    """
    columns = ItemSetLayout.of(schema)
    records = _without_header(source, columns) if not columns.header else read(source, table=table)
    named = [name for name in (columns.item, columns.transaction, schema.unit.column) if name]
    needed = list(dict.fromkeys(named))
    for name in needed:
        if name not in records.names:
            raise DataError(
                f"{name}: the data has no such column{nearest(name, records.names)}. "
                "Correct the name in the schema."
            )
    frame = records.frame(needed)
    user, gone = schema.unit.column, schema.missing_values
    people = None if user is None else numbered_users(user, frame[user], gone)
    users = None if people is None else people.numbers.astype(np.int64)
    codec = schema.codec(columns.item)
    if columns.transaction is None:
        tokens, lengths = cut(frame[columns.item], columns.separator)
        sets = np.repeat(np.arange(lengths.size), lengths)
        items = coded(tokens, codec, lambda place: int(sets[place]))
        owners = np.arange(lengths.size) if users is None else users
    else:
        items = coded(frame[columns.item], codec, lambda place: place)
        named_sets = numbered_users(columns.transaction, frame[columns.transaction], gone)
        sets, owners = _numbered(named_sets.numbers.astype(np.int64), users)
    key = order_key or fresh_key()
    found = Incidence(*_distinct(sets, items.astype(np.int64), codec.size), owners)
    if people is not None:
        found = _some_sets(found, schema.unit.records, key, people.names)
    if columns.largest is None:
        return found
    return _some_items(found, columns.largest, key + b"items", None if people is None else people.names)


def _numbered(transactions: Numbers, users: Numbers | None) -> tuple[Numbers, Numbers]:
    """The set of every row, counted from 0, and the owner of every set.

    Rows of different users never make one set: two people's baskets of the same number are two baskets.
    """
    if users is None:
        found, sets = np.unique(transactions, return_inverse=True)
        return sets.astype(np.int64), np.arange(found.size)
    span = int(transactions.max(initial=0)) + 1
    found, sets = np.unique(users * span + transactions, return_inverse=True)
    return sets.astype(np.int64), found // span


def _distinct(sets: Numbers, items: Numbers, universe: int) -> tuple[Numbers, Numbers]:
    """Every item of a set once."""
    pairs = distinct(sets.astype(np.int64) * universe + items)
    return pairs // universe, pairs % universe


def _some_sets(found: Incidence, at_most: int, key: bytes, names: Sequence[str]) -> Incidence:
    kept = sample_per_user(found.owners, at_most, key, names=names)
    number = np.full(found.size, -1)
    number[kept] = np.arange(kept.size)
    here = number[found.sets] >= 0
    return Incidence(number[found.sets[here]], found.items[here], found.owners[kept])


def _some_items(found: Incidence, largest: int, key: bytes, owners: Sequence[str] | None) -> Incidence:
    kept = sample_per_user(found.sets, largest, key, names=_names(found, largest, owners))
    return Incidence(found.sets[kept], found.items[kept], found.owners)


def _names(found: Incidence, largest: int, owners: Sequence[str] | None) -> list[str]:
    """What each set that is too large is called: its owner, its items, and which of several such it is.

    With one more unit the sets of all others are called as before; which of several equal sets of one owner
    has which name makes no difference.
    """
    begins = np.searchsorted(found.sets, np.arange(found.size + 1))
    seen: Counter[tuple[str, bytes]] = Counter()
    names = [""] * found.size
    for number in np.flatnonzero(np.diff(begins) > largest).tolist():
        owner = "" if owners is None else owners[int(found.owners[number])]
        content = hashlib.sha256(found.items[begins[number] : begins[number + 1]].tobytes()).digest()
        names[number] = f"{owner}|{content.hex()}|{seen[owner, content]}"
        seen[owner, content] += 1
    return names


def _without_header(source: Any, columns: ItemSetLayout) -> Source:
    """The lines of a text file, each a set; or, where the source is something else, that."""
    if not isinstance(source, str | PathLike):
        return read(source)
    path = Path(source)
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == GZIP else raw
        text = raw.decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Check the path.") from None
    except UnicodeDecodeError as problem:
        line = raw[: problem.start].count(b"\n") + 1
        raise DataError(f"{path}: the file is not UTF-8: look at line {line}. Save it as UTF-8.") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"{path}: the file cannot be read ({problem}). Check the file.") from None
    # Other signs that Python takes for the end of a line could make many sets of somebody's one.
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    return FrameSource(pl.DataFrame({columns.item: lines}, schema={columns.item: pl.String}), str(path))
