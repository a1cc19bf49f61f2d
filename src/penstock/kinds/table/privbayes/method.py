"""PrivBayes: a Bayesian network that is chosen privately, then counted.

The published algorithm with its presets; `penstock.kinds.table.confluence` makes the same kind of model in
another way.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so.
Why: the parts of the budget add up to the whole. One part pays for the number of records where that
is not public, one for the choices of the network (`structure`), the rest for noisy marginals
(`joints`). Everything after that is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Share, Whole
from penstock.errors import UsageError
from penstock.kinds.table.adaptive_bins import at_most
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.conditionals import (
    Empty,
    Measured,
    Repair,
    added_up,
    conditional,
    measure,
)
from penstock.kinds.table.network.encoding import Encoding, EncodingName, encoded
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent
from penstock.kinds.table.network.release import NetworkRelease
from penstock.kinds.table.network.ruled import next_ones, precedence, ruled, ruled_out_of
from penstock.kinds.table.network.views import cleared
from penstock.kinds.table.privbayes.agreement import agreeing
from penstock.kinds.table.privbayes.joints import repaired, sources
from penstock.kinds.table.privbayes.parent_sets import affordable_cells
from penstock.kinds.table.privbayes.scores import ScoreName
from penstock.kinds.table.privbayes.sensitivity import Bound, largest_change
from penstock.kinds.table.privbayes.structure import (
    SealedScores,
    binary_candidates,
    general_candidates,
    learn,
)
from penstock.kinds.table.privbayes.usefulness import (
    MOST_POSSIBLE,
    affordable,
    candidates,
    cell_limit,
    degree,
)
from penstock.kinds.table.support import Support
from penstock.postprocessing import weighted_mean
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Preset = Literal["plain", "journal", "thesis"]

SIZE_SHARE = Fraction(1, 20)
"""Of the budget, for the number of records where the schema does not declare it."""

NOTHING = "Nothing was spent."

FEW_PARENTS = 2
"""Up to this degree score F found better networks than R in our study; beyond it R is as good and cheap."""


@dataclass(frozen=True)
class PrivBayes(Method[Table]):
    """A Bayesian network of noisy conditional tables, as published.

    Pure epsilon for one unit added or removed, or one record replaced where the schema says so: the choices
    of the network and the counts of its tables have parts of the budget that add up to the whole.

    `preset` names the other parameters together:

    * ``plain``: the algorithm of the paper with proven tight sensitivities, permute-and-flip choices,
      marginals that are not paid for twice and are made to agree with each other (`agree`);
    * ``journal`` (beta 3/10, theta 4) and ``thesis`` (beta 1/2, theta 3): as published.

    What is given beside it changes the preset. `beta` is the share of the budget for the
    network, `theta` how useful a marginal must be, `degree` fixes the number of parents of a binary
    network (chosen by theta otherwise) and `max_degree` caps it; without a cap of yours, degrees that
    would take more than some 400,000 candidates are left out for their computing time. So are larger
    tables of general networks. Where adaptive bins come out fewer than they might, the network is no larger
    than its variables allow.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> rows = pl.DataFrame({"smoker": [True, False] * 500, "coughs": [True, False] * 500})
    >>> budget = Budget(1, randomness=Randomness.seeded(1))
    >>> release = PrivBayes().fit(Table.open(rows, schema), budget)
    >>> release.query("smoker = true and coughs = false").value < 50
    True
    >>> release.receipt.epsilon
    Fraction(1, 1)
    """

    name: ClassVar[str] = "privbayes"

    preset: Preset = "plain"
    encoding: EncodingName | None = None
    score: Literal["auto"] | ScoreName | None = None
    beta: Annotated[Amount | None, Share(none=True)] = None
    theta: Annotated[Amount | None, Exact(above=0)] = None
    degree: Annotated[int | None, Whole(least=0)] = None
    max_degree: Annotated[int | None, Whole(least=0)] = None
    sensitivity: Bound | None = None
    choice: choice.Method | None = None
    repair: Repair | None = None
    empty: Empty | None = None
    reuse: bool | None = None
    agree: bool | None = None

    def __post_init__(self) -> None:
        if str(self.preset) == "adaptive":  # its first name, which old notes still have
            raise UsageError(
                f"The preset 'adaptive' is a method of its own: use the method confluence. {NOTHING}"
            )
        super().__post_init__()

    def fit(self, table: Table, budget: Budget) -> NetworkRelease:
        """Learn a network and its tables; spends the whole budget."""
        self.ready(table, budget)
        recipe = self.recipe()
        return _Fit(recipe, encoded(recipe.encoding, table.attributes), table, budget).release()

    def check(self, schema: Schema) -> None:
        """Refuse parameters that cannot work on a table of this schema; needs neither records nor budget."""
        recipe = self.recipe()
        recipe.check_fit(encoded(recipe.encoding, at_most(schema).attributes), schema)

    @property
    def _given(self) -> dict[str, Any]:
        """The parameters beside the preset that somebody set."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "preset"}
        return {name: value for name, value in values.items() if value is not None}

    def recipe(self) -> Recipe:
        """Every parameter with its value, given or from the preset."""
        given = self._given
        for name in ("beta", "theta"):
            if name in given:
                given[name] = exact(given[name], name)
        return replace(PRESETS[self.preset], **given)


