"""The shipped sketches as machines with few states, enumerated exactly: the law of a state from the law that
the stream draws from, updates by the sketch's own arithmetic, answers by the law that its own answer draws
from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp
from typing import Any, ClassVar

import numpy as np

from penstock.audit.pan_privacy import Machine, clamped_laplace
from penstock.audit.transcript import Recording, Transcript
from penstock.contracts.sketch import Counters, Setting, Sketch, Updates
from penstock.kinds.stream.buckets import Buckets, DistinctCounter
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.density import Bits, DensityInserts
from penstock.kinds.stream.group import Group, GroupSketch
from penstock.kinds.stream.incidence import Incidence, IncidenceCounter
from penstock.kinds.stream.living import Living
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.laws.modular import OnGroup
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.unit import Relation

Update = tuple[int, int] | None
"""An id and a change; None where the neighbour has an update and this stream has none."""


@dataclass(frozen=True)
class SmallBuckets(Buckets):
    """PP-Bucket with a prime that can be enumerated."""

    prime: ClassVar[int] = 7


@dataclass(frozen=True)
class Small:
    """A sketch small enough to be enumerated, and the shares that it is paid with.

    `values` are how many values a counter may have, `window` where the noise of an answer is cut off: beyond
    all values that are compared the loss is constant.
    """

    living: type[Living[Any]]
    sketch: Sketch
    setting: Setting
    values: int
    question: str = "distinct"
    out: Fraction = Fraction(1)
    window: tuple[int, int] = (-1, 3)
    law: Callable[[Counters], Law[Counters]] | None = None
    known: dict[Any, Mapping[Any, float]] = field(default_factory=dict, compare=False)

    def machine(self) -> Machine:
        """What is shipped."""
        return Machine(self.initial(), self.step, self.answer)

    def initial(self) -> dict[Any, float]:
        """The law of the counters before the first update."""
        blank = self.sketch.blank(self.setting)
        law = self.law(blank) if self.law is not None else self.sketch.noise(self.setting, blank)
        return {
            state: exp(float(law.log_probability(_array(state, blank, wide=blank.dtype != np.bool_))))
            for state in product(range(self.values), repeat=blank.size)
        }

    def step(self, state: Any, update: Update) -> Mapping[Any, float]:
        """Where an update takes the counters."""
        return {state: 1.0} if update is None else self._fed(state, update)

    def _fed(self, state: Any, update: tuple[int, int]) -> Mapping[Any, float]:
        blank = self.sketch.blank(self.setting)
        updates = fed_at_once(update)
        written = Transcript()
        counters = _array(state, blank)
        self.sketch.feed(self.setting, counters, updates, Recording(Randomness.seeded(1), written))
        if not written.draws:
            return {_state(counters): 1.0}
        # a sketch whose updates are random: every outcome of the law that it drew from, at the same places
        (drawn,) = written.draws
        found: dict[Any, float] = {}
        for outcome in product((False, True), repeat=drawn.output.size):
            following = _array(state, blank)
            self.sketch.feed(self.setting, following, updates, _Given(np.array(outcome, dtype=np.bool_)))
            chance = exp(float(drawn.law.log_probability(np.array(outcome, dtype=np.bool_))))
            found[_state(following)] = found.get(_state(following), 0.0) + chance
        return found

    def answer(self, state: Any) -> Mapping[Any, float]:
        """The law of what is told about a state, before it is made an estimate."""
        if state not in self.known:
            self.known[state] = self._told(state)
        return self.known[state]

    def _told(self, state: Any) -> Mapping[Any, float]:
        written = Transcript()
        made = object.__new__(self.living)
        made.sketch = self.sketch
        fed = Fed(_array(state, self.sketch.blank(self.setting)), self.setting)
        budget = Budget(self.out, randomness=Recording(Randomness.seeded(1), written))
        made.asked(fed, self.question, None, budget.rest("answer"))
        (drawn,) = written.draws
        if isinstance(drawn.law, LaplaceAround):
            (value,) = drawn.law.values.tolist()
            return clamped_laplace(int(value), float(drawn.law.scale), *self.window)
        assert isinstance(drawn.law, OnGroup)
        outcomes = product(range(drawn.law.prime), repeat=drawn.law.distances.ndim)
        return {each: exp(float(drawn.law.log_probability(np.array(each)))) for each in outcomes}


class _Given(Randomness):
    """A source that gives out what it was told."""

    def __init__(self, output: Any) -> None:
        super().__init__(None)
        object.__setattr__(self, "_ahead", output)

    def draw(self, law: Law[Any]) -> Any:
        return self._ahead


def _array(state: Any, blank: Counters, wide: bool = False) -> Counters:
    return np.array(state, dtype=np.int64 if wide else blank.dtype).reshape(blank.shape)


def _state(counters: Counters) -> tuple[int, ...]:
    return tuple(int(each) for each in counters.ravel().tolist())


def fed_at_once(*updates: tuple[int, int]) -> Updates:
    """A few updates as a sketch takes them."""
    ids, deltas = zip(*updates, strict=True)
    return Updates(np.array(ids, dtype=np.uint64), np.array(deltas))


def setting(
    relation: Relation, *, ids: int, most: int, key: int = 1, state: Fraction = Fraction(1)
) -> Setting:
    """The public facts of a tiny stream."""
    return Setting(ids, most, relation, key, state)


@cache
def separating_key() -> int:
    """A key under which the first two ids are in different counters of two."""
    sketch = SmallBuckets(width=2)
    for key in range(1, 1000):
        here = setting(Relation.REPLACE, ids=2, most=3, key=key)
        place, _ = sketch.moves(here, fed_at_once((0, 1), (1, 1)))
        if place[0] != place[1]:
            return key
    raise AssertionError("two ids always collide")


def buckets(relation: Relation) -> Small:
    """PP-Bucket: two counters modulo 7."""
    here = setting(relation, ids=2, most=3, key=separating_key())
    return Small(DistinctCounter, SmallBuckets(width=2), here, 7)


def incidence(relation: Relation) -> Small:
    """PP-Incidence: two ids, counters modulo 7."""
    return Small(IncidenceCounter, Incidence(), setting(relation, ids=2, most=6), 7, window=(-3, 3))


def group(norm: str = "l0") -> Small:
    """Algorithm 7 in a group: five ids, two rows modulo 7."""
    sketch = Group(prime=7, rows=2, norm=norm)  # type: ignore[arg-type]  # one of the words, as the caller says
    return Small(GroupSketch, sketch, setting(Relation.REPLACE, ids=5, most=1), 7)


def bits() -> Small:
    """The insert-only baseline: two bits."""
    here = setting(Relation.ADD_REMOVE, ids=2, most=1)
    return Small(DensityInserts, Bits(), here, 2, "density")


STREAMS: Mapping[Relation, tuple[tuple[tuple[Update, ...], tuple[Update, ...]], ...]] = {
    Relation.REPLACE: (
        (((0, 1), (0, 1)), ((1, 1), (0, 1))),
        (((0, 1), (1, 1)), ((1, 1), (1, 1))),
        (((0, 1), (0, -1)), ((1, 1), (1, -1))),
    ),
    Relation.ADD_REMOVE: (
        (((0, 1), (1, 1)), (None, (1, 1))),
        (((1, 1), (0, 1)), ((1, 1), None)),
        (((0, 1), (0, 1)), (None, None)),
    ),
}
"""Neighbouring streams: an update moves to another id; all updates of an id vanish."""


def inserts() -> Iterator[tuple[tuple[Update, ...], tuple[Update, ...]]]:
    """Those that only insert."""
    for first, second in STREAMS[Relation.ADD_REMOVE]:
        if all(update is None or update[1] > 0 for update in (*first, *second)):
            yield first, second
