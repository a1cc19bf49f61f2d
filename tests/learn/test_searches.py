"""Private estimators inside scikit-learn's tools: every fit is paid for, and the book shows it."""

from __future__ import annotations

import pickle
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from penstock import learn
from penstock.errors import LedgerError, UsageError
from penstock.privacy.ledger.ledger import Ledger

X = np.random.default_rng(0).uniform(0, 10, (120, 2))
NUMBERS, LABELS = X[:, 0] / 10, np.where(X[:, 0] > 5, "up", "down")
BOUNDED: dict[str, Any] = {"bounds": (0, 10), "random_state": 1}
LABELLED: dict[str, Any] = {**BOUNDED, "classes": ("down", "up")}
CLASSIFIERS = [
    learn.PrivPfCClassifier(**LABELLED),
    learn.PrivateDecisionTree(**LABELLED),
    learn.PrivateGibbsRule(**LABELLED),
    learn.PrivateLinearSVM(**LABELLED),
    learn.PrivateLogisticRegression(**LABELLED),
    learn.PrivateSearchClassifier(**LABELLED),
]
REGRESSORS = [
    learn.PrivateGaussianRegression(**BOUNDED, response_bounds=(0, 1)),
    learn.PrivateLinearRegression(**BOUNDED, response_bounds=(0, 1)),
    learn.PrivatePosteriorRegression(**BOUNDED, response_bounds=(0, 1)),
    learn.PrivateSearchRegressor(**BOUNDED, response_bounds=(0, 1)),
]


def named(estimator: Any) -> str:
    return type(estimator).__name__


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger.create(f"sqlite:///{tmp_path / 'book.db'}")
    made.set_limit("people", 6)
    return made


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=named)
def test_in_a_pipeline_it_predicts_what_it_predicts_alone(estimator: Any) -> None:
    """A transformer that learns nothing from the rows; a copy has the same parameters, and the same seed."""
    answers = LABELS if estimator in CLASSIFIERS else NUMBERS
    alone = clone(estimator).fit(X, answers)
    piped = make_pipeline(FunctionTransformer(), clone(estimator)).fit(X, answers)
    assert piped.predict(X[:9]).tolist() == alone.predict(X[:9]).tolist()
    assert np.isfinite(piped.score(X, answers))


def test_a_search_over_parameters_pays_for_every_fit(ledger: Ledger) -> None:
    model = learn.PrivateLogisticRegression(**LABELLED, ledger=ledger, account="people")
    search = GridSearchCV(model, {"ridge": [1, 10]}, cv=2, error_score="raise")
    search.fit(X, LABELS)
    assert len(ledger.account("people").entries()) == 2 * 2 + 1
    assert ledger.account("people").balance().spent[0] == 5


def test_a_search_stops_where_the_account_does(ledger: Ledger) -> None:
    model = learn.PrivateLinearRegression(
        **BOUNDED, response_bounds=(0, 1), ledger=ledger, account="people", epsilon=2
    )
    with pytest.raises(LedgerError, match="Nothing was spent"):
        cross_val_score(model, X, NUMBERS, cv=4, error_score="raise")
    assert ledger.account("people").balance().spent[0] == 6


def test_copies_of_an_estimator_pay_from_the_same_book_and_an_open_one_is_not_written_anywhere(
    ledger: Ledger,
) -> None:
    model = learn.PrivateKMeans(n_clusters=2, bounds=(0, 10), random_state=1, ledger=ledger, account="people")
    assert clone(model).ledger is ledger
    assert copy(ledger) is ledger
    with pytest.raises(LedgerError, match="name its file or its URL"):
        pickle.dumps(model)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_every_classifier_tells_each_label_from_the_rest_for_one_epsilon(estimator: Any) -> None:
    """Also those that have scores and no probabilities, such as a support vector machine."""
    labels = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [3, 7])]
    model = learn.PrivateOneVsRest(clone(estimator), classes=("low", "mid", "high"), epsilon=30).fit(
        X, labels
    )
    assert set(model.predict(X)) <= {"low", "mid", "high"}
    assert sum(one.release_.receipt.epsilon for one in model.estimators_) == 30
    assert hasattr(model, "predict_proba") == hasattr(estimator, "predict_proba")
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_an_account_that_cannot_pay_for_all_labels_pays_for_none(ledger: Ledger) -> None:
    one = learn.PrivateLinearSVM(bounds=(0, 10), random_state=1, ledger=ledger, account="people")
    model = learn.PrivateOneVsRest(one, classes=("low", "mid", "up", "down"), epsilon=7)
    with pytest.raises(LedgerError, match="Nothing was spent"):
        model.fit(X, LABELS)
    assert ledger.account("people").entries() == []


def test_what_is_not_private_is_not_wrapped() -> None:
    with pytest.raises(UsageError, match="LogisticRegression is none"):
        learn.PrivateOneVsRest(LogisticRegression(), classes=("down", "up")).fit(X, LABELS)
