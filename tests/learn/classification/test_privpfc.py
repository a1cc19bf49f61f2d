"""PrivPfC end to end: what it pays, what comes out, and what can be made of it."""

from __future__ import annotations

from fractions import Fraction
from math import sinh, tanh
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import penstock
from penstock.errors import DataError, PenstockError, UsageError
from penstock.evaluation import evaluate
from penstock.kinds.table.data import Table
from penstock.learn.classification.cells import CellsRelease, counted
from penstock.learn.classification.partition import Groups, Partition
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Release
from penstock.schema import Schema

SCHEMA = Schema.from_yaml(
    """
target: rich
fields:
  - {name: school, taxonomy: [{low: [none, some]}, {high: [college, doctor]}]}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 79}, bins: {count: 8}}
  - {name: eyes, constraints: {enum: [blue, brown, green]}}
  - {name: rich, constraints: {enum: ['no', 'yes', 'very']}}
"""
)


def people(rows: int = 3000) -> pl.DataFrame:
    """Who has been to college is rich, and very rich above 40; eyes say nothing. A tenth is by chance."""
    rng = np.random.default_rng(4)
    school, age = rng.integers(4, size=rows), rng.integers(80, size=rows)
    rich = np.where(school >= 2, np.where(age > 39, 2, 1), 0)
    rich = np.where(rng.random(rows) < 0.1, rng.integers(3, size=rows), rich)
    return pl.DataFrame(
        {
            "school": np.array(["none", "some", "college", "doctor"])[school],
            "age": age,
            "eyes": np.array(["blue", "brown", "green"])[rng.integers(3, size=rows)],
            "rich": np.array(["no", "yes", "very"])[rich],
        }
    )


def made(epsilon: str = "1", schema: Schema = SCHEMA, **parameters: object) -> CellsRelease:
    release = penstock.release(
        people(), schema, epsilon=epsilon, method="privpfc", parameters=parameters, seed=3
    )
    assert isinstance(release, CellsRelease)
    return release


def paid(release: Release) -> list[Fraction]:
    """What every charge on the receipt cost, in their order."""
    return [charge.epsilon for _, charge in release.receipt.charges()]


@pytest.fixture(scope="module")
def release() -> CellsRelease:
    return made()


NEW = pl.DataFrame({"school": ["doctor", "college", "none"], "age": [70, 20, 50], "eyes": ["blue"] * 3})


def test_it_finds_the_columns_that_matter_and_predicts_by_them(release: CellsRelease) -> None:
    assert set(release.features) == {"school", "age"}
    told = release.predict(NEW)
    assert told.columns == ["rich", "p(no)", "p(yes)", "p(very)"]
    assert told["rich"].to_list() == ["very", "yes", "no"]
    assert told.select(pl.sum_horizontal(pl.exclude("rich"))).to_series().to_list() == pytest.approx([1] * 3)


def test_the_budget_is_split_as_published(release: CellsRelease) -> None:
    assert paid(release) == [Fraction(3, 100), Fraction(37, 100), Fraction(60, 100)]
    assert release.number is not None


def test_a_public_number_of_records_is_not_paid_for() -> None:
    facts = SCHEMA.model_dump(by_alias=True, exclude_defaults=True)
    known = made(schema=Schema.model_validate({**facts, "size": 3000}))
    assert known.number is None
    assert known.total == 3000
    assert paid(known) == [Fraction(37, 100), Fraction(63, 100)]


def test_columns_can_be_chosen_first() -> None:
    few = made("4", features=1)
    assert few.features in (("school",), ("age",))
    assert len(paid(few)) == 4


def test_further_passes_share_what_the_choice_costs_and_add_columns_that_the_list_left_out() -> None:
    once, twice = (made("8", most_grids=5, search="first", passes=passes) for passes in (1, 3))
    assert paid(twice) == [Fraction(24, 100), *[Fraction(296, 300)] * 3, Fraction(480, 100)]
    assert len(once.features) < len(twice.features) == 2
    assert [charge.label for _, charge in twice.receipt.charges()][1:4] == [
        "choice of a grid",
        "choice of a grid, pass 2",
        "choice of a grid, pass 3",
    ]


def test_a_second_pass_is_made_where_its_noise_is_small_beside_the_records() -> None:
    """Two choices cost 2 log(most_grids) / (share of epsilon) records, of which there are 3,000."""
    assert [len(paid(made(epsilon, passes=None))) for epsilon in ("1/10", "8")] == [3, 4]
    assert len(paid(made("1/100", ratio="1/1000", passes=None))) == 2


def test_finest_levels_are_enough_where_records_are_many() -> None:
    fine = made("8", levels="finest")
    assert set(fine.features) >= {"school", "age"}
    assert fine.parameters["levels"] == "finest"


