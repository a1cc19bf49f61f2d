"""How single columns are looked at first, under exact audit: in which detail, and which of them together.

Into how many groups a fine column is counted follows from the noisy number of records
(`penstock.kinds.table.confluence.columns`). The exact side enumerates that number and what the shipped code
makes of it; the broken copy makes the same of the exact number. Whether single codes stand out of such
columns is one noisy number, the sum of their largest counts; the broken copies state the bound of one column
for two, and of one record for two. Small columns are counted in one table: its loss is the distance of two
neighbouring tables of counts in units of the noise that is stated for them, and the broken copies state too
little for a replaced record and for a user of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from penstock.audit import exact
from penstock.audit.exact import Distribution
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.table.audits.yes_no import Records, yes_no_table
from penstock.kinds.table.confluence.columns import Largest, blocks, detail
from penstock.kinds.table.confluence.tiers import PureTier
from penstock.kinds.table.network.encoding import encoded
from penstock.kinds.table.network.parents import Parent
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Schema

ADDED, REPLACED = Promise(Fraction(1)), Promise(Fraction(1), relation=Relation.REPLACE)
WINDOW = (-40, 80)
BINS = Schema.from_yaml(
    "fields: [{name: age, type: integer, constraints: {minimum: 0, maximum: 63}, bins: {count: 64}}]"
)


@dataclass(frozen=True)
class Detail:
    """The number of groups in which 64 bins are counted; with `exactly` it follows the exact number."""

    exactly: bool = False

    def law(self, records: Records) -> Distribution:
        if self.exactly:
            return Distribution({groups_for(len(records)): 0.0})
        known = exact.discrete_laplace(len(records), float(1 / ADDED.epsilon), WINDOW)
        return known.through(groups_for)

    def run(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        sealed = yes_no_table(records, 1, Relation.ADD_REMOVE).size()
        found = []
        for _ in range(n):
            tier = PureTier(Budget(ADDED.epsilon, randomness=randomness))
            told = tier.number(sealed, "number of records", Fraction(1))
            found.append(groups_for(len(records) if self.exactly else told))
        return found


@cache
def groups_for(records: int) -> int:
    """What the shipped code makes of so many records, each of which would alone be buried in noise."""
    attributes = BINS.attributes
    found = detail(attributes, [False], 0.2 / max(1, records))[0]
    return attributes[0].size if found is None else found.size


@dataclass(frozen=True)
class LargestOfTwo:
    """The largest counts of two columns added up, as the shipped code seals them."""

    promise: Promise = ADDED
    at_most: int | None = None
    stated: Callable[[Sensitivity], Sensitivity] = lambda known: known

    def loss(self, first: Records, second: Records) -> float:
        """The largest loss of noise on that number."""
        (one, moves), (two, _) = map(self._sum, (first, second))
        return float(abs(one - two) * self.promise.epsilon / moves)

    def _sum(self, records: Records) -> tuple[int, Fraction]:
        table = yes_no_table(records, 2, self.promise.relation, self.at_most)
        sealed = Largest(table, table.attributes).sealed()
        return int(open_seal(sealed)[0]), self.stated(sealed.sensitivity).l1


@dataclass(frozen=True)
class CountedAsOne:
    """The tables in which three yes/no columns are counted, as the shipped code arranges them."""

    promise: Promise = ADDED
    at_most: int | None = None
    stated: Callable[[Sensitivity], Sensitivity] = lambda known: known

    def loss(self, first: Records, second: Records) -> float:
        """The largest loss of noise on all of these tables, which share the budget evenly."""
        known = [self._counts(records) for records in (first, second)]
        return sum(
            float(np.abs(one - two).sum() * self.promise.epsilon / moves) / len(known[0])
            for (one, moves), (two, _) in zip(*known, strict=True)
        )

    def _counts(self, records: Records) -> list[tuple[NDArray[np.int64], Fraction]]:
        table = yes_no_table(records, 3, self.promise.relation, self.at_most)
        variables = encoded("vanilla", table.attributes).variables
        sizes = [variable.sizes for variable in variables]
        views = blocks([Parent(number) for number in range(3)], sizes, PureTier.power)
        sealed = table.counts(
            [tuple(variables[part.variable].column(part.level) for part in view.parts) for view in views]
        )
        return [(open_seal(one), self.stated(one.sensitivity).l1) for one in sealed]


def targets() -> tuple[Target, ...]:
    """The shipped looks, and their broken copies."""
    more = tuple(Pair(((0,),) * few, ((0,),) * (few + 1)) for few in range(1, 30))
    bits = tuple(tuple(int(bit) for bit in place) for place in np.ndindex(2, 2, 2))
    added, replaced = (
        small_pairs(bits, 2, promise.relation, smallest=1, most=60) for promise in (ADDED, REPLACED)
    )
    users = tuple(
        Pair(((*other, 0),), ((*other, 0), (*record, 1), (*record, 1))) for other in bits for record in bits
    )
    of_two = tuple(np.ndindex(2, 2))
    alike, swapped = (
        small_pairs(of_two, 3, promise.relation, smallest=1, most=60) for promise in (ADDED, REPLACED)
    )
    persons = tuple(Pair(((0, 0, 0),), ((0, 0, 0), (*record, 1), (*record, 1))) for record in of_two)
    return (
        _loss("confluence-largest", "the largest counts of two columns added up", LargestOfTwo(), alike),
        _loss("confluence-largest-replace", "the same of a replaced record", LargestOfTwo(REPLACED), swapped),
        _loss(
            "confluence-largest-users", "the same of users of two records", LargestOfTwo(at_most=2), persons
        ),
        _loss(
            "broken-confluence-largest-of-one",
            "the bound of one column for two",
            LargestOfTwo(stated=lambda known: known.scaled(Fraction(1, 2))),
            alike,
        ),
        _loss(
            "broken-confluence-largest-single-record",
            "users with two records, stated for one",
            LargestOfTwo(at_most=2, stated=lambda known: known.scaled(Fraction(1, 2))),
            persons,
        ),
        _detail("confluence-detail", "the groups of a fine column, by the noisy number", Detail(), more),
        _detail(
            "broken-confluence-detail-from-records",
            "the groups of a fine column, by the exact number of records",
            Detail(exactly=True),
            more,
        ),
        _loss("confluence-together", "three yes/no columns in one table", CountedAsOne(), added),
        _loss(
            "confluence-together-replace",
            "the same when a record is replaced",
            CountedAsOne(REPLACED),
            replaced,
        ),
        _loss(
            "confluence-together-users", "the same for users of two records", CountedAsOne(at_most=2), users
        ),
        _loss(
            "broken-confluence-together-replace",
            "a replaced record, stated as if it only came or went",
            CountedAsOne(REPLACED, stated=lambda known: known.scaled(Fraction(1, 2))),
            replaced,
        ),
        _loss(
            "broken-confluence-together-single-record",
            "users with two records, stated for one",
            CountedAsOne(at_most=2, stated=lambda known: known.scaled(Fraction(1, 2))),
            users,
        ),
    )


def _kind(name: str) -> Kind:
    return Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED


def _detail(name: str, summary: str, step: Detail, pairs: Sequence[Pair]) -> Target:
    return Target(name, _kind(name), ADDED, summary, pairs, run=step.run, distribution=step.law, effort=0.02)


def _loss(name: str, summary: str, step: LargestOfTwo | CountedAsOne, pairs: Sequence[Pair]) -> Target:
    return Target(name, _kind(name), step.promise, summary, pairs, loss=step.loss, effort=0.02)
