"""Methods and metrics for tables: how any of them is run, and how any outcome is measured.

An outcome answers marginals. Synthetic rows do so by counting, and can also train a classifier; a release
of marginals answers from what it measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from frame.data import Dataset, load
from penstock.engine import MemoryEngine
from penstock.evaluate.metrics import tvd
from penstock.privacy.budget import Budget
from penstock.privacy.randomness import Randomness
from penstock.schema import Relation

Reals = NDArray[np.float64]
Subset = tuple[str, ...]


class Outcome(Protocol):
    """What a metric needs to know of a result."""

    release: Any

    def marginals(self, sets: Sequence[Subset]) -> list[NDArray[Any]]: ...


@dataclass(frozen=True, eq=False)
class Rows:
    """Synthetic rows, drawn from a release or from anything else."""

    codes: Mapping[str, NDArray[Any]]
    sizes: Mapping[str, int]
    release: Any = None

    @cached_property
    def _engine(self) -> MemoryEngine:
        return MemoryEngine({name: self.codes[name] for name in self.sizes}, self.sizes)

    def marginals(self, sets: Sequence[Subset]) -> list[NDArray[Any]]:
        return list(self._engine.counts(sets))


@dataclass(frozen=True, eq=False)
class Answers:
    """A release that answers marginals and has no rows."""

    release: Any

    def marginals(self, sets: Sequence[Subset]) -> list[NDArray[Any]]:
        if hasattr(self.release, "all_marginals"):
            known = {way: self.release.all_marginals(way) for way in {len(names) for names in sets}}
            return [known[len(names)][names] for names in sets]
        return [self.release.marginal(names) for names in sets]


# Methods --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """Any method of the library, its release sampled for as many rows as there are records.

    With `rows=False` marginals are taken from the release itself, without sampling.
    """

    method: Any
    relation: Relation = Relation.REPLACE
    rows: bool = True

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Outcome:
        budget = Budget(epsilon, randomness=Randomness.seeded(seed))
        release = self.method.fit(dataset.table(self.relation), budget)
        assert release.receipt.epsilon <= budget.epsilon
        if not self.rows:
            return Answers(release)
        return Rows(release.draw_codes(dataset.rows, np.random.default_rng(seed)), dataset.sizes, release)


@dataclass(frozen=True)
class Original:
    """The records themselves: the ceiling. With `resampled`, rows drawn from them with replacement."""

    resampled: bool = False

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Rows:
        if not self.resampled:
            return Rows(dataset.codes, dataset.sizes)
        chosen = np.random.default_rng(seed).integers(dataset.rows, size=dataset.rows)
        return Rows({name: column[chosen] for name, column in dataset.codes.items()}, dataset.sizes)


# Metrics --------------------------------------------------------------------------------------------------


@cache
def _truth(dataset: str, way: int) -> tuple[list[Subset], list[NDArray[Any]]]:
    whole = load(dataset)
    sets = list(combinations(whole.names, way))
    return sets, list(whole.engine.counts(sets))


def distances(dataset: Dataset, outcome: Outcome, way: int) -> list[tuple[Subset, float]]:
    """The total variation distance of every marginal of this many attributes."""
    sets, truth = _truth(dataset.name, way)
    found = outcome.marginals(sets)
    return [(names, tvd(one, two)) for names, one, two in zip(sets, truth, found, strict=True)]


@dataclass(frozen=True)
class MeanDistance:
    """The mean total variation distance over all marginals of this many attributes: the task Q_way."""

    way: int
    datasets: tuple[str, ...] = ()

    def __call__(self, dataset: Dataset, outcome: Outcome, seed: int) -> float | None:
        if self.datasets and dataset.name not in self.datasets:
            return None
        return float(np.mean([distance for _, distance in distances(dataset, outcome, self.way)]))


@dataclass(frozen=True)
class Misclassified:
    """The error of a linear SVM for each task of a dataset, trained on the outcome, tested on held-out rows.

    It applies to training parts ("adult train") only. Features are all other attributes, one-hot. An outcome
    that is a classifier itself answers through `predict(task, codes)` instead of training an SVM.
    `tuned` picks C by five-fold cross-validation on the outcome's own rows, which costs no privacy.
    """

    tuned: bool = False
    tasks: tuple[str, ...] = ()

    def __call__(self, dataset: Dataset, outcome: Outcome, seed: int) -> dict[str, float] | None:
        whole, _, part = dataset.name.partition(" ")
        if part != "train":
            return None
        test = load(f"{whole} test")
        tasks = [task for task in dataset.tasks if not self.tasks or task in self.tasks]
        if hasattr(outcome, "predict"):
            if self.tuned:
                return None
            return {task: _mistakes(outcome.predict(task, test.codes), test, task) for task in tasks}
        if not isinstance(outcome, Rows):
            return None
        return {task: self._error(dataset, task, outcome.codes, test) for task in tasks}

    def _error(self, dataset: Dataset, task: str, codes: Mapping[str, NDArray[Any]], test: Dataset) -> float:
        target, positive = dataset.tasks[task]
        names = [name for name in dataset.names if name != target]
        features, labels, weights = condensed(codes, dataset.sizes, names, target, positive)
        asked, truth, counts = condensed(test.codes, dataset.sizes, names, target, positive)
        if len(np.unique(labels)) < 2:
            predicted = np.full(len(truth), labels[0])
        else:
            c = best_c(features, labels, weights) if self.tuned else 1.0
            predicted = linear_svm(c).fit(features, labels, sample_weight=weights).predict(asked)
        return float(np.average(predicted != truth, weights=counts))


def _mistakes(predicted: NDArray[Any], test: Dataset, task: str) -> float:
    target, positive = test.tasks[task]
    return float(np.mean(predicted != np.isin(test.codes[target], list(positive))))


PENALTIES = tuple(10.0**power for power in range(-3, 4))


def linear_svm(c: float) -> Any:
    """A C-SVM with hinge loss."""
    from sklearn.svm import LinearSVC

    return LinearSVC(C=c, loss="hinge", dual=True, max_iter=300, tol=1e-3, random_state=0)


def best_c(features: Any, labels: NDArray[Any], weights: NDArray[Any]) -> float:
    """The C with the smallest error in five-fold cross-validation."""
    folds = np.random.default_rng(0).integers(5, size=len(labels))
    errors = dict.fromkeys(PENALTIES, 0.0)
    for fold in range(5):
        kept, held = folds != fold, folds == fold
        if len(np.unique(labels[kept])) < 2:
            continue
        for c in PENALTIES:
            model = linear_svm(c).fit(features[kept], labels[kept], sample_weight=weights[kept])
            errors[c] += float(weights[held] @ (model.predict(features[held]) != labels[held]))
    return min(PENALTIES, key=lambda c: (errors[c], abs(np.log(c))))


def condensed(
    codes: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, int],
    names: Sequence[str],
    target: str,
    positive: frozenset[int],
) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
    """One-hot features, labels and weights of the distinct rows: equal rows weigh as many as they are.

    Pairs of codes and labels are compared, so a row that occurs with both labels stays two.
    """
    from scipy.sparse import csr_array

    label = np.isin(codes[target], list(positive)).astype(np.int64)
    stacked = np.column_stack([*(codes[name].astype(np.int64) for name in names), label])
    _, first, counts = np.unique(
        _keys(stacked, [*(sizes[n] for n in names), 2]), return_index=True, return_counts=True
    )
    rows = stacked[first]
    offsets = np.cumsum([0, *(sizes[name] for name in names)])
    columns = (rows[:, :-1] + offsets[:-1]).ravel()
    starts = np.arange(0, columns.size + 1, len(names), dtype=np.int32)
    features = csr_array(
        (np.ones(columns.size), columns.astype(np.int32), starts),
        shape=(len(rows), offsets[-1]),
    )
    return features, rows[:, -1], counts.astype(np.float64)


def _keys(rows: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    key = np.zeros(len(rows), dtype=np.int64)
    radix = 1
    for column, size in zip(rows.T, sizes, strict=True):
        if radix * size >= 1 << 62:
            found, key = np.unique(key, return_inverse=True)
            radix = len(found)
        key = key * size + column
        radix *= size
    return key
