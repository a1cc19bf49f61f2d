"""A stream that is told after every step: the binary tree of intervals, with noise when one opens and when it
closes.

Guarantee: pan-private, pure epsilon, for one event, all steps together. It is paid when the stream is opened,
and nothing afterwards: how often it is asked does not matter. Why: intervals of 1, 2, 4, ... steps are
summed by themselves, so an event is in one of them on each of L levels, and moves the sums of an interval by
a bounded amount in total. The sums of an interval begin with discrete Laplace noise of scale L times that
amount over epsilon. What is published of an interval when it is over gets fresh noise of the same scale; its
first noise is forgotten, and the next interval begins with noise of its own. Whatever holds for all steps
until now is made of at most L published intervals.

One epsilon pays for both noises. Take somebody who looks inside at one moment, and an interval with the
event. If it was open then and the event in it, the look costs epsilon / L, and what is published of it later
is what was seen, plus what came after the look, plus noise: nothing more about the event. If the event came
after the look, or the interval was not open, only what is published tells of the event, which costs epsilon /
L. Noises of different intervals are independent, so that all L cost epsilon at most.

This works for sums. Residues modulo a prime cannot be added up so: the signal of a sum of L of them is that
of one to the power of L.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import Counters, Estimate, Setting
from penstock.errors import UsageError
from penstock.kinds.stream import folder as place
from penstock.kinds.stream.book import Reading, now
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.living import Living
from penstock.kinds.stream.paying import Seed, drawing
from penstock.kinds.stream.sums import Sums
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness


@dataclass(frozen=True)
class Tree(Sums):
    """Intervals of powers of two, for a public number of `steps` at most; each holds a few sums."""

    redrawable: ClassVar[bool] = False
    ahead: ClassVar[bool] = True

    steps: Annotated[int, Whole(least=1, most=1 << 40)] = 1024

    @property
    def levels(self) -> int:
        """One interval of each length is open at a time."""
        return self.steps.bit_length()

    @property
    @abstractmethod
    def across(self) -> int:
        """How many sums an interval has; an event moves each of them by its weight at most."""

    def blank(self, setting: Setting) -> Counters:
        """The sums of the open interval of each level. An event is in all of them."""
        return np.zeros((self.levels, self.across), dtype=np.int64)

    def moved(self, setting: Setting) -> int:
        return self.levels * setting.touched * setting.most * self.across

    def over(self, step: int) -> list[int]:
        """The levels whose interval ends with this step, counted from 1."""
        return [level for level in range(self.levels) if step % (1 << level) == 0]

    def parts(self, step: int) -> list[int]:
        """The levels whose last interval, together, are all steps up to this one."""
        return [level for level in range(self.levels) if step >> level & 1]


T = TypeVar("T", bound=Tree)


class Stepped(Living[T]):
    """A stream that is told step by step."""

    def step(self, *, seed: Seed = None) -> Reading:
        """End a step: publish the intervals that are over, and begin new ones; costs nothing more."""
        self.refuse_change()
        with self._booking():
            taken = len(self._book.readings) + 1
            if taken > self.sketch.steps:
                raise UsageError(
                    f"All {self.sketch.steps:,} steps of this stream are over; open another. Nothing was "
                    "spent."
                )
            over, across = self.sketch.over(taken), self.sketch.across
            last = np.array(self._book.own, dtype=np.int64).reshape(-1, across)
            with drawing(seed) as source:
                last[over] = self._published(over, source).reshape(-1, across)
                fresh = source.draw(
                    self.sketch.noise(self.setting, np.zeros((len(over), across), dtype=np.int64))
                )
            summed = last[self.sketch.parts(taken)].astype(np.float64).sum(axis=0)
            reading = self._reading(taken, summed)
            # First the new intervals: killed in between, what the old ones held is lost. The other way round
            # they would be published a second time.
            self._counters[over] = fresh
            fresh[...] = 0
            place.written(self._counters)
            self._keep(
                self._book.with_reading(reading).model_copy(
                    update={
                        "own": last.ravel().tolist(),
                        "publishable": self._book.publishable and seed is None,
                    }
                )
            )
        return reading

    @property
    def left(self) -> str:
        left = self.sketch.steps - len(self._book.readings)
        return f"{left:,} {'step' if left == 1 else 'steps'} left"

    def _published(self, over: list[int], source: Randomness) -> NDArray[np.int64]:
        """The sums of the intervals that are over, with the noise that was paid for at the opening."""
        sketch, most = self.sketch, self.setting.most
        share = Fraction(self._book.epsilon_out) * len(over) / sketch.levels
        sealed = Fed(self.seized(), self.setting).claim(
            lambda counters: counters[over].ravel(),
            most * sketch.across * len(over),
            largest=most,
            because="an event is in one interval of each level, each sum of which it moves by its own weight",
        )
        return noise.counts(sealed, pay=Budget(share, randomness=source))

    def noises(self, step: int) -> list[float]:
        """The standard deviations of all noises in a sum over the steps up to this one."""
        both = (self.setting.state, Fraction(self._book.epsilon_out))
        each = [noise.standard_deviation(self.sketch.scale(self.setting, share), 1) for share in both]
        return each * len(self.sketch.parts(step))

    @abstractmethod
    def told(self, step: int, sums: NDArray[np.float64]) -> tuple[Estimate, float]:
        """What noisy sums over all steps say, and how many standard errors are the bar; free of charge."""

    def _reading(self, step: int, sums: NDArray[np.float64]) -> Reading:
        found, wide = self.told(step, sums)
        return Reading(
            next(iter(self.info().questions)),
            None,
            found.value,
            wide * found.deviation,
            found.text,
            now(),
            Fraction(0),
            conservative=True,
        )

    def answer(self, question: str | None = None, at: int | None = None, **_: Any) -> Reading:
        """What was told after the last step that is over; it was paid for at the opening."""
        self._asked(question, at)
        if not self._book.readings:
            raise UsageError(
                "No step of this stream is over yet; end one with 'penstock stream step'. Nothing was spent."
            )
        return self.history[-1]

    def asked(self, fed: Fed, question: str, at: int | None, pay: Budget) -> Estimate:
        raise UsageError("This stream is told step by step, with 'step'. Nothing was spent.")
