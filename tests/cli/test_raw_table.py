"""From a raw table, as offices have them, to a release: draft, review, release, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.desk import Cli

HEADER = "age,workclass,capital-gain,hours-per-week,income"
ROW = "39,Private,2174,40,<=50K"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A table in the manner of the census: '?' for missing, gains that few people have."""
    rng = np.random.default_rng(5)
    rows = [
        f"{rng.integers(17, 90)},{rng.choice(['Private', 'State-gov', '?'])},"
        f"{rng.integers(100, 99_000) if rng.random() < 0.1 else 0},{rng.integers(1, 99)},"
        f"{rng.choice(['<=50K', '>50K'])}"
        for _ in range(600)
    ]
    path = tmp_path / "census.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def reviewed(cli: Cli, raw: Path) -> Path:
    path = raw.parent / "census.schema.yaml"
    assert cli("draft", raw, "-o", path).code == 0
    text = path.read_text(encoding="utf-8")
    assert text.count("review: true") == 6  # five fields and the unit
    path.write_text(text.replace("review: true", "review: false"), encoding="utf-8")
    return path


def test_a_drafted_and_reviewed_raw_table_is_released(cli: Cli, raw: Path, reviewed: Path) -> None:
    out = raw.parent / "release"
    done = cli("release", raw, "--schema", reviewed, "--epsilon", "3", "--out", out, "--seed", "1")
    assert done.code == 0, done.err
    assert (out / "report.html").stat().st_size > 50_000
    rows = pl.read_csv(out / "synthetic.csv")
    assert rows.columns == HEADER.split(",")
    # Nine in ten have no gain; with noise of some ten records between 0.7 and 1 is beyond doubt.
    assert 0.7 < (rows["capital-gain"] == 0).mean() < 1
    assert rows["workclass"].null_count() > 0  # the missing ones are missing


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: "", "the file is empty"),
        (lambda text: text + ROW.replace("39", "thirty-nine", 1), "'thirty-nine' in row 601 is not a whole"),
        (lambda text: text + ROW.replace("39", "390", 1), "'390' in row 601 is outside the declared"),
        (lambda text: text + ROW.replace("39", "nan", 1), "age: the value in row 601 is missing"),
        (lambda text: text + ROW.replace("39", "inf", 1), "'inf' in row 601 is not a whole number"),
        (lambda text: text + ROW.replace("Private", "Navy"), "'Navy' in row 601 is not a declared category"),
        (lambda text: text + ROW + ",more", "row 601 (line 602) has 6 fields"),
        (lambda text: text + "39,Private", "row 601 (line 602) has 2 fields"),
        (lambda text: text.replace("hours-per-week", "age", 1), "have the same name"),
        (lambda text: text.replace(",income", ",wages", 1), "income: the data has no such column"),
        (lambda text: text.replace("age", "a\0ge", 1), "column 1 holds a zero byte"),
    ],
)
def test_a_spoilt_raw_table_is_refused_in_one_line(
    cli: Cli, raw: Path, reviewed: Path, spoil: Callable[[str], str], words: str
) -> None:
    raw.write_text(spoil(raw.read_text(encoding="utf-8")), encoding="utf-8")
    before = sorted(raw.parent.iterdir())
    done = cli("release", raw, "--schema", reviewed, "--epsilon", "1", "--out", raw.parent / "release")
    assert done.code == 1
    assert words in done.err
    assert done.err.count("\n") == 1
    assert sorted(raw.parent.iterdir()) == before
