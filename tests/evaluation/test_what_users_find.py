"""An evaluation finds what users find: who is worse off, what is broken, what is lost, what is a copy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import penstock
from penstock import Schema
from penstock.demo import rides, rides_schema, visits, visits_schema
from penstock.errors import UsageError
from penstock.evaluation import telling_apart
from penstock.evaluation.matches import CAUTION, matches
from penstock.evaluation.metrics import distances
from penstock.evaluation.telling_apart import propensity
from penstock.kinds.points import evaluation as of_points
from penstock.kinds.table import accuracy
from penstock.kinds.table import evaluation as of_tables
from penstock.kinds.table.accuracy import MOST_FEATURES, accuracies, choose_targets, ranked
from penstock.kinds.table.findings import slices, spikes, violations

FIELDS = """
fields:
  - {name: town, constraints: {enum: [north, south, west]}}
  - {name: sick, type: boolean}
  - {name: rare, type: boolean}
  - {name: hours, type: integer, constraints: {minimum: 0, maximum: 79}, bins: {width: 10}}
"""
SCHEMA = Schema.from_yaml(FIELDS)


def people(rows: int = 2000, seed: int = 5) -> pl.DataFrame:
    """In the west, one in ten, illness goes the other way round; half of all work 40 hours."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["north", "south", "west"], rows, p=[0.45, 0.45, 0.1])
    hours = np.where(rng.random(rows) < 0.5, 40, rng.integers(0, 80, rows))
    sick = ((hours >= 40) ^ (rng.random(rows) < 0.1)) ^ (town == "west")
    return pl.DataFrame({"town": town, "sick": sick, "rare": rng.random(rows) < 0.03, "hours": hours})


def without_the_west(frame: pl.DataFrame) -> pl.DataFrame:
    """The same, but in the west illness is as everywhere else."""
    return frame.with_columns(sick=pl.col("sick") ^ (pl.col("town") == "west"))


def test_the_slice_that_is_wrong_is_the_worst_one() -> None:
    original = people()
    codes = SCHEMA.encode(original)
    others = {
        "release": SCHEMA.encode(without_the_west(original)),
        "floor": SCHEMA.encode(original.with_columns(pl.all().shuffle(seed=1))),
        "ceiling": SCHEMA.encode(original.sample(2000, with_replacement=True, seed=1)),
    }
    first, *rest = slices(SCHEMA, codes, others)
    assert first.name == "town: west"
    assert first.records == original.filter(town="west").height
    assert first.distance["release"] > 2 * first.distance["ceiling"]
    assert all(each.distance["release"] < first.distance["release"] for each in rest)
    assert "rare: true" in {each.name for each in rest}


def test_a_slice_without_synthetic_records_is_wholly_off() -> None:
    original = people()
    north = original.filter(town="north")
    tables = dict.fromkeys(("release", "floor", "ceiling"), SCHEMA.encode(north))
    found = {each.name: each.distance["release"] for each in slices(SCHEMA, SCHEMA.encode(original), tables)}
    assert found["town: west"] == pytest.approx(0.5)  # half of |p - 0|
    assert found["town: north"] == 0


def test_spikes_inside_a_bin_are_found_and_what_to_do_is_said() -> None:
    original = people()
    even = original.with_columns(hours=pl.Series(np.random.default_rng(1).integers(40, 50, 2000)))
    (found,) = spikes(SCHEMA, original, even)
    assert (found.column, found.value) == ("hours", "40")
    assert found.original == pytest.approx(0.5, abs=0.05)
    assert found.synthetic < 0.2
    declared = SCHEMA.with_field("hours", spikes=[40])
    assert spikes(declared, original, original) == []


