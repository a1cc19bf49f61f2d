"""The functional mechanism: noisy coefficients of a quadratic loss, and the weights that minimise it.

Guarantee: pure epsilon, for one record added or removed, or replaced by another (for one user: as many
records as the schema allows).
Why: the loss is a polynomial of degree 2 in the weights, and all that the records say in it are two tables of
sums: products of every two features, and products of every feature with the response. A record adds to each
of them no more than the features of a possible record allow, whole numbers of steps on both sides, so that
nothing is rounded. Each table gets discrete Laplace noise for its share of the budget, and so do, for
numbers, their sum and how many there are. What follows is post-processing: the noisy table of products is
made positive, and a linear system is solved.

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
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Number, Share, Text
from penstock.kinds.table.data import Table
from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import STEPS, Examples, Problem, Task, target_column
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
MOST_RECORDS = 1 << 34
"""The sums of the products of so many records fit into 64 bits: none is larger than STEPS**2."""
FOR_MEAN = Fraction(1, 5)
"""The share of epsilon that goes to the mean of the numbers; chosen in the study."""
SPREAD = 0.1
"""The squared distance from 0 that means of numbers between -1 and 1 are expected to have."""
LEAST = 1e-12
LITTLE = 0.1
"""What is added at least to a sum of squares before it divides, where there is hardly any noise."""


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
    ridge: Annotated[float, Number(least=0.0, most=1e6)] = 0.7

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
        rows, centre, rest = table.coded_rows(), 0.0, budget
        if problem.task == "numbers":
            for_mean, rest = budget.split(mean=FOR_MEAN, sums=1 - FOR_MEAN)
            number = totals(rows, problem)
            wide = noise.standard_deviation(number.sensitivity.l1, for_mean.epsilon) / STEPS
            centre = middle(noise.counts(number, pay=for_mean) / STEPS, wide)
        for_products, for_responses = rest.split(products=1 - share, responses=share)
        sealed = products(rows, problem)
        deviation = noise.standard_deviation(sealed.sensitivity.l1, for_products.epsilon) / STEPS**2
        quadratic = np.asarray(noise.counts(sealed, pay=for_products)).astype(np.float64) / STEPS**2
        other = responses(rows, problem)
        spread = Spread(
            deviation, noise.standard_deviation(other.sensitivity.l1, for_responses.epsilon) / STEPS**2
        )
        linear = noise.counts(other, pay=for_responses).astype(np.float64) / STEPS**2
        weights = solved(problem, quadratic, linear, spread, self.ridge, centre)
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
        return product_sums(problem.examples(raw))[one, two]

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
    features = problem.features
    most = int(np.abs(problem.values).max()) if problem.task == "numbers" else STEPS

    def counted(raw: CodedRows) -> Numbers:
        return response_sums(problem.examples(raw)).ravel()

    bound = int(features.sum_bound * STEPS) * most
    return rows.claim(
        counted,
        _times(rows.sensitivity, bound, int(features.largest * STEPS) * most),
        shape=(features.number * problem.answers,),
        dtype=np.int64,
        because="a record adds its features times its response, in one column; their absolute values add up "
        "to no more than those of any possible record, and a unit moves as many records as the rows say",
    )


def totals(rows: Sealed[CodedRows], problem: Problem) -> Sealed[Numbers]:
    """The number of records and the sum of their numbers, both in steps, sealed."""

    def counted(raw: CodedRows) -> Numbers:
        examples = roomy(problem.examples(raw))
        held = examples.weights
        heavy = np.ones(examples.length, np.int64) if held is None else held.astype(np.int64)
        sum_of_all = heavy @ examples.responses()[:, 0].astype(np.int64)
        return np.array([STEPS * heavy.sum(), sum_of_all], dtype=np.int64)

    most = int(np.abs(problem.values).max())
    return rows.claim(
        counted,
        _times(rows.sensitivity, STEPS + most, STEPS),
        shape=(2,),
        dtype=np.int64,
        because="a record adds one to the number, and to the sum no more than the largest possible number; a "
        "unit moves as many records as the rows say",
    )


def _times(records: Sensitivity, together: int, largest: int) -> Sensitivity:
    """Of sums to which a record adds so much together, and no more than `largest` to any one of them."""
    l1 = records.l1 * together
    return Sensitivity.of(l1, linf=min(l1, records.l1 * largest))


def product_sums(examples: Examples) -> Numbers:
    """Raw: the sums of the products of every two features, in squared steps."""
    total = np.zeros((examples.problem.features.number,) * 2, dtype=np.int64)
    for here, steps in roomy(examples).parts():
        weights = None if examples.weights is None else examples.weights[here]
        total += exact_product(steps, steps, weights)
    return total


def response_sums(examples: Examples) -> Numbers:
    """Raw: the sums of the products of every feature with every response, in squared steps."""
    total = np.zeros((examples.problem.features.number, examples.problem.answers), dtype=np.int64)
    for here, steps in roomy(examples).parts():
        weights = None if examples.weights is None else examples.weights[here]
        total += exact_product(steps, examples.responses(here), weights)
    return total


def roomy(examples: Examples) -> Examples:
    """Raw: the records, which must not be more than 64 bits have room for; sums would wrap around."""
    if (examples.length if examples.weights is None else examples.weights.sum()) > MOST_RECORDS:
        raise OverflowError("so many products cannot be added up in 64 bits")
    return examples


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


@dataclass(frozen=True)
class Spread:
    """The deviation of the noise of each product, and of each sum with the response."""

    products: float
    responses: float


def solved(
    problem: Problem, quadratic: Reals, linear: Reals, spread: Spread, ridge: float, centre: float = 0.0
) -> Reals:
    """The weights that minimise the noisy loss: always finite.

    True sums of products have no eigenvalue below 0, and noise of deviation s moves those of a table of d
    columns by about 2 s sqrt(d). Those below 0 are set to 0, and `ridge` times that is added to all. Weights
    for numbers are held to those that answer `centre` for every record. How far they are from there explains
    some of the loss, as noise alone would; without that the same weights explain less, and they go only so
    far as is best then.

    >>> schema = Schema.from_yaml("fields: [{name: a, type: boolean}, {name: b, type: boolean}]")
    >>> problem, spread = Problem.of(schema, "a"), Spread(0.5, 0.5)
    >>> solved(problem, np.array([-8.0, 0.0, -9.0]), np.array([1.0, 2.0]), spread, 1.0).shape
    (2, 1)
    """
    number = problem.features.number
    one, two = pairs(problem)
    table = np.zeros((number, number))
    table[one, two] = quadratic
    table = table + np.triu(table, 1).T
    sums = linear.reshape(number, problem.answers)
    if problem.task == "labels":
        # the slope of the Taylor polynomial at the weights w is -s + M w / 4, where s sums x (y - 1/2)
        sums = 2 * sums if problem.answers == 1 else 4 * sums - 2 * sums.sum(axis=1, keepdims=True)
    base = np.zeros((number, 1))
    base[0] = centre * STEPS / problem.features.constant
    values, vectors = np.linalg.eigh(table)
    kept = np.maximum(values, 0.0) + max(2 * ridge * spread.products * float(np.sqrt(number)), LITTLE)
    left = vectors.T @ (sums - table @ base)
    moved = left / kept[:, None]
    if problem.task == "labels":
        return np.asarray(vectors @ moved)
    far = float((moved**2).sum() + base[0, 0] ** 2)
    by_noise = (spread.responses**2 + spread.products**2 * far) * float((1 / kept).sum())
    explained = float((moved * left).sum()) - by_noise
    lost = float((moved**2 * np.maximum(values, 0.0)[:, None]).sum())
    return np.asarray(base + (vectors @ moved) * min(1.0, max(0.0, explained) / max(lost, LEAST)))


def middle(noisy: Reals, deviation: float) -> float:
    """The mean of the numbers, from their noisy number and sum: nearer to 0 where these are mostly noise.

    The number of records n and their sum have noise of this deviation, and so the mean one of deviation / n.
    It is multiplied by what is best for means that are about a third away from 0.

    >>> round(middle(np.array([1000.0, 500.0]), 1.0), 4), middle(np.array([-3.0, 500.0]), 100.0)
    (0.5, 0.0)
    """
    number = max(float(noisy[0]), 0.0)
    trusted = number**2 + deviation**2 / SPREAD
    return float(np.clip(noisy[1] * number / trusted, -1.0, 1.0)) if trusted > 0 else 0.0
