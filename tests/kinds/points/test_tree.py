"""What a tree release answers, draws and saves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kinds.points.trees import RIDES, SQUARE, clustered, fit, noise_free, rides, square

from penstock.errors import QueryError, ReleaseError
from penstock.kinds.points.box import Box
from penstock.kinds.points.evaluation import random_boxes
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.ranges import Ranges
from penstock.kinds.points.tree import TreeRelease
from penstock.releases import load
from penstock.releases.error_bars import Noises, bar
from penstock.schema import Schema


def leaf_by_leaf(release: TreeRelease, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Range counts the plain way: every leaf against every box."""
    leaves = release.partition.leaves
    begin, end = release._corners(low, high)
    answers = np.zeros(len(begin))
    for query in range(len(begin)):
        inside = np.minimum(release.partition.high[leaves], end[query])
        inside = inside - np.maximum(release.partition.low[leaves], begin[query])
        sizes = release.partition.high[leaves] - release.partition.low[leaves]
        answers[query] = release.counts @ np.prod(np.clip(inside / sizes, 0, 1), axis=1)
    return answers


def test_range_count_of_the_worked_example() -> None:
    # leaves [0,.5)^2: 10 and [.5,1)x[0,.5): 4, others 0; the box [.25,.75)x[0,.5) holds 5 + 2
    release = noise_free(square(np.array([[0.1, 0.1]] * 10 + [[0.6, 0.1]] * 4)), SQUARE)
    four = Partition.grown(release.space, np.array([True, False, False, False, False]))
    tree = TreeRelease(
        method="privtree",
        schema=SQUARE,
        receipt=release.receipt,
        partition=four,
        counts=np.array([10, 0, 4, 0]),
        deviation=2.0,
    )
    assert tree.count(Box((0.25, 0), (0.75, 0.5))).value == pytest.approx(7)
    assert tree.query("x = 0.25..0.75 and y < 0.5").value == pytest.approx(7)
    for cut in (tree.count(Box((0.25, 0), (0.75, 0.5))), tree.query("x = 0.25..0.75 and y < 0.5")):
        assert (cut.rests_on, cut.error) == ("spread evenly", None)
        assert "cuts through cells" in cut.caveats[0]
    for whole in (tree.count(Box((0, 0), (0.5, 1))), tree.query("x < 0.5")):
        assert (whole.value, whole.rests_on) == (10, "counted")
        assert whole.error == bar([Noises(1.0, 2.0, 2)]).half
    assert tree.count(Box((0, 0), (1, 1))).error == bar([Noises(1.0, 2.0, 4)]).half
    assert tree.count(Box((-5, -5), (5, 5))).value == pytest.approx(14)
    assert tree.count(Box((0.5, 0.5), (0.5, 0.5))).value == 0


def test_boxes_along_cell_borders_are_exact_without_noise() -> None:
    points = clustered(4000)
    release = noise_free(square(points), SQUARE, epsilon=4)
    for low, high in (((0, 0), (0.5, 1)), ((0.5, 0.5), (1, 1)), ((0.25, 0), (0.5, 0.25))):
        inside = ((points >= low) & (points < np.array(high))).all(axis=1).sum()
        assert release.count(Box(low, high)).value == pytest.approx(inside)


@pytest.mark.parametrize("n", [3, 4000])
def test_a_thousand_range_counts_equal_leaf_by_leaf_sums(n: int) -> None:
    release = fit(square(clustered(n)), epsilon=3)
    low, high = random_boxes(np.zeros(2), np.ones(2), (0.0001, 0.3), 1500, np.random.default_rng(1))
    low[:50], high[50:100] = -1, 2  # beyond the domain
    assert release.range_counts(low, high) == pytest.approx(leaf_by_leaf(release, low, high), abs=1e-6)