def test_too_few_records_for_two_cells_leave_one_and_all_of_the_budget_for_it() -> None:
    root = made("1/100", ratio="1/1000")
    assert root.features == ()
    assert root.counts.shape == (1, 3)
    assert paid(root) == [
        Fraction(3, 10_000),
        Fraction(97, 10_000),
    ]
    assert root.predict(NEW)["rich"].n_unique() == 1


def test_the_order_of_columns_decides_where_the_list_of_grids_is_cut_short() -> None:
    first = made("8", most_grids=4, search="first")
    assert first.features == ("school",)
    found = {made("8", most_grids=4, search="first", shuffle=seed).features for seed in range(4)}
    assert ("age",) in found


def test_shares_that_leave_nothing_for_counts_are_refused() -> None:
    with pytest.raises(UsageError, match="leave nothing for the counts"):
        made(size_share="1/2", choice_share="1/2")


def test_a_row_without_a_known_value_has_no_answer_and_a_missing_column_is_named(
    release: CellsRelease,
) -> None:
    odd = NEW.with_columns(school=pl.Series(["doctor", "kindergarten", "none"]))
    assert release.predict(odd)["rich"].to_list() == ["very", None, "no"]
    with pytest.raises(DataError, match="lack school"):
        release.predict(NEW.drop("school"))
    assert release.predict(NEW.drop("eyes").head(0)).height == 0


def test_cells_without_records_have_the_overall_shares_and_ties_go_to_the_more_frequent() -> None:
    cells = Partition((Groups("eyes", np.array([0, 1, 2]), ("blue", "brown", "green")),))
    base = made()
    told = CellsRelease(
        method="privpfc",
        schema=SCHEMA,
        receipt=base.receipt,
        total=9.0,
        target="rich",
        partition=cells,
        counts=np.array([[-5, 0, -1], [2, 2, 0], [1, 3, 2]]),
        number=None,
        deviation=1.0,
    )
    answers = told.predict(pl.DataFrame({"eyes": ["blue", "brown", "green"]}))
    assert answers["rich"].to_list() == ["yes", "yes", "yes"]
    assert answers["p(yes)"][0] == pytest.approx((5 + 1) / (10 + 3))


def test_a_saved_release_predicts_the_same(release: CellsRelease, tmp_path: Path) -> None:
    again = penstock.load(release.save(tmp_path / "folder"))
    assert isinstance(again, CellsRelease)
    assert again.predict(NEW).equals(release.predict(NEW))
    assert again.training_table().equals(release.training_table())


# --- training ---


def test_weights_teach_the_same_as_rows_that_are_repeated(release: CellsRelease) -> None:
    table = release.training_table()
    assert table.columns == ["school", "age", "eyes", "rich", "weight"]
    assert table["eyes"].unique().to_list() == ["Any"]
    assert set(table["school"]) <= {"low", "high", "none", "some", "college", "doctor"}
    repeated = release.replicated_table()
    assert repeated.height == table["weight"].sum()
    predictors = ["school", "age", "eyes"]
    encoded = [frame.select(predictors).to_dummies().to_numpy() for frame in (table, repeated)]
    weighted = DecisionTreeClassifier(random_state=0).fit(
        encoded[0], table["rich"].to_numpy(), sample_weight=table["weight"].to_numpy()
    )
    plain = DecisionTreeClassifier(random_state=0).fit(encoded[1], repeated["rich"].to_numpy())
    assert (weighted.predict(encoded[0]) == plain.predict(encoded[0])).all()


def test_classifiers_of_scikit_learn_are_trained_on_it(release: CellsRelease) -> None:
    for learner in (
        DecisionTreeClassifier(random_state=0),
        LogisticRegression(),
        LinearDiscriminantAnalysis(),  # takes no weights
    ):
        assert release.trained(learner).predict(NEW)["rich"].to_list() == ["very", "yes", "no"]


def test_where_there_is_nothing_to_learn_every_row_gets_the_likeliest_label() -> None:
    root = made("1/100", ratio="1/1000")
    told = root.trained(LogisticRegression()).predict(NEW)
    assert told.equals(root.predict(NEW))


def test_synthetic_rows_have_what_the_cells_know(release: CellsRelease) -> None:
    rows = release.sample(4000, seed=1)
    answers = release.predict(rows)["rich"]
    assert (answers == rows["rich"]).mean() > 0.75
    assert rows["eyes"].value_counts()["count"].min() > 1200


# --- noise ---


