"""Every sketch of the catalogue as it is shipped, looked into once and told: the largest loss of both.

A stream and its neighbour are run through the stream's own code, from opening to answers. Whatever noise the
first began with, the second begins with the same; then, at the moment of the look, its counters are made
those of the first, as one of its own noises would have made them. How much likelier the first was to show
counters is the loss of the look: the largest over all counters, from the laws of both around what was fed.
From there on the second is given the answers of the first, and the loss of an answer is the largest over all
that could have been told, from the laws of both. If the second then says anything else than the first,
something was told without noise; and counters that begin with anything but drawn noise hide nothing: either
is an infinite loss. Which moment is looked at goes through all of them.

The sum bounds the loss of looking and hearing together. What the counters were when an answer was given is
chosen by chance: of sums no loss depends on it, and sketches of residues are enumerated besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf
from typing import Any

import numpy as np

from penstock import catalogue
from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.audit.transcript import Recording, Replaying, Transcript
from penstock.catalogue import SketchInfo
from penstock.contracts.sketch import Counters
from penstock.kinds.stream.audits import mistakes
from penstock.kinds.stream.audits.machines import STREAMS, Update
from penstock.kinds.stream.living import Living, living_class
from penstock.kinds.stream.paying import Seed
from penstock.kinds.stream.tree import Stepped
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.laws.modular import OnGroup, TwoLevels
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.unit import Relation
from penstock.schema import Schema

_SEEDS = 2
_IDS, _MOST = 5, 3
Make = Callable[..., Living[Any]]


@cache
def _tiny(kind: str, unit: str, relation: Relation) -> Schema:
    return Schema.from_yaml(
        f"{{kind: {kind}, unit: {{protects: {unit}}}, relation: {relation.value}, "
        f"stream: {{ids: {_IDS}, most: {_MOST}}}}}"
    )


@dataclass
class Run:
    """A stream that is being fed, and the noise that its counters began with."""

    living: Living[Any]
    began: Counters

    @classmethod
    def opened(cls, make: Make, info: SketchInfo, relation: Relation, seed: Seed) -> Run:
        """With epsilon 1 for its counters, and 1 for each answer; for both together where it has steps."""
        schema, asked = _tiny(info.kind, info.unit, relation), len(info.questions)
        if living_class(info.name).sketch_class.ahead:
            living = make(schema, epsilon=1, seed=seed)
        else:
            share = Fraction(1, 1 + asked)
            living = make(schema, epsilon=1 + asked, answers=asked, state_share=share, seed=seed)
        return cls(living, np.array(living.seized(), dtype=np.int64))

    def feed(self, update: Update) -> None:
        """Feed one update, or none."""
        if update is not None:
            self.living.update([update[0]], [update[1]], seed=1)

    def step(self, seed: Seed) -> Counters | None:
        """End a step, where there are steps; what the intervals that begin have begun with."""
        if not isinstance(self.living, Stepped):
            return None
        self.living.step(seed=seed)
        fresh = self.living.sketch.over(len(self.living.history))
        self.began[fresh] = self.living.seized()[fresh]
        begun: Counters = self.began[fresh]
        return begun

    def is_noise(self, began: Counters | None, drawn: Transcript) -> bool:
        """Whether counters have begun with the noise that their sketch says, and that was drawn for them."""
        if began is None:
            return True
        law = self.living.sketch.noise(self.living.setting, np.zeros_like(began))
        return any(
            each.public == law.public and np.array_equal(np.asarray(each.output), began)
            for each in drawn.draws
        )

    @property
    def told(self) -> tuple[list[tuple[float, float]], list[int]]:
        """All that was told until now, and what the book keeps of it."""
        return [(each.value, each.error) for each in self.living.history], self.living.book.own

    def around(self) -> Counters:
        """What was fed, without the noise."""
        moved: Counters = self.living.seized().astype(np.int64) - self.began
        return moved


def seen_and_told(
    make: Make,
    info: SketchInfo,
    relation: Relation,
    first: Sequence[Update],
    second: Sequence[Update],
    look: int,
    seed: int,
) -> float:
    """The largest loss of what is seen after `look` updates, and of all that is told."""
    begun, told, again = Transcript(), Transcript(), Transcript()
    one = Run.opened(make, info, relation, Recording(Randomness.seeded(seed), begun))
    other = Run.opened(make, info, relation, Replaying(begun, Transcript()))
    watched, given = Recording(Randomness.seeded(seed + 1000), told), Replaying(told, again)
    lost = 0.0 if one.is_noise(one.began, begun) else inf
    for time in range(len(first) + 1):
        if time:
            one.feed(first[time - 1])
            other.feed(second[time - 1])
        if time == look:
            laws = [run.living.sketch.noise(run.living.setting, run.around()) for run in (one, other)]
            lost += largest_loss(*laws)
            np.copyto(other.living.seized(), one.living.seized())
        if time:
            fresh = one.step(watched)
            other.step(given)
            lost = lost if one.is_noise(fresh, told) else inf
    if not one.living.sketch.ahead:
        for question, needs in info.questions.items():
            at = None if needs is None else 1
            one.living.answer(question, at, seed=watched)
            other.living.answer(question, at, seed=given)
    if one.told != other.told:  # the same draws, and not the same words: something was told without noise
        return inf
    return lost + sum(
        largest_loss(was.law, is_now.law) for was, is_now in zip(told.draws, again.draws, strict=True)
    )


def largest_loss(one: Law[Any], other: Law[Any]) -> float:
    """Over all outputs of two laws of the same shape; in both directions, as all of these are symmetric.

    >>> one, other = (LaplaceAround(np.array([3, value]), Fraction(2)) for value in (4, 7))
    >>> largest_loss(one, other)
    1.5
    """
    if one.public != other.public:
        return inf
    if isinstance(one, LaplaceAround) and isinstance(other, LaplaceAround):
        return float(Fraction(int(np.abs(one.values - other.values).sum())) / one.scale)
    if isinstance(one, TwoLevels) and isinstance(other, TwoLevels):
        return float(int(np.count_nonzero((one.shifts - other.shifts) % one.prime)) * one.epsilon)
    if isinstance(one, OnGroup) and isinstance(other, OnGroup):
        places = tuple(range(one.distances.ndim))
        here, there = (np.roll(law.distances, law.around % law.prime, axis=places) for law in (one, other))
        return float(int(np.abs(here - there).max()) * one.rate)
    raise TypeError(f"nobody has said yet how much {type(one).__name__} can lose")


def loss_of(make: Make, info: SketchInfo, relation: Relation) -> Callable[[Any, Any], float]:
    """The largest loss over all moments of the look."""

    def loss(first: Sequence[Update], second: Sequence[Update]) -> float:
        return max(
            seen_and_told(make, info, relation, first, second, look, seed)
            for look in range(len(first) + 1)
            for seed in range(_SEEDS)
        )

    return loss


def neighbours(info: SketchInfo, relation: Relation) -> Iterator[Pair]:
    """An update of the largest weight, in every place, that moves or vanishes; ids may have two of them."""
    for place in range(3):
        first: list[Update] = [(2, 1), (3, 2), (2, 1)]
        second = list(first)
        first[place], second[place] = (0, _MOST), (1, _MOST) if relation is Relation.REPLACE else None
        yield Pair(first, second)
    if info.unit == "id":
        yield from (Pair(*pair) for pair in STREAMS[relation])


def target(
    name: str, kind: Kind, summary: str, info: SketchInfo, relation: Relation, make: Make | None = None
) -> Target:
    """A sketch of the catalogue, or a broken copy of one."""
    paid = 1 if living_class(info.name).sketch_class.ahead else 1 + len(info.questions)
    return Target(
        name,
        kind,
        Promise(Fraction(paid), relation=relation),
        summary,
        list(neighbours(info, relation)),
        loss=loss_of(make or living_class(info.name), info, relation),
    )


def targets() -> Iterator[Target]:
    """All sketches whose updates draw nothing, under every relation; and copies with a mistake each."""
    for info in catalogue.sketches():
        if not living_class(info.name).sketch_class.draws:
            for name in info.relations:
                summary = "looked into once and told, as it is shipped"
                yield target(f"{info.name}-seen-{name}", Kind.SHIPPED, summary, info, Relation(name))
    for which, mistake, summary, relation, make in mistakes.SUMS:
        name, info = f"broken-{which}-{mistake}", catalogue.sketch(which)
        yield target(name, Kind.BROKEN, f"{which}: {summary}", info, relation, make)
