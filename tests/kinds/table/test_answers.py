"""What an answer about a table rests on, and that only what was counted has an error bar."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock import Schema, release
from penstock.kinds.table.counted import CountedTable, Seen, answered, combined

FIELDS = """
fields:
  - {name: income, type: integer, constraints: {minimum: 0, maximum: 99999}, bins: {count: 10}}
  - {name: job, constraints: {enum: [none, clerk, cook]}}
  - {name: smoker, type: boolean}
"""


def people(rows: int = 6000) -> pl.DataFrame:
    """Three of four incomes are 501: a spike inside a bin."""
    rng = np.random.default_rng(1)
    income = np.where(rng.random(rows) < 0.75, 501, rng.integers(0, 100_000, rows))
    job = np.where(income > 50_000, "clerk", rng.choice(["none", "cook"], rows))
    return pl.DataFrame({"income": income, "job": job, "smoker": rng.random(rows) < 0.3})


def made(method: str, schema: str = FIELDS, epsilon: str = "1", seed: int = 1, **options: Any) -> Any:
    return release(
        people(), Schema.from_yaml(schema), epsilon=epsilon, method=method, seed=seed, parameters=options
    )


METHODS = ["confluence", "privbayes", "independent", "contingency", "laplace-marginals", "fourier-marginals"]


@pytest.mark.parametrize("method", METHODS)
def test_a_question_that_cuts_through_a_bin_has_no_bar_and_says_why(method: str) -> None:
    """The spike at 501 makes the even share of the bin absurd: about 60 where 4,500 are."""
    answer = made(method).query("income < 600 and income > 500")
    assert (answer.rests_on, answer.error) == ("spread evenly", None)
    assert "cuts through a bin of income" in answer.caveats[0]
    assert answer.value < 100
    whole = made(method).query("income < 10000")
    assert whole.rests_on == "counted"
    assert whole.error is not None
    assert abs(whole.value - people().filter(pl.col("income") < 10_000).height) < 4 * whole.error


@pytest.mark.parametrize("method", ["uniform", "mwem"])
def test_what_follows_from_a_model_has_no_bar(method: str) -> None:
    options = {"way": 2} if method == "mwem" else {}
    answer = made(method, **options).query("job = cook")
    assert (answer.rests_on, answer.error) == ("model", None)
    assert "model" in answer.caveats[0]


def test_what_no_table_sees_rests_on_the_model_and_says_that_columns_are_unconnected() -> None:
    answer = made("independent").query("job = cook and smoker = true")
    assert (answer.rests_on, answer.error) == ("model", None)
    assert "No table of counts sees job, smoker together" in answer.caveats[0]
    assert "does not connect job and smoker" in answer.caveats[1]
    assert "independent" in answer.caveats[1]


def test_what_the_schema_says_is_declared_and_exact() -> None:
    ruled = made("confluence", 'impossible: ["job = cook and smoker = true"]\n' + FIELDS)
    answer = ruled.query("job = cook and smoker = true")
    assert (answer.value, answer.error, answer.rests_on) == (0, 0, "declared")
    public = made("independent", "relation: replace\nsize: 6000\n" + FIELDS)
    answer = public.query("income >= 0")
    assert (answer.value, answer.error, answer.rests_on) == (6000, 0, "declared")
    assert public.query("smoker = true or smoker = false").rests_on == "declared"


def test_a_bound_on_the_records_of_a_user_is_told() -> None:
    schema = "unit: {protects: user, column: who, at_most: 2}\n" + FIELDS
    rows = people(600).with_columns(who=pl.Series(np.arange(600) // 3))
    answer = release(rows, Schema.from_yaml(schema), epsilon=1, seed=1).query("smoker = true")
    assert "At most 2 records of one user were counted." in answer.caveats


def test_alternatives_on_one_table_are_counted_too() -> None:
    answer = made("contingency").query("job = cook or smoker = true")
    assert answer.rests_on == "counted"
    truth = people().filter((pl.col("job") == "cook") | pl.col("smoker")).height
    assert abs(answer.value - truth) <= 2 * (answer.error or 0)


def test_tables_are_combined_by_their_precision() -> None:
    """Two counts of the same cell, one four times as precise: weights 16/17 and 1/17."""
    value, both = combined([Seen(100.0, 1, 50.0, 1, 10.0), Seen(134.0, 1, 50.0, 1, 40.0)], [], None)
    assert value == pytest.approx((16 * 100 + 134) / 17)
    alone, wide = combined([Seen(100.0, 1, 50.0, 1, 10.0)], [], None)
    assert (alone, both.half < wide.half) == (100.0, True)


def test_a_count_of_all_records_helps_both_sides_alike() -> None:
    """40 and 62 where there are 100: least squares takes one from either."""
    value, _ = combined([Seen(40.0, 1, 62.0, 1, 10.0)], [], 100.0)
    assert value == pytest.approx(39.0)
    value, _ = combined([Seen(40.0, 1, 62.0, 1, 10.0)], [Seen(100.0, 1, 0.0, 0, 1e-3)], None)
    assert value == pytest.approx(39.0)


def test_a_table_sees_a_question_at_the_level_of_its_groups_only() -> None:
    codes = np.array([0, 0, 1, 1])
    table = CountedTable(("age",), (codes,), np.array([30, 70]), 5.0)
    assert table.seen(["age"], np.array([1.0, 1.0, 0.0, 0.0])) == Seen(30.0, 1, 70.0, 1, 5.0)
    assert table.seen(["age"], np.array([1.0, 0.0, 0.0, 0.0])) is None
    assert table.seen(["age"], np.array([0.5, 0.5, 0.0, 0.0])) is None
    assert table.seen(["age"], np.array([1.0, np.nan, 0.0, 0.0])) == Seen(30.0, 1, 70.0, 1, 5.0)
    assert table.seen(["sex"], np.ones(2)) is None


def test_cells_that_cannot_occur_are_left_out_of_every_sum() -> None:
    table = CountedTable(("a", "b"), (np.arange(2), np.arange(2)), np.array([[10, 99], [20, 30]]), 5.0)
    kept = table.without([(("b", "a"), np.array([[False, False], [True, False]]))])
    assert kept.seen(["a"], np.array([1.0, 0.0])) == Seen(10.0, 1, 50.0, 2, 5.0)
    value, _ = answered([kept], ["b"], np.array([0.0, 1.0]), None) or (None, None)
    assert value == pytest.approx(30.0)
