"""The noisy strength of a table's dependence under exact audit, and the mistakes that would be easy to make.

The exact side opens the seal of the shipped code and takes the stated sensitivity from it; the sampled side
calls that code. A table whose columns agree, one rare value on each side, is where a further record moves
the distance from independence furthest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.audit import exact
from penstock.audit.exact import Distribution
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.table.audits.yes_no import Records, yes_no_table
from penstock.kinds.table.confluence.dependence import Dependence
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Counts = NDArray[np.int64]

ADDED, REPLACED = Promise(Fraction(1)), Promise(Fraction(1), relation=Relation.REPLACE)
WINDOW = (-60, 160)


@dataclass(frozen=True)
class Step:
    """The strongest tree of yes/no columns, as the shipped code seals it, with room for a mistake.

    With `of_all` it is the sum over all pairs. `stated` changes the sensitivity that is stated.
    """

    columns: int
    promise: Promise = ADDED
    at_most: int | None = None
    of_all: bool = False
    stated: Callable[[Sensitivity], Sensitivity] = lambda known: known

    def sealed(self, records: Records) -> Sealed[Counts]:
        table = yes_no_table(records, self.columns, self.promise.relation, self.at_most)
        dependence = Dependence(table, table.attributes)
        found = dependence.together() if self.of_all else dependence.sealed()
        return found.claim(
            lambda whole: whole,
            self.stated(found.sensitivity),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        )

    def law(self, records: Records) -> Distribution:
        """The noisy sum at the scale of the stated sensitivity; the mean is the sum over a public number."""
        sealed = self.sealed(records)
        scale = float(sealed.sensitivity.l1 / self.promise.epsilon)
        return exact.discrete_laplace(int(open_seal(sealed)[0]), scale, WINDOW)

    def run(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        sealed = self.sealed(records)
        return [
            int(noise.counts(sealed, pay=Budget(self.promise.epsilon, randomness=randomness))[0])
            for _ in range(n)
        ]


def targets() -> tuple[Target, ...]:
    """The shipped step, and its broken copies."""
    agreeing, three = _agreeing(2), _agreeing(3)
    users = _agreeing(2, of_each=2)
    replaced = tuple(Pair(pair.second, (*pair.second[:-1], (0, 0))) for pair in agreeing)
    return (
        _target("confluence-dependence", "the distance of a pair from independence", Step(2), agreeing),
        _target("confluence-dependence-three", "the strongest tree of three columns", Step(3), three),
        _target(
            "confluence-dependence-replace", "the same when a record is replaced", Step(2, REPLACED), replaced
        ),
        _target(
            "confluence-dependence-users", "the same for users of two records", Step(2, at_most=2), users
        ),
        _target(
            "confluence-dependence-of-all", "all pairs of three columns added up", Step(3, of_all=True), three
        ),
        _target(
            "broken-confluence-dependence-as-gap",
            "the bound of a gap from a public expectation, for a distance from the records' own",
            Step(2, stated=lambda known: known.scaled(Fraction(1, 4))),
            agreeing,
        ),
        _target(
            "broken-confluence-dependence-of-one",
            "the bound of one pair for a tree of two",
            Step(3, stated=lambda known: known.scaled(Fraction(1, 2))),
            three,
        ),
        _target(
            "broken-confluence-dependence-of-all",
            "the bound of a tree of two pairs for the sum of three",
            Step(3, of_all=True, stated=lambda known: known.scaled(Fraction(2, 3))),
            three,
        ),
        _target(
            "broken-confluence-dependence-single-record",
            "users with two records, stated for one",
            Step(2, at_most=2, stated=lambda known: known.scaled(Fraction(1, 2))),
            users,
        ),
    )


def _agreeing(columns: int, of_each: int | None = None) -> tuple[Pair, ...]:
    """Many records of zeros and a few of ones, and one unit of ones more."""
    found = []
    for rest in (1, 2, 5, 40):
        for ones in (0, 1, 2):
            few = ((0,) * columns,) * rest + ((1,) * columns,) * ones
            if of_each is None:
                found.append(Pair(few, (*few, (1,) * columns)))
            else:
                told = tuple((*record, number) for number, record in enumerate(few))
                found.append(Pair(told, (*told, *((*(1,) * columns, len(few)),) * of_each)))
    if of_each is None:
        universe = tuple(np.ndindex(*(2,) * columns))
        found += small_pairs(universe, 2, Relation.ADD_REMOVE, smallest=1, most=40)
    return tuple(found)


def _target(name: str, summary: str, step: Step, pairs: Sequence[Pair]) -> Target:
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        step.promise,
        summary,
        pairs,
        run=step.run,
        distribution=step.law,
        effort=0.02,
    )
