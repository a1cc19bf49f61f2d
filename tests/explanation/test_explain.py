"""What an epsilon means, before any record is read: formulas, made-up records, the command, its refusals."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.ballots.audits import BALLOTS
from tests.conformance.ballots.entry import FORM, KIND, METHOD

import penstock
from penstock import Schema, catalogue
from penstock.cli import run
from penstock.contracts.plug import data_class
from penstock.demo import rides_schema, survey_schema
from penstock.errors import PenstockError, SchemaError, UsageError
from penstock.explanation.foreseen import Foreseen, amounts, mean_error
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import discrete_laplace
from penstock.schema.made_up import made_up_rows

SHAPES = {
    "table": """
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {count: 5}, missing: value}
  - {name: large, type: boolean}
""",
    "users": """
unit: {protects: user, column: person, at_most: 3}
fields: [{name: colour, constraints: {enum: [red, green, blue]}}, {name: large, type: boolean}]
""",
    "replace": """
relation: replace
fields: [{name: colour, constraints: {enum: [red, green, blue]}}, {name: large, type: boolean}]
""",
    "points": """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
""",
    "sequences": """
kind: sequences
sequence: {user: visitor, time: at, symbol: page, longest: 6}
fields: [{name: page, constraints: {enum: [home, search, book]}}]
""",
    "whole sequences": """
kind: sequences
sequence: {symbol: page, longest: 6}
fields: [{name: page, constraints: {enum: [home, search, book]}}]
""",
    "itemsets": """
kind: itemsets
items: {item: product, transaction: basket}
fields: [{name: product, constraints: {enum: [milk, bread, beer, cheese, eggs]}}]
""",
    "whole sets": """
