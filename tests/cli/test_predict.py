"""`penstock predict`: what is said about every row of a file, and to whom."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import polars as pl
import pytest
from tests.cli.desk import Cli

import penstock
from penstock.schema import Schema

SCHEMA = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}, missing: value}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}, missing: value}
"""


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters that lie far apart, found with plenty of budget."""
    place = tmp_path_factory.mktemp("clusters")
    frame = pl.DataFrame({"x": [0.1] * 400 + [0.9] * 200, "y": [0.2] * 400 + [0.8] * 200})
    release = penstock.release(
        frame, Schema.from_yaml(SCHEMA), epsilon=10, method="kmeans", parameters={"k": 2}, seed=1
    )
    return release.save(place / "clusters")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("y,name,x\n0.9,ada,0.8\n0.1,bob,0.2\n,cyd,0.2\n0.3,dan,-5\n", encoding="utf-8")
    return path


def test_one_row_for_each_row_in_order_and_null_where_a_coordinate_is_missing(
    cli: Cli, clusters: Path, rows: Path
) -> None:
    found = cli("predict", clusters, rows)
    assert found.code == 0
    assert found.out.splitlines() == ["row,cluster", "1,1", "2,0", "3,", "4,0"]
    assert "1 of the 4 rows has no answer" in found.err.replace("\n", " ")
    shown = json.loads(cli("predict", clusters, rows, "--json").out)
    assert [row["cluster"] for row in shown] == [1, 0, None, 0]


def test_how_many_rows_have_no_answer_is_said_and_only_where_there_are_some(
    cli: Cli, clusters: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n0.1,0.1\n,0.1\n0.1,\n", encoding="utf-8")
    said = cli("predict", clusters, path, "-o", tmp_path / "out.csv").err.replace("\n", " ")
    assert "2 of the 3 rows have no answer" in said
    path.write_text("x,y\n0.1,0.1\n", encoding="utf-8")
    assert "no answer" not in cli("predict", clusters, path).err


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_what_is_written_is_for_its_owner_alone_and_overwrites_nothing(
    cli: Cli, clusters: Path, rows: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / name
    assert cli("predict", clusters, rows, "-o", out).code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    read = pl.read_csv if name.endswith("csv") else pl.read_parquet
    assert read(out)["cluster"].to_list() == [1, 0, None, 0]
    again = cli("predict", clusters, rows, "-o", out)
    assert (again.code, again.sentences) == (2, 1)
    assert "--force" in again.err
    assert cli("predict", clusters, rows, "-o", out, "--force").code == 0


def test_nothing_about_single_rows_is_written_into_a_release(cli: Cli, clusters: Path, rows: Path) -> None:
    refused = cli("predict", clusters, rows, "-o", clusters / "out.csv")
    assert refused.code == 2
    assert "which is public" in refused.err
    assert not (clusters / "out.csv").exists()


def test_mistakes_are_told_in_a_sentence(
    cli: Cli, clusters: Path, release_folder: Path, rows: Path, tmp_path: Path
) -> None:
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("x,z\n0.5,0.5\n", encoding="utf-8")
    for words, arguments in (
        ("lack the column y", (clusters, lacking)),
        ("predicts nothing", (release_folder, rows)),
        ("must end in .csv or .parquet", (clusters, rows, "-o", tmp_path / "out.xlsx")),
        ("rows.tsv", (clusters, tmp_path / "rows.tsv")),
    ):
        said = cli("predict", *arguments)
        assert said.code in (1, 2)
        assert words in said.err
        assert "Traceback" not in said.err


def test_a_classifier_says_labels_with_their_probabilities(cli: Cli, tmp_path: Path) -> None:
    """From a file and a schema to answers about other people, by commands alone."""
    (tmp_path / "people.schema.yaml").write_text(
        "fields:\n- {name: smoker, type: boolean}\n- {name: coughs, constraints: {enum: [never, often]}}\n",
        encoding="utf-8",
    )
    people = pl.DataFrame(
        {"smoker": [True] * 300 + [False] * 500, "coughs": ["often"] * 300 + ["never"] * 500}
    )
    people.write_csv(tmp_path / "people.csv")
    made = cli(
        *("release", tmp_path / "people.csv", "--schema", tmp_path / "people.schema.yaml", "--epsilon", "4"),
        *("--method", "privpfc", "--set", "target=coughs", "--seed", "1", "--out", tmp_path / "coughs"),
    )
    assert made.code == 0, made.err
    (tmp_path / "new.csv").write_text("name,smoker\nada,true\nbob,false\ncyd,perhaps\n", encoding="utf-8")
    told = json.loads(cli("predict", tmp_path / "coughs", tmp_path / "new.csv", "--json").out)
    assert [row["coughs"] for row in told] == ["often", "never", None]
    assert told[0]["p(often)"] > 0.9
    assert told[0]["p(often)"] + told[0]["p(never)"] == pytest.approx(1)


def test_a_model_that_looks_at_no_column_answers_once_for_every_row(cli: Cli, tmp_path: Path) -> None:
    schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    frame = pl.DataFrame({"smoker": [True] * 50, "coughs": [True] * 40 + [False] * 10})
    release = penstock.release(
        frame, schema, epsilon=5, method="majority-label", parameters={"target": "coughs"}, seed=1
    )
    folder = release.save(tmp_path / "majority")
    for name in ("ids.csv", "ids.parquet"):
        ids, path = pl.DataFrame({"id": [1, 2, 3]}), tmp_path / name
        _ = ids.write_csv(path) if path.suffix == ".csv" else ids.write_parquet(path)
        found = cli("predict", folder, path)
        assert [line.partition(",")[0] for line in found.out.splitlines()] == ["coughs"] + ["true"] * 3


def test_a_row_without_an_answer_is_a_row_of_the_file(tmp_path: Path) -> None:
    """Readers pass over blank lines, and all rows behind one would move up."""
    from penstock.cli.predict import _as_csv

    text = _as_csv(pl.DataFrame({"cluster": [1, None, 2, None]}))
    assert [row["cluster"] for row in csv.DictReader(text.splitlines())] == ["1", "", "2", ""]
    assert _as_csv(pl.DataFrame({"a": [1, None], "b": [None, None]})) == "a,b\n1,\n,\n"


def test_a_release_of_a_whole_table_predicts_the_target_that_is_named(cli: Cli, tmp_path: Path) -> None:
    """By a learner on its synthetic rows; a release that was made to predict takes no other target."""
    schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    frame = pl.DataFrame({"smoker": [True, False] * 500, "coughs": [True, False] * 500})
    folder = penstock.release(frame, schema, epsilon=5, seed=1).save(tmp_path / "table")
    (tmp_path / "new.csv").write_text("smoker\ntrue\nfalse\nperhaps\n", encoding="utf-8")
    refused = cli("predict", folder, tmp_path / "new.csv")
    assert (refused.code, "with a target" in refused.err.replace("\n", " ")) == (2, True)
    found = cli("predict", folder, tmp_path / "new.csv", "--target", "coughs", "--json")
    assert [row["coughs"] for row in json.loads(found.out)] == [True, False, None]
    assert "synthetic rows" in found.err
    assert "1 of the 3 rows has no answer" in found.err.replace("\n", " ")
    made = penstock.release(
        frame, schema, epsilon=5, method="majority-label", parameters={"target": "coughs"}, seed=1
    ).save(tmp_path / "majority")
    refused = cli("predict", made, tmp_path / "new.csv", "--target", "smoker")
    assert (refused.code, refused.sentences) == (2, 1)


HOMES = """
fields:
  - {name: rooms, type: integer, constraints: {minimum: 0, maximum: 9}}
  - {name: area, type: number, constraints: {minimum: 0, maximum: 200}, bins: {count: 20}}
  - {name: garden, constraints: {enum: ['yes', 'no']}, missing: value}
  - {name: since, type: date, constraints: {minimum: 2000-01-01, maximum: 2020-12-31}, bins: {count: 4}}
  - {name: kind, constraints: {enum: [flat, house]}}
  - {name: rent, type: number, constraints: {minimum: 0, maximum: 900}, bins: {count: 90}}
