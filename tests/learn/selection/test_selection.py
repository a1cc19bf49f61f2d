"""Selections: what comes out, what it costs, which mechanism runs, and that it survives saving.

Statistical tests are seeded and would fail with probability at most 1e-6 for a right mechanism.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.errors import DataError, QueryError, ReleaseError, SchemaError, UsageError
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.table.data import Table
from penstock.learn.selection.plan import Mechanism, Request
from penstock.learn.selection.release import SelectionRelease
from penstock.learn.selection.select import SelectCategories, SelectItems
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.noise import margin
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

LETTERS = [chr(97 + i) for i in range(20)]
BASKETS = f"""
kind: itemsets
items: {{item: basket}}
fields:
  - {{name: basket, constraints: {{enum: {LETTERS}}}}}
"""
TOWNS = "fields:\n  - {name: town, constraints: {enum: [Ayr, Bonn, Cork, Dole]}, missing: value}\n"


def baskets() -> pl.DataFrame:
    """Item number i is in 2000 - 100 i of 2000 baskets."""
    return pl.DataFrame({"basket": [" ".join(LETTERS[: 20 - place // 100]) for place in range(2000)]})


def sets(text: str = BASKETS, frame: pl.DataFrame | None = None) -> ItemSets:
    return ItemSets.open(baskets() if frame is None else frame, Schema.from_yaml(text))


def seeded(epsilon: object = 1, seed: int = 1) -> Budget:
    return Budget(epsilon, randomness=Randomness.seeded(seed))  # type: ignore[arg-type]


# --- what comes out ---


@pytest.mark.parametrize("mechanism", ["one-shot", "exponential", "histogram"])
def test_the_most_frequent_items_come_out_in_order(mechanism: Mechanism) -> None:
    """At epsilon 50 a gap of 100 is 250 scales of the widest noise here, the histogram's (20/50)."""
    found = SelectItems(c=5, mechanism=mechanism).fit(sets(), seeded(50))
    assert found.items == tuple("abcde")
    assert found.receipt.epsilon == 50
    assert found.parameters["mechanism"] == mechanism
    assert (found.counts is None) == (mechanism != "histogram")


def test_those_above_a_threshold_come_out() -> None:
    """Item i has 2000 - 100 i sets; 1750 is reached by a, b and c."""
    for mechanism in ("sparse-vector", "histogram"):
        found = SelectItems(c=20, threshold=Fraction(1750), mechanism=mechanism).fit(sets(), seeded(100))  # type: ignore[arg-type]
        assert sorted(found.items) == ["a", "b", "c"]
    few = SelectItems(c=2, threshold=Fraction(1000), mechanism="sparse-vector").fit(sets(), seeded(100))
    assert len(few.items) == 2
    assert set(few.items) <= set("abcdefghijk")
    none = SelectItems(threshold=Fraction(10**6)).fit(sets(), seeded())
    assert none.items == ()
    assert none.frame().height == 0


def test_counts_are_paid_with_their_share_and_close_to_the_truth() -> None:
    budget = seeded(4)
    found = SelectItems(c=5, counts=Fraction(1, 4), mechanism="one-shot").fit(sets(), budget)
    labels = {charge.label: charge.epsilon for _, charge in found.receipt.charges()}
    assert labels == {"selection": 3, "counts of the selected": 1}
    assert found.counts is not None
    # Five counts, each moved by one at most: noise of scale 5.
    assert found.margin == margin(5, 1)
    assert np.all(np.abs(found.counts - 2000 + 100 * np.arange(5)) < 100)
    ask = found.query("c")
    assert (ask.value, ask.error, ask.text) == (found.counts[2], found.margin, "item sets")
    with pytest.raises(QueryError, match="'z' is not among the 5"):
        found.query("z")
    with pytest.raises(QueryError, match="not paid for"):
        SelectItems(c=2).fit(sets(), seeded()).query("a")


