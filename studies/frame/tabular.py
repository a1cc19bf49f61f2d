"""Methods and metrics for tables: how any of them is run, and how any outcome is measured.

An outcome answers marginals. Synthetic rows do so by counting, and can also train a classifier; a release
of marginals answers from what it measured.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from frame.data import Dataset, load
from penstock.engine import MemoryEngine
from penstock.evaluation.metrics import tvd
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Relation

Reals = NDArray[np.float64]
Subset = tuple[str, ...]


class Outcome(Protocol):
    """What a metric needs to know of a result."""

    @property
    def release(self) -> Any: ...

    def marginals(self, sets: Sequence[Subset]) -> list[NDArray[Any]]: ...


@dataclass(frozen=True, eq=False)
class Rows:
    """Synthetic rows, drawn from a release or from anything else.

    Classifiers are trained on them with C = 1, or with `tuned` the C that cross-validation on the rows
    themselves finds best, which costs no privacy.
    """

    codes: Mapping[str, NDArray[Any]]
    sizes: Mapping[str, int]
    release: Any = None
    tuned: bool = False

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
    """The mean total variation distance over all marginals of this many attributes: the task Q_way.

    An outcome that answers marginals of some sizes only names them in `ways`.
    """

    way: int
    datasets: tuple[str, ...] = ()

    def __call__(self, dataset: Dataset, outcome: Outcome, seed: int) -> float | None:
        if self.datasets and dataset.name not in self.datasets:
            return None
        if self.way not in getattr(outcome, "ways", (self.way,)):
            return None
        return float(np.mean([distance for _, distance in distances(dataset, outcome, self.way)]))


@dataclass(frozen=True)
class Misclassified:
    """The error of a linear SVM for each task of a dataset, trained on the outcome, tested on held-out rows.

    It applies to training parts ("adult train") only. Features are all other attributes, one-hot. An outcome
    that is a classifier itself answers through `predict(task, codes)` instead of training an SVM. Rows that
    tune C are also tried without.
    """

    tasks: tuple[str, ...] = ()

    def __call__(self, dataset: Dataset, outcome: Outcome, seed: int) -> dict[str, float] | None:
        whole, _, part = dataset.name.partition(" ")
        if part != "train":
            return None
        test = load(f"{whole} test")
        tasks = [task for task in dataset.tasks if not self.tasks or task in self.tasks]
        if hasattr(outcome, "predict"):
            return {task: _mistakes(outcome.predict(task, test.codes), test, task) for task in tasks}
        if not isinstance(outcome, Rows):
            return None
        found = {task: _trained(dataset, task, outcome, test, tuned=outcome.tuned) for task in tasks}
        if outcome.tuned:
            found |= {f"{task} with C = 1": _trained(dataset, task, outcome, test) for task in tasks}
        return found


def _trained(dataset: Dataset, task: str, rows: Rows, test: Dataset, *, tuned: bool = False) -> float:
    """The error on the test part of an SVM that learned from the rows."""
    features, labels = examples(dataset, task, rows.codes)
    if labels.all() or not labels.any():
        return _mistakes(np.full(test.rows, labels[0]), test, task)
    c = best_c(features, labels) if tuned else 1.0
    model = linear_svm(c).fit(features, labels)
    return _mistakes(model.predict(examples(dataset, task, test.codes)[0]), test, task)


def examples(dataset: Dataset, task: str, codes: Mapping[str, NDArray[Any]]) -> tuple[Any, NDArray[np.bool_]]:
    """What a classifier for a task sees, all other attributes one-hot, and what it shall say."""
    target, positive = dataset.tasks[task]
    names = [name for name in dataset.names if name != target]
    return one_hot(codes, dataset.sizes, names), np.isin(codes[target], list(positive))


def _mistakes(predicted: NDArray[Any], test: Dataset, task: str) -> float:
    target, positive = test.tasks[task]
    return float(np.mean(predicted != np.isin(test.codes[target], list(positive))))


PENALTIES = tuple(10.0**power for power in range(-3, 4))


def linear_svm(c: float, steps: int = 300) -> Any:
    """A C-SVM with hinge loss; it stops after so many passes where it has not converged."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    return LinearSVC(C=c, loss="hinge", dual=True, max_iter=steps, tol=1e-3, random_state=0)


def best_c(features: Any, labels: NDArray[np.bool_]) -> float:
    """The C with the fewest mistakes in five-fold cross-validation; equal rows are learned from once."""
    rows = features.indices.reshape(features.shape[0], -1)
    _, first, same = np.unique(
        np.column_stack([rows, labels]), axis=0, return_index=True, return_inverse=True
    )
    kinds, answers = features[first], labels[first]
    folds = np.random.default_rng(0).integers(5, size=len(labels))
    mistakes = dict.fromkeys(PENALTIES, 0)
    for fold in range(5):
        held = np.bincount(same.ravel()[folds == fold], minlength=len(first))
        kept = np.bincount(same.ravel()[folds != fold], minlength=len(first))
        there = np.flatnonzero(kept)
        if len(np.unique(answers[there])) < 2:
            continue
        for c in PENALTIES:
            model = linear_svm(c, 1000).fit(kinds[there], answers[there], sample_weight=kept[there])
            mistakes[c] += int(held[model.predict(kinds) != answers].sum())
    return min(PENALTIES, key=lambda c: (mistakes[c], abs(np.log(c))))


def one_hot(codes: Mapping[str, NDArray[Any]], sizes: Mapping[str, int], names: Sequence[str]) -> Any:
    """A sparse matrix with one column for each code of each attribute."""
    from scipy.sparse import csr_matrix

    offsets = np.cumsum([0, *(sizes[name] for name in names)])
    places = np.column_stack(
        [codes[name].astype(np.int32) + np.int32(start) for name, start in zip(names, offsets, strict=False)]
    ).ravel()
    starts = np.arange(0, places.size + 1, len(names), dtype=np.int32)
    return csr_matrix((np.ones(places.size), places, starts), shape=(len(starts) - 1, int(offsets[-1])))
