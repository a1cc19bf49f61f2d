"""Times of events: when sequences start, and how long it takes from one event to the next.

Guarantee: pure epsilon for one sequence (or user) added or removed, as a part of a method's budget.
Why: a sequence has one first event, and what passes before its events is counted once for each symbol at most
(`penstock.kinds.sequences.data`), in public bins (`penstock.kinds.sequences.clock`). Everything else here is
post-processing of noisy counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.data import Sequences
from penstock.postprocessing import onto_simplex
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.schema import Edges
from penstock.schema.values import at, written

if TYPE_CHECKING:
    import polars as pl

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Times:
    """Noisy counts of starts and, with a row for each symbol, of what passes before it.

    `scale` is that of the noise of the latter.
    """

    clock: Clock
    starts: Numbers
    gaps: Numbers
    scale: float

    @cached_property
    def start_shares(self) -> Reals:
        return _shares(self.starts)

    @cached_property
    def gap_shares(self) -> Reals:
        """What passes before each symbol; where a symbol's counts are mostly noise, before any symbol."""
        symbols, together = len(self.gaps), self.gaps.sum(axis=0)
        filled = _filled(together, self.scale * np.sqrt(symbols))
        usual = _shares(np.where(filled, together, 0) if filled.any() else together)
        rows = [np.where(_filled(row, self.scale), row, 0) for row in self.gaps]
        return np.array([_shares(row) if row.any() else usual for row in rows])

    def draw(self, codes: NDArray[np.integer], lengths: Numbers, rng: np.random.Generator) -> pl.Series:
        """A time for each of these symbols, laid end to end: rising in each sequence, within the domain."""
        import polars as pl

        begins = (np.cumsum(lengths) - lengths)[lengths > 0]
        passed = _drawn(self.clock.gaps, self.gap_shares, np.asarray(codes, dtype=np.int64), rng)
        passed[begins] = _drawn(
            self.clock.starts, self.start_shares[None, :], np.zeros(len(begins), dtype=np.int64), rng
        )
        running = np.cumsum(passed)
        before = (running - passed)[begins]
        moments = running - np.repeat(before, lengths[lengths > 0])
        low, high = int(self.clock.starts.low), int(self.clock.starts.high)
        name, kind = self.clock.codec.field.name, self.clock.codec.field.type
        whole = pl.Series(name, np.clip(moments, low, high), dtype=pl.Int64)
        if kind == "date":
            return whole.cast(pl.Int32).cast(pl.Date)
        return (whole * 1_000_000).cast(pl.Datetime("us")) if kind == "datetime" else whole

    @property
    def unit(self) -> str:
        """What lengths of time are counted in."""
        return {"date": "days", "datetime": "seconds"}.get(self.clock.codec.field.type, "steps")

    def words(self) -> str:
        """What a report says of the times."""
        ends = (self.clock.starts.low, self.clock.starts.high)
        first, last = (written(at(self.clock.codec.field.type, end)) for end in ends)
        return (
            f"Times are written too: when a sequence starts, in {self.clock.starts.count} bins from {first} "
            f"to {last}, and how many {self.unit} pass before each symbol, in {self.clock.gaps.count} bins "
            "of round lengths. Exact noise was added to these counts."
        )


def paid_times(sequences: Sequences, pay: Budget) -> Times:
    """The times of sequences for all of `pay`: a quarter for when they start, the rest for what passes."""
    clock = sequences.clock
    assert clock is not None
    for_starts, for_gaps = pay.split(starts="1/4", gaps="3/4")
    starts = noise.counts(sequences.starts(), pay=for_starts)
    sealed = sequences.gaps()
    scale = float(sealed.sensitivity.l1 / for_gaps.epsilon)
    return Times(clock, starts, noise.counts(sealed, pay=for_gaps), scale)


def _filled(counts: Numbers, scale: float) -> NDArray[np.bool_]:
    """The bins that noise of this scale alone hardly fills, and those beside them as far as they seem filled.

    A little noise in a bin of long times would outweigh all short ones.
    """
    sure, likely = counts >= scale * np.log(20 * len(counts)), counts >= 1.5 * scale
    found: NDArray[np.bool_] = sure
    while True:
        beside = np.r_[found[1:], False] | np.r_[False, found[:-1]]
        wider: NDArray[np.bool_] = found | (beside & likely)
        if (wider == found).all():
            return found
        found = wider


def _shares(counts: NDArray[np.number]) -> Reals:
    """Shares that add up to one: the nearest to noisy counts that are not below zero; else all even."""
    total = float(counts.sum())
    if total <= 0:
        return np.full(len(counts), 1 / len(counts))
    return onto_simplex(counts, total) / total


def _drawn(edges: Edges, shares: Reals, rows: Numbers, rng: np.random.Generator) -> Numbers:
    """One whole number for each row: a bin by its share, then any number in it."""
    ladder = np.cumsum(shares, axis=1)
    ladder /= ladder[:, -1:]
    chosen = np.empty(len(rows), dtype=np.int64)
    drawn = rng.random(len(rows))
    for row in np.unique(rows):
        mine = rows == row
        chosen[mine] = np.searchsorted(ladder[row], drawn[mine], side="right")
    spans = np.array([edges.span(code) for code in range(edges.count)], dtype=np.int64)
    low, high = spans[np.minimum(chosen, edges.count - 1)].T
    numbers: Numbers = rng.integers(low, high, endpoint=True)
    return numbers
