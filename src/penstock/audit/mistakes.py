"""Four mistakes that are easy to make in a learner, and where each of them is made on purpose.

A learner is private because of what it bounds: records by public ranges, minima by a regulariser, what is
computed by a solver that has converged, and both of the records in which two neighbours differ. The audits of
a room say for every learner and every one of these which deliberately broken copy makes it, all of them
refuted by an exact loss, or why it cannot be made (`Audits.mistakes`). A test holds them to the catalogue and
to the estimators, so that a new learner without its row is noticed.

Two of the four can be made from outside a method, the same in all of them (`Sabotaged`): records that were
scaled by the smallest and the largest of them before they are opened, and a handle that states what one
record does where two differ. The others are made in the audits of their rooms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import Any

from penstock.audit.neighbours import Pair
from penstock.audit.replay import NONE, Tampering, Trial, replay
from penstock.audit.sabotage import stretched, understated
from penstock.audit.target import Kind, Promise, Target
from penstock.schema import Relation, Schema


class Mistake(StrEnum):
    """What somebody did wrong."""

    SCALED = "normalisation from the records"
    UNHELD = "regulariser ignored"
    UNCONVERGED = "unconverged solver"
    ONE_OF_TWO = "one of two records bounded"


COLOUR = "  - {name: colour, constraints: {enum: [red, green, blue]}}\n"
LARGE = "  - {name: large, constraints: {enum: ['yes', 'no']}}\n"
RENT = "  - {name: rent, type: number, constraints: {minimum: 0, maximum: 8}, bins: {count: 8}}\n"
AGE = "  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 10}}\n"
LABELS, COLOURS = (f"target: large\nfields:\n{column}{LARGE}" for column in (AGE, COLOUR))
NUMBERS, RENTS = (f"target: rent\nfields:\n{column}{RENT}" for column in (AGE, COLOUR))
LINE = "kind: points\nfields:\n  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}\n"

TWO_EACH = "unit: {protects: user, column: person, at_most: 2}\n"

CROWD = 20
TOGETHER: Mapping[str, Sequence[tuple[Any, ...]]] = {
    LABELS: ((0, "yes"), *((1, "yes"),) * CROWD, *((3, "no"),) * CROWD),
    NUMBERS: ((0, 0.5), *((1, 1.5),) * CROWD),
    LINE: ((0.0,), *((0.1,),) * CROWD),
}
"""Records near one end of a range: who comes from the other end moves all that were scaled by them."""
ALONE: Mapping[str, tuple[Any, ...]] = {COLOURS: ("red", "yes"), RENTS: ("red", 0.5)}
FAR: Mapping[str, tuple[Any, ...]] = {
    LABELS: (9, "no"),
    NUMBERS: (9, 7.5),
    LINE: (1.0,),
    COLOURS: ("blue", "no"),
    RENTS: ("blue", 7.5),
}
ONE = Fraction(1)


@dataclass(frozen=True)
class Sabotaged:
    """A whole method on a small table, with one mistake made from outside, and what its transcripts lose.

    Each is recorded on one side and replayed on the other (`penstock.audit.replay`), so that the loss of
    what was published is exact. `users` has a unit of two records where the method knows no replacing.
    """

    method: str
    mistake: Mistake
    schema: str = LABELS
    parameters: Mapping[str, Any] = field(default_factory=dict)
    epsilon: Fraction = ONE
    users: bool = False
    seeds: int = 20

    @property
    def name(self) -> str:
        done = "scaled" if self.mistake is Mistake.SCALED else "one-record"
        return f"broken-{self.method}-{done}"

    @property
    def relation(self) -> Relation:
        swapped = self.mistake is Mistake.ONE_OF_TWO and not self.users
        return Relation.REPLACE if swapped else Relation.ADD_REMOVE

    @property
    def wrong(self) -> Tampering:
        if self.mistake is Mistake.SCALED:
            return Tampering(frame=stretched)
        return Tampering(data=partial(understated, factor=Fraction(1, 2)))

    def pairs(self) -> tuple[Pair, ...]:
        far = FAR[self.schema]
        if self.mistake is Mistake.SCALED:
            some = TOGETHER[self.schema]
            return (Pair(_units(some), _units((*some, far)), "one from far away joins a crowd"),)
        if self.users:
            return (Pair((), ((far, far),), "nobody | a user with two records"),)
        one = ALONE[self.schema]
        return (Pair(_units((one,)), _units((far,)), "alone, and replaced by another"),)

    def loss(self, first: Sequence[Any], second: Sequence[Any], *, sound: bool = False) -> float:
        """The largest exact loss of a few transcripts, either way; `sound` leaves the mistake out."""
        text = f"{TWO_EACH}{self.schema}" if self.users else self.schema
        facts = Schema.from_yaml(text).model_dump(by_alias=True, exclude_defaults=True)
        facts["relation"] = self.relation.value
        if self.relation is Relation.REPLACE:
            facts["size"] = len(first)
        schema = Schema.model_validate(facts)
        made = Trial(self.method, schema, self.parameters, epsilon=self.epsilon)
        made = replace(made, tampering=NONE if sound else self.wrong)
        found = [
            replay(made, one, two, seed, rows=False)
            for seed in range(self.seeds)
            for one, two in ((first, second), (second, first))
        ]
        if any(outcome.refused for outcome in found):
            raise AssertionError(f"{self.name}: {found[0].refused}")
        return max(float(outcome.loss) for outcome in found)

    def target(self) -> Target:
        """The copy as something to be audited."""
        done = {
            Mistake.SCALED: "records are scaled by the smallest and the largest value that occurs",
            Mistake.ONE_OF_TWO: "the handle states what one of the two records that differ does",
        }
        return Target(
            self.name,
            Kind.BROKEN,
            Promise(self.epsilon, relation=self.relation),
            f"{self.method}: {done[self.mistake]}",
            self.pairs(),
            loss=self.loss,
        )


def _units(records: Sequence[tuple[Any, ...]]) -> tuple[tuple[tuple[Any, ...], ...], ...]:
    return tuple((record,) for record in records)


def beside(
    own: Callable[[], Sequence[Target]], copies: Sequence[Sabotaged]
) -> Callable[[], Sequence[Target]]:
    """What a room audits by itself, and then the copies that are made from outside."""
    return lambda: (*own(), *(made.target() for made in copies))


def answered(scaled: str, unheld: str, unconverged: str, one_of_two: str) -> Mapping[str, str]:
    """A learner's row: for each mistake the name of the broken copy that makes it, or why there is none."""
    return dict(zip(Mistake, (scaled, unheld, unconverged, one_of_two), strict=True))
