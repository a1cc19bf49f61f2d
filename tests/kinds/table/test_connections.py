"""Columns that a release does not connect are told on the screen, as JSON, in the report and by answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from penstock import Schema, release
from penstock.cli import run
from penstock.kinds.table.connections import Connections, components, epsilon_to_connect, grouped

FIELDS = """
fields:
  - {name: smoker, type: boolean}
  - {name: coughs, type: boolean}
  - {name: region, constraints: {enum: [north, south, east, west, r5, r6, r7, r8, r9, r10, r11, r12]}}
  - {name: colour, constraints: {enum: [red, green, blue, c4, c5, c6, c7, c8, c9, c10]}}
"""


REGIONS = ["north", "south", "east", "west", *(f"r{number}" for number in range(5, 13))]
COLOURS = ["red", "green", "blue", *(f"c{number}" for number in range(4, 11))]


def people(rows: int = 4000) -> pl.DataFrame:
    """Smokers cough; nothing else depends on anything."""
    rng = np.random.default_rng(5)
    smoker = rng.random(rows) < 0.4
    return pl.DataFrame(
        {
            "smoker": smoker,
            "coughs": smoker ^ (rng.random(rows) < 0.05),
            "region": rng.choice(REGIONS, rows),
            "colour": rng.choice(COLOURS, rows),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("connections")
    people().write_csv(place / "people.csv")
    (place / "schema.yaml").write_text(FIELDS)
    return place


@pytest.mark.usefixtures("by_columns")
def test_release_inspect_report_and_answers_name_unconnected_columns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(folder / "out")
    words = ["release", str(folder / "people.csv"), "--schema", str(folder / "schema.yaml"), "-e", "0.2"]
    assert run([*words, "--seed", "4", "-o", out]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "2 of 4 columns stand alone: colour, region" in told
    assert "would connect a column" in told
    assert run(["inspect", out]) == 0
    assert "2 of 4 columns stand alone" in " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert run(["inspect", out, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    found = summary["details"]["connections"]
    assert found["groups"] == [["smoker", "coughs"], ["colour"], ["region"]]
    assert found["alone"] == ["colour", "region"]
    assert found["epsilon_to_connect"] > 0.2
    assert len(summary["remarks"]) == 2
    assert "2 of 4 columns stand alone" in (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert run(["query", out, "smoker = true and region = north", "--json"]) == 0
    caveats = json.loads(capsys.readouterr().out)["caveats"]
    assert any("does not connect smoker and region" in caveat for caveat in caveats)
    assert run(["query", out, "smoker = true and region = north"]) == 0
    assert "does not connect smoker and region" in " ".join(capsys.readouterr().out.split())
    assert run(["query", out, "smoker = true and coughs = true", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["rests_on"], answer["caveats"]) == ("counted", [])


def test_a_release_that_connects_everything_says_nothing() -> None:
    schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    made = release(people(), schema, epsilon=1, seed=1)
    assert list(made.remarks()) == []
    assert made.details()["connections"]["epsilon_to_connect"] is None


def test_no_epsilon_is_promised_for_gaussian_noise() -> None:
    """The estimate is for Laplace noise; many columns have another with a delta."""
    names = [f"c{number}" for number in range(40)]
    schema = Schema.model_validate({"fields": [{"name": name, "type": "boolean"} for name in names]})
    coins = np.random.default_rng(0).random((300, 40)) < 0.5
    rows = pl.DataFrame(coins, schema=names, orient="row")
    pure, both = (release(rows, schema, epsilon="0.1", delta=delta, seed=1) for delta in (0, "1e-6"))
    assert "would connect" in " ".join(pure.remarks())
    assert all(one.gaussian for one in both.measured)
    assert len(both.connections.groups) == 40
    assert "would connect" not in " ".join(both.remarks())


@pytest.mark.usefixtures("in_views")
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize(("rows", "epsilon"), [(1000, 3), (1000, 10), (4000, 1), (4000, 3), (4000, 10)])
def test_columns_that_depend_on_nothing_stay_alone_in_views_however_large_the_budget(
    rows: int, epsilon: int, delta: int | str
) -> None:
    """Of ten seeded releases at most one connects a column by chance, and all of them say what does not."""
    schema, some = Schema.from_yaml(FIELDS), people(rows)
    made = [release(some, schema, epsilon=epsilon, delta=delta, seed=seed) for seed in range(10)]
    right = [each.connections.groups == (("smoker", "coughs"), ("colour",), ("region",)) for each in made]
    assert sum(right) >= 9
    assert "2 of 4 columns stand alone: colour, region" in " ".join(made[right.index(True)].remarks())


def test_groups_are_the_parts_that_edges_hold_together() -> None:
    names = ["a", "b", "c", "d", "e"]
    groups = grouped(names, components(names, [("d", "b"), ("b", "a")]))
    assert groups == (("a", "b", "d"), ("c",), ("e",))
    assert Connections(groups).alone == ("c", "e")
    assert Connections((("a", "b"), ("c", "d"))).remarks()[0].startswith("The 4 columns fall into 2 groups")
    assert Connections((("a",), ("b",))).remarks()[0].startswith("None of the 2 columns")
    assert Connections((("a", "b"), ("c",))).remarks()[0].startswith("1 of 3 columns stands alone: c.")
    assert Connections((("a", "b"),)).remarks() == []


def test_more_records_and_a_larger_budget_connect_sooner() -> None:
    """What noise a table adds falls with the budget, and how much it matters with the records."""
    few = epsilon_to_connect(1.0, 500, 1, [(64, 60.0)], [8, 8], columns=40)
    many = epsilon_to_connect(1.0, 50_000, 1, [(64, 60.0)], [8, 8], columns=40)
    assert few is not None
    assert many is not None
    assert few > many > 1
    assert epsilon_to_connect(1.0, 500, 1, [], [], columns=2) is None
    assert epsilon_to_connect(1.0, 0, 1, [], [4], columns=2) is None
