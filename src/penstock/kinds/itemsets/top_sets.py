"""The most frequent sets of items, chosen in one shot from all small sets over the frequent items.

Guarantee: pure epsilon for one set added or removed (for one user: as many sets as the schema allows a user).
Why: four looks at the records, whose parts of the budget add up to the whole.

1. *Number of sets*: one noisy count.
2. *Items*, where the universe has more than `items`: so many with the largest supports, in one shot.
3. *Sets of items*: of all sets of up to `longest` of these items, the `k` with the largest supports, in one
   shot, where there are more. Which candidates there are depends on the universe and on the items that step 2
   has made public, never on what occurs together. One set more raises the supports of all candidates that it
   holds by one each; for a choice it matters how far one score moves, and that all move in one direction, not
   how many do.
4. *Supports* of the chosen ones: a set holds k of them at most, or as many as a set of the largest size that
   the schema allows can hold, which is their L1 sensitivity.

Every count is published as it is: it answers for its set, with an error bar, since its noise is drawn after
the choice and knows nothing of it. Synthetic sets are post-processing (`penstock.kinds.itemsets.fitting`):
they have supports as near to the noisy ones as any sets can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, log
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.errors import UsageError
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.fitting import fitting
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.mining import ItemSet
from penstock.kinds.itemsets.top_release import TopSetsRelease
from penstock.kinds.itemsets.writing import refuse_unwritable, universe_of
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise
from penstock.schema import Schema

MOST_ITEMS = 100
LONGEST = 5
MOST_CANDIDATES = 5_000_000
CLEAR = 0.025
"""What the noise of a choice may lift by chance, as a share of all sets, where candidates are left open."""
NUMBER, ITEMS, CHOICE = Fraction(1, 20), Fraction(1, 5), Fraction(1, 3)
"""The shares of the number of sets, and of the two choices in what is left then."""


@dataclass(frozen=True)
class TopSets(Method[ItemSets]):
    """The `k` most frequent sets of up to `longest` items, each with a noisy count of its own.

    At most `items` items are considered: where the universe has more, frequent ones are chosen first. Where
    `items` or `longest` is None, there are as many candidates as chance allows (`considered`).

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, butter, milk]}}
    ... ''')
    >>> baskets = pl.DataFrame({"basket": ["milk"] * 900 + ["milk bread"] * 600})
    >>> sets = ItemSets.open(baskets, schema)
    >>> release = TopSets(k=3).fit(sets, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.top(3)["items"].to_list()
    ['milk', 'bread', 'bread,milk']
    """

    name: ClassVar[str] = "top-sets"

    k: Annotated[int, Whole(1, 1000)] = 50
    longest: Annotated[int | None, Whole(1, LONGEST)] = None
    items: Annotated[int | None, Whole(2, MOST_ITEMS)] = None

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, what could not be written, and too many candidates."""
        refuse_unwritable(schema)
        if not self._options(universe_of(schema)):
            raise UsageError(
                f"There are more than {MOST_CANDIDATES:,} sets of up to {self.longest} of {self.items} items "
                "to compare; lower 'items' or 'longest'. Nothing was spent."
            )

    def _options(self, universe: int) -> list[tuple[int, int]]:
        """How many items may be considered, and how many of them a set may have: all that come into question.

        The k most frequent sets have no more than k different items.
        """
        most = min(universe, self.k, MOST_ITEMS)
        several = {max(1, most * part // 12) for part in (1, 2, 3, 4, 6, 8, 10, 12)}
        items = several if self.items is None else {min(universe, self.items)}
        sizes = range(1, LONGEST + 1) if self.longest is None else (self.longest,)
        found = {(many, min(many, size)) for many in items for size in sizes}
        return sorted(one for one in found if candidates(*one) <= MOST_CANDIDATES)

    def considered(self, universe: int, records: int, epsilon: Fraction, number: int) -> tuple[int, int]:
        """How many items are considered, and how many of them a set has at most, from public numbers.

        Choosing c of n with noise of scale s lifts some candidate by about s ln(n/c). The most candidates
        are taken for which that is a small share of the noisy number of sets, for items and for sets of
        them; where there are none, those for which it is the least.
        """
        left = float(epsilon * (1 - NUMBER)) / records

        def lifted(option: tuple[int, int]) -> float:
            items, sets = option[0], candidates(*option)
            before = items / (left * float(ITEMS)) * log(universe / items) if items < universe else 0.0
            share = float(CHOICE * (1 if items == universe else 1 - ITEMS))
            return max(before, self.k / (left * share) * log(sets / self.k) if sets > self.k else 0.0)

        options = self._options(universe)
        clear = [option for option in options if lifted(option) <= CLEAR * number]
        return max(clear, key=lambda one: candidates(*one)) if clear else min(options, key=lifted)

    def fit(self, sets: ItemSets, budget: Budget) -> TopSetsRelease:
        """Choose items, then sets of them, and count these; spends the whole budget."""
        self.ready(sets, budget)
        epsilon = budget.left[0]
        for_number, rest = budget.split(number=NUMBER, sets=1 - NUMBER)
        number_deviation = noise.standard_deviation(sets.size().sensitivity.l1, for_number.left[0])
        number = int(np.asarray(noise.counts(sets.size(), pay=for_number))[0])
        items = list(range(len(sets.universe)))
        many, longest = self.considered(len(items), sets.schema.unit.records, epsilon, number)
        if len(items) > many:
            for_items, rest = rest.split(items=ITEMS, sets=1 - ITEMS)
            items = sorted(choice.best_several(sets.lattice(items, 1), many, for_items))
        places = list(range(candidates(many, longest)))
        if len(places) > self.k:
            for_choice, rest = rest.split(choice=CHOICE, counts=1 - CHOICE)
            places = sorted(choice.best_several(sets.lattice(items, longest), self.k, for_choice))
        chosen = [candidate(place, items) for place in places]
        sealed = sets.lattice(items, longest, places)
        deviation = noise.standard_deviation(sealed.sensitivity.l1, rest.left[0])
        supports = np.asarray(noise.counts(sealed, pay=rest))
        surer, largest = deviation / max(number_deviation, 1e-9), ItemSetLayout.of(sets.schema).largest
        found, empty = fitting(chosen, supports, number, surer, largest)
        return TopSetsRelease(
            method=self.name,
            schema=sets.schema,
            parameters={
                "k": self.k,
                "longest": self.longest,
                "items": self.items,
                "used_longest": longest,
                "used_items": many,
            },
            receipt=budget.receipt(sets.schema.unit, sets.relation),
            chosen=tuple(chosen),
            supports=supports,
            deviation=deviation,
            counted=number,
            number_deviation=number_deviation,
            sets=found,
            empty=empty,
        )


def candidates(items: int, longest: int) -> int:
    """How many sets of 1 to `longest` of so many items there are.

    >>> candidates(3, 2)
    6
    """
    return sum(comb(items, size) for size in range(1, longest + 1))


def candidate(place: int, items: Sequence[int]) -> ItemSet:
    """The candidate of a place: smaller sets first, and those of one size in the order of the items.

    >>> [candidate(place, [2, 5, 7]) for place in range(6)]
    [(2,), (5,), (7,), (2, 5), (2, 7), (5, 7)]
    """
    size = 1
    while place >= comb(len(items), size):
        place -= comb(len(items), size)
        size += 1
    chosen: list[int] = []
    for position, item in enumerate(items):
        if len(chosen) == size:
            break
        holding = comb(len(items) - position - 1, size - len(chosen) - 1)
        if place < holding:
            chosen.append(item)
        else:
            place -= holding
    return tuple(chosen)
