"""Samples of records that come in pieces, for the custodian's eyes: little more than the sample is held."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

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
            piece, own = copied(piece[low]), own[low]
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
    return copied(frame[chosen]), marks[chosen]


def copied(frame: pl.DataFrame) -> pl.DataFrame:
    """The same records in memory of their own: chosen texts would keep the whole piece alive."""
    import polars as pl

    found: Any = pl.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return frame.clear() if found.is_empty() else found.cast(dict(frame.schema))
