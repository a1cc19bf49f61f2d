"""What `studies/fuzz.py` found first, each as a small input that was once answered wrongly."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import penstock
from penstock import Ledger, Schema
from penstock.errors import LedgerError, PenstockError, QueryError

SQUARE = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 9}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 9}}
"""


@pytest.fixture(scope="module")
def square() -> penstock.Release:
    points = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    return penstock.release(points, Schema.from_yaml(SQUARE), epsilon=1, method="uniform-grid", seed=1)


def test_a_message_stays_one_line_whatever_it_quotes(square: penstock.Release) -> None:
    for breaking in "\n\r\x0b\x0c\x1c\x1e\x85\u2028\u2029":
        with pytest.raises(QueryError) as caught:
            square.query(f"'{breaking}' = 1")
        assert len(str(caught.value).splitlines()) == 1


def test_a_message_stays_short_and_keeps_its_remedy(square: penstock.Release) -> None:
    with pytest.raises(QueryError) as caught:
        square.query("and" * 3000)
    assert len(str(caught.value)) < 1100
    whole = "a" * 600 + " Check it."
    assert str(PenstockError(whole)) == whole
    assert str(PenstockError("a" * 5000 + " Check it.")).endswith("a Check it.")


def test_a_quote_that_is_not_closed_in_a_file_of_boxes(square: penstock.Release, tmp_path: Path) -> None:
    (tmp_path / "boxes.csv").write_text('\n"5,2,8\n')
    many = square.questions()["box"].many
    assert many is not None
    with pytest.raises(QueryError, match=r"boxes\.csv"):
        many(str(tmp_path / "boxes.csv"))


@pytest.mark.parametrize("name", ["l" * 5000, "sqlite:///" + "l" * 5000, "ledger\0.db"])
def test_a_ledger_whose_name_no_file_can_have(name: str) -> None:
    with pytest.raises(LedgerError, match="No ledger can be at"):
        Ledger.open(name)


def test_a_ledger_with_two_drivers() -> None:
    with pytest.raises(LedgerError, match="neither a file name nor an SQLAlchemy URL"):
        Ledger.open("mysql++pymysql://ann:secret@host/base")
