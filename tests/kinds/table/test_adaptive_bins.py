"""Adaptive bins: fine where the records are, paid for, and the same records behind them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from penstock import catalogue
from penstock.api import release
from penstock.contracts.plug import method_class
from penstock.errors import SchemaError, UsageError
from penstock.kinds.table.adaptive_bins import adapt, fullest
from penstock.kinds.table.data import Table, adaptive
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Shape
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

FACTS = """
fields:
  - {{name: income, type: number, constraints: {{minimum: 0, maximum: 100000}}, bins: {bins}, missing: value}}
  - {{name: age, type: integer, constraints: {{minimum: 0, maximum: 99}}, bins: {{adaptive: true, most: 5}}}}
  - {{name: sex, constraints: {{enum: [f, m]}}}}
"""
SCHEMA = Schema.from_yaml(FACTS.format(bins="{adaptive: true, most: 12}"))


def people(n: int = 4000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    incomes = [None if i % 40 == 0 else min(float(x), 1e5) for i, x in enumerate(rng.pareto(3, n) * 8000)]
    return pl.DataFrame({"income": incomes, "age": rng.integers(0, 20, n), "sex": ["f", "m"] * (n // 2)})


def adapted(
    epsilon: object = 1, seed: int = 1, schema: Schema = SCHEMA, n: int = 4000
) -> tuple[Table, Budget]:
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))  # type: ignore[arg-type]
    return adapt(Table.open(people(n), schema), budget), budget


def test_bins_partition_the_domain_and_stay_below_the_limit() -> None:
    table, _ = adapted()
    income, age = table.schema.field("income"), table.schema.field("age")
    assert (income.edges.low, income.edges.high) == (0, 100_000)
    assert (age.edges.low, age.edges.high) == (0, 99)
    assert 2 <= income.edges.count <= 12
    assert 2 <= age.edges.count <= 5
    assert adaptive(table.schema) == []


def test_bins_are_narrow_where_the_records_are() -> None:
    table, _ = adapted(epsilon=2)
    widths = np.diff(table.schema.field("income").edges.values)
    assert widths.min() < 3000 < 20_000 < widths.max()
    assert table.schema.field("age").edges.values[-2] <= 50  # nobody is older than 19
    counts = open_seal(table.counts([("income",)])[0])[:-1]
    assert counts.max() < 0.5 * 4000  # with 12 even bins nine tenths would lie in the first two


def test_the_merged_table_counts_the_same_records_as_one_read_with_the_new_schema() -> None:
    table, _ = adapted()
    again = Table.open(people(), table.schema)
    marginals = [("income", "sex"), ("age", "income"), ("sex",)]
    for ours, theirs in zip(table.counts(marginals), again.counts(marginals), strict=True):
        assert (open_seal(ours) == open_seal(theirs)).all()
        assert ours.sensitivity == theirs.sensitivity


def test_the_budget_is_paid_evenly_by_all_adaptive_fields() -> None:
    _, budget = adapted("1/3")
    paid = {charge.label: charge.epsilon for _, charge in budget.receipt().charges()}
    assert paid == {"income": Fraction(1, 6), "age": Fraction(1, 6)}


@pytest.mark.parametrize("method", ["independent", "privbayes"])
def test_a_method_does_not_take_the_narrow_bins_for_the_ones_that_were_asked_for(method: str) -> None:
    budget = Budget(1, randomness=Randomness.seeded(1))
    table = Table.open(people(200), SCHEMA)
    with pytest.raises(UsageError, match="income, age: the adaptive bins are still to be found"):
        method_class(catalogue.method(method))().fit(table, budget)
    assert budget.left[0] == 1
    found, rest = table.prepared(budget)
    independent = method_class(catalogue.method("independent"))()
    assert independent.fit(found, rest).schema.field("age").edges.count <= 5
    assert "3 attributes" in repr(table)


def test_without_adaptive_fields_nothing_is_paid() -> None:
    schema = Schema.from_yaml("fields:\n  - {name: sex, constraints: {enum: [f, m]}}")
    table = Table.open(people(), schema)
    budget = Budget(1, randomness=Randomness.seeded(1))
    assert table.prepared(budget) == (table, budget)
    assert budget.left[0] == 1


def test_a_release_pays_for_its_bins_and_says_which_they_are() -> None:
    made = release(people(), SCHEMA, epsilon=1, method="independent", seed=3)
    assert made.receipt.epsilon == 1
    shapes = [charge for _, charge in made.receipt.charges() if charge.mechanism == "PrivTree decisions"]
    assert sum(charge.epsilon for charge in shapes) == Fraction(1, 20)
    assert made.schema.field("income").bins is not None
    assert made.schema.field("income").bins.edges is not None
    assert made.sample(100, seed=1)["income"].drop_nulls().is_between(0, 100_000).all()


def test_the_edges_do_not_follow_a_record_that_the_budget_does_not_show() -> None:
    # with a tiny budget the tree is decided by noise: the same seed gives the same edges
    tables = [adapted("1/1000000", n=n)[0] for n in (4000, 3998)]
    assert tables[0].schema == tables[1].schema


def test_the_fullest_nodes_cover_every_leaf_once() -> None:
    rng = np.random.default_rng(3)
    fans, waiting = [], 1
    while waiting and len(fans) < 80:
        fan = int(rng.choice([0, 2], p=[0.4, 0.6]))
        fans.append(fan)
        waiting += fan - 1
    shape = Shape(np.array(fans + [0] * waiting))
    for most in (1, 2, 5, 1000):
        kept = fullest(shape, most)
        assert len(kept) <= max(1, most)
        marked = np.zeros(len(shape), dtype=np.int64)
        marked[kept] = 1
        for node in range(1, len(shape)):
            marked[node] += marked[shape.parents[node]]
        assert (marked[shape.leaves] == 1).all()


@pytest.mark.parametrize(
    "bins", ["{count: 8, most: 4}", "{adaptive: true, most: 0}", "{adaptive: true, count: 4, width: 2}"]
)
def test_contradictory_bins_are_refused(bins: str) -> None:
    with pytest.raises(SchemaError, match="income"):
        Schema.from_yaml(FACTS.format(bins=bins))


def test_a_schema_with_adaptive_bins_is_written_and_read_back() -> None:
    assert Schema.from_yaml(SCHEMA.to_yaml()) == SCHEMA
    assert SCHEMA.attribute("income").regular == 1000
    assert SCHEMA.attribute("age").regular == 100


def test_round_bins_fill_up_where_the_records_tell_nothing_apart() -> None:
    """With hardly any budget a tree has one leaf or two; a column would be told as one bin."""
    for n in (0, 4000):
        table, _ = adapted("1/1000000", n=n)
        income, age = table.schema.field("income").edges, table.schema.field("age").edges
        assert 6 <= income.count <= 12
        assert 3 <= age.count <= 5
        assert np.diff(income.values).max() <= 20_000
