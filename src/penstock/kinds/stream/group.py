"""The sketch of Algorithm 7 in a finite group: pan-private by enumeration, for tiny universes.

Published: Mir's thesis draws noise for a linear sketch from all vectors that sparse changes of the totals
could cause, the likelier the sparser. As printed it confines these changes to a box, and breaks: noise at the
edge of the box, moved by a neighbour, may have no representation any more, and probability 0 stands against
more than 0. Here everything lives modulo a prime, where there is no edge.

Guarantee: pan-private, pure epsilon, for updates that move from one id to another (replace). Why: let d(z) be
the least cost of totals c with X c = z, all modulo a prime; a cost is a norm, so d changes by at most the
cost of a neighbour's move when z moves by its sketch. Noise y with probability proportional to exp(-(epsilon
/ cost of a move) d(y)) is drawn once, whatever the data are: no normaliser moves with them. Hence the
probability of a state changes by at most e^epsilon_state. The answer is a sketch with fresh noise of the same
kind, decoded.

How good it is has no theorem: that of the thesis applies the accuracy of the sketch to noise that was chosen
with the sketch in view, and would promise as much for noise that hides everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import Counters, Estimate, Setting, Sketch, Updates
from penstock.errors import SchemaError, UsageError
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.hashing import scattered
from penstock.kinds.stream.layout import StreamLayout
from penstock.kinds.stream.living import Living
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.modular import OnGroup
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.schema import Schema

MOST_STATES = 10**6
MOST_IDS = 1000
FINE = 256
"""Parts of one in which costs are told: a square root is rounded up to the next, which keeps it
subadditive."""

Norm = Literal["l0", "l1", "l2"]


@dataclass(frozen=True)
class Group(Sketch):
    """`rows` sums of all totals with public factors, modulo a `prime`; prime ** rows states are enumerated.

    `norm` is what is counted: l0 the ids that are not 0, l1 the sum of totals, l2 the root of that of their
    squares.
    """

    name: ClassVar[str] = "group-sketch"
    mechanism: ClassVar[str] = "noise by distance in a group"
    trusts_totals: ClassVar[bool] = True
    numbered: ClassVar[bool] = True

    prime: Annotated[int, Whole(least=3, most=101)] = 7
    rows: Annotated[int, Whole(least=1, most=8)] = 3
    norm: Literal["l0", "l1", "l2"] = "l0"

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(self.prime % divisor == 0 for divisor in range(2, isqrt(self.prime) + 1)):
            raise UsageError(f"prime must be a prime number, not {self.prime}. Nothing was spent.")
        if self.prime**self.rows > MOST_STATES:
            raise UsageError(
                f"{self.prime} to the power of {self.rows} are more than {MOST_STATES:,} states to "
                "enumerate; lower "
                "prime or rows. Nothing was spent."
            )

    def check(self, schema: Schema) -> None:
        layout = StreamLayout.of(schema)
        if layout.ids > MOST_IDS:
            raise SchemaError(
                f"{self.name} enumerates, and is for {MOST_IDS:,} ids at most, not {layout.ids:,}; use "
                "pp-bucket. "
                "Nothing was spent."
            )
        if 2 * layout.most >= self.prime:
            raise SchemaError(
                f"{self.name}: twice the largest total, {layout.most}, must stay below the prime, "
                f"{self.prime}. "
                "Nothing was spent."
            )

    def blank(self, setting: Setting) -> Counters:
        return np.zeros(self.rows, dtype=np.int64)

    def cost_of_a_move(self, most: int) -> int:
        """The largest cost of a neighbour's move, v of one id and -v of another, in parts of `FINE`.

        >>> [Group(norm=norm).cost_of_a_move(2) / FINE for norm in ("l0", "l1", "l2")]
        [2.0, 4.0, 2.83203125]
        """
        squared = {"l0": 4, "l1": 4 * most * most, "l2": 2 * most * most}[self.norm]
        return _root_above(squared * FINE * FINE)

    def noise(self, setting: Setting, around: Counters) -> Law[Counters]:
        return self.law(setting, around, setting.state)

    def law(self, setting: Setting, around: Counters, epsilon: Fraction) -> OnGroup:
        """Noise around a sketch that costs epsilon."""
        table = distances(self.prime, self.rows, self.norm, setting.ids, setting.key)
        rate = epsilon / self.cost_of_a_move(setting.most)
        return OnGroup(np.asarray(around), table, self.prime, rate)

    def feed(self, setting: Setting, counters: Counters, updates: Updates, source: Randomness) -> None:
        rows = factors(self.prime, self.rows, setting.ids, setting.key)
        moved = (updates.deltas % self.prime) @ rows[updates.ids.astype(np.int64)]
        counters[...] = (counters + moved) % self.prime

    def plausible(self, setting: Setting, counters: Counters) -> bool:
        return int(counters.min()) >= 0 and int(counters.max()) < self.prime


def factors(prime: int, rows: int, ids: int, key: int) -> NDArray[np.int64]:
    """The public matrix of the sketch: a row for each id."""
    drawn = scattered(np.arange(ids * rows, dtype=np.uint64), key) % np.uint64(prime)
    return drawn.astype(np.int64).reshape(ids, rows)


@lru_cache(maxsize=16)
def distances(prime: int, rows: int, norm: Norm, ids: int, key: int) -> NDArray[np.int64]:
    """For every vector of the group the least cost of totals that give it, in parts of `FINE`.

    One id after the other: the least cost with one more of them is the least over all multiples of its row.
    What no totals give is as far as everything together, which only ever adds to the noise.
    """
    multiples = np.arange(prime)
    size = np.minimum(multiples, prime - multiples)
    cost = {"l0": (size > 0).astype(np.int64), "l1": size, "l2": size**2}[norm]
    far = int(cost.max()) * ids + 1
    table = np.full((prime,) * rows, far, dtype=np.int64)
    table[(0,) * rows] = 0
    axes = tuple(range(rows))
    for row in factors(prime, rows, ids, key).tolist():
        moved = [
            np.roll(table, tuple(multiple * each % prime for each in row), axis=axes) + int(cost[multiple])
            for multiple in range(prime)
        ]
        table = np.minimum.reduce(moved)
    table = np.minimum(table, far)
    if norm == "l2":
        rooted = [_root_above(int(each) * FINE * FINE) for each in range(far + 1)]
        told: NDArray[np.int64] = np.array(rooted, dtype=np.int64)[table]
    else:
        told = table * FINE
    told.flags.writeable = False
    return told


def _root_above(square: int) -> int:
    """The square root of a whole number, rounded up."""
    root = isqrt(square)
    return root if root * root == square else root + 1


def noisy_sketch(sealed: Sealed[NDArray[np.int64]], sketch: Group, setting: Setting, pay: Budget) -> Counters:
    """A sketch with fresh noise; pays all that is left of `pay`.

    Pure epsilon (see the module's text): neighbours move the sketch by that of a move, whose cost the rate is
    calibrated to.
    """
    epsilon = pay.left[0]
    source = pay.spend(
        sketch.mechanism, sealed, amount=epsilon, detail=f"{sketch.norm}, modulo {sketch.prime}"
    )
    return source.draw(sketch.law(setting, open_seal(sealed), epsilon))


class GroupSketch(Living[Group]):
    """The published sketch, made private: for teaching and for exact tests.

    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("{kind: stream, relation: replace, stream: {ids: 5, most: 1}}")
    >>> few = GroupSketch(schema, epsilon=40, prime=11, seed=1)
    >>> few.update([0, 1, 2])
    >>> few.update([2], -1)
    >>> few.answer(seed=2).value
    2.0
    """

    sketch_class = Group

    def asked(self, fed: Fed, question: str, at: int | None, pay: Budget) -> Estimate:
        setting, sketch = fed.setting, self.sketch
        epsilon = pay.left[0]
        sealed = fed.claim(
            np.array,
            sketch.rows * (sketch.prime - 1),
            because="an id moves the sums by a multiple of its row, and noise is calibrated to its cost",
        )
        table = distances(sketch.prime, sketch.rows, sketch.norm, setting.ids, setting.key)
        found = int(table[tuple(noisy_sketch(sealed, sketch, setting, pay).tolist())])
        return Estimate(found / FINE, _deviation(sketch, setting, epsilon), _COUNTED[sketch.norm])


_COUNTED = {"l0": "ids", "l1": "in all", "l2": "the root of the second moment"}


def _deviation(sketch: Group, setting: Setting, epsilon: Fraction) -> float:
    """The root mean square error of an empty stream, by enumeration."""
    table = distances(sketch.prime, sketch.rows, sketch.norm, setting.ids, setting.key)
    cost = sketch.cost_of_a_move(setting.most)
    spectrum = np.ones(table.shape, dtype=np.complex128)
    for share, times in ((setting.state, setting.drawn), (epsilon, 1)):
        weights = np.exp(-float(share / cost) * (table - table.min()))
        spectrum *= np.fft.fftn(weights / weights.sum()) ** times
    law = np.fft.ifftn(spectrum).real
    return float(np.sqrt(np.sum(law * (table / FINE) ** 2)))
