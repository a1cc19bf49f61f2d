"""Analyses of existing kinds of data: the answer to one question instead of a model of the records.

Those that scikit-learn has a form for are also its estimators: ``from penstock.learn import PrivateKMeans``.
They are loaded when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.learn.classification.estimators import PrivateDecisionTree as PrivateDecisionTree
    from penstock.learn.classification.estimators import PrivateOneVsRest as PrivateOneVsRest
    from penstock.learn.classification.estimators import PrivPfCClassifier as PrivPfCClassifier
    from penstock.learn.clusters.estimator import PrivateKMeans as PrivateKMeans

__all__ = ["PrivPfCClassifier", "PrivateDecisionTree", "PrivateKMeans", "PrivateOneVsRest"]

_PLACES = (
    "penstock.learn.classification.estimators:PrivPfCClassifier",
    "penstock.learn.classification.estimators:PrivateDecisionTree",
    "penstock.learn.classification.estimators:PrivateOneVsRest",
    "penstock.learn.clusters.estimator:PrivateKMeans",
)


def __getattr__(name: str) -> Any:
    for place in _PLACES:
        module, _, known = place.partition(":")
        if known == name:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'penstock.learn' has no attribute '{name}'")
