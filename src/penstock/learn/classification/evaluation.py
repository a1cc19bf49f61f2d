"""Classifiers compared with the original records: how many they get right, and which they take for which.

The floor is always answering the most frequent label, the ceiling a decision tree trained on original rows
that are not asked about. Beside it stands what the release's own parts could say if they were counted without
noise: the difference is what noise costs, the rest what its choice of columns does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.source import read
from penstock.errors import DataError, UsageError
from penstock.evaluation.findings import MOST_COMPARED, Evaluator, Findings, Options, compared_with
from penstock.evaluation.score import Score
from penstock.learn.classification.classifier import ClassifierRelease
from penstock.releases.release import Release
from penstock.report.page import Gallery, Section
from penstock.report.page import Table as Shown
from penstock.report.pictures import heatmap
from penstock.schema import Schema

Numbers = NDArray[np.int64]

HELD_OUT = 0.25
FEWEST_ROWS = 40
MOST_TRAINING = 100_000
FEWEST_IN_LEAF = 7


class ClassifierEvaluation(Evaluator):
    """How many records a classifier gets right, beside the most frequent label and learning without noise."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        if not isinstance(release, ClassifierRelease):
            raise UsageError("Only classifiers can be compared with the labels of records.")
        records = read(source, table=options.table)
        original, of = records.sampled(list(schema.names), MOST_COMPARED, options.seed)
        if original.height == 0:
            raise DataError("The data to compare with has no records.")
        codes = {
            name: np.asarray(column).astype(np.int64) for name, column in schema.encode(original).items()
        }
        truth, labels = codes[release.target], len(release.labels)
        part = release.part_of(codes, len(truth))
        answers = release.chances.argmax(axis=1)[part]
        order = np.random.default_rng(options.seed).permutation(len(truth))
        held = order[: max(1, int(len(truth) * HELD_OUT))]
        training = order[len(held) :][:MOST_TRAINING]
        majority = int(np.bincount(truth, minlength=labels).argmax())
        exact = np.zeros(release.counts.shape, dtype=np.int64)
        np.add.at(exact, (part, truth), 1)
        confusion = np.zeros((labels, labels), dtype=np.int64)
        np.add.at(confusion, (truth, answers), 1)
        right = float((answers == truth).mean())
        floor = float((truth == majority).mean())
        own = float(exact.max(axis=1).sum() / len(truth))
        learned = _learned(codes, release.target, training, held)
        scores = (
            Score(
                f"predicting {release.target}",
                float((answers[held] == truth[held]).mean()),
                floor=float((truth[held] == majority).mean()),
                ceiling=own if learned is None else learned,
                lower_is_better=False,
                note="accuracy on held-out original rows; floor: the most frequent label, ceiling: a "
                "decision tree trained on the other original rows",
            ),
            Score(
                "its parts, without noise",
                right,
                floor=floor,
                ceiling=own,
                lower_is_better=False,
                note="accuracy on all original rows; ceiling: the same parts with their true counts",
            ),
        )
        details = {
            "confusion": confusion.tolist(),
            "labels": list(release.labels),
            "accuracy": right,
            "majority": floor,
            "noise-free": own,
        }
        return Findings(
            scores,
            len(truth),
            details,
            _sections(release, confusion),
            "what is learned without noise",
            tuple(compared_with(len(truth), of)),
        )


def _learned(
    codes: dict[str, Numbers], target: str, training: NDArray[np.intp], held: NDArray[np.intp]
) -> float | None:
    """The accuracy of a decision tree on the held-out rows; None where there is too little to learn from."""
    from sklearn.tree import DecisionTreeClassifier

    names = [name for name in codes if name != target]
    if len(training) < FEWEST_ROWS or not names or len(np.unique(codes[target][training])) < 2:
        return None
    x = np.column_stack([codes[name] for name in names]).astype(np.float32)
    grown = DecisionTreeClassifier(min_samples_leaf=FEWEST_IN_LEAF, max_leaf_nodes=200, random_state=0)
    grown.fit(x[training], codes[target][training])
    return float((grown.predict(x[held]) == codes[target][held]).mean())


def _sections(release: ClassifierRelease, confusion: Numbers) -> Sequence[Section]:
    labels = list(release.labels)
    picture = heatmap(
        f"{release.target}: true label and answer",
        labels,
        labels,
        confusion,
        row_name="true label",
        column_name="answer",
    )
    rows = []
    for place, label in enumerate(labels):
        there, said = int(confusion[place].sum()), int(confusion[:, place].sum())
        found = int(confusion[place, place])
        rows.append([label, there, said, _share(found, there), _share(found, said)])
    shown = Shown(
        ["label", "records", "answers", "found", "right"],
        rows,
        caption="found: share of the label's records that were given it; right: share of those answers",
    )
    return [
        Section(
            "Which label is taken for which",
            [Gallery([picture]), shown],
            lead="Every record of the original, by its true label and by the answer of the classifier.",
            short="Confusion",
        )
    ]


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
