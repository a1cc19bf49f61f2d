"""Drafts of item sets take items for items, however a file holds its sets."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import penstock
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.release import ItemSetsRelease
from penstock.schema import Schema


@pytest.mark.parametrize(
    ("columns", "layout", "items"),
    [
        ({"basket": ["milk bread", "milk", "bread eggs"]}, {"item": "basket"}, ["bread", "eggs", "milk"]),
        (
            {"goods": ["rye bread,milk", "milk", "tea, rye bread,milk"]},
            {"item": "goods", "separator": ","},
            ["milk", "rye bread", "tea"],
        ),
        (
            {"basket": ["milk bread", "milk", "bread eggs"], "store": ["north", "south", "north"]},
            {"item": "basket"},
            ["bread", "eggs", "milk"],
        ),
        ({"goods": [["b", "a"], ["a"], []]}, {"item": "goods"}, ["a", "b"]),
        (
            {"basket_id": [1, 1, 2], "product": ["rye bread", "milk", "rye bread"]},
            {"item": "product", "transaction": "basket_id"},
            ["milk", "rye bread"],
        ),
        (
            {"basket": [1, 1, 2], "product": ["rye bread", "milk", "rye bread"]},
            {"item": "product", "transaction": "basket"},
            ["milk", "rye bread"],
        ),
        (
            {"user": ["x", "y", "x"], "basket": ["milk;tea", "tea", "milk;tea"]},
            {"item": "basket", "separator": ";"},
            ["milk", "tea"],
        ),
        ({"goods": ["tea", "milk", "tea"]}, {"item": "goods"}, ["milk", "tea"]),
    ],
)
def test_a_draft_knows_items_from_whole_sets(
    columns: dict[str, list[object]], layout: dict[str, str], items: list[str]
) -> None:
    frame = pl.DataFrame({name: values * 20 for name, values in columns.items()}, strict=False)
    proposal = penstock.draft(frame, kind="itemsets")
    assert proposal.layout == ItemSetLayout.model_validate(layout)
    assert list(proposal.field(layout["item"]).labels) == items
    assert len(proposal.fields) == 1
    facts = proposal.model_dump(by_alias=True, exclude_defaults=True)
    facts["unit"]["review"] = facts["fields"][0]["review"] = False
    made = penstock.release(
        frame, Schema.model_validate(facts), epsilon=50, method="select-items", parameters={"threshold": 1}
    )
    assert set(made.model().tables["selected"]["selected"]) == set(items)


def test_without_items_a_draft_asks_which_columns_they_are() -> None:
    for proposal in (
        penstock.draft(pl.DataFrame({"n": [1, 2, 3]}), kind="itemsets"),
        penstock.draft(pl.DataFrame({"basket": ["milk bread"]}), kind="itemsets", headers_only=True),
    ):
        assert proposal.layout is None
        assert "Say which columns make an item set" in proposal.to_yaml()


NUMBERS = [[str(item) for item in range(first, first + 3)] for first in range(100, 160)] * 2


@pytest.mark.parametrize("layout", ["lists", "texts", "rows"])
def test_items_that_are_numbers_are_each_an_item_and_no_bins(layout: str) -> None:
    """A bin such as 100..199 would be no item of anybody."""
    places = [place for place, items in enumerate(NUMBERS) for _ in items]
    frame = {
        "lists": pl.DataFrame({"pages": [[int(item) for item in items] for items in NUMBERS]}),
        "texts": pl.DataFrame({"pages": [" ".join(items) for items in NUMBERS]}),
        "rows": pl.DataFrame({"visit": places, "pages": [int(item) for items in NUMBERS for item in items]}),
    }[layout]
    proposal = penstock.draft(frame, kind="itemsets")
    assert proposal.layout == ItemSetLayout(item="pages", transaction="visit" if layout == "rows" else None)
    labels = proposal.field("pages").labels
    assert all(label.isdecimal() for label in labels)
    assert {item for items in NUMBERS for item in items} <= set(labels)


@pytest.mark.parametrize("name", ["sets.dat", "sets.txt"])
def test_lines_that_are_sets_need_no_names_above_them(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("\n".join(" ".join(items) for items in NUMBERS), encoding="utf-8")
    proposal = penstock.draft(path, kind="itemsets")
    assert proposal.layout == ItemSetLayout(item="items", header=False)
    facts = proposal.model_dump(by_alias=True, exclude_defaults=True)
    facts["unit"]["review"] = facts["fields"][0]["review"] = False
    made = penstock.release(path, Schema.model_validate(facts), epsilon=1, seed=1)
    assert isinstance(made, ItemSetsRelease)
    assert abs(made.number.value - len(NUMBERS)) < 60
    assert penstock.draft(path, kind="itemsets", headers_only=True).layout == proposal.layout


def test_lines_of_words_are_sets_where_the_custodian_says_that_no_names_stand_above(tmp_path: Path) -> None:
    path = tmp_path / "goods.csv"
    path.write_text("rye bread,milk\nmilk\ntea,rye bread,milk\n" * 20, encoding="utf-8")
    proposal = penstock.draft(path, kind="itemsets", header="none")
    assert proposal.layout == ItemSetLayout(item="items", separator=",", header=False)
    rows = tmp_path / "rows.csv"
    rows.write_text("1,milk\n1,tea\n2,milk\n" * 20, encoding="utf-8")
    found = penstock.draft(rows, kind="itemsets", header="none").layout
    assert found is None or not found.headless


def test_a_long_list_of_items_is_to_be_named_as_a_file() -> None:
    frame = pl.DataFrame({"goods": [f"item{place % 400} item{place % 7}" for place in range(1600)]})
    proposal = penstock.draft(frame, kind="itemsets")
    assert proposal.layout == ItemSetLayout(item="goods")
    assert "constraints: {enum: items.txt}" in proposal.to_yaml()


def test_rows_of_a_set_are_no_sets_of_a_person() -> None:
    """Noise is as many times as wide as a person has sets: neither rows nor the set itself count for that."""
    goods = ["milk", "bread", "tea", "jam"] * 300
    baskets = [row // 4 for row in range(1200)]
    alone = penstock.draft(pl.DataFrame({"id": baskets, "item": goods}), kind="itemsets")
    assert alone.layout == ItemSetLayout(item="item", transaction="id")
    assert (alone.unit.protects, alone.unit.records) == ("record", 1)
    people = [f"p{row // 8}" for row in range(1200)]
    frame = pl.DataFrame({"customer": people, "basket": baskets, "item": goods})
    owned = penstock.draft(frame, kind="itemsets")
    assert owned.layout == ItemSetLayout(item="item", transaction="basket")
    assert (owned.unit.column, owned.unit.at_most) == ("customer", 2)
