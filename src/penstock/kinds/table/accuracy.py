"""Train on synthetic, test on real: does a classifier learn the same from the release?

A classifier is trained on synthetic rows and tested on held-out original rows, beside the same
classifier trained on the other original rows (the ceiling) and the most frequent class (the floor).
The release was made from all rows, held-out ones included; differential privacy is what keeps that
from helping it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.evaluation.learner import boosted
from penstock.evaluation.metrics import Codes
from penstock.schema import Attribute

MOST_CLASSES = 10
MOST_TARGETS = 3
MOST_TRAINING = 30_000
MOST_TESTING = 15_000
MOST_FEATURES = 100
"""Columns that a target is learned from: those that say most of it. Trees of hundreds take minutes each."""
HELD_OUT = 0.25
FEWEST_ROWS = 40


@dataclass(frozen=True)
class Accuracy:
    """Shares of held-out original rows whose class was predicted, and how well classes are told apart (AUC).

    The AUC is the mean over the classes of the chance that a row of the class is ranked above one of another.
    It is None where the held-out rows are all of one class. `features` of the `others` columns were learned
    from.
    """

    target: str
    classes: int
    synthetic: float
    real: float
    majority: float
    auc_synthetic: float | None = None
    auc_real: float | None = None
    features: int = 0
    others: int = 0


def choose_targets(attributes: Sequence[Attribute], original: Codes, wanted: str | None = None) -> list[str]:
    """The column asked for, or a few categorical ones with few classes: those that are hardest to guess.

    A column most rows of which have one value is guessed without learning anything, so the most balanced ones
    come first.
    """
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
            found.append((float(shares.max()), -place, attribute.name))
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
        others = [attribute for attribute in attributes if attribute.name != target]
        features = most_telling(others, original, target, training)
        classes = next(attribute.size for attribute in attributes if attribute.name == target)
        truth = original[target][testing]
        questions = _matrix(features, original, testing)
        majority = int(np.bincount(original[target][training]).argmax())
        chances = {
            "real": _chances(
                features,
                _matrix(features, original, training),
                original[target][training],
                questions,
                classes,
            ),
            "synthetic": _chances(
                features,
                _matrix(features, synthetic, synthetic_rows),
                synthetic[target][synthetic_rows],
                questions,
                classes,
            ),
        }
        answers = {key: each.argmax(axis=1) for key, each in chances.items()}
        found.append(
            Accuracy(
                target,
                classes,
                synthetic=float(np.mean(answers["synthetic"] == truth)),
                real=float(np.mean(answers["real"] == truth)),
                majority=float(np.mean(truth == majority)),
                auc_synthetic=ranked(truth, chances["synthetic"]),
                auc_real=ranked(truth, chances["real"]),
                features=len(features),
                others=len(others),
            )
        )
    return found


def most_telling(
    others: Sequence[Attribute], original: Codes, target: str, rows: NDArray[Any]
) -> list[Attribute]:
    """All other columns, or so many as can be learned from: those with the most information on the target.

    They are chosen by the original's rows, for the release and the ceiling alike.
    """
    if len(others) <= MOST_FEATURES:
        return list(others)
    classes = original[target][rows].astype(np.int64)
    told = [_information(classes, original[each.name][rows], each.size) for each in others]
    chosen = np.argsort(-np.array(told), kind="stable")[:MOST_FEATURES]
    return [others[place] for place in sorted(chosen.tolist())]


def _information(classes: NDArray[np.int64], codes: NDArray[Any], size: int) -> float:
    """The mutual information of two columns, over the cells that occur."""
    _, counts = np.unique(classes * size + codes, return_counts=True)
    alone = sum(_entropy(np.unique(each, return_counts=True)[1]) for each in (classes, codes))
    return float(alone - _entropy(counts))


def _entropy(counts: NDArray[Any]) -> float:
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _matrix(features: Sequence[Attribute], codes: Codes, rows: NDArray[Any]) -> NDArray[np.float32]:
    return np.column_stack([codes[feature.name][rows] for feature in features]).astype(np.float32)


def _chances(
    features: Sequence[Attribute],
    known: NDArray[np.float32],
    labels: NDArray[Any],
    questions: NDArray[np.float32],
    classes: int,
) -> NDArray[np.float64]:
    """For each question the probability of each class, as a classifier learns it from rows with labels."""
    found = np.zeros((len(questions), classes))
    there = np.unique(labels)
    if len(there) < 2:
        found[:, there] = 1.0
        return found
    model = boosted([not feature.ordered and feature.size <= 255 for feature in features])
    found[:, there.astype(np.int64)] = model.fit(known, labels).predict_proba(questions)
    return found


def ranked(truth: NDArray[Any], chances: NDArray[np.float64]) -> float | None:
    """The mean AUC of the classes that occur, each against all others; None where there is only one.

    >>> ranked(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]))
    1.0
    """
    from sklearn.metrics import roc_auc_score

    there = np.unique(truth)
    if len(there) < 2:
        return None
    return float(np.mean([roc_auc_score(truth == each, chances[:, each]) for each in there.tolist()]))
