"""The functional mechanism: noisy coefficients of a quadratic loss, and the weights that minimise it.

Guarantee: pure epsilon, for one record added or removed, or replaced by another (for one user: as many
records as the schema allows).
Why: the loss is a polynomial of degree 2 in the weights, and all that the records say in it are two tables of
sums: products of every two features, and products of every feature with the response. A record adds to each
of them no more than the features of a possible record allow (`sensitivities`), whole numbers of steps on both
sides, so that nothing is rounded. Each table gets discrete Laplace noise for its share of the budget. What
follows is post-processing: the noisy table of products is made positive, and a linear system is solved.

* Numbers: the loss is (y - x w)^2; the table of responses sums y x.
* Labels: ln(1 + e^z) is replaced by its Taylor polynomial at 0, ln 2 + z/2 + z^2/8. All labels share the
  table of products, and the table of responses has one column for each label, in one of which a record
  counts: so k labels cost no more than two.

Each product is counted once (x_j x_l and x_l x_j are one), the constant is not counted at all, and products
that are 0 for every possible record, such as two categories of one column, are not counted either.

Reference: J. Zhang, Z. Zhang, X. Xiao, Y. Yang and M. Winslett, "Functional mechanism: regression analysis
under differential privacy" (VLDB 2012). Its sensitivities, 2 (1 + 2d + d^2) for numbers and d^2/4 + 3d for
labels, are larger than what a record can do; here they are those of the features that there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Number, Share, Text
from penstock.kinds.table.data import Table
from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import STEPS, Problem, Task, target_column
from penstock.learn.linear.release import LinearRelease, predictor
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]

EXACT = 1 << 53
"""Doubles hold whole numbers up to here."""


@dataclass(frozen=True)
class FunctionalMechanism(Method[Table]):
    """Linear regression of a range of numbers, or logistic regression of labels, from noisy sums of products.

    `target` is the column to predict (None: the schema's); what it holds decides which of the two it is.
    `responses` is the share of the budget that goes to the sums with the response, and `ridge` is added to
    the diagonal of the table of products, in units of how far its noise is expected to move an eigenvalue.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... fields:
    ...   - {name: rooms, type: integer, constraints: {minimum: 1, maximum: 9}}
    ...   - {name: rent, type: number, constraints: {minimum: 0, maximum: 900}, bins: {count: 100}}
    ... ''')
    >>> rooms = [1 + row % 9 for row in range(9000)]
    >>> frame = pl.DataFrame({"rooms": rooms, "rent": [100.0 * each for each in rooms]})
    >>> table = Table.open(frame, schema)
    >>> release = FunctionalMechanism(target="rent").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> [round(rent, -2) for rent in release.predict(pl.DataFrame({"rooms": [2, 8]}))["rent"]]
    [200.0, 800.0]
    """

    name: ClassVar[str] = "functional-mechanism"

    target: Annotated[str | None, Text()] = None
    responses: Annotated[Amount, Share()] = "1/3"
    ridge: Annotated[float, Number(least=0.0, most=1e6)] = 1.0

    def check(self, schema: Schema) -> None:
        """Refuse a target that is neither a column of categories nor a range of numbers."""
        target_column(schema, self.target, _task(schema, self.target))

    def cells(self, schema: Schema) -> int:
        """One number for each code and label."""
        return sum(schema.sizes.values()) * max(schema.sizes.values())

    def fit(self, table: Table, budget: Budget) -> LinearRelease:
        """Count the products, and solve for the weights; spends the whole budget."""
        self.ready(table, budget)
        schema = table.schema
        problem = Problem.of(schema, target_column(schema, self.target, _task(schema, self.target)))
        share = exact(self.responses, "responses")
        for_products, for_responses = budget.split(products=1 - share, responses=share)
        rows = table.coded_rows()
        sealed = products(rows, problem)
        deviation = noise.standard_deviation(sealed.sensitivity.l1, for_products.epsilon) / STEPS**2
        quadratic = np.asarray(noise.counts(sealed, pay=for_products)).astype(np.float64) / STEPS**2
        linear = noise.counts(responses(rows, problem), pay=for_responses).astype(np.float64) / STEPS**2
        weights = solved(problem, quadratic, linear, self.ridge * deviation)
        return predictor(
            self.name,
            table,
            problem,
            weights,
            "identity" if problem.task == "numbers" else "logistic",
            budget,
            parameters={"target": problem.target, "responses": str(share), "ridge": self.ridge},
        )


def _task(schema: Schema, stated: str | None) -> Task:
    target = schema.target if stated is None else stated
    ranged = target in schema.names and schema.field(str(target)).ranged
    return "numbers" if ranged else "labels"


# The sums ---------------------------------------------------------------------------------------------


def pairs(problem: Problem) -> tuple[Numbers, Numbers]:
    """The pairs of features, the smaller first, whose product can be other than 0; public."""
    features = problem.features
    possible = np.triu(np.ones((features.number, features.number), dtype=np.bool_))
    place = 1
    for lookup, width in zip(features.lookups, features.widths, strict=True):
        here = slice(place, place + width)
        together = np.abs(lookup).T @ np.abs(lookup) > 0
        possible[here, here] &= together
        place += width
    one, two = np.nonzero(possible)
    return one, two


def products_bound(problem: Problem) -> int:
    """How much the products of a record's features can be together, in squared steps.

    The sum of |x_j x_l| over j <= l is half of the square of the sum of all |x_j| and half of the sum of all
    squares; each is at most what the features allow.
    """
    features = problem.features
    whole = features.sum_bound**2 + features.longest
    return -int(-whole * STEPS**2 // 2)


def products(rows: Sealed[CodedRows], problem: Problem) -> Sealed[Numbers]:
    """The sums of the products of every two features, in squared steps, sealed."""
    one, two = pairs(problem)

    def counted(raw: CodedRows) -> Numbers:
        examples = problem.examples(raw)
        total = np.zeros((problem.features.number,) * 2, dtype=np.int64)
        for here, steps in examples.parts():
            weights = None if examples.weights is None else examples.weights[here]
            total += exact_product(steps, steps, weights)
        return total[one, two]

    return rows.claim(
        counted,
        _times(rows.sensitivity, products_bound(problem), int(problem.features.largest**2 * STEPS**2)),
        shape=(len(one),),
        dtype=np.int64,
        because="a record adds the products of its features, whose absolute values add up to no more than "
        "those of any possible record, and a unit moves as many records as the rows say",
    )


def responses(rows: Sealed[CodedRows], problem: Problem) -> Sealed[Numbers]:
    """The sums of the products of every feature with the response, in squared steps, sealed.

    For labels a record counts with its features in the column of its label. With two labels one column is
    enough, in which it counts with its features or with minus its features.
    """
    features, columns = problem.features, problem.answers
    most = int(np.abs(problem.values).max()) if problem.task == "numbers" else STEPS

    def counted(raw: CodedRows) -> Numbers:
        examples = problem.examples(raw)
        total = np.zeros((features.number, columns), dtype=np.int64)
        for here, steps in examples.parts():
            weights = None if examples.weights is None else examples.weights[here]
            total += exact_product(steps, examples.responses(here), weights)
        return total.ravel()

    bound = int(features.sum_bound * STEPS) * most
    return rows.claim(
        counted,
        _times(rows.sensitivity, bound, int(features.largest * STEPS) * most),
        shape=(features.number * columns,),
        dtype=np.int64,
        because="a record adds its features times its response, in one column; their absolute values add up "
        "to no more than those of any possible record, and a unit moves as many records as the rows say",
    )


def _times(records: Sensitivity, together: int, largest: int) -> Sensitivity:
    """Of sums to which a record adds so much together, and no more than `largest` to any one of them."""
    l1 = records.l1 * together
    return Sensitivity.of(l1, linf=min(l1, records.l1 * largest))


def exact_product(one: Reals, two: Reals, weights: Reals | None) -> Numbers:
    """The sum over rows of the products of two tables of whole numbers, exactly.

    Doubles are multiplied fastest, and hold it exactly as long as it stays below 2**53.
    """
    records = float(len(one)) if weights is None else float(weights.sum())
    heavy = one if weights is None else one * weights[:, None]
    if STEPS**2 * records < EXACT:
        return (heavy.T @ two).astype(np.int64)
    return heavy.astype(np.int64).T @ two.astype(np.int64)


# Post-processing --------------------------------------------------------------------------------------


def solved(problem: Problem, quadratic: Reals, linear: Reals, ridge: float) -> Reals:
    """The weights that minimise the noisy loss: always finite.

    True sums of products have no eigenvalue below 0, and noise of deviation s moves those of a table of d
    columns by about 2 s sqrt(d). `ridge` times that is added to all of them, and no eigenvalue is left below
    it (or below a record's own length).

    >>> schema = Schema.from_yaml("fields: [{name: a, type: boolean}, {name: b, type: boolean}]")
    >>> solved(Problem.of(schema, "a"), np.array([-8.0, 0.0, -9.0]), np.array([1.0, 2.0]), 0.5).shape
    (2, 1)
    """
    number = problem.features.number
    one, two = pairs(problem)
    table = np.zeros((number, number))
    table[one, two] = quadratic
    table = table + np.triu(table, 1).T
    added = 2 * ridge * float(np.sqrt(number))
    values, vectors = np.linalg.eigh(table)
    kept = np.maximum(values, 0.0) + max(added, 1.0)
    sums = linear.reshape(number, problem.answers)
    if problem.task == "numbers":
        return np.asarray(vectors @ ((vectors.T @ sums) / kept[:, None]))
    # the slope of the Taylor polynomial at the weights w is -s + M w / 4, where s sums x (y - 1/2)
    halves = sums / 2 if problem.answers == 1 else sums - sums.sum(axis=1, keepdims=True) / 2
    return np.asarray(4 * (vectors @ ((vectors.T @ halves) / kept[:, None])))
