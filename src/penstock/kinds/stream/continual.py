"""Running totals: how many events there were, or how unevenly they are spread, told after every step.

Guarantee: pan-private, pure epsilon, for one event, all steps together (`tree`). An event of weight w moves
the count of an interval by w, and each of r rows of signed sums by w, up or down: r w in all (add-remove). An
event that passes from one id to another moves the rows by 2 r w at most (replace), and no count: under
'replace' the number of events is public, and there is nothing to count. No event weighs more than `most`:
what does is refused.

The second moment of all steps until now is read off the sum of the rows of at most L intervals, less the
variances of their noises, which are known (`moments`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import LAPLACE_95, NORMAL_95, Estimate, Setting, Updates
from penstock.kinds.stream.moments import refuse_overflow, signed, squared
from penstock.kinds.stream.tree import Stepped, Tree
from penstock.schema import Schema


@dataclass(frozen=True)
class Intervals(Tree):
    """Intervals of powers of two, for a public number of `steps` at most.

    >>> Intervals(steps=1024).levels, Intervals(steps=16).parts(13)
    (11, [0, 2, 3])
    """

    name: ClassVar[str] = "continual-counter"

    @property
    def across(self) -> int:
        return 1

    def moves(self, setting: Setting, updates: Updates) -> NDArray[np.int64]:
        """An event counts, whoever caused it."""
        return np.array([updates.deltas.sum()])


class ContinualCounter(Stepped[Intervals]):
    """How many events there were, after every step.

    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml(
    ...     "{kind: stream, unit: {protects: event}, relation: add-remove, stream: {ids: 1000, most: 1}}"
    ... )
    >>> clicks = ContinualCounter(schema, epsilon=4, steps=64, seed=1)
    >>> for step in range(10):
    ...     clicks.update([7] * 100)
    ...     told = clicks.step(seed=step)
    >>> 800 < told.value < 1200
    True
    >>> clicks.receipt.epsilon
    Fraction(4, 1)
    """

    sketch_class = Intervals

    def told(self, step: int, sums: NDArray[np.float64]) -> tuple[Estimate, float]:
        deviation = sqrt(sum(each**2 for each in self.noises(step)))
        return Estimate(float(sums[0]), deviation, "events"), LAPLACE_95


@dataclass(frozen=True)
class SignedIntervals(Tree):
    """Intervals of powers of two, each with so many `rows` of signed sums; for `steps` at most."""

    name: ClassVar[str] = "continual-l2"

    rows: Annotated[int, Whole(least=2, most=4096)] = 16

    @property
    def across(self) -> int:
        return self.rows

    def check(self, schema: Schema) -> None:
        refuse_overflow(self.name, schema, self.rows * self.levels)

    def moves(self, setting: Setting, updates: Updates) -> NDArray[np.int64]:
        return signed(setting.key, self.rows, updates)


class ContinualMoment(Stepped[SignedIntervals]):
    """The sum of the squared totals of all ids, after every step.

    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml(
    ...     "{kind: stream, unit: {protects: event}, relation: replace, stream: {ids: 1000, most: 1}}"
    ... )
    >>> spread = ContinualMoment(schema, epsilon=40, steps=4, rows=32, seed=1)
    >>> for step in range(3):
    ...     spread.update([7] * 200)
    ...     told = spread.step(seed=step)
    >>> 300_000 < told.value < 420_000
    True
    """

    sketch_class = SignedIntervals

    def told(self, step: int, sums: NDArray[np.float64]) -> tuple[Estimate, float]:
        return squared(sums, self.noises(step)), NORMAL_95
