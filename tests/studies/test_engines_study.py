"""The study of engines: its table in the guide is what was measured, and its records are made up once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import engines
import penstock
from engine_records import METHODS, RECORDS


def test_the_table_of_the_guide_is_what_was_measured() -> None:
    text = engines.PAGE.read_text(encoding="utf-8")
    assert text == engines.page(text, engines.kept())
    assert "DIFFERENT" not in text


@pytest.mark.parametrize("records", RECORDS[1:], ids=[each.name for each in RECORDS[1:]])
def test_records_of_a_size_begin_with_those_of_a_smaller_one(records: object, tmp_path: Path) -> None:
    """Nothing but the number of a row decides what it is."""
    made = next(each for each in RECORDS if each is records)
    few, more = (pl.read_parquet(made.path(tmp_path, rows)) for rows in (3_000, 300_000))
    assert more.height == 300_000
    assert more.head(3_000).equals(few)


@pytest.mark.parametrize("method", [method for method in METHODS if METHODS[method].name])
def test_every_method_of_the_study_releases_its_records(method: str, tmp_path: Path) -> None:
    records = METHODS[method]
    path = records.path(tmp_path, 2_000)
    made = penstock.release(path, records.schemas[method](), epsilon=9, method=method, seed=8)
    assert made.method == method
