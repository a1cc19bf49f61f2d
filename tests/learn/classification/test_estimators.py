"""Classifiers with scikit-learn's manners, as far as privacy allows."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator
from tests.learn.classification.test_privpfc import NEW, SCHEMA, people

from penstock.errors import LedgerError, PenstockWarning, UsageError
from penstock.learn import PrivateDecisionTree, PrivateOneVsRest, PrivPfCClassifier
from penstock.privacy.ledger.ledger import Ledger

DECLARED = "labels are public facts: those of this check are not declared, and are not read off y"
NOT_FOR_US = {
    "check_dtype_object": DECLARED,
    "check_classifiers_classes": DECLARED,
    "check_classifiers_train": "asks for one probability for each label that occurs; there is one for each "
    "that is declared, whether it occurs or not",
}
"""The checks of scikit-learn that privacy makes impossible, and why."""


@pytest.mark.parametrize("kind", [PrivPfCClassifier, PrivateDecisionTree])
def test_scikit_learn_finds_nothing_to_complain_about_but_what_privacy_forbids(kind: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            kind(epsilon=100, classes=(0, 1, 2), bounds=(-10, 10)), on_fail=None, on_skip=None
        )
    failed = {one["check_name"] for one in found if one["status"] == "failed"}
    assert failed == set(NOT_FOR_US)
    assert sum(one["status"] == "passed" for one in found) > 40


def rows(many: int = 3000) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x = np.random.default_rng(1).uniform(0, 10, (many, 3))
    return x, np.where(x[:, 1] > 5, "up", "down")


def test_what_nobody_declared_is_not_read_off_the_data() -> None:
    x, y = rows()
    with (
        pytest.warns(PenstockWarning, match="No bounds were declared"),
        pytest.raises(UsageError, match="which nobody declared"),
    ):
        PrivPfCClassifier().fit(x, y)
    with pytest.warns(PenstockWarning, match="No labels were declared"):
        PrivPfCClassifier(bounds=(0, 10), random_state=1).fit(x, y == "up")
    with pytest.raises(UsageError, match="at least two"):
        PrivPfCClassifier(bounds=(0, 10), classes=("up",)).fit(x, y)


def test_it_works_in_a_pipeline_is_cloned_and_trains_what_it_is_given() -> None:
    x, y = rows()
    model = PrivPfCClassifier(
        LogisticRegression(), classes=("down", "up", "sideways"), bounds=(0, 1), random_state=2
    )
    again = clone(model)
    assert again.get_params()["estimator__C"] == 1.0
    fitted = make_pipeline(MinMaxScaler(), again).fit(x, y)
    assert fitted.score(x, y) > 0.9
    assert fitted.predict_proba(x[:5]).shape == (5, 3)
    assert again.classes_.tolist() == ["down", "sideways", "up"]


@pytest.mark.parametrize(
    ("model", "tried"),
    [
        (PrivPfCClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0], "epsilon": [0.001, 1]}),
        (PrivateDecisionTree(), {"max_depth": [0, 3]}),
    ],
)
def test_it_is_searched_over_its_own_parameters_and_those_of_what_it_trains(
    model: Any, tried: dict[str, list[Any]]
) -> None:
    x, y = rows(1200)
    given = clone(model).set_params(classes=("down", "up"), bounds=(0, 10), random_state=1)
    search = GridSearchCV(given, tried, cv=2).fit(x, y)
    assert search.best_score_ > 0.9
    assert search.best_params_.get("epsilon", search.best_params_.get("max_depth")) in (1, 3)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(x) == search.predict(x)).all()


def test_a_schema_describes_columns_of_any_type() -> None:
    frame = people()
    model = PrivateDecisionTree(4, epsilon=20, schema=SCHEMA, random_state=1).fit(
        frame.drop("rich"), frame["rich"]
    )
    assert model.predict(NEW).tolist() == ["very", "yes", "no"]
    assert model.predict(NEW.to_pandas()).tolist() == ["very", "yes", "no"]


def test_what_is_spent_is_booked(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.create(path)
    Ledger.open(path).set_limit("rows", 1)
    x, y = rows()
    model = PrivateOneVsRest(
        PrivPfCClassifier(bounds=(0, 10), ledger=str(path), account="rows"), classes=("down", "up", "other")
    )
    model.fit(x, y)
    assert Ledger.open(path).account("rows").balance().left[0] == 0
    assert [one.release_.receipt.epsilon for one in model.estimators_] == [Fraction(1, 3)] * 3
    assert model.predict(x[:20]).tolist() == y[:20].tolist()
    assert model.predict_proba(x[:2]).sum(axis=1) == pytest.approx([1, 1])
    Ledger.open(path).set_limit("rows", "3/2")
    with pytest.raises(LedgerError, match="Nothing was spent"):
        model.fit(x, y)  # two of three labels could be paid for
    assert Ledger.open(path).account("rows").balance().left[0] == Fraction(1, 2)
    with pytest.raises(UsageError, match="the estimator bounds instead"):
        PrivateOneVsRest(PrivPfCClassifier(schema=SCHEMA), classes=("no", "yes", "very")).fit(x, y)
