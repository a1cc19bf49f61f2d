"""What a poll publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from pydantic import BaseModel

from penstock.errors import QueryError
from penstock.releases import Answer, Manifest, Model, Question, Release
from penstock.report.picture import Picture
from penstock.report.pictures import bars


class _Saved(BaseModel):
    votes: dict[str, int]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PollRelease(Release):
    """Noisy votes.

    >>> import polars as pl
    >>> from penstock.schema import Schema
    >>> from tests.conformance.ballots.audits import BALLOTS
    >>> from tests.conformance.ballots.data import Ballots
    >>> from tests.conformance.ballots.method import Poll
    >>> from penstock.privacy.budgets.budget import Budget
    >>> ballots = Ballots.open(pl.DataFrame({"party": ["red"] * 300}), Schema.from_yaml(BALLOTS))
    >>> release = Poll().fit(ballots, Budget(1))
    >>> 250 < release.questions()["votes"].ask("red").value < 350
    True
    """

    kinds: ClassVar[tuple[str, ...]] = ("ballots",)
    answer: ClassVar[str] = "counts"
    form: ClassVar[str] = "poll"

    votes: Mapping[str, int]

    def model(self) -> Model:
        return Model(json=_Saved(votes=dict(self.votes)).model_dump())

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        return cls(**manifest.common, votes=model.read(_Saved).votes)

    def questions(self) -> Mapping[str, Question]:
        return {"votes": Question("votes are told", self._votes_of, example=next(iter(self.votes)))}

    def pictures(self) -> Sequence[Picture]:
        return [bars("Votes", list(self.votes), list(self.votes.values()), amount="votes")]

    def _votes_of(self, name: str) -> Answer:
        if name not in self.votes:
            raise QueryError(f"'{name}' did not stand; there were {', '.join(self.votes)}.")
        return Answer(self.votes[name], None, "votes")