def test_rules_that_are_broken_are_counted_on_both_sides() -> None:
    ruled = SCHEMA.with_facts(
        impossible=["hours < 10 and sick = true"], always=["if rare = true then hours < 80"]
    )
    original = people()
    (first, shares), (second, none) = violations(ruled, {"original": original, "synthetic": original.head(0)})
    assert (first, second) == ("hours < 10 and sick = true", "if rare = true then hours < 80")
    right = original.filter((pl.col("hours") < 10) & pl.col("sick")).height / 2000
    assert shares == {"original": pytest.approx(right), "synthetic": 0.0}
    assert none["original"] == 0


def test_copies_are_matches_and_the_caution_goes_with_them() -> None:
    rows = pl.DataFrame({"a": [1, 1, 2, 3, None], "b": ["x", "x", "y", "z", None]})
    found = matches(rows, rows, rows.head(0), ["a", "b"])
    assert (found.any, found.unique, found.floor, found.distinct) == (1.0, 0.6, 0.0, 0.6)
    assert "neither a leak nor a proof" in found.words
    assert "guarantee" in CAUTION


def test_targets_are_the_most_balanced_columns_unless_one_is_named() -> None:
    codes = SCHEMA.encode(people())
    assert choose_targets(SCHEMA.attributes, codes) == ["town", "sick", "rare"]
    assert choose_targets(SCHEMA.attributes, codes, "rare") == ["rare"]
    with pytest.raises(UsageError, match="no column 'sic'"):
        choose_targets(SCHEMA.attributes, codes, "sic")


def test_the_auc_sees_what_accuracy_of_a_rare_class_does_not() -> None:
    """The one class in thirty is never predicted, so that both have the same accuracy; only one can rank."""
    rng = np.random.default_rng(0)
    rare = rng.random(4000) < 0.03
    hours = np.where(rare & (rng.random(4000) < 0.5), 75, rng.integers(0, 80, 4000))
    frame = pl.DataFrame(
        {"town": ["north"] * 4000, "sick": rng.random(4000) < 0.5, "rare": rare, "hours": hours}
    )
    codes = SCHEMA.encode(frame)
    shuffled = {**codes, "rare": rng.permutation(codes["rare"])}
    (good,) = accuracies(SCHEMA.attributes, codes, codes, ["rare"])
    (bad,) = accuracies(SCHEMA.attributes, codes, shuffled, ["rare"])
    assert abs(good.synthetic - bad.synthetic) < 0.02
    assert good.auc_synthetic is not None
    assert bad.auc_synthetic is not None
    assert good.auc_synthetic > bad.auc_synthetic + 0.1
    assert ranked(np.zeros(3, dtype=int), np.ones((3, 1))) is None


def test_what_is_the_same_cannot_be_told_apart() -> None:
    """pMSE is 0 where nobody can tell and 1/4 where everybody can."""
    rng = np.random.default_rng(3)
    one, two, far = (rng.normal(shift, 1, (1500, 3)).astype(np.float32) for shift in (0, 0, 9))
    same, other = propensity(one, two, [False] * 3), propensity(one, far, [False] * 3)
    assert same is not None
    assert other is not None
    assert abs(same.auc - 0.5) < 0.1
    assert same.pmse < 0.05
    assert (round(other.auc, 3), round(other.pmse, 3)) == (1.0, 0.25)
    assert propensity(one[:10], two, [False] * 3) is None


def test_a_copy_of_the_records_is_not_told_apart() -> None:
    """What the half that is learned from has too many of, the other half lacks: sure answers, all wrong."""
    rows = np.random.default_rng(3).integers(0, 4, (4000, 4)).astype(np.float32)
    found = propensity(rows, rows.copy(), [True] * 4)
    assert found is not None
    assert found.auc < 0.5
    assert found.pmse == 0


def test_of_many_columns_fewer_rows_are_looked_at_to_tell_tables_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(telling_apart, "MOST_CELLS", 300)
    one, two = np.random.default_rng(3).normal(size=(2, 1500, 3)).astype(np.float32)
    found = propensity(one, two, [False] * 3)
    assert found is not None
    assert found.rows == 100


