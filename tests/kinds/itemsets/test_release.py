"""Releases of item sets: what can be asked, mining against brute force, synthetic sets, folders."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock import catalogue
from penstock.errors import QueryError, ReleaseError, SchemaError
from penstock.evaluation import evaluate
from penstock.kinds.itemsets.baselines.histogram import SetHistogram
from penstock.kinds.itemsets.evaluation import relative_error, workload
from penstock.kinds.itemsets.mining import frequent, rules, supports_of, utility
from penstock.kinds.itemsets.release import ItemSetsRelease, SetsRelease
from penstock.kinds.itemsets.weighted import WeightedSets
from penstock.kinds.itemsets.writing import parse
from penstock.releases import Manifest, Model
from penstock.schema import Schema

GOODS = """
kind: itemsets
items: {item: basket%s}
fields:
  - {name: basket, constraints: {enum: [bread, butter, milk, tea]}}
"""
ROWS = ["milk"] * 400 + ["milk bread"] * 300 + ["bread butter tea"] * 200 + [""] * 100

SOME = st.lists(
    st.tuples(st.frozensets(st.integers(0, 5), min_size=1).map(sorted).map(tuple), st.integers(1, 9)),
    max_size=12,
    unique_by=lambda one: one[0],
)


def made(method: str | None = None, epsilon: float = 2, **parameters: Any) -> ItemSetsRelease:
    frame = pl.DataFrame({"basket": ROWS})
    schema = Schema.from_yaml(GOODS % "")
    found = penstock.release(
        frame, schema, epsilon=epsilon, method=method, parameters=parameters or None, seed=4
    )
    assert isinstance(found, ItemSetsRelease)
    return found


def brute(sets: list[tuple[tuple[int, ...], int]], universe: int) -> dict[tuple[int, ...], int]:
    return {
        items: sum(weight for one, weight in sets if set(items) <= set(one))
        for size in range(1, universe + 1)
        for items in combinations(range(universe), size)
    }


@given(SOME, st.integers(1, 80), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_the_most_frequent_sets_are_those_of_brute_force(
    sets: list[tuple[tuple[int, ...], int]], many: int, smallest: int
) -> None:
    every = {
        items: support for items, support in brute(sets, 6).items() if support and len(items) >= smallest
    }
    expected = sorted(every.items(), key=lambda one: (-one[1], len(one[0]), one[0]))[:many]
    assert frequent(WeightedSets.of(sets), 6, many, smallest=smallest) == expected


@given(SOME)
@settings(max_examples=40, deadline=None)
def test_many_questions_are_answered_like_single_ones(sets: list[tuple[tuple[int, ...], int]]) -> None:
    weighted, truth = WeightedSets.of(sets), brute(sets, 6)
    assert supports_of(weighted, 6, list(truth)).tolist() == list(truth.values())
    assert [weighted.support(items) for items in truth] == list(truth.values())


@given(SOME, st.sampled_from([1, 300, 70_000]))
@settings(max_examples=60, deadline=None)
def test_equal_sets_are_counted_together(sets: list[tuple[tuple[int, ...], int]], times: int) -> None:
    """Whether a word has room for eight items of a set, for four or for two."""
    sets = [(tuple(times * item for item in items), weight) for items, weight in sets]
    listed = [items for items, weight in sets for _ in range(weight)]
    items = np.array([item for one in listed for item in one], dtype=np.int64)
    counted = WeightedSets.counted(np.array([len(one) for one in listed], dtype=np.int64), items)
    expected = WeightedSets.of(sets)
    assert counted.sizes.tolist() == expected.sizes.tolist()
    assert counted.items.tolist() == expected.items.tolist()
    assert counted.weights.tolist() == expected.weights.tolist()


def test_rules_have_support_confidence_and_lift() -> None:
    sets = WeightedSets.of([((0, 1), 30), ((0,), 20), ((1,), 10), ((2,), 40)])
    first, second = rules(sets, 3, 100, 5)
    assert (first.given, first.then, first.support) == ((1,), 0, 30)
    assert first.confidence == pytest.approx(30 / 40)
    assert first.lift == pytest.approx(30 / 40 / (50 / 100))
    assert (second.given, second.confidence) == ((0,), 0.6)


def test_a_short_list_of_rules_is_the_beginning_of_a_longer_one() -> None:
    rng = np.random.default_rng(1)
    sets = WeightedSets.of((np.flatnonzero(row).tolist(), 1) for row in rng.random((300, 7)) < 0.4)
    longer = rules(sets, 7, sets.total, 12)
    assert len(longer) == 12
    assert [rules(sets, 7, sets.total, many) for many in (1, 3, 8)] == [longer[:many] for many in (1, 3, 8)]


def test_utility_of_the_literature() -> None:
    truth = [((0,), 10), ((1,), 5)]
    assert utility(truth, dict(truth)) == 1
    assert utility(truth, {}) == 0
    assert utility(truth, {(0,): 30, (1,): 5}) == 0.0
    assert utility(truth, {(0,): 40, (1,): 5}) < 0


def test_a_workload_is_the_same_again_with_the_same_seed() -> None:
    one, two = (workload(20, 10, 50, np.random.default_rng(3)) for _ in range(2))
    assert one == two
    assert [max(len(items) for items in group) for group in one] == [2, 4, 6, 8, 10]
    assert all(len(set(items)) == len(items) for group in one for items in group)


def test_relative_errors_have_a_sanity_bound() -> None:
    assert relative_error(np.array([0]), np.array([2]), 1000) == 2.0
    assert relative_error(np.array([0]), np.array([2]), 10_000) == 0.2


# --- questions ---


def test_counts_top_rules_and_sizes_are_answered() -> None:
    release = made()
    assert abs(release.count("milk").value - 700) < 60
    assert release.count("milk, bread").error is None
    assert release.top(1)["items"].to_list() == ["milk"]
    assert release.top(1, smallest=2)["items"].to_list() == ["bread,milk"]
    assert release.rules(3).columns == ["given", "then", "support", "confidence", "lift"]
    sizes = dict(release.sizes().iter_rows())
    assert abs(sizes[3] - 200) < 60
    assert release.sizes(1)["size"].to_list() == [0, 1]
    assert release.compact()["count"].sum() == release.synthetic.total


@pytest.mark.parametrize(
    ("question", "text", "why"),
    [
        ("count", "milkk", "did you mean 'milk'"),
        ("count", "", "no items"),
        ("top", "many", "not a whole number"),
        ("top", "0", "Between 1 and"),
        ("rules", "x", "not a whole number"),
        ("sizes", "-3", "Between 1 and"),
    ],
)
def test_questions_that_make_no_sense_are_refused(question: str, text: str, why: str) -> None:
    with pytest.raises(QueryError, match=why):
        made().questions()[question].ask(text)


def test_items_with_commas_stand_between_quotes() -> None:
    assert parse("'a,b',c", ["a,b", "c"]) == (0, 1)
    with pytest.raises(QueryError, match="quote is not closed"):
        parse("'a", ["a"])


def test_files_of_questions_are_answered(tmp_path: Path) -> None:
    release, path = made(), tmp_path / "asked.csv"
    pl.DataFrame({"id": [1, 2], "items": ["milk", "milk,bread"]}).write_csv(path)
    many = release.questions()["count"].many
    assert many is not None
    found = many(str(path))
    answered = ["count", "error", "covers", "low", "high", "range", "rests_on", "caveats"]
    assert found.columns == ["id", "items", *answered]
    assert found["count"].to_list() == [release.count("milk").value, release.count("milk,bread").value]


# --- synthetic sets ---


@pytest.mark.parametrize("layout", ["", ", separator: ';'"])
def test_as_many_sets_as_there_are_are_exactly_the_released_ones(layout: str) -> None:
    text = GOODS % layout
    rows = [row.replace(" ", ";") for row in ROWS] if layout else ROWS
    release = penstock.release(pl.DataFrame({"basket": rows}), Schema.from_yaml(text), epsilon=2, seed=4)
    assert isinstance(release, ItemSetsRelease)
    drawn = release.sample(seed=1).group_by("basket").len()
    assert drawn["len"].sum() == release.size
    separator = ";" if layout else " "
    found = {row["items"].replace(",", separator): row["count"] for row in release.compact().to_dicts()}
    assert {name: count for name, count in drawn.iter_rows() if name} == found


def test_different_sets_are_written_once_each(tmp_path: Path) -> None:
    release, path = made(), tmp_path / "sets.csv"
    release.questions()["compact"].ask(str(path))
    assert pl.read_csv(path).equals(release.compact())
    with pytest.raises(QueryError, match="cannot be written"):
        release.questions()["compact"].ask(str(tmp_path / "none" / "sets.csv"))


def test_rows_of_items_come_back_as_rows_of_items() -> None:
    schema = Schema.from_yaml(
        "kind: itemsets\nitems: {item: product, transaction: basket}\n"
        "fields: [{name: product, constraints: {enum: [whole milk, tea]}}]"
    )
    frame = pl.DataFrame({"basket": [i // 2 for i in range(800)], "product": ["whole milk", "tea"] * 400})
    release = penstock.release(frame, schema, epsilon=2, seed=1)
    rows = release.sample(50, seed=1)
    assert rows.columns == ["basket", "product"]
    assert rows["basket"].n_unique() == 50


def test_rows_of_items_are_the_released_sets_although_some_have_none() -> None:
    """Sets without an item have no row; those that have one come as often as they were released."""
    schema = Schema.from_yaml(
        "kind: itemsets\nitems: {item: product, transaction: basket}\n"
        "fields: [{name: product, constraints: {enum: [milk, tea]}}]"
    )
    frame = pl.DataFrame({"basket": [i // 2 for i in range(800)], "product": ["milk", "tea"] * 400})
    made = penstock.release(frame, schema, epsilon=2, method="diffpart", seed=1)
    assert isinstance(made, SetsRelease)
    release = replace(made, empty=30)
    drawn = release.sample(seed=1).group_by("basket").agg(pl.col("product").cast(pl.String).sort())
    found = drawn["product"].list.join(",").value_counts(name="count").sort("product").rows()
    assert found == release.compact().select("items", "count").sort("items").rows()


def test_where_nothing_was_found_sets_are_still_drawn_and_the_release_says_so() -> None:
    schema = Schema.from_yaml(GOODS % "")
    frame, parameters = pl.DataFrame({"basket": ["tea"]}), {"c1": 100}
    release = penstock.release(frame, schema, epsilon=1, method="diffpart", parameters=parameters, seed=2)
    assert release.sample(5, seed=1).height == 5
    assert any("No set of items" in text for text in release.remarks())


# --- every set counted ---


def test_all_counts_have_the_noise_that_they_say() -> None:
    """The variance of an answer about q of 4 items is 2^(4 - q) 2a/(1 - a)^2; within five deviations."""
    schema = Schema.from_yaml(GOODS % "")
    frame, runs = pl.DataFrame({"basket": ROWS}), 300
    values = []
    for seed in range(runs):
        release = penstock.release(frame, schema, epsilon=1, method="set-histogram", seed=seed)
        assert isinstance(release, ItemSetsRelease)
        values.append([release.count("milk").value, release.count("milk,bread").value])
    a = np.exp(-1.0)
    each = 2 * a / (1 - a) ** 2
    for place, (truth, cells) in enumerate([(700, 8), (300, 4)]):
        found = np.array(values)[:, place]
        assert abs(found.mean() - truth) < 5 * np.sqrt(cells * each / runs)
        assert abs(found.var() / (cells * each) - 1) < 5 * np.sqrt(3 / runs)


def test_cut_off_counts_are_too_large_and_have_no_error_bar() -> None:
    schema = Schema.from_yaml(GOODS % "")
    frame = pl.DataFrame({"basket": ["tea"] * 3})
    cut = penstock.release(
        frame, schema, epsilon="1/10", method="set-histogram", parameters={"negative": "cut"}, seed=1
    )
    assert isinstance(cut, ItemSetsRelease)
    assert cut.number.error is None
    assert cut.number.value > 20


def test_a_universe_that_is_too_large_is_refused() -> None:
    labels = ", ".join(f"i{n}" for n in range(21))
    schema = Schema.from_yaml(
        f"kind: itemsets\nitems: {{item: s}}\nfields: [{{name: s, constraints: {{enum: [{labels}]}}}}]"
    )
    with pytest.raises(SchemaError, match="up to 20 items"):
        SetHistogram().check(schema)


@given(st.lists(st.integers(-3, 6), min_size=16, max_size=16), st.integers(1, 12), st.integers(1, 3))
def test_frequent_sets_of_a_table_of_all_sets_are_those_that_mining_finds(
    counts: list[int], many: int, smallest: int
) -> None:
    """Ties to the smaller, then to smaller codes, as where sets are searched."""
    release = replace(made("set-histogram"), counts=np.array(counts))
    for largest in (None, smallest, smallest + 1):
        found = release.frequent(many, smallest=smallest, largest=largest)
        assert found == frequent(release.synthetic, 4, many, smallest=smallest, largest=largest)


def test_the_report_of_a_table_of_all_sets_searches_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are half a million of them over twenty items, and each search goes through most."""

    def searched(*_: object) -> None:
        raise AssertionError

    release = made("set-histogram")
    monkeypatch.setattr(WeightedSets, "weights_of_items", searched)
    assert "Most frequent pairs" in release.report()