"""
GOOD = {"rooms": "3", "area": "60", "garden": "yes", "since": "2010-01-01", "kind": "flat", "rent": "300"}
BAD = [
    ("rooms", ""), ("rooms", "three"), ("rooms", "30"), ("rooms", "-1"), ("rooms", "3.5"), ("area", "inf"),
    ("area", "-inf"), ("area", "nan"), ("area", "1e400"), ("area", "200.5"), ("area", "'60"),
    ("garden", "perhaps"), ("since", "1900-01-01"), ("since", "yesterday"), ("since", "2010-02-30"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("regression", "rent"),
        ("posterior-regression", "rent"),
        ("private-erm", "kind"),
        ("classifier", "kind"),
    ],
)
def test_rows_with_values_that_the_schema_does_not_know_have_no_answer_and_change_no_other(
    cli: Cli, tmp_path: Path, method: str, target: str
) -> None:
    """Missing, text for a number, out of bounds, infinite, no number, an unknown label, no such day."""
    wide = range(300)
    frame = pl.DataFrame(
        {
            "rooms": [row % 10 for row in wide],
            "area": [20.0 * (row % 10) for row in wide],
            "garden": ["yes", "no", None] * 100,
            "since": ["2010-01-01", "2019-05-05"] * 150,
            "kind": ["flat" if row % 10 < 5 else "house" for row in wide],
            "rent": [90.0 * (row % 10) for row in wide],
        }
    )
    release = penstock.release(
        frame, Schema.from_yaml(HOMES), epsilon=20, method=method, parameters={"target": target}, seed=1
    )
    folder = release.save(tmp_path / "release")
    whole = [name for name in GOOD if name != target]
    used = getattr(release, "features", release.predictors)  # of a grid, those that it tells apart
    bad = [{**GOOD, name: value} for name, value in BAD if name in used]
    assert bad
    asked = [GOOD, *bad, {**GOOD, "garden": ""}, GOOD]
    path = tmp_path / "asked.csv"
    path.write_text(
        "\n".join([",".join(whole), *(",".join(row[name] for name in whole) for row in asked)]),
        encoding="utf-8",
    )
    shown = cli("predict", folder, path, "--json")
    assert shown.code == 0
    answers = [row[target] for row in json.loads(shown.out)]
    assert answers[1:-2] == [None] * len(bad)
    assert answers[0] == answers[-1]
    assert None not in (answers[0], answers[-2])  # a missing value that the schema declares is a value
    words = f"{len(bad)} of the {len(asked)} rows have no answer (first row 2)"
    assert words in shown.err.replace("\n", " ")