def test_of_hundreds_of_columns_a_classifier_learns_from_those_that_say_most_and_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Chosen by the original's rows, the same for the release and the ceiling."""
    rng, columns, rows = np.random.default_rng(6), MOST_FEATURES + 60, 400
    values = rng.random((columns, rows)) < 0.5
    values[-1] = values[0] ^ (rng.random(rows) < 0.1)
    frame = pl.DataFrame({f"c{n}": column for n, column in enumerate(values)})
    fields = "".join(f"- {{name: c{n}, type: boolean}}\n" for n in range(columns))
    made = penstock.release(
        frame, Schema.from_yaml(f"fields:\n{fields}"), epsilon=50, method="independent", seed=1
    )
    widths, plain = [], accuracy.boosted

    def counted(categorical: Sequence[bool]) -> Any:
        widths.append(len(categorical))
        return plain(categorical)

    monkeypatch.setattr(accuracy, "boosted", counted)
    found = penstock.evaluate(made, frame, target="c0")
    assert widths == [MOST_FEATURES, MOST_FEATURES]
    assert found.score("predicting c0").ceiling > 0.8  # the last column is among them
    assert found.to_dict()["details"]["learned"]["c0"]["columns"] == MOST_FEATURES
    assert f"Of {columns - 1} other columns it learned from {MOST_FEATURES}" in found.report()
    assert f"{MOST_FEATURES} of {columns - 1} columns" in found.score("predicting c0").note