def test_counts_of_those_above_a_threshold_rank_them_with_noise_for_as_many_as_there_are() -> None:
    found = SelectItems(c=10, threshold=Fraction(1750), counts=Fraction(1, 2), mechanism="sparse-vector").fit(
        sets(), seeded(40)
    )
    assert found.items == ("a", "b", "c")
    assert found.margin == margin(3, 20)
    nothing = SelectItems(
        c=3, threshold=Fraction(10**6), counts=Fraction(1, 2), mechanism="sparse-vector"
    ).fit(sets(), seeded(4))
    assert nothing.items == ()
    assert nothing.counts is not None
    assert nothing.counts.tolist() == []
    assert nothing.receipt.epsilon == 4  # a receipt equals its budget, whoever was selected


def test_items_that_nobody_has_are_candidates_too() -> None:
    """With next to no budget the choice is uniform; an unseen item is as likely as any other."""
    frame = pl.DataFrame({"basket": ["a"] * 3})
    source = Randomness.seeded(2)
    found = [
        SelectItems(c=1).fit(sets(frame=frame), Budget("1/100000", randomness=source)).items[0]
        for _ in range(400)
    ]
    assert len(set(found)) == 20


def test_categories_of_a_column() -> None:
    frame = pl.DataFrame({"town": ["Cork"] * 500 + ["Ayr"] * 300 + ["Bonn"] * 100 + [None] * 900})
    table = Table.open(frame, Schema.from_yaml(TOWNS))
    found = SelectCategories(c=2).fit(table, seeded(5))
    assert found.items == ("Cork", "Ayr")  # missing values are no candidates
    assert found.parameters["mechanism"] == "histogram"
    assert found.counted == "records"
    assert found.candidates == 4


def test_the_column_of_a_table_must_be_said_where_there_are_several() -> None:
    schema = Schema.from_yaml(TOWNS + "  - {name: smoker, type: boolean}\n")
    table = Table.open(pl.DataFrame({"town": ["Ayr"], "smoker": [True]}), schema)
    budget = Budget(1)
    with pytest.raises(UsageError, match=r"which column to select from \(column\): town, smoker"):
        SelectCategories(c=1).fit(table, budget)
    with pytest.raises(SchemaError, match="did you mean 'smoker'"):
        SelectCategories(c=1, column="smokers").fit(table, budget)
    assert budget.left[0] == 1
    found = SelectCategories(c=1, column="smoker").fit(table, seeded(50))
    assert found.items == ("true",)
    assert found.parameters["column"] == "smoker"


# --- sensitivity ---


@pytest.mark.parametrize(
    ("top", "columns", "l1", "linf", "monotone"),
    [
        ("", "", 20, 1, True),
        ("", ", largest: 4", 4, 1, True),
        ("", ", largest: 40", 20, 1, True),
        ("unit: {protects: user, column: who, at_most: 3}\n", ", largest: 4", 12, 1, True),
        ("relation: replace\nsize: 2000\n", "", 40, 1, False),
    ],
)
def test_supports_move_by_one_each_and_together_by_what_a_unit_can_have(
    top: str, columns: str, l1: int, linf: int, monotone: bool
) -> None:
    frame = baskets().with_columns(who=pl.int_range(2000))
    data = sets(
        BASKETS.replace("{item: basket}", f"{{item: basket{columns}}}").replace("fields:", f"{top}fields:"),
        frame,
    )
    moves = data.supports().sensitivity
    assert (moves.l1, moves.linf, moves.monotone) == (l1, linf, monotone)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(st.sampled_from("abc"), max_size=4), min_size=1, max_size=6),
    extra=st.lists(st.sampled_from("abc"), max_size=4),
)
def test_one_set_more_never_moves_supports_by_more_than_is_stated(
    rows: list[list[str]], extra: list[str]
) -> None:
    from penstock.kinds.itemsets.reading import read_itemsets

    schema = Schema.from_yaml(BASKETS.replace(str(LETTERS), "[a, b, c]"))
    before, after = (
        read_itemsets(pl.DataFrame({"basket": [" ".join(row) for row in data]}), schema).holders(3)
        for data in (rows, [*rows, extra])
    )
    change = after - before
    assert change.min() >= 0
    assert change.max() <= 1
    assert change.sum() == len(set(extra))


