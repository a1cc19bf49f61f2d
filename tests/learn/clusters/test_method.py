"""k-means as a method: what it pays for what, what it finds, and what it says about it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.engine.databases import sqlite_table

import penstock
from penstock.errors import PenstockError, UsageError
from penstock.kinds.points.data import Points
from penstock.learn.clusters.baselines.gupt import GuptKMeans
from penstock.learn.clusters.evaluation import best_without_noise, nicv
from penstock.learn.clusters.method import KMeans
from penstock.learn.clusters.presets import PRESETS
from penstock.learn.clusters.release import ClustersRelease
from penstock.learn.clusters.synopsis import GridSynopsis
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Schema

SQUARE = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 10}, outside: clamp}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 5}, outside: clamp}
"""
CENTRES = np.array([[2.0, 1.0], [8.0, 1.0], [5.0, 4.0]])


def blobs(n: int = 6000, seed: int = 0) -> pl.DataFrame:
    """Three clusters, half of the points in the first."""
    rng = np.random.default_rng(seed)
    which = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return pl.DataFrame(rng.normal(CENTRES[which], [0.4, 0.2]), schema=["x", "y"])


def made(epsilon: Any = 1, seed: int = 1, data: pl.DataFrame | None = None, **given: Any) -> ClustersRelease:
    described = Schema.from_yaml(given.pop("schema", SQUARE))
    method = given.pop("method", "kmeans")
    found = penstock.release(
        blobs() if data is None else data,
        described,
        epsilon=epsilon,
        method=method,
        parameters=given,
        seed=seed,
    )
    assert isinstance(found, ClustersRelease)
    return found


def charges(release: ClustersRelease) -> dict[str, Fraction]:
    return {charge.label: charge.epsilon for _, charge in release.receipt.charges()}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_finds_clusters_that_lie_apart(preset: str) -> None:
    release = made(epsilon=4, k=3, preset=preset, draw=1)
    order = np.argsort(release.centres[:, 0])
    assert release.centres[order] == pytest.approx(CENTRES[[0, 2, 1]], abs=0.7)
    assert release.receipt.epsilon == 4


def test_the_parts_of_a_hybrid_are_one_charge_each() -> None:
    paid = charges(made(epsilon=1, k=3, preset="hybrid"))
    assert list(paid) == ["number of points", "synopsis", "round 1"]
    assert paid["number of points"] == Fraction(1, 100)
    assert sum(paid.values()) == 1


def test_a_tree_is_grown_and_counted_with_the_part_of_the_synopsis() -> None:
    release = made(epsilon=1, k=3)
    paid = charges(release)
    assert list(paid) == ["number of points", "shape", "counts", "round 1"]
    assert paid["shape"] == paid["counts"]
    assert sum(paid.values()) == 1
    assert release.synopsis is not None
    assert "fine where points are many" in release.synopsis.words


def test_a_declared_number_of_points_costs_nothing() -> None:
    release = made(k=3, preset="hybrid", schema=f"size: 6000{SQUARE}")
    assert list(charges(release)) == ["synopsis", "round 1"]


def test_rounds_get_equal_parts_or_halves() -> None:
    assert set(charges(made(k=3, preset="dplloyd")).values()) == {Fraction(1, 5)}
    halved = charges(made(k=3, preset="dplloyd", schedule="geometric"))
    assert list(halved.values()) == [
        Fraction(1, 2),
        Fraction(1, 4),
        Fraction(1, 8),
        Fraction(1, 16),
        Fraction(1, 16),
    ]
    improved = charges(made(epsilon=1, k=3, preset="dplloyd-impr"))
    assert 2 <= len(improved) - 1 <= 7
    assert sum(improved.values()) == 1


def test_a_fall_back_to_the_grid_alone_is_decided_by_noisy_and_public_numbers() -> None:
    release = made(epsilon="1/100", k=3, preset="hybrid")
    assert list(charges(release)) == ["number of points", "synopsis"]
    assert release.counted == "cells"
    assert release.parameters["share"] == "1"


def test_the_number_of_clusters_is_chosen_on_the_synopsis_for_nothing() -> None:
    release = made(epsilon=2)
    assert len(release.centres) == 3
    assert release.parameters["k"] == 3
    assert sum(charges(release).values()) == 2


