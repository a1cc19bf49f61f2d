"""PP-Bucket: how many different ids a stream holds, in little space, with inserts and deletes.

Guarantee: pan-private, pure epsilon. The state costs `epsilon_state`, each answer `epsilon_out`, for updates
of one id (add-remove: all of them appear or vanish, or its total changes in any way) or of two (replace: some
move from one id to another). Why, for the state: an id stands in one counter, which holds what its ids added
to it, times public numbers, plus noise, modulo a prime. The noise takes two probabilities whose ratio is
e^(epsilon_state / touched) (`TwoLevels`), wherever it is moved to, and the counters are independent. So
neighbours, which move `touched` counters, differ by at most e^epsilon_state in the probability of every
state. That holds for every value of the hashes: an intruder may know them. Why, for an answer: with the noise
inside fixed, one id moves one counter, hence one of the numbers of likely counters, by one. Noise of its own
makes these numbers private even for somebody who has seen the state.

An empty counter is likely with probability p1, any other with p0: what was added is a random multiple, which
is not zero because the modulus is a prime above all totals. Hence the number of likely counters on a level
tells how many of them are empty, and that how many ids there are, as in linear counting (`occupancy`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import NORMAL_95, Counters, Estimate, Setting, Updates
from penstock.errors import SchemaError
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.hashing import lowest_one, scattered
from penstock.kinds.stream.layout import StreamLayout
from penstock.kinds.stream.living import Living
from penstock.kinds.stream.occupancy import Levels
from penstock.kinds.stream.residues import Moves, Residues
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.modular import TwoLevels, half, likely_residues, shares
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Law
from penstock.schema import Schema

MERSENNE = (1 << 31) - 1


@dataclass(frozen=True)
class Buckets(Residues):
    """`width` counters on each of as many levels as it takes; a level has half as many ids as the one before.

    The relative error is about 1.45 / (sqrt(width) (p1 - p0)), and that of an empty stream sqrt(width) /
    (p1 - p0) ids: wide sketches are for many ids.
    """

    name: ClassVar[str] = "pp-bucket"
    mechanism: ClassVar[str] = "two-level noise modulo a prime"

    width: Annotated[int, Whole(least=2, most=1 << 24)] = 4096

    prime: ClassVar[int] = MERSENNE

    def check(self, schema: Schema) -> None:
        if StreamLayout.of(schema).most >= self.prime:
            raise SchemaError(f"stream: 'most' must be below {self.prime:,} for {self.name}.")

    def levels(self, setting: Setting) -> int:
        """As many as halve the ids down to one; 32 bits of a hash choose one."""
        return min(32, max(1, (setting.ids - 1).bit_length()))

    def blank(self, setting: Setting) -> Counters:
        return np.zeros((self.levels(setting), self.width), dtype=np.uint32)

    def noise(self, setting: Setting, around: Counters) -> Law[Counters]:
        """Noise that is drawn again is centred: two draws from the same half would cancel each other out."""
        moved = around.astype(np.int64) - (0 if setting.drawn == 1 else half(self.prime) // 2)
        return TwoLevels(moved % self.prime, self.prime, setting.state / setting.touched)

    def modulus(self, setting: Setting) -> int:
        return self.prime

    def moves(self, setting: Setting, updates: Updates) -> Moves:
        first = scattered(updates.ids, setting.key)
        level = lowest_one(first & np.uint64(0xFFFFFFFF), self.levels(setting) - 1)
        bucket = ((first >> np.uint64(32)) * np.uint64(self.width)) >> np.uint64(32)
        second = scattered(first, setting.key >> 64)
        factor = ((second >> np.uint64(33)) * np.uint64(self.prime - 1) >> np.uint64(31)) + np.uint64(1)
        deltas = updates.deltas
        steps = np.where(deltas < 0, deltas + self.prime, deltas).astype(np.uint64)
        product = factor * steps
        if self.prime == MERSENNE:  # without a division: 2^31 is 1 modulo this prime
            product = (product & np.uint64(MERSENNE)) + (product >> np.uint64(31))
        else:
            product %= np.uint64(self.prime)
        return level * self.width + bucket.astype(np.int64), product.astype(np.int64)

    def likely(self, counters: Counters) -> NDArray[np.int64]:
        """On each level, how many counters are likely: all that an answer is made of."""
        likely = likely_residues(counters, self.prime, scattered=False)
        return np.asarray(np.count_nonzero(likely, axis=-1), dtype=np.int64)

    def shares(self, setting: Setting) -> tuple[float, float]:
        """How often an empty counter and any other is likely, after so many draws of noise."""
        stayed, moved = shares(self.prime, setting.state / setting.touched)
        if setting.drawn == 1:
            return stayed, moved
        # Noise is uniform, or with probability k uniform on one half; only where all draws are of the latter
        # sort a counter still follows. How often their sum is in the half again depends on their number
        # alone.
        kept = (2 * stayed - 1) ** setting.drawn
        stayed = 0.5 + kept * (_together(setting.drawn) - 0.5)
        return stayed, (half(self.prime) - stayed) / (self.prime - 1)

    def chances(self, setting: Setting) -> NDArray[np.float64]:
        """How often an id meets each level."""
        levels = self.levels(setting)
        return np.array([2.0 ** -min(level + 1, levels - 1) for level in range(levels)])

    def reading(self, setting: Setting, scale: float) -> Levels:
        """What the noisy numbers of likely counters are read with; `scale` is that of their noise."""
        return Levels(self.width, self.chances(setting), *self.shares(setting), scale, setting.ids)


def _together(times: int) -> float:
    """How often the sum of so many numbers from one half of a circle, centred, is in that half."""
    size = 1 << 10
    around = np.zeros(size)
    around[: size // 4] = around[-(size // 4) :] = 2 / size
    several = np.fft.ifft(np.fft.fft(around) ** times).real
    return float(several[: size // 4].sum() + several[-(size // 4) :].sum())


class DistinctCounter(Living[Buckets]):
    """How many different ids a stream holds: fed for ever, asked now and then, private at every moment.

    >>> import numpy as np
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("{kind: stream, relation: replace, stream: {ids: 100000, most: 9}}")
    >>> visitors = DistinctCounter(schema, epsilon=4, answers=2, seed=3)
    >>> visitors.update(np.arange(20_000))
    >>> visitors.update(np.arange(5_000), -1)
    >>> 12_000 < visitors.answer(seed=4).value < 18_000
    True
    >>> visitors.receipt.epsilon
    Fraction(3, 1)
    """

    sketch_class = Buckets

    def noisy(self, fed: Fed, pay: Budget) -> tuple[Levels, NDArray[np.float64]]:
        """The numbers of likely counters with fresh noise, and what they are read with."""
        sealed = fed.claim(
            self.sketch.likely,
            1,
            because="an id stands in one counter, which is likely or not whatever noise it began with",
        )
        levels = self.sketch.reading(fed.setting, float(sealed.sensitivity.l1 / pay.left[0]))
        return levels, noise.counts(sealed, pay=pay).astype(np.float64)

    def asked(self, fed: Fed, question: str, at: int | None, pay: Budget) -> Estimate:
        levels, counts = self.noisy(fed, pay)
        value, least, most = levels.estimate(counts)
        deviation = max(most - value, value - least) / NORMAL_95
        if question == "density":
            ids = fed.setting.ids
            return Estimate(value / ids, deviation / ids, "of all ids", conservative=True)
        return Estimate(value, deviation, "ids", conservative=True)
