"""The six distributions of WHERE, and how noisy counts become them: post-processing, which costs nothing.

Home and work are shares of callers by cell. The commute says how far those of a cell of a coarser grid go to
work. Calls a day are pairs of mean and deviation, with the share of callers that each is for. Two classes of
callers differ in when they call. And for every hour of the day there are shares of all calls by group of
cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.kinds.calls.region import HOURS, Groups, Reals

PARTS = ("home", "work", "commute", "per_day", "call_time", "hours")
"""The distributions, in the order in which they are paid for."""
MINUTES = 1440
CLASSES = 2


def from_cumulative(counts: NDArray[Any]) -> Reals:
    """Probabilities from noisy counts, by the nearest cumulative counts that do not fall (PostProc).

    Cumulative sums, then the non-decreasing sequence nearest to them in least squares, cut off at 0 and
    divided by the last; differences are the probabilities. Where the last is not above 0 all are alike.

    >>> from_cumulative(np.array([5, -2, 4])).round(4).tolist()
    [0.5714, 0.0, 0.4286]
    """
    from scipy.optimize import isotonic_regression

    flat = np.asarray(counts, dtype=np.float64).ravel()
    risen = np.maximum(isotonic_regression(np.cumsum(flat)).x, 0.0)
    if risen[-1] <= 0:
        return np.full(flat.size, 1 / flat.size)
    return np.asarray(np.diff(risen, prepend=0.0) / risen[-1], dtype=np.float64)


def probability(vector: Reals) -> Reals:
    """The vector cut off at 0 and divided by its sum; even where nothing is left."""
    positive = np.maximum(vector, 0.0)
    total = float(positive.sum())
    return positive / total if total > 0 else np.full(positive.size, 1 / positive.size)


def exponential_edges(median: float, furthest: float) -> Reals:
    """Edges of bins at the 10th, 20th, … 90th and 95th percentile of an exponential law with this median.

    The last bin reaches as far as anybody can go. Edges beyond that coincide with it.

    >>> exponential_edges(5.0, 170.0).round(3).tolist()
    [0.0, 0.76, 1.61, 2.573, 3.685, 5.0, 6.61, 8.685, 11.61, 16.61, 21.61, 170.0]
    """
    shares = np.array([*np.arange(1, 10) / 10, 0.95])
    inner = -median * np.log2(1 - shares)
    return np.asarray(np.minimum(np.concatenate([[0.0], inner, [furthest]]), furthest), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Tables:
    """What is released of calls, and all that is sampled from.

    `home` and `work` have a share for each cell of a grid of `side` cells each way. `commute` has a row of
    shares for each cell of a grid of `commute_side`; its bins lie between the same row of `edges`, in miles.
    `per_day` has a share for each pair of a mean (rows) and a deviation (columns). `classes` are the shares
    of the two classes of callers, `times` their shares of calls by hour, a row each. `hours` has, for each
    hour of the day, the shares of the calls by group of cells. `callers` is the number of callers, noisy or
    public.
    """

    side: int
    home: Reals
    work: Reals
    commute_side: int
    edges: Reals
    commute: Reals
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    per_day: Reals
    classes: Reals
    times: Reals
    groups: Groups
    hours: Reals
    callers: float

    def __post_init__(self) -> None:
        cells, areas = self.side**2, self.commute_side**2
        shapes: dict[str, tuple[int, ...]] = {
            "home": (cells,),
            "work": (cells,),
            "commute": (areas, self.edges.shape[-1] - 1),
            "edges": (areas, self.edges.shape[-1]),
            "per_day": (len(self.means), len(self.deviations)),
            "classes": (CLASSES,),
            "times": (CLASSES, HOURS),
            "hours": (HOURS, self.groups.size),
        }
        for name, shape in shapes.items():
            found = getattr(self, name)
            if found.shape != shape:
                raise UsageError(f"The table '{name}' has the shape {found.shape}, where {shape} is needed.")
            if not np.isfinite(found).all() or (found < 0).any():
                raise UsageError(f"The table '{name}' holds numbers that are no shares.")
        rows = [self.home, self.work, self.per_day, self.classes, *self.commute, *self.times, *self.hours]
        if any(abs(float(row.sum()) - 1) > 1e-6 for row in rows):
            raise UsageError("Shares of a table do not add up to 1.")
        if (np.diff(self.edges, axis=1) < 0).any():
            raise UsageError("The bins of commutes do not ascend.")
        if self.groups.side != self.side:
            raise UsageError("Groups of cells belong to another grid.")

    @property
    def mean_calls(self) -> float:
        """About how many calls a caller makes in a day."""
        return float(self.per_day.sum(axis=1) @ np.asarray(self.means, dtype=np.float64))

    @cached_property
    def minutes(self) -> Reals:
        """The shares of calls at each minute of the day, for each class: linear between middles of hours."""
        middles = np.arange(-30, MINUTES + 31, 60)
        padded = np.concatenate([self.times[:, -1:], self.times, self.times[:, :1]], axis=1)
        found = np.stack([np.interp(np.arange(MINUTES) + 0.5, middles, row) for row in padded])
        return np.asarray(found / found.sum(axis=1, keepdims=True), dtype=np.float64)

    @cached_property
    def density(self) -> Reals:
        """The share of an hour's calls in one cell of each group: what decides between home and work."""
        return np.asarray(self.hours / np.maximum(self.groups.weights, 1e-12), dtype=np.float64)

    def but(self, **changed: Any) -> Tables:
        """The same with some tables replaced."""
        return replace(self, **changed)


def public_profiles() -> Reals:
    """Two profiles of a day that everybody knows: calls around midday, and calls in the evening."""
    hours = np.arange(HOURS) + 0.5
    bumps = [
        np.exp(-0.5 * (((hours - centre + 12) % 24 - 12) / wide) ** 2) for centre, wide in ((12, 4), (20, 3))
    ]
    return np.stack([bump / bump.sum() for bump in bumps])
