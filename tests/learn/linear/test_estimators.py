"""Linear predictors with scikit-learn's manners, as far as privacy allows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator

from penstock.errors import PenstockWarning, UsageError
from penstock.learn import PrivateLinearRegression, PrivateLinearSVM, PrivateLogisticRegression
from penstock.schema import Schema

DECLARED = "labels are public facts: those of this check are not declared, and are not read off y"
NOT_FOR_LABELS = {
    "check_dtype_object": DECLARED,
    "check_classifiers_classes": DECLARED,
    "check_classifiers_train": "asks for one score for each label that occurs; there is one for each "
    "that is declared, whether it occurs or not",
}
"""The checks of scikit-learn that privacy makes impossible, and why."""


def checked(model: Any) -> tuple[set[str], int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(model, on_fail=None, on_skip=None)
    failed = {one["check_name"] for one in found if one["status"] == "failed"}
    return failed, sum(one["status"] == "passed" for one in found)


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVM])
def test_scikit_learn_finds_nothing_to_complain_about_labels_but_what_privacy_forbids(kind: Any) -> None:
    failed, passed = checked(kind(epsilon=100, classes=(0, 1, 2), bounds=(-10, 10)))
    # with three labels declared, two that occur have a score each, where one check wants one for both
    assert failed - {"check_decision_proba_consistency"} == set(NOT_FOR_LABELS)
    assert passed > 40


def test_scikit_learn_finds_nothing_to_complain_about_numbers() -> None:
    failed, passed = checked(PrivateLinearRegression(epsilon=100, bounds=(-5, 5), response_bounds=(-5, 5)))
    assert failed == set()
    assert passed > 40


def rows(many: int = 2000) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x = np.random.default_rng(1).uniform(0, 10, (many, 3))
    return x, np.where(x[:, 1] > 5, "up", "down")


def test_what_nobody_declared_is_not_read_off_the_data() -> None:
    x, y = rows(300)
    with (
        pytest.warns(PenstockWarning, match="No bounds were declared"),
        pytest.raises(UsageError, match="which nobody declared"),
    ):
        PrivateLogisticRegression().fit(x, y)
    with pytest.warns(PenstockWarning, match="No bounds were declared"):
        model = PrivateLinearRegression(bounds=(0, 10), random_state=1).fit(x, x[:, 0])
    assert np.abs(model.predict(x)).max() <= 1
    with pytest.raises(UsageError, match="the smaller first"):
        PrivateLinearRegression(bounds=(0, 10), response_bounds=(3, 1)).fit(x, x[:, 0])


def test_they_work_in_pipelines_and_are_cloned() -> None:
    x, y = rows()
    for kind in (PrivateLogisticRegression, PrivateLinearSVM):
        model = clone(kind(classes=("down", "up"), bounds=(0, 1), random_state=2))
        fitted = make_pipeline(MinMaxScaler(), model).fit(x, y)
        assert fitted.score(x, y) > 0.9
    model = clone(PrivateLinearRegression(bounds=(0, 1), response_bounds=(0, 10), epsilon=5, random_state=2))
    assert make_pipeline(MinMaxScaler(), model).fit(x, x[:, 1]).score(x, x[:, 1]) > 0.8


@pytest.mark.parametrize("method", ["output-perturbation", "functional-mechanism"])
def test_other_methods_and_a_paid_choice_of_the_ridge_are_parameters(method: Any) -> None:
    x, y = rows(3000)
    declared: Any = {"classes": ("down", "up"), "bounds": (0, 10), "epsilon": 20, "random_state": 1}
    model = PrivateLogisticRegression(method=method, **declared).fit(x, y)
    assert model.release_.method == method
    assert model.score(x, y) > 0.8
    for kind in (PrivateLogisticRegression, PrivateLinearSVM):
        chosen = kind(ridges=2, **declared).fit(x, y)
        assert [charge.label for _, charge in chosen.release_.receipt.charges()][-1] == "choice"
        assert chosen.release_.receipt.epsilon == 20
    with pytest.raises(UsageError, match="no ridge to choose"):
        PrivateLogisticRegression(method="functional-mechanism", ridges=2, **declared).fit(x, y)
    with pytest.raises(UsageError, match="must be private-erm or output-perturbation"):
        PrivateLinearSVM(method="functional-mechanism", **declared).fit(x, y)


def test_several_labels_are_told_apart_one_against_the_rest() -> None:
    x, _ = rows(4000)
    y = np.digitize(x[:, 0], [3, 7])
    model = PrivateLogisticRegression(classes=(0, 1, 2), bounds=(0, 10), epsilon=5, random_state=1).fit(x, y)
    assert model.decision_function(x[:4]).shape == (4, 3)
    assert model.predict_proba(x[:4]).sum(axis=1) == pytest.approx(np.ones(4))
    assert model.score(x, y) > 0.65
    assert model.release_.receipt.epsilon == 5


def test_a_schema_describes_columns_of_any_type() -> None:
    import polars as pl

    schema = Schema.from_yaml("""
    target: pay
    fields:
      - {name: sex, constraints: {enum: [f, m]}}
      - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, missing: value}
      - {name: pay, type: number, constraints: {minimum: 0, maximum: 10}, bins: {count: 50}}
    """)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"sex": rng.choice(["f", "m"], 3000), "age": rng.integers(0, 99, 3000)})
    model = PrivateLinearRegression(schema=schema, epsilon=5, random_state=1)
    model.fit(frame, frame["age"].to_numpy() / 10)
    told = model.predict(pl.DataFrame({"sex": ["f", "m"], "age": [10, 90]}))
    assert told == pytest.approx([1, 9], abs=1)
    with pytest.raises(UsageError, match="does not know"):
        model.predict(pl.DataFrame({"sex": ["x"], "age": [10]}))
