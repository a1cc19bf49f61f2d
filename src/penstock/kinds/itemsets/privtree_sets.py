"""PrivTree over sets of items: the same parts as DiffPart's, divided for as long as they seem large.

Guarantee: pure epsilon for one set added or removed (for one user: as many sets as the schema allows a user).
Why: dividing by the members of one group at a time, in a public order, makes a tree of parts in which a set
lies on one path, and a part never holds more sets than the one above it. PrivTree decides which parts are
divided (`penstock.privacy.mechanisms.splitting`) with noise that does not grow with the depth, where DiffPart
gives each of the divisions that may come an equal share of its budget. All choices of members become parts,
also empty ones. The parts that are not divided further share no set, so that their counts, and that of the
sets without items, have L1 sensitivity 1 together and get noise of their own.

What follows is post-processing. Counts are made plausible together, so that empty parts stay empty and no
mass is lost. A part that is no single set has some items of each group of its cut; one of each is drawn,
items that are frequent among the single sets more often.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Share, Whole
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.item_tree import Cut, ItemTree
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.release import SetsRelease
from penstock.kinds.itemsets.weighted import Numbers, WeightedSets
from penstock.kinds.itemsets.writing import refuse_unwritable
from penstock.postprocessing import onto_simplex
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.growth import grow
from penstock.privacy.mechanisms.splitting import Constant, Splitter
from penstock.schema import Schema

WIDEST = 5
MOST_PARTS = 300_000
MOST_DRAWN = 100_000
"""So many sets stand for a part that was not divided to its end."""


@dataclass(frozen=True)
class PrivTreeSets(Method[ItemSets]):
    """Sets of items with noisy counts, and parts of similar sets where these are few.

    `fan_out` is the largest number of members of a group, `tree_frac` the share of the budget that decides
    which parts are divided, `theta` and `constant` are PrivTree's; `most_parts` bounds the tree.

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
    >>> release = PrivTreeSets().fit(sets, Budget(1, randomness=Randomness.seeded(1)))
    >>> 1400 < release.count("milk").value < 1600
    True
    """

    name: ClassVar[str] = "privtree-sets"

    fan_out: Annotated[int, Whole(2, WIDEST)] = 2
    tree_frac: Annotated[Amount, Share()] = "1/2"
    theta: Annotated[int, Whole()] = 0
    constant: Constant = "tight"
    most_parts: Annotated[int, Whole(1, 5_000_000)] = MOST_PARTS

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, and what the sets could not be written with."""
        refuse_unwritable(schema)

    def fit(self, sets: ItemSets, budget: Budget) -> SetsRelease:
        """Divide parts, then count those that are left; spends the whole budget."""
        self.ready(sets, budget)
        tree = ItemTree.declared(sets.schema, self.fan_out)
        share = exact(self.tree_frac, "tree_frac")
        for_shape, for_counts = budget.split(parts=share, counts=1 - share)
        splitter = Splitter.paid(
            for_shape,
            fan_out=max(2, (1 << min(self.fan_out, tree.size)) - 1),
            paths=sets.schema.unit.records,
            theta=self.theta,
            constant=self.constant,
            relation=sets.relation,
        )
        deepest = int(tree.inner[tree.root])
        growth = grow(sets.levels(tree), splitter, deepest=deepest, most_nodes=self.most_parts)
        noisy = np.asarray(noise.counts(sets.leaf_counts(growth), pay=for_counts))
        cuts = [
            level.cuts[place]
            for level, leaves in zip(growth.levels, growth.leaves, strict=True)
            for place in leaves.tolist()
        ]
        plausible = _whole(onto_simplex(noisy, float(noisy.sum())))
        return SetsRelease(
            method=self.name,
            schema=sets.schema,
            parameters={
                "fan_out": self.fan_out,
                "tree_frac": str(Fraction(share)),
                "theta": self.theta,
                "constant": self.constant,
                "most_parts": self.most_parts,
                "noise_scale": float(splitter.lam),
                "decay": float(splitter.delta),
            },
            receipt=budget.receipt(sets.schema.unit, sets.relation),
            sets=completed(tree, cuts, plausible[1:]).up_to(ItemSetLayout.of(sets.schema).largest),
            empty=int(plausible[0]),
            divided=int((growth.shape.fans > 0).sum()),
            left_out=0,
        )


def _whole(counts: NDArray[np.float64]) -> Numbers:
    """Counts as whole numbers that have about the same sum, by chance that is the same every time."""
    below = np.floor(counts)
    up = np.random.default_rng(0).random(len(counts)) < counts - below
    whole: Numbers = (below + up).astype(np.int64)
    return whole


def completed(tree: ItemTree, cuts: list[Cut], counts: Numbers) -> WeightedSets:
    """Whole sets for all parts: one item for every node of the cut, frequent items more often."""
    rng = np.random.default_rng(0)
    popular = np.full(tree.size, 1e-3)
    found: Counter[Cut] = Counter()
    unfinished = []
    for cut, count in zip(cuts, counts.tolist(), strict=True):
        if all(node < tree.size for node in cut):
            if count:
                found[tuple(sorted(cut))] += count
                popular[list(cut)] += count
        elif count:
            unfinished.append((cut, count))
    for cut, count in unfinished:
        drawn = min(count, MOST_DRAWN)
        columns = []
        for node in cut:
            low, high = tree.bounds[node]
            chances = popular[low:high] / popular[low:high].sum()
            columns.append(low + rng.choice(high - low, size=drawn, p=chances))
        rows, times = np.unique(np.sort(np.column_stack(columns), axis=1), axis=0, return_counts=True)
        for row, many in zip(rows.tolist(), times.tolist(), strict=True):
            found[tuple(row)] += many * count // drawn
    return WeightedSets.of(found.items(), tree.order)
