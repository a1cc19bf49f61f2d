"""Classifiers trained on synthetic rows: what they learn, and that they read the release alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import penstock
from penstock.errors import DataError, UsageError
from penstock.kinds.table.release import TableRelease
from penstock.learn import trained_on
from penstock.schema import Schema

SCHEMA = Schema.from_yaml(
    """
target: kind
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 79}, bins: {count: 4}}
  - {name: smoker, type: boolean}
  - {name: kind, constraints: {enum: [a, b, c]}}
"""
)


@pytest.fixture(scope="module")
def made() -> TableRelease:
    """Everybody above forty is of kind b, smokers below it of kind c, and the others of kind a."""
    rng = np.random.default_rng(1)
    ages, smokes = rng.integers(0, 80, 4000), rng.random(4000) < 0.5
    kinds = np.where(ages >= 40, "b", np.where(smokes, "c", "a"))
    frame = pl.DataFrame({"age": ages, "smoker": smokes, "kind": kinds})
    found = penstock.release(frame, SCHEMA, epsilon=10, seed=1)
    assert isinstance(found, TableRelease)
    return found


NEW = pl.DataFrame({"smoker": [True, False, True, None], "age": [70, 10, 10, 10], "name": ["x"] * 4})


@pytest.mark.parametrize("estimator", [None, LogisticRegression(C=10.0), LinearSVC()])
def test_any_learner_learns_what_the_synthetic_rows_say(made: TableRelease, estimator: object) -> None:
    found = trained_on(made, estimator, rows=4000).predict(NEW)
    assert found.columns == ["kind", "p(a)", "p(b)", "p(c)"]
    assert found["kind"].to_list() == ["b", "a", "c", None]
    assert np.allclose(found.head(3).drop("kind").to_numpy().sum(axis=1), 1.0)


def test_training_is_repeatable_and_the_target_may_be_another_column(made: TableRelease) -> None:
    one, two = (trained_on(made, rows=500, seed=3).predict(NEW) for _ in range(2))
    assert one.equals(two)
    other = trained_on(made, target="smoker", rows=4000)
    assert other.predict(pl.DataFrame({"age": [10], "kind": ["c"]}))["smoker"].to_list() == [True]
    assert other.predictors == ("age", "kind")


def test_only_one_label_is_the_answer_for_everybody() -> None:
    schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    frame = pl.DataFrame({"smoker": [True, False] * 500, "coughs": [True] * 1000})
    release = penstock.release(frame, schema, epsilon=50, seed=1)
    assert isinstance(release, TableRelease)
    found = trained_on(release, target="coughs", rows=50).predict(pl.DataFrame({"smoker": [False]}))
    assert found["coughs"].to_list() == [True]


def test_mistakes_are_told_in_a_sentence(made: TableRelease) -> None:
    with pytest.raises(DataError, match="lack the column age"):
        trained_on(made, rows=100).predict(pl.DataFrame({"smoker": [True]}))
    for words, given in (
        ("range", {"target": "age"}),
        ("rows must be", {"rows": 0}),
        ("not 'z'", {"target": "z"}),
    ):
        with pytest.raises(UsageError, match=words):
            trained_on(made, **given)  # type: ignore[arg-type]
    grid = penstock.release(
        pl.DataFrame({"age": [1, 2], "smoker": [True, False], "kind": ["a", "b"]}), SCHEMA, epsilon=1,
        method="privpfc", seed=1,
    )  # fmt: skip
    with pytest.raises(UsageError, match="a classifier itself"):
        trained_on(grid)  # type: ignore[arg-type]
