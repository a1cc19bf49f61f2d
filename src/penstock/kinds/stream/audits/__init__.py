"""Audits of streams: sketches of a few states, enumerated exactly, together with what an intruder sees.

Each target is a machine: its claim is the state share plus the share of one answer, and its loss the largest
over all moments of the look and of the answer. Besides, every sketch of the catalogue is looked into as it is
shipped (`looks`); sums of whole numbers without end only so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache

from penstock.audit.methods import Audits
from penstock.audit.neighbours import Pair
from penstock.audit.pan_privacy import Machine, joint_loss
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.stream.audits import box, looks, machines, mistakes
from penstock.kinds.stream.audits.machines import STREAMS, Small, Update
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
    return [*found, *looks.targets()]


AUDITS = Audits(proofs=lambda: tuple(_targets()))
