"""Which tables of pairs and triples a run of confluence counts: its fourth step.

Every look at the records here is the sum of all gaps, one noisy number, or a choice among gaps (`gaps`).
Everything that decides between them, and how many choices there are, is computed from what these told, from
noisy counts and from public numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import ceil, comb, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.confluence.arrangement import MOST_IN_TRIPLES
from penstock.kinds.table.confluence.dependence import GROUPS
from penstock.kinds.table.confluence.gaps import Gaps, choose
from penstock.kinds.table.confluence.implied import along, forest, of_three
from penstock.kinds.table.confluence.multiplying import Multiplying
from penstock.kinds.table.confluence.packing import MOST_CELLS, View, packed, price, view_of
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]

_DEVIATION = {False: sqrt(2.0), True: 1.2533}  # of noise whose mean absolute value is 1, by `Tier.gaussian`
_MOSTLY_TREE = 4  # columns, of whose pairs a tree holds half or more
_SPANNED = 0.9  # of the pairs of a tree that connects everything: before that no triple is looked at


class Choosing(Multiplying):
    """The views that seem worth their noise."""

    def _at_once(self, strength: float) -> list[View]:
        """Tables of pairs in full, where these are counted and nothing before them; else none.

        Single columns come along with them, and so does what the gaps of pairs would have told. Not where
        columns have more codes than pairs are looked at in groups, nor where the noise of all pairs would far
        exceed what a tree of them has to tell, nor under rho: precisions add up there, so that what is
        counted first is not lost. Of many columns all pairs are counted or none; of few, those whose distance
        from independence seems worth their noise.
        """
        columns, levels = len(self.variables), [part.level for part in self.seen]
        if columns < 3 or not self._arranged().in_full(levels):
            return []
        couples = comb(columns, 2)
        if self._better_in_rho(levels):
            return []
        pure, _ = self._noise_of_pairs(levels)
        noisy = pure / (2 * self.n * couples * strength)
        mostly_tree, knobs = columns <= _MOSTLY_TREE, self.knobs
        chance = 2 * self.n * couples * self.dependence.by_chance(self.n)
        few = pure > knobs.beyond_chance * (2 if mostly_tree else 1) * chance and not self.lost
        few &= columns <= knobs.few and noisy <= knobs.few_at_once
        if noisy <= knobs.at_once and (not few if mostly_tree else self._dense(strength, noisy)):
            return self._every_pair()
        if not few:
            return []
        chosen = self._apart(strength)
        if len(chosen) == couples:
            return self._every_pair()
        self.parameters |= {"views": "chosen pairs", "pairs": len(chosen)}
        return self._packed(chosen)

    def _dense(self, strength: float, noisy: float) -> bool:
        """Whether all pairs depend about as much as those of a tree; the more noise, the more they must.

        The fewer of the pairs a tree holds, the better must be what is told of it.
        """
        plainly, unclear = self.knobs.density * strength, self.knobs.unclear * strength / len(self.variables)
        if self.mean is None and self._asked_for_mean(plainly)[1] > unclear:
            return False
        found, doubt = self._mean_dependence(plainly)
        return doubt <= unclear and found > (self.knobs.dense + self.knobs.denser * noisy) * strength

    def _apart(self, strength: float) -> list[ParentSet]:
        """The pairs that seem worth a table by their distances, those first that connect the columns.

        Beside a tree only a few more: a distance says nothing of how much of it a tree tells. Those with the
        schema's target are among them without a choice. A choice is paid less where less tells apart
        distances that differ by a small part of the strength.
        """
        knobs, sizes = self.knobs, [variable.sizes for variable in self.variables]
        pairs: list[ParentSet] = [(self.seen[one], self.seen[two]) for one, two in self.dependence.couples]
        edges, sealed = self.dependence.edges, self.dependence.each
        apart = knobs.told_apart * 2 * self.n * strength
        share = self._share_telling(
            partial(self.tier.resolution, sealed.sensitivity), apart, knobs.distance_choice
        )
        return choose(
            sealed,
            pairs,
            sizes,
            self.tier,
            most=min(len(pairs), edges + knobs.beside_tree),
            share=share,
            scale=self.tier.noise(self.sensitivity, self.tier.left - edges * share),
            caution=1.0,
            method=knobs.choice,
            tree=True,
            luck=knobs.luck,
            given=[pair for pair in pairs if any(self._is_target(part) for part in pair)],
            label="pair",
        )

    def _columns_beside(self, views: Sequence[View]) -> Fraction:
        """What single columns are paid that come before these pairs and nothing else."""
        alone = self._alone([variable.sizes for variable in self.variables])
        total = sum(self._noise_in_pairs(view, len(self.variables) - 1) for view in alone)
        return Fraction(round(1000 * total / (total + price(views))), 1000) * self.tier.left

    def _is_target(self, part: Parent) -> bool:
        return self.variables[part.variable].attribute == self.table.schema.target

    def _every_pair(self) -> list[View]:
        """Tables of all pairs in full, and of all triples where noise is far below chance."""
        levels, arranged = [part.level for part in self.seen], self._arranged()
        self.parameters["views"] = "all pairs"
        views = self._split(arranged.pairs(levels))
        views += arranged.triples(views)
        self.finest, self.untold = arranged.untold(views, levels)
        return views

    def _views(self, measured: list[Measured], strength: float) -> list[View]:
        known = self._assembly(measured)
        sizes = [variable.sizes for variable in self.variables]
        arranged = self._arranged()
        finest = arranged.finest()
        gaps = Gaps.of_pairs(self.table, self.variables, finest)
        sealed = gaps.of_all(
            {(a, b): _round(known.expected(Parent(a, finest[a]), Parent(b, finest[b]))) for a, b in gaps.sets}
        )
        blurred = np.array([known.blurred(*pair) for pair in gaps.candidates])
        looked_at = [known.apparent(Parent(a, finest[a]), Parent(b, finest[b])) for a, b in gaps.sets]
        share = self._share_of_gap(gaps, strength)
        told = self.tier.number(gaps.together(sealed), "mean gap", share)
        mean_gap = (told - sum(looked_at)) / len(gaps.sets)
        alone = self._alone(sizes)
        everything = self._split(arranged.pairs(finest))
        products = self._products(finest)
        noise_of_all = self.tier.total(price(everything), self.sensitivity, self.tier.left) / len(gaps.sets)
        least_noise = noise_of_all
        if products is not None:
            least_noise = products.noise(self.start.budget.left[0]) / len(gaps.sets)
        wanted = self._wanted_choices(mean_gap, strength, gaps, known.total)
        most = self._most_choices(wanted, mean_gap, gaps, known.total)
        dense = mean_gap / (2 * self.n * strength)
        if dense > 0 and mean_gap > arranged.patience(everything, finest, dense, most) * least_noise:
            self.products = products
            self.parameters["views"] = "all pairs"
            coarse = [view for view in alone if finest[view.parts[0].variable] > view.parts[0].level]
            everything += arranged.triples(everything)
            self.finest, self.untold = arranged.untold(everything, finest)
            return everything + coarse
        noise_of_some = noise_of_all * min(1.0, wanted / len(gaps.sets))
        doubt = self.tier.noise(Sensitivity.of(gaps.sensitivity.linf), share)
        if mean_gap - doubt > self.knobs.any_pair * noise_of_some:  # whichever is chosen is worth a table
            most = max(most, min(wanted, self._told_apart(gaps, mean_gap)))
        chosen = self._chosen(measured, gaps, sealed, blurred, most, strength, mean_gap)
        self.parameters |= {"views": "chosen pairs", "pairs": len(chosen)}
        self.chosen, views = chosen, self._packed(chosen)
        connected = len(forest((one.variable, two.variable) for one, two in chosen))
        # few columns have luck look at every pair in several triples, and connect what depends on nothing
        if len(sizes) > MOST_IN_TRIPLES and connected >= _SPANNED * (len(sizes) - 1):
            self.finest, self.untold = arranged.untold(views, finest)
        return views

    def _share_of_gap(self, gaps: Gaps, strength: float) -> Fraction:
        """What the mean gap is asked for: more where as much as it probably is would be lost in its noise."""
        knobs = self.knobs
        noisy = self.tier.noise(Sensitivity.of(gaps.sensitivity.linf), knobs.gap)
        wanted = noisy / (knobs.gap_noise * self.n * strength)
        return knobs.gap * Fraction(round(100 * min(knobs.gap_most, max(1.0, wanted))), 100)

    def _chosen(
        self,
        measured: list[Measured],
        gaps: Gaps,
        sealed: Sealed[Counts],
        blurred: Reals,
        most: int,
        strength: float,
        mean_gap: float,
    ) -> list[ParentSet]:
        """The pairs that seem worth counting; those that a tree tells anyway are not."""
        sizes, knobs = [variable.sizes for variable in self.variables], self.knobs
        alone = self._alone(sizes)
        # where a tree may tell everything it is chosen first, and with more care than what follows
        finely = self._told_apart(gaps, knobs.choice_finely * self.n)
        tree_first = knobs.tree and mean_gap < knobs.sparse * 2 * self.n * strength
        tree_first &= self.tier.gaussian or finely < knobs.careful * len(sizes)
        first = min(most, len(sizes) - 1) if tree_first else most
        before, after = self.tier.left, self.tier.left - knobs.choices - (most - first) * knobs.choices / most
        choosing = partial(
            choose,
            candidates=gaps.candidates,
            sizes=sizes,
            tier=self.tier,
            caution=knobs.caution,
            method=knobs.choice,
            beside=self._beside(alone),
            luck=knobs.luck,
        )
        chosen = choosing(
            sealed,
            most=first,
            share=knobs.choices / first,
            scale=self.tier.noise(self.sensitivity, after),
            apparent=blurred,
            tree=knobs.tree,
            given=self._aimed(sizes),
            only_tree=tree_first,
        )
        more = most - round((before - self.tier.left) * first / knobs.choices)
        if not tree_first or not more or not chosen:
            return chosen
        if self.tier.gaussian:
            views = self._split(packed(chosen, sizes, MOST_CELLS if knobs.pack else 0, self.tier.power))
            measured += self._counted(views, self.tier.part("counts of a tree", knobs.first * after))
            after -= knobs.first * after
            known = self._assembly(measured)
            expected = known.passed_on(chosen, gaps.finest)
            sealed = gaps.of_all({pair: _round(table) for pair, table in expected.items()})
            blurred = np.array([known.blurred(*pair) for pair in gaps.candidates])
        else:
            more = min(more, self._wanted(measured, chosen, mean_gap, strength) - len(chosen))
        return choosing(
            sealed,
            most=more,
            share=knobs.choices / most,
            scale=self.tier.noise(self.sensitivity, after),
            apparent=blurred,
            given=chosen,
            label="second choice",
        )

    def _wanted(
        self, measured: Sequence[Measured], chosen: Sequence[ParentSet], mean_gap: float, strength: float
    ) -> int:
        """How many choices seem worth it beside a tree, by the gaps that it does not explain.

        All of it is public: which pairs connect, how strong dependence is along a tree, and the mean gap.
        """
        known = self._assembly(measured)
        edges = [(one.variable, two.variable) for one, two in chosen]
        spreads = [known.spread(number, GROUPS) for number in range(len(self.variables))]
        widest = sum(min(spreads[one], spreads[two]) for one, two in edges) / len(edges)
        told = along(edges, len(spreads), min(1.0, strength / max(widest, strength)))
        beyond = max(0.0, mean_gap / (2 * self.n * strength) - told)
        each = min(self.knobs.choices_each, 1 + self.knobs.untold * beyond / self.error)
        edges_of_all = len(spreads) * (len(spreads) - 1) // 2
        return ceil(each * (len(spreads) - 1)) if each < self.knobs.choices_each else edges_of_all

    def _alone(self, sizes: Sequence[Sequence[int]]) -> list[View]:
        """Single columns that may be counted once more."""
        parts = [part for part in self.seen if part.variable not in self.lost]
        return [view_of((part,), sizes, self.tier.power) for part in parts]

    def _beside(self, alone: Sequence[View]) -> float:
        """The weight of single columns that are counted once more: none if they got more before."""
        before = price(self._told_columns()) / float(self._share(self.n))
        if self.knobs.again > 0 and price(alone) / float(self.tier.left) > before * self.knobs.again:
            return 0.0
        return self.knobs.detail * price(alone)

    def _wanted_choices(self, mean_gap: float, strength: float, gaps: Gaps, total: float) -> int:
        """Few beyond a tree where pairs at large are close to independent against those of a tree.

        More than a few for each attribute only where they can be told apart that finely.
        """
        beyond = max(0.0, mean_gap / (2 * self.n * strength) - self.knobs.treelike)
        each = min(self.knobs.choices_each, 1 + self.knobs.beyond * beyond / self.error)
        wanted = ceil(each * len(self.variables))
        if each == self.knobs.choices_each:
            wanted = max(wanted, self._told_apart(gaps, self.knobs.choice_finely * total))
        return min(wanted, len(gaps.sets))

    def _most_choices(self, wanted: int, mean_gap: float, gaps: Gaps, total: float) -> int:
        """Of so many, those that can be told apart as well as a choice must be."""
        bearable = max(self.knobs.choice_noise * total, self.knobs.choice_gap * mean_gap)
        return max(1, min(wanted, self._told_apart(gaps, bearable)))

    def _told_apart(self, gaps: Gaps, distance: float) -> int:
        """How many choices can be paid for that tell gaps apart which differ by so much."""
        return int(min(self.tier.most(gaps.sensitivity, self.knobs.choices, distance), 1e9))

    def _aimed(self, sizes: Sequence[Sequence[int]]) -> list[ParentSet]:
        """The pairs of the schema's target with every other attribute, which nobody has to choose."""
        most = max(2, self.knobs.aimed)
        levels = [next(level for level, size in enumerate(each) if size <= most) for each in sizes]
        return [
            tuple(Parent(number, levels[number]) for number in sorted((target, other)))
            for target in range(len(sizes))
            if self._is_target(Parent(target))
            for other in range(len(sizes))
            if other != target
        ]

    def _targeted(self) -> list[View]:
        """Tables of the pairs with the target alone, where no other would be worth its noise."""
        chosen = self._aimed([variable.sizes for variable in self.variables])
        self.parameters |= {"views": "pairs with the target", "pairs": len(chosen)}
        return self._packed(chosen)

    def _packed(self, chosen: Sequence[ParentSet]) -> list[View]:
        """Tables for these pairs, and of every column that none of them has in full."""
        sizes = [variable.sizes for variable in self.variables]
        views = self._split(packed(chosen, sizes, MOST_CELLS if self.knobs.pack else 0, self.tier.power))
        whole = {
            part.variable
            for view in views
            for part in view.parts
            if not view.apart and part.level <= self.seen[part.variable].level
        }
        return views + [view for view in self._alone(sizes) if view.parts[0].variable not in whole]

    def _again(self, views: Sequence[View], measured: Sequence[Measured]) -> list[View]:
        """Without single columns that would be counted with more noise than they have been.

        Precisions add up, budgets do not: half of a budget after the whole of it makes a tenth less noise.
        """
        if any(view.apart for view in views):
            return self._with_columns(views)
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

    def _with_columns(self, views: Sequence[View]) -> list[View]:
        """Pairs that tell nothing of their columns, and these once more, if that is more than they had.

        The noise of a column is in every pair of it. Together they get what makes the sum of all noise least,
        less what columns were paid before.
        """
        pairs = [view for view in views if len(view.parts) > 1]
        often = Counter(part.variable for view in pairs if view.apart for part in view.parts)
        alone = self._alone([variable.sizes for variable in self.variables])
        wanted = [self._noise_in_pairs(view, often[view.parts[0].variable]) for view in alone]
        paid, total = self.paid_alone, sum(wanted)
        share = (paid + float(self.tier.left)) * total / (total + price(pairs)) - paid
        if share <= 0:
            return pairs
        once = price(pairs) * share / (float(self.tier.left) - share) / total
        return pairs + [
            replace(view, times=once * weight / view.weight)
            for view, weight in zip(alone, wanted, strict=True)
        ]

    def _noise_in_pairs(self, column: View, often: int) -> float:
        """The weight of a single column that is one of so many pairs."""
        return float(self._area_in_pairs(column.cells, max(1, often)) ** column.power)

    def _triples(self, measured: Sequence[Measured], spared: Fraction) -> list[View]:
        """Tables of the triples whose counts are furthest from what pairs say of them."""
        known, knobs = self._assembly(measured), self.knobs
        at = [Parent(number, level) for number, level in enumerate(self.finest)]
        # pairs that were not counted so finely, or not at all: by their counts, or along a tree of others
        passed_on = known.passed_on(self.chosen, self.finest) if self.chosen else {}
        sides = {
            (a, b): known.paired(at[a], at[b], passed_on.get((a, b)))
            for a, b in combinations(range(len(at)), 2)
        }
        untold, few = self.untold, self._arranged().most_triples
        if few < len(untold):  # of very many records those whose pairs depend most, as noisy counts say
            apart = {
                (a, b): float(np.abs(side - known.expected(at[a], at[b])).sum())
                for (a, b), side in sides.items()
            }
            dependent = {some: sum(apart[pair] for pair in combinations(some, 2)) for some in untold}
            untold = sorted(untold, key=lambda some: -dependent[some])[:few]
        gaps = Gaps(self.table, self.variables, self.finest, untold)
        expected: dict[tuple[int, ...], Counts] = {
            (a, b, c): _round(of_three(sides[a, b], sides[a, c], sides[b, c])) for a, b, c in untold
        }
        sizes = [variable.sizes for variable in self.variables]
        most = ceil(knobs.triples * len(sizes))
        chosen = choose(
            gaps.of_all(expected),
            gaps.candidates,
            sizes,
            self.tier,
            most=most,
            share=knobs.triple_choices * spared / most,
            scale=self.tier.noise(self.sensitivity, (1 - knobs.triple_choices) * spared),
            caution=knobs.triple_caution,
            method=knobs.choice,
            luck=knobs.luck,
            label="triple",
        )
        self.parameters["triples"] = len(chosen)
        return [View(parts, (parts,), sizes, self.tier.power) for parts in chosen]


def _round(table: Reals) -> Counts:
    return np.rint(table).astype(np.int64)
