"""Audits of clusters: one private round exactly, whole methods on tiny maps, and mistakes to be caught."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, Audits, MethodAudit
from penstock.audit.mistakes import LINE as LONG_LINE
from penstock.audit.mistakes import Mistake, Sabotaged, answered, beside
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.sabotage import changed, stretched
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.points.audits import CORNERS, ENDS, LINE, ON_THE_EDGE, SQUARE
from penstock.kinds.points.data import Points
from penstock.learn.clusters.rounds import weight
from penstock.learn.clusters.unit_box import UnitBox
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Records = Sequence[tuple[Any, ...]]
CENTRES = ((-0.5, 0.0), (0.5, 0.0))
FIVE = "kind: points\nfields:\n" + "".join(
    f"  - {{name: {name}, type: number, constraints: {{minimum: 0, maximum: 1}}}}\n" for name in "abcde"
)
"""As many fields as a projection needs."""
USERS = f"unit: {{protects: user, column: person, at_most: 3}}{SQUARE}"


@dataclass(frozen=True)
class Rounds:
    """Private rounds from fixed centres in a square, all of them made with the same epsilon.

    Each output is a number plus independent discrete Laplace noise, so the largest loss of any outcome is the
    sum of all changes over the scale of the noise, and outcomes beyond both values have it. `scale` changes
    the noise that the sensitivity asks for; `times` is how often the points are looked at for one payment.
    With `stretched` the box is not the declared one, but reaches from the least to the largest value that
    there is.
    """

    schema: str = SQUARE
    epsilon: Fraction = Fraction(1)
    scale: Fraction = Fraction(1)
    times: int = 1
    stretched: bool = False

    def loss(self, first: Records, second: Records) -> float:
        """The exact loss of all rounds together."""
        one, two = (self.sealed(records) for records in (first, second))
        moved = int(np.abs(open_seal(one) - open_seal(two)).sum())
        return float(self.times * self.epsilon * moved / (one.sensitivity.l1 * self.scale))

    def sealed(self, records: Records) -> Sealed[Any]:
        """Numbers and sums around the centres, as a round sees them."""
        opened = _opened(self.schema, records, scaled=self.stretched)
        box = UnitBox.of(opened.schema)
        return opened.around(box.steps(np.array(CENTRES)), weight("optimal", box.dimensions))


@dataclass(frozen=True)
class Spread(Rounds):
    """Sums and sums of products, from which directions are chosen, as a projection sees them."""

    def sealed(self, records: Records) -> Sealed[Any]:
        return _opened(self.schema, records).moments()


def _opened(text: str, records: Records, *, scaled: bool = False) -> Points:
    """The points of a schema; the rows given are those kept, whoever they belong to."""
    import polars as pl

    schema = Schema.from_yaml(text)
    columns = [(name, pl.Float64) for name in schema.names]
    facts = schema.model_copy(update={"unit": type(schema.unit)()})
    frame = pl.DataFrame(list(records), schema=columns, orient="row")
    opened = Points.open(stretched(schema, frame) if scaled else frame, facts)
    opened.schema = schema
    return opened


def proofs() -> tuple[Target, ...]:
    """Rounds and directions as they are shipped, for records and users, and mistakes to be found."""
    corners = ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.5, 0.5))
    pairs = small_pairs(corners, largest=3, relation=Relation.ADD_REMOVE, most=60)
    joined = [
        Pair(tuple(some), (*some, *[corner] * 3), f"{len(some)} and three of {corner}")
        for some in ((), corners)
        for corner in corners
    ]
    right, together = Rounds(), Rounds(USERS)
    return (
        _target("kmeans-round", "one round of noisy numbers and sums", right, pairs),
        _target("kmeans-round-users", "one round when a user has up to three points", together, joined),
        _target(
            "broken-kmeans-round-users-as-records",
            "noise for one point where a user has three",
            replace(together, scale=Fraction(1, 3)),
            joined,
        ),
        _target(
            "broken-kmeans-sums-without-r",
            "the noise of sums is that of a box half as wide, as printed for other boxes than -1 to 1",
            replace(right, scale=Fraction(1, 2)),
            pairs,
        ),
        _target(
            "broken-kmeans-restarts-on-the-data",
            "three starts on the points themselves, each with the whole budget",
            replace(right, times=3),
            pairs,
        ),
        _target(
            "broken-kmeans-bounds-from-data",
            "the box reaches from the least to the largest value that there is",
            replace(right, stretched=True),
            [Pair(CROWD, (*CROWD, (1.0, 1.0)), "one point far away from a crowd")],
        ),
        _target("kmeans-directions", "noisy sums and sums of products of coordinates", Spread(), pairs),
        _target(
            "broken-kmeans-directions-one-entry",
            "the noise of one product for all of them",
            Spread(scale=Fraction(1, 5)),
            pairs,
        ),
        _target(
            "kmeans-directions-users", "the same when a user has up to three points", Spread(USERS), joined
        ),
        _target(
            "broken-kmeans-directions-users-as-records",
            "directions with the noise for one point where a user has three",
            Spread(USERS, scale=Fraction(1, 3)),
            joined,
        ),
        Target(
            "broken-kmeans-directions-read-exactly",
            Kind.BROKEN,
            Promise(Fraction(1)),
            "the directions in which points spread most are looked up without noise",
            (Pair(APART, (*APART, (1.0, 0.0, 1.0, 0.0, 1.0)), "one point more turns the directions"),),
            run=_exact_directions,
            effort=0.02,
        ),
        Target(
            "broken-kmeans-number-read-exactly",
            Kind.BROKEN,
            Promise(Fraction(1)),
            "the size of the grid follows from the number of points without noise",
            (Pair(MANY, (*MANY, (0.9,)), "one point more makes a finer grid"),),
            run=_exact_number,
            effort=0.02,
        ),
    )


def _target(name: str, summary: str, rounds: Rounds, pairs: Sequence[Pair]) -> Target:
    kind = Kind.BROKEN if name.startswith("broken-") else Kind.SHIPPED
    return Target(name, kind, Promise(rounds.epsilon), summary, pairs, loss=rounds.loss)


CROWD = ((0.0, 0.0), *[(0.1, 0.1)] * 6)
"""Who comes from far away moves everybody in the box of the others."""

MANY = ((0.1,),) * 18
"""With one point more, epsilon 1 and a grid alone, there are two cells instead of one."""

GRID_ALONE = MethodAudit("kmeans", LINE, ENDS, parameters={"k": 1, "preset": "eugkm"}, label="cells-alone")


APART = ((0.0,) * 5, (1.0,) * 5)
ALONG = MethodAudit(
    "kmeans",
    FIVE,
    APART,
    parameters={"k": 1, "projection": "paid", "starts": 1},
    label="paid-directions",
    effort=0.005,
    copies=(),
)


def _exact_directions(records: Records, randomness: Any, n: int) -> list[Any]:
    """Releases whose directions follow from moments without noise."""
    return ALONG.run(records, randomness, n, lens=_without_noise_on("moments"))


def _exact_number(records: Records, randomness: Any, n: int) -> list[Any]:
    """Releases whose number of points has no noise."""
    return GRID_ALONE.run(records, randomness, n, lens=_without_noise_on("size"))


def _without_noise_on(which: str) -> Callable[[Any], Any]:
    """A data handle that claims that one of its values cannot change."""

    def claimed(name: str, value: Sealed[Any]) -> Sealed[Any]:
        if name != which:
            return value
        return value.claim(
            lambda whole: whole,
            Sensitivity.of(0),
            because="it does not hold: a wrong proof on purpose, for an audit to refute",
        )

    return lambda data: changed(data, claimed)


SABOTAGED = (
    Sabotaged("gupt-kmeans", Mistake.SCALED, LONG_LINE, parameters={"k": 1}),
    Sabotaged(
        "privgene-kmeans",
        Mistake.SCALED,
        LONG_LINE,
        parameters={"k": 1, "rounds": 1},
        epsilon=Fraction(4),
        seeds=2,
    ),
)
HALVED = "broken-replay-sensitivity-halved"
RANGE = "whatever a block finds, the range of its outputs bounds it"
MEANS = "centres are means, which nothing holds back"
MISTAKES = {
    "kmeans": answered(
        "broken-kmeans-bounds-from-data",
        MEANS,
        "each round is paid for, and their number is public",
        "broken-kmeans-round-users-as-records",
    ),
    "gupt-kmeans": answered("broken-gupt-kmeans-scaled", RANGE, RANGE, HALVED),
    "privgene-kmeans": answered(
        "broken-privgene-kmeans-scaled",
        MEANS,
        "each choice is paid for, and the number of rounds is public",
        HALVED,
    ),
}

AUDITS = Audits(
    (
        MethodAudit(
            "kmeans",
            SQUARE,
            CORNERS,
            parameters={"k": 2, "preset": "dplloyd", "rounds": 1},
            effort=0.01,
            copies=CRUDE,
        ),
        MethodAudit("kmeans", SQUARE, CORNERS, parameters={"most_k": 3}, label="chosen-k", copies=()),
        replace(GRID_ALONE, copies=()),
        ALONG,
        MethodAudit("gupt-kmeans", LINE, ENDS, parameters={"k": 1}, effort=0.01, copies=("fixed-seed",)),
        MethodAudit(
            "privgene-kmeans", LINE, ENDS, parameters={"k": 1, "rounds": 1}, effort=0.005, copies=CRUDE
        ),
    ),
    beside(proofs, SABOTAGED),
    grounds=(
        Ground("two clusters", SQUARE, ON_THE_EDGE, parameters={"k": 2}),
        Ground("five fields", FIVE, ((0.0,) * 5, (1.0,) * 5), parameters={"k": 1}),
        Ground("one centre on a line", LINE, ((0.0,), (1.0,)), parameters={"k": 1, "rounds": 1}),
    ),
    mistakes=MISTAKES,
)
