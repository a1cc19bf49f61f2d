"""Boxes by name and from files, and the commands that take them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.kinds.points.trees import RIDES, SQUARE, clustered, fit, noise_free, rides, square

from penstock.cli import run
from penstock.errors import PenstockError, QueryError
from penstock.kinds.points.box import Box
from penstock.kinds.points.data import Points
from penstock.kinds.points.grid import UniformGrid
from penstock.kinds.points.questions import named_box, parse_box, read_boxes
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases.error_bars import Noises, bar
from penstock.schema import Schema

EARTH = """
kind: points
fields:
  - {name: lon, type: number, constraints: {minimum: -180, maximum: 180}}
  - {name: lat, type: number, constraints: {minimum: -90, maximum: 90}}
"""


def test_a_named_box_is_the_same_question_as_one_by_position() -> None:
    release = fit(square(clustered(500)))
    named = named_box("y=0.2..0.7, x=0..0.5", SQUARE)
    assert release.query(named).value == pytest.approx(release.count(Box((0, 0.2), (0.5, 0.7))).value)


def test_a_box_may_cross_the_seam_of_a_circle() -> None:
    frame = rides(600).with_columns(lon=pl.Series([179.0, -179.0, 0.0] * 200))
    release = noise_free(frame, RIDES, epsilon=50)
    across = release.query(named_box("lon=170..-170", RIDES)).value
    assert across == pytest.approx(400, abs=20)
    with pytest.raises(QueryError, match="write name=low"):
        named_box("lon", RIDES)
    with pytest.raises(PenstockError, match="speed"):
        named_box("speed=1..2", RIDES)


@pytest.mark.parametrize("text", ["lon=5..2", "lon=2..5,day=2021-05-01..2020-05-01"])
def test_a_named_box_that_is_inside_out_is_refused(text: str) -> None:
    schema = Schema.from_yaml("""
kind: points
fields:
  - {name: lon, type: number, constraints: {minimum: -5, maximum: 5}}
  - {name: day, type: date, constraints: {minimum: 2020-01-01, maximum: 2021-12-31}}