kind: itemsets
items: {item: product, separator: ";"}
fields: [{name: product, constraints: {enum: [milk, bread, beer, cheese, eggs]}}]
""",
    "graph": "kind: graph\nedges: {nodes: 200}\n",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_made_up_records_of_every_kind_fit_their_schema_and_are_always_the_same(shape: str) -> None:
    schema = Schema.from_yaml(SHAPES[shape])
    place = catalogue.kind(schema.kind).made_up
    assert place is not None
    draw = catalogue.load(place)
    assert callable(draw)
    one, two, other = draw(schema, 150, 3), draw(schema, 150, 3), draw(schema, 150, 4)
    assert one.equals(two)
    assert not one.equals(other)
    if schema.relation == "replace":
        schema = Schema.model_validate(
            {**schema.model_dump(by_alias=True, exclude_defaults=True), "size": 150}
        )
    data_class(catalogue.kind(schema.kind)).open(one, schema)  # refuses what the schema does not allow


def test_every_kind_of_the_catalogue_has_made_up_records() -> None:
    assert [info.name for info in catalogue.kinds() if info.made_up is None] == []


def test_made_up_rows_keep_the_rules_of_the_schema() -> None:
    schema = Schema.from_yaml(SHAPES["table"] + "impossible: [\"colour = 'red' and large = 'true'\"]\n")
    rows = made_up_rows(schema, 400, 1)
    assert rows.height == 400
    assert rows.filter((pl.col("colour") == "red") & pl.col("large")).height == 0
    assert rows.filter(pl.col("colour") == "red").height > 0


def test_users_of_made_up_rows_have_no_more_records_than_allowed() -> None:
    rows = made_up_rows(Schema.from_yaml(SHAPES["users"]), 100, 1)
    assert rows["person"].value_counts()["count"].max() == 3


def test_formulas_agree_with_the_noise_that_is_drawn() -> None:
    """20,000 draws of discrete Laplace noise: six standard errors of each share and mean (below 1e-8)."""
    line = Foreseen.of(Schema.from_yaml(SHAPES["table"]), 10_000, Fraction(1, 2))
    source = Randomness.seeded(7)
    noise = np.abs(discrete_laplace(Fraction(2), 20_000, source).astype(np.float64))
    assert (noise <= line.within).mean() >= 0.95 - 6 * (0.05 * 0.95 / 20_000) ** 0.5
    assert (noise <= line.within - 1).mean() < 0.95
    cells = np.abs(discrete_laplace(Fraction(6), 20_000, source).astype(np.float64))
    assert line.cell is not None
    assert cells.mean() == pytest.approx(line.cell, abs=6 * cells.std() / 20_000**0.5)
    assert line.of_group == line.within / 100
    assert line.guess == pytest.approx(exp(0.5) / (1 + exp(0.5)))


def test_units_of_several_records_and_replacing_cost_more() -> None:
    one, users, replaced = (
        Foreseen.of(Schema.from_yaml(SHAPES[shape]), 10_000, Fraction(1))
        for shape in ("table", "users", "replace")
    )
    assert users.within > one.within
    assert one.cell == pytest.approx(mean_error(1 / 3))
    assert users.cell == pytest.approx(mean_error(1 / (2 * 3)))
    assert replaced.cell == pytest.approx(mean_error(1 / (2 * 2)))
    assert Foreseen.of(Schema.from_yaml(SHAPES["graph"]), 50, Fraction(1)).cell is None
    assert Foreseen.of(Schema.from_yaml(SHAPES["graph"]), 50, Fraction(1)).of_group is None


@given(st.fractions(Fraction(1, 1000), 20))
def test_a_larger_epsilon_is_never_less_exact_nor_less_telling(epsilon: Fraction) -> None:
    schema = Schema.from_yaml(SHAPES["table"])
    low, high = (Foreseen.of(schema, 1000, one) for one in (epsilon, 2 * epsilon))
    assert low.guess < high.guess <= 1
    assert low.rare < high.rare
    assert low.within >= high.within
    assert (low.cell or 0) > (high.cell or 0)


def test_ranges_go_up_in_steps_of_one_two_five() -> None:
    assert [float(one) for one in amounts("0.1..10")] == [0.1, 0.2, 0.5, 1, 2, 5, 10]
    assert amounts("0.3..0.3") == (Fraction(3, 10),)
    assert amounts("7/10") == (Fraction(7, 10),)
    assert amounts("2, 1,1") == (Fraction(1), Fraction(2))


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1..", "..", "10..1", "a..b", "1e9", "0.1...10", "nan", "1,,2"]
)
def test_what_is_no_epsilon_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="epsilon"):
        amounts(text)


@pytest.mark.parametrize(
    "shape", ["table", "users", "replace", "points", "whole sequences", "itemsets", "graph"]
)
def test_the_trial_has_the_measures_of_the_kind_and_reads_no_record(shape: str) -> None:
    found = penstock.explain(Schema.from_yaml(SHAPES[shape]), records=120, epsilon="0.1,8")
    assert found.remark is None
    assert found.curves
    assert all(len(curve.values) == 2 for curve in found.curves)
    assert all(np.isfinite([*curve.values, curve.floor, curve.ceiling]).all() for curve in found.curves)


def test_the_same_question_has_the_same_answer() -> None:
    schema = Schema.from_yaml(SHAPES["points"])
    one, two = (penstock.explain(schema, records=120, epsilon="1") for _ in range(2))
    assert one.to_dict() == two.to_dict()


def test_a_hundred_times_the_epsilon_is_closer_to_what_it_was_made_of() -> None:
    found = penstock.explain(Schema.from_yaml(SHAPES["table"]), records=1000, epsilon="0.05,5", runs=3)
    pairs = next(curve for curve in found.curves if curve.name == "pairs of columns")
    assert pairs.lower_is_better
    assert pairs.values[0] > 2 * pairs.values[1]
    page = found.report()
    assert "no record was read" in page
    assert "pairs of columns" in page
    assert len(found.pictures()) == 2 + len(found.curves)


def test_a_kind_without_made_up_records_says_so() -> None:
    with catalogue.extended(kinds=(KIND,), methods=(METHOD,), forms=(FORM,)):
        schema = Schema.from_yaml(BALLOTS)
        found = penstock.explain(schema, records=100, epsilon="1")
    assert found.curves == ()
    assert found.remark == "There are no made-up records of kind 'ballots'; only formulas are shown."


def test_records_beyond_a_trial_get_formulas_and_the_reason() -> None:
    found = penstock.explain(Schema.from_yaml(SHAPES["table"]), records=10**9, epsilon=1)
    assert found.curves == ()
    assert "up to 100,000" in (found.remark or "")


@pytest.mark.parametrize(
    ("shape", "options", "words"),
    [
        ("table", {}, "--rows"),
        ("table", {"records": 0}, "whole number"),
        ("table", {"records": True}, "whole number"),
        ("table", {"records": 10, "method": "privtree"}, "of kind 'points'"),
        ("table", {"records": 10, "method": "confluenze"}, "did you mean"),
        ("table", {"records": 10, "parameters": {"speed": 1}}, "no parameter 'speed'"),
        ("table", {"records": 10, "epsilon": 0}, "epsilon"),
        ("table", {"records": 10, "delta": 1}, "delta"),
        ("table", {"records": 10, "runs": 0}, "runs"),
        ("graph", {"records": 19_000}, "half of all"),
    ],
)
def test_impossible_questions_are_refused_in_a_sentence(
    shape: str, options: dict[str, object], words: str
) -> None:
    with pytest.raises(PenstockError, match=words):
        penstock.explain(Schema.from_yaml(SHAPES[shape]), **options)  # type: ignore[arg-type]


def test_a_public_size_is_taken_from_the_schema_and_not_contradicted() -> None:
    schema = Schema.from_yaml(f"size: 500\n{SHAPES['replace']}")
    assert penstock.explain(schema, epsilon="1", trial=False).records == 500
    with pytest.raises(UsageError, match="500"):
        penstock.explain(schema, records=501, epsilon="1", trial=False)


def test_a_draft_that_nobody_reviewed_is_refused() -> None:
    """Its facts were read off records, and what is said here may be shown."""
    schema = Schema.from_yaml("fields: [{name: a, type: boolean, review: true}]")
    with pytest.raises(SchemaError, match="not yet reviewed"):
        penstock.explain(schema, records=10)


def test_the_command_prints_a_table_writes_a_page_and_speaks_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(rides_schema(), encoding="utf-8")
    page = tmp_path / "epsilon.html"
    asked = ["explain", str(tmp_path / "s.yaml"), "--rows", "300", "-e", "0.5..1"]
    assert run([*asked, "-m", "uniform-grid", "--out", str(page)]) == 0
    shown = capsys.readouterr().out.replace("\u00a0", " ")
    assert "a guess is right" in shown
    assert "62 %" in shown
    assert "boxes" in shown
    assert "no record was read" in shown
    assert "What an epsilon means here" in page.read_text(encoding="utf-8")
    assert run([*asked, "--out", str(page), "--no-trial"]) == 2, "an existing page is kept"
    capsys.readouterr()
    assert run([*asked, "--json", "--no-trial"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [line["epsilon"] for line in told["lines"]] == ["0.5", "1"]
    assert told["trial"] == []


@pytest.mark.parametrize("wrong", [["--epsilon", "10..1"], ["--rows", "0"], ["-m", "nothing"], ["-p", "x"]])
def test_the_command_refuses_in_a_sentence(
    wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(survey_schema(), encoding="utf-8")
    given = ["explain", str(tmp_path / "s.yaml"), "--no-trial", *([] if "--rows" in wrong else ["-n", "9"])]
    assert run([*given, *wrong]) in (1, 2)
    told = capsys.readouterr().err.strip()
    assert told
    assert "Traceback" not in told
