"""Many dimensions: directions that are random or paid for, and centres that come back from them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import penstock
from penstock.errors import ReleaseError, UsageError
from penstock.kinds.points.data import COARSE_REACH, Points
from penstock.learn.clusters.evaluation import nicv
from penstock.learn.clusters.planning import projection_pays, spread_noise
from penstock.learn.clusters.projection import FINE, drawn, lifted, spreading
from penstock.learn.clusters.release import ClustersRelease
from penstock.learn.clusters.synopsis import Cells, GrownSynopsis
from penstock.learn.clusters.unit_box import nearest
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.releases import load
from penstock.schema import Schema

Reals = NDArray[np.float64]
D, K, N = 10, 4, 20_000
NAMES = [f"x{axis}" for axis in range(D)]


def cube(names: list[str], **more: Any) -> Schema:
    ends = {"minimum": -1.0, "maximum": 1.0}
    fields = [{"name": name, "type": "number", "constraints": ends, "outside": "clamp"} for name in names]
    return Schema.model_validate({"kind": "points", "fields": fields, **more})


MIDDLES: Reals = np.random.default_rng(5).uniform(-0.6, 0.6, (K, D))


@pytest.fixture(scope="module")
def rows() -> Reals:
    rng = np.random.default_rng(0)
    return np.clip(rng.normal(MIDDLES[rng.integers(K, size=N)], 0.1), -1, 1)


@pytest.fixture(scope="module")
def found(rows: Reals) -> ClustersRelease:
    return made(rows)


def made(rows: Reals, schema: Schema | None = None, engine: str = "memory", **given: Any) -> ClustersRelease:
    frame = pl.DataFrame(rows, schema=NAMES)
    release = penstock.release(
        frame,
        schema or cube(NAMES),
        epsilon=2,
        method="kmeans",
        parameters={"k": K, **given},
        seed=1,
        engine=engine,
    )
    assert isinstance(release, ClustersRelease)
    return release


def paid(release: ClustersRelease) -> dict[str, Fraction]:
    return {charge.label: charge.epsilon for _, charge in release.receipt.charges()}


# What is paid --------------------------------------------------------------------------------------


def test_directions_are_one_charge_and_everything_adds_up(found: ClustersRelease) -> None:
    charges = paid(found)
    assert list(charges) == ["number of points", "directions", "shape", "counts", "round 1", "round 2"]
    assert sum(charges.values()) == 2
    assert charges["directions"] == Fraction(1, 5) * (2 - charges["number of points"])
    assert found.parameters["projection"] == "paid"


def test_random_directions_cost_nothing_and_follow_from_public_numbers(rows: Reals) -> None:
    charges = paid(made(rows[:2000], projection="random"))
    assert list(charges) == ["number of points", "shape", "counts", "round 1", "round 2"]
    assert np.array_equal(drawn(4, 9, 3).weights, drawn(4, 9, 3).weights)
    assert not np.array_equal(drawn(4, 9, 3).weights, drawn(4, 9, 4).weights)


def test_the_rule_looks_at_public_and_paid_numbers_only() -> None:
    assert projection_pays(N, K, D, 2.0)
    assert not projection_pays(N, K, D, 0.1)
    assert not projection_pays(N, 7, D, 2.0)
    assert not projection_pays(10**9, K, 9, 10.0)
    assert spread_noise(2 * N, D, 1.0) == pytest.approx(spread_noise(N, D, 2.0))


def test_no_point_moves_the_moments_by_more_than_their_sensitivity(rows: Reals) -> None:
    """Corners move every one of the d + d(d+1)/2 entries by as much as there is."""

    def moments(some: Reals) -> NDArray[np.int64]:
        return open_seal(Points.open(pl.DataFrame(some, schema=NAMES), cube(NAMES)).moments())

    few = rows[:5]
    l1 = (D + D * (D + 1) // 2) * COARSE_REACH**2
    corner, other = np.ones((1, D)), np.where(np.arange(D) % 2, 1.0, -1.0)[None]
    for point in (corner, other, rows[7:8], np.zeros((1, D))):
        moved = np.abs(moments(np.vstack([few, point])) - moments(few))
        assert moved.max() <= COARSE_REACH**2
        assert moved.sum() <= l1
    assert np.abs(moments(np.vstack([few, corner])) - moments(few)).sum() == l1
    users = cube(NAMES, unit={"protects": "user", "column": "who", "at_most": 3})
    frame = pl.DataFrame(few, schema=NAMES).with_columns(who=pl.lit("a"))
    assert Points.open(frame, users).moments().sensitivity.l1 == 3 * l1


# What is found -------------------------------------------------------------------------------------


def test_paid_directions_are_those_along_which_points_spread() -> None:
    """A cloud that is long in one direction: noise turns it by less than 0.05 of a right angle."""
    rng = np.random.default_rng(2)
    axis = np.ones(D) / np.sqrt(D)
    cloud = 0.3 + rng.normal(size=(N, 1)) * 0.25 * axis + rng.normal(0, 0.03, (N, D))
    points = Points.open(pl.DataFrame(cloud, schema=NAMES), cube(NAMES))
    across = spreading(points, N, 3, Budget(4, randomness=Randomness.seeded(0)))
    assert abs(across.weights[0] / FINE @ axis) > 0.99
    assert across.middle[0] / (FINE << 20) == pytest.approx(across.weights[0].sum() / FINE * 0.3, abs=0.05)


def test_clusters_in_many_dimensions_are_found(found: ClustersRelease, rows: Reals) -> None:
    """Without noise the mean squared distance is 10 times 0.01."""
    assert nicv(rows, found.centres) < 1.1 * nicv(rows, MIDDLES)
    assert isinstance(found.synopsis, GrownSynopsis)
    assert "along 3 directions" in found.synopsis.words
    assert found.sizes is not None
    assert sorted(found.sizes) == pytest.approx([N / K] * K, rel=0.1)


def test_the_nearest_along_directions_is_the_nearest_of_what_is_put_back() -> None:
    rng, across = np.random.default_rng(1), drawn(4, 12, 0)
    centres, points = rng.uniform(-0.2, 0.2, (5, 4)), rng.uniform(-1, 1, (200, 12))
    along = points @ across.weights.T / (FINE * 2)
    assert (nearest(along, centres) == nearest(points, lifted(across, centres))).mean() > 0.99


def test_every_engine_makes_the_same_release(rows: Reals) -> None:
    few = rows[:1500]
    one, two = (made(few, engine=engine, projection="paid") for engine in ("memory", "duckdb"))
    assert np.array_equal(one.centres, two.centres)
    assert isinstance(one.synopsis, GrownSynopsis)
    assert isinstance(two.synopsis, GrownSynopsis)
    assert np.array_equal(one.synopsis.counts, two.synopsis.counts)


def test_whole_numbers_come_back_from_directions_where_they_are() -> None:
    rng = np.random.default_rng(3)
    grades = rng.choice([1, 5], (3000, 1)) + np.zeros((1, D), dtype=np.int64)
    ends = {"minimum": 1, "maximum": 5}
    fields = [{"name": name, "type": "integer", "constraints": ends} for name in NAMES]
    schema = Schema.model_validate({"kind": "points", "fields": fields})
    release = made(grades.astype(np.int64), schema, k=2, projection="paid")
    assert np.sort(release.centres[:, 0]) == pytest.approx([1, 5], abs=0.3)


def test_blocks_of_many_dimensions_are_cut_where_points_spread() -> None:
    """One block for everything would leave nothing to cluster."""
    rng = np.random.default_rng(0)
    places = rng.uniform(-1, 1, (6000, 20)) * np.append(np.ones(3), np.full(17, 0.01))
    blocks = Cells.of(places, np.ones(6000)).blocks()
    assert 1000 < len(blocks) <= 4096
    assert blocks.sums.sum(axis=0) == pytest.approx(places.sum(axis=0))


# Saved, and refused --------------------------------------------------------------------------------


def test_directions_are_saved_and_loaded(found: ClustersRelease, tmp_path: Path) -> None:
    opened = load(found.save(tmp_path / "clusters"))
    assert isinstance(opened, ClustersRelease)
    assert isinstance(opened.synopsis, GrownSynopsis)
    assert isinstance(found.synopsis, GrownSynopsis)
    assert np.allclose(opened.synopsis.places, found.synopsis.places)
    assert opened.synopsis.words == found.synopsis.words


@pytest.mark.parametrize(
    "change",
    [
        {"directions": []},
        {"directions": [[1] * D] * 2},
        {"directions": [[5000] * D] * 3},
        {"directions": [[1, 2]] * 3},
        {"middle": None},
        {"middle": [1 << 60] * 3},
    ],
)
def test_directions_that_cannot_be_are_refused(
    found: ClustersRelease, tmp_path: Path, change: dict[str, Any]
) -> None:
    folder = found.save(tmp_path / "clusters")
    model = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**model, **change}))
    with pytest.raises(ReleaseError):
        load(folder)


@pytest.mark.parametrize(
    ("given", "fields", "words"),
    [
        ({"preset": "hybrid", "projection": "paid"}, D, "Only a tree"),
        ({"rule": "never", "projection": "random"}, D, "Only a tree"),
        ({"projection": "paid"}, 4, "needs more than 4"),
    ],
)
def test_projections_that_cannot_work_are_refused_before_anything_is_spent(
    given: dict[str, Any], fields: int, words: str
) -> None:
    names = NAMES[:fields]
    with pytest.raises(UsageError, match=words) as caught:
        penstock.release(
            pl.DataFrame(np.zeros((5, fields)), schema=names),
            cube(names),
            epsilon=1,
            method="kmeans",
            parameters={"k": 2, **given},
            seed=1,
        )
    assert str(caught.value).endswith("Nothing was spent.")


def test_no_directions_are_paid_for_where_points_may_lack_values(rows: Reals) -> None:
    """Sums are of the points that have all values, and the number of points is not theirs."""
    facts = cube(NAMES).model_dump(by_alias=True, exclude_defaults=True)
    facts["fields"][3]["missing"] = "value"
    schema = Schema.model_validate(facts)
    assert made(rows, schema).parameters["projection"] == "none"
    with pytest.raises(UsageError, match=r"every point has all its values.*Nothing was spent\.$"):
        made(rows[:5], schema, projection="paid")
