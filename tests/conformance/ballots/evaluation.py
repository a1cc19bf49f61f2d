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
    """The votes that noise moved, as a share of all votes."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        assert isinstance(release, PollRelease)
        votes = read(source, table=options.table).frame([BallotLayout.of(schema).vote]).to_series()
        truth = {name: int((votes == name).sum()) for name in release.votes}
        off = sum(abs(count - truth[name]) for name, count in release.votes.items()) / max(1, len(votes))
        return Findings((Score("votes", off, floor=1.0, ceiling=0.0),), len(votes))
