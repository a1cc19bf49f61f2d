"""The noisy strength of a table's dependence under exact audit, and the mistakes that would be easy to make.

The exact side opens the seal of the shipped code and takes the stated sensitivity from it; the sampled side
calls that code. A table whose columns agree, one rare value on each side, is where a further record moves
the distance from independence furthest. A choice among the distances of single pairs costs most where a
record that comes brings one pair nearer to independence and takes another further away.
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
from penstock.kinds.table.confluence.gaps import choose
from penstock.kinds.table.confluence.tiers import PureTier
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Counts = NDArray[np.int64]

ADDED, REPLACED = Promise(Fraction(1)), Promise(Fraction(1), relation=Relation.REPLACE)
WINDOW = (-60, 160)
CELLS_PRICE = 1  # of a table of four cells


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

    def dependence(self, records: Records) -> Dependence:
        table = yes_no_table(records, self.columns, self.promise.relation, self.at_most)
        return Dependence(table, table.attributes)

    def stating(self, found: Sealed[Counts]) -> Sealed[Counts]:
        return found.claim(
            lambda whole: whole,
            self.stated(found.sensitivity),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        )

    def sealed(self, records: Records) -> Sealed[Counts]:
        dependence = self.dependence(records)
        return self.stating(dependence.together() if self.of_all else dependence.sealed())

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


@dataclass(frozen=True)
class Choice(Step):
    """A choice among the distances of all pairs, or none of them."""

    def law(self, records: Records) -> Distribution:
        sealed = self.stating(self.dependence(records).each)
        scores = (open_seal(sealed) - CELLS_PRICE).tolist()
        return exact.permute_and_flip([*scores, 0], float(self.promise.epsilon / sealed.sensitivity.spread))

    def run(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        dependence = self.dependence(records)
        sealed = self.stating(dependence.each)
        pairs: list[ParentSet] = [(Parent(one), Parent(two)) for one, two in dependence.couples]
        found = []
        for _ in range(n):
            chosen = choose(
                sealed,
                pairs,
                [(2,)] * self.columns,
                PureTier(Budget(self.promise.epsilon, randomness=randomness)),
                most=1,
                share=Fraction(1),
                scale=CELLS_PRICE / 4,
                caution=1.0,
                tree=True,
            )
            found.append(pairs.index(chosen[0]) if chosen else len(pairs))
        return found


def targets() -> tuple[Target, ...]:
    """The shipped step, and its broken copies."""
    agreeing, three, either = _agreeing(2), _agreeing(3), _either_way()
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
            "confluence-distance-choice", "a choice among the distances of three pairs", Choice(3), either
        ),
        _target(
            "broken-confluence-distance-choice-as-gap",
            "a choice among distances by the bound of a gap",
            Choice(3, stated=lambda known: known.scaled(Fraction(1, 4))),
            either,
        ),
        _target(
            "broken-confluence-distance-choice-monotone",
            "a choice among distances as if a record moved all of them alike",
            Choice(3, stated=lambda known: Sensitivity.scores(known.linf, candidates=3, monotone=True)),
            either,
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


def _either_way() -> tuple[Pair, ...]:
    """Somebody who comes takes one pair nearer to independence, and another further away."""
    found = []
    for kinds, more in (
        ({(0, 0, 0): 40, (0, 1, 0): 10, (1, 0, 0): 1, (1, 0, 1): 5, (1, 1, 0): 3}, (1, 1, 1)),
        ({(0, 0, 0): 5, (0, 0, 1): 1, (0, 1, 1): 40, (1, 1, 0): 5, (1, 1, 1): 3}, (1, 0, 0)),
        ({(0, 0, 1): 40, (1, 1, 0): 2}, (1, 1, 1)),
    ):
        few = tuple(record for record, many in kinds.items() for _ in range(many))
        found += [Pair(few, (*few, more)), Pair((*few, more), few)]
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
