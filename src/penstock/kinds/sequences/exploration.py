"""Looking at strings of growing length: noisy histograms of what follows, paid start by start.

The N-gram method looks at what follows the empty string, then at what follows some of the strings that this
showed to be frequent, and so on, with a noise of its own for every string.

Theorem. Let every string v that is looked at be given epsilon_v, let the histogram of what follows it get
discrete Laplace noise of scale places / epsilon_v, and let the sum of epsilon_u over v and all strings that
v begins with be at most epsilon. Then all noisy histograms together, including the choice of strings from
earlier ones, are epsilon-differentially private for one unit, which owns at most `places` places, added
or removed.

Proof idea. A unit adds one, for each of its places p and each string length i, to the histogram of the string
of length i that precedes p. Sort these additions by the position p - i at which the string starts: there are
at most `places` starts. The strings of one start are the beginnings of one another, so their epsilons add
up to at most epsilon, and their additions cost at most epsilon / places together. This holds for every
outcome of the earlier histograms, so that it does not matter how strings are chosen from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError, UsageError
from penstock.kinds.sequences.data import GramLevel, Sequences
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.mechanisms.noise import held
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import form_of, open_seal

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Exploration:
    """Strings of one length, and how much of the budget is left for each of them and its extensions.

    Used once: what is left goes on in the exploration that `look` or `extended` returns.
    """

    left: tuple[Fraction, ...]
    _level: GramLevel
    _source: Randomness
    _used: list[str] = field(default_factory=list)

    @property
    def places(self) -> Fraction:
        """The most places of one unit: how far the histograms of one length can move together."""
        return self._level.histograms().sensitivity.l1

    @classmethod
    def paid(cls, sequences: Sequences, pay: Budget) -> Exploration:
        """Pay once for everything that will be looked at, and begin with the empty string."""
        epsilon, level = pay.left[0], sequences.grams()
        source = pay.spend(
            "n-gram exploration",
            level.histograms(),
            amount=epsilon,
            detail="discrete Laplace, string by string",
        )
        return cls((epsilon,), level, source)

    def look(self, amounts: Sequence[Fraction]) -> tuple[Exploration, Numbers]:
        """The noisy histograms of what follows, for so much of each string's budget, and what is left."""
        if len(amounts) != len(self.left) or any(
            not 0 < amount <= left for amount, left in zip(amounts, self.left, strict=True)
        ):
            raise UsageError("Every string is looked at for a part of what is left for it.")
        self._use("look")
        counts = open_seal(self._level.histograms())
        noisy = np.empty_like(counts)
        for amount in sorted(set(amounts)):
            rows = np.array([one == amount for one in amounts])
            noisy[rows] = held(self._source.draw(LaplaceAround(counts[rows], self.places / amount)))
        left = tuple(before - amount for before, amount in zip(self.left, amounts, strict=True))
        return Exploration(left, self._level, self._source), noisy

    def extended(self, cells: Numbers) -> Exploration:
        """The strings that some cells count: string number times width plus symbol, ascending."""
        if np.any(np.diff(cells) <= 0):
            raise UsageError("Every string is extended by a symbol once; give ascending cells.")
        self._use("extended")
        level = self._level.extended(cells)
        width = form_of(self._level.histograms()).shape[1]
        left = tuple(self.left[int(cell) // width] for cell in cells)
        return Exploration(left, level, self._source)

    def _use(self, how: str) -> None:
        if self._used:
            raise BudgetError(
                f"These strings were used already ({self._used[0]}), and what is left for them went on; "
                "looking again would cost twice what was paid."
            )
        self._used.append(how)
