"""L2 sketch: the sum of the squared totals of all ids, which tells how unevenly they are spread.

Guarantee: pan-private, pure epsilon. The state costs `epsilon_state`, each answer `epsilon_out`, for one id
(add-remove) or two (replace). It rests on the schema: an id whose total changes by more than `most` is
protected by as many times less. Why: a row of the sketch adds up all totals, each with a public sign for its
id. A total changes by at most `most`, so one id moves each of the rows by at most that, and all of them by
`most` times their number. Discrete Laplace noise for it is in the rows from the beginning, and fresh noise of
the same kind is added to what an answer is made of. The mean of the squared rows is then the second moment
plus two variances that are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import NORMAL_95, Counters, Estimate, Setting, Sketch
from penstock.errors import SchemaError
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.hashing import scattered
from penstock.kinds.stream.layout import StreamLayout
from penstock.kinds.stream.living import Living
from penstock.kinds.stream.residues import PIECE
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.schema import Schema

_LAPLACE = 3  # the fourth cumulant of Laplace noise over its squared variance


@dataclass(frozen=True)
class Signs(Sketch):
    """So many `rows` of random signs: more of them lessen the chance of the signs, and each adds to the
    noise."""

    name: ClassVar[str] = "l2-sketch"
    mechanism: ClassVar[str] = "discrete Laplace"
    trusts_totals: ClassVar[bool] = True

    rows: Annotated[int, Whole(least=2, most=4096)] = 32

    def check(self, schema: Schema) -> None:
        layout = StreamLayout.of(schema)
        if layout.ids * layout.most * self.rows > 1 << 56:
            raise SchemaError(
                f"{self.name} would overflow with {layout.ids:,} ids of totals up to {layout.most:,}; lower "
                "one of "
                "them, or the rows. Nothing was spent."
            )

    def blank(self, setting: Setting) -> Counters:
        return np.zeros(self.rows, dtype=np.int64)

    def moved(self, setting: Setting) -> int:
        """How far neighbours move all rows together."""
        return setting.touched * setting.most * self.rows

    def noise(self, setting: Setting, around: Counters) -> Law[Counters]:
        return LaplaceAround(np.asarray(around), Fraction(self.moved(setting)) / setting.state)

    def feed(
        self,
        setting: Setting,
        counters: Counters,
        ids: NDArray[np.uint64],
        deltas: NDArray[np.int64],
        source: Randomness,
    ) -> None:
        for start in range(0, ids.size, PIECE):
            counters += self.moves(setting, ids[start : start + PIECE], deltas[start : start + PIECE])

    def moves(
        self, setting: Setting, ids: NDArray[np.uint64], deltas: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """By how much a few updates move each row. Doubles hold the sums exactly: they stay below 2^46."""
        moved = []
        amounts = deltas.astype(np.float64)
        hashed = scattered(ids, setting.key)
        for word in range(-(-self.rows // 64)):
            # after a first hash: ids that differ where two keys do would share their signs
            bits = scattered(hashed, (setting.key >> 64) + word)
            rows = min(64, self.rows - 64 * word)
            heads = ((bits[:, None] >> np.arange(rows, dtype=np.uint64)) & np.uint64(1)).astype(np.float64)
            moved.append(2 * (amounts @ heads) - amounts.sum())
        whole: NDArray[np.int64] = np.rint(np.concatenate(moved)).astype(np.int64)
        return whole


class SecondMoment(Living[Signs]):
    """The sum of the squared totals of all ids.

    >>> import numpy as np
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("{kind: stream, relation: add-remove, stream: {ids: 100000, most: 1}}")
    >>> spread = SecondMoment(schema, epsilon=4, rows=64, seed=1)
    >>> spread.update(np.arange(50_000))
    >>> 20_000 < spread.answer(seed=2).value < 90_000
    True
    """

    sketch_class = Signs

    def asked(self, fed: Fed, question: str, at: int | None, pay: Budget) -> Estimate:
        setting, sketch = fed.setting, self.sketch
        sealed = fed.claim(
            np.array,
            setting.most * sketch.rows,
            largest=setting.most,
            because="a total moves by at most the largest one, and every row by as much, up or down",
        )
        fresh = noise.standard_deviation(sealed.sensitivity.l1, pay.left[0])
        rows = noise.counts(sealed, pay=pay).astype(np.float64)
        first = noise.standard_deviation(sketch.moved(setting), setting.state)
        mean = float(np.mean(rows**2))
        known = setting.drawn * first**2 + fresh**2
        fourth = _LAPLACE * (setting.drawn * first**4 + fresh**4)
        return Estimate(
            mean - known, _reach(mean, known, fourth, sketch.rows) / NORMAL_95, "the second moment", True
        )


def _reach(mean: float, known: float, fourth: float, rows: int) -> float:
    """How far from the mean of squared rows their expectation may be, at 95 %.

    Rows are normal but for their noise, whose tails are heavier by `fourth`: such squares vary like fewer
    squares of normal numbers. The longer of the two sides of the interval that these have.

    >>> _reach(1.0, 0.0, 0.0, 32) < _reach(1.0, 1.0, 1.5, 32) < _reach(1.0, 1.0, 1.5, 8)
    True
    """
    from scipy.special import gammaincinv

    free = rows / (1 + fourth / 2 / max(mean, known) ** 2)
    least, most = (mean * free / (2 * float(gammaincinv(free / 2, share))) for share in (0.975, 0.025))
    return max(most - mean, mean - least)
