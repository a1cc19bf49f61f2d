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
4. *Supports* of the chosen ones: a set holds k of them at most, which is their L1 sensitivity.

What follows is post-processing: synthetic sets whose supports come as near to the noisy ones as sets of 0 or
more of each kind can, by least squares. The kinds are the chosen sets and the unions of two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.mining import ItemSet
from penstock.kinds.itemsets.release import SetsRelease
from penstock.kinds.itemsets.weighted import WeightedSets
from penstock.kinds.itemsets.writing import refuse_unwritable
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise
from penstock.schema import Schema

MOST_ITEMS = 60
MOST_KINDS = 2000
"""Unions of chosen sets beyond this number are left out, the largest first."""


@dataclass(frozen=True)
class TopSets(Method[ItemSets]):
    """The `k` most frequent sets of up to `longest` items, and synthetic sets that have about their supports.

    At most `items` items are considered: where the universe has more, frequent ones are chosen first.

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
    longest: Annotated[int, Whole(1, 3)] = 3
    items: Annotated[int, Whole(2, MOST_ITEMS)] = 40

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, and what the sets could not be written with."""
        refuse_unwritable(schema)

    def fit(self, sets: ItemSets, budget: Budget) -> SetsRelease:
        """Choose items, then sets of them, and count these; spends the whole budget."""
        self.ready(sets, budget)
        for_number, rest = budget.split(number="1/20", sets="19/20")
        number = int(np.asarray(noise.counts(sets.size(), pay=for_number))[0])
        items = list(range(len(sets.universe)))
        if len(items) > self.items:
            for_items, rest = rest.split(items="1/5", sets="4/5")
            items = sorted(choice.best_several(sets.lattice(items, 1), self.items, for_items))
        candidates = lattice(items, self.longest)
        places = list(range(len(candidates)))
        if len(candidates) > self.k:
            for_choice, rest = rest.split(choice="1/3", counts="2/3")
            places = sorted(choice.best_several(sets.lattice(items, self.longest), self.k, for_choice))
        chosen = [candidates[place] for place in places]
        noisy = np.asarray(noise.counts(sets.lattice(items, self.longest, places), pay=rest))
        found = fitting(chosen, noisy)
        return SetsRelease(
            method=self.name,
            schema=sets.schema,
            parameters={"k": self.k, "longest": self.longest, "items": self.items},
            receipt=budget.receipt(sets.schema.unit, sets.relation),
            sets=found,
            empty=max(0, number - found.total),
            divided=0,
            left_out=0,
        )


def lattice(items: Sequence[int], longest: int) -> list[ItemSet]:
    """All sets of 1 to `longest` of the items, smaller ones first.

    >>> lattice([2, 5, 7], 2)
    [(2,), (5,), (7,), (2, 5), (2, 7), (5, 7)]
    """
    return [one for size in range(1, longest + 1) for one in combinations(items, size)]


def fitting(chosen: Sequence[ItemSet], supports: NDArray[np.integer]) -> WeightedSets:
    """Sets whose supports are near to these: each is a chosen set or a union of two.

    >>> found = fitting([(0,), (1,), (0, 1)], np.array([90, 50, 40]))
    >>> found.supports(2).tolist(), found.total
    ([90, 50], 100)
    """
    from scipy.optimize import nnls

    unions = sorted({tuple(sorted({*one, *two})) for one, two in combinations(chosen, 2)} - set(chosen))
    kinds = [*chosen, *sorted(unions, key=len)[:MOST_KINDS]]
    members = [frozenset(kind) for kind in kinds]
    holds = np.array([[set(one) <= kind for kind in members] for one in chosen], dtype=np.float64)
    weights, _ = nnls(holds, np.maximum(supports, 0).astype(np.float64), maxiter=50 * len(kinds))
    found = [(kind, round(weight)) for kind, weight in zip(kinds, weights.tolist(), strict=True)]
    return WeightedSets.of((kind, weight) for kind, weight in found if weight)
