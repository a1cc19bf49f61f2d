from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import QueryError, SchemaError, UsageError
from penstock.kinds.points.box import Box, Grid
from penstock.kinds.points.data import Points
from penstock.kinds.points.grid import GridRelease, UniformGrid
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.releases import load
from penstock.schema import Schema

SCHEMA = Schema.from_yaml("""
kind: points
fields:
  - {name: lon, type: number, constraints: {minimum: -10, maximum: 10}}
  - {name: lat, type: number, constraints: {minimum: 0, maximum: 1}}
""")


def town(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"lon": np.clip(rng.normal(2, 2, n), -10, 10), "lat": rng.random(n)})


def fit(n: int = 5000, epsilon: object = 1, seed: int = 3, **options: object) -> GridRelease:
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))  # type: ignore[arg-type]
    return UniformGrid(**options).fit(Points.open(town(n), SCHEMA), budget)  # type: ignore[arg-type]


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**9),
    st.sampled_from([None, 1, 5]),
)
@settings(max_examples=30, deadline=None)
def test_receipt_total_equals_budget_exactly(epsilon: Fraction, side: int | None) -> None:
    assert fit(40, epsilon, side=side).receipt.epsilon == epsilon


def test_histogram_counts_every_point_in_the_cell_that_holds_it() -> None:
    frame = town(3000)
    counts = open_seal(Points.open(frame, SCHEMA).histogram([8, 5])).reshape(8, 5)
    expected, _, _ = np.histogram2d(frame["lon"], frame["lat"], bins=[8, 5], range=[[-10, 10], [0, 1]])
    assert (counts == expected).all()


def test_points_on_every_boundary_are_counted_once() -> None:
    edges = np.linspace(0, 1, 5)
    frame = pl.DataFrame({"lon": [-10.0, -5.0, 0.0, 5.0, 10.0], "lat": edges})
    counts = open_seal(Points.open(frame, SCHEMA).histogram([4, 4])).reshape(4, 4)
    assert counts.sum() == 5
    assert counts[3, 3] == 2  # 5.0 begins the last cell, 10.0 closes it


def test_a_coordinate_outside_the_box_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(Exception, match="outside"):
        Points.open(pl.DataFrame({"lon": [11.0], "lat": [0.5]}), SCHEMA)


def test_side_follows_the_published_rule() -> None:
    # spec, uniform grid: Gowalla n = 107,091, epsilon 0.1 -> 32.73 cells along each of two dimensions
    assert UniformGrid()._side(107_091, 0.1, 2) == 33
    assert UniformGrid()._side(98_013, 0.4, 4) == 16  # NYC, 15.77
    assert UniformGrid()._side(-5, 0.4, 4) == 1


def test_box_counts_are_exact_without_noise_on_aligned_boxes() -> None:
    grid = Grid(Box((0, 0), (1, 1)), (2, 2))
    release = GridRelease(
        method="uniform-grid",
        schema=SCHEMA,
        receipt=fit(10).receipt,
        grid=grid,
        counts=np.array([10, 0, 4, 0]),
        deviation=1.0,
    )
    # spec example: leaves [0,.5)^2: 10 and [.5,1)x[0,.5): 4; the box [.25,.75)x[0,.5) holds 5 + 2
    assert release.count(Box((0.25, 0.0), (0.75, 0.5))).value == pytest.approx(7)
    assert release.count(Box((-5, -5), (5, 5))).value == pytest.approx(14)
    assert release.count(Box((2, 2), (3, 3))).value == 0


def test_range_counts_are_near_the_truth() -> None:
    frame, release = town(20_000), fit(20_000, 2)
    inside = frame.filter((pl.col("lon") < 2) & (pl.col("lat") < 0.5)).height
    answer = release.query("lon < 2 and lat < 0.5")
    # noise of at most all cells: P(beyond 8 deviations) < 1e-6; 2 % for points that are uneven inside a cell
    assert (answer.rests_on, answer.error) == ("spread evenly", None)
    assert abs(answer.value - inside) < 8 * (release.deviation or 0) * release.grid.cells**0.5 + 0.02 * 20_000
    assert release.count(Box((-10, 0), (2, 0.5))).value == pytest.approx(answer.value)


def test_synthetic_points_stay_in_the_box_and_follow_the_density() -> None:
    release = fit(20_000, 2)
    rows = release.sample(20_000, seed=1)
    assert rows.columns == ["lon", "lat"]
    assert rows["lon"].is_between(-10, 10).all()
    assert rows["lat"].is_between(0, 1).all()
    share = rows.filter(pl.col("lon") < 2).height / 20_000
    assert abs(share - 0.5) < 0.05


def test_save_and_load_round_trip(tmp_path: Path) -> None:
    release = fit()
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert isinstance(again, GridRelease)
    assert again.receipt == release.receipt
    assert again.sample(50, seed=1).equals(release.sample(50, seed=1))


@pytest.mark.parametrize("text", ["1,2,3", "a,b", "2,1", "0,nan"])
def test_a_malformed_box_is_refused(text: str) -> None:
    with pytest.raises(QueryError):
        Box.parse(text)


def test_a_grid_too_fine_for_memory_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(UsageError, match="smaller side"):
        fit(10, side=10_000)


def test_replace_is_refused_for_points() -> None:
    schema = Schema.from_yaml(SCHEMA.to_yaml() + "\nrelation: replace\nsize: 10\n")
    with pytest.raises(SchemaError, match="add-remove"):
        Points.open(town(10), schema)


def test_whole_coordinates_come_back_whole() -> None:
    schema = Schema.from_yaml("""
    kind: points
    fields:
      - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}}
    """)
    points = Points.open(pl.DataFrame({"age": [1, 50, 99] * 50}), schema)
    rows = UniformGrid().fit(points, Budget(1, randomness=Randomness.seeded(1))).sample(300, seed=2)
    assert rows["age"].dtype == pl.Int64
    assert rows["age"].is_between(0, 99).all()


def test_every_whole_number_has_the_same_chance_inside_its_cell() -> None:
    schema = Schema.from_yaml("""
    kind: points
    fields:
      - {name: age, type: integer, constraints: {minimum: 0, maximum: 3}}
    """)
    points = Points.open(pl.DataFrame({"age": [0, 1, 2, 3] * 1000}), schema)
    assert open_seal(points.histogram([4])).tolist() == [1000] * 4
    release = UniformGrid(side=4).fit(points, Budget(50, randomness=Randomness.seeded(1)))
    drawn = release.sample(4000, seed=0)["age"].value_counts().sort("age")["count"].to_list()
    # four counts of Binomial(4000, 1/4), standard deviation 27.4: beyond 150 has probability below 1e-7
    assert all(abs(count - 1000) < 150 for count in drawn)
    assert release.query("age <= 3").value == release.query("age >= 0").value
    assert abs(release.query("age = 3..3").value - 1000) < 10
