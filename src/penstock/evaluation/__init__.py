"""How good a release is: compared with the original, between a floor and a ceiling.

Everything in this room looks at the records without noise. It serves the custodian (and studies on
public data); its results are not private and must not be published.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.evaluation.evaluation import Evaluation, Score
from penstock.evaluation.metrics import mean_tvd, tvd

if TYPE_CHECKING:
    from penstock.releases.release import Release
    from penstock.report.page import Section
    from penstock.schema import Schema

__all__ = ["Evaluation", "Score", "evaluate", "mean_tvd", "tvd"]

LIMIT = 500
QUERIES = 500


def evaluate(
    release: Release,
    source: Any,
    schema: Schema | None = None,
    *,
    table: str | None = None,
    target: str | None = None,
    limit: int = LIMIT,
    queries: int = QUERIES,
    seed: int = 0,
) -> Evaluation:
    """Compare a release with the records it came from.

    `target` is the column to predict (default: a few categorical ones), `limit` the most marginals of each
    number of columns that are compared, `queries` the number of random boxes of each size asked of points.
    """
    from penstock.engine import read

    started = time.perf_counter()
    facts = schema or release.schema
    if release.kind == "sequences":
        from penstock.kinds.sequences.evaluation import evaluate_sequences

        scores, details, sections, rows = evaluate_sequences(release, source, facts, table=table, seed=seed)
        return _evaluation(release, rows, scores, details, sections, started)
    if release.answer == "selection":
        from penstock.learn.selection.evaluation import evaluate_selection

        scores, details, sections, rows = evaluate_selection(release, source, facts, table=table)
        return _evaluation(release, rows, scores, details, sections, started)
    original = read(source, table=table).frame(list(facts.names))
    if release.kind == "table":
        from penstock.kinds.table.evaluation import evaluate_table

        scores, details, sections = evaluate_table(
            release, original, facts, target=target, limit=limit, seed=seed
        )
    elif release.kind == "points":
        from penstock.kinds.points.evaluation import evaluate_points

        scores, details, sections = evaluate_points(release, original, facts, queries=queries, seed=seed)
    else:
        raise UsageError(f"Releases of kind '{release.kind}' cannot be evaluated yet.")
    return _evaluation(release, original.height, scores, details, sections, started)


def _evaluation(
    release: Release,
    rows: int,
    scores: tuple[Score, ...],
    details: Mapping[str, Any],
    sections: Sequence[Section],
    started: float,
) -> Evaluation:
    return Evaluation(
        release.kind,
        release.method,
        release.receipt.guarantee,
        rows,
        scores,
        details,
        sections,
        time.perf_counter() - started,
    )
