"""Confluence: views counted for what they are worth, merged into one Bayesian network.

Our own method, and the default for tables. Its model is that of PrivBayes; how the budget is spent on it, and
how the network is made, is not.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so;
(epsilon, delta) where a delta is given.
Why: every look at the records is one of these, and their parts of the budget add up to the whole. The first
two are paid in epsilon, the others in epsilon or in the rho that the rest of (epsilon, delta) buys (`tiers`).

1. *Number of records*, where it is not public: one noisy count. It decides how the rest is divided.
2. *Dependence*: one noisy number that says how far pairs are from independent along the spanning tree where
   they are furthest (`dependence`). It is not asked for where the noise of a tree of pairs would exceed
   whatever it could say. Where it says too little to be worth that noise, all that is left goes to the
   one-way counts, and the release is one of independent columns.
3. *One-way counts* of every attribute, those of few codes in tables of two or three attributes, fine bins in
   groups where noise would bury them (`columns`): which tables and groups these are follows from the schema,
   the budget and the noisy number of records. Budget by the price of each table. They also tell which codes
   to merge so that groups hold enough records (`coarsening`).
4. *Views.* One noisy number says how large the gaps of all pairs are on average (`pairs`). Where it exceeds
   what their noise would be, all pairs are counted, arranged in as few tables as an affine plane needs
   (`planes`), and all triples beside them where public numbers say that the noise of both would be small
   against what chance does to so many records. Else the pairs, and the levels of both their attributes, that
   noise-aware choices find worth counting (`pairs`), until none is, or none more than luck would show;
   stopping is one of the candidates, and what it is worth is public. The first choices connect attributes
   that nothing connects yet, and few follow where the number of 2. says that a tree may tell everything.
   Elsewhere as many follow as can be told apart, and what chance did to a pair is worth as much as what it
   depends by: both are in the table.
   Under rho, where all pairs together have small gaps against those along a tree, the pairs that connect are
   counted for a part of what is left, and the gaps of the others are looked at once more, from what these
   counts pass on along the tree (`implied`) instead of from independence: the expectation is as public, the
   bound the same, and a pair that the tree tells anyway is not bought. Under epsilon counting twice costs
   more than that saves: precisions add up, and rho with them, but not epsilon. Where the
   schema names a target, its pairs with all others are counted whatever they are worth, and alone where no
   other would be worth its noise: which pairs these are is public, and whether noise would hide them, too.
5. *Noisy counts* of the views, and once more of the attributes that no view sees in full, budget by the
   price of each (`packing`). What would be noisier than it was the first time is not counted again.

What follows is post-processing: least squares for the one-way counts, runs of neighbours where codes have an
order (`smoothing`), what is plausible of them (`plausible`), ties between attributes beyond noise, an order,
parents, and for each family the table of maximum entropy (`assembly`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.kinds.table.confluence.arrangement import Arrangement
from penstock.kinds.table.confluence.assembly import Assembly, Limits
from penstock.kinds.table.confluence.coarsening import levels_by_mass
from penstock.kinds.table.confluence.columns import blocks, detail
from penstock.kinds.table.confluence.dependence import Dependence
from penstock.kinds.table.confluence.knobs import KNOBS, Knobs
from penstock.kinds.table.confluence.packing import MOST_CELLS, View, packed, price, shares, view_of
from penstock.kinds.table.confluence.pairs import PairGaps, choose
from penstock.kinds.table.confluence.tiers import PureTier, Tier
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.conditionals import Measured, measure
from penstock.kinds.table.network.encoding import Encoding, encoded
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.kinds.table.network.release import ALIGNED, NetworkRelease
from penstock.kinds.table.network.ruled import precedence, ruled, ruled_out_of
from penstock.kinds.table.network.views import cleared
from penstock.kinds.table.support import Support
from penstock.privacy.budgets.budget import Budget, Rho
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]

_LEAST = Fraction(1, 500)  # no look is paid less than this of the budget
_COARSE = 4.0  # groups of a column in a pair, about, before any is counted
_DEVIATION = {False: sqrt(2.0), True: 1.2533}  # of noise whose mean absolute value is 1, by `Tier.gaussian`
_MEAN_OF_TREE = 0.4  # the mean gap of all pairs, of that of the pairs of a tree, about


@dataclass(frozen=True)
class Confluence(Method[Table]):
    """A Bayesian network made of tables of counts, each counted for what it is worth.

    Pure epsilon for one unit added or removed, or one record replaced where the schema says so: every look
    at the records is a table of noisy counts, one noisy number or a noisy choice, each with its part of the
    budget, and the parts add up to the whole.

    There is nothing to set: how the budget is divided follows from the schema, from the number of records
    and from noisy counts that are paid for before.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> rows = pl.DataFrame({"smoker": [True, False] * 500, "coughs": [True, False] * 500})
    >>> budget = Budget(1, randomness=Randomness.seeded(1))
    >>> release = Confluence().fit(Table.open(rows, schema), budget)
    >>> release.query("smoker = true and coughs = false").value < 50
    True
    >>> release.receipt.epsilon
    Fraction(1, 1)
    """

    name: ClassVar[str] = "confluence"

    def fit(self, table: Table, budget: Budget) -> NetworkRelease:
        """Count what is worth counting and make a network of it; spends the whole budget."""
        self.ready(table, budget)
        return fit_with(KNOBS, table, budget)


def fit_with(knobs: Knobs, table: Table, budget: Budget) -> NetworkRelease:
    """What `Confluence.fit` does, with other knobs: for the study that found them."""
    return _Fit(table, budget, knobs).release()


class _Fit:
    """One run: dependence, one-way counts, views, their counts, the network."""

    def __init__(self, table: Table, budget: Budget, knobs: Knobs) -> None:
        self.table, self.budget, self.knobs = table, budget, knobs
        self.start = PureTier(budget)
        self.tier: Tier = self.start
        self.sensitivity = table.marginal_sensitivity()
        self.encoding = encoded("vanilla", table.attributes)
        self.variables = self.encoding.variables
        self.support = Support.of(table.schema)
        self.seen = [Parent(number) for number in range(len(self.variables))]
        self.parameters: dict[str, object] = {"rows": ALIGNED}
        self.n = 1
        self.unsure = 0.0
        self.error = 1.0  # the mean distance that noise would make in the columns and a tree of coarse pairs

    def release(self) -> NetworkRelease:
        if not self.variables:
            noisy = noise.counts(self.table.size(), pay=self.budget.rest("number of records"))
            return self._made([], Network((), (), ()), float(max(0, noisy[0])))
        n = self.n = self._size()
        self._look(n)
        strength = self._strength(n)
        aiming = strength is None and self._aiming()
        pairs = len(self.variables) - 1 if aiming else self._likely(n, strength)
        self.tier = self.start.least_noisy(*self._planned(pairs))
        if strength is None and not aiming:
            measured = self._one_ways(self.tier.rest("one-way counts"))
            self.parameters["views"] = "none"
        else:
            measured = self._one_ways(self.tier.part("one-way counts", self._share(n)))
            self._merge(self._assembly(measured))
            views = self._targeted() if strength is None else self._views(measured, strength)
            views = self._again(views, measured)
            measured += self._counted(views, self.tier.rest("counts of views"))
        known = self._assembly(measured)
        plain = known.network()
        if self.support:
            self.parameters["broken_without_rules"] = ruled_out_of(plain, self.encoding, self.support)
        kept = ruled(plain, self.encoding, self.support, dict(enumerate(known.shares)))
        return self._made(measured, kept, known.total)

    # 1. to 3. Records, dependence and one-way counts ---------------------------------------------------

    def _size(self) -> int:
        """The number of records, public or noisy; it decides how the budget is divided, and nothing else.

        What is below its own noise says only that there are not many more than that.
        """
        if self.table.public_size is not None:
            return self.table.public_size
        if len(self.variables) == 1:
            return 1  # one histogram gets everything, however many records there are
        sealed = self.table.size()
        self.unsure = self.knobs.unsure * self.tier.noise(sealed.sensitivity, self.knobs.size)
        return max(1, self.tier.number(sealed, "number of records", self.knobs.size))

    def _look(self, n: int) -> None:
        """Fine bins that would be mostly noise are counted in groups, as the schema has them."""
        if not self.knobs.groups:
            return
        attributes = [self.table.schema.attribute(variable.attribute) for variable in self.variables]
        fixed = [
            bool(self.support.impossible) and bool(self.support.classes[each.name].any())
            for each in attributes
        ]
        found = detail(attributes, fixed, self.start.noise(self.sensitivity) / max(n, self.unsure))
        self.variables = tuple(
            variable if groups is None else replace(variable, levels=(variable.levels[0], groups))
            for variable, groups in zip(self.variables, found, strict=True)
        )
        self.seen = [Parent(number, int(groups is not None)) for number, groups in enumerate(found)]
        self.encoding = Encoding(self.encoding.name, self.variables, self.encoding.sizes)

    def _columns(self) -> list[View]:
        """The tables in which single columns are counted first."""
        sizes = [variable.sizes for variable in self.variables]
        if not self.knobs.pack:
            return [view_of((part,), sizes, self.tier.power) for part in self.seen]
        return blocks(self.seen, sizes, self.tier.power)

    def _planned(self, pairs: int) -> tuple[list[float], Sensitivity, list[float]]:
        """About the areas of tables of every column and of so many pairs, before any is counted.

        Small columns are counted together, under rho one by one.
        """
        sizes = [float(self.variables[part.variable].sizes[part.level]) for part in self.seen]
        groups = [min(size, _COARSE) for size in sizes]
        mean = (sum(groups) ** 2 - sum(size**2 for size in groups)) / (len(sizes) * max(1, len(sizes) - 1))
        together = [view.weight ** (1 / view.power) for view in self._columns()]
        return together + [mean] * pairs, self.sensitivity, sizes + [mean] * pairs

    def _likely(self, n: int, strength: float | None) -> int:
        """How many pairs will probably be counted, to choose between two kinds of noise by."""
        columns = len(self.variables)
        if strength is None:
            return 0
        couples = columns * (columns - 1) // 2
        noise_of_all = min(self.start.totals(*self._planned(couples))) / couples
        return couples if 2 * n * strength * _MEAN_OF_TREE > noise_of_all else columns - 1

    def _strength(self, n: int) -> float | None:
        """How far the pairs of a tree are from independent; None where no view would be worth its noise."""
        if len(self.variables) == 1:
            return None
        tables = 2 * len(self.variables) - 1
        self.error = min(self.start.totals(*self._planned(len(self.variables) - 1))) / (2 * n * tables)
        least = self._worth(n) * max(1.0, sqrt(len(self.variables) / self.knobs.many)) * self.error
        if least > self.knobs.hopeless:
            return None
        dependence = Dependence(self.table, self.table.attributes)
        share = self.knobs.dependence
        while share > _LEAST and dependence.doubt(self.tier, share / 2, n) < self.knobs.plainly:
            share /= 2
        found = dependence.strength(self.tier, share, n)
        return found if found - self.knobs.doubt * dependence.doubt(self.tier, share, n) > least else None

    def _worth(self, n: int) -> float:
        """The expected errors that dependence must reach: more where choices do not do for a tree."""
        moves = Sensitivity.scores(self.sensitivity.l1, candidates=2)
        paid = self.start.most_of_either(moves, self.knobs.choices, self.knobs.choice_noise * n)
        return self.knobs.worth + self.knobs.starved * max(0.0, 1 - paid / (len(self.variables) - 1))

    def _aiming(self) -> bool:
        """Whether pairs with the schema's target are counted where nothing else is: not in noise alone."""
        target = any(variable.attribute == self.table.schema.target for variable in self.variables)
        return target and len(self.variables) > 1 and self.error <= self.knobs.hopeless

    def _share(self, n: int) -> Fraction:
        """Of the one-way counts: large where their expected error would be, if they got everything."""
        weight = price(self._columns())
        error = self.tier.total(weight, self.sensitivity) / (2 * len(self.variables) * n)
        share = Fraction(round(1000 / (1 + sqrt(self.knobs.balance / (2 * error)))), 1000)
        return min(max(share, Fraction(1, 10)), Fraction(3, 5))

    def _counted(self, views: Sequence[View], pay: Budget | Rho) -> list[Measured]:
        shares = self._shares([self._weight(view) for view in views])
        parts = [pay.part(self._name(view.parts), share) for view, share in zip(views, shares, strict=True)]
        return measure(self.table, self.variables, [view.parts for view in views], parts)

    def _one_ways(self, pay: Budget | Rho) -> list[Measured]:
        views = self._columns()
        weights = self._shares([view.weight for view in views])
        parts = [pay.part(self._name(view.parts), share) for view, share in zip(views, weights, strict=True)]
        return measure(self.table, self.variables, [view.parts for view in views], parts)

    def _merge(self, known: Assembly) -> None:
        """Coarser levels of every attribute, by what is known of it."""
        schema, sizes = self.table.schema, self.knobs.sizes
        self.variables = tuple(
            replace(
                variable,
                levels=levels_by_mass(
                    schema.attribute(variable.attribute),
                    share,
                    sizes,
                    self.support.classes[variable.attribute] if self.support.impossible else None,
                    variable.levels[1] if len(variable.levels) > 1 else None,
                ),
            )
            for variable, share in zip(self.variables, known.shares, strict=True)
        )
        self.encoding = Encoding(self.encoding.name, self.variables, self.encoding.sizes)

    # 4. The views ------------------------------------------------------------------------------

    def _views(self, measured: list[Measured], strength: float) -> list[View]:
        known = self._assembly(measured)
        sizes = [variable.sizes for variable in self.variables]
        arranged = Arrangement(self.tier, self.sensitivity, self.n, self.knobs, sizes)
        finest = arranged.finest()
        gaps = PairGaps(self.table, self.variables, finest)
        expected = {
            (one, two): np.rint(known.expected(Parent(one, finest[one]), Parent(two, finest[two]))).astype(
                np.int64
            )
            for one, two in gaps.couples
        }
        sealed = gaps.of_all(expected)
        blurred = np.array([known.blurred(*pair) for pair in gaps.candidates])
        looked_at = [known.apparent(Parent(a, finest[a]), Parent(b, finest[b])) for a, b in gaps.couples]
        told = self.tier.number(gaps.together(sealed), "mean gap", self.knobs.gap)
        mean_gap = (told - sum(looked_at)) / len(gaps.couples)
        power = self.tier.power
        alone = [view_of((part,), sizes, power) for part in self.seen]
        everything = arranged.pairs(finest)
        noise_of_all = self.tier.total(price(everything), self.sensitivity, self.tier.left) / len(
            gaps.couples
        )
        most = self._most_choices(known.total, mean_gap, strength, gaps)
        # with fewer choices than a tree has edges, choosing would leave most of the gap uncounted
        patience = self.knobs.plane * min(1.0, self.knobs.few_choices + most / len(sizes))
        if len(everything) == len(gaps.couples):  # no table tells of several pairs, nor of three attributes
            patience *= self.knobs.singly
        if mean_gap > patience * noise_of_all:
            self.parameters["views"] = "all pairs"
            coarse = [view for view in alone if finest[view.parts[0].variable] > view.parts[0].level]
            return everything + arranged.triples(everything) + coarse
        chosen = self._chosen(measured, gaps, sealed, blurred, most, strength, mean_gap)
        self.parameters |= {"views": "chosen pairs", "pairs": len(chosen)}
        return self._packed(chosen)

    def _packed(self, chosen: Sequence[ParentSet]) -> list[View]:
        """Tables for these pairs, and of every column that none of them has in full."""
        sizes = [variable.sizes for variable in self.variables]
        views = packed(chosen, sizes, MOST_CELLS if self.knobs.pack else 0, self.tier.power)
        whole = {
            part.variable
            for view in views
            for part in view.parts
            if part.level <= self.seen[part.variable].level
        }
        alone = [view_of((part,), sizes, self.tier.power) for part in self.seen]
        return views + [view for view in alone if view.parts[0].variable not in whole]

    def _targeted(self) -> list[View]:
        """Tables of the pairs with the target alone, where no other would be worth its noise."""
        chosen = self._aimed([variable.sizes for variable in self.variables])
        self.parameters |= {"views": "pairs with the target", "pairs": len(chosen)}
        return self._packed(chosen)

    def _chosen(
        self,
        measured: list[Measured],
        gaps: PairGaps,
        sealed: Sealed[Counts],
        blurred: Reals,
        most: int,
        strength: float,
        mean_gap: float,
    ) -> list[ParentSet]:
        """The pairs that seem worth counting; those that a tree tells anyway are not."""
        sizes = [variable.sizes for variable in self.variables]
        given = self._aimed(sizes)
        alone = [view_of((part,), sizes, self.tier.power) for part in self.seen]
        sparse = mean_gap < self.knobs.sparse * 2 * self.n * strength
        tree_first = self.knobs.tree and self.tier.gaussian and sparse
        choosing = partial(
            choose,
            candidates=gaps.candidates,
            sizes=sizes,
            tier=self.tier,
            share=self.knobs.choices / most,
            caution=self.knobs.caution,
            method=self.knobs.choice,
            beside=self._beside(alone),
            luck=self.knobs.luck,
        )
        after = self.tier.left - self.knobs.choices
        chosen = choosing(
            sealed,
            most=most,
            scale=self.tier.noise(self.sensitivity, after),
            apparent=blurred,
            tree=self.knobs.tree,
            given=given,
            only_tree=tree_first,
        )
        left = most - (len(chosen) - len(given)) - 1  # one may have gone to find that nothing more connects
        if not tree_first or left <= 0 or not chosen:
            return chosen
        share = self.knobs.first * after
        views = packed(chosen, sizes, MOST_CELLS if self.knobs.pack else 0, self.tier.power)
        measured += self._counted(views, self.tier.part("counts of a tree", share))
        known = self._assembly(measured)
        expected = known.passed_on(chosen, gaps.finest)
        again = gaps.of_all({pair: np.rint(table).astype(np.int64) for pair, table in expected.items()})
        return choosing(
            again,
            most=left,
            scale=self.tier.noise(self.sensitivity, after - share),
            apparent=np.array([known.blurred(*pair) for pair in gaps.candidates]),
            given=chosen,
            label="second choice",
        )

    def _beside(self, alone: Sequence[View]) -> float:
        """The weight of single columns that are counted once more: none if they got more before."""
        before = price(self._columns()) / float(self._share(self.n))
        if self.knobs.again > 0 and price(alone) / float(self.tier.left) > before * self.knobs.again:
            return 0.0
        return self.knobs.detail * price(alone)

    def _aimed(self, sizes: Sequence[Sequence[int]]) -> list[ParentSet]:
        """The pairs of the schema's target with every other attribute, which nobody has to choose."""
        most = max(2, self.knobs.aimed)
        levels = [next(level for level, size in enumerate(each) if size <= most) for each in sizes]
        return [
            tuple(Parent(number, levels[number]) for number in sorted((target, other)))
            for target, variable in enumerate(self.variables)
            if variable.attribute == self.table.schema.target
            for other in range(len(sizes))
            if other != target
        ]

    def _most_choices(self, total: float, mean_gap: float, strength: float, gaps: PairGaps) -> int:
        """Few beyond a tree where pairs at large are close to independent against those of a tree.

        More than a few for each attribute only where they can be told apart that finely.
        """
        bearable = max(self.knobs.choice_noise * total, self.knobs.choice_gap * mean_gap)
        beyond = max(0.0, mean_gap / (2 * self.n * strength) - self.knobs.treelike)
        each = min(self.knobs.choices_each, 1 + self.knobs.beyond * beyond / self.error)
        paid, finely = (
            int(min(self.tier.most(gaps.sensitivity, self.knobs.choices, apart), 1e9))
            for apart in (bearable, self.knobs.choice_finely * total)
        )
        wanted = ceil(each * len(self.variables))
        if each == self.knobs.choices_each:
            wanted = max(wanted, finely)
        return max(1, min(wanted, paid, len(gaps.couples)))

    def _again(self, views: Sequence[View], measured: Sequence[Measured]) -> list[View]:
        """Without single columns that would be counted with more noise than they have been.

        Precisions add up, budgets do not: half of a budget after the whole of it makes a tenth less noise.
        """
        if self.knobs.again <= 0:
            return list(views)
        known = {part.variable: one for one in measured for part in one.parts}
        weights = [self._weight(view) for view in views]
        each = self.tier.left / Fraction(sum(weights))
        kept = []
        for view, weight in zip(views, weights, strict=True):
            if len(view.parts) == 1:
                first = known[view.parts[0].variable]
                before = first.deviation * sqrt(first.counts.size / view.cells)
                noisy = self.tier.noise(self.sensitivity, each * Fraction(weight))
                if noisy * _DEVIATION[self.tier.gaussian] > before * self.knobs.again:
                    continue
            kept.append(view)
        return kept or list(views)

    # 5. and after ---------------------------------------------------------------------------------------

    def _shares(self, weights: Sequence[float]) -> list[Fraction]:
        return shares([1.0] * len(weights) if self.knobs.even else weights)

    def _weight(self, view: View) -> float:
        return view.weight * (self.knobs.detail if len(view.parts) == 1 else 1.0)

    def _name(self, parts: ParentSet) -> str:
        return " × ".join(self.variables[part.variable].name for part in parts)

    def _assembly(self, measured: Sequence[Measured]) -> Assembly:
        size = self.table.public_size
        return Assembly(
            self.variables,
            cleared(measured, self.variables, self.encoding.sizes, self.support),
            None if size is None else float(size),
            self._limits(),
            precedence(self.encoding, self.support),
            frozenset(
                number
                for number, variable in enumerate(self.variables)
                if self.table.schema.attribute(variable.attribute).ordered
            ),
        )

    def _limits(self) -> Limits:
        """Families may be larger where noise is small against the number of records."""
        limits = self.knobs.limits
        clear = limits.clear * self.n / self.tier.noise(self.sensitivity)
        most = min(limits.most, limits.together // max(1, len(self.variables)))
        return replace(limits, cells=max(limits.cells, int(min(clear, most))))

    def _made(self, measured: Sequence[Measured], network: Network, total: float) -> NetworkRelease:
        return NetworkRelease(
            method="confluence",
            schema=self.table.schema,
            receipt=self.budget.receipt(self.table.schema.unit, self.table.relation),
            parameters=self.parameters,
            total=total,
            encoding=self.encoding,
            network=network,
            measured=tuple(measured),
        )