def test_counts_are_unbiased_until_negative_ones_are_cut_off() -> None:
    """Of a count of 0 the cut-off mean is 1/(2 sinh epsilon); 20,000 draws miss it by 0.1 once in 10^9."""
    epsilon = 0.6
    drawn = LaplaceAround(np.zeros(20_000, dtype=np.int64), Fraction(10, 6)).draw(Randomness.seeded(2))
    noisy = np.asarray(drawn, dtype=np.float64)
    assert abs(noisy.mean()) < 0.12
    assert np.maximum(noisy, 0).mean() == pytest.approx(1 / (2 * sinh(epsilon)), abs=0.1)


def test_every_cell_of_a_histogram_has_noise_whether_a_record_is_in_it_or_not() -> None:
    """One release of 2,000 counts, of which 1,999 are of nothing.

    Their mean has a deviation of 0.06 around 0, and of the share of zeros, (1-a)/(1+a), 0.01: both bounds are
    five deviations and more away.
    """
    values = [f"v{number}" for number in range(1000)]
    schema = Schema.model_validate(
        {
            "fields": [
                {"name": "which", "constraints": {"enum": values}},
                {"name": "label", "type": "boolean"},
            ]
        }
    )
    table = Table.open(pl.DataFrame({"which": ["v0"] * 500, "label": [True] * 500}), schema)
    cells = Partition((Groups("which", np.arange(1000), tuple(values)),))
    budget = Budget("3/5", randomness=Randomness.seeded(8))
    found = counted("privpfc", table, "label", cells, budget, parameters={}).counts
    assert found.shape == (1000, 2)
    full = int(table.schema.codec("label").locate(pl.Series([True]))[0])
    assert found[0, full] == pytest.approx(500, abs=40)
    empty = np.delete(found.ravel(), full).astype(np.float64)
    assert abs(empty.mean()) < 0.3
    assert np.maximum(empty, 0).mean() == pytest.approx(1 / (2 * sinh(0.6)), abs=0.25)
    assert (empty == 0).mean() == pytest.approx(tanh(0.3), abs=0.06)


# --- evaluation and report ---


def test_an_evaluation_shows_confusion_and_stands_between_floor_and_ceiling(release: CellsRelease) -> None:
    found = evaluate(release, people())
    score = found.score("predicting rich")
    assert score.floor < score.value <= score.ceiling + 0.02
    own = found.score("its parts, without noise")
    assert own.value <= own.ceiling
    assert np.array(found.details["confusion"]).sum() == 3000
    assert "Which label is taken for which" in found.report()


def test_the_report_shows_features_labels_and_a_tree(release: CellsRelease) -> None:
    titles = [picture.title for picture in release.pictures()]
    assert titles[0] == "rich: how often each label occurs"
    assert "What each column adds" in titles
    assert "school and rich" in titles
    assert "school and age together" in titles
    assert titles[-1] == "rich as a small tree"
    pictures = {picture.title: picture for picture in release.pictures()}
    assert sum(row[1] for row in pictures[titles[0]].rows) == release.counts.sum()
    drawn = [row[0] for row in pictures["rich as a small tree"].rows]
    assert any(label.startswith("school ") and "→" in label for label in drawn)
    assert "penstock predict my-release new.csv" in release.report()


def test_a_target_must_be_named() -> None:
    facts = SCHEMA.model_dump(by_alias=True, exclude_defaults=True)
    facts.pop("target")
    with pytest.raises(PenstockError, match="Say which column is to be predicted"):
        made(schema=Schema.model_validate(facts))


def test_a_second_choice_is_paid_for_by_what_the_counts_leave_over() -> None:
    """The first keeps its whole part, the second takes half of what is left over, and all is the budget."""
    release = made(passes=2, paid_by="left-over")
    parts = {charge.label: charge.epsilon for _, charge in release.receipt.charges()}
    assert parts["choice of a grid"] == Fraction(37, 100)
    assert 0 < parts["choice of a grid, pass 2"] <= Fraction(3, 10)
    assert parts["counts"] == Fraction(6, 10) - parts["choice of a grid, pass 2"]
    assert sum(parts.values()) == release.receipt.epsilon == 1
    one = made()
    assert {charge.label: charge.epsilon for _, charge in one.receipt.charges()}["counts"] == Fraction(6, 10)


def test_without_anything_left_over_there_is_no_second_choice() -> None:
    """A single cell is all that noise allows, and has no neighbours to choose from."""
    release = made(epsilon="0.001", passes=3, paid_by="left-over")
    assert [charge.label for _, charge in release.receipt.charges()] == ["number of records", "counts"]
    assert release.receipt.epsilon == Fraction(1, 1000)


@pytest.mark.parametrize("levels", ["all", "finest", "even"])
@pytest.mark.parametrize("search", ["first", "beam"])
def test_every_list_finds_what_tells_the_labels_apart(levels: str, search: str) -> None:
    release = made(levels=levels, search=search, passes=2, paid_by="left-over", epsilon="4")
    assert {"school", "age"} <= set(release.partition.names)
