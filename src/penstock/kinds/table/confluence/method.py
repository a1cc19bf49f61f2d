"""Confluence: views counted for what they are worth, merged into one Bayesian network.

Our own method, and the default for tables. Its model is that of PrivBayes; how the budget is spent on it, and
how the network is made, is not.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so;
(epsilon, delta) where a delta is given.
Why: every look at the records is one of these, and their parts of the budget add up to the whole. Those of
the first two points are paid in epsilon, the others in epsilon or in the rho that the rest of (epsilon,
delta) buys (`tiers`).

1. *Number of records*, where it is not public: one noisy count. It decides how the rest is divided. Where a
   table of all columns together is so small that the noise of its cells, added up, stays below what chance
   does to so many records, or that it tells single columns about as well as tables of their own do, all that
   is left goes to that table, and no other look is taken (`whole`). Where fine bins would be counted in
   groups, one noisy number more says whether single codes stand out of them (`columns.Largest`).
2. *Dependence*: one noisy number that says how far pairs are from independent along the spanning tree where
   they are furthest (`dependence`). It is not asked for where the noise of a tree of pairs would exceed
   whatever it could say. Where it says too little to be worth that noise, all that is left goes to the one-
   way counts, and the release is one of independent columns. Where it says enough, and tables of pairs would
   have no less noise than one of all columns has for them, all that is left goes to that one. Where one noisy
   matrix of products tells all pairs with much less noise than tables of them, and with less than a tree has
   to tell, all that is left goes to it, but for a part for triples (`products`); or, where rho has less noise
   than that, to every column and every pair in rho. Another noisy number says how far all pairs are from
   independent, where a tree that hangs together so much does not settle it: if that is little against the
   noise of the matrix, the less the fewer of them depend, and the budget pays for choices to find those, the
   matrix is not taken. That number is also asked for where tables of all pairs would have little noise
   against the first one. Where it is not much less than along the tree, or a tree holds half of the pairs
   anyway, all pairs are counted in full at once, for all that is left, and steps 3 and 4 are not taken:
   single columns come along with pairs. Of up to six columns whose pairs would have more noise than chance
   has, only those are that noisy choices find worth their noise: among the distances of single pairs, each of
   which moves as far as `dependence` says, less a price that is computed from public numbers. Those that
   connect what is not connected come first.
3. *One-way counts* of every attribute, those of few codes in tables of two or three attributes, fine bins in
   groups where noise would bury them (`columns`): which tables and groups these are follows from the schema,
   the budget and the noisy number of records. Budget by the price of each table. They also tell which codes
   to merge so that groups hold enough records (`coarsening`).
4. *Views.* One noisy number says how large the gaps of all pairs are on average (`gaps`); it is paid more
   where the number of 2. says that it would be lost in noise. Where it is large enough, against the noise of
   all pairs and against the gaps along a tree, all pairs are told by one noisy matrix, if that has much less
   noise than tables (`multiplying`); else they are counted, arranged in as few tables as an affine plane or
   space needs (`planes`), and all triples beside them where public numbers say that the noise of
   both would be small against what chance does to so many records. How large is enough is computed from what
   is public by then (`Arrangement.patience`). Else the pairs, and the levels of both their attributes, that
   noise-aware choices find worth counting (`gaps`), until none is, or none more than luck would show;
   stopping is one of the candidates, and what it is worth is public. The first choices connect attributes
   that nothing connects yet, and few follow where the number of 2. says that a tree may tell everything.
   Elsewhere as many follow as can be told apart, and what chance did to a pair is worth as much as what it
   depends by: both are in the table. Where even a pair that is taken at random would be worth a table,
   choices need not be told apart so well, and there are as many as the mean gap lets be told apart.
   Where all pairs together have small gaps against those along a tree, the pairs that connect are chosen
   first, each for more. Under epsilon the shape of that tree, the number of 2. and the mean gap, all public
   by then, say how much of the gaps it leaves to others, and so how many follow. Under rho its pairs are
   counted for a part of what is left, and the gaps of the others are looked at once more, from what these
   counts pass on along the tree (`implied`) instead of from independence: the expectation is as public, the
   bound the same, and a pair that the tree tells anyway is not bought. Under epsilon counting twice costs
   more than that saves: precisions add up, and rho with them, but not epsilon. Where the
   schema names a target, its pairs with all others are counted whatever they are worth, and alone where no
   other would be worth its noise: which pairs these are is public, and whether noise would hide them, too.
5. *Noisy counts* of the views, and once more of the attributes that no view sees in full, budget by the
   price of each (`packing`). What would be noisier than it was the first time is not counted again. Under rho
   a pair in a table of its own is counted without what its columns have alone, by sums of products of public
   vectors (`contrasts`): a record moves these less far than it moves the table.
6. *Triples*, where public numbers say that the noise of counted pairs is small against what chance does: a
   part of what is left is kept for triples, a small one where all pairs are counted, and where some of more
   than eight columns were chosen, and connect nearly all, as much as leaves their noise far below chance.
   The counts of pairs are public by then, so is what a tree of them passes on to pairs that were not
   counted, and so is the table of maximum entropy that has three such tables as sides (`implied`). The gap
   of a triple from that has the bound of the gap of a pair, and some are chosen by it as pairs are and
   counted. Where none is worth its noise, the views are counted once more.

What follows is post-processing: least squares for the one-way counts, runs of neighbours where codes have an
order (`smoothing`), what is plausible of them (`plausible`), what all pairs have in common instead of their
noise (`network.spectrum`), ties between attributes beyond noise, an order, parents, and for each family the
table of maximum entropy whose columns are as all views together have them (`assembly`); for one table of all
columns the chain rule (`whole`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import prod, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.kinds.table.confluence import whole
from penstock.kinds.table.confluence.assembly import Assembly
from penstock.kinds.table.confluence.choosing import Choosing
from penstock.kinds.table.confluence.coarsening import levels_by_mass
from penstock.kinds.table.confluence.columns import SPIKE, Largest, detail, standing_out, told, weights
from penstock.kinds.table.confluence.knobs import KNOBS, Knobs
from penstock.kinds.table.confluence.packing import View
from penstock.kinds.table.confluence.products import Products
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.conditionals import Measured, measure
from penstock.kinds.table.network.encoding import Encoding
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Parent
from penstock.kinds.table.network.release import ALL_COLUMNS, DRAWN, NetworkRelease
from penstock.kinds.table.network.ruled import ruled, ruled_out_of
from penstock.postprocessing import onto_simplex
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema.attribute import Attribute

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]

_COARSE = 4.0  # groups of a column in a pair, about, before any is counted
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


class _Fit(Choosing):
    """One run: all columns in one table, or dependence, one-way counts, views, their counts; the network."""

    def release(self) -> NetworkRelease:
        if not self.variables:
            noisy = noise.counts(self.table.size(), pay=self.budget.rest("number of records"))
            return self._made([], Network((), (), ()), float(max(0, noisy[0])))
        n = self.n = self._size()
        if self._as_a_whole():
            return self._counted_as_a_whole()
        self._look(n)
        self.lost = self._buried(n)
        strength = self._strength(n)
        if strength is not None and self._as_a_whole(strength):
            return self._counted_as_a_whole()
        self.products = None if strength is None else self._products_at_once(strength)
        at_once = [] if strength is None or self.products else self._at_once(strength)
        if self.products is not None and self._better_in_rho(self.products.levels, self.products):
            measured = self._columns_and_pairs()
        elif self.products is not None:
            measured = self._with_products(self.products)
        else:
            measured = self._pairs_at_once(at_once) if at_once else self._by_columns(strength)
        known = self._assembly(measured)
        plain = known.network()
        if self.support:
            self.parameters["broken_without_rules"] = ruled_out_of(plain, self.encoding, self.support)
        kept = ruled(plain, self.encoding, self.support, dict(enumerate(known.shares)))
        return self._made(measured, kept, known.total)

    def _columns_and_pairs(self) -> list[Measured]:
        """Every column, and what all pairs have together, for all that is left, turned into rho."""
        self.products, self.tier = None, self.start.concentrated()
        views = self._every_pair()
        self.alone = self._one_ways(self._columns_beside(views))
        return self._pairs_at_once(views)

    def _pairs_at_once(self, views: list[View]) -> list[Measured]:
        """These pairs in full; by what they tell of columns, codes are merged for what follows."""
        spared, label = self._spared(views), "counts of pairs"
        pay = self.tier.part(label, self.tier.left - spared) if spared else self.tier.rest(label)
        measured = [*self.alone, *self._counted(views, pay)]
        self._merge(self._assembly(measured))
        if spared:
            arranged = self._arranged()
            self.finest, self.untold = arranged.untold(views, arranged.finest())
            views = self._triples(measured, spared) or views
            measured += self._counted(views, self.tier.rest("counts of views"))
        return measured

    def _with_products(self, products: Products) -> list[Measured]:
        """All pairs by one noisy matrix; by what it tells of columns, codes are merged for what follows."""
        measured, spared = self._multiplied(products)
        self._merge(self._assembly(measured))
        return measured + self._triples_beside(measured, spared)

    def _triples_beside(self, measured: Sequence[Measured], spared: Fraction) -> list[Measured]:
        """Triples that the pairs of a matrix do not tell; where none is worth it, columns once more."""
        if not spared:
            return []
        arranged = self._arranged()
        self.finest, self.untold = arranged.untold([], arranged.finest())
        views = self._triples(measured, spared) or self._alone([each.sizes for each in self.variables])
        return self._counted(views, self.tier.rest("counts of views"))

    def _by_columns(self, strength: float | None) -> list[Measured]:
        """Single columns first, and then the views that they make worth counting."""
        aiming = strength is None and self._aiming()
        pairs = len(self.variables) - 1 if aiming else self._likely(self.n, strength)
        self.tier = self.start.least_noisy(*self._planned(pairs))
        if strength is None and not aiming:
            self.parameters["views"] = "none"
            return self._one_ways(self.tier.left)
        share = self._share(self.n)
        self.alone = self._one_ways(share)
        measured = list(self.alone)
        self.paid_alone = float(share)
        self._merge(self._assembly(measured))
        views = self._targeted() if strength is None else self._views(measured, strength)
        if self.products is not None:
            told, spared = self._multiplied(self.products)
            return [*measured, *told, *self._triples_beside([*measured, *told], spared)]
        views = self._again(views, measured)
        spared = self._spared(views)
        if spared:
            measured += self._counted(views, self.tier.part("counts of pairs", self.tier.left - spared))
            views = self._triples(measured, spared) or views
        return measured + self._counted(views, self.tier.rest("counts of views"))

    def _spared(self, views: Sequence[View]) -> Fraction:
        """What these views leave to triples that no table holds."""
        return self._arranged().spared(views, every=not self.chosen) if self.untold else Fraction(0)

    def _as_a_whole(self, strength: float | None = None) -> bool:
        """Whether one table of all columns is better than tables of some (`whole`).

        That is so where single columns have hardly more noise by it than by tables of their own, pairs come
        along and its noise is not far beyond chance; where its noise is below chance, the further below the
        more noise pairs have by it than by tables of their own; and where columns are known to depend, and
        pairs have no less noise by these.
        """
        sizes = [variable.size for variable in self.variables]
        if len(sizes) == 1 or prod(sizes) > self.knobs.whole_cells:
            return False
        # Laplace noise has a mean absolute value of its deviation over the root of 2
        deviation = self.start.deviation(self.sensitivity)
        noisy = whole.of_chance(deviation, prod(sizes), max(1.0, self.n - self.unsure))
        of_pairs = min(self._noise_of_pairs([0] * len(sizes)))
        times = deviation / sqrt(2) * whole.in_pairs(sizes) / of_pairs
        if strength is not None:
            return times <= 1 and noisy <= self.knobs.whole_most
        if noisy > self.knobs.whole and self._products_tell(deviation / sqrt(2) * whole.in_pairs(sizes)):
            return False
        of_columns = min(self._noise_of(self._columns(), map(float, sizes)))
        in_columns = deviation / sqrt(2) * whole.in_columns(sizes) / of_columns
        if in_columns <= self.knobs.whole_columns and noisy <= self.knobs.whole_most:
            return True
        return noisy <= self.knobs.whole / max(1.0, times**2)

    def _counted_as_a_whole(self) -> NetworkRelease:
        """One table of all columns, for all that is left; what rules exclude is left out of it."""
        parts = tuple(Parent(number) for number in range(len(self.variables)))
        measured = measure(self.table, self.variables, [parts], [self.start.rest("all columns")])
        self.parameters = {"rows": DRAWN, "views": ALL_COLUMNS}
        known = self._assembly(measured)
        counts, deviation = measured[0].counts.astype(np.float64), measured[0].deviation
        possible = None
        if self.support:
            everywhere = replace(measured[0], counts=np.ones(counts.shape, dtype=np.int64))
            possible = known.cleared([everywhere])[0].counts > 0
            without = onto_simplex(counts, max(1.0, known.total))
            self.parameters["broken_without_rules"] = float(without[~possible].sum() / without.sum())
        joint = whole.likely(counts, known.total, deviation, known.shares, sorted(known.ordered), possible)
        return self._made(measured, whole.network(joint, self.variables, known.before), known.total)

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
        attributes = self._attributes
        fixed = [
            bool(self.support.impossible) and bool(self.support.classes[each.name].any())
            for each in attributes
        ]
        found = detail(attributes, fixed, self.start.noise(self.sensitivity) / max(n, self.unsure))
        if self._spikes(attributes, [number for number, groups in enumerate(found) if groups is not None]):
            return
        self.variables = tuple(
            variable if groups is None else replace(variable, levels=(variable.levels[0], groups))
            for variable, groups in zip(self.variables, found, strict=True)
        )
        self.seen = [Parent(number, int(groups is not None)) for number, groups in enumerate(found)]
        self.encoding = Encoding(self.encoding.name, self.variables, self.encoding.sizes)

    def _spikes(self, attributes: Sequence[Attribute], in_groups: Sequence[int]) -> bool:
        """Whether columns that would be counted in groups have single codes that stand out of noise.

        Nobody asks where there are no such columns, nor where noise would hide the answer or any spike.
        """
        if not in_groups:
            return False
        noisy = self.start.noise(self.sensitivity) / max(self.n, self.unsure)
        least = max(SPIKE, standing_out([each.size for each in attributes], in_groups, noisy))
        largest = Largest(self.table, [attributes[number] for number in in_groups])
        doubt = partial(largest.doubt, self.start, records=self.n)
        share = self._share_telling(doubt, SPIKE / 5)
        if least >= 1 or doubt(share) > SPIKE / 2:
            return False
        return largest.share(self.start, share, self.n) > least

    def _buried(self, n: int) -> frozenset[int]:
        """The columns of which noise leaves nothing: others are planned without them."""
        views = self._columns()
        kept = told(views, self.start.noise(self.sensitivity) / max(n, self.unsure))
        return frozenset(part.variable for view in views if view not in kept for part in view.parts)

    def _planned(self, pairs: int) -> tuple[list[float], Sensitivity, list[float]]:
        """About the areas of tables of every column and of so many pairs, before any is counted.

        Small columns are counted together, under rho one by one.
        """
        seen = [part for part in self.seen if part.variable not in self.lost]
        sizes = [float(self.variables[part.variable].sizes[part.level]) for part in seen]
        groups = [min(size, _COARSE) for size in sizes]
        mean = (sum(groups) ** 2 - sum(size**2 for size in groups)) / (len(sizes) * max(1, len(sizes) - 1))
        together = [view.area for view in self._told_columns()]
        less = [size - 1 for size in groups]  # under rho pairs without what columns have
        apart = (sum(less) ** 2 - sum(size**2 for size in less)) / (len(sizes) * max(1, len(sizes) - 1))
        often = 2 * pairs / len(sizes)
        alone = [size + self._area_in_pairs(each, often) for size, each in zip(sizes, groups, strict=True)]
        return together + [mean] * pairs, self.sensitivity, alone + [apart] * pairs

    def _likely(self, n: int, strength: float | None) -> int:
        """How many pairs will probably be counted, to choose between two kinds of noise by.

        A guess before any column is counted: what decides is the mean gap, later (`Arrangement.patience`).
        """
        columns = len(self.variables)
        if strength is None:
            return 0
        couples = columns * (columns - 1) // 2
        noise_of_all = min(self.start.totals(*self._planned(couples))) / couples
        return couples if 2 * n * strength * _MEAN_OF_TREE > noise_of_all else columns - 1

    def _strength(self, n: int) -> float | None:
        """How far the pairs of a tree are from independent; None where no view would be worth its noise."""
        told_of = len(self.variables) - len(self.lost)
        if told_of < 2:
            return None
        tables = 2 * told_of - 1
        self.error = min(self.start.totals(*self._planned(told_of - 1))) / (2 * n * tables)
        self.least = self._worth() * max(1.0, sqrt(len(self.variables) / self.knobs.many)) * self.error
        least = min(self.least, self._least_for_products())
        if least > self.knobs.hopeless:
            return None
        doubt = partial(self.dependence.doubt, self.start, records=n)
        share = self._share_telling(doubt, self.knobs.plainly)
        found, self.doubt = self.dependence.strength(self.start, share, n), doubt(share)
        return found if found - self.knobs.doubt * self.doubt > least else None

    def _worth(self) -> float:
        """The expected errors that dependence must reach: more where choices do not do for a tree."""
        paid = self._choices_paid() / (len(self.variables) - 1)
        return self.knobs.worth + self.knobs.starved * max(0.0, 1 - paid)

    def _aiming(self) -> bool:
        """Whether pairs with the schema's target are counted where nothing else is: not in noise alone."""
        target = any(variable.attribute == self.table.schema.target for variable in self.variables)
        return target and len(self.variables) > 1 and self.error <= self.knobs.hopeless

    def _one_ways(self, share: Fraction) -> list[Measured]:
        views, label = self._columns(), "one-way counts"
        noisy = self.tier.noise(self.sensitivity, share) / max(self.n, self.unsure)
        pay = self.tier.rest(label) if share == self.tier.left else self.tier.part(label, share)
        shares = self._shares(weights(views, noisy))
        parts = [pay.part(self._name(view.parts), each) for view, each in zip(views, shares, strict=True)]
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
