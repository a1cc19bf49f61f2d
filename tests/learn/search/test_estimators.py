"""Searches keep scikit-learn's manners, and privacy's."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from penstock.errors import UsageError
from penstock.learn import PrivateSearchClassifier, PrivateSearchRegressor

DECLARED = "labels are public facts: those of this check are not declared, and are not read off y"
NOT_FOR_US = {
    "check_dtype_object": DECLARED,
    "check_classifiers_classes": DECLARED,
    "check_classifiers_train": "asks for a score for each label that occurs; there is one for each that is "
    "declared, whether it occurs or not",
}
"""The checks of scikit-learn that privacy makes impossible, and why."""
ROWS = np.random.default_rng(0).uniform(-1, 1, (3000, 2))


@pytest.mark.parametrize(
    ("model", "forbidden"),
    [
        (PrivateSearchClassifier(epsilon=100, classes=(0, 1, 2), bounds=(-10, 10), rounds=2), NOT_FOR_US),
        (PrivateSearchRegressor(rounds=2), {}),
    ],
    ids=["labels", "numbers"],
)
def test_scikit_learn_finds_nothing_to_complain_about_but_what_privacy_forbids(
    model: Any, forbidden: dict[str, str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(model, on_fail=None, on_skip=None)
    failed = {one["check_name"] for one in found if one["status"] == "failed"}
    assert failed == set(forbidden)
    assert sum(one["status"] == "passed" for one in found) > 40


@pytest.mark.parametrize("search", ["privlocal", "privgene"])
def test_three_labels_and_a_number_are_learned_for_what_was_paid(search: Any) -> None:
    """With epsilon 100 and 1000 rows the noise of a choice is far below what the choices differ by."""
    rows = ROWS[:1000]
    labels = np.array(["a", "b", "c"])[np.digitize(rows[:, 0], [-0.4, 0.4])]
    model = PrivateSearchClassifier(
        search, classes=("a", "b", "c"), bounds=(-1, 1), epsilon=100, rounds=10, random_state=1
    )
    assert model.fit(rows, labels).predict([[-0.9, 0], [0.9, 0]]).tolist() == ["a", "c"]
    assert model.release_.receipt.epsilon == 100
    assert model.release_.parameters["rounds"] == 10
    numbers = PrivateSearchRegressor(
        search, bounds=(-1, 1), response_bounds=(-1, 1), epsilon=100, rounds=10, random_state=1
    )
    assert numbers.fit(rows, rows[:, 0] / 2).score(rows, rows[:, 0] / 2) > 0.5
    charges = [charge.epsilon for _, charge in numbers.release_.receipt.charges()]
    assert charges == [Fraction(10)] * 10


def test_an_unknown_search_or_loss_is_refused_and_costs_nothing() -> None:
    with pytest.raises(UsageError, match=r"privlocal.*Nothing was spent"):
        PrivateSearchRegressor("best", bounds=(-1, 1), response_bounds=(-1, 1)).fit(ROWS, ROWS[:, 0])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="loss"):
        PrivateSearchClassifier(loss="least", classes=(0, 1), bounds=(-1, 1)).fit(ROWS, ROWS[:, 0] > 0)  # type: ignore[arg-type]
