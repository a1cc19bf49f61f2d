"""A part of records that are too many for memory: all of somebody, or nothing; for the custodian's eyes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.engine.connection import explained
from penstock.engine.opening import AUTO, in_memory, most_held
from penstock.engine.records import Source
from penstock.engine.sampling import copied
from penstock.engine.source import FrameSource
from penstock.engine.streaming import streamed
from penstock.schema.values import BLANKS

_MOST_ROWS = 1 << 22


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
            kept.append(copied(piece[np.flatnonzero(marks < share)]))
    if not kept:
        return records, None  # a database hands out no piece where there is no record
    frame = pl.concat(kept)
    return FrameSource(frame, records.label), (frame.height, seen)
