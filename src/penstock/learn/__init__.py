"""Analyses of existing kinds of data: the answer to one question instead of a model of the records.

Those that scikit-learn has a form for are also its estimators: ``from penstock.learn import PrivateKMeans``.
They are loaded when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.learn.clusters.estimator import PrivateKMeans as PrivateKMeans

__all__ = ["PrivateKMeans"]


def __getattr__(name: str) -> Any:
    if name == "PrivateKMeans":
        from penstock.learn.clusters.estimator import PrivateKMeans

        return PrivateKMeans
    raise AttributeError(f"module 'penstock.learn' has no attribute '{name}'")
