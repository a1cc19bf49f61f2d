"""How far the noisy votes are from the true ones."""

from __future__ import annotations

from typing import Any

from tests.conformance.ballots.layout import BallotLayout
from tests.conformance.ballots.release import PollRelease

from penstock.engine import read
from penstock.evaluation import Evaluator, Findings, Options, Score
from penstock.releases import Release
from penstock.schema import Schema


class BallotsEvaluation(Evaluator):
    """The votes that noise moved, as a share of all votes.

    >>> import polars as pl
    >>> from penstock.schema import Schema
    >>> from tests.conformance.ballots.audits import BALLOTS
    >>> from tests.conformance.ballots.data import Ballots
    >>> from tests.conformance.ballots.method import Poll
    >>> from penstock.privacy.budgets.budget import Budget
    >>> schema, votes = Schema.from_yaml(BALLOTS), pl.DataFrame({"party": ["red"] * 300})
    >>> release = Poll().fit(Ballots.open(votes, schema), Budget(1))
    >>> BallotsEvaluation().compare(release, votes, schema, Options()).rows
    300
    """

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        assert isinstance(release, PollRelease)
        votes = read(source, table=options.table).frame([BallotLayout.of(schema).vote]).to_series()
        truth = {name: int((votes == name).sum()) for name in release.votes}
        off = sum(abs(count - truth[name]) for name, count in release.votes.items()) / max(1, len(votes))
        return Findings((Score("votes", off, floor=1.0, ceiling=0.0),), len(votes))