def related(seed: int, rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    b = (a + rng.integers(0, 2, rows)) % 4
    c = rng.integers(0, 3, rows)
    return {"a": a, "b": b, "c": c, "d": np.where(rng.random(rows) < 0.5, c, 0)}


def wide(seed: int, rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    base = rng.random(rows)
    return {f"c{i}": ((base * rng.random() + rng.random(rows)) * (3 + i)).astype(int) for i in range(9)}


@pytest.mark.parametrize(
    ("table", "seed", "rows", "others", "score"),
    [
        (related, 0, 500, 500, 937.6666666666666),
        (related, 2, 500, 300, 922.8888888888889),
        (related, 4, 200, 1000, 879.0),
        (wide, 0, 1000, 1000, 718.8333333333333),
        (wide, 2, 1500, 400, 649.0092592592592),
    ],
)
def test_the_k_marginal_score_is_that_of_sdnist(
    table: Any, seed: int, rows: int, others: int, score: float
) -> None:
    """Figures of `sdnist.metrics.kmarginal.KMarginal(original, synthetic).compute_score()`, SDNist 2.4."""
    original, synthetic = table(seed, rows), table(seed + 1, others)
    sizes = {name: int(max(original[name].max(), synthetic[name].max())) + 1 for name in original}
    found = distances(original, {"release": synthetic}, sizes, list(combinations(original, of_tables.K)))
    assert of_tables.k_marginal(found["release"]) == pytest.approx(score, abs=1e-9)


def made(frame: Any, schema: Schema) -> Any:
    return penstock.release(frame, schema, epsilon=2, seed=1)


def test_a_table_has_all_of_it_in_its_scores_its_json_and_on_its_page() -> None:
    found = penstock.evaluate(made(people(), SCHEMA), people(), target="sick", k_marginal=True)
    names = [score.name for score in found.scores]
    assert {
        "predicting sick",
        "ranking sick (AUC)",
        "worst slice",
        "told apart",
        "k-marginal (SDNist)",
    } <= set(names)
    marginal, pairs = found.score("k-marginal (SDNist)"), found.score("pairs of columns")
    assert marginal.value == pytest.approx(1000 * (1 - pairs.value))
    details = found.to_dict()["details"]
    assert {"slices", "told_apart", "spikes", "broken_rules", "matches", "records"} <= set(details)
    assert any("40 stands out and is lost" in remark for remark in found.remarks)
    page = found.report()
    for words in (
        "Not for publication",
        "Who is worse off",
        "Spikes inside bins",
        "Apparent matches",
        "SDNist",
    ):
        assert words in page


def test_more_records_than_can_be_compared_are_sampled_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of_tables, "MOST_COMPARED", 500)
    found = penstock.evaluate(made(people(), SCHEMA), people(), learning=False)
    assert found.rows == 500
    assert found.details["records"] == {"compared": 500, "of": 2000}
    assert "500 of the 2,000 records" in found.remarks[0]


@pytest.mark.parametrize(
    ("frame", "schema"),
    [(rides(800), rides_schema()), (visits(600), visits_schema())],
    ids=["points", "sequences"],
)
def test_points_and_sequences_are_told_apart_and_matched_too(frame: pl.DataFrame, schema: str) -> None:
    release = made(frame, Schema.from_yaml(schema))
    found = penstock.evaluate(release, frame)
    apart = found.score("told apart")
    assert 0 <= apart.ceiling < apart.floor <= 0.25
    assert 0 <= found.details["matches"]["any"] <= 1
    assert "Apparent matches" in found.report()
    assert "neither a leak" in found.remarks[0]
    assert "told apart" not in [
        score.name for score in penstock.evaluate(release, frame, learning=False).scores
    ]
    with pytest.raises(UsageError, match="k-marginal score is for whole tables"):
        penstock.evaluate(release, frame, k_marginal=True)


def test_the_region_of_points_that_is_wrong_is_the_worst_one() -> None:
    """Synthetic points are the original ones, but for one corner, where they are spread evenly."""
    rng = np.random.default_rng(3)
    low, high = np.zeros(2), np.array([8.0, 4.0])
    points = low + (high - low) * rng.beta(2, 2, size=(8000, 2))
    here = (points[:, 0] >= 4) & (points[:, 0] < 6) & (points[:, 1] < 1)
    spread = points.copy()
    spread[here] = np.column_stack([np.full(here.sum(), 4.01), rng.uniform(0, 1, here.sum())])
    even = low + (high - low) * rng.random((8000, 2))
    found = of_points._worst_region(points, {"release": spread, "floor": even, "ceiling": points}, low, high)
    assert found is not None
    assert (found.place, found.records) == (2 * of_points.REGIONS, int(here.sum()))
    assert of_points._region_of(found.place, ["x", "y"], low, high) == "x from 4 to 6 and y from 0 to 1"
    assert found.distance["release"] > 0.5 > found.distance["ceiling"] == 0
    one = of_points._worst_region(
        points[:, :1],
        {key: each[:, :1] for key, each in (("release", spread), ("floor", even), ("ceiling", points))},
        low[:1],
        high[:1],
    )
    assert one is not None
    assert one.place == 2
    few = {"release": points[:30], "floor": points[:30], "ceiling": points[:30]}
    assert of_points._worst_region(points[:30], few, low, high) is None


def test_sequences_that_begin_alike_are_slices() -> None:
    frame = visits(600)
    found = penstock.evaluate(made(frame, Schema.from_yaml(visits_schema())), frame, learning=False)
    slice_ = found.score("worst slice")
    assert 0 <= slice_.ceiling <= slice_.value <= 1
    assert "sequences that begin with" in slice_.note


def test_a_crowd_on_one_place_is_told() -> None:
    frame = rides(800)
    crowded = frame.with_columns(
        pl.when(pl.int_range(pl.len()) < 200).then(pl.lit(3.25)).otherwise(pl.col(name)).alias(name)
        for name in frame.columns[:2]
    )
    schema = Schema.from_yaml(rides_schema())
    grid = penstock.release(crowded, schema, epsilon=1, method="uniform-grid", seed=1)
    found = penstock.evaluate(grid, crowded, learning=False)
    assert any("one and the same place" in remark for remark in found.remarks)
