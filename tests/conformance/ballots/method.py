"""Poll: noisy votes. Pure epsilon, because a ballot moves one count by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tests.conformance.ballots.data import Ballots
from tests.conformance.ballots.release import PollRelease

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise


@dataclass(frozen=True)
class Poll(Method[Ballots]):
    """Votes for every candidate; those with fewer than `least` are told as none.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> from tests.conformance.ballots.audits import BALLOTS
    >>> votes = pl.DataFrame({"party": ["red"] * 300 + ["green"] * 3})
    >>> ballots = Ballots.open(votes, Schema.from_yaml(BALLOTS))
    >>> Poll(least=50).fit(ballots, Budget(1, randomness=Randomness.seeded(1))).votes["green"]
    0
    """

    name: ClassVar[str] = "poll"

    least: Annotated[int, Whole(least=0)] = 0

    def fit(self, ballots: Ballots, budget: Budget) -> PollRelease:
        """Count all votes with noise; spends the whole budget."""
        self.ready(ballots, budget)
        counts = noise.counts(ballots.votes(), pay=budget.rest("votes"))
        shown = [int(count) if count >= self.least else 0 for count in counts]
        return PollRelease(
            method=self.name,
            schema=ballots.schema,
            receipt=budget.receipt(ballots.schema.unit, ballots.relation),
            parameters={"least": self.least},
            votes=dict(zip(ballots.candidates, shown, strict=True)),
        )
