"""The private steps of confluence that are its own: enumerated, run, and broken one at a time.

Noise on counts is audited as a mechanism. What confluence adds is a score, the gap of a pair or of a
triple, among which it makes noisy choices (`penstock.kinds.table.confluence.gaps`). Here they are made on
tiny tables of two to four yes/no columns against a public expectation. The exact side opens the seals of the
shipped code and takes the stated sensitivity from it; the sampled side calls that code.

The broken copies make the mistakes that would be easy to make: a gap that is compared with the exact
one-way counts, a price that follows the exact number of records, the price of scores that all move alike, a
user with two records treated like one.

What is paid in rho has no epsilon of its own. A choice by the exponential mechanism costs an eighth of the
square of the range of its losses; its loss here is that cost over the rho that was paid, and may not exceed
one. Where pairs that make a tree were counted first, the others are chosen by gaps from what these counts
pass on; the broken copy passes on the exact ones. Triples are chosen by gaps from what noisy counts of their
pairs say; in the broken copy they are exact. The noisy sum of all gaps, which says whether all pairs are
counted, is enumerated like the choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import log

import numpy as np
from numpy.typing import NDArray

from penstock.audit import exact
from penstock.audit.exact import Distribution
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.table.audits.yes_no import Records, yes_no_table
from penstock.kinds.table.confluence.gaps import Gaps, choose
from penstock.kinds.table.confluence.implied import implied, of_three
from penstock.kinds.table.confluence.tiers import PureTier
from penstock.kinds.table.network.encoding import encoded
from penstock.kinds.table.network.parents import ParentSet
from penstock.privacy.budgets.accounting import range_of
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]

ADDED, REPLACED = Promise(Fraction(1)), Promise(Fraction(1), relation=Relation.REPLACE)
BITS = ((0, 0), (0, 1), (1, 0), (1, 1))
THREE_BITS = tuple((a, *rest) for a in (0, 1) for rest in BITS)
FOUR_BITS = tuple((a, *rest) for a in (0, 1) for rest in THREE_BITS)
THIRDS = ((0, 1, 0, 1),) * 5 + ((0, 0, 1, 0),) * 4 + ((1, 0, 0, 0),)
ALIKE = ((0, 0, 0),) * 9
SLACK = Fraction(1, 10**6)
WINDOW = (-40, 60)
CELL_PRICE = 0.25  # a table of four cells costs 1
NOISY = np.array([[3.0, 1.0], [1.0, 3.0]])


@dataclass(frozen=True)
class Step:
    """The gaps of all pairs of yes/no columns, or of more `ways`, as the shipped code seals them, with room
    for a mistake.

    `expected` gives the table that a pair is compared with, `price` what a cell costs, `luck` how much
    stopping is worth; all are public in the shipped method and get the records here, so that a broken copy
    can follow them. `stated` changes the sensitivity that is stated, `stated_sum` that of the sum of all
    gaps; a choice is made as if it were paid `share` times what it is.
    """

    columns: int
    promise: Promise = ADDED
    at_most: int | None = None
    ways: int = 2
    expected: Callable[..., Counts] = lambda records, *some: 2 * np.eye(2, dtype=np.int64)
    price: Callable[[Records], float] = lambda records: CELL_PRICE
    luck: Callable[[Records], float] = lambda records: 0.0
    stated: Callable[[Sensitivity], Sensitivity] = lambda sensitivity: sensitivity
    stated_sum: Callable[[Sensitivity], Sensitivity] = lambda sensitivity: sensitivity
    share: Fraction = Fraction(1)

    def gaps(self, records: Records) -> tuple[Gaps, Sealed[Counts]]:
        table = yes_no_table(records, self.columns, self.promise.relation, self.at_most)
        variables, sets = encoded("vanilla", table.attributes).variables, range(self.columns)
        gaps = Gaps(table, variables, [0] * self.columns, list(combinations(sets, self.ways)))
        sealed = gaps.of_all({some: self.expected(records, *some) for some in gaps.sets})
        return gaps, sealed.claim(
            lambda whole: whole,
            self.stated(sealed.sensitivity),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        )

    # A choice among the pairs, or none -----------------------------------------------------------------

    def choice_law(self, records: Records) -> Distribution:
        _, sealed = self.gaps(records)
        gaps = open_seal(sealed) - round(2**self.ways * self.price(records))
        luck = self.luck(records) * log(len(gaps)) * float(sealed.sensitivity.spread / self.promise.epsilon)
        scores = [*gaps.tolist(), round(luck)]
        return exact.permute_and_flip(scores, float(self.promise.epsilon / sealed.sensitivity.spread))

    def choices(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        gaps, sealed = self.gaps(records)
        places: dict[ParentSet, int] = {pair: place for place, pair in enumerate(gaps.candidates)}
        found = []
        for _ in range(n):
            chosen = choose(
                sealed,
                gaps.candidates,
                [variable.sizes for variable in gaps.variables],
                PureTier(Budget(self.promise.epsilon, randomness=randomness)),
                most=1,
                share=Fraction(1),
                scale=self.price(records),
                caution=1.0,
                luck=self.luck(records),
            )
            found.append(places[chosen[0]] if chosen else len(places))
        return found

    # The same, paid in rho -----------------------------------------------------------------------------

    def cost_in_rho(self, first: Records, second: Records) -> float:
        """What a choice costs, of the rho that it is paid: from the exact scores of both."""
        (_, sealed), (_, other) = self.gaps(first), self.gaps(second)
        rho = Budget(self.promise.epsilon, SLACK).concentrated("choice").rho
        moved = [*(open_seal(sealed) - open_seal(other)).tolist(), 0]
        losses = (max(moved) - min(moved)) * range_of(rho * self.share) / sealed.sensitivity.spread
        return float(losses**2 / 8 / rho)

    # The sum of all gaps -------------------------------------------------------------------------------

    def sum_law(self, records: Records) -> Distribution:
        gaps, sealed = self.gaps(records)
        whole = gaps.together(sealed)
        stated = self.stated_sum(whole.sensitivity)
        scale = float(stated.l1 / self.promise.epsilon)
        return exact.discrete_laplace(int(open_seal(whole)[0]), scale, WINDOW)

    def sums(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        gaps, sealed = self.gaps(records)
        whole = gaps.together(sealed)
        stated = whole.claim(
            lambda value: value,
            self.stated_sum(whole.sensitivity),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        )
        budget = partial(Budget, self.promise.epsilon, randomness=randomness)
        return [int(noise.counts(stated, pay=budget())[0]) for _ in range(n)]


def targets() -> tuple[Target, ...]:
    """The shipped steps, and their broken copies."""
    two, three, four = partial(Step, 2), partial(Step, 3), partial(Step, 4, ways=3, expected=sided)
    users, users_of_four = _users(THREE_BITS), _users(FOUR_BITS)[::4]
    return (
        _choice("confluence-choice", "a choice among the gaps of three pairs", three()),
        _choice("confluence-choice-replace", "the same when a record is replaced", three(REPLACED)),
        _choice("confluence-choice-users", "the same for users of two records", three(at_most=2), users),
        _choice(
            "confluence-choice-luck", "the same where stopping is worth more", three(luck=lambda records: 1.0)
        ),
        _choice(
            "broken-confluence-luck-from-records",
            "stopping is worth more where there are more records",
            three(luck=lambda records: 2.0 * len(records)),
        ),
        _choice(
            "broken-confluence-expected-from-records",
            "gaps from what the exact one-way counts expect",
            two(expected=independence),
        ),
        _choice(
            "broken-confluence-price-from-records",
            "gaps minus a price that follows the exact number of records",
            two(price=lambda records: CELL_PRICE * len(records)),
        ),
        _choice(
            "broken-confluence-monotone-gaps",
            "the price of scores that all move alike, for gaps that do not",
            three(stated=lambda known: Sensitivity.scores(known.linf, candidates=3, monotone=True)),
        ),
        _choice(
            "broken-confluence-single-record",
            "gaps of users with two records, stated for one",
            three(at_most=2, stated=lambda known: known.scaled(Fraction(1, 2))),
            users,
        ),
        _in_rho("confluence-choice-rho", "a choice among three gaps, paid in rho", three()),
        _in_rho("confluence-choice-rho-replace", "the same when a record is replaced", three(REPLACED)),
        _in_rho("confluence-choice-rho-users", "the same for users of two records", three(at_most=2), users),
        _in_rho(
            "broken-confluence-choice-rho-squared",
            "a choice of the range whose square is 16 times its rho, and not 8 times",
            three(share=Fraction(2)),
        ),
        _in_rho(
            "broken-confluence-choice-rho-monotone",
            "a choice paid in rho as if all gaps moved alike",
            three(stated=lambda known: Sensitivity.scores(known.linf, candidates=3, monotone=True)),
        ),
        _in_rho(
            "broken-confluence-choice-rho-expected",
            "a choice paid in rho among gaps from what the exact one-way counts expect",
            two(expected=independence),
        ),
        _in_rho(
            "confluence-second-choice-rho",
            "a choice among gaps from what a counted tree passes on",
            three(expected=passed_on),
        ),
        _in_rho(
            "confluence-second-choice-rho-replace",
            "the same when a record is replaced",
            three(REPLACED, expected=passed_on),
        ),
        _in_rho(
            "confluence-second-choice-rho-users",
            "the same for users of two records",
            three(at_most=2, expected=passed_on),
            users,
        ),
        _in_rho(
            "broken-confluence-second-choice-rho-expected",
            "gaps from what the exact counts of a tree pass on",
            three(expected=passed_on_exactly),
            (Pair(ALIKE, (*ALIKE, (1, 0, 1)), "nine alike | and one who is not"),),
        ),
        _choice("confluence-triple", "a choice among the gaps of four triples", four()),
        _choice("confluence-triple-replace", "the same when a record is replaced", four(REPLACED)),
        _choice(
            "confluence-triple-users", "the same for users of two records", four(at_most=2), users_of_four
        ),
        _in_rho("confluence-triple-rho", "a choice among four triples, paid in rho", four()),
        _choice(
            "broken-confluence-triple-expected",
            "gaps of triples from what the exact counts of their pairs say",
            four(expected=sided_exactly),
            (Pair(THIRDS, (*THIRDS, (1, 1, 1, 0)), "three kinds | and somebody who is all of them"),),
        ),
        _choice(
            "broken-confluence-triple-single-record",
            "gaps of triples of users with two records, stated for one",
            four(at_most=2, stated=lambda known: known.scaled(Fraction(1, 2))),
            users_of_four,
        ),
        _sum("confluence-mean-gap", "the sum of the gaps of three pairs", three()),
        _sum("confluence-mean-gap-replace", "the same when a record is replaced", three(REPLACED)),
        _sum("confluence-mean-gap-users", "the same for users of two records", three(at_most=2), users),
        _sum(
            "broken-confluence-mean-gap-of-one",
            "the bound of one gap for the sum of three",
            three(stated_sum=lambda known: known.scaled(Fraction(1, 3))),
        ),
    )


def independence(records: Records, one: int, two: int) -> Counts:
    """What a pair would be if its columns were independent, from the exact counts: not public."""
    sides = [np.bincount([record[place] for record in records], minlength=2) for place in (one, two)]
    return np.rint(np.multiply.outer(*sides) / max(1, len(records))).astype(np.int64)


def passed_on(records: Records, one: int, two: int) -> Counts:
    """What noisy counts of the first column with the second, and of that with the third, expect: public."""
    return _along_tree({(0, 1): NOISY, (1, 2): NOISY}, one, two)


def passed_on_exactly(records: Records, one: int, two: int) -> Counts:
    """The same of the exact counts: not public."""
    tables = {}
    for pair in ((0, 1), (1, 2)):
        tables[pair] = np.zeros((2, 2))
        for record in records:
            tables[pair][record[pair[0]], record[pair[1]]] += 1
    return _along_tree(tables, one, two)


def _along_tree(tables: Mapping[tuple[int, int], Reals], one: int, two: int) -> Counts:
    """By the shipped product along the path; rows without anybody are even."""
    given = {}
    for (first, second), table in tables.items():
        for pair, counts in (((first, second), table), ((second, first), table.T)):
            mass = counts.sum(axis=1, keepdims=True)
            given[pair] = np.divide(counts, mass, out=np.full((2, 2), 0.5), where=mass > 0)
    total = tables[0, 1].sum()
    left, right = tables[0, 1] / total, tables[1, 2] / total
    shares = [left.sum(axis=1), left.sum(axis=0), right.sum(axis=0)]
    expected: Counts = np.rint(total * implied(shares, given)[one, two]).astype(np.int64)
    return expected


def sided(records: Records, *some: int) -> Counts:
    """What noisy counts of its three pairs say of a triple: public."""
    return np.rint(of_three(NOISY, NOISY, NOISY)).astype(np.int64)


def sided_exactly(records: Records, *some: int) -> Counts:
    """The same of the exact counts: not public."""
    tables = []
    for pair in combinations(some, 2):
        tables.append(np.zeros((2, 2)))
        for record in records:
            tables[-1][record[pair[0]], record[pair[1]]] += 1
    return np.rint(of_three(*tables)).astype(np.int64)


def _users(universe: Records) -> tuple[Pair, ...]:
    """Somebody with one record, and somebody else who has two equal ones."""
    return tuple(
        Pair(((*other, 0),), ((*other, 0), (*record, 1), (*record, 1)))
        for other in universe
        for record in universe
    )


def _choice(name: str, summary: str, step: Step, pairs: Sequence[Pair] = ()) -> Target:
    return replace(
        _in_rho(name, summary, step, pairs), loss=None, run=step.choices, distribution=step.choice_law
    )


def _sum(name: str, summary: str, step: Step, pairs: Sequence[Pair] = ()) -> Target:
    return replace(_in_rho(name, summary, step, pairs), loss=None, run=step.sums, distribution=step.sum_law)


def _in_rho(name: str, summary: str, step: Step, pairs: Sequence[Pair] = ()) -> Target:
    universe = {2: BITS, 3: THREE_BITS, 4: FOUR_BITS}[step.columns]
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        step.promise,
        summary,
        pairs or small_pairs(universe, 2, step.promise.relation, smallest=1, most=80),
        loss=step.cost_in_rho,
        effort=0.02,
    )
