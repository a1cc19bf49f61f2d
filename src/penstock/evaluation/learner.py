"""The classifier of all evaluations: gradient boosting on codes, the same every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class OneThread:
    """A classifier that learns on one thread: on a busy machine several wait longer than they work."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, known: NDArray[np.float32], classes: NDArray[Any]) -> OneThread:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            self._model.fit(known, classes)
        return self

    def predict_proba(self, asked: NDArray[np.float32]) -> NDArray[np.float64]:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return np.asarray(self._model.predict_proba(asked), dtype=np.float64)


def boosted(categorical: Sequence[bool]) -> OneThread:
    """A gradient boosting classifier of features of which some are categories."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return OneThread(
        HistGradientBoostingClassifier(
            max_iter=40,
            learning_rate=0.2,
            max_leaf_nodes=15,
            early_stopping=False,
            random_state=0,
            categorical_features=list(categorical),
        )
    )
