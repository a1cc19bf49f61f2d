"""Every learner, and every mistake that is easy to make in one: a broken copy that is refuted, or a reason.

Losses are exact, so there is no failure probability.
"""

from __future__ import annotations

from inspect import isclass

import pytest

import penstock.learn
from penstock import catalogue
from penstock.audit.exact import worst
from penstock.audit.mistakes import Mistake, Sabotaged
from penstock.audit.tampering import TAMPERINGS
from penstock.audit.target import Kind, Target
from penstock.audit.targets import every_audit, targets

LEARNERS = [
    info.name for info in catalogue.methods() if info.answer in ("classifier", "predictor", "clusters")
]
COPIES = {learner: row for audits in every_audit() for learner, row in audits.mistakes.items()}
MADE_BY = [getattr(target.loss, "__self__", None) for target in targets()]
SABOTAGED = [made for made in MADE_BY if isinstance(made, Sabotaged)]
BEHIND = {
    "PrivPfCClassifier": {"privpfc"},
    "PrivateDecisionTree": {"diffpc45"},
    "PrivateGaussianRegression": {"gaussian-regression"},
    "PrivateGibbs": {"PrivateGibbs"},
    "PrivateGibbsRule": {"gibbs-rule"},
    "PrivateKMeans": {"kmeans"},
    "PrivateLinearRegression": {"functional-mechanism"},
    "PrivateLinearSVM": {"private-erm", "output-perturbation"},
    "PrivateLogisticRegression": {"private-erm", "output-perturbation", "functional-mechanism"},
    "PrivateOneVsRest": set[str](),  # it looks at no row by itself: each label is learned by what it wraps
    "PrivatePosteriorRegression": {"posterior-regression"},
    "PrivateSearchClassifier": {"privlocal", "privgene"},
    "PrivateSearchRegressor": {"privlocal", "privgene"},
    "SampleAndAggregate": {"SampleAndAggregate"},
}
"""The learners behind every estimator."""
EVERYWHERE = {f"broken-replay-{name}" for name in TAMPERINGS}
"""Made in every method of the catalogue; `tests/conformance/test_replay.py` refutes each."""
NAMED = sorted({copy for row in COPIES.values() for copy in row.values() if copy.startswith("broken-")})


def loss_of(target: Target) -> float:
    """The largest exact loss of a target, for its delta."""
    if target.loss is not None:
        return max(target.loss(pair.first, pair.second) for pair in target.pairs)
    assert target.distribution is not None, f"{target.name} has no exact loss"
    return worst(target.distribution, target.pairs, float(target.promise.delta))[0]


def test_every_learner_of_the_catalogue_has_its_row() -> None:
    assert set(LEARNERS) - set(COPIES) == set()


def test_every_row_answers_for_all_four_mistakes() -> None:
    for learner, row in COPIES.items():
        assert set(row) == set(Mistake), learner
        for answer in row.values():
            assert answer.startswith("broken-") or len(answer.split()) >= 6, (
                f"{learner}: {answer!r} says little"
            )


def test_no_learner_has_only_reasons() -> None:
    for learner, row in COPIES.items():
        assert any(answer.startswith("broken-") for answer in row.values()), learner


def test_every_estimator_of_the_library_is_led_back_to_learners() -> None:
    estimators = {name for name in penstock.learn.__all__ if isclass(getattr(penstock.learn, name))}
    assert estimators == set(BEHIND)
    assert set().union(*BEHIND.values()) <= set(COPIES)
    assert [name for name, behind in BEHIND.items() if not behind] == ["PrivateOneVsRest"]


@pytest.mark.parametrize("name", NAMED)
def test_every_broken_copy_of_the_table_is_refuted_by_an_exact_loss(name: str) -> None:
    (target,) = [one for one in targets() if one.name == name]
    assert target.kind is Kind.BROKEN
    if name not in EVERYWHERE:
        assert loss_of(target) > 1.05 * float(target.promise.epsilon)


@pytest.mark.parametrize("copy", SABOTAGED, ids=lambda copy: copy.name)
def test_without_the_mistake_the_same_records_lose_no_more_than_was_paid(copy: Sabotaged) -> None:
    for pair in copy.pairs():
        assert copy.loss(pair.first, pair.second, sound=True) <= float(copy.epsilon) * (1 + 1e-9)
