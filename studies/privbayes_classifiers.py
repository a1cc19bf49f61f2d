"""The private classifiers that PrivBayes is compared with: Majority, PrivateERM and PrivGene.

Nothing here runs by itself. One classifier is trained for each task of a dataset, and each gets a quarter of
the budget: the paper has four tasks for every table (on NLTCS we try two readings of the third). `PrivateERM`
and `PrivGene` draw their noise in floating point: they are yardsticks for the studies, not releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame.data import Dataset
from frame.study import Method
from frame.tabular import PENALTIES, Rows, examples
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Tuned:
    """Synthetic rows whose classifiers find their own C by cross-validation on the rows."""

    method: Method

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Rows:
        rows = self.method(dataset, epsilon, seed)
        assert isinstance(rows, Rows)
        return replace(rows, tuned=True)


@dataclass(frozen=True, eq=False)
class Classifiers:
    """An outcome with one classifier for each task: a constant answer, or weights for one-hot features."""

    dataset: Dataset
    answers: Mapping[str, bool | Reals]
    release: Any = None

    def predict(self, task: str, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        answer = self.answers[task]
        features, _ = examples(self.dataset, task, codes)
        if isinstance(answer, bool):
            return np.full(features.shape[0], answer)
        return np.asarray(features @ answer > 0)

    def marginals(self, sets: Sequence[tuple[str, ...]]) -> list[NDArray[Any]]:
        raise TypeError("a classifier has no marginals")


@dataclass(frozen=True)
class Majority:
    """The more frequent class of each task, from a noisy count."""

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Classifiers:
        budget = Budget(epsilon, randomness=Randomness.seeded(seed))
        answers: dict[str, bool | Reals] = {}
        for (task, (target, positive)), pay in zip(
            dataset.tasks.items(), budget.evenly(list(dataset.tasks)), strict=True
        ):
            (counts,) = dataset.table().counts([(target,)])
            found = noise.counts(counts, pay=pay)
            answers[task] = bool(2 * sum(int(found[code]) for code in positive) > dataset.rows)
        return Classifiers(dataset, answers)


@dataclass(frozen=True)
class PrivateERM:
    """Objective perturbation of a Huber SVM (Chaudhuri, Monteleoni, Sarwate 2011).

    `single` gives every classifier the whole budget, an unfair advantage that the paper shows too. `tuned`
    trains one model for each C on its own seventh of seven eighths of the records and chooses among them by
    their mistakes on the rest.
    """

    single: bool = False
    tuned: bool = False
    tasks: int = 4

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Classifiers:
        rng = np.random.default_rng(seed)
        share = float(epsilon) / (1 if self.single else self.tasks)
        answers: dict[str, bool | Reals] = {}
        for task in dataset.tasks:
            features, labels = examples(dataset, task, dataset.codes)
            fit = tuned_erm if self.tuned else perturbed_erm
            answers[task] = fit(
                features / sqrt(len(dataset.names) - 1), np.where(labels, 1.0, -1.0), share, rng
            )
        return Classifiers(dataset, answers)


HUBER = 0.5
"""Half the width of the part of the loss that is a parabola."""


def perturbed_erm(
    features: Any, labels: Reals, epsilon: float, rng: np.random.Generator, c: float = 1.0
) -> Reals:
    """The weights that minimise the mean Huber loss, a ridge of 1 / (n C) and a random linear term.

    >>> from scipy.sparse import csr_matrix
    >>> noiseless = perturbed_erm(csr_matrix([[1.0, 0.0], [0.0, 1.0]] * 50), np.array([1.0, -1.0] * 50), 1e9,
    ...     np.random.default_rng(0))
    >>> bool(noiseless[0] > 0 > noiseless[1])
    True
    """
    from scipy.optimize import minimize

    n, width = features.shape
    ridge, left, more = objective_budget(epsilon, n, c)
    direction = rng.normal(size=width)
    tilt = direction / np.linalg.norm(direction) * rng.gamma(width, 2 / left)

    def objective(weights: Reals) -> tuple[float, Reals]:
        gap = 1 - labels * (features @ weights)
        inside = np.clip(gap + HUBER, 0.0, 2 * HUBER)
        loss = inside**2 / (4 * HUBER) + np.maximum(gap - HUBER, 0.0)
        slope = -labels * inside / (2 * HUBER)
        value = loss.mean() + (ridge + more) / 2 * (weights @ weights) + tilt @ weights / n
        return float(value), features.T @ slope / n + (ridge + more) * weights + tilt / n

    found = minimize(
        objective,
        np.zeros(width),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-9, "ftol": 1e-15, "maxiter": 2000},
    )
    return np.asarray(found.x, dtype=np.float64)


def objective_budget(epsilon: float, n: int, c: float = 1.0) -> tuple[float, float, float]:
    """The ridge, what is left of epsilon for the random term, and how much more ridge that takes.

    >>> [round(part, 4) for part in objective_budget(1.6, 1000)]
    [0.001, 0.2137, 0.0]
    >>> _, left, more = objective_budget(0.8, 1000)
    >>> round(left, 4), round(1000 * more, 3)
    (0.4, 3.517)
    """
    ridge, bend = 1 / (n * c), 1 / (2 * HUBER)
    left = epsilon - 2 * log(1 + bend / (n * ridge))
    if left > 0:
        return ridge, left, 0.0
    return ridge, epsilon / 2, bend / (n * (exp(epsilon / 4) - 1)) - ridge


def tuned_erm(features: Any, labels: Reals, epsilon: float, rng: np.random.Generator) -> Reals:
    """One model for each C, each on its own part; the exponential mechanism chooses on the last part."""
    parts = np.array_split(rng.permutation(features.shape[0]), len(PENALTIES) + 1)
    models = [
        perturbed_erm(features[part], labels[part], epsilon, rng, c)
        for part, c in zip(parts, PENALTIES, strict=False)
    ]
    judge = parts[-1]
    mistakes = np.array([float((labels[judge] * (features[judge] @ model) <= 0).sum()) for model in models])
    return models[int(np.argmax(-epsilon * mistakes / 2 + rng.gumbel(size=len(models))))]


@dataclass(frozen=True)
class PrivGene:
    """Genetic search with the enhanced exponential mechanism (Zhang et al. 2013), hinge loss.

    The scale of a draw is the largest difference that one record can make between two candidates: the loss
    is 1-Lipschitz in the margin and features have norm 1, so it is their largest distance.
    """

    population: int = 200
    parents: int = 10
    tasks: int = 4

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Classifiers:
        rng = np.random.default_rng(seed)
        share = float(epsilon) / self.tasks
        answers: dict[str, bool | Reals] = {}
        for task in dataset.tasks:
            features, labels = examples(dataset, task, dataset.codes)
            answers[task] = self._searched(
                features / sqrt(len(dataset.names) - 1), np.where(labels, 1.0, -1.0), share, rng
            )
        return Classifiers(dataset, answers)

    def _searched(self, features: Any, labels: Reals, epsilon: float, rng: np.random.Generator) -> Reals:
        n, width = features.shape
        rounds = max(8, int(n * epsilon / (800 * self.parents)))
        there = rng.uniform(-1, 1, (self.population, width))
        for turn in range(rounds - 1):
            chosen = self._selected(features, labels, there, self.parents, epsilon / rounds, rng)
            there = self._children(chosen, 0.5 * (1 - turn / rounds), rng)
        return np.asarray(self._selected(features, labels, there, 1, epsilon / rounds, rng)[0])

    def _selected(
        self, features: Any, labels: Reals, there: Reals, many: int, epsilon: float, rng: np.random.Generator
    ) -> Reals:
        """So many of them without replacement, each for an equal part of epsilon."""
        loss = np.maximum(0.0, 1 - labels[:, None] * (features @ there.T)).sum(axis=0)
        squares = (there**2).sum(axis=1)
        apart = sqrt(max(0.0, float((squares[:, None] + squares[None, :] - 2 * there @ there.T).max())))
        keys = -epsilon / many * loss / (2 * max(apart, 1e-12)) + rng.gumbel(size=len(there))
        return np.asarray(there[np.argsort(-keys)[:many]])

    def _children(self, chosen: Reals, spread: float, rng: np.random.Generator) -> Reals:
        """Pairs of parents swap their tails at a random place; one coordinate of each child is moved."""
        width = chosen.shape[1]
        children = []
        for _ in range(self.population // 2):
            one, two = chosen[rng.choice(len(chosen), 2, replace=False)]
            cut = int(rng.integers(1, width))
            for child in (np.append(one[:cut], two[cut:]), np.append(two[:cut], one[cut:])):
                child[rng.integers(width)] += rng.uniform(-spread, spread)
                children.append(child)
        return np.array(children)
