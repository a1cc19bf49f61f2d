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
    """Votes for every candidate; those with fewer than `least` are told as none."""

    name: ClassVar[str] = "poll"

    least: Annotated[int, Whole(least=0)] = 0

    def fit(self, ballots: Ballots, budget: Budget) -> PollRelease:
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
