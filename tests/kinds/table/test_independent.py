from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BudgetError, ReleaseError
from penstock.kinds.table.data import Table
from penstock.kinds.table.independent import Independent, IndependentRelease, share_by_size
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import load
from penstock.schema import Schema

SCHEMA = Schema.from_yaml("""
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}}
  - {name: sex, constraints: {enum: [F, M]}, missing: value}
  - {name: day, type: date, constraints: {minimum: 2020-01-01, maximum: 2020-12-31}, bins: {count: 12}}
""")


def people(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "sex": rng.choice(["F", "M", ""], n, p=[0.5, 0.4, 0.1]),
            "day": [f"2020-{month:02d}-15" for month in rng.integers(1, 13, n)],
        }
    )


def fit(n: int = 2000, epsilon: object = 1, seed: int = 3) -> IndependentRelease:
    table = Table.open(people(n), SCHEMA)
    return Independent().fit(table, Budget(epsilon, randomness=Randomness.seeded(seed)))  # type: ignore[arg-type]


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**9))
@settings(max_examples=40, deadline=None)
def test_receipt_total_equals_budget_exactly(epsilon: Fraction) -> None:
    receipt = fit(50, epsilon).receipt
    assert receipt.epsilon == epsilon
    assert receipt.delta == 0


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30))
def test_shares_add_up_to_one_exactly_and_follow_the_square_root(sizes: list[int]) -> None:
    shares = share_by_size(sizes)
    assert sum(shares) == 1
    for size, share in zip(sizes, shares, strict=True):
        assert float(share / shares[0]) == pytest.approx((size / sizes[0]) ** 0.5, rel=1e-3)


def test_square_root_shares_have_less_total_error_than_equal_ones() -> None:
    sizes = [2, 50, 400]
    ours = sum(size / float(share) for size, share in zip(sizes, share_by_size(sizes), strict=True))
    equal = sum(size * len(sizes) for size in sizes)
    assert ours < equal


def test_marginals_are_within_the_noise_of_the_truth() -> None:
    release, frame = fit(2000, 2), people(2000)
    truth = frame["sex"].value_counts().sort("sex")["count"].to_list()  # '', F, M
    for label, expected in zip(["sex is missing", "sex = 'F'", "sex = 'M'"], truth, strict=True):
        answer = release.query(label)
        # discrete Laplace with deviation s: P(|noise| > 15 s) < exp(-15 sqrt 2) < 1e-9, three times
        assert abs(answer.value - expected) < 15 * release.deviations["sex"] + 1
        assert answer.error is not None
        assert answer.error > 0


def test_error_bar_covers_the_noise_about_as_often_as_it_says() -> None:
    frame = people(2000)
    table, truth = Table.open(frame, SCHEMA), int((frame["sex"] == "F").sum())
    inside = 0
    for seed in range(200):
        release = Independent().fit(table, Budget(1, randomness=Randomness.seeded(seed)))
        answer = release.query("sex = 'F'")
        assert answer.error is not None
        inside += abs(answer.value - truth) <= answer.error
    # Laplace puts 93.7 % inside 1.96 deviations and the projection only helps;
    # a Binomial(200, .937) falls below 165 with probability under 1e-8
    assert inside >= 165


def test_synthetic_rows_fit_the_schema_and_are_reproducible() -> None:
    release = fit()
    rows = release.sample(500, seed=4)
    SCHEMA.encode(rows)  # raises if a value is outside the domain
    assert rows.equals(release.sample(500, seed=4))
    assert abs(release.size - 2000) < 400


def test_save_and_load_round_trip(tmp_path: Path) -> None:
    release = fit()
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert isinstance(again, IndependentRelease)
    assert again.receipt == release.receipt
    assert again.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert not again.publishable


def test_a_model_of_another_schema_is_refused(tmp_path: Path) -> None:
    from penstock.releases import Manifest

    release = fit()
    other = Schema.from_yaml("fields: [{name: sex, constraints: {enum: [F, M]}}]")
    with pytest.raises(ReleaseError, match="schema"):
        IndependentRelease.from_model(Manifest("independent", other, release.receipt, {}), release.model())


@pytest.mark.parametrize("rows", [0, 1])
def test_almost_no_records_still_give_a_release(rows: int) -> None:
    release = fit(rows)
    assert release.total >= 0
    assert release.sample(10, seed=0).height == 10


def test_a_budget_pays_only_once() -> None:
    table, budget = Table.open(people(10), SCHEMA), Budget(1, randomness=Randomness.seeded(1))
    Independent().fit(table, budget)
    with pytest.raises(BudgetError, match="left"):
        Independent().fit(table, budget)


def test_impossible_rows_are_never_drawn() -> None:
    schema = Schema.from_yaml(SCHEMA.to_yaml() + "\nimpossible: [\"age < 20 and sex = 'M'\"]\n")
    table = Table.open(people(2000), schema)
    rows = Independent().fit(table, Budget(1, randomness=Randomness.seeded(1))).sample(2000, seed=0)
    assert rows.height == 2000
    assert rows.filter((pl.col("age") < 20) & (pl.col("sex") == "M")).height == 0


def test_a_paid_release_is_saved_even_if_all_that_was_found_is_declared_impossible(tmp_path: Path) -> None:
    """2000 records break the rule: they are not counted, and all rows have the value that is left."""
    schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}]\nimpossible: [smoker = true]\n")
    table = Table.open(pl.DataFrame({"smoker": [True] * 2000}), schema)
    release = Independent().fit(table, Budget(50, randomness=Randomness.seeded(1)))
    ruled_out = release.query("smoker = true")
    assert (ruled_out.value, ruled_out.error, ruled_out.rests_on) == (0, 0, "declared")
    assert release.query("smoker = false").value < 5
    folder = release.save(tmp_path / "release")
    rows = pl.read_csv(folder / "synthetic.csv")["smoker"]
    assert len(rows) > 1900
    assert not rows.any()
    assert load(folder).counts["smoker"].tolist() == release.counts["smoker"].tolist()


@pytest.mark.parametrize("at_most", [1, 10**23])
def test_any_budget_and_any_bound_give_a_release_that_can_be_saved(
    tmp_path: Path, at_most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise beyond all measure is still noise: it must not cost the release that it was paid for."""
    monkeypatch.setattr("penstock.releases.folder.MOST_ROWS", 50)
    top = f"unit: {{protects: user, column: u, at_most: {at_most}}}\n"
    schema = Schema.from_yaml(top + "fields: [{name: smoker, type: boolean}]")
    records = pl.DataFrame({"u": [1, 2], "smoker": [True, False]})
    for seed in range(4):
        budget = Budget("1e-12", randomness=Randomness.seeded(seed))
        release = Independent().fit(Table.open(records, schema), budget)
        assert load(release.save(tmp_path / str(seed))).total == release.total
