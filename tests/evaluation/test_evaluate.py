"""An evaluation puts a release between floor and ceiling, and says loudly that it is not private."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import pytest

from penstock import catalogue
from penstock.errors import DataError, UsageError
from penstock.evaluation import Evaluation, Score, evaluate
from penstock.kinds.points.data import Points
from penstock.kinds.points.evaluation import count_boxes, random_boxes, relative_error
from penstock.kinds.points.grid import UniformGrid
from penstock.kinds.table.accuracy import accuracies, choose_targets
from penstock.kinds.table.data import Table
from penstock.kinds.table.independent import Independent
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Manifest, Model, Release
from penstock.schema import Schema

PEOPLE = Schema.from_yaml("""
fields:
  - {name: smoker, type: boolean}
  - {name: town, constraints: {enum: [north, south, west]}}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}}
""")

MAP = Schema.from_yaml("""
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 10}}
  - {name: y, type: number, constraints: {minimum: -1, maximum: 1}}
""")


def people(rows: int = 3000) -> pl.DataFrame:
    """Smoking follows the town in nine cases of ten, and age follows smoking."""
    rng = np.random.default_rng(5)
    town = rng.integers(3, size=rows)
    smoker = (town == 2) ^ (rng.random(rows) < 0.1)
    age = np.clip(rng.normal(35 + 25 * smoker, 8), 0, 99).astype(int)
    return pl.DataFrame({"smoker": smoker, "town": np.array(["north", "south", "west"])[town], "age": age})


def places(rows: int = 4000) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    x = np.clip(np.where(rng.random(rows) < 0.7, rng.normal(2, 0.3, rows), rng.normal(8, 0.5, rows)), 0, 10)
    return pl.DataFrame({"x": x, "y": np.clip(rng.normal(0, 0.2, rows), -1, 1)})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Copy(Release):
    """Not a release at all: it hands out the original rows. Scores must be at the ceiling."""

    kinds: ClassVar[tuple[str, ...]] = ("table",)
    answer: ClassVar[str] = "synthetic data"
    form: ClassVar[str] = "copy"

    rows: pl.DataFrame

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        return self.rows[rng.integers(self.rows.height, size=n)]

    def model(self) -> Model:
        return Model()

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        raise AssertionError("never loaded")


def copy_of(rows: pl.DataFrame) -> Copy:
    return Copy(method="copy", schema=PEOPLE, receipt=Budget(1).receipt(), rows=rows)


@pytest.fixture(scope="module")
def independent() -> Evaluation:
    release = Independent().fit(Table.open(people(), PEOPLE), Budget(2, randomness=Randomness.seeded(1)))
    return evaluate(release, people())


@pytest.fixture(scope="module")
def grid() -> Evaluation:
    release = UniformGrid().fit(Points.open(places(), MAP), Budget(2, randomness=Randomness.seeded(1)))
    return evaluate(release, places(), queries=200)


def test_independent_columns_score_at_the_floor(independent: Evaluation) -> None:
    for name in ("pairs of columns", "triples of columns"):
        score = independent.score(name)
        assert score.position == pytest.approx(0.0, abs=0.1)
        assert score.ceiling < score.value
    assert independent.score("single columns").value < 0.05


def test_model_scores_beside_the_sample_where_it_answers_marginals(independent: Evaluation) -> None:
    score = independent.score("pairs of columns")
    assert score.model == pytest.approx(score.value, abs=0.03)
    assert independent.score("predicting smoker").model is None


def test_the_original_itself_scores_at_the_ceiling() -> None:
    found = evaluate(copy_of(people()), people())
    assert found.score("single columns").position is None  # there is nothing joint to lose
    for name in ("pairs of columns", "triples of columns", "predicting smoker"):
        assert found.score(name).position == pytest.approx(1.0, abs=0.15)


def test_classifier_learns_from_copies_and_not_from_independent_columns(independent: Evaluation) -> None:
    learned, guessed = (
        evaluate(copy_of(people()), people()).score("predicting smoker"),
        independent.score("predicting smoker"),
    )
    assert learned.value > learned.floor + 0.1
    assert guessed.value < guessed.floor + 0.05
    assert not learned.lower_is_better


def test_numbers_of_compared_marginals_are_stated() -> None:
    found = evaluate(copy_of(people()), people(), limit=2)
    assert found.details["marginals"]["2"] == {"compared": 2, "of": 3}
    assert "2 of 3, sampled with a fixed seed" in found.score("pairs of columns").note


def test_target_can_be_chosen_and_unknown_ones_are_refused() -> None:
    found = evaluate(copy_of(people()), people(), target="town")
    assert [score.name for score in found.scores if score.name.startswith("predicting")] == [
        "predicting town"
    ]
    with pytest.raises(UsageError, match="no column 'height'"):
        evaluate(copy_of(people()), people(), target="height")


def test_the_schemas_target_is_predicted_unless_another_is_named() -> None:
    towns = PEOPLE.model_copy(update={"target": "town"})
    for asked, predicted in ((None, "town"), ("smoker", "smoker")):
        found = evaluate(copy_of(people()), people(), towns, target=asked)
        named = [score.name for score in found.scores if score.name.startswith("predicting")]
        assert named == [f"predicting {predicted}"]


def test_evaluations_repeat_with_their_seed() -> None:
    one, two = (evaluate(copy_of(people()), people(), seed=3) for _ in range(2))
    assert one.scores == two.scores


def test_table_of_one_column_and_few_rows_can_be_evaluated() -> None:
    schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}]")
    frame = pl.DataFrame({"smoker": [True]})
    release = Independent().fit(Table.open(frame, schema), Budget(1, randomness=Randomness.seeded(1)))
    found = evaluate(release, frame)
    assert [score.name for score in found.scores] == ["single columns"]
    assert "Column by column" in found.report()


def test_records_that_do_not_fit_the_schema_are_refused() -> None:
    with pytest.raises(DataError, match="town"):
        evaluate(copy_of(people()), people().with_columns(town=pl.lit("east")))
    with pytest.raises(DataError, match="no records"):
        evaluate(copy_of(people()), people().head(0))


def test_other_kinds_of_release_are_refused_by_name() -> None:
    unknown = replace(catalogue.kind("table"), name="rumours", evaluation=None)
    rumours = PEOPLE.model_copy(update={"kind": "rumours"})
    release = Copy(method="copy", schema=rumours, receipt=Budget(1).receipt(), rows=people())
    with (
        catalogue.extended(kinds=(unknown,)),
        pytest.raises(UsageError, match="'rumours' cannot be evaluated"),
    ):
        evaluate(release, people())


def test_grid_is_better_than_even_spread_and_worse_than_the_data(grid: Evaluation) -> None:
    for score in grid.scores:
        assert score.ceiling < score.value < score.floor
    for name in ("small boxes", "medium boxes", "large boxes"):
        assert grid.score(name).model is not None
    assert grid.details["queries"] == 200


@pytest.mark.parametrize("kind", ["independent", "grid"])
def test_report_is_stamped_and_complete_in_itself(kind: str, request: pytest.FixtureRequest) -> None:
    evaluation: Evaluation = request.getfixturevalue(kind)
    page = evaluation.report()
    assert page.count("Not for publication") >= 2
    assert "default-src 'none'" in page
    assert "<link" not in page.split("<script")[0]
    for score in evaluation.scores:
        assert score.name in page


def test_json_carries_the_notice(independent: Evaluation, grid: Evaluation) -> None:
    for evaluation in (independent, grid):
        read: Mapping[str, Any] = json.loads(json.dumps(evaluation.to_dict()))
        assert read["notice"].startswith("Not for publication")
        assert {"name", "value", "floor", "ceiling", "model", "position"} <= set(read["scores"][0])


def test_printed_forms_carry_the_notice(independent: Evaluation) -> None:
    assert str(independent).startswith("Not for publication")
    assert "Not for publication" in independent._repr_html_()
    assert "pairs of columns" in str(independent)


def test_report_is_written_where_asked(independent: Evaluation, tmp_path: Path) -> None:
    place = independent.save(tmp_path / "evaluation.html")
    assert place.read_text(encoding="utf-8").startswith("<!doctype html")
    with pytest.raises(UsageError, match="cannot be written"):
        independent.save(tmp_path / "missing" / "evaluation.html")


def test_unknown_scores_are_answered_with_the_known_ones(independent: Evaluation) -> None:
    with pytest.raises(UsageError, match="single columns"):
        independent.score("beauty")


@pytest.mark.parametrize(
    ("score", "position"),
    [
        (Score("distance", 0.1, floor=0.2, ceiling=0.1), 1.0),
        (Score("distance", 0.3, floor=0.2, ceiling=0.1), -1.0),
        (Score("accuracy", 0.8, floor=0.7, ceiling=0.9, lower_is_better=False), 0.5),
        (Score("distance", 0.1, floor=0.1, ceiling=0.1), None),
        (Score("accuracy", 0.8, floor=0.9, ceiling=0.7, lower_is_better=False), None),
        (Score("distance", 0.1, floor=0.13, ceiling=0.1), None),
    ],
)
def test_position_is_the_share_of_the_way_from_floor_to_ceiling(score: Score, position: float | None) -> None:
    assert score.position == (None if position is None else pytest.approx(position))


def test_targets_are_categorical_with_few_classes_that_occur() -> None:
    codes = PEOPLE.encode(people())
    assert choose_targets(PEOPLE.attributes, codes) == ["town", "smoker"]
    constant = {**codes, "smoker": np.zeros_like(codes["smoker"])}
    assert choose_targets(PEOPLE.attributes, constant) == ["town"]


def test_synthetic_data_with_a_single_class_predicts_that_class() -> None:
    codes = PEOPLE.encode(people())
    synthetic = {**codes, "smoker": np.ones_like(codes["smoker"])}
    (found,) = accuracies(PEOPLE.attributes, codes, synthetic, ["smoker"])
    assert found.synthetic == pytest.approx(np.mean(codes["smoker"] == 1), abs=0.05)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_points_in_boxes_are_counted_as_by_hand(dimensions: int) -> None:
    rng = np.random.default_rng(2)
    points = np.round(rng.random((400, dimensions)), 1)  # many points on the borders
    low, high = np.zeros(dimensions), np.ones(dimensions)
    below, above = random_boxes(low, high, (0.05, 0.5), 50, rng)
    below, above = np.round(below, 1), np.round(above, 1)
    top = np.where(above >= 1, np.inf, above)
    by_hand = [np.all((points >= a) & (points < b), axis=1).sum() for a, b in zip(below, top, strict=True)]
    ordered = points[np.argsort(points[:, 0])]
    assert count_boxes(ordered, (below, above), high).tolist() == by_hand


def test_random_boxes_have_the_volumes_asked_for_and_stay_inside() -> None:
    low, high = np.array([-5.0, 10.0]), np.array([5.0, 11.0])
    below, above = random_boxes(low, high, (0.01, 0.1), 300, np.random.default_rng(0))
    volume = np.prod((above - below) / (high - low), axis=1)
    assert volume.min() >= 0.01 - 1e-12
    assert volume.max() <= 0.1 + 1e-12
    assert (below >= low - 1e-9).all()
    assert (above <= high + 1e-9).all()


def test_relative_error_is_smoothed_by_a_thousandth_of_the_points() -> None:
    estimate, truth = np.array([12.0, 3.0]), np.array([10.0, 0.0])
    assert relative_error(estimate, truth, 2000) == pytest.approx((2 / 10 + 3 / 2) / 2)


def test_a_part_of_many_points_tells_what_all_of_them_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.kinds.points import evaluation

    release = UniformGrid().fit(Points.open(places(), MAP), Budget(2, randomness=Randomness.seeded(1)))
    places().write_csv(tmp_path / "places.csv")
    whole = evaluate(release, tmp_path / "places.csv", queries=100, learning=False)
    monkeypatch.setattr(evaluation, "MOST_COMPARED", places().height // 2)
    part = evaluate(release, tmp_path / "places.csv", queries=100, learning=False)
    assert part.details["records"] == {"compared": places().height // 2, "of": places().height}
    assert f"Compared with {places().height // 2:,} of the {places().height:,} records" in part.remarks[0]
    assert part.remarks[0] in part.report()
    assert not [remark for remark in whole.remarks if "Compared with" in remark]
    one, two = whole.score("large boxes"), part.score("large boxes")
    assert two.floor == pytest.approx(one.floor, rel=0.2), "counts are those of all points, not of the part"
    assert two.model == pytest.approx(one.model, abs=0.1)


@pytest.mark.parametrize("kind", ["sequences", "calls"])
def test_of_long_files_whole_people_are_compared(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock import api
    from penstock.demo import phones, phones_schema, visits, visits_schema
    from penstock.engine import opening
    from penstock.kinds.calls import evaluation

    few = partial(evaluation.synthetic_seen, size=50)
    monkeypatch.setattr(evaluation, "synthetic_seen", few)
    monkeypatch.setattr(evaluation, "_emd", lambda one, two, cell: 0.0)  # slow, and tested elsewhere
    frame, text = {
        "sequences": (visits(300), visits_schema()),
        "calls": (phones(300), phones_schema()),
    }[kind]
    path = tmp_path / "records.csv"
    frame.write_csv(path)
    made = api.release(path, Schema.from_yaml(text), epsilon=2, seed=1)
    monkeypatch.setattr(opening, "IN_MEMORY_UP_TO", path.stat().st_size // 2)
    found = api.evaluate(made, path, queries=20, learning=False)
    told = found.remarks[0]
    assert told.startswith("Compared with ")
    assert f"of the {frame.height:,} records, drawn at random." in told


@pytest.mark.parametrize("layout", ["lines", "rows"])
def test_of_long_files_of_item_sets_a_part_is_compared_with_as_much_of_the_release(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole sets, and counts beside the share of them: a release of the truth is as good as on all of it."""
    from penstock import api
    from penstock.engine import opening

    rng, names = np.random.default_rng(2), ["tea", "milk", "bread", "jam"]
    sets = [[name for name in names if rng.random() < 0.4] or ["tea"] for _ in range(6000)]
    if layout == "lines":
        frame = pl.DataFrame({"basket": [" ".join(each) for each in sets]})
        items = "{item: basket}"
    else:
        frame = pl.DataFrame({"basket": sets}).with_row_index("bill").explode("basket")
        items = "{item: basket, transaction: bill}"
    enum = "{name: basket, constraints: {enum: [tea, milk, bread, jam]}}"
    schema = Schema.from_yaml(f"kind: itemsets\nitems: {items}\nfields: [{enum}]")
    path = tmp_path / "baskets.csv"
    frame.write_csv(path)
    made = api.release(path, schema, epsilon=50, seed=1)
    whole = api.evaluate(made, path, queries=20)
    assert not whole.remarks
    monkeypatch.setattr(opening, "IN_MEMORY_UP_TO", path.stat().st_size // 3)
    found = api.evaluate(made, path, queries=20)
    (told,) = found.remarks
    compared = found.to_dict()["details"]["records"]
    assert told == f"Compared with {compared['compared']:,} of the {frame.height:,} records, drawn at random."
    assert told in found.report()
    assert 1500 < found.rows < 2500
    for name in ("sets up to 20 %", "top 10 sets of items"):
        one, two = found.score(name), whole.score(name)
        assert one.value == pytest.approx(two.value, abs=0.1), name  # without the share: 2 and 0