@pytest.mark.parametrize("together", [None, 1, 2])
def test_range_counts_with_categories_and_whole_numbers_equal_leaf_by_leaf_sums(together: int | None) -> None:
    release = fit(rides(3000), RIDES, epsilon=4, together=together)
    rng = np.random.default_rng(2)
    low, high = random_boxes(np.array([40.0, -180, 0]), np.array([41.0, 180, 24]), (0.001, 0.5), 200, rng)
    assert release.range_counts(low, high) == pytest.approx(leaf_by_leaf(release, low, high), abs=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_range_counts_are_right_for_any_tree_and_any_grid_depth(seed: int, depth: int) -> None:
    rng = np.random.default_rng(seed)
    release = fit(square(rng.random((60, 2)) ** 4), epsilon=8, seed=seed)
    low, high = random_boxes(np.zeros(2), np.ones(2), (0.001, 0.5), 40, rng)
    expected = leaf_by_leaf(release, low, high)
    ranges = Ranges(release.partition, release.ranges.counts)
    object.__setattr__(ranges, "_depth", min(depth, release.partition.shape.depth))
    corners = release._corners(low, high)
    assert ranges.count(*corners) == pytest.approx(expected, abs=1e-7)
    assert Ranges(release.partition, ranges.counts, additive=False).count(*corners) == pytest.approx(
        expected, abs=1e-7
    )


def test_the_error_bar_of_a_box_is_that_of_its_leaves() -> None:
    release = fit(square(clustered(2000)), epsilon=2)
    box = Box((0.1, 0.2), (0.77, 0.9))
    answer, asked = release.count(box), release.query("x = 0.1..0.77 and y = 0.2..0.9")
    assert answer.value == pytest.approx(asked.value)
    assert answer.error == pytest.approx(asked.error)


QUESTIONS = (
    "lat < 40.25 and lon >= -74 and lon < -70",
    "means = 'bus'",
    "means in ('tram', 'foot')",
    "means = 'public' and hour < 12",
    "not (means = 'bus' or hour >= 6)",
    "lat < 40.5 or hour = 7",
    "hour = 3..5",
    "hour != 4 and lat = 40.1..40.2",
    "lon >= 170 or lon < -75",
    "means is missing",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered_exactly_where_the_leaves_are_fine_enough(question: str) -> None:
    frame = rides(400)
    release = noise_free(frame, RIDES, epsilon=100, together=1)
    from penstock.schema import parse

    truth = int(parse(question, RIDES).holds(frame).sum())
    # single points have cells of their own; those that a border of the question cuts may be split
    assert release.query(question).value == pytest.approx(truth, abs=0.06 * 400)
    everything = release.query(question).value + release.query(f"not ({question})").value
    assert everything == pytest.approx(400)


def test_single_categories_and_values_are_exact_without_noise() -> None:
    frame = rides(2000)
    release = noise_free(frame, RIDES, epsilon=100, together=1)
    for means in ("bus", "tram", "foot", "bike"):
        assert release.query(f"means = '{means}'").value == pytest.approx(
            frame.filter(pl.col("means") == means).height, abs=2
        )


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        ("speed > 3", "not a field"),
        ("x = 0.5", "single real number"),
        ("x <", "position"),
    ],
)
def test_a_question_that_does_not_fit_is_one_sentence(question: str, complaint: str) -> None:
    with pytest.raises(QueryError, match=complaint):
        fit(square(clustered(50))).query(question)


def test_boxes_of_the_wrong_shape_are_refused() -> None:
    release = fit(square(clustered(50)))
    with pytest.raises(QueryError, match="3 dimensions and the release 2"):
        release.count(Box((0, 0, 0), (1, 1, 1)))
    with pytest.raises(QueryError, match="finite"):
        release.range_counts([[0, np.nan]], [[1, 1]])


def test_synthetic_points_fill_every_subtree_as_its_share_says() -> None:
    release = fit(square(clustered(5000)))
    n = 3000
    allotted = release.partition.allot(release.leaf_shares, n, np.random.default_rng(5))
    assert allotted.sum() == n
    below = release.partition.shape.sums(allotted)
    expected = release.partition.shape.sums(release.leaf_shares) * n
    assert np.abs(below - expected).max() < 1 + 1e-6


def test_plausible_shares_are_not_negative_and_follow_the_volume_where_nothing_is_counted() -> None:
    release = fit(square(np.zeros((0, 2))))
    shares = release.leaf_shares
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    partition = Partition.grown(release.space, np.array([True] + [False] * 4))
    assert partition.plausible(np.array([-3, -1, 0, -2])).tolist() == [0.25] * 4
    assert partition.plausible(np.array([6, -1, 2, 0])).tolist() == [0.75, 0, 0.25, 0]


def test_synthetic_points_stay_in_the_domain_and_keep_their_types() -> None:
    release = fit(rides(3000), RIDES)
    rows = release.sample(2000, seed=1)
    assert rows.schema == {"lat": pl.Float64, "lon": pl.Float64, "means": pl.String, "hour": pl.Int64}
    assert rows["lat"].is_between(40, 41).all()
    assert rows["hour"].is_between(0, 23).all()
    assert set(rows["means"]) <= {"bus", "tram", "foot", "bike"}
    share = (rows["means"] == "bus").mean()
    assert share == pytest.approx(0.5, abs=0.1)  # noise and drawing are far below a tenth
    assert release.sample(10, seed=4).equals(release.sample(10, seed=4))
    assert release.sample(0).height == 0


