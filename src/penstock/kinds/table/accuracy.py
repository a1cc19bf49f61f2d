"""Train on synthetic, test on real: does a classifier learn the same from the release?

A classifier is trained on synthetic rows and tested on held-out original rows, beside the same
classifier trained on the other original rows (the ceiling) and the most frequent class (the floor).
The release was made from all rows, held-out ones included; differential privacy is what keeps that
from helping it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.evaluation.metrics import Codes
from penstock.schema import Attribute

MOST_CLASSES = 10
MOST_TARGETS = 3
MOST_TRAINING = 30_000
MOST_TESTING = 15_000
HELD_OUT = 0.25
FEWEST_ROWS = 40


@dataclass(frozen=True)
class Accuracy:
    """Shares of held-out original rows whose class was predicted."""

    target: str
    classes: int
    synthetic: float
    real: float
    majority: float


def choose_targets(attributes: Sequence[Attribute], original: Codes, wanted: str | None = None) -> list[str]:
    """The column asked for, or a few categorical ones with few classes, the smallest and last ones first."""
    names = [attribute.name for attribute in attributes]
    if wanted is not None:
        if wanted not in names:
            raise UsageError(f"There is no column '{wanted}' to predict; there are {', '.join(names)}.")
        return [wanted]
    found = []
    for place, attribute in enumerate(attributes):
        shares = np.bincount(original[attribute.name], minlength=attribute.size) / len(
            original[attribute.name]
        )
        if not attribute.ordered and attribute.size <= MOST_CLASSES and np.count_nonzero(shares >= 0.01) >= 2:
            found.append((attribute.size, -place, attribute.name))
    return [name for _, _, name in sorted(found)[:MOST_TARGETS]]


def accuracies(
    attributes: Sequence[Attribute], original: Codes, synthetic: Codes, targets: Sequence[str], seed: int = 0
) -> list[Accuracy]:
    """One comparison for each target column; empty when there are too few rows or columns to learn from."""
    rows = len(next(iter(original.values())))
    if rows < FEWEST_ROWS or len(attributes) < 2 or len(next(iter(synthetic.values()))) < FEWEST_ROWS:
        return []
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows)
    held = max(1, int(rows * HELD_OUT))
    testing, training = order[:held][:MOST_TESTING], order[held:][:MOST_TRAINING]
    synthetic_rows = rng.permutation(len(next(iter(synthetic.values()))))[: len(training)]
    found = []
    for target in targets:
        features = [attribute for attribute in attributes if attribute.name != target]
        classes = next(attribute.size for attribute in attributes if attribute.name == target)
        truth = original[target][testing]
        questions = _matrix(features, original, testing)
        majority = int(np.bincount(original[target][training]).argmax())
        answers: Mapping[str, NDArray[Any]] = {
            "real": _predict(
                features, _matrix(features, original, training), original[target][training], questions
            ),
            "synthetic": _predict(
                features,
                _matrix(features, synthetic, synthetic_rows),
                synthetic[target][synthetic_rows],
                questions,
            ),
        }
        found.append(
            Accuracy(
                target,
                classes,
                synthetic=float(np.mean(answers["synthetic"] == truth)),
                real=float(np.mean(answers["real"] == truth)),
                majority=float(np.mean(truth == majority)),
            )
        )
    return found


def _matrix(features: Sequence[Attribute], codes: Codes, rows: NDArray[Any]) -> NDArray[np.float32]:
    return np.column_stack([codes[feature.name][rows] for feature in features]).astype(np.float32)


def _predict(
    features: Sequence[Attribute],
    known: NDArray[np.float32],
    classes: NDArray[Any],
    questions: NDArray[np.float32],
) -> NDArray[Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    if len(np.unique(classes)) < 2:
        return np.full(len(questions), classes[0])
    model = HistGradientBoostingClassifier(
        max_iter=40,
        learning_rate=0.2,
        max_leaf_nodes=15,
        early_stopping=False,
        random_state=0,
        categorical_features=[not feature.ordered and feature.size <= 255 for feature in features],
    )
    with threadpool_limits(
        1
    ):  # on a busy machine its threads wait for each other ten times longer than they work
        predicted: NDArray[Any] = model.fit(known, classes).predict(questions)
    return predicted
