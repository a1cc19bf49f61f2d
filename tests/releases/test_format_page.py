"""The page about the format lists what the program writes and reads, and nothing else."""

from __future__ import annotations

import json
import re
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from tests.releases.every_form import FORMS, one_of
from tests.releases.tiny import tiny
from tests.test_docstrings import REFERENCE

from penstock import catalogue
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.privacy.budgets.charges import Apart, Charge, Concentrated, Portion, Together
from penstock.privacy.budgets.receipt import Receipt
from penstock.privacy.ledger.entries import Status
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.unit import Relation, Unit
from penstock.releases.answer import BASES, KNOWN, Answer
from penstock.releases.formats import FORMAT
from penstock.releases.package import About, Package, Resource
from penstock.schema import Schema
from penstock.schema.bins import Bins
from penstock.schema.field import Constraints, Field
from penstock.schema.schema import Drafted

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "format.md"


def tables() -> dict[str, list[list[str]]]:
    """The rows of the table under each heading, without its header."""
    found: dict[str, list[list[str]]] = {}
    page = REFERENCE.on_page_markdown(PAGE.read_text(encoding="utf-8"))
    for part in re.split(r"^##+ ", page, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        lines = [line for line in text.splitlines() if line.startswith("|")]
        if lines:
            found[title] = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return found


TABLES = tables()


def words(cell: str) -> list[str]:
    """The words that a cell sets as code."""
    return re.findall(r"`([^`]+)`", cell)


def first(title: str) -> list[str]:
    """The first column of a table, each a word set as code."""
    return [word for row in TABLES[title] for word in words(row[0])]


def keys(model: type[BaseModel]) -> list[str]:
    """The keys of a model as they are written."""
    return [info.alias or name for name, info in model.model_fields.items()]


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("The format number", [str(number) for number in range(1, FORMAT + 1)]),
        ("At the top", ["$schema", *keys(Package)]),
        ("In resources", keys(Resource)),
        ("In penstock", keys(About)),
        ("Keys of a schema", Schema._keys({})),
        ("Keys of a field", keys(Field)),
        ("Keys of constraints", keys(Constraints)),
        ("Keys of bins", keys(Bins)),
        ("Keys of unit", keys(Unit)),
        ("Keys of sequence", keys(SequenceLayout)),
        ("Keys of items", keys(ItemSetLayout)),
        ("Keys of drafted", keys(Drafted)),
        ("Kinds", [info.name for info in catalogue.kinds()]),
        ("Answers", list(catalogue.ANSWERS)),
        ("Words of the ledger", list(get_args(Status))),
        ("Keys of an answer", list(Answer(0.0).to_dict())),
        ("What an answer rests on", list(BASES)),
        ("How a range is known", list(KNOWN)),
        ("Keys of details", ["connections", "rules"]),
    ],
)
def test_the_page_has_every_word_that_the_program_knows_and_no_other(title: str, known: list[str]) -> None:
    assert first(title) == known


def test_the_page_lists_the_files_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.releases.folder.MANY_ROWS", 500)
    folder = tiny().save(tmp_path / "release")
    named = {re.sub(r"^model-.*\.parquet$", "model-*.parquet", path.name) for path in folder.iterdir()}
    assert set(first("Files")) == named
    package = json.loads((folder / "datapackage.json").read_text())
    assert set(package) <= set(first("At the top"))
    assert {key for resource in package["resources"] for key in resource} == set(first("In resources"))
    assert list(package["penstock"]) == first("In penstock")


def test_the_page_has_every_key_and_every_sort_of_entry_of_a_receipt() -> None:
    small = Fraction(1, 10)
    portion = Portion("part", "discrete gaussian", Fraction(1, 10**6))
    parts = (
        Charge("one", "discrete laplace", small),
        Together("some", (Charge("two", "discrete laplace", small),)),
        Apart("others", (Charge("three", "discrete laplace", small),)),
        Concentrated("smooth", small, Fraction(1, 10**6), Fraction(1, 10**5), (portion,)),
    )
    receipt = Receipt(Fraction(1), small, Relation.ADD_REMOVE, Unit(), Together("release", parts))
    told = receipt.to_dict()
    assert list(told) == first("On the receipt")
    charge, together, apart, concentrated = told["paid"]["together"]
    entries = {
        "charge": charge,
        "together": together,
        "apart": apart,
        "concentrated": concentrated,
        "portion": concentrated["concentrated"][0],
    }
    assert {row[0]: words(row[1]) for row in TABLES["Entries"]} == {
        name: list(entry) for name, entry in entries.items()
    }
    assert words(TABLES["On the receipt"][3][1]) == list(told["budget"])
    user = Unit(protects="user", column="id", at_most=2)
    shown = Receipt(Fraction(1), small, Relation.ADD_REMOVE, user, Together("release")).to_dict()["unit"]
    assert set(shown) == set(first("Keys of unit")) - {"review"}


def test_the_page_has_the_words_of_a_schema() -> None:
    known = {
        "type": get_args(Field.model_fields["type"].annotation),
        "outside": get_args(Field.model_fields["outside"].annotation),
        "missing": get_args(Field.model_fields["missing"].annotation),
        "protects": tuple(unit.name for unit in catalogue.units()),
        "relation": tuple(Relation),
    }
    assert {row[0].strip("`"): set(words(row[1])) for row in TABLES["Words of a schema"]} == {
        key: set(each) for key, each in known.items()
    }


def test_the_page_describes_every_form() -> None:
    listed = {words(form)[0]: row for form, *row in TABLES["Forms"]}
    assert set(listed) == set(FORMS)
    for form, (kinds, answer, held, columns) in listed.items():
        release = one_of(form)
        model = release.model()
        assert (words(kinds), words(answer)) == (list(release.kinds), [release.answer]), form
        assert words(held) == list(model.json), form
        named = {table: "not always" in table for table in columns.split(";") if words(table)}
        written = [[name, *frame.columns] for name, frame in model.tables.items()]
        assert [words(table) for table in named if words(table) in written] == written, form
        assert all(optional for table, optional in named.items() if words(table) not in written), form


def test_the_page_lists_the_tables_of_the_ledger(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "ledger.db")
    with sqlite3.connect(tmp_path / "ledger.db") as book:
        found = [name for (name,) in book.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {
            name: [row[1] for row in book.execute(f"PRAGMA table_info({name})")]
            for name in found
            if not name.startswith("sqlite_")
        }
        assert book.execute("SELECT format, version FROM penstock_book").fetchall() == [
            ("penstock ledger", 2)
        ]
    book.close()
    assert {words(row[0])[0]: words(row[1]) for row in TABLES["The ledger"]} == columns