@dataclass(frozen=True)
class Recipe:
    """The parameters of the published algorithm, all of them set."""

    preset: Preset
    encoding: EncodingName = "hierarchical"
    score: ScoreName | Literal["auto"] = "auto"
    beta: Fraction = Fraction(3, 10)
    theta: Fraction = Fraction(4)
    degree: int | None = None
    max_degree: int | None = None
    sensitivity: Bound = "tight"
    choice: choice.Method = "permute-and-flip"
    repair: Repair = "project"
    empty: Empty = "back off"
    reuse: bool = True
    agree: bool = True

    def check_fit(self, encoding: Encoding, schema: Schema) -> None:
        """Refuse what cannot work on a table of this schema, of which there are these variables at most."""
        d = len(encoding.variables)
        for name, number in (("degree", self.degree), ("max_degree", self.max_degree)):
            if number is None:
                continue
            if not encoding.binary:
                raise UsageError(
                    f"{name} belongs to binary networks; this table has attributes of more than two values. "
                    f"Use encoding 'binary' or 'gray', or leave {name} out. {NOTHING}"
                )
            if not 0 <= number <= max(0, d - 1):
                raise UsageError(f"{name} must lie between 0 and {max(0, d - 1)}, not at {number}. {NOTHING}")
        if self.degree is not None and candidates(d, self.degree) > MOST_POSSIBLE:
            raise UsageError(
                f"A network of degree {self.degree} over {d} variables has {candidates(d, self.degree):,} "
                f"candidates, more than fit into memory; choose a smaller degree. {NOTHING}"
            )
        if self.score == "F" and not encoding.binary:
            raise UsageError(f"Score F needs attributes of two values; choose score R. {NOTHING}")
        if self.score == "I" and schema.relation is not Relation.REPLACE:
            raise UsageError(
                "Score I has no useful sensitivity under 'add-remove'; choose score R or F, or declare "
                f"relation 'replace' with a public size. {NOTHING}"
            )
        if schema.relation is Relation.REPLACE and schema.size is not None:
            most = max(0, d - 1) if self.max_degree is None else self.max_degree
            score = self.score_for(encoding, most if self.degree is None else self.degree)
            largest_change(score, schema.relation, binary=True, n=schema.size)  # refuses too many records

    def score_for(self, encoding: Encoding, k: int | None) -> ScoreName:
        """The score that 'auto' stands for; it follows from the schema."""
        if self.score != "auto":
            return self.score
        if not encoding.binary or k is None:
            return "R"
        return "F" if self.preset != "plain" or k <= FEW_PARENTS else "R"

    def public(self) -> dict[str, Any]:
        """For the release: plain JSON."""
        return {
            field.name: str(value) if isinstance(value, Fraction) else value
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None
        }


_PUBLISHED = Recipe(
    "journal",
    sensitivity="published",
    choice="exponential",
    repair="clamp",
    empty="uniform",
    reuse=False,
    agree=False,
)
PRESETS: dict[str, Recipe] = {
    "plain": Recipe("plain"),
    "journal": _PUBLISHED,
    "thesis": replace(_PUBLISHED, preset="thesis", beta=Fraction(1, 2), theta=Fraction(3)),
}


