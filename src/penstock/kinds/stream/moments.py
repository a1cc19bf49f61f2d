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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import NORMAL_95, Counters, Estimate, Setting, Updates
from penstock.errors import SchemaError
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.hashing import scattered
from penstock.kinds.stream.layout import StreamLayout
from penstock.kinds.stream.living import Living
from penstock.kinds.stream.sums import Sums
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.schema import Schema

_LAPLACE = 3  # the fourth cumulant of Laplace noise over its squared variance


@dataclass(frozen=True)
class Signs(Sums):
    """So many `rows` of random signs: more of them lessen the chance of the signs, and each adds to the
    noise."""

    name: ClassVar[str] = "l2-sketch"
    trusts_totals: ClassVar[bool] = True

    rows: Annotated[int, Whole(least=2, most=4096)] = 32

    def check(self, schema: Schema) -> None:
        refuse_overflow(self.name, schema, self.rows)

    def blank(self, setting: Setting) -> Counters:
        return np.zeros(self.rows, dtype=np.int64)

    def moved(self, setting: Setting) -> int:
        return setting.touched * setting.most * self.rows

    def moves(self, setting: Setting, updates: Updates) -> NDArray[np.int64]:
        return signed(setting.key, self.rows, updates)


def signed(key: int, rows: int, updates: Updates) -> NDArray[np.int64]:
    """The sum of a few updates in each row, every id with its sign there.

    Doubles hold these sums exactly: they stay below 2^46.
    """
    moved = []
    amounts = updates.deltas.astype(np.float64)
    hashed = scattered(updates.ids, key)
    for word in range(-(-rows // 64)):
        # after a first hash: ids that differ where two keys do would share their signs
        bits = scattered(hashed, (key >> 64) + word)
        here = np.arange(min(64, rows - 64 * word), dtype=np.uint64)
        heads = ((bits[:, None] >> here) & np.uint64(1)).astype(np.float64)
        moved.append(2 * (amounts @ heads) - amounts.sum())
    whole: NDArray[np.int64] = np.rint(np.concatenate(moved)).astype(np.int64)
    return whole


def refuse_overflow(name: str, schema: Schema, rows: int) -> None:
    """Raise SchemaError where the squares of sums could not be told any more."""
    layout = StreamLayout.of(schema)
    if layout.ids * layout.most * rows > 1 << 56:
        raise SchemaError(
            f"{name} would overflow with {layout.ids:,} ids of totals up to {layout.most:,}; lower one of "
            "them, or the rows. Nothing was spent."
        )


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
        return squared(rows, [*[first] * setting.drawn, fresh])


def squared(rows: NDArray[np.float64], noises: Sequence[float]) -> Estimate:
    """The second moment from rows that hold Laplace noises of these standard deviations."""
    mean = float(np.mean(rows**2))
    known = sum(each**2 for each in noises)
    fourth = _LAPLACE * sum(each**4 for each in noises)
    reach = _reach(mean, known, fourth, rows.size)
    return Estimate(mean - known, reach / NORMAL_95, "of squared totals", conservative=True)


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
