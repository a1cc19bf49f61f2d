"""Gibbs learners as estimators: predictors that are handed over, each row judged by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.learn.linear.test_estimators import NOT_FOR_LABELS, checked

from penstock.audit import exact
from penstock.audit.harness import exact_bound
from penstock.audit.target import Kind, Target
from penstock.errors import UsageError
from penstock.learn import PrivateGibbs, PrivateGibbsRule
from penstock.learn.gibbs.audits import Constant, targets
from penstock.learn.gibbs.handed import ONE, Answered, wrong
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.unit import Relation
from penstock.theory.learning import catoni_from_energy, free_energy

Rows = NDArray[np.float64]


def below(limit: int) -> Any:
    """Wrong on the first so many of rows that are numbered."""
    return lambda rows: rows[:, 0] >= limit


def test_a_draw_follows_the_posterior_of_the_specification() -> None:
    """Risks .1, .2 and .4 of 50 rows at epsilon 1, one row replaced: lambda is 25."""
    rows, truth = np.arange(50.0)[:, None], np.ones(50, dtype=bool)
    sealed = Answered(rows, truth, Relation.REPLACE).right([below(5), below(10), below(20)], wrong)
    assert open_seal(sealed).tolist() == [45 * ONE, 40 * ONE, 30 * ONE]
    drawn = exact.exponential(open_seal(sealed).tolist(), float(1 / sealed.sensitivity.spread))
    found = [float(np.exp(drawn.logs[place])) for place in range(3)]
    assert found == pytest.approx([0.923670, 0.075819, 0.000511], abs=1e-6)


def test_a_bound_is_bought_with_a_share_and_near_the_one_without_noise() -> None:
    rows, truth = np.arange(4000.0)[:, None], np.ones(4000, dtype=bool)
    predictors = [below(400), below(800), below(1600)]
    model = PrivateGibbs(predictors, relation="replace", bound="1/4", random_state=1, epsilon=2)
    model.fit(rows, truth)
    lam = 4000 * 1.5 / 2
    free = free_energy(np.array([0.1, 0.2, 0.4]), lam, np.full(3, 1 / 3))
    assert model.risk_at_most_ == pytest.approx(catoni_from_energy(free, 4000, lam, 0.05), abs=0.03)
    assert model.risk_at_most_ > 0.1
    assert sorted(str(charge.epsilon) for _, charge in model.receipt_.charges()) == ["1/2", "3/2"]
    with pytest.raises(UsageError, match="needs relation='replace'"):
        PrivateGibbs(predictors, bound="1/4").fit(rows, truth)


def test_a_row_moves_every_sum_by_one_at_most_whatever_predictors_do() -> None:
    """Estimators whose answers for many rows are added up in another order than for one, and hostile ones."""
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(60, 5)), rng.integers(2, size=60)

    def screams(rows: Rows) -> Rows:
        print(rows)
        raise ValueError(str(rows))

    def nobody(rows: Rows) -> Rows:
        return np.full(len(rows), np.nan)

    predictors = [
        LogisticRegression().fit(rng.normal(size=(40, 5)), rng.integers(2, size=40)),
        DummyClassifier(strategy="constant", constant=1).fit(rows[:2], [0, 1]),
        screams,
        nobody,
        lambda rows: np.array([np.random.rand() > 0.5]),
        lambda rows: np.zeros(0),
    ]
    whole = open_seal(Answered(rows, truth, Relation.ADD_REMOVE).right(predictors, wrong))
    assert whole[[2, 3, 5]].tolist() == [0, 0, 0], "who fails has lost everything"
    for gone in range(0, 60, 7):
        kept = np.arange(60) != gone
        less = open_seal(Answered(rows[kept], truth[kept], Relation.ADD_REMOVE).right(predictors, wrong))
        assert set((whole - less).tolist()) <= {0, ONE}


def test_losses_of_numbers_are_held_between_0_and_1(capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.linspace(-1, 1, 40)[:, None]
    line = LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0])

    def squared(said: float, true: float) -> float:
        return min(1.0, (said - true) ** 2)

    handed = [line, Constant(0)]
    model = PrivateGibbs(handed, loss=squared, epsilon=5, random_state=1).fit(rows, 2 * rows[:, 0])
    assert model.chosen_ == 0
    assert model.predict([[0.5]]) == pytest.approx([1.0])
    sealed = Answered(rows, rows[:, 0], Relation.ADD_REMOVE).right(handed, lambda said, true: 2.0)
    assert open_seal(sealed).tolist() == [0, 0]
    assert capsys.readouterr().out == ""


def test_a_prior_counts() -> None:
    rows = np.zeros((3, 1))
    drawn = [
        PrivateGibbs([Constant(0)] * 2, prior=[1, 1000], random_state=seed).fit(rows, [0, 0, 0]).chosen_
        for seed in range(20)
    ]
    assert sum(drawn) >= 18


@pytest.mark.parametrize(
    ("wrongly", "words"),
    [
        ({"predictors": []}, "list of 1 to"),
        ({"predictors": [3]}, "fitted estimator or a function"),
        ({"prior": [1, 0]}, "whole number from 1 on"),
        ({"prior": [1]}, "whole number from 1 on"),
        ({"relation": "both"}, "relation must be"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_spent(
    wrongly: dict[str, Any], words: str, tmp_path: Path
) -> None:
    book = tmp_path / "book.db"
    Ledger.create(book)
    Ledger.open(book).set_limit("rows", 1)
    given: dict[str, Any] = {"predictors": [Constant(0), Constant(1)], "ledger": book, "account": "rows"}
    with pytest.raises(UsageError, match=words):
        PrivateGibbs(**{**given, **wrongly}).fit(np.zeros((2, 1)), [0, 1])
    assert Ledger.open(book).account("rows").balance().left[0] == 1
    PrivateGibbs(**given).fit(np.zeros((2, 1)), [0, 1])
    assert Ledger.open(book).account("rows").balance().left[0] == 0


def test_rules_have_an_estimator() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 10, (1500, 3))
    labels = np.where(rows[:, 2] > 5, "up", "down")
    model = clone(PrivateGibbsRule(classes=("down", "up"), bounds=(0, 10), random_state=1)).fit(rows, labels)
    assert model.score(rows, labels) > 0.95
    assert model.release_.method == "gibbs-rule"
    assert model.release_.receipt.epsilon == 1


def test_scikit_learn_finds_nothing_to_complain_about_but_what_privacy_forbids() -> None:
    handed = PrivateGibbs([Constant(0), Constant(1)])
    rule = PrivateGibbsRule(classes=(0, 1, 2), bounds=(-9, 9))
    for model, impossible in ((handed, set()), (rule, set(NOT_FOR_LABELS))):
        failed, passed = checked(model.set_params(epsilon=100))
        assert failed - {"check_decision_proba_consistency"} <= impossible
        assert passed > 35


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_draws_lose_what_they_promise_and_broken_copies_more(target: Target) -> None:
    found = exact_bound(target).epsilon
    assert (found <= 1 + 1e-9) == (target.kind is Kind.SHIPPED)
    if target.kind is Kind.SHIPPED:
        assert found > 0.5