def test_replacing_needs_a_public_number_of_sets() -> None:
    replace = BASKETS.replace("fields:", "relation: replace\n%sfields:")
    with pytest.raises(SchemaError, match="declare it in the schema as 'size'"):
        sets(replace % "")
    with pytest.raises(DataError, match="declares a public size of 7"):
        sets(replace % "size: 7\n")
    found = SelectItems(c=3).fit(sets(replace % "size: 2000\n"), seeded(50))
    assert found.items == ("a", "b", "c")
    assert found.receipt.relation is Relation.REPLACE
    with pytest.raises(SchemaError, match="at_most to 1"):
        sets(replace % "size: 2000\nunit: {protects: user, column: who, at_most: 2}\n")
    with pytest.raises(SchemaError, match="the unit is 'record' or 'user'"):
        sets(BASKETS.replace("fields:", "unit: {protects: node}\nfields:"))


# --- which mechanism ---


def test_auto_takes_the_mechanism_with_the_least_noise() -> None:
    one, epsilon = Fraction(1), Fraction(1)
    baskets_of = {most: Sensitivity.of(most, linf=1, monotone=True) for most in (1, 5, 50, 10**6)}
    # Top c: noise for all has deviation 2 l1, noise once sqrt(2) c. They cross at c = sqrt(2) l1.
    assert Request(c=1).choose(baskets_of[1], epsilon) == "one-shot"
    assert Request(c=2).choose(baskets_of[1], epsilon) == "histogram"
    assert Request(c=7).choose(baskets_of[5], epsilon) == "one-shot"
    assert Request(c=8).choose(baskets_of[5], epsilon) == "histogram"
    assert Request(c=50).choose(baskets_of[10**6], epsilon) == "one-shot"
    # A threshold: sqrt(2) l1 against the deviation of the sparse vector, 78.67 for c = 50.
    limit = Fraction(10)
    assert Request(c=50, threshold=limit).choose(baskets_of[50], epsilon) == "histogram"
    assert Request(c=50, threshold=limit).choose(baskets_of[10**6], epsilon) == "sparse-vector"
    assert Request(threshold=limit).choose(baskets_of[10**6], epsilon) == "histogram"
    # Counts that are wanted anyway make the histogram, which has them for nothing, more attractive.
    assert Request(c=7, counts=one / 4).choose(baskets_of[5], epsilon) == "histogram"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Say how many"),
        ({"c": 0}, "whole number from 1"),
        ({"c": True}, "whole number from 1"),
        ({"c": 2, "counts": 1}, "to 0.999999, or 0, not 1"),
        ({"c": 2, "counts": -1}, "to 0.999999, or 0, not -1"),
        ({"c": 2, "mechanism": "gumbel"}, "mechanism must be one of"),
        ({"c": 2, "mechanism": "sparse-vector"}, "needs a threshold"),
        ({"threshold": 5, "mechanism": "sparse-vector"}, "needs c"),
        ({"c": 2, "threshold": 5, "mechanism": "one-shot"}, "leave out the threshold"),
    ],
)
def test_impossible_wishes_are_refused_when_they_are_made(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SelectItems(**options)
    with pytest.raises(UsageError, match="threshold must be a number or a fraction"):
        SelectItems(c=1, threshold="many")  # type: ignore[arg-type]


def test_more_than_there_are_cannot_be_selected_and_nothing_is_spent() -> None:
    budget = Budget(1)
    with pytest.raises(UsageError, match="Cannot select 21 different ones of 20 candidates"):
        SelectItems(c=21).fit(sets(), budget)
    assert budget.left[0] == 1


@settings(max_examples=40, deadline=None)
@given(
    c=st.one_of(st.none(), st.integers(1, 20)),
    threshold=st.one_of(st.none(), st.integers(-50, 3000)),
    counts=st.just(Fraction(0)) | st.fractions("1/1000000", "9/10"),
    epsilon=st.fractions("1/100", 20),
)
def test_every_selection_costs_its_budget(
    c: int | None, threshold: int | None, counts: Fraction, epsilon: Fraction
) -> None:
    if c is None and threshold is None:
        return
    budget = seeded(epsilon)
    found = SelectItems(c=c, threshold=threshold, counts=counts).fit(sets(), budget)  # type: ignore[arg-type]
    assert found.receipt.epsilon == epsilon
    assert len(found.items) <= (c or 20)


# --- as a release ---


def test_saved_and_loaded_it_says_the_same(tmp_path: Path) -> None:
    for name, method in (
        ("bare", SelectItems(c=4)),
        ("counted", SelectItems(c=4, counts=Fraction(1, 3))),
        ("none", SelectItems(threshold=Fraction(10**7))),
    ):
        made = method.fit(sets(), seeded(2))
        folder = made.save(tmp_path / name)
        again = penstock.load(folder)
        assert isinstance(again, SelectionRelease)
        assert again.frame().equals(made.frame())
        assert (again.margin, again.counted, again.candidates) == (made.margin, made.counted, made.candidates)
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert "A selection" in page
        assert not (folder / "synthetic.csv").exists()
        assert [len(picture.rows) for picture in again.pictures()] == [len(made.items)] * bool(made.items)
        with pytest.raises(UsageError, match="cannot be sampled"):
            again.sample(3)


def test_a_field_may_be_called_anything(tmp_path: Path) -> None:
    text = BASKETS.replace("basket", "count")
    made = SelectItems(c=2, counts=Fraction(1, 2)).fit(
        ItemSets.open(baskets().rename({"basket": "count"}), Schema.from_yaml(text)), seeded(9)
    )
    assert penstock.load(made.save(tmp_path / "odd")).items == made.items  # type: ignore[attr-defined]
    assert made.frame().width == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda model: model["json"].update(field="other"), "does not fit schema.yaml"),
        (lambda model: model["json"].update(counted="cats"), "does not fit schema.yaml"),
        (lambda model: model["json"].update(candidates=3), "does not fit the candidates"),
        (lambda model: model["json"].update(margin=-1.0), "impossible margin"),
        (lambda model: model["json"].update(margin=None), "has the columns"),
        (
            lambda model: model.update(frame=model["frame"].with_columns(rank=pl.lit(1, pl.Int64))),
            "not a ranking",
        ),
        (
            lambda model: model.update(frame=model["frame"].with_columns(selected=pl.lit("a"))),
            "not a ranking",
        ),
        (
            lambda model: model.update(frame=model["frame"].with_columns(selected=pl.format("z{}", "rank"))),
            "candidates",
        ),
    ],
)
def test_nothing_in_a_saved_selection_is_believed(change: Any, words: str) -> None:
    from penstock.releases import Manifest, Model

    made = SelectItems(c=3, counts=Fraction(1, 2)).fit(sets(), seeded(2))
    model = {"json": json.loads(json.dumps(made.model().json)), "frame": made.model().tables["selected"]}
    change(model)
    manifest = Manifest(made.method, made.schema, made.receipt, made.parameters)
    with pytest.raises(ReleaseError, match=words):
        SelectionRelease.from_model(manifest, Model(json=model["json"], tables={"selected": model["frame"]}))


def test_select_is_a_verb_of_the_package(tmp_path: Path) -> None:
    path = tmp_path / "baskets.csv"
    baskets().write_csv(path)
    schema = Schema.from_yaml(BASKETS)
    found = penstock.select(path, schema, epsilon=20, c=3, counts="1/5", seed=1, out=tmp_path / "top")
    assert found.items == ("a", "b", "c")
    assert not found.publishable
    assert penstock.load(tmp_path / "top").receipt.to_dict() == found.receipt.to_dict()
    assert penstock.select(path, schema, epsilon=20, c=3, counts="1/5", seed=1).frame().equals(found.frame())
    for wrong in ({"column": "basket"}, {"mechanism": "best"}, {"c": None}):
        with pytest.raises(UsageError):
            penstock.select(path, schema, epsilon=1, **{"c": 2, **wrong})
    with pytest.raises(UsageError, match="describes 'points'"):
        penstock.select(
            path,
            Schema.from_yaml(
                "kind: points\nfields: [{name: x, type: number, constraints: {minimum: 0, maximum: 1}}]"
            ),
            epsilon=1,
            c=1,
        )
