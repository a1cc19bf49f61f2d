"""The mistakes that a method's paper invites: each made on purpose, and replayed on hostile neighbours.

A kind names a method, a ground and its mistakes; from these come the shipped method as a target, which must
stand, and one broken copy for every mistake, which must be refuted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from penstock.audit.hostile import Ground, both_ways, trial
from penstock.audit.replay import Replays, Tampering
from penstock.audit.target import Kind, Promise, Target
from penstock.privacy.unit import Relation


@dataclass(frozen=True)
class Mistakes:
    """Mistakes in one method, by name: in words, and as what is tampered with.

    `shipped` and `summary` name and describe the method as it is; broken copies are called `prefix` and the
    mistake's name.
    """

    method: str
    ground: Ground
    parameters: Mapping[str, Any]
    shipped: str
    summary: str
    prefix: str
    made: Mapping[str, tuple[str, Tampering]]

    def replayed(self, tampering: Tampering, number: int, seed: int) -> Replays:
        """All hostile pairs of the ground, with one mistake made."""
        relation = Relation.ADD_REMOVE
        made = trial(
            self.ground, self.method, relation, 2, parameters=dict(self.parameters), tampering=tampering
        )
        found = Replays()
        for place, pair in enumerate(self.ground.pairs(relation)):
            more, _ = both_ways(made, self.ground, relation, pair, seed + place)
            found = found + more
        return found

    def targets(self) -> tuple[Target, ...]:
        """The method as it is, and with each of the mistakes."""
        shipped = Target(
            self.shipped,
            Kind.SHIPPED,
            Promise(Fraction(1)),
            self.summary,
            (),
            replays=partial(self.replayed, Tampering()),
            effort=0.001,
        )
        broken = (
            replace(
                shipped,
                name=f"{self.prefix}-{name}",
                kind=Kind.BROKEN,
                summary=f"{self.method}: {words}",
                replays=partial(self.replayed, tampering),
            )
            for name, (words, tampering) in self.made.items()
        )
        return shipped, *broken
