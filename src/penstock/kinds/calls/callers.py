"""What is known of every caller, and of all calls by the hour: raw, below the seal.

A caller is a few whole numbers: calls in all, the sum of the squares of the calls of each day, calls at each
hour of the day, home and work. Each of them follows from the caller's own rows and public constants, so that
one more caller changes nothing about another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import HOURS, STEPS, Groups, Numbers, Region

RULE_SIDE = 1024
"""The grid of the cells that are compared to find a caller's home and work: so many cells each way."""
RULE_CELLS = RULE_SIDE**2
NIGHT = (19, 7)
AFTERNOON = (13, 17)
WEEKDAYS = 5
SHARE = 1 << 24
"""The steps that a caller divides among the calls, where every caller counts the same."""
PACKED = STEPS
"""Two steps of the lattice in one number: x times this, and y."""


@dataclass(frozen=True, eq=False)
class Callers:
    """Raw: one row for every caller that is kept. Places are steps of the lattice, -1 where none is known."""

    calls: Numbers
    squares: Numbers
    hours: NDArray[np.int64]
    home: NDArray[np.int64]
    work: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.calls)

    @classmethod
    def of(cls, frame: pl.DataFrame, *, ruled: frozenset[str]) -> Callers:
        """From the columns calls, squares, h0 to h23, home and work: what the rule says best, or packed."""
        hours = np.column_stack([np.maximum(_whole(frame[f"h{hour}"]), 0) for hour in range(HOURS)])
        home, work = (
            _from_rule(_whole(frame[name])) if name in ruled else _unpacked(_whole(frame[name]))
            for name in ("home", "work")
        )
        return cls(_whole(frame["calls"]), _whole(frame["squares"]), hours, home, work)


class Counted(Protocol):
    """Calls that were read: what is known of the callers, and all calls by the hour."""

    @property
    def callers(self) -> Callers: ...

    def hourly(self, groups: Groups, *, shared: bool) -> Numbers:
        """Raw: for every hour of the day and every group the calls there, or the steps that callers give."""


def _whole(column: pl.Series) -> Numbers:
    return column.cast(pl.Int64).fill_null(-1).to_numpy()


def _unpacked(packed: Numbers) -> NDArray[np.int64]:
    known = packed >= 0
    return np.where(known[:, None], np.column_stack([packed // PACKED, packed % PACKED]), -1)


def _from_rule(best: Numbers) -> NDArray[np.int64]:
    """The middle of the cell that won: the most frequent one, of several the first."""
    cells = RULE_CELLS - 1 - best % RULE_CELLS
    width = STEPS // RULE_SIDE
    middle = np.column_stack([cells % RULE_SIDE, cells // RULE_SIDE]) * width + width // 2
    return np.where(best[:, None] >= 0, middle, -1)


def rule_score(number: Any, cell: Any) -> Any:
    """What the most frequent cell of a caller has most of; of several the first wins."""
    return number * RULE_CELLS + (RULE_CELLS - 1 - cell)


def at_night(hour: Any) -> Any:
    """Whether calls at this hour speak of a home."""
    return (hour >= NIGHT[0]) | (hour < NIGHT[1])


def at_work(day: Any, hour: Any, region: Region) -> Any:
    """Whether calls at this hour of this day speak of a place of work."""
    weekday = (day + region.first_weekday) % 7 < WEEKDAYS
    return weekday & (hour >= AFTERNOON[0]) & (hour < AFTERNOON[1])


def ruled(layout: CallsLayout) -> frozenset[str]:
    """Which of home and work follow from a caller's calls, because no columns say them."""
    return frozenset({"home", "work"} - set(layout.places))


def spread(found: pl.DataFrame, groups: Groups) -> Numbers:
    """Grouped numbers as a table: a row for every hour, a column for every group."""
    table = np.zeros((HOURS, groups.size), dtype=np.int64)
    at = found["hour"].cast(pl.Int64).to_numpy(), found["group"].cast(pl.Int64).to_numpy()
    table[at] = found["total"].cast(pl.Int64).to_numpy()
    return table
