"""What a run of confluence has, and what every step of it does: pay, count, put together what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from math import sqrt

from penstock.kinds.table.confluence.arrangement import Arrangement
from penstock.kinds.table.confluence.assembly import Assembly
from penstock.kinds.table.confluence.columns import blocks
from penstock.kinds.table.confluence.contrasts import counted
from penstock.kinds.table.confluence.dependence import Dependence
from penstock.kinds.table.confluence.knobs import Knobs
from penstock.kinds.table.confluence.limits import Limits
from penstock.kinds.table.confluence.packing import View, averaged, beside_columns, price, shares, view_of
from penstock.kinds.table.confluence.products import Products
from penstock.kinds.table.confluence.tiers import PureTier, Tier
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.encoding import encoded
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.kinds.table.network.release import TOLD
from penstock.kinds.table.network.ruled import precedence
from penstock.kinds.table.network.views import cleared
from penstock.kinds.table.support import Support
from penstock.privacy.budgets.budget import Budget, Rho
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema.attribute import Attribute

_LEAST = Fraction(1, 500)  # a number that is paid no more than this of the budget is not paid less


class Run:
    """A table, a budget, and what is public of either so far."""

    def __init__(self, table: Table, budget: Budget, knobs: Knobs) -> None:
        self.table, self.budget, self.knobs = table, budget, knobs
        self.start = PureTier(budget)
        self.tier: Tier = self.start
        self.sensitivity = table.marginal_sensitivity()
        self.encoding = encoded("vanilla", table.attributes)
        self.variables = self.encoding.variables
        self.support = Support.of(table.schema)
        self.seen = [Parent(number) for number in range(len(self.variables))]
        self.parameters: dict[str, object] = {"rows": TOLD}
        self.n = 1
        self.unsure = 0.0
        self.lost: frozenset[int] = frozenset()  # columns of which noise leaves nothing
        self.products: Products | None = None  # what tells all pairs, where tables of them do not
        self.alone: list[Measured] = []  # single columns, where these were counted first
        self.paid_alone = 0.0  # the share that they got
        self.chosen: list[ParentSet] = []  # the pairs that are counted, where not all are
        self.untold: list[tuple[int, ...]] = []  # triples that no table holds, where some are worth a look
        self.doubt = 0.0  # how far off the strength of dependence is on average
        self.least = 0.0  # what it must reach for tables of some pairs to be worth their noise
        self.mean: tuple[float, float] | None = None  # that of all pairs, if asked for, and how far off it is
        self.error = 1.0  # the mean distance that noise would make in the columns and a tree of coarse pairs

    def _arranged(self) -> Arrangement:
        sizes = [variable.sizes for variable in self.variables]
        return Arrangement(self.tier, self.sensitivity, self.n, self.knobs, sizes)

    def _noise_of(self, views: Sequence[View], apart: Iterable[float]) -> tuple[float, float]:
        """Of these tables for all the epsilon that is left, and of the areas of `apart` for its rho."""
        return self.start.totals([view.area for view in views], self.sensitivity, list(apart))

    def _noise_of_pairs(self, levels: Sequence[int]) -> tuple[float, float]:
        """Of all pairs at these levels; under rho with that of their columns, counted beside them."""
        sizes = [variable.sizes[level] for variable, level in zip(self.variables, levels, strict=True)]
        apart = [float((one - 1) * (two - 1)) for one, two in combinations(sizes, 2)]
        apart += [self._area_in_pairs(size, len(sizes) - 1) for size in sizes]
        return self._noise_of(self._arranged().pairs(levels), apart)

    def _better_in_rho(self, levels: Sequence[int], products: Products | None = None) -> bool:
        """Whether rho has less noise for all pairs than epsilon has, in tables or in a noisy matrix.

        Of either all is looked at that tells columns: what each of them has is in all of its tables.
        """
        if products is not None:
            pure = products.noise_told(self.start.budget.left[0])
        else:
            pure = self.start.totals(averaged(self._arranged().pairs(levels)), self.sensitivity)[0]
        sizes = [variable.sizes[level] for variable, level in zip(self.variables, levels, strict=True)]
        alone = [self._area_in_pairs(size, len(sizes) - 1) for size in sizes]
        return self.start.totals([], self.sensitivity, [beside_columns(sizes, alone)])[1] < pure

    def _area_in_pairs(self, groups: float, often: float) -> float:
        """How much noise a single column is in so many pairs that are counted without it."""
        return self.knobs.columns * often * sqrt(groups * max(1.0, groups - 1))

    @cached_property
    def dependence(self) -> Dependence:
        """Of all columns of two codes or more, as the schema has them."""
        return Dependence(self.table, self._attributes)

    def _mean_dependence(self, plainly: float) -> tuple[float, float]:
        """How far all pairs are from independent on average, asked for once, and how far off that may be."""
        if self.mean is None:
            share, doubt = self._asked_for_mean(plainly)
            self.mean = self.dependence.of_all(self.start, share, self.n), doubt
        return self.mean

    def _asked_for_mean(self, plainly: float) -> tuple[Fraction, float]:
        """What that number is paid, and how far off it is then."""
        doubt = partial(self.dependence.doubt, self.start, records=self.n)
        share = self._share_telling(doubt, plainly)
        return share, doubt(share)

    def _choices_paid(self) -> float:
        """How many choices the budget pays for that are noisy by no more than they may be."""
        moves = Sensitivity.scores(self.sensitivity.l1, candidates=2)
        return self.start.most_of_either(moves, self.knobs.choices, self.knobs.choice_noise * self.n)

    @property
    def _attributes(self) -> list[Attribute]:
        """One for each variable: columns of one code have none."""
        return [self.table.schema.attribute(variable.attribute) for variable in self.variables]

    def _share_telling(
        self, doubt: Callable[[Fraction], float], plainly: float, most: Fraction | None = None
    ) -> Fraction:
        """What a single number, or a choice, is asked for: less where less tells it `plainly`."""
        share = self.knobs.number if most is None else most
        while share > _LEAST and doubt(share / 2) < plainly:
            share /= 2
        return share

    def _columns(self) -> list[View]:
        """The tables in which single columns are counted first."""
        sizes = [variable.sizes for variable in self.variables]
        if not self.knobs.pack:
            return [view_of((part,), sizes, self.tier.power) for part in self.seen]
        return blocks(self.seen, sizes, self.tier.power)

    def _told_columns(self) -> list[View]:
        """Those of columns of which noise leaves something."""
        return [view for view in self._columns() if view.parts[0].variable not in self.lost]

    def _share(self, n: int) -> Fraction:
        """Of the one-way counts: large where their expected error would be, if they got everything."""
        views = self._told_columns()
        columns = sum(len(view.parts) for view in views)
        error = self.tier.total(price(views), self.sensitivity) / (2 * columns * n)
        share = Fraction(round(1000 / (1 + sqrt(self.knobs.balance / (2 * error)))), 1000)
        return min(max(share, Fraction(1, 10)), Fraction(3, 5))

    def _counted(self, views: Sequence[View], pay: Budget | Rho) -> list[Measured]:
        shares = self._shares([self._weight(view) for view in views])
        parts = [pay.part(self._name(view.parts), share) for view, share in zip(views, shares, strict=True)]
        apart = [view.apart for view in views]
        known = self._assembly(self.alone) if any(apart) else None
        return counted(self.table, self.variables, [view.parts for view in views], parts, apart, known)

    def _split(self, views: Iterable[View]) -> list[View]:
        """These, and which of them are counted with their columns although they are pairs."""
        return [replace(view, whole=view.apart and not self._splits(view.parts)) for view in views]

    def _splits(self, parts: ParentSet) -> bool:
        """Whether a pair can be counted without its columns: all combinations of its codes can occur."""
        names = {self.variables[part.variable].attribute for part in parts}
        possible = not any(names >= set(scope) for scope, _ in self.support.impossible)
        return possible and min(self.variables[part.variable].sizes[part.level] for part in parts) > 1

    def _shares(self, weights: Sequence[float]) -> list[Fraction]:
        return shares([1.0] * len(weights) if self.knobs.even else weights)

    def _weight(self, view: View) -> float:
        return view.weight * (self.knobs.detail if len(view.parts) == 1 else 1.0)

    def _name(self, parts: ParentSet) -> str:
        return " × ".join(self.variables[part.variable].name for part in parts)

    def _assembly(self, measured: Sequence[Measured]) -> Assembly:
        size = self.table.public_size
        clearing = partial(cleared, variables=self.variables, sizes=self.encoding.sizes, support=self.support)
        return Assembly(
            self.variables,
            clearing(measured),
            None if size is None else float(size),
            self._limits(),
            precedence(self.encoding, self.support),
            frozenset(
                number
                for number, variable in enumerate(self.variables)
                if self.table.schema.attribute(variable.attribute).ordered
            ),
            clearing,
        )

    def _limits(self) -> Limits:
        """Families may be larger where noise is small against the number of records."""
        limits = self.knobs.limits
        clear = limits.clear * self.n / self.tier.noise(self.sensitivity)
        most = min(limits.most, limits.together // max(1, len(self.variables)))
        return replace(limits, cells=max(limits.cells, int(min(clear, most))))
