"""Drafts of item sets take items for items, however a file holds its sets."""

from __future__ import annotations

import polars as pl
import pytest

import penstock
from penstock.kinds.itemsets.layout import ItemSetLayout
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
