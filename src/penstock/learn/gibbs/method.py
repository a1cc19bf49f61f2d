"""A Gibbs learner over a public list of rules: good ones are likely to be drawn, and that is private.

Guarantee: pure epsilon, for one record added or removed, or replaced by another (for one user: as many
records as the schema allows).
Why: the rules follow from the schema: *if a column has this value (or one below a cut), then this label, else
that one*. A rule is drawn with probability proportional to prior exp(-lam risk), where risk is the share of
records that it gets wrong. A record is got right or wrong once by every rule, so this is an exponential
mechanism over counts that all move in one direction by 1 where a record comes or goes (and by 1 in either
where one is replaced, when lam = n epsilon / 2). The prior is public: all columns weigh the same, or all
rules.

Where the number of records is public, a share of the budget can buy a bound on how often rules that are drawn
so are wrong in the mean on records of the same sort (the one that was drawn may be worse than the mean):
Catoni's, which needs of the records only the free energy
-(1/lam) ln E exp(-lam risk), a number that moves by 1/n. It is told with noise, and a margin for the noise.

Reference: D. J. Mir, "Differential privacy: an exploration of the privacy-utility landscape" (Rutgers 2013),
chapter 8; O. Catoni, "PAC-Bayesian supervised classification" (IMS 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Share, Text
from penstock.errors import UsageError
from penstock.kinds.table.data import Table
from penstock.learn.gibbs.energy import paid_bound
from penstock.learn.linear.features import target_column
from penstock.learn.linear.release import LinearRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_RULES = 1 << 18
_WEIGHT = 1 << 40


@dataclass(frozen=True)
class Rules:
    """All rules of a schema, column by column; the last are those that answer one label whatever a row is.

    A condition is a set of codes of one column; with k labels it makes k (k - 1) rules, one for each pair of
    different labels, the first of which is answered where the condition holds.
    """

    columns: tuple[str, ...]
    conditions: tuple[NDArray[np.bool_], ...]
    labels: int

    @classmethod
    def of(cls, schema: Schema, target: str) -> Rules:
        """A cut between any two values of an ordered column; each value of another against the rest."""
        columns, conditions = [], []
        for attribute in schema.attributes:
            if attribute.name == target or attribute.size < 2:
                continue
            codes = np.arange(attribute.size)
            if attribute.ordered:
                ends = range(1, attribute.regular + (attribute.regular < attribute.size))
                held = [codes < end for end in ends]
            else:
                held = [codes == code for code in (codes[1:] if attribute.size == 2 else codes)]
            columns.append(attribute.name)
            conditions.append(np.array(held).reshape(len(held), attribute.size))
        return cls(tuple(columns), tuple(conditions), schema.attribute(target).size)

    @property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The labels where a condition holds, and where it does not."""
        one, two = np.nonzero(~np.eye(self.labels, dtype=np.bool_))
        return one, two

    @property
    def number(self) -> int:
        """How many rules there are."""
        return sum(map(len, self.conditions)) * self.labels * (self.labels - 1) + self.labels

    def prior(self, by: str) -> Counts:
        """Whole weights of the rules: the same for all, or the same in sum for every column."""
        each = [len(held) * self.labels * (self.labels - 1) for held in self.conditions]
        if by == "rules":
            return np.ones(self.number, dtype=np.int64)
        return np.repeat([_WEIGHT // many for many in (*each, self.labels)], [*each, self.labels])

    def right(self, tables: Sequence[Counts]) -> Counts:
        """How many records each rule gets right, from the counts of every column with the target."""
        one, two = self.pairs
        found = []
        for held, table in zip(self.conditions, tables[:-1], strict=True):
            counts = table.reshape(held.shape[1], self.labels)
            inside = held.astype(np.int64) @ counts
            outside = counts.sum(axis=0) - inside
            found.append((inside[:, one] + outside[:, two]).ravel())
        return np.concatenate([*found, tables[-1]])

    def drawn(self, rule: int) -> tuple[str | None, NDArray[np.bool_], int, int]:
        """A rule by its number: its column, its condition, and both labels."""
        one, two = self.pairs
        for name, held in zip(self.columns, self.conditions, strict=True):
            many = len(held) * len(one)
            if rule < many:
                place, pair = divmod(rule, len(one))
                return name, held[place], int(one[pair]), int(two[pair])
            rule -= many
        return None, np.zeros(0, dtype=np.bool_), rule, rule


@dataclass(frozen=True)
class GibbsRule(Method[Table]):
    """One rule that predicts a label from a single column, drawn by how many records it gets right.

    `target` is the column to predict (None: the schema's). `prior` weighs all `columns` the same, or all
    `rules`. `bound` is the share of the budget that buys a bound on the mean risk of rules that are drawn so,
    which needs a public number of records (relation `replace`); it is told among the release's parameters.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> smokers = [True] * 40 + [False] * 60
    >>> table = Table.open(pl.DataFrame({"smoker": smokers, "coughs": smokers}), schema)
    >>> release = GibbsRule(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "gibbs-rule"

    target: Annotated[str | None, Text()] = None
    prior: Literal["columns", "rules"] = "columns"
    bound: Annotated[Amount, Share(none=True)] = 0

    def check(self, schema: Schema) -> None:
        """Refuse a target of numbers, too many rules, and a bound without a public number of records."""
        number = Rules.of(schema, target_column(schema, self.target, "labels")).number
        if number > MOST_RULES:
            raise UsageError(
                f"The columns make {number:,} rules, and {MOST_RULES:,} are the most; leave out columns or "
                "labels. Nothing was spent."
            )
        if exact(self.bound, "bound") and schema.relation is not Relation.REPLACE:
            raise UsageError(
                "A bound on the risk needs a public number of records: set 'relation: replace' and 'size' in "
                "the schema, or leave bound out. Nothing was spent."
            )

    def cells(self, schema: Schema) -> int:
        """One number for each code and label."""
        return sum(schema.sizes.values()) * max(schema.sizes.values())

    def fit(self, table: Table, budget: Budget) -> LinearRelease:
        """Draw a rule, and buy a bound where one is asked for; spends the whole budget."""
        self.ready(table, budget)
        schema = table.schema
        target = target_column(schema, self.target, "labels")
        rules = Rules.of(schema, target)
        scores = sealed_scores(table, rules, target)
        share, base = exact(self.bound, "bound"), rules.prior(self.prior)
        told: dict[str, Any] = {"target": target, "prior": self.prior, "bound": str(share)}
        for_rule = budget
        if share:
            for_rule, for_bound = budget.split(rule=1 - share, bound=share)
            size = table.schema.size or 1
            told["risk_at_most"] = paid_bound(scores, base, size, 1, for_rule.left[0], for_bound)
        rule = choice.best(scores, pay=for_rule, method="exponential", base=base)
        return _release(self.name, table, target, rules, rule, budget, told)


def sealed_scores(table: Table, rules: Rules, target: str) -> Sealed[Counts]:
    """How many records each rule gets right, sealed."""
    records = table.marginal_sensitivity()
    return table.derive(
        [*((name, target) for name in rules.columns), (target,)],
        rules.right,
        Sensitivity.scores(records.linf, rules.number, monotone=records.monotone),
        shape=(rules.number,),
        because="every rule gets a record right or wrong, whatever the other records are: a record that "
        "comes or goes moves each count by 1 at most, all in one direction; one that is replaced moves each "
        "by 1 in either; a unit of m records moves m times as far",
    )


def _release(
    method: str, table: Table, target: str, rules: Rules, rule: int, budget: Budget, told: dict[str, Any]
) -> LinearRelease:
    """The rule as effects: 1 for the label that it answers. With two labels one number tells which."""
    schema = table.schema
    column, condition, one, two = rules.drawn(rule)
    answers = 1 if rules.labels == 2 else rules.labels
    each = np.eye(rules.labels) if answers > 1 else np.array([[-1.0], [1.0]])
    effects = [
        np.where(condition[:, None], each[one], each[two])
        if name == column
        else np.zeros((schema.sizes[name], answers))
        for name in schema.names
        if name != target
    ]
    return LinearRelease(
        method=method,
        schema=schema,
        parameters=told,
        receipt=budget.receipt(schema.unit, table.relation),
        target=target,
        link="sign",
        intercepts=np.zeros(answers) if column is not None else each[one].copy(),
        effects=np.concatenate([np.zeros((0, answers)), *effects]),
    )
