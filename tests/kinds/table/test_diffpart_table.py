"""DiffPart for records: trees, sensitivities by brute force, what chains spend, and what comes out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log2
from typing import Any

import numpy as np
import polars as pl
import pytest

import penstock
from penstock.errors import ReleaseError, SchemaError, UsageError
from penstock.kinds.table.data import Table
from penstock.kinds.table.diffpart.method import DiffPartTable
from penstock.kinds.table.diffpart.release import RowsRelease
from penstock.kinds.table.diffpart.trees import Node, interval, tree_of
from penstock.kinds.table.split_scores import STEPS, Measure, Score
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.chains import Chain
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Manifest, Model
from penstock.schema import Schema

PEOPLE = Schema.from_yaml(
    """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 79}, bins: {width: 10}}
  - name: town
    constraints: {enum: [Rome, Milan, Paris, Nice]}
    taxonomy: {Italy: [Rome, Milan], France: [Paris, Nice]}
  - {name: smoker, type: boolean, missing: value}
"""
)


def people(many: int = 2000) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    town = rng.choice(["Rome", "Milan", "Paris"], size=many, p=[0.6, 0.3, 0.1])
    smoker = [None if x > 0.95 else bool(x > 0.6) for x in rng.random(many)]
    return pl.DataFrame({"age": rng.integers(20, 60, many), "town": town, "smoker": smoker})


def fitted(epsilon: Any = 5, seed: int = 1, **parameters: Any) -> RowsRelease:
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
    return DiffPartTable(**parameters).fit(Table.open(people(), PEOPLE), budget)


# --- trees ---


def test_trees_follow_taxonomies_and_merged_bins() -> None:
    age, town, smoker = (tree_of(attribute, median=False) for attribute in PEOPLE.attributes)
    assert (age.height, town.height, smoker.height) == (3, 2, 1)
    assert [child.codes for child in town.children] == [(0, 1), (2, 3)]
    assert [child.codes for child in age.children] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert len(smoker.children) == 3  # missing is a value


def test_intervals_are_cut_where_they_are_told_and_end() -> None:
    root = tree_of(PEOPLE.attributes[0], median=True)
    assert root.interval
    assert root.height == 4
    left, right = root.cut(1)
    assert (left.codes, left.height) == ((0,), 0)
    assert (len(right.codes), right.height) == (7, 3)
    assert interval((5,), 9) == Node((5,))
    beside = tree_of(
        Schema.from_yaml(
            "fields: [{name: a, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 5}, "
            "missing: value}]"
        ).attributes[0],
        median=True,
    )
    assert [child.interval for child in beside.children] == [True, False]


# --- sensitivities ---


@pytest.mark.parametrize(("parts", "classes"), [(2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("measure", ["max", "gain", "gini"])
def test_one_record_moves_a_score_by_no_more_than_its_bound(
    measure: Measure, parts: int, classes: int
) -> None:
    """All tables with up to two records in each cell, one record added to each cell in turn."""
    score, worst = Score(measure), 0
    for cells in product(range(3), repeat=parts * classes):
        table = np.array(cells).reshape(parts, classes)
        before = score.of(table)
        for place in range(parts * classes):
            more = table.copy()
            more.ravel()[place] += 1
            moved = score.of(more) - before
            assert measure != "max" or moved >= 0
            worst = max(worst, abs(moved))
    assert worst <= score.bound(classes)
    if measure == "max":
        assert worst == 1
    if (measure, parts, classes) == ("gain", 2, 2):
        assert worst == STEPS  # one bit, as published


def test_without_classes_the_largest_part_moves_by_one() -> None:
    assert Score("max").of(np.array([[3], [5], [1]])) == 5
    assert Score("max").sensitivity(1, 4, 1).spread == 1
    assert Score("gain").bound(4) == 2 * STEPS + 1
    assert Score("gini").bound(2) == STEPS // 2 + 1
    assert float(Score("gain").bound(3)) >= STEPS * log2(3)


# --- chains ---


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"target": "smoker"},
        {"score": "gain", "target": "town"},
        {"score": "gini", "target": "smoker"},
        {"numeric": "median"},
    ],
)
def test_no_chain_spends_more_than_epsilon_and_whole_rows_get_half_at_least(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[Fraction] = []
    original = Chain.counted

    def counted(chain: Chain, *arguments: Any) -> Any:
        spent.append(chain.left)
        found = original(chain, *arguments)
        assert chain.left == 0
        return found

    monkeypatch.setattr(Chain, "counted", counted)
    release = fitted(4, **parameters)
    assert spent
    assert all(2 <= amount <= 4 for amount in spent)
    assert release.receipt.epsilon == 4


# --- releases ---


def test_rows_are_found_and_questions_answered() -> None:
    release, truth = fitted(20), people()
    assert release.divided > 3
    expected = truth.filter((pl.col("town") == "Rome") & pl.col("smoker")).height
    assert abs(release.query("town = 'Rome' and smoker = true").value - expected) < 0.35 * expected
    assert release.sample(50, seed=1).columns == ["age", "town", "smoker"]
    assert set(release.sample(200, seed=1, where="town = 'Milan'")["town"]) == {"Milan"}


def test_a_private_median_cuts_where_the_records_are() -> None:
    """Ages lie between 20 and 59: with half of the bins empty, ages outside are rare in the release."""
    release = fitted(40, numeric="median")
    outside = release.query("age < 10").value + release.query("age >= 70").value
    assert outside < 0.1 * release.total


def test_parts_beyond_the_cap_are_left_out_and_the_release_says_so() -> None:
    release = fitted(20, most_parts=2)
    assert release.divided == 2
    assert release.left_out > 0
    assert any("limit was reached" in text for text in release.explain())


def test_where_nothing_is_found_the_number_of_records_is_zero() -> None:
    release = fitted("1/1000", c1=1000)
    assert release.total == 0
    assert release.sample(3, seed=1).height == 3


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="target must be a column"):
        DiffPartTable(target="income").check(PEOPLE)
    with pytest.raises(UsageError, match="as 'target' in the schema, or as the parameter target"):
        DiffPartTable(score="gain").check(PEOPLE)


def test_the_classes_are_those_of_the_schemas_target_unless_another_is_named() -> None:
    towns = PEOPLE.model_copy(update={"target": "town"})

    def of(schema: Schema, **parameters: Any) -> RowsRelease:
        budget = Budget(5, randomness=Randomness.seeded(1))
        return DiffPartTable(score="gini", **parameters).fit(Table.open(people(300), schema), budget)

    said, told, other = of(towns), of(PEOPLE, target="town"), of(towns, target="smoker")
    assert [made.parameters["target"] for made in (said, told, other)] == ["town", "town", "smoker"]
    assert np.array_equal(said.codes, told.codes)
    assert np.array_equal(said.counts, told.counts)
    with pytest.raises(UsageError, match="is about classes"):
        DiffPartTable(score="gini").check(PEOPLE)
    with pytest.raises(SchemaError, match="add-remove"):
        DiffPartTable().check(PEOPLE.model_copy(update={"relation": "replace", "size": 5}))


def test_rows_that_cannot_be_are_left_out_and_not_loaded() -> None:
    text = PEOPLE.to_yaml() + "impossible: [\"town = 'Rome' and smoker = true\"]\n"
    frame = people().filter(~((pl.col("town") == "Rome") & pl.col("smoker").fill_null(False)))
    release = penstock.release(frame, Schema.from_yaml(text), epsilon=20, method="diffpart-table", seed=1)
    assert release.query("town = 'Rome' and smoker = true").value == 0
    made = fitted(20)
    tables = dict(made.model().tables)
    tables["codes"] = tables["codes"].with_columns(pl.col("code") + 100)
    manifest = Manifest(made.method, made.schema, made.receipt, made.parameters)
    with pytest.raises(ReleaseError, match="impossible rows"):
        RowsRelease.from_model(manifest, Model(made.model().json, tables))
