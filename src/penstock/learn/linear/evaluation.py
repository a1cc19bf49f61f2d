"""Predictors compared with the original records: how many labels they get right, or how far numbers are off.

The floor is what knows nothing of the other columns: the most frequent label, or the mean. The ceiling is
scikit-learn's model of the same form, trained without noise on original rows that are not asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.source import read
from penstock.errors import DataError, UsageError
from penstock.evaluation.findings import MOST_COMPARED, Evaluator, Findings, Options, compared_with
from penstock.evaluation.score import Score
from penstock.learn.linear.features import STEPS, Problem
from penstock.learn.linear.release import LinearRelease
from penstock.releases.release import Release
from penstock.schema import Schema

Reals = NDArray[np.float64]

HELD_OUT = 0.25
MOST_TRAINING = 50_000
FEWEST_ROWS = 20


class PredictorEvaluation(Evaluator):
    """How good the predictions are on records that the ceiling has not seen."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        if not isinstance(release, LinearRelease):
            raise UsageError("Only linear predictors can be compared with what they predict.")
        records = read(source, table=options.table)
        original, of = records.sampled(list(schema.names), MOST_COMPARED, options.seed)
        if original.height == 0:
            raise DataError("The data to compare with has no records.")
        codes = release.coded(original)
        problem = Problem.of(release.schema, release.target)
        order = np.random.default_rng(options.seed).permutation(original.height)
        if problem.task == "numbers":
            order = order[codes[release.target][order] < release.schema.attribute(release.target).regular]
            if not len(order):
                raise DataError(f"No record has a number in {release.target}.")
        held = order[: max(1, int(len(order) * HELD_OUT))]
        training = order[len(held) :][:MOST_TRAINING]
        if problem.task == "numbers":
            scores, details = _numbers(release, problem, codes, training, held)
        else:
            scores, details = _labels(release, problem, codes, training, held)
        return Findings(
            scores,
            original.height,
            details,
            ceiling="what is learned without noise",
            remarks=tuple(compared_with(original.height, of)),
        )


def _features(problem: Problem, codes: Mapping[str, NDArray[Any]], rows: NDArray[np.intp]) -> Reals:
    columns = [codes[name][rows] for name in problem.features.names]
    return problem.features.steps(columns, len(rows)) / STEPS


def _labels(
    release: LinearRelease,
    problem: Problem,
    codes: Mapping[str, NDArray[Any]],
    training: NDArray[np.intp],
    held: NDArray[np.intp],
) -> tuple[tuple[Score, ...], dict[str, Any]]:
    from sklearn.linear_model import LogisticRegression

    truth = codes[release.target]
    told = release.chances(release.scores({name: column[held] for name, column in codes.items()}, len(held)))
    right = float((told.argmax(axis=1) == truth[held]).mean())
    majority = int(np.bincount(truth[training], minlength=problem.classes).argmax()) if len(training) else 0
    floor = float((truth[held] == majority).mean())
    ceiling = right
    if len(training) >= FEWEST_ROWS and len(np.unique(truth[training])) > 1:
        model = LogisticRegression(C=100.0, max_iter=1000)
        model.fit(_features(problem, codes, training), truth[training])
        ceiling = float(model.score(_features(problem, codes, held), truth[held]))
    score = Score(
        f"predicting {release.target}",
        right,
        floor=floor,
        ceiling=ceiling,
        lower_is_better=False,
        note="accuracy on held-out original rows; floor: the most frequent label, ceiling: logistic "
        "regression trained without noise on the other original rows",
    )
    return (score,), {"accuracy": right, "majority": floor, "without_noise": ceiling}


def _numbers(
    release: LinearRelease,
    problem: Problem,
    codes: Mapping[str, NDArray[Any]],
    training: NDArray[np.intp],
    held: NDArray[np.intp],
) -> tuple[tuple[Score, ...], dict[str, Any]]:
    from sklearn.linear_model import Ridge

    scaled = problem.values[codes[release.target]] / STEPS
    truth = release.numbers(scaled[:, None])
    told = release.numbers(release.scores({name: column[held] for name, column in codes.items()}, len(held)))
    known = training if len(training) else held
    floor = _off(np.full(len(held), truth[known].mean()), truth[held])
    off = _off(told, truth[held])
    ceiling = off
    if len(training) >= FEWEST_ROWS:
        model = Ridge(alpha=1e-3).fit(_features(problem, codes, training), scaled[training])
        ceiling = _off(release.numbers(model.predict(_features(problem, codes, held))[:, None]), truth[held])
    score = Score(
        f"numbers of {release.target}",
        off,
        floor=floor,
        ceiling=ceiling,
        note="root of the mean squared error on held-out original rows, in the column's own unit; floor: the "
        "mean, ceiling: linear regression without noise on the other original rows",
    )
    return (score,), {"error": off, "mean": floor, "without_noise": ceiling}


def _off(told: Reals, truth: Reals) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(((told - truth) ** 2).mean()))
