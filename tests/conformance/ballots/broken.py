"""Poll with one mistake each: what the conformance suite must catch, as audits must their broken copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from tests.conformance.ballots.data import Ballots
from tests.conformance.ballots.method import Poll
from tests.conformance.ballots.release import PollRelease

from penstock.contracts.parameters import Parameter, Whole
from penstock.errors import UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Answer, Manifest, Model, Question
from penstock.releases.batch import answered
from penstock.report.picture import Picture

R = TypeVar("R", bound=PollRelease)


class Rounded(Poll):
    """Spends the budget as a double, which is nearly the whole of it."""

    def fit(self, ballots: Ballots, budget: Budget) -> PollRelease:
        share = Fraction(float(budget.epsilon)) / budget.epsilon
        counts = noise.counts(ballots.votes(), pay=budget.part("votes", min(share, Fraction(1))))
        return _told(self, ballots, budget, counts)


class PaysFirst(Poll):
    """Finds out what it refuses when the votes are paid for."""

    def fit(self, ballots: Ballots, budget: Budget) -> PollRelease:
        made = super().fit(ballots, budget)
        if self.least > 10**6:
            raise UsageError("least is larger than any count. Nothing was spent.")
        return made


class RefusesInFit(Poll):
    """Refuses a schema of the kind in `fit`, where something else may have been paid before."""

    def fit(self, ballots: Ballots, budget: Budget) -> PollRelease:
        if len(ballots.candidates) > 2:
            raise UsageError("A poll is about two candidates. Nothing was spent.")
        return super().fit(ballots, budget)


@dataclass(frozen=True)
class TooWide(Poll):
    """Declares a range that its arithmetic does not reach."""

    least: Annotated[int, Whole(least=0)] = 0

    def fit(self, ballots: Ballots, budget: Budget) -> PollRelease:
        replace(self, least=int(np.int64(self.least)))
        return super().fit(ballots, budget)


class Undeclared(Poll):
    """Takes an argument and declares no parameter."""

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        return ()


class Constant(Poll):
    """Draws the same noise every time, and says that it is secret."""

    def fit(self, ballots: Ballots, budget: Budget) -> PollRelease:
        known = super().fit(ballots, Budget(budget.epsilon, randomness=Randomness.seeded(0)))
        return replace(super().fit(ballots, budget), votes=known.votes)


class Forgetful(Poll):
    """Its release forgets its error bar when it is saved."""

    def fit(self, ballots: Ballots, budget: Budget) -> ForgetfulRelease:
        return _as(ForgetfulRelease, super().fit(ballots, budget))


class Blank(Poll):
    """Its release has nothing to show."""

    def fit(self, ballots: Ballots, budget: Budget) -> BlankRelease:
        return _as(BlankRelease, super().fit(ballots, budget))


class Silent(Poll):
    """Its release does not say which parameters were given."""

    def fit(self, ballots: Ballots, budget: Budget) -> PollRelease:
        return replace(super().fit(ballots, budget), parameters={})


class Empty(Poll):
    """Its release shows a picture of nothing."""

    def fit(self, ballots: Ballots, budget: Budget) -> EmptyRelease:
        return _as(EmptyRelease, super().fit(ballots, budget))


class Generous(Poll):
    """Its release draws one ballot more than asked for, beyond the first."""

    def fit(self, ballots: Ballots, budget: Budget) -> GenerousRelease:
        return _as(GenerousRelease, super().fit(ballots, budget))


class Narrow(Poll):
    """Its release draws every ballot for the first candidate."""

    def fit(self, ballots: Ballots, budget: Budget) -> NarrowRelease:
        return _as(NarrowRelease, super().fit(ballots, budget))


class Boastful(Poll):
    """Its release says that its votes are half as noisy as they are."""

    def fit(self, ballots: Ballots, budget: Budget) -> BoastfulRelease:
        return _as(BoastfulRelease, super().fit(ballots, budget))


class Hasty(Poll):
    """Its release answers all questions of a file like the first."""

    def fit(self, ballots: Ballots, budget: Budget) -> HastyRelease:
        return _as(HastyRelease, super().fit(ballots, budget))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ForgetfulRelease(PollRelease):
    """Knows its error bar only until it is saved."""

    margin: float | None = 3.0

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        return replace(super().from_model(manifest, model), margin=None)

    def questions(self) -> Mapping[str, Question]:
        votes = super().questions()["votes"]
        first = next(iter(self.votes))
        return {
            "votes": replace(votes, ask=lambda _: Answer(self.votes[first], self.margin, "votes", "counted"))
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BlankRelease(PollRelease):
    """Draws no picture."""

    def pictures(self) -> Sequence[Picture]:
        return []


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EmptyRelease(PollRelease):
    """Draws a picture without a number in it."""

    def pictures(self) -> Sequence[Picture]:
        return [replace(picture, rows=()) for picture in super().pictures()]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GenerousRelease(PollRelease):
    """Ballots, one too many."""

    answer: ClassVar[str] = "synthetic data"

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        drawn = rng.choice(list(self.votes), size=n + (n > 1))
        return pl.DataFrame({"party": drawn.astype(str)}, schema={"party": pl.String})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CountedRelease(PollRelease):
    """Votes that are as they were counted."""

    def _votes_of(self, name: str) -> Answer:
        return replace(super()._votes_of(name), rests_on="counted")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NarrowRelease(CountedRelease):
    """Ballots from one cell of all."""

    answer: ClassVar[str] = "synthetic data"

    @property
    def size(self) -> int:
        return sum(self.votes.values())

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        return pl.DataFrame({"party": [next(iter(self.votes))] * n}, schema={"party": pl.String})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BoastfulRelease(CountedRelease):
    """Votes with bars that are too short."""

    def _votes_of(self, name: str) -> Answer:
        return replace(super()._votes_of(name), error=noise.margin(1, self.receipt.epsilon) / 2)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HastyRelease(PollRelease):
    """Votes for whoever stands first in a file."""

    def questions(self) -> Mapping[str, Question]:
        votes = super().questions()["votes"]

        def many(path: str) -> pl.DataFrame:
            return answered(path, "name", lambda _: self._votes_of(next(iter(self.votes))))

        return {"votes": replace(votes, many=many)}


def _told(poll: Poll, ballots: Ballots, budget: Budget, counts: NDArray[Any]) -> PollRelease:
    return PollRelease(
        method=poll.name,
        schema=ballots.schema,
        receipt=budget.receipt(ballots.schema.unit, ballots.relation),
        parameters={"least": poll.least},
        votes=dict(zip(ballots.candidates, counts.tolist(), strict=True)),
    )


def _as(form: type[R], made: PollRelease) -> R:
    return form(
        method=made.method,
        schema=made.schema,
        receipt=made.receipt,
        parameters=made.parameters,
        votes=made.votes,
    )