def test_synthetic_points_answer_range_counts_nearly_as_well_as_the_tree() -> None:
    points = clustered(30_000)
    release = fit(square(points), epsilon=1)
    drawn = release.sample(release.size, seed=0).to_numpy()
    errors = {"tree": [], "rows": []}
    low, high = random_boxes(np.zeros(2), np.ones(2), (0.001, 0.01), 300, np.random.default_rng(11))
    answers = release.range_counts(low, high)
    for a, b, answer in zip(low, high, answers, strict=True):
        truth = ((points >= a) & (points < b)).all(axis=1).sum()
        rows = ((drawn >= a) & (drawn < b)).all(axis=1).sum()
        errors["tree"].append(abs(answer - truth) / max(truth, 30))
        errors["rows"].append(abs(rows - truth) / max(truth, 30))
    assert np.mean(errors["rows"]) < 1.25 * np.mean(errors["tree"])


@pytest.mark.parametrize("schema", [SQUARE, RIDES], ids=["square", "rides"])
def test_save_and_load_round_trip(tmp_path: Path, schema: Schema) -> None:
    release = fit(square(clustered(1000)) if schema is SQUARE else rides(1000), schema)
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert isinstance(again, TreeRelease)
    assert again.receipt == release.receipt
    assert (again.counts == release.counts).all()
    assert (again.partition.low == release.partition.low).all()
    assert again.sample(50, seed=1).equals(release.sample(50, seed=1))
    model = json.loads((tmp_path / "out" / "model.json").read_text())
    assert set(model) == {"together", "deepest", "deviation"}


def test_a_broken_tree_is_refused_with_one_sentence(tmp_path: Path) -> None:
    release = fit(square(clustered(300)))
    with pytest.raises(ReleaseError, match="impossible tree"):
        TreeRelease.from_model(*_with_nodes(release, np.array([True, False])))
    with pytest.raises(ReleaseError, match="rows where 1 were expected"):
        TreeRelease.from_model(*_with_nodes(release, np.array([False])))


def _with_nodes(release: TreeRelease, split: np.ndarray) -> tuple:
    from penstock.releases import Manifest, Model

    model = release.model()
    manifest = Manifest(release.method, release.schema, release.receipt, release.parameters)
    return manifest, Model(model.json, {**model.tables, "nodes": pl.DataFrame({"split": split})})


def test_the_partition_is_exported_as_geojson(tmp_path: Path) -> None:
    schema = Schema.from_yaml(
        SQUARE.to_yaml().replace("name: x", "name: lat").replace("name: y", "name: lon")
    )
    frame = square(clustered(500)).rename({"x": "lat", "y": "lon"})
    release = fit(frame, schema)
    collection = json.loads(release.save_geojson(tmp_path / "map.geojson").read_text())
    assert collection["type"] == "FeatureCollection"
    boxes = [feature["geometry"]["coordinates"][0] for feature in collection["features"]]
    areas = [(ring[2][0] - ring[0][0]) * (ring[2][1] - ring[0][1]) for ring in boxes]
    assert sum(areas) == pytest.approx(1)
    assert [f["properties"]["count"] for f in collection["features"]] == release.counts.tolist()
    # longitude runs to the right although the schema names it second
    leaf = release.partition.leaves[0]
    assert boxes[0][0] == [release.partition.low[leaf, 1] / 2**30, release.partition.low[leaf, 0] / 2**30]
    with pytest.raises(QueryError, match="'north' is not a numeric field"):
        release.geojson(y="north")
    with pytest.raises(ReleaseError, match="cannot be written"):
        release.save_geojson(tmp_path / "nowhere" / "map.geojson")
    assert [file.name for file in tmp_path.iterdir()] == ["map.geojson"]


def test_a_map_of_many_fields_is_seen_from_above() -> None:
    release = noise_free(rides(800), RIDES)
    collection = release.geojson(side=8)
    assert len(collection["features"]) == 64
    assert sum(f["properties"]["count"] for f in collection["features"]) == pytest.approx(800)


@pytest.mark.parametrize(("schema", "pictures"), [(SQUARE, 4), (RIDES, 6)], ids=["square", "rides"])
def test_the_report_shows_map_points_and_every_axis(schema: Schema, pictures: int) -> None:
    release = noise_free(square(clustered(900)) if schema is SQUARE else rides(900), schema)
    shown = release.pictures()
    assert len(shown) == pictures
    assert [picture.title for picture in shown[:2]] == ["Map of the released counts", "Synthetic points"]
    for picture in shown[2:]:
        # each bar is told in whole points
        assert sum(row[-1] for row in picture.rows) == pytest.approx(900, abs=len(picture.rows) / 2)
