"""Samples of records that come in pieces, for the custodian's eyes: little more than the sample is held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.connection import explained
from penstock.engine.opening import AUTO, in_memory, most_held
from penstock.engine.records import Source
from penstock.engine.source import FrameSource
from penstock.engine.streaming import streamed
from penstock.schema.values import BLANKS

if TYPE_CHECKING:
    import polars as pl

_MOST_ROWS = 1 << 22

_WAITING = 2  # so many samples are held before all but one are let go


def drawn(pieces: Iterable[pl.DataFrame], most: int, seed: int) -> tuple[pl.DataFrame, int]:
    """Raw: at most `most` of the records, every set of so many as likely as any other, in their order; and
    of how many. Equal seeds draw the same records, however they are divided into pieces.

    >>> import polars as pl
    >>> frame, of = drawn([pl.DataFrame({"age": range(30)}), pl.DataFrame({"age": range(30, 50)})], 5, seed=1)
    >>> frame.height, of
    (5, 50)
    """
    import polars as pl

    rng = np.random.default_rng(seed)
    held: list[pl.DataFrame] = []
    marks: list[NDArray[np.float64]] = []
    seen = waiting = 0
    limit = 1.0
    for piece in pieces:
        # every record draws a mark, and the smallest marks win: one that is above the limit never can
        own = rng.random(piece.height)
        seen += piece.height
        (low,) = np.nonzero(own < limit)
        if len(low) < piece.height:
            piece, own = _apart(piece[low]), own[low]
        held.append(piece)
        marks.append(own)
        waiting += len(own)
        if waiting > _WAITING * most:
            frame, lowest = _lowest(pl.concat(held), np.concatenate(marks), most)
            held, marks, waiting, limit = [frame], [lowest], most, float(lowest.max(initial=0.0))
    return _lowest(pl.concat(held), np.concatenate(marks), most)[0], seen


def _lowest(
    frame: pl.DataFrame, marks: NDArray[np.float64], most: int
) -> tuple[pl.DataFrame, NDArray[np.float64]]:
    """The records with the smallest marks, in their order."""
    if len(marks) <= most:
        return frame, marks
    chosen = np.sort(np.argpartition(marks, most)[:most])
    return _apart(frame[chosen]), marks[chosen]


def _apart(frame: pl.DataFrame) -> pl.DataFrame:
    """The same records in memory of their own: chosen texts would keep the whole piece alive."""
    import polars as pl

    copied: Any = pl.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return frame.clear() if copied.is_empty() else copied.cast(dict(frame.schema))


def part_of(
    records: Source, names: Sequence[str], together: Sequence[str], seed: int
) -> tuple[Source, tuple[int, int] | None]:
    """Raw: a part of the records that memory holds, how many these are and of how many; None: all of them.

    All records with the same values in the columns `together` are in it, or none of them: somebody's events,
    say. With no such column, each record is drawn on its own.
    """
    import polars as pl

    if in_memory(AUTO, records):
        return records, None
    rng, kept, seen = np.random.default_rng(seed), [], 0
    with explained(records.failure):
        if records.remote:
            rows = int(records.table().count().to_pyarrow().as_py())
            share, pieces = min(1.0, _MOST_ROWS / max(1, rows)), streamed(records, names)
        else:
            share, pieces = most_held() / records.length, records.pieces(names)
        for piece in pieces:
            seen += piece.height
            if together:
                texts = pl.col(pl.String).str.strip_chars(BLANKS)
                marks = piece.select(together).with_columns(texts).hash_rows(seed).to_numpy() / 2.0**64
            else:
                marks = rng.random(piece.height)
            kept.append(_apart(piece[np.flatnonzero(marks < share)]))
    frame = pl.concat(kept)
    return FrameSource(frame, records.label), (frame.height, seen)
