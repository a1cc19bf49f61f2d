"""Merged categories: several values of a column are one category, everywhere and after saving."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import penstock
from penstock import Schema
from penstock.engine import open_engine
from penstock.errors import DataError, QueryError, SchemaError

TEXT = """
fields:
  - name: ward
    constraints: {enum: [surgery, children, other wards]}
    merged: {other wards: [annex, tower], children: [kids]}
  - {name: grade, type: integer, constraints: {enum: [1, 2, 9]}, merged: {9: [7, 8]}}
"""
SCHEMA = Schema.from_yaml(TEXT)


def people(rows: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    wards = ["surgery", "children", "kids", "annex", "tower", "other wards"]
    return pl.DataFrame({"ward": rng.choice(wards, rows), "grade": rng.choice([1, 2, 7, 8, 9], rows)})


@pytest.mark.filterwarnings("error")
def test_the_mapping_survives_yaml_json_and_python() -> None:
    for again in (
        Schema.from_yaml(SCHEMA.to_yaml()),
        Schema.model_validate_json(SCHEMA.model_dump_json(by_alias=True)),
        Schema.model_validate(SCHEMA.model_dump()),
        SCHEMA.with_field("ward", merged={"other wards": ["annex", "tower"], "children": ["kids"]}),
    ):
        assert again == SCHEMA
        assert again.field("grade").meanings == ((1, 0), (2, 1), (9, 2), (7, 2), (8, 2))
    assert "merged:" in SCHEMA.to_yaml()
    assert hash(SCHEMA.field("ward")) == hash(Schema.from_yaml(TEXT).field("ward"))


def test_a_release_is_the_same_from_memory_and_duckdb_and_speaks_of_categories_alone(tmp_path: Path) -> None:
    frame = people()
    frame.write_parquet(tmp_path / "people.parquet")
    one = penstock.release(frame, SCHEMA, epsilon=4, seed=3, out=tmp_path / "release")
    two = penstock.release(tmp_path / "people.parquet", SCHEMA, epsilon=4, seed=3, engine="duckdb")
    assert one.sample(200, seed=1).equals(two.sample(200, seed=1))
    assert "3 categories, 3 values merged" in (tmp_path / "release" / "report.html").read_text()
    loaded = penstock.load(tmp_path / "release")
    assert loaded.schema == SCHEMA
    drawn = loaded.sample(500, seed=2)
    assert set(drawn["ward"]) <= {"surgery", "children", "other wards"}
    assert set(drawn["grade"]) <= {1, 2, 9}
    found = loaded.query("ward = 'other wards'")
    truth = frame["ward"].is_in(["annex", "tower", "other wards"]).sum()
    assert found.error is not None
    assert abs(found.value - truth) < 3 * found.error
    with pytest.raises(QueryError, match="'annex' is merged into 'other wards'"):
        loaded.query("ward = 'annex'")
    assert penstock.evaluate(loaded, frame, learning=False).score("single columns").value < 0.1


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("constraints: {enum: [a, b]}, merged: {c: [d]}", "which is not in the enum"),
        ("constraints: {enum: [a, b]}, merged: {a: [b]}", "is in the enum and merged into 'a'"),
        ("constraints: {enum: [a, b]}, merged: {a: [c], b: [c]}", "is merged twice"),
        ("constraints: {enum: [a, b]}, merged: {a: c}", "is not a list of merged values"),
        ("constraints: {enum: [a, b]}, merged: [c]", "Write 'merged: "),
        ("constraints: {enum: [a, b]}, merged: {a: ['']}", "also a sign for a missing value"),
        ("type: integer, constraints: {minimum: 0, maximum: 9}, merged: {1: [2]}", "belongs to a field with"),
        ("type: boolean, merged: {true: [x]}", "is not"),
        (
            "type: integer, constraints: {enum: [1, 2]}, categoriesOrdered: true, outside: clamp, "
            "merged: {1: [5]}",
            "cannot be merged where others are clamped",
        ),
        ("type: integer, constraints: {enum: [1, 2]}, merged: {1: [x]}", "is not a whole number"),
        ("constraints: {enum: [a, b]}, merged: {a: [other]}, outside: other", "values outside are called"),
        ("constraints: {enum: [a, b]}, taxonomy: {all: [a, b]}, merged: {a: [all]}", "'all' is a group of"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused_in_a_sentence(field: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Schema.from_yaml(f"fields:\n- {{name: x, {field}}}")


def test_spellings_of_one_number_may_be_merged_and_are_read_from_a_column_of_numbers(tmp_path: Path) -> None:
    schema = Schema.from_yaml(
        "fields:\n- {name: x, constraints: {enum: [low, high]}, "
        "merged: {low: ['1', '01'], high: ['2', '3.0']}}"
    )
    frame = pl.DataFrame({"x": [1, 2, 3]})
    frame.write_parquet(tmp_path / "numbers.parquet")
    for source, engine in ((frame, "memory"), (tmp_path / "numbers.parquet", "duckdb")):
        assert open_engine(source, schema, engine=engine).counts([("x",)])[0].tolist() == [1, 2]
    apart = schema.with_field("x", merged={"low": ["1"], "high": ["01"]})
    with pytest.raises(DataError, match="'1' and '01' are the same number"):
        open_engine(frame, apart)
