"""Selections compared with the true counts: what was missed, and how much that matters.

Two measures of Su's dissertation. The false negative rate is the share of the true c best that were not
selected. The score error rate is how much smaller the selected ones' mean score is than that of the true c
best; a place that was left empty scores nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.engine import open_engine
from penstock.errors import UsageError
from penstock.evaluation.findings import Evaluator, Findings, Options
from penstock.evaluation.score import Score
from penstock.kinds.itemsets.reading import read_itemsets
from penstock.learn.selection.release import SelectionRelease
from penstock.releases.release import Release
from penstock.report.page import Gallery, Section
from penstock.report.pictures import bars
from penstock.schema import Schema

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]


def false_negative_rate(scores: ArrayLike, chosen: Sequence[int], c: int) -> float:
    """The share of the c best that are not among the chosen; equal scores count as equally good.

    >>> false_negative_rate([10, 8, 6, 4, 2], [0, 3], 2)
    0.5
    """
    values = np.asarray(scores, dtype=np.float64)
    edge = np.partition(values, values.size - c)[values.size - c]
    found = np.count_nonzero(values[list(chosen)] > edge)
    level = np.count_nonzero(values[list(chosen)] == edge)
    above = np.count_nonzero(values > edge)
    return float(1 - (found + min(level, c - above)) / c)


def score_error_rate(scores: ArrayLike, chosen: Sequence[int], c: int) -> float:
    """One minus the sum of the chosen scores over the sum of the c largest.

    >>> [round(score_error_rate([10, 8, 6, 4, 2], chosen, 2), 4) for chosen in ([0, 3], [0])]
    [0.2222, 0.4444]
    """
    values = np.asarray(scores, dtype=np.float64)
    best = np.partition(values, values.size - c)[values.size - c :].sum()
    return float(1 - values[list(chosen)].sum() / best) if best else 0.0


class _SelectionEvaluation(Evaluator):
    """What a selection missed, compared with the true counts of all candidates."""

    @abstractmethod
    def truth(self, field: str, source: Any, schema: Schema, table: str | None) -> tuple[Numbers, int]:
        """Raw: the true count of every code of the field, and the number of records or sets."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        if not isinstance(release, SelectionRelease):
            raise UsageError("Only selections can be compared with true counts.")
        counts, rows = self.truth(release.field, source, schema, options.table)
        labels = list(schema.field(release.field).labels)
        truth = counts[: len(labels)].astype(np.float64)
        places = {label: place for place, label in enumerate(labels)}
        chosen = [places[item] for item in release.items]
        threshold, c = release.parameters.get("threshold"), release.parameters.get("c")
        if threshold is None:
            scores = _best(truth, chosen, int(c or len(chosen)))
        else:
            scores = _above(truth, chosen, float(Fraction(str(threshold))), None if c is None else int(c))
        details: dict[str, Any] = {"selected": len(chosen), "candidates": len(labels)}
        if release.counts is not None and chosen:
            off = np.abs(release.counts - truth[chosen])
            details["largest error of a count"] = float(off.max())
            details["mean error of a count"] = float(off.mean())
        sections = [_section(release, truth, chosen)] if chosen else []
        return Findings(scores, rows, details, sections)


class ItemsEvaluation(_SelectionEvaluation):
    """What a selection of items missed, compared with the true supports."""

    def truth(self, field: str, source: Any, schema: Schema, table: str | None) -> tuple[Numbers, int]:
        found = read_itemsets(source, schema, table=table, order_key=b"evaluation")
        return found.holders(len(schema.field(field).labels)), found.size


class CategoriesEvaluation(_SelectionEvaluation):
    """What a selection of categories missed, compared with the true counts of records."""

    def truth(self, field: str, source: Any, schema: Schema, table: str | None) -> tuple[Numbers, int]:
        engine = open_engine(source, schema, table=table, order_key=b"evaluation")
        (counts,) = engine.counts([(field,)])
        return counts, engine.rows()


def _best(truth: Reals, chosen: Sequence[int], c: int) -> tuple[Score, ...]:
    blind = list(range(truth.size))  # everybody, weighted by the chance of a blind draw
    share = c / truth.size
    return (
        Score(
            "false negatives",
            false_negative_rate(truth, chosen, c),
            floor=1 - share,
            ceiling=0.0,
            note=f"share of the true {c} best that were not selected; floor: a blind draw",
        ),
        Score(
            "score error",
            score_error_rate(truth, chosen, c),
            floor=1 - share * (1 - score_error_rate(truth, blind, c)),
            ceiling=0.0,
            note=f"how much smaller the selected counts are than the {c} largest; floor: a blind draw",
        ),
    )


def _above(truth: Reals, chosen: Sequence[int], threshold: float, c: int | None) -> tuple[Score, ...]:
    above = truth >= threshold
    wanted = int(above.sum()) if c is None else min(c, int(above.sum()))
    right = int(above[list(chosen)].sum())
    return (
        Score(
            "missed",
            1 - min(right, wanted) / wanted if wanted else 0.0,
            floor=1.0,
            ceiling=0.0,
            note="share of those above the threshold that were not selected; floor: nobody selected",
        ),
        Score(
            "mistaken",
            1 - right / len(chosen) if chosen else 0.0,
            floor=1 - float(above.mean()),
            ceiling=0.0,
            note="share of the selected that are below the threshold; floor: a blind draw",
        ),
    )


def _section(release: SelectionRelease, truth: Reals, chosen: Sequence[int]) -> Section:
    series: dict[str, Any] = {"original": truth[list(chosen)]}
    if release.counts is not None:
        series["release"] = release.counts.astype(np.float64)
    picture = bars(
        "Counts of the selected", release.items, series, amount=release.counted, most=60, disjoint=False
    )
    return Section(
        "What was selected", [Gallery([picture])], short="Selection", lead="In the order of the release."
    )