""")
    with pytest.raises(QueryError, match="exchange them"):
        named_box(text, schema)
    assert named_box("day=2020-05-01..2021-05-01", schema) == '"day" >= 2020-05-01 and "day" <= 2021-05-01'


def test_whole_numbers_in_a_named_box_include_the_upper_one() -> None:
    assert named_box("hour=3..5", RIDES) == '"hour" >= 3 and "hour" <= 5'
    assert isinstance(parse_box("0,1", RIDES), Box)


@pytest.mark.parametrize("form", ["named.csv", "plain.csv", "named.parquet", "some.csv"])
def test_boxes_are_read_from_files(tmp_path: Path, form: str) -> None:
    path = tmp_path / form
    frame = pl.DataFrame({"y_low": [0.0, 0.1], "y_high": [1, 1], "x_low": [0, 0], "x_high": [1.0, 1e-1]})
    if form == "plain.csv":
        frame.select("x_low", "x_high", "y_low", "y_high").write_csv(path, include_header=False)
    elif form == "some.csv":
        frame.select("y_low", "x_high").write_csv(path)
    else:
        frame.write_csv(path) if form.endswith("csv") else frame.write_parquet(path)
    _, low, high = read_boxes(path, SQUARE)
    assert low.tolist() == [[0, 0], [0, 0.1]]
    assert high.tolist() == [[1, 1], [0.1, 1]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "cannot be read|holds no boxes"),
        ("x_low,x_high,y_low,y_high\n", "holds no boxes"),
        ("a,b\n1,2\n", "none of the columns"),
        ("x_low,x_high\n0,1\n0,oops\n", "x_high in box 2 is not a finite number"),
        ("x_low,x_high\n0,1\n1,0\n", "box 2 has a lower bound above"),
        ("x_low,x_high\n0,1\n0,1,2\n", "row 2: 3 values where the header has 2 names"),
    ],
)
def test_files_that_hold_no_boxes_are_refused_with_one_sentence(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "boxes.csv"
    path.write_text(text)
    with pytest.raises(QueryError, match=complaint):
        read_boxes(path, SQUARE)
    with pytest.raises(QueryError, match=r"none.csv' cannot be read as boxes: No such file or directory\.$"):
        read_boxes(tmp_path / "none.csv", SQUARE)


def test_boxes_of_a_file_may_cross_the_seam_of_a_circle(tmp_path: Path) -> None:
    release = noise_free(rides(600), RIDES, epsilon=50)
    path = tmp_path / "boxes.csv"
    path.write_text("lon_low,lon_high,hour_high\n170,-170,12\n-170,170,12\n-180,180,12\n")
    found = release.count_boxes(path)
    across, rest, whole = found["count"].to_list()
    assert across == pytest.approx(release.query("(lon >= 170 or lon < -170) and hour < 12").value)
    assert across + rest == pytest.approx(whole)
    assert found["rests_on"].to_list() == ["spread evenly", "spread evenly", "counted"]
    assert found["error"].is_null().to_list() == [True, True, False]
    path.write_text("hour_low,hour_high\n12,3\n")
    with pytest.raises(QueryError, match="box 1 has a lower bound above"):
        release.count_boxes(path)


CORNERS = [(a, b) for a in (-180, 0, 180) for b in (-90, 0, 90)]


@pytest.mark.parametrize(
    ("points", "box", "inside"),
    [
        ([(13.4, 52.5)] * 5000, "lon=13.39..13.41,lat=52.49..52.51", 5000),
        ([(2.35, 48.85)], "-180,180,-90,90", 1),
        (CORNERS * 500, "lon=179..180,lat=89..90", 500),
        (CORNERS * 500, "lon=0..180,lat=0..90", 2000),
        (CORNERS * 500, "lon=170..-170,lat=-90..90", 3000),
    ],
    ids=["coincident", "one", "corner", "boundaries", "seam"],
)
def test_unusual_places_on_earth_from_file_to_answer(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    points: list[tuple[float, float]],
    box: str,
    inside: int,
) -> None:
    """Counts within five deviations of the noise of 400 leaves (1.36 each), under a fixed seed."""
    pl.DataFrame(points, schema=["lon", "lat"], orient="row").write_csv(tmp_path / "points.csv")
    (tmp_path / "schema.yaml").write_text(EARTH)
    arguments = [
        "--schema",
        str(tmp_path / "schema.yaml"),
        "-e",
        "2",
        "--seed",
        "3",
        "-o",
        str(tmp_path / "out"),
    ]
    assert run(["release", str(tmp_path / "points.csv"), *arguments]) == 0
    capsys.readouterr()
    assert run(["query", str(tmp_path / "out"), "--box", box, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert abs(answer["value"] - inside) <= 5 * 1.36 * 20


def test_a_file_without_points_is_released_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "points.csv").write_text("lon,lat\n")
    (tmp_path / "schema.yaml").write_text(EARTH)
    arguments = ["--schema", str(tmp_path / "schema.yaml"), "-e", "2", "-o", str(tmp_path / "out")]
    assert run(["release", str(tmp_path / "points.csv"), *arguments]) == 0
    assert "there are no records" in capsys.readouterr().err
    assert (tmp_path / "out").exists()


def test_a_grid_answers_many_boxes_as_it_answers_one() -> None:
    budget = Budget(1, randomness=Randomness.seeded(1))
    release = UniformGrid(side=7).fit(Points.open(square(clustered(800)), SQUARE), budget)
    low, high = [[0.1, 0.2], [0.5, 0.5], [-1, -1]], [[0.3, 0.9], [0.51, 0.52], [3, 3]]
    single = [release.count(Box(tuple(a), tuple(b))) for a, b in zip(low, high, strict=True)]
    assert release.range_counts(low, high).tolist() == [answer.value for answer in single]
    assert [answer.rests_on for answer in single] == ["spread evenly", "spread evenly", "counted"]
    assert [answer.error for answer in single[:2]] == [None, None]
    assert single[2].value == pytest.approx(release.counts.sum())
    assert single[2].error == bar([Noises(1.0, release.deviation or 0, 49)]).half


def test_the_command_line_answers_boxes_and_writes_the_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = fit(square(clustered(500)))
    release.save(tmp_path / "out")
    boxes = tmp_path / "boxes.csv"
    boxes.write_text("name,x_low,x_high\nwest,0,0.5\neast,0.5,1\n")
    assert run(["query", str(tmp_path / "out"), "--boxes", str(boxes)]) == 0
    shown = pl.read_csv(capsys.readouterr().out.encode())
    answered = ["count", "error", "covers", "low", "high", "range", "rests_on", "caveats"]
    assert shown.columns == ["name", "x_low", "x_high", *answered]
    assert shown["count"].sum() == pytest.approx(release.counts.sum())
    assert run(["query", str(tmp_path / "out"), "--boxes", str(boxes), "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["west", "east"]
    assert run(["query", str(tmp_path / "out"), "--box", "x=0..0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(shown["count"][0])
    assert run(["query", str(tmp_path / "out"), "--geojson", str(tmp_path / "map.geojson")]) == 0
    assert len(json.loads((tmp_path / "map.geojson").read_text())["features"]) == len(release.counts)
    capsys.readouterr()
    assert run(["query", str(tmp_path / "out"), "--geojson", str(tmp_path / "map.geojson"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["written"], told["holds"]) == (str(tmp_path / "map.geojson"), "the released map")
    assert run(["query", str(tmp_path / "out"), "--boxes", str(boxes), "--box", "0,1,0,1"]) != 0
    assert "one question" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["lines.txt", "table.csv"])
def test_many_conditions_from_a_file_are_answered_as_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    release = fit(square(clustered(500)))
    release.save(tmp_path / "out")
    conditions = ["x < 0.5", "x >= 0.25 and y < 0.5", "x < 0.1 or y > 0.9"]
    path = tmp_path / form
    if form == "lines.txt":
        path.write_text("\n".join(conditions))
    else:
        pl.DataFrame({"name": ["a", "b", "c"], "condition": conditions}).write_csv(path)
    assert run(["query", str(tmp_path / "out"), "--file", str(path)]) == 0
    shown = pl.read_csv(capsys.readouterr().out.encode())
    answers = [release.query(condition) for condition in conditions]
    assert shown["count"].to_list() == pytest.approx([answer.value for answer in answers])
    assert shown["error"].to_list() == [answer.error for answer in answers]
    assert shown["rests_on"].to_list() == [answer.rests_on for answer in answers]
    path.write_text("x < 0.5\nz < 1\n")
    assert run(["query", str(tmp_path / "out"), "--file", str(path)]) == 1
    assert "line 2: At position 1: 'z' is not a field" in capsys.readouterr().err
    assert run(["query", str(tmp_path / "out"), "--counts", str(path)]) == 1
    assert "--counts is for releases of sequences" in capsys.readouterr().err


def test_a_release_is_made_with_parameters_from_the_command_line(tmp_path: Path) -> None:
    square(clustered(300)).write_csv(tmp_path / "points.csv")
    (tmp_path / "schema.yaml").write_text(SQUARE.to_yaml())
    arguments = ["release", tmp_path / "points.csv", "--schema", tmp_path / "schema.yaml", "-e", "1"]
    arguments += ["--method", "privtree", "-p", "tree_frac=1/3", "-p", "constant=published"]
    assert run([str(each) for each in (*arguments, "-p", "together=1", "-o", tmp_path / "out")]) == 0
    from penstock.releases import load

    made = load(tmp_path / "out")
    assert made.parameters["tree_frac"] == "1/3"
    assert made.parameters["fan_out"] == 2
    assert made.publishable
