"""DiffPart: sets of items, told apart step by step along a public tree of items.

All sets begin in one part. A part is divided by which members of one of its groups of items the sets meet;
sub-parts with a noisy count above a threshold are divided further, and where nothing is left to tell apart
the noisy count of that very set is released. Combinations that do not occur are treated exactly like those
that do, and only those of them that noise lifts above the threshold are ever made (`privacy.laws.passing`).

Guarantee: pure epsilon for one set added or removed (for one user: as many sets as the schema allows a user).
Why: a set follows one chain of parts (`privacy.mechanisms.chains`). Half of epsilon guides the way: a part
gives an equal share of what is left of this half to each of the operations that its sets may still need, and
spends one. What is not needed is left for the count at the end of the chain, together with the other half,
so that every chain spends exactly epsilon. The tree, its fan-out, the thresholds and the choice of the group
depend on nothing but what is public. Thresholds are whole numbers, and so is the noise.

With `recover`, a share of epsilon pays for the sizes of all sets and the supports of all items
(`penstock.kinds.itemsets.supports`), and the rest for the above; what pruning lost is then filled in.

Reference: R. Chen, N. Mohammed, B. C. M. Fung, B. C. Desai and L. Xiong, "Publishing set-valued data via
differential privacy" (PVLDB 2011). The text of the paper contradicts its examples about the last count; the
default follows the examples, `leaves="two-stage"` the text. Its threshold factor of "slightly more than 1"
lets empty combinations breed without end once groups have more than three members, so that the default grows
with the fan-out. That it be tried out on the records, as the paper suggests, would not be private.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Whole
from penstock.errors import UsageError
from penstock.kinds.itemsets.data import Division, ItemSets, Part
from penstock.kinds.itemsets.item_tree import LARGEST_FAN_OUT, Cut, ItemTree, Operation
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.release import SetsRelease
from penstock.kinds.itemsets.supports import Sizes, Supports, gathered, holding, shortened, spread
from penstock.kinds.itemsets.weighted import Found, WeightedSets
from penstock.kinds.itemsets.writing import refuse_unwritable
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.chains import Chain, least_above, threshold_factor
from penstock.progress import progress
from penstock.schema import Schema

FALSE_PARTS = 0.0366
"""Expected number of empty sub-parts that pass in one operation on groups of items."""
FALSE_SETS = 10.46
"""Expected number of sets that do not occur and pass in one operation that makes sets whole."""
MOST_PARTS = 200_000
WIDEST_CHOICE = 12
"""The exponential mechanism has to score every choice of members."""


def part_factor(fan_out: int) -> Fraction:
    """C2: the factor of the threshold of a sub-part, so that empty ones do not breed whatever the fan-out.

    >>> [float(part_factor(fan_out)) for fan_out in (2, 4, 8, 10)]
    [2.63, 3.76, 5.77, 6.75]
    """
    return threshold_factor(2**fan_out - 1, FALSE_PARTS)


def set_factor(fan_out: int) -> Fraction:
    """C1: the factor of the threshold of a whole set, at least 1.

    >>> [float(set_factor(fan_out)) for fan_out in (2, 8, 10)]
    [1.0, 1.77, 2.75]
    """
    return max(Fraction(1), threshold_factor(2**fan_out - 1, FALSE_SETS))


@dataclass(frozen=True)
class DiffPart(Method[ItemSets]):
    """Sets of items with noisy counts, found by dividing parts of the records along a tree of items.

    `fan_out` is the largest number of members of a group, and `c1` and `c2` are the factors of the thresholds
    of whole sets and of parts (None: what the public rule gives for the fan-out). `leaves` says whether a
    whole set is counted at once or tested like a part first. `allocation` is how an operation gets its
    share: of what remains, or of the beginning; `keeping` whether sub-parts are kept by a threshold or
    drawn by the exponential mechanism. No more than `most_parts` parts are divided, in the order in
    which they were found, the largest groups first. `recover` is the share of the budget that counts all
    sets and items beside, so that what was dropped comes back as sets of items that go together by chance.

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
    >>> release = DiffPart().fit(sets, Budget(1, randomness=Randomness.seeded(1)))
    >>> 1400 < release.count("milk").value < 1600
    True
    """

    name: ClassVar[str] = "diffpart"

    fan_out: Annotated[int, Whole(2, LARGEST_FAN_OUT)] = 10
    c1: Annotated[Amount | None, Exact(least=Fraction(1, 100), most=1000)] = None
    c2: Annotated[Amount | None, Exact(least=Fraction(1, 100), most=1000)] = None
    leaves: Literal["direct", "two-stage"] = "direct"
    allocation: Literal["remaining", "equal"] = "remaining"
    keeping: Literal["threshold", "exponential"] = "threshold"
    most_parts: Annotated[int, Whole(1, 10_000_000)] = MOST_PARTS
    recover: Annotated[Amount, Exact(least=0, most=Fraction(9, 10))] = 0

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, and what the sets could not be written with."""
        refuse_unwritable(schema)
        if self.keeping == "exponential" and self.fan_out > WIDEST_CHOICE:
            raise UsageError(
                f"keeping 'exponential' scores every choice of members of a group; set fan_out to at most "
                f"{WIDEST_CHOICE}, not {self.fan_out}. Nothing was spent."
            )

    def fit(self, sets: ItemSets, budget: Budget) -> SetsRelease:
        """Divide parts until sets are whole or too few, and count those; spends the whole budget."""
        self.ready(sets, budget)
        tree = ItemTree.declared(sets.schema, self.fan_out)
        c1 = set_factor(self.fan_out) if self.c1 is None else exact(self.c1, "c1")
        c2 = part_factor(self.fan_out) if self.c2 is None else exact(self.c2, "c2")
        share = exact(self.recover, "recover")
        for_lost, for_parts = budget.split(lost=share, parts=1 - share) if share else (None, budget)
        chain = Chain.paid(
            for_parts,
            "DiffPart",
            detail=f"fan-out {self.fan_out}, {int(tree.inner[tree.root])} groups of {tree.size} items, "
            f"C1 {float(c1):g}, C2 {float(c2):g}",
        )
        nobody, somebody = chain.apart(2, because="a set has an item of the universe or has none")
        times = sets.schema.unit.records  # a unit of m sets has noise m times as wide, and so are thresholds
        search = _Search(self, tree, somebody.left, times * c1, times * c2)
        found = WeightedSets.of(search.run(sets.everything(tree), somebody), tree.order)
        _, empty = nobody.counted(sets.without_items(), 1)
        if for_lost is not None:
            found = _recovered(found, int(empty.sum()), sets, for_lost)
        return SetsRelease(
            method=self.name,
            schema=sets.schema,
            parameters={
                "fan_out": self.fan_out,
                "c1": _written(self.c1),
                "c2": _written(self.c2),
                "leaves": self.leaves,
                "allocation": self.allocation,
                "keeping": self.keeping,
                "most_parts": self.most_parts,
                "recover": str(share),
                "used_c1": float(c1),
                "used_c2": float(c2),
            },
            receipt=budget.receipt(sets.schema.unit, sets.relation),
            sets=found.up_to(ItemSetLayout.of(sets.schema).largest),
            empty=int(empty.sum()),
            divided=search.divided,
            left_out=search.left_out,
        )