# --- evaluation and loading ---


@pytest.mark.parametrize("method", [None, "diffpart", "set-histogram"])
def test_releases_are_compared_with_floor_and_ceiling(method: str | None) -> None:
    found = evaluate(made(method), pl.DataFrame({"basket": ROWS}), queries=20)
    names = [score.name for score in found.scores]
    assert len([name for name in names if name.startswith("sets up to")]) == 5
    assert "top 10 sets of items" in names
    assert "sizes" in names
    top = next(score for score in found.scores if score.name == "top 10 sets of items")
    assert top.floor == 0
    assert top.ceiling > 0.8
    assert found.rows == len(ROWS)


@pytest.mark.parametrize("change", ["size", "count", "order", "item"])
def test_impossible_sets_are_not_loaded(change: str) -> None:
    release = made("diffpart")
    tables = dict(release.model().tables)
    if change in ("size", "count"):
        tables["sets"] = tables["sets"].with_columns(pl.lit(0, pl.Int64).alias(change))
    elif change == "order":
        tables["items"] = tables["items"].reverse()
    else:
        tables["items"] = tables["items"].with_columns(pl.col("item") + 100)
    manifest = Manifest(release.method, release.schema, release.receipt, release.parameters)
    with pytest.raises(ReleaseError):
        type(release).from_model(manifest, Model(release.model().json, tables))


