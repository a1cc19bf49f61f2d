"""The functional mechanism: sums that move no further than stated, and a repair that always ends."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from penstock.audit.neighbours import Pair
from penstock.audit.sensitivity import moves
from penstock.kinds.table.data import Table
from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import STEPS, Features, Problem
from penstock.learn.linear.functional import (
    MOST_RECORDS,
    FunctionalMechanism,
    Spread,
    middle,
    pairs,
    product_sums,
    products,
    response_sums,
    responses,
    solved,
    totals,
)
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

MIXED = """
fields:
  - {name: a, type: boolean}
  - {name: c, constraints: {enum: [r, g, b]}}
  - {name: x, type: integer, constraints: {minimum: 0, maximum: 4}, missing: value}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 8}, bins: {count: 4}, missing: value}
"""
UNIVERSE = [(a, c, x, y) for a, c, x, y in product((True, False), "rgb", (0, 4, 2, None), (0.5, 7.5, None))]


def table(records: Any, facts: str = "") -> Table:
    types = {"a": pl.Boolean, "c": pl.String, "x": pl.Int64, "y": pl.Float64}
    return Table.open(
        pl.DataFrame(list(records), schema=types, orient="row"), Schema.from_yaml(facts + MIXED)
    )


@pytest.mark.parametrize(
    ("what", "target"), [*product((products, responses), ("a", "c", "y")), (totals, "y")]
)
def test_no_record_moves_the_sums_further_than_stated(what: Any, target: str) -> None:
    """Every possible record, added to nobody and to another one; and one of them moves them that far."""
    problem = Problem.of(Schema.from_yaml(MIXED), target)
    lonely = [Pair((), (record,)) for record in UNIVERSE]
    joined = [Pair(UNIVERSE[:1], (*UNIVERSE[:1], record)) for record in UNIVERSE[::5]]
    found = moves(lambda records: what(table(records).coded_rows(), problem), [*lonely, *joined])
    assert found.contradictions == []
    assert found.l1 >= 0.8 * float(found.stated.l1)


@pytest.mark.parametrize("target", ["c", "y"])
def test_a_replaced_record_moves_them_twice_as_far(target: str) -> None:
    facts = "relation: replace\nsize: 1\n"
    problem = Problem.of(Schema.from_yaml(facts + MIXED), target)
    swapped = [Pair((one,), (two,)) for one, two in product(UNIVERSE[::13], UNIVERSE[::11])]
    for what in (products, responses):
        found = moves(lambda records, what=what: what(table(records, facts).coded_rows(), problem), swapped)
        assert found.contradictions == []


@pytest.mark.parametrize("target", ["c", "y"])
def test_sums_over_billions_of_records_are_exact_and_never_wrap_around(target: str) -> None:
    """Rows of a database stand for as many records as they say; more than 64 bits have room for fail."""
    problem = Problem.of(Schema.from_yaml(MIXED), target)
    few = {"a": np.array([0, 1]), "c": np.array([2, 0]), "x": np.array([0, 4]), "y": np.array([3, 0])}
    once, often = (
        problem.examples(CodedRows(few, np.array([1, 1]) * times, 2)) for times in (1, MOST_RECORDS // 2)
    )
    for sums in (product_sums, response_sums):
        exact = [int(each) * (MOST_RECORDS // 2) for each in sums(once).ravel()]
        assert sums(often).ravel().tolist() == exact
        with pytest.raises(OverflowError):
            sums(problem.examples(CodedRows(few, np.array([1, MOST_RECORDS]), 2)))


@pytest.mark.parametrize("dimensions", [1, 2, 5, 20])
def test_our_constants_are_below_the_published_ones(dimensions: int) -> None:
    """For features between -1 and 1: 2(1 + 2d + d^2) for numbers and d^2/4 + 3d for labels (replace)."""
    fields = "".join(
        f"  - {{name: x{place}, type: number, bins: {{count: 64}}, constraints: {{minimum: -1, maximum: 1}}}}"
        "\n"
        for place in range(dimensions)
    )
    schema = Schema.from_yaml(f"fields:\n{fields}  - {{name: z, type: boolean}}\n")
    features = Features.of(schema, "z")
    scale = Fraction(STEPS, features.constant)  # features of 1 again, the intercept among them
    s, q, d = features.sum_bound * scale, features.longest * scale**2, features.number
    ours = 2 * ((s**2 + q) / 2 + s)
    assert ours <= 2 * (1 + 2 * d + d**2)
    assert (s**2 + q) / 8 * 2 + s <= Fraction(d**2, 4) + 3 * d


def test_sums_are_exact_and_those_that_cannot_be_are_left_out() -> None:
    problem = Problem.of(Schema.from_yaml(MIXED), "y")
    records = [UNIVERSE[place] for place in (0, 5, 5, 17, 40, 61)]
    rows = open_seal(table(records).coded_rows())
    examples = problem.examples(rows)
    x = np.concatenate([steps for _, steps in examples.parts()]).astype(object)
    heavy = np.array(examples.weights, dtype=object)
    one, two = pairs(problem)
    exact = [sum(heavy * x[:, j] * x[:, k]) for j, k in zip(one, two, strict=True)]
    assert open_seal(products(table(records).coded_rows(), problem)).tolist() == exact
    labels = problem.features.labels
    named = {(labels[j], labels[k]) for j, k in zip(one, two, strict=True)}
    assert ("c: r", "c: g") not in named
    assert ("x", "x: (missing)") not in named
    assert ("c: r", "x") in named


@settings(max_examples=25, deadline=None)
@given(
    arrays(np.float64, 28, elements=st.floats(-1e12, 1e12)),
    arrays(np.float64, 21, elements=st.floats(-1e12, 1e12)),
    st.floats(0, 1e9),
    st.builds(Spread, st.floats(0, 1e12), st.floats(0, 1e12)),
)
def test_the_repair_always_gives_finite_weights(
    quadratic: Any, linear: Any, ridge: float, spread: Spread
) -> None:
    for target in ("c", "y"):
        problem = Problem.of(Schema.from_yaml(MIXED), target)
        number = problem.features.number
        needed = len(pairs(problem)[0])
        some = np.resize(quadratic, needed)
        weights = solved(problem, some, np.resize(linear, number * problem.answers), spread, ridge, 0.3)
        assert weights.shape == (number, problem.answers)
        assert np.isfinite(weights).all()


def test_with_much_epsilon_it_is_ridge_regression() -> None:
    rng = np.random.default_rng(2)
    rows = [
        (bool(a), c, int(x), float(np.clip(1 + 2 * a + x + rng.normal(scale=0.2), 0, 8)))
        for a, c, x in zip(rng.integers(2, size=4000), rng.choice(list("rgb"), 4000),
                           rng.integers(5, size=4000), strict=True)
    ]  # fmt: skip
    release = FunctionalMechanism(target="y").fit(table(rows), Budget(100, randomness=Randomness.seeded(1)))
    told = release.predict(pl.DataFrame({"a": [True, False], "c": ["r", "b"], "x": [4, 0]}))["y"].to_list()
    assert told == pytest.approx([7, 1], abs=0.5)


def test_records_without_a_number_are_left_out() -> None:
    records = [(True, "r", 1, 3.0)] * 5
    problem = Problem.of(Schema.from_yaml(MIXED), "y")
    for what in (products, responses):
        with_others = what(table([*records, (False, "b", 0, None)]).coded_rows(), problem)
        assert (open_seal(with_others) == open_seal(what(table(records).coded_rows(), problem))).all()


def test_normalising_by_the_records_would_move_everything() -> None:
    """A broken copy: bounds that are read off the records make the sums of all others move."""
    one, two = [(True, "r", 1, 2.0)] * 3, [(True, "r", 1, 2.0)] * 3 + [(True, "r", 4, 2.0)]
    found = []
    for records in (one, two):
        most = max(x for _, _, x, _ in records)
        schema = Schema.from_yaml(MIXED.replace("maximum: 4", f"maximum: {most}"))
        types = {"a": pl.Boolean, "c": pl.String, "x": pl.Int64, "y": pl.Float64}
        opened = Table.open(pl.DataFrame(records, schema=types, orient="row"), schema)
        problem = Problem.of(schema, "y")
        sealed = products(opened.coded_rows(), problem)
        found.append((open_seal(sealed), float(sealed.sensitivity.l1)))
    assert np.abs(found[0][0] - found[1][0]).sum() > found[0][1]


def test_where_all_is_noise_it_answers_little_more_than_the_mean() -> None:
    rng = np.random.default_rng(2)
    rows = [(bool(rng.integers(2)), "r", int(rng.integers(5)), 6.0) for _ in range(300)]
    for seed in range(5):
        budget = Budget("1/2", randomness=Randomness.seeded(seed))
        release = FunctionalMechanism(target="y").fit(table(rows), budget)
        told = release.predict(pl.DataFrame({"a": [True, False], "c": ["r", "r"], "x": [4, 0]}))[
            "y"
        ].to_list()
        assert told == pytest.approx([7, 7], abs=2.5)
    assert abs(middle(np.array([3.0, 400.0]), 500.0)) < 0.1
