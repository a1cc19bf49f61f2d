"""What both methods that make a network promise, whatever their parameters."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kinds.table.tables import mixed_rows, paid, schema_of, table_of

from penstock.engine import open_engine
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.data import Table
from penstock.kinds.table.privbayes.method import PrivBayes

Method = Confluence | PrivBayes

METHODS: list[Method] = [
    Confluence(),
    PrivBayes(),
    PrivBayes(encoding="binary"),
    PrivBayes(encoding="gray", score="R"),
    PrivBayes(encoding="vanilla"),
    PrivBayes(preset="journal"),
    PrivBayes(preset="journal", encoding="vanilla"),
    PrivBayes(preset="thesis"),
]


@settings(max_examples=120, deadline=None)
@given(
    method=st.sampled_from(METHODS),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    n=st.integers(1, 400),
    epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6),
    replace=st.booleans(),
)
def test_receipt_total_equals_budget_exactly(
    method: Method, sizes: list[int], n: int, epsilon: Fraction, replace: bool
) -> None:
    schema = schema_of(sizes, replace=n if replace else None, ordered=True)
    budget = paid(epsilon, seed=n)
    release = method.fit(table_of(mixed_rows(n, sizes), schema), budget)
    assert release.receipt.epsilon == epsilon
    assert release.receipt.delta == 0
    assert budget.left == (0, 0)
    rows = release.sample(20, seed=1)
    assert rows.shape == (20, len(sizes))
    if replace:
        assert release.total == n


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_part_of_a_budget_is_enough(method: Method) -> None:
    budget = paid(2)
    part = budget.part("table", "1/3")
    release = method.fit(table_of(mixed_rows(500, [3, 4, 2]), schema_of([3, 4, 2])), part)
    assert release.receipt.epsilon == Fraction(2, 3)
    assert budget.left[0] == Fraction(4, 3)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_same_seed_same_release_on_every_engine(method: Method, tmp_path: Any) -> None:
    schema = schema_of([3, 2, 4])
    frame = pl.DataFrame(mixed_rows(400, [3, 2, 4]), schema=list(schema.names))
    frame.write_parquet(tmp_path / "rows.parquet")
    models = []
    for engine in ("memory", "duckdb"):
        table = Table(open_engine(tmp_path / "rows.parquet", schema, engine=engine), schema)
        models.append(method.fit(table, paid(1, 7)).model())
    assert models[0].json == models[1].json
    assert models[0].tables["conditionals"].equals(models[1].tables["conditionals"])


def test_users_with_several_records_cost_their_number() -> None:
    unit = {"protects": "user", "column": "person", "at_most": 3}
    schema = schema_of([3, 3, 2], unit=unit)
    for method in METHODS[:2]:
        release = method.fit(table_of(mixed_rows(400, [3, 3, 2]), schema), paid(1))
        one = method.fit(table_of(mixed_rows(400, [3, 3, 2]), schema_of([3, 3, 2])), paid(1))
        stated = [c.sensitivity for _, c in release.receipt.charges() if c.mechanism == "discrete Laplace"]
        assert all(int(each) % 3 == 0 for each in stated)
        assert release.measured[0].deviation > 2 * one.measured[0].deviation
