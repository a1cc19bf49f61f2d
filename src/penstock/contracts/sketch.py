"""What every sketch of a stream offers: the law of its counters, how updates move them, and what may be
asked.

A kind whose records are not kept is living: there is no handle to open and no `fit` that reads them once.
There are counters that begin as noise, which is paid for, and move with every update. A sketch is the
algorithm, a frozen dataclass of declared parameters; what pays, keeps books and writes files is the living
release around it, which is the same for all of them. The promise of each is pan-privacy: whoever sees the
counters at one moment, together with all answers before and after, learns no more about one unit than the
charges say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.parameters import Declared
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Counters = NDArray[Any]
NORMAL_95 = 1.96
"""So many standard errors on either side are the bar of an answer."""
LAPLACE_95 = 2.1183
"""The same where the error may be a single Laplace one: ln 20 / sqrt 2. For sums of them it is enough."""


@dataclass(frozen=True)
class Setting:
    """All that is public about a stream once it is open, besides the parameters of its sketch.

    `ids` is how many ids there may be, `most` the largest total of one of them, `key` what hashes are made
    of, `state` the epsilon that the counters' noise was paid with, and `drawn` how often it was drawn: once,
    and again after every intrusion that was announced.
    """

    ids: int
    most: int
    relation: Relation
    key: int
    state: Fraction
    drawn: int = 1

    @property
    def touched(self) -> int:
        """How many ids differ between neighbours: updates that move from one to another touch two."""
        return 2 if self.relation is Relation.REPLACE else 1


PIECE = 1 << 15
"""So many updates at a time stay in the processor's own memory."""


@dataclass(frozen=True)
class Updates:
    """Ids, and how much is added to the total of each; for the length of a call, and no longer."""

    ids: NDArray[np.uint64]
    deltas: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.ids.size)

    def those(self, which: slice | NDArray[np.bool_]) -> Updates:
        """Some of them."""
        return Updates(self.ids[which], self.deltas[which])

    def pieces(self) -> Iterator[Updates]:
        """All of them, a few at a time."""
        for start in range(0, len(self), PIECE):
            yield self.those(slice(start, start + PIECE))


@dataclass(frozen=True)
class Estimate:
    """What the counters say to a question, made of noisy numbers alone; `deviation` is its standard error.

    `conservative` says that the deviation is an upper bound, not an estimate.
    """

    value: float
    deviation: float
    text: str
    conservative: bool = False


@dataclass(frozen=True)
class Sketch(Declared, ABC):
    """How a stream is remembered: parameters, noise, updates.

    `mechanism` names the noise of its counters on the receipt.
    """

    name: ClassVar[str]
    mechanism: ClassVar[str]
    redrawable: ClassVar[bool] = True
    """Whether noise can be drawn anew on top of the old."""
    ahead: ClassVar[bool] = False
    """Whether all answers are paid for when the stream is opened."""
    draws: ClassVar[bool] = False
    """Whether feeding draws noise of its own."""
    trusts_totals: ClassVar[bool] = False
    """Whether the guarantee, and not only accuracy, rests on the largest total that the schema states."""
    numbered: ClassVar[bool] = False
    """Whether ids are whole numbers below the public number of them, and no texts."""
    largest_state: ClassVar[Fraction | None] = None
    """The largest epsilon that its counters can be paid with, where there is one."""

    @property
    def weighed(self) -> bool:
        """Whether the weight of the whole stream is kept beside the counters; where it is public."""
        return False

    def check(self, schema: Schema) -> None:
        """Refuse what cannot work for streams of this schema; costs nothing."""

    @abstractmethod
    def blank(self, setting: Setting) -> Counters:
        """The counters of an empty stream without noise: their number and type are public."""

    @abstractmethod
    def noise(self, setting: Setting, around: Counters) -> Law[Counters]:
        """The law of the counters around what was fed: the state share of epsilon pays for one draw."""

    @abstractmethod
    def feed(self, setting: Setting, counters: Counters, updates: Updates, source: Randomness) -> None:
        """Move the counters, in place, by these updates. Nothing else may remember them."""

    def holds(self, setting: Setting) -> bool:
        """Whether counters have room for the noise that is paid for: tiny budgets want noise without end."""
        return True

    def plausible(self, setting: Setting, counters: Counters) -> bool:
        """Whether these can be counters of the sketch; asked of files that nobody vouches for."""
        return True
