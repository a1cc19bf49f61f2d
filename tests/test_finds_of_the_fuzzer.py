"""What `studies/fuzz.py` found first, each as a small input that was once answered wrongly."""

from __future__ import annotations

import hashlib
import json
from math import inf
from pathlib import Path

import polars as pl
import pytest

import penstock
from penstock import Ledger, Schema
from penstock.errors import LedgerError, PenstockError, QueryError, ReleaseError
from penstock.kinds.table.counted import Seen, combined
from penstock.releases.error_bars import Noises, bar

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


@pytest.mark.parametrize("type_", ["whole", "broken"])
def test_a_draft_leaves_out_numbers_that_no_bounds_can_hold(type_: str, tmp_path: Path) -> None:
    number = {"whole": "1e308", "broken": "1.5e308"}[type_]
    (tmp_path / "people.csv").write_text(f"sex,income\nf,{number}\nm,-{number}\nf,7\n")
    drafted = penstock.draft(tmp_path / "people.csv")
    assert drafted.names == ("sex",)
    assert "'income' holds numbers that are too large" in drafted.to_yaml()


@pytest.mark.parametrize("deviation", [1e308, 1e154, 2.0**63])
def test_noise_of_any_width_has_a_bar(deviation: float) -> None:
    """Models are public files: a width in one may be anything that is a number."""
    alone = bar([Noises(1.0, deviation, 1)]).half
    assert 2.1 * min(deviation, 1e50) < alone < inf
    beside_little = bar([Noises(1.0, deviation, 1), Noises(1.0, 0.5, 1)]).half
    assert beside_little == pytest.approx(alone, rel=0.05)


@pytest.mark.parametrize("deviation", [1e50, 2.0**63, 1e9])
def test_a_table_that_tells_next_to_nothing_can_be_combined_with_one_that_does(deviation: float) -> None:
    value, known = combined([Seen(40.0, 1, 62.0, 1, deviation)], [Seen(100.0, 2, 0.0, 0, 0.7)], None)
    assert value == pytest.approx(39.0)
    assert 0.6 * deviation < known.half < 3 * deviation


def test_a_forged_width_of_noise_is_refused(tmp_path: Path) -> None:
    people = pl.DataFrame({"a": [True, False], "b": [True, True]})
    schema = Schema.from_yaml("fields: [{name: a, type: boolean}, {name: b, type: boolean}]")
    folder = penstock.release(people, schema, epsilon=1, seed=1).save(tmp_path / "release")
    model = json.loads((folder / "model.json").read_text())
    model["measured"][0]["deviation"] = 1e308
    (folder / "model.json").write_text(forged := json.dumps(model))
    package = json.loads((folder / "datapackage.json").read_text())
    for resource in package["resources"]:
        if resource["path"] == "model.json":
            resource["bytes"] = len(forged)
            resource["hash"] = f"sha256:{hashlib.sha256(forged.encode()).hexdigest()}"
    (folder / "datapackage.json").write_text(json.dumps(package))
    with pytest.raises(ReleaseError, match=r"model\.json"):
        penstock.load(folder)
