"""PrivTree over points: what it pays, what it may not depend on, and the inputs that break naive code."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kinds.points.trees import RIDES, SQUARE, clustered, fit, rides, square

from penstock.errors import DataError, SchemaError, UsageError
from penstock.kinds.points.box import Box
from penstock.kinds.points.data import Points
from penstock.kinds.points.grid import UniformGrid
from penstock.kinds.points.privtree import PrivTree
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

USERS = Schema.from_yaml("unit: {protects: user, column: person, at_most: 3}\n" + SQUARE.to_yaml())


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**9),
    st.fractions(min_value=Fraction(1, 10**3), max_value=Fraction(999, 1000), max_denominator=10**4),
)
@settings(max_examples=25, deadline=None)
def test_receipt_total_equals_budget_exactly(epsilon: Fraction, share: Fraction) -> None:
    release = fit(square(clustered(40)), epsilon=epsilon, tree_frac=share)
    assert release.receipt.epsilon == epsilon
    paid = {charge.label: charge.epsilon for _, charge in release.receipt.charges()}
    assert paid == {"shape": epsilon * share, "counts": epsilon * (1 - share)}


def test_scale_and_decay_of_the_worked_examples() -> None:
    # d = 2 and d = 4, epsilon 1 and 0.1, published constant (spec 3.4)
    release = fit(square(clustered(9)), constant="published")
    assert release.parameters["noise_scale"] == pytest.approx(4.6667, abs=1e-4)
    assert release.parameters["decay"] == pytest.approx(6.4694, abs=1e-3)
    release = fit(square(clustered(9)), constant="published", epsilon="0.1")
    assert release.parameters["noise_scale"] == pytest.approx(46.667, abs=1e-3)
    assert release.deviation == pytest.approx(2**0.5 * 20, rel=1e-3)
    schema = Schema.from_yaml(
        "kind: points\nfields:\n"
        + "\n".join(
            f"  - {{name: c{i}, type: number, constraints: {{minimum: 0, maximum: 1}}}}" for i in range(4)
        )
    )
    four = fit(pl.DataFrame({f"c{i}": [0.5] for i in range(4)}), schema, constant="published")
    assert four.parameters["noise_scale"] == pytest.approx(4.1333, abs=1e-4)
    assert four.parameters["decay"] == pytest.approx(11.46, abs=1e-2)


def test_the_tight_constant_needs_less_noise_than_the_published_one() -> None:
    tight, published = (fit(square(clustered(9)), constant=c) for c in ("tight", "published"))
    assert tight.parameters["noise_scale"] / published.parameters["noise_scale"] == pytest.approx(
        2.185597 / (7 / 3), abs=1e-5
    )


def test_leaf_noise_has_the_variance_of_half_the_budget() -> None:
    # 1000 releases of nothing with the root alone: noise of scale 2 has the variance 2a/(1-a)^2, a = e^-1/2
    points = Points.open(square(np.zeros((0, 2))), SQUARE)
    source, method = Randomness.seeded(8), PrivTree(deepest=0)
    drawn = [int(method.fit(points, Budget(1, randomness=source)).counts[0]) for _ in range(1000)]
    a = np.exp(-0.5)
    variance = 2 * a / (1 - a) ** 2
    # the mean square of 1000 such numbers has a relative standard error of about 7.1 %: 6 of them
    assert np.mean(np.square(drawn)) == pytest.approx(variance, rel=0.43)


def test_a_user_with_three_points_needs_three_times_the_noise() -> None:
    frame = square(clustered(90)).with_columns(person=pl.arange(0, 90) // 3)
    one, three = fit(frame), fit(frame, USERS)
    assert three.parameters["noise_scale"] == pytest.approx(3 * one.parameters["noise_scale"], rel=1e-6)
    assert three.deviation == pytest.approx(3 * one.deviation, rel=0.02)
    assert "user" in three.receipt.guarantee


def test_users_keep_at_most_their_share_of_points() -> None:
    frame = pl.DataFrame({"x": [0.5] * 1000, "y": [0.5] * 1000, "person": ["a"] * 1000})
    assert abs(fit(frame, USERS, epsilon=50).total - 3) < 30  # noise of scale 6 / 50 in a few leaves


def test_coincident_points_end_at_the_finest_cell() -> None:
    release = fit(square(np.full((20_000, 2), 0.3)), epsilon=4)
    assert release.partition.shape.depth == 30
    assert release.count(Box((0.299999, 0.299999), (0.300001, 0.300001))).value == pytest.approx(
        20_000, abs=100
    )


def test_depth_and_nodes_stay_below_public_limits() -> None:
    crowded = square(np.full((5000, 2), 0.3))
    assert fit(crowded, deepest=4).partition.shape.depth == 4
    assert len(fit(crowded, most_nodes=9).partition.shape) == 9


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_and_a_single_point_give_a_small_tree(n: int) -> None:
    sizes = [len(fit(square(np.full((n, 2), 0.7)), seed=seed).partition.shape) for seed in range(300)]
    # expected size 5 for nothing; the mean of 300 trees (standard deviation about 6) stays far below 12
    assert min(sizes) == 1
    assert np.mean(sizes) < 12


def test_points_on_every_boundary_lie_in_one_leaf_each() -> None:
    edges = np.linspace(0, 1, 17)
    grid = np.array([(x, y) for x in edges for y in edges])
    release = fit(square(grid), epsilon=100)
    assert abs(release.total - 289) < 20  # noise of scale 1/50: hardly any
    corner = release.count(Box((0.9375, 0.9375), (1, 1)))
    assert corner.value == pytest.approx(4, abs=2)  # the last cell is closed and holds 0.9375 and 1


def test_a_point_outside_the_domain_is_refused_or_clamped_as_the_schema_says() -> None:
    outside = square(np.array([[0.5, 1.5]]))
    with pytest.raises(DataError, match="outside the declared"):
        Points.open(outside, SQUARE)
    text = SQUARE.to_yaml().replace("name: y", "name: y\n    outside: clamp")
    clamped = fit(outside, Schema.from_yaml(text), epsilon=100)
    assert clamped.count(Box((0.4, 0.9), (0.6, 1))).value == pytest.approx(1, abs=1.5)


def test_points_without_a_coordinate_are_not_in_the_tree() -> None:
    text = SQUARE.to_yaml().replace("name: y", "name: y\n    missing: value")
    frame = pl.DataFrame({"x": [0.5, 0.5], "y": [0.5, None]})
    assert round(fit(frame, Schema.from_yaml(text), epsilon=100).total) == 1


@pytest.mark.parametrize("dimensions", [1, 3, 5, 8, 10])
def test_any_number_of_dimensions_up_to_ten(dimensions: int) -> None:
    fields = "\n".join(
        f"  - {{name: c{i}, type: number, constraints: {{minimum: 0, maximum: 1}}}}"
        for i in range(dimensions)
    )
    schema = Schema.from_yaml(f"kind: points\nfields:\n{fields}")
    rng = np.random.default_rng(dimensions)
    values = rng.random((3000, dimensions)) ** 4
    release = fit(pl.DataFrame(values, schema=list(schema.names)), schema, epsilon=2)
    low, high = np.zeros(dimensions), np.full(dimensions, 0.25)
    truth = (values < 0.25).all(axis=1).sum()
    assert abs(release.count(Box(tuple(low), tuple(high))).value - truth) < 0.15 * 3000
    assert release.sample(20, seed=0).shape == (20, dimensions)


def test_more_fields_than_a_volume_can_hold_are_refused_before_anything_is_spent() -> None:
    names = [f"x{number}" for number in range(65)]
    field = "  - {{name: {name}, type: number, constraints: {{minimum: 0, maximum: 1}}}}\n"
    schema = Schema.from_yaml("kind: points\nfields:\n" + "".join(field.format(name=name) for name in names))
    budget = Budget(1, randomness=Randomness.seeded(1))
    frame = pl.DataFrame({name: [0.5] for name in names})
    with pytest.raises(SchemaError, match="at most 64 fields"):
        PrivTree().fit(Points.open(frame, schema), budget)
    assert budget.left[0] == 1


def test_categories_alone_are_points_too() -> None:
    schema = Schema.from_yaml(
        "kind: points\nfields:\n"
        "  - {name: means, constraints: {enum: [bus, tram, foot, bike]},"
        " taxonomy: {public: [bus, tram], private: [foot, bike]}}"
    )
    release = fit(rides(2000).select("means"), schema, epsilon=4)
    assert release.query("means = 'bus'").value == pytest.approx(1000, abs=120)
    assert len(release.pictures()) == 1


def test_grids_refuse_categories_before_anything_is_spent() -> None:
    budget = Budget(1, randomness=Randomness.seeded(1))
    with pytest.raises(SchemaError, match="means: for this method a coordinate must be a number"):
        UniformGrid().fit(Points.open(rides(10), RIDES), budget)
    assert budget.left[0] == 1


def test_the_same_seed_gives_the_same_release_and_another_one_another() -> None:
    frame = square(clustered(500))
    assert (fit(frame, seed=1).counts == fit(frame, seed=1).counts).all()
    assert not np.array_equal(fit(frame, seed=1).counts, fit(frame, seed=2).counts)


@pytest.mark.parametrize(
    "options",
    [
        {"tree_frac": 0},
        {"tree_frac": 1},
        {"constant": "loose"},
        {"most_nodes": 0},
        {"most_nodes": 2.5},
        {"together": 0},
        {"deepest": -1},
        {"theta": 0.5},
        {"theta": None},
    ],
)
def test_impossible_parameters_are_refused_before_anything_is_spent(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        fit(square(clustered(5)), **options)


def test_the_saved_model_holds_no_exact_count() -> None:
    # a crowd of 7919 in one place: neither that number nor the number of points appears
    release = fit(square(np.full((7919, 2), 0.123)), epsilon="1/100", seed=5)
    model = release.model()
    assert 7919 not in model.tables["leaves"]["count"].to_list()
    assert "7919" not in str(model.json) + str(dict(release.parameters)) + str(release.receipt.to_dict())