def test_points_outside_the_bounds_are_moved_onto_them() -> None:
    far = pl.DataFrame({"x": [1e9] * 3000 + [2.0] * 3000, "y": [2.0] * 6000})
    release = made(epsilon=5, k=2, data=far)
    assert release.centres[:, 0].max() <= 10
    assert sorted(release.centres[:, 0]) == pytest.approx([2.0, 10.0], abs=0.2)


def test_sizes_have_error_bars_that_hold() -> None:
    """Bars of 95 % for three sizes in ten releases: more than 10 misses of 30 have a chance below 1e-6."""
    missed = 0
    frame = blobs()
    for seed in range(10):
        release = made(epsilon=1, k=3, seed=seed, data=frame)
        assert release.sizes is not None
        assert release.errors is not None
        near = release.predict(frame)["cluster"].value_counts(sort=True)["count"].to_numpy()
        missed += int((np.abs(release.sizes - near) > release.errors).sum())
    assert missed <= 10
    assert release.clusters().columns == ["cluster", "size", "error", "x", "y"]
    assert (np.diff(release.sizes) <= 0).all()


def test_users_with_several_points_get_as_much_more_noise() -> None:
    users = f"unit: {{protects: user, column: who, at_most: 4}}{SQUARE}"
    frame = blobs().with_columns(who=pl.int_range(pl.len()) // 4)
    release = made(k=3, preset="dplloyd", schema=users, data=frame)
    scales = {charge.detail for _, charge in release.receipt.charges()}
    alone = {charge.detail for _, charge in made(k=3, preset="dplloyd").receipt.charges()}
    wide, narrow = (float(next(iter(each)).split()[1].replace(",", "")) for each in (scales, alone))
    assert wide == 4 * narrow


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"preset": "dplloyd"}, "give k"),
        ({"least_k": 5, "most_k": 4}, "exchange them"),
        ({"k": 2, "preset": "dplloyd", "schedule": "geometric", "rounds": 50}, "leaves nothing"),
        ({"k": 0}, "k must be a whole number from 1 to 200"),
    ],
)
def test_contradictions_are_refused_before_anything_is_spent(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        made(**given)
    assert str(caught.value).endswith("Nothing was spent.")


def test_fields_that_are_no_numbers_are_refused() -> None:
    animals = "kind: points\nfields: [{name: animal, constraints: {enum: [cat, dog]}}]"
    with pytest.raises(PenstockError, match="must be a number or a date"):
        made(k=2, schema=animals, data=pl.DataFrame({"animal": ["cat"]}))


@pytest.mark.parametrize("method", ["kmeans", "gupt-kmeans", "privgene-kmeans"])
@pytest.mark.parametrize("preset", ["grown", "hybrid", "dplloyd"])
def test_more_fields_than_can_be_clustered_are_refused_at_once(method: str, preset: str) -> None:
    names = [f"x{number}" for number in range(65)]
    fields = "\n".join(
        f"  - {{name: {name}, type: number, constraints: {{minimum: 0, maximum: 1}}}}" for name in names
    )
    given = {"preset": preset} if method == "kmeans" else {}
    with pytest.raises(PenstockError, match="at most 64 fields") as caught:
        made(
            k=2,
            method=method,
            schema=f"kind: points\nfields:\n{fields}",
            data=pl.DataFrame([[0.5] * 65], schema=names, orient="row"),
            **given,
        )
    assert str(caught.value).endswith("Nothing was spent.")


def test_a_seed_and_the_engine_decide_nothing_but_the_noise() -> None:
    one, two = made(k=3, seed=5), made(k=3, seed=6)
    assert not np.array_equal(one.centres, two.centres)
    assert np.array_equal(one.centres, made(k=3, seed=5).centres)


@pytest.mark.parametrize("method", ["gupt-kmeans", "privgene-kmeans"])
def test_baselines_find_one_cluster_and_say_nothing_of_sizes(method: str) -> None:
    release = made(epsilon=8, k=1, method=method)
    assert release.sizes is None
    assert release.predict(blobs(5)).to_series().to_list() == [0] * 5
    points = release.box.units(blobs().to_numpy())
    # a third more than the variance around the mean, which is the best
    assert nicv(points, release.box.units(release.centres)) < 1.33 * points.var(axis=0).sum()


def test_the_noise_of_sample_and_aggregate() -> None:
    """48 blocks, k = d = 2, the whole range, epsilon 1/10: a scale of 3.33 for a mean in the cube."""
    release = made(epsilon="1/10", k=2, method="gupt-kmeans", schema=f"size: 16281{SQUARE}", power=0.4)
    assert release.parameters["blocks"] == 48
    means = [charge for _, charge in release.receipt.charges() if charge.label == "mean"]
    assert len(means) == 4
    assert {charge.epsilon for charge in means} == {Fraction(1, 10) / 8}
    assert GuptKMeans(k=2).power == 0.4


def test_the_evaluation_stands_between_a_random_start_and_no_noise() -> None:
    frame = blobs()
    compared = penstock.evaluate(made(k=3, data=frame), frame)
    (score,) = compared.scores
    assert score.name == "NICV"
    assert score.ceiling <= score.value < score.floor
    assert compared.details["clusters"] == 3
    assert sum(compared.details["points_nearest"]) == frame.height
    told = compared.report()
    assert "Sizes" in told
    assert "a ceiling, which is Lloyd&#x27;s algorithm without noise" in told.replace("&#39;", "&#x27;")


def test_without_noise_it_is_lloyds_algorithm() -> None:
    points = blobs().to_numpy() / [5, 2.5] - 1
    best = best_without_noise(points, 3)
    assert best.nicv == pytest.approx(nicv(points, best.centres))
    assert sorted(best.weights / len(points)) == pytest.approx([0.2, 0.3, 0.5], abs=0.03)


def test_dates_have_centres_too() -> None:
    bounds = "constraints: {minimum: 2024-01-01, maximum: 2024-12-31}"
    schema = f"kind: points\nfields: [{{name: day, type: date, {bounds}}}]"
    days = pl.DataFrame({"day": ["2024-02-01"] * 800 + ["2024-11-01"] * 800})
    release = made(epsilon=5, k=2, schema=schema, data=days)
    found = release.clusters()["day"].dt.month().to_list()
    assert set(found) <= {1, 2, 10, 11}
    assert release.predict(days)["cluster"].n_unique() == 2


def test_what_is_given_changes_the_preset() -> None:
    assert KMeans(k=3).recipe == PRESETS["grown"]
    assert KMeans(preset="eugkm", rule="fitted").recipe == PRESETS["hybrid"]
    changed = replace(PRESETS["hybrid"], synopsis="grown", sparse="keep")
    assert KMeans(preset="hybrid", synopsis="grown", sparse="keep").recipe == changed


def test_a_budget_too_small_for_a_tree_is_refused_before_anything_is_paid() -> None:
    """The number of points would come first, and be paid for in vain."""
    schema = Schema.from_yaml(
        "kind: points\nfields: [{name: x, type: number, constraints: {minimum: 0, maximum: 1}}]"
    )
    points, budget = Points.open(pl.DataFrame({"x": [0.1, 0.9]}), schema), Budget("1e-11")
    with pytest.raises(UsageError, match="too small to decide about a tree"):
        KMeans(k=1).fit(points, budget)
    assert budget.left[0] == budget.epsilon


def test_a_grid_has_places_in_more_fields_than_arrays_have_axes() -> None:
    places = GridSynopsis((1,) * 60 + (2, 1, 3), np.zeros(6, dtype=np.int64), 1.0).places
    assert places.shape == (6, 63)
    assert places[:, 60].tolist() == [-0.5] * 3 + [0.5] * 3
    assert np.allclose(places[:3, 62], [-2 / 3, 0, 2 / 3])


@pytest.mark.parametrize("given", [{"preset": "eugkm"}, {"preset": "dplloyd", "rounds": 1}])
def test_a_database_clusters_as_many_fields_as_are_allowed(given: dict[str, Any]) -> None:
    """SQLite has neither wide numbers nor deep expressions; two bins a field keep its questions short."""
    rng = np.random.default_rng(0)
    names = [f"x{number}" for number in range(64)]
    described = {"type": "number", "bins": {"count": 2}, "constraints": {"minimum": -1, "maximum": 1}}
    schema = Schema.model_validate({"kind": "points", "fields": [{"name": x, **described} for x in names]})
    rows = rng.choice([-0.7, 0.7], (60, 1)) + rng.normal(0, 0.05, (60, 64))
    frame = pl.DataFrame(rows, schema=names)
    one, two = (
        penstock.release(data, schema, epsilon=100, method="kmeans", parameters={"k": 2, **given}, seed=1)
        for data in (frame, sqlite_table(frame))
    )
    assert isinstance(one, ClustersRelease)
    assert isinstance(two, ClustersRelease)
    assert one.centres.shape == (2, 64)
    assert np.array_equal(one.centres, two.centres)
