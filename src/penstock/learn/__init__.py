"""Analyses of existing kinds of data: the answer to one question instead of a model of the records.

Those that scikit-learn has a form for are also its estimators: ``from penstock.learn import PrivateKMeans``.
They are loaded when they are first asked for. `trained_on` makes a classifier of a release of a whole table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.kinds.table.synthetic import trained_on as trained_on
    from penstock.learn.aggregate.estimator import SampleAndAggregate as SampleAndAggregate
    from penstock.learn.classification.estimators import PrivateDecisionTree as PrivateDecisionTree
    from penstock.learn.classification.estimators import PrivateOneVsRest as PrivateOneVsRest
    from penstock.learn.classification.estimators import PrivPfCClassifier as PrivPfCClassifier
    from penstock.learn.clusters.estimator import PrivateKMeans as PrivateKMeans
    from penstock.learn.gaussian.estimator import PrivateGaussianRegression as PrivateGaussianRegression
    from penstock.learn.gaussian.estimator import PrivatePosteriorRegression as PrivatePosteriorRegression
    from penstock.learn.gibbs.estimators import PrivateGibbs as PrivateGibbs
    from penstock.learn.gibbs.estimators import PrivateGibbsRule as PrivateGibbsRule
    from penstock.learn.linear.estimators import PrivateLinearRegression as PrivateLinearRegression
    from penstock.learn.linear.estimators import PrivateLinearSVM as PrivateLinearSVM
    from penstock.learn.linear.estimators import PrivateLogisticRegression as PrivateLogisticRegression
    from penstock.learn.search.estimators import PrivateSearchClassifier as PrivateSearchClassifier
    from penstock.learn.search.estimators import PrivateSearchRegressor as PrivateSearchRegressor

__all__ = [
    "PrivPfCClassifier",
    "PrivateDecisionTree",
    "PrivateGaussianRegression",
    "PrivateGibbs",
    "PrivateGibbsRule",
    "PrivateKMeans",
    "PrivateLinearRegression",
    "PrivateLinearSVM",
    "PrivateLogisticRegression",
    "PrivateOneVsRest",
    "PrivatePosteriorRegression",
    "PrivateSearchClassifier",
    "PrivateSearchRegressor",
    "SampleAndAggregate",
    "trained_on",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'penstock.learn' has no attribute '{name}'")
    if name == "PrivateKMeans":
        from penstock.learn.clusters.estimator import PrivateKMeans

        return PrivateKMeans
    if name == "trained_on":
        from penstock.kinds.table.synthetic import trained_on

        return trained_on
    if name in ("PrivateGaussianRegression", "PrivatePosteriorRegression"):
        from penstock.learn.gaussian.estimator import PrivateGaussianRegression, PrivatePosteriorRegression

        return PrivateGaussianRegression if "Gaussian" in name else PrivatePosteriorRegression
    if name.startswith("PrivateGibbs"):
        from penstock.learn.gibbs.estimators import PrivateGibbs, PrivateGibbsRule

        return PrivateGibbs if name == "PrivateGibbs" else PrivateGibbsRule
    if name.startswith("PrivateL"):
        from penstock.learn.linear.estimators import (
            PrivateLinearRegression,
            PrivateLinearSVM,
            PrivateLogisticRegression,
        )

        linear = (PrivateLinearRegression, PrivateLinearSVM, PrivateLogisticRegression)
        return {estimator.__name__: estimator for estimator in linear}[name]
    if name == "SampleAndAggregate":
        from penstock.learn.aggregate.estimator import SampleAndAggregate

        return SampleAndAggregate
    if name in ("PrivateSearchClassifier", "PrivateSearchRegressor"):
        from penstock.learn.search.estimators import PrivateSearchClassifier, PrivateSearchRegressor

        return PrivateSearchClassifier if name == "PrivateSearchClassifier" else PrivateSearchRegressor
    from penstock.learn.classification.estimators import (
        PrivateDecisionTree,
        PrivateOneVsRest,
        PrivPfCClassifier,
    )

    found = (PrivPfCClassifier, PrivateDecisionTree, PrivateOneVsRest)
    return {estimator.__name__: estimator for estimator in found}[name]