class _Fit:
    """One run of the published algorithm: size, network, marginals, conditionals."""

    def __init__(self, recipe: Recipe, encoding: Encoding, table: Table, budget: Budget) -> None:
        self.recipe, self.encoding, self.table, self.budget = recipe, encoding, table, budget
        self.variables = encoding.variables
        self.parameters = recipe.public()
        self.noisy_size: tuple[float, float] | None = None
        self.support = Support.of(table.schema)
        self.before = precedence(encoding, self.support)

    def release(self) -> NetworkRelease:
        if not self.variables:
            return self._of_constants()
        n = self._size()
        pairs = self._network(n)
        measured, tables, margins = self._conditionals(pairs)
        network = Network(self.variables, tuple(pairs), tuple(tables))
        if self.support:
            self.parameters["broken_without_rules"] = ruled_out_of(network, self.encoding, self.support)
        return self._made(measured, ruled(network, self.encoding, self.support, margins))

    def _size(self) -> int:
        """The number of records as far as it is public or paid for; it decides k and T only."""
        if self.table.public_size is not None:
            return self.table.public_size
        pay = self.budget.part("number of records", SIZE_SHARE)
        sealed = self.table.size()
        deviation = noise.standard_deviation(sealed.sensitivity.l1, pay.epsilon)
        noisy = int(noise.counts(sealed, pay=pay)[0])
        self.noisy_size = (float(noisy), deviation**2)
        return max(0, noisy)

    def _network(self, n: int) -> list[Pair]:
        recipe, d = self.recipe, len(self.variables)
        left = self.budget.left[0]
        l1 = self.table.marginal_sensitivity().l1
        k: int | None = None
        if self.encoding.binary:
            k = None if recipe.degree is None else min(recipe.degree, d - 1)
            if k is None:
                asked = recipe.max_degree
                largest = affordable(d) if asked is None else min(asked, affordable(d, MOST_POSSIBLE))
                k = degree(n, (1 - recipe.beta) * left, d, recipe.theta, l1, largest)
            self.parameters["degree"] = k
            options = binary_candidates(self.variables, k, self.before)
        else:
            cells = cell_limit(n, (1 - recipe.beta) * left, d, recipe.theta, l1)
            cells = affordable_cells([variable.sizes for variable in self.variables], cells)
            self.parameters["cells"] = cells
            options = general_candidates(self.variables, cells, self.before)
        score = recipe.score_for(self.encoding, k)
        self.parameters["score"] = score
        if d == 1 or k == d - 1 or recipe.beta == 0:
            return self._unchosen(d if k is None else k)
        share = recipe.beta * left / self.budget.epsilon / (d - 1)
        known = SealedScores(self.table, self.variables, score, recipe.sensitivity)
        return learn(known, options, self.budget, share, recipe.choice)

    def _unchosen(self, k: int) -> list[Pair]:
        """Where there is nothing to choose, or no budget to choose with: the order of the schema.

        With k = d - 1 every network is the full table, and with one attribute there is one network.
        """
        order: list[int] = []
        while len(order) < len(self.variables):
            order.append(next_ones(len(self.variables), self.before, order)[0])
        if not self.encoding.binary:
            return [Pair(number) for number in order]
        return [
            Pair(number, tuple(Parent(other) for other in order[max(0, place - k) : place]))
            for place, number in enumerate(order)
        ]

    def _conditionals(self, pairs: list[Pair]) -> tuple[list[Measured], list[Any], dict[int, Any]]:
        """The counted marginals, the conditional tables, and the distribution of each variable by itself."""
        source = sources(self.variables, pairs, reuse=self.recipe.reuse or self.encoding.binary)
        counted = sorted(set(source))
        counts = self.budget.rest("counts")
        names = [self._label(pairs[number]) for number in counted]
        marginals = [pairs[number].parts for number in counted]
        measured = measure(self.table, self.variables, marginals, counts.evenly(names))
        seen = cleared(measured, self.variables, self.encoding.sizes, self.support)
        found = agreeing(seen, self.variables) if self.recipe.agree else [one.counts for one in seen]
        joints = {
            number: repaired(counts, self.recipe.repair)
            for number, counts in zip(counted, found, strict=True)
        }
        tables = [
            conditional(
                added_up(joints[source[number]], pairs[source[number]].parts, pair.parts, self.variables),
                self.recipe.empty,
            )
            for number, pair in enumerate(pairs)
        ]
        margins = {
            pair.child: repaired(
                added_up(
                    np.asarray(found[counted.index(source[number])], dtype=np.float64),
                    pairs[source[number]].parts,
                    (Parent(pair.child),),
                    self.variables,
                ),
                self.recipe.repair,
            )
            for number, pair in enumerate(pairs)
            if self.recipe.agree and not self.encoding.binary
        }
        return measured, tables, margins

    def _label(self, pair: Pair) -> str:
        names = [self.variables[part.variable].name for part in pair.parts]
        return " × ".join(names)

    def _made(self, measured: list[Measured], network: Network) -> NetworkRelease:
        return NetworkRelease(
            method="privbayes",
            schema=self.table.schema,
            receipt=self.budget.receipt(self.table.schema.unit, self.table.relation),
            parameters=self.parameters,
            total=self._total(measured),
            encoding=self.encoding,
            network=network,
            measured=tuple(measured),
        )

    def _total(self, measured: list[Measured]) -> float:
        if self.table.public_size is not None:
            return float(self.table.public_size)
        estimates = [(float(one.counts.sum()), one.total_variance) for one in measured]
        estimates += [self.noisy_size] if self.noisy_size is not None else []
        values, variances = zip(*estimates, strict=True)
        return max(0.0, weighted_mean(values, [max(v, 1e-12) for v in variances]))

    def _of_constants(self) -> NetworkRelease:
        """A table in which every attribute has one code: only the number of records is unknown."""
        pay = self.budget.rest("number of records")
        sealed = self.table.size()
        noisy = noise.counts(sealed, pay=pay)
        self.noisy_size = (float(noisy[0]), 1.0)
        return self._made([], Network((), (), ()))
