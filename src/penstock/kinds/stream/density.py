"""The insert-only density estimator of Dwork, Naor, Pitassi, Rothblum and Yekhanin (2010): a baseline.

Guarantee: pan-private, pure epsilon, for all occurrences of one id (add-remove). The state costs
`epsilon_state` of at most 3/2, each answer `epsilon_out`. Why: the bit of an id that never occurred is fair,
that of one that did shows 1 with probability 1/2 + epsilon_state / 4. The ratios of these are at most 1 +
epsilon_state / 2 and 1 / (1 - epsilon_state / 2), both below e^epsilon_state up to 1.59. One id moves the
number of ones by one, and noise for that is added afresh.

A bit cannot tell how often its id occurred, so nothing can be taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import Counters, Estimate, Setting, Sketch, Updates
from penstock.kinds.stream import members
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.living import Living
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.modular import Redrawn
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.schema import Schema

LARGEST_STATE = Fraction(3, 2)


@dataclass(frozen=True)
class Bits(Sketch):
    """One bit for each id, or for each of a public `sample` of so many of them."""

    name: ClassVar[str] = "density-inserts"
    mechanism: ClassVar[str] = "randomised bits"
    largest_state: ClassVar[Fraction | None] = LARGEST_STATE
    redrawable: ClassVar[bool] = False
    draws: ClassVar[bool] = True
    numbered: ClassVar[bool] = True

    sample: Annotated[int | None, Whole(least=1, most=members.MOST)] = None

    def check(self, schema: Schema) -> None:
        members.refuse_size(self.name, schema, self.sample)

    def blank(self, setting: Setting) -> Counters:
        return np.zeros(members.number_of(setting, self.sample), dtype=np.bool_)

    def share(self, setting: Setting) -> Fraction:
        """How often the bit of an id that occurred shows 1."""
        return Fraction(1, 2) + setting.state / 4

    def noise(self, setting: Setting, around: Counters) -> Law[Counters]:
        return Redrawn(np.asarray(around), self.share(setting))

    def feed(self, setting: Setting, counters: Counters, updates: Updates, source: Randomness) -> None:
        at, known = members.places(setting, self.sample, updates.ids)
        met = np.unique(at[known & (updates.deltas > 0)])
        counters[met] = source.draw(Redrawn(np.ones(met.size, dtype=np.bool_), self.share(setting)))


class DensityInserts(Living[Bits]):
    """The share of all ids that occur in a stream of inserts.

    >>> import numpy as np
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("{kind: stream, relation: add-remove, stream: {ids: 20000, most: 9}}")
    >>> density = DensityInserts(schema, epsilon=2, seed=1)
    >>> density.update(np.arange(10_000), seed=5)
    >>> 0.4 < density.answer(seed=2).value < 0.6
    True
    """

    sketch_class = Bits

    def asked(self, fed: Fed, question: str, at: int | None, pay: Budget) -> Estimate:
        setting = fed.setting
        sealed = fed.claim(
            lambda bits: np.array([np.count_nonzero(bits)], dtype=np.int64),
            1,
            because="an id has one bit, which is 1 or not whatever chance has made of it",
        )
        spread = noise.standard_deviation(sealed.sensitivity.l1, pay.left[0])
        (ones,) = noise.counts(sealed, pay=pay)
        number, state = members.number_of(setting, self.sketch.sample), float(setting.state)
        value = 4 * (int(ones) / number - 0.5) / state
        chosen = (1 - number / setting.ids) / (4 * number)
        deviation = sqrt((4 / state) ** 2 * (number / 4 + spread**2) / number**2 + chosen)
        if question == "distinct":
            return Estimate(value * setting.ids, deviation * setting.ids, "ids")
        return Estimate(value, deviation, "of all ids")