@pytest.mark.parametrize(
    "method",
    [info.name for info in catalogue.methods("itemsets", role="method") if info.answer == "synthetic data"],
)
def test_no_synthetic_set_has_more_items_than_the_schema_allows(method: str) -> None:
    """Noise finds a few that do, and the schema tells that they cannot be."""
    schema = Schema.from_yaml(
        "kind: itemsets\nitems: {item: product, largest: 3}\n"
        "fields: [{name: product, constraints: {enum: [a, b, c, d, e, f, g, h]}}]"
    )
    rng = np.random.default_rng(0)
    rows = [" ".join(np.array(list("abcdefgh"))[held]) or "a" for held in rng.random((600, 8)) < 0.45]
    made = penstock.release(pl.DataFrame({"product": rows}), schema, epsilon=1, method=method, seed=1)
    drawn = made.sample(400, seed=1).to_series().cast(pl.String).str.split(" ").list.len()
    assert drawn.max() == 3


def test_the_truth_of_an_evaluation_has_all_items_of_large_sets() -> None:
    """A bound of the schema is a loss of the release, and chance decides what it leaves out."""
    schema = Schema.from_yaml(GOODS % ", largest: 1")
    frame = pl.DataFrame({"basket": ["milk bread"] * 500 + ["tea"] * 500})
    release = penstock.release(frame, schema, epsilon=20, method="set-histogram", seed=1)
    sizes = [
        next(score for score in evaluate(release, frame).scores if score.name == "sizes").value
        for _ in range(2)
    ]
    assert sizes[0] == sizes[1]
    assert sizes[0] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("name", ["sets.dat", "sets.txt", "sets.parquet"])
def test_synthetic_lines_are_read_again_with_the_same_schema(name: str, tmp_path: Path) -> None:
    """No names above the sets, and an empty line for a set without items."""
    original = tmp_path / "goods.dat"
    original.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    schema = Schema.from_yaml(GOODS % ", header: false")
    made = penstock.release(original, schema, epsilon=2, seed=4)
    rows, path = made.sample(seed=1), tmp_path / name
    if name.endswith("parquet"):
        rows.write_parquet(path)
    else:
        made.files()[path.suffix](rows, path)
        assert path.read_text(encoding="utf-8").count("\n") == made.size
    again = penstock.release(path, schema, epsilon=20, method="set-histogram", seed=1)
    assert abs(again.number.value - made.size) < 20
    assert abs(again.without_items - made.without_items) < 10
