"""PP-Incidence: how many ids have been met how often, from one noisy counter for each id.

Guarantee: pan-private, pure epsilon. The state costs `epsilon_state`, each answer `epsilon_out`, for one id
(add-remove) or two (replace), as for PP-Bucket. Why, for the state: the counter of an id is its total plus
noise, modulo a prime q = 4 k + 3 above all totals. The noise takes two probabilities, in the ratio
e^(epsilon_state / touched), wherever the total moves it to. Why, for an answer: it is a sum over the counters
of a public number for each residue, which one id can move from the least of these numbers to the greatest.
Noise for that is added afresh.

The likely residues are 0 and the squares: their pattern looks the same against every shift of itself, so that
for every function f of a total there are numbers g with E g(counter) = f(total), exactly. Adding a constant
to f is free, and values that no total has can be chosen at will; both serve to make g small. The error grows
with the square root of the number of ids, which no pan-private counter can avoid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, sqrt
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import Counters, Estimate, Setting, Updates
from penstock.errors import SchemaError, UsageError
from penstock.kinds.stream import members
from penstock.kinds.stream.book import Reading
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.layout import StreamLayout
from penstock.kinds.stream.living import Living
from penstock.kinds.stream.residues import Moves, Residues
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.modular import TwoLevels, contrast, signs
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Law
from penstock.privacy.unit import Relation
from penstock.schema import Schema

LARGEST = 4000
_FINE = 1 << 20


@dataclass(frozen=True)
class Incidence(Residues):
    """One counter for each id, or for each of a public `sample` of so many of them.

    With `weigh` the sum of all totals is kept beside the counters, exactly, so that thresholds can be shares
    of it. That is for 'replace' alone, whose neighbours have the same sum at every moment.
    """

    name: ClassVar[str] = "pp-incidence"
    mechanism: ClassVar[str] = "two-level noise modulo a prime"
    numbered: ClassVar[bool] = True

    sample: Annotated[int | None, Whole(least=1, most=members.MOST)] = None
    weigh: bool = False

    @property
    def weighed(self) -> bool:
        return self.weigh

    def check(self, schema: Schema) -> None:
        members.refuse_size(self.name, schema, self.sample)
        if self.weigh and schema.relation is not Relation.REPLACE:
            raise SchemaError(
                f"{self.name}: the total weight of a stream is public under the relation replace only; leave "
                "out weigh. Nothing was spent."
            )
        most = StreamLayout.of(schema).most
        if most > LARGEST:
            raise SchemaError(
                f"{self.name} tells totals up to {LARGEST:,} apart, and the schema says {most:,}; lower "
                "'most', or "
                "use pp-bucket. Nothing was spent."
            )

    def blank(self, setting: Setting) -> Counters:
        width = np.uint8 if prime_above(setting.most) <= 256 else np.uint16
        return np.zeros(members.number_of(setting, self.sample), dtype=width)

    def noise(self, setting: Setting, around: Counters) -> Law[Counters]:
        return TwoLevels(
            around.astype(np.int64),
            prime_above(setting.most),
            setting.state / setting.touched,
            scattered=True,
        )

    def modulus(self, setting: Setting) -> int:
        return prime_above(setting.most)

    def moves(self, setting: Setting, updates: Updates) -> Moves:
        at, known = members.places(setting, self.sample, updates.ids)
        return at[known], updates.deltas[known] % self.modulus(setting)


def prime_above(most: int) -> int:
    """The smallest prime above a total that is 3 modulo 4.

    >>> [prime_above(most) for most in (1, 2, 6, 7, 49)]
    [3, 3, 7, 11, 59]
    """
    candidate = most + 1 + (2 - most) % 4
    while any(candidate % divisor == 0 for divisor in range(3, isqrt(candidate) + 1, 2)):
        candidate += 4
    return candidate


@dataclass(frozen=True)
class Decoding:
    """Numbers for residues whose sum over counters, scaled and shifted, is unbiased for a sum over totals.

    `steps` are the whole numbers; E(scale steps[counter] + shift) = f(total).
    """

    steps: NDArray[np.int64]
    scale: float
    shift: float
    variance: float

    @classmethod
    def of(cls, values: NDArray[np.int64], prime: int, epsilon: Fraction, drawn: int = 1) -> Decoding:
        """For a function of totals 0, 1, ... given by its values, and noise of this epsilon drawn so
        often."""
        free = min(np.unique(values).tolist(), key=lambda each: int(((values - each) ** 2).sum()))
        wanted = np.zeros(prime, dtype=np.int64)
        wanted[: values.size] = values - free
        kappa = contrast(epsilon)
        pattern = signs(prime)
        density = (1 + kappa * pattern) / (prime + kappa)
        if drawn == 1:
            # sum over a of f(a) h(x - a): a circular convolution of whole numbers
            steps = sum(int(wanted[a]) * np.roll(pattern, a) for a in np.flatnonzero(wanted).tolist())
            steps = np.zeros(prime, dtype=np.int64) + steps
            scale = (prime + kappa) / (kappa * (prime + 1))
            shift = -float(wanted.sum()) * (1 - kappa) / (kappa * (prime + 1))
        else:
            # the same in general: undo the noise, frequency by frequency, and round finely
            spectrum = np.conj(np.fft.fft(density)) ** drawn
            exact = np.fft.ifft(np.fft.fft(wanted) / spectrum).real
            steps, scale, shift = np.rint(exact * _FINE).astype(np.int64), 1 / _FINE, 0.0
            density = np.fft.ifft(np.fft.fft(density) ** drawn).real
        told = scale * steps + shift
        spread = [
            float(density @ np.roll(told, -total) ** 2) - float(wanted[total]) ** 2
            for total in range(values.size)
        ]
        return cls(steps, scale, shift + free, max(spread))

    @property
    def range(self) -> int:
        """How far one counter can move the sum."""
        return int(self.steps.max() - self.steps.min())

    def total(self, counters: Counters) -> NDArray[np.int64]:
        """The sum over all counters, as a vector of one."""
        met = np.bincount(counters, minlength=self.steps.size)
        return np.array([int(met @ self.steps)], dtype=np.int64)


def values_of(question: str, at: int | None, most: int) -> NDArray[np.int64]:
    """What is asked of one total, for all totals from 0 to `most`."""
    totals = np.arange(most + 1)
    asked = {
        "distinct": totals != 0,
        "density": totals != 0,
        "incidence": totals == at,
        "cropped-mean": np.minimum(totals, at or 0),
        "heavy-hitters": totals >= (at or 0),
    }
    return np.asarray(asked[question]).astype(np.int64)


_TEXTS = {
    "distinct": "ids",
    "density": "of all ids",
    "incidence": "ids",
    "cropped-mean": "on average",
    "heavy-hitters": "ids",
}
_PER_ID = ("density", "cropped-mean")


class IncidenceCounter(Living[Incidence]):
    """How many ids have been met how often, for a public set of ids: any statistic of single totals.

    >>> import numpy as np
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("{kind: stream, relation: replace, stream: {ids: 20000, most: 9}}")
    >>> visits = IncidenceCounter(schema, epsilon=8, answers=2, seed=1)
    >>> visits.update(np.arange(9000), 3)
    >>> abs(visits.incidence(3, seed=2).value - 9000) < 1500
    True
    >>> abs(visits.cropped_mean(2, seed=3).value - 0.9) < 0.2
    True
    """

    sketch_class = Incidence

    def distinct(self, *, seed: int | None = None) -> Reading:
        """How many ids have a total that is not 0."""
        return self.answer("distinct", seed=seed)

    def density(self, *, seed: int | None = None) -> Reading:
        """Which share of all ids has a total that is not 0."""
        return self.answer("density", seed=seed)

    def incidence(self, t: int, *, seed: int | None = None) -> Reading:
        """How many ids have the total t."""
        return self.answer("incidence", t, seed=seed)

    def cropped_mean(self, tau: int, *, seed: int | None = None) -> Reading:
        """The mean over all ids of the smaller of tau and the total."""
        return self.answer("cropped-mean", tau, seed=seed)

    def heavy_hitters(self, threshold: int, *, seed: int | None = None) -> Reading:
        """How many ids have a total of `threshold` or more; see `threshold` for a share of everything."""
        return self.answer("heavy-hitters", threshold, seed=seed)

    def refuse_question(self, question: str, at: int | None) -> None:
        least = 0 if question == "incidence" else 1
        if at is not None and not least <= at <= self.setting.most:
            raise UsageError(
                f"'{question}' asks for a number from {least} to {self.setting.most}, the largest total, not "
                f"{at}. "
                "Nothing was spent."
            )

    def asked(self, fed: Fed, question: str, at: int | None, pay: Budget) -> Estimate:
        setting = fed.setting
        values = values_of(question, at, setting.most)
        decoding = Decoding.of(
            values, prime_above(setting.most), setting.state / setting.touched, setting.drawn
        )
        sealed = fed.claim(
            decoding.total,
            decoding.range,
            because="an id has one counter, whose residue adds a number between the least and the greatest",
        )
        spread = noise.standard_deviation(sealed.sensitivity.l1, pay.left[0])
        (counted,) = noise.counts(sealed, pay=pay)
        number = members.number_of(setting, self.sketch.sample)
        up = setting.ids / number
        value = up * (decoding.scale * int(counted) + number * decoding.shift)
        reach = float(values.max() - values.min())
        chosen = number * (1 - number / setting.ids) * reach**2 / 4
        deviation = up * sqrt(number * decoding.variance + (decoding.scale * spread) ** 2 + chosen)
        if question in _PER_ID:
            value, deviation = value / setting.ids, deviation / setting.ids
        return Estimate(value, deviation, _TEXTS[question], conservative=True)
