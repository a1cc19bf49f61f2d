"""Boxes by name and from files, and the commands that take them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.spatial.trees import RIDES, SQUARE, clustered, fit, noise_free, rides, square

from penstock.cli import run
from penstock.errors import PenstockError, QueryError
from penstock.privacy.budget import Budget
from penstock.privacy.points import Points
from penstock.privacy.randomness import Randomness
from penstock.spatial.box import Box
from penstock.spatial.grid import UniformGrid
from penstock.spatial.questions import named_box, parse_box, read_boxes


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
    ],
)
def test_files_that_hold_no_boxes_are_refused_with_one_sentence(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "boxes.csv"
    path.write_text(text)
    with pytest.raises(QueryError, match=complaint):
        read_boxes(path, SQUARE)
    with pytest.raises(QueryError, match="cannot be read"):
        read_boxes(tmp_path / "none.csv", SQUARE)


def test_a_grid_answers_many_boxes_as_it_answers_one() -> None:
    budget = Budget(1, randomness=Randomness.seeded(1))
    release = UniformGrid(side=7).fit(Points.open(square(clustered(800)), SQUARE), budget)
    low, high = [[0.1, 0.2], [0.5, 0.5], [-1, -1]], [[0.3, 0.9], [0.51, 0.52], [3, 3]]
    single = [release.count(Box(tuple(a), tuple(b))) for a, b in zip(low, high, strict=True)]
    assert release.range_counts(low, high).tolist() == [answer.value for answer in single]
    errors = release.range_errors(low, high)
    assert errors is not None
    assert errors.tolist() == [answer.error for answer in single]
    assert single[2].value == pytest.approx(release.counts.sum())
    assert single[2].error == pytest.approx(1.96 * (release.deviation or 0) * 7)


def test_the_command_line_answers_boxes_and_writes_the_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = fit(square(clustered(500)))
    release.save(tmp_path / "out")
    boxes = tmp_path / "boxes.csv"
    boxes.write_text("name,x_low,x_high\nwest,0,0.5\neast,0.5,1\n")
    assert run(["query", str(tmp_path / "out"), "--boxes", str(boxes)]) == 0
    shown = pl.read_csv(capsys.readouterr().out.encode())
    assert shown.columns == ["name", "x_low", "x_high", "count", "error"]
    assert shown["count"].sum() == pytest.approx(release.counts.sum())
    assert run(["query", str(tmp_path / "out"), "--boxes", str(boxes), "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["west", "east"]
    assert run(["query", str(tmp_path / "out"), "--box", "x=0..0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(shown["count"][0])
    assert run(["query", str(tmp_path / "out"), "--geojson", str(tmp_path / "map.geojson")]) == 0
    assert len(json.loads((tmp_path / "map.geojson").read_text())["features"]) == len(release.counts)
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
    assert shown["error"].to_list() == pytest.approx([answer.error for answer in answers])
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
    from penstock.release import load

    made = load(tmp_path / "out")
    assert made.parameters["tree_frac"] == "1/3"
    assert made.parameters["fan_out"] == 2
    assert made.publishable
