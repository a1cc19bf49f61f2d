"""A running count after every step: the binary tree of intervals, with noise when one opens and when it
closes.

Guarantee: pan-private, pure epsilon, for one event that appears or vanishes (add-remove), all steps together.
Both shares are paid when the stream is opened, and nothing afterwards: how often it is looked at does not
matter. Why: intervals of 1, 2, 4, ... steps are counted by themselves, so an event is in one of them on each
of L levels, and changes its count by at most `most`. The accumulator of an interval begins with discrete
Laplace noise of scale L most / epsilon_state, so whoever sees all open ones at one moment sees L counts of
which each costs epsilon_state / L. What is published of an interval when it is over gets fresh noise of scale
L most / epsilon_out, and an event is in L published intervals. The count until now is a sum of at most L of
them.

Under 'replace' the number of events is public, and there is nothing to count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import LAPLACE_95, Counters, Estimate, Setting, Sketch
from penstock.errors import UsageError
from penstock.kinds.stream import folder as place
from penstock.kinds.stream.book import Reading, now
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.living import Living
from penstock.kinds.stream.paying import drawing
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Law, Randomness


@dataclass(frozen=True)
class Intervals(Sketch):
    """Intervals of powers of two, for a public number of `steps` at most."""

    name: ClassVar[str] = "continual-counter"
    mechanism: ClassVar[str] = "discrete Laplace"
    redrawable: ClassVar[bool] = False
    ahead: ClassVar[bool] = True

    steps: Annotated[int, Whole(least=1, most=1 << 40)] = 1024

    @property
    def levels(self) -> int:
        """One interval of each length is open at a time.

        >>> Intervals(steps=1024).levels
        11
        """
        return self.steps.bit_length()

    def blank(self, setting: Setting) -> Counters:
        """An accumulator for each level."""
        return np.zeros(self.levels, dtype=np.int64)

    def scale(self, setting: Setting, epsilon: Fraction) -> Fraction:
        """Of the noise of one interval."""
        return Fraction(self.levels * setting.most) / epsilon

    def noise(self, setting: Setting, around: Counters) -> Law[Counters]:
        return LaplaceAround(np.asarray(around), self.scale(setting, setting.state))

    def feed(
        self,
        setting: Setting,
        counters: Counters,
        ids: NDArray[np.uint64],
        deltas: NDArray[np.int64],
        source: Randomness,
    ) -> None:
        """An event is in the open interval of every level, whoever caused it."""
        counters += int(deltas.sum())

    def over(self, step: int) -> list[int]:
        """The levels whose interval ends with this step, counted from 1."""
        return [level for level in range(self.levels) if step % (1 << level) == 0]

    def parts(self, step: int) -> list[int]:
        """The levels whose last interval, together, are all steps up to this one.

        >>> Intervals(steps=16).parts(13)
        [0, 2, 3]
        """
        return [level for level in range(self.levels) if step >> level & 1]


class ContinualCounter(Living[Intervals]):
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

    def step(self, *, seed: int | None = None) -> Reading:
        """End a step: publish the intervals that are over, and begin new ones; costs nothing more."""
        self.refuse_change()
        with self._booking():
            taken = len(self.history) + 1
            if taken > self.sketch.steps:
                raise UsageError(
                    f"All {self.sketch.steps:,} steps of this stream are over; open another. Nothing was "
                    "spent."
                )
            over, setting = self.sketch.over(taken), self.setting
            with drawing(seed) as source:
                told = self._published(over, source)
                fresh = source.draw(self.sketch.noise(setting, np.zeros(len(over), dtype=np.int64)))
            last = [*self._book.own]
            for level, count in zip(over, told, strict=True):
                last[level] = count
            value = sum(last[level] for level in self.sketch.parts(taken))
            reading = self._reading(taken, float(value))
            # First the new intervals: killed in between, the count of the old ones is lost. The other way
            # round
            # they would be published a second time.
            self._counters[over] = fresh
            place.written(self._counters)
            self._keep(
                self._book.with_reading(reading).model_copy(
                    update={"own": last, "publishable": self._book.publishable and seed is None}
                )
            )
        return reading

    @property
    def left(self) -> str:
        return f"{self.sketch.steps - len(self.history):,} steps left"

    def _published(self, over: list[int], source: Randomness) -> list[int]:
        """The counts of the intervals that are over, with the noise that was paid for at the opening."""
        share = Fraction(self._book.epsilon_out) * len(over) / self.sketch.levels
        fed = Fed(self._seen(), self.setting)
        sealed = fed.claim(
            lambda counters: counters[over],
            self.setting.most * len(over),
            largest=self.setting.most,
            because="an event is in one interval of each level, whose count it changes by its own weight",
        )
        return [int(count) for count in noise.counts(sealed, pay=Budget(share, randomness=source))]

    def _reading(self, step: int, value: float) -> Reading:
        both = (self.setting.state, Fraction(self._book.epsilon_out))
        each = [noise.standard_deviation(self.sketch.scale(self.setting, share), 1) ** 2 for share in both]
        deviation = sqrt(len(self.sketch.parts(step)) * sum(each))
        return Reading(
            "count", None, value, LAPLACE_95 * deviation, "events", now(), Fraction(0), conservative=True
        )

    def answer(self, question: str | None = None, at: int | None = None, **_: Any) -> Reading:
        """The count after the last step that is over; it was paid for at the opening."""
        self._asked(question, at)
        if not self.history:
            return Reading("count", None, 0.0, 0.0, "events", now(), Fraction(0))
        return self.history[-1]

    def asked(self, fed: Fed, question: str, at: int | None, pay: Budget) -> Estimate:
        raise UsageError("A running count is told step by step, with 'step'. Nothing was spent.")