@dataclass
class _Search:
    """The way down: parts that wait to be divided, and the whole sets that were found."""

    method: DiffPart
    tree: ItemTree
    epsilon: Fraction
    c1: Fraction
    c2: Fraction
    divided: int = 0
    left_out: int = 0

    def run(self, everything: Part, chain: Chain) -> list[Found]:
        """Divide part after part, those that were found first first.

        All that wait at one time are divided in one pass over the records, where that takes one.
        """
        self._waiting: deque[tuple[Cut, Part, Chain]] = deque()
        self._found: list[Found] = []
        self._queued = 0
        self._go_on((self.tree.root,), everything, chain)
        with progress("dividing parts", total=None) as step:
            while self._waiting:
                now, self._waiting = self._waiting, deque()
                operations = [self._operation(cut, chain) for cut, _, chain in now]
                for (_, part, _), operation in zip(now, operations, strict=True):
                    part.expect(operation)
                for operation in operations:
                    cut, part, chain = now.popleft()  # which lets go of the records of a part
                    self._divide(cut, operation, part.divided(operation), chain)
                    step(1)
        return self._found

    def _operation(self, cut: Cut, chain: Chain) -> Operation:
        """One of the largest groups of a cut, by chance."""
        heights = self.tree.heights[list(cut)]
        highest = [node for node, height in zip(cut, heights, strict=True) if height == heights.max()]
        return Operation(self.tree, cut, highest[chain.any_below(len(highest))])

    def _go_on(self, cut: Cut, part: Part, chain: Chain) -> None:
        """Count what is whole; let the rest wait, unless too many parts do already."""
        if all(node < self.tree.size for node in cut):
            self._count(cut, part, chain)
        elif self._queued < self.method.most_parts:
            self._queued += 1
            self._waiting.append((cut, part, chain))
        else:
            self.left_out += 1

    def _count(self, cut: Cut, part: Part, chain: Chain) -> None:
        _, counts = chain.counted(part.size(), least_above(self.c1, chain.left))
        self._found += [(cut, int(count)) for count in counts]

    def _divide(self, cut: Cut, operation: Operation, division: Division, chain: Chain) -> None:
        self.divided += 1
        share = self._share(cut, chain)
        if self.method.keeping == "exponential":
            self._draw(operation, division, chain, share)
        else:
            self._keep(operation, division, chain, share, int(self.tree.heights[list(cut)].max()))

    def _share(self, cut: Cut, chain: Chain) -> Fraction:
        """What one operation spends: an equal part of the guiding half for each that may still come."""
        if self.method.allocation == "equal":
            return self.epsilon / 2 / int(self.tree.inner[self.tree.root])
        return (chain.left - self.epsilon / 2) / int(self.tree.inner[list(cut)].sum())

    def _keep(
        self, operation: Operation, division: Division, chain: Chain, share: Fraction, height: int
    ) -> None:
        """All sub-parts above the threshold, whether they occur or not."""
        least = least_above(self.c2 * height, share)
        direct = self.method.leaves == "direct"
        for_whole, for_open = chain.apart(2, because="a set meets one choice: a whole one or an open one")
        if operation.whole and direct:
            cells, counts = for_whole.counted(division.whole(), least_above(self.c1, for_whole.left))
            for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
                self._found.append((operation.cut_of(operation.whole_choice(cell)), count))
        elif operation.whole:
            kept = for_whole.passing(division.whole(), least, share)
            self._each(
                [operation.whole_choice(cell) for cell in kept.tolist()], operation, division, for_whole
            )
        if operation.open:
            kept = for_open.passing(division.open(), least, share)
            self._each([operation.open_choice(cell) for cell in kept.tolist()], operation, division, for_open)

    def _draw(self, operation: Operation, division: Division, chain: Chain, share: Fraction) -> None:
        """As many sub-parts as there seem to be, by the exponential mechanism."""
        (number,) = chain.noisy(division.occurring(), share / 2)
        many = min(max(0, int(number)), operation.whole + operation.open)
        chosen = sorted(chain.several(division.every(), many, share / 2)) if many else []
        self._each([place + 1 for place in chosen], operation, division, chain)

    def _each(self, choices: list[int], operation: Operation, division: Division, chain: Chain) -> None:
        chains = chain.apart(len(choices), because="a set meets one choice of the members of a group")
        for choice, below in zip(choices, chains, strict=True):
            self._go_on(operation.cut_of(choice), division.part(choice), below)


def _recovered(found: WeightedSets, empty: int, sets: ItemSets, pay: Budget) -> WeightedSets:
    """The sets that were found, and as many more as seem to lack, with the items that seem to lack."""
    for_sizes, for_supports = pay.split(sizes="1/10", supports="9/10")
    sizes = Sizes.paid(sets, for_sizes)
    likely = Supports.paid(sets, sizes, for_supports).likely()
    lacking = np.maximum(likely - found.supports(len(likely)), 0)
    rows = max(0, round(sizes.number) - found.total - empty)
    spread_out = spread(np.flatnonzero(lacking), lacking[lacking > 0], rows)
    largest = ItemSetLayout.of(sets.schema).largest
    more = WeightedSets.counted(*shortened(*gathered(holding(spread_out, rows)), largest))
    return found.and_those(more)


def _written(amount: Amount | None) -> str | None:
    return None if amount is None else str(exact(amount))
