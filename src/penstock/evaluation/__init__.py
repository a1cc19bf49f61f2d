"""How good a release is: compared with the original, between a floor and a ceiling.

Everything in this room looks at the records without noise. It serves the custodian (and studies on
public data); its results are not private and must not be published. What is compared is the business of the
kind of data, whose evaluation the catalogue knows.
"""

from __future__ import annotations

import time
from typing import Any

from penstock import catalogue
from penstock.errors import UsageError
from penstock.evaluation.evaluation import Evaluation
from penstock.evaluation.findings import LIMIT, QUERIES, Evaluator, Findings, Options
from penstock.evaluation.metrics import mean_tvd, tvd
from penstock.evaluation.page import over_its_ground
from penstock.evaluation.score import Score
from penstock.releases.release import Release
from penstock.schema import Schema

__all__ = ["Evaluation", "Evaluator", "Findings", "Options", "Score", "evaluate", "mean_tvd", "tvd"]


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
    learning: bool = True,
    k_marginal: bool = False,
) -> Evaluation:
    """Compare a release with the records it came from.

    `target` is the column to predict (default: the schema's target, or else a few categorical ones), `limit`
    the most marginals of each number of columns that are compared, `queries` the number of random boxes of
    each size asked of points. Without `learning` no classifier is trained on synthetic rows, which takes most
    of the time. `k_marginal` adds the k-marginal score of SDNist.
    """
    started = time.perf_counter()
    options = Options(
        table=table,
        target=target,
        limit=limit,
        queries=queries,
        seed=seed,
        learning=learning,
        k_marginal=k_marginal,
    )
    comparing = evaluator(release)
    if k_marginal and not comparing.k_marginals:
        raise UsageError(
            f"The k-marginal score is for whole tables, and this release is {release.answer} of kind "
            f"'{release.kind}'; leave it out."
        )
    found = comparing.compare(release, source, schema or release.schema, options)
    return Evaluation(
        release.kind,
        release.method,
        release.receipt.guarantee,
        found.rows,
        found.scores,
        found.details,
        [over_its_ground(section, release.schema.ground) for section in found.sections],
        found.ceiling,
        time.perf_counter() - started,
        found.remarks,
    )


def evaluator(release: Release) -> Evaluator:
    """What compares releases like this one: the evaluation of its method, or that of its kind of data."""
    own = {info.name: info.evaluation for info in catalogue.methods()}.get(release.method)
    place = own or catalogue.kind(release.kind).evaluation
    if place is None:
        raise UsageError(f"Releases of kind '{release.kind}' cannot be evaluated yet.")
    found = catalogue.load(place)
    if not isinstance(found, type) or not issubclass(found, Evaluator):
        raise TypeError(f"{place} is no evaluation")
    return found()
