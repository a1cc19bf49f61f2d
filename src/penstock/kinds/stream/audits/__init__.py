"""Audits of streams: sketches of a few states, enumerated exactly, together with what an intruder sees.

Each target is a machine: its claim is the state share plus the share of one answer, and its loss the largest
over all moments of the look and of the answer. Sketches whose states are whole numbers without end are
audited by the exact loss of the laws that they draw from, which add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from penstock.audit.methods import Audits
from penstock.audit.neighbours import Pair
from penstock.audit.pan_privacy import Machine, joint_loss
from penstock.audit.target import Kind, Promise, Target
from penstock.audit.transcript import Recording, Transcript
from penstock.contracts.sketch import Setting
from penstock.kinds.stream.audits import box, machines, mistakes
from penstock.kinds.stream.audits.machines import STREAMS, Small, Update
from penstock.kinds.stream.continual import Intervals
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.moments import SecondMoment, Signs
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation

Streams = Iterable[tuple[Sequence[Update], Sequence[Update]]]


def enumerated(
    name: str,
    kind: Kind,
    summary: str,
    make: Callable[[], Machine],
    relation: Relation,
    streams: Streams,
    answers: int = 1,
) -> Target:
    """A machine under audit: what it loses to somebody who looks once and hears one answer."""
    made = cache(make)

    def loss(first: Sequence[Update], second: Sequence[Update]) -> float:
        return joint_loss(made(), first, second, answers=answers, before=kind is Kind.SHIPPED)

    pairs = [Pair(first, second) for first, second in streams]
    return Target(name, kind, Promise(Fraction(1 + answers), relation=relation), summary, pairs, loss=loss)


def _shipped(
    name: str, summary: str, small: Callable[[], Small], relation: Relation, streams: Streams
) -> Target:
    return enumerated(name, Kind.SHIPPED, summary, lambda: small().machine(), relation, streams)


def _broken(
    name: str, summary: str, make: Callable[[], Machine], relation: Relation, streams: Streams
) -> Target:
    sketch = name.removeprefix("broken-")
    whose = next(each for each in _NAMES if sketch.startswith(each))
    return enumerated(name, Kind.BROKEN, f"{whose}: {summary}", make, relation, streams)


_NAMES = ("pp-bucket", "pp-incidence", "l2-sketch", "continual-counter", "group-sketch", "density-inserts")

MOVES = STREAMS[Relation.REPLACE]
VANISHES = STREAMS[Relation.ADD_REMOVE]


def _targets() -> list[Target]:
    found = []
    for relation, streams in STREAMS.items():
        found += [
            _shipped(
                f"pp-bucket-{relation.value}",
                "state and answer of two counters modulo 7, together",
                lambda here=relation: machines.buckets(here),  # type: ignore[misc]
                relation,
                streams,
            ),
            _shipped(
                f"pp-incidence-{relation.value}",
                "state and answer of two ids modulo 7, together",
                lambda here=relation: machines.incidence(here),  # type: ignore[misc]
                relation,
                streams,
            ),
        ]
    found += [
        _shipped(
            "group-sketch",
            "state and answer of two rows modulo 7",
            machines.group,
            Relation.REPLACE,
            MOVES[:2],
        ),
        _shipped(
            "density-inserts",
            "state and answer of two bits",
            machines.bits,
            Relation.ADD_REMOVE,
            tuple(machines.inserts()),
        ),
        _rows("l2-sketch", Kind.SHIPPED, "the laws of state and answer of three rows", SMALL_ROWS),
        _rows(
            "broken-l2-sketch-one-row",
            Kind.BROKEN,
            "l2-sketch: the noise is for one row",
            SMALL_ROWS,
            understated=3,
        ),
        _steps("continual-counter", Kind.SHIPPED, "all intervals of four steps, open and over", 1),
        _steps(
            "broken-continual-counter-one-level",
            Kind.BROKEN,
            "continual-counter: the noise is for one level",
            3,
        ),
    ]
    for mistake, summary, make in (
        ("no-fresh-noise", "answers have no noise of their own", mistakes.without_fresh_noise),
        (
            "not-halved",
            "the noise of the state is for one id, where neighbours touch two",
            mistakes.not_halved,
        ),
        ("answered-for-one", "the noise of an answer is for one id", mistakes.answered_for_one),
        ("kept-generator", "the generator's state stays in memory", mistakes.kept_generator),
        ("kept-checkpoint", "an older state stays on the disk", mistakes.kept_checkpoint),
        ("buffered", "updates wait in memory", mistakes.buffered),
        ("never-reduced", "sums are not reduced modulo the prime", mistakes.never_reduced),
    ):
        found.append(
            _broken(
                f"broken-pp-bucket-{mistake}",
                summary,
                lambda make=make: make(machines.buckets(Relation.REPLACE)),  # type: ignore[misc]
                Relation.REPLACE,
                MOVES,
            )
        )
    found += [
        _broken(
            "broken-pp-incidence-kept-generator",
            "the generator's state stays in memory",
            lambda: mistakes.kept_generator(machines.incidence(Relation.REPLACE)),
            Relation.REPLACE,
            MOVES,
        ),
        _broken(
            "broken-pp-incidence-answered-for-one",
            "the noise of an answer is for one id",
            lambda: mistakes.answered_for_one(machines.incidence(Relation.REPLACE)),
            Relation.REPLACE,
            MOVES,
        ),
        enumerated(
            "broken-group-sketch-box",
            Kind.BROKEN,
            "group-sketch: noise from a box, as Algorithm 7 is printed, seen once and never asked",
            box.machine,
            Relation.REPLACE,
            MOVES[:1],
            answers=0,
        ),
        _broken(
            "broken-density-inserts-doubled",
            "a bit that occurred tells twice as much",
            lambda: mistakes.doubled_bias(machines.bits()),
            Relation.ADD_REMOVE,
            tuple(machines.inserts()),
        ),
    ]
    return found


SMALL_ROWS = Setting(5, 2, Relation.REPLACE, key=3, state=Fraction(1))


def _rows(name: str, kind: Kind, summary: str, setting: Setting, understated: int = 1) -> Target:
    """The L2 sketch: the loss of the state, whose law the stream draws from, plus that of an answer's law."""
    sketch = Signs(rows=3)

    def told(moved: int, laws: list[LaplaceAround]) -> None:
        written = Transcript()
        made = object.__new__(SecondMoment)
        made.sketch = sketch
        budget = Budget(1, randomness=Recording(Randomness.seeded(1), written))
        counters = sketch.moves(setting, np.array([moved], dtype=np.uint64), np.array([setting.most]))
        state = sketch.noise(setting, counters)
        assert isinstance(state, LaplaceAround)
        made.asked(Fed(counters, setting), "second-moment", None, budget.rest("answer"))
        (drawn,) = written.draws
        assert isinstance(drawn.law, LaplaceAround)
        laws += [state, drawn.law]

    def loss(first: int, second: int) -> float:
        ones: list[LaplaceAround] = []
        others: list[LaplaceAround] = []
        told(first, ones)
        told(second, others)
        return sum(
            float(abs(one.values - other.values).sum() / (one.scale / understated))
            for one, other in zip(ones, others, strict=True)
        )

    pairs = [Pair(first, second) for first in range(setting.ids) for second in range(first)]
    return Target(name, kind, Promise(Fraction(2), relation=setting.relation), summary, pairs, loss=loss)


def _steps(name: str, kind: Kind, summary: str, understated: int) -> Target:
    """The tree: an event is in one interval of each level, open until it is over and then published."""
    sketch = Intervals(steps=4)
    setting = Setting(5, 1, Relation.ADD_REMOVE, key=3, state=Fraction(1))

    def loss(first: int, second: int) -> float:
        """For an event in one step: over how many intervals it spreads, open at once and published in all."""
        counters = [sketch.blank(setting) for _ in range(2)]
        sketch.feed(setting, counters[0], np.zeros(1, dtype=np.uint64), np.array([1]), Randomness.seeded(1))
        scale = sketch.scale(setting, setting.state) / understated
        seen = float(abs(counters[0] - counters[1]).sum() / scale)
        published = sum(
            any(level in sketch.over(at) for at in range(first, 5)) for level in range(sketch.levels)
        )
        return seen + float(published / (sketch.scale(setting, Fraction(1)) / understated))

    pairs = [Pair(step, 0, f"an event in step {step} | none") for step in range(1, 5)]
    return Target(name, kind, Promise(Fraction(2)), summary, pairs, loss=loss)


AUDITS = Audits(proofs=lambda: tuple(_targets()))
