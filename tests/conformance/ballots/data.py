"""The sealed handle on ballots: a ballot is for one candidate, so it moves one count by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.conformance.ballots.layout import BallotLayout

from penstock.contracts.data import Data
from penstock.engine import open_engine
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema


class Ballots(Data):
    """Ballots that can be counted and not seen.

    >>> import polars as pl
    >>> from tests.conformance.ballots.audits import BALLOTS
    >>> Ballots.open(pl.DataFrame({"party": ["red", "green", "red"]}), Schema.from_yaml(BALLOTS)).votes()
    Sealed(sensitivity 1, add-remove)
    """

    def __init__(self, counts: NDArray[np.int64], schema: Schema) -> None:
        self._counts, self.schema = counts, schema

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> Ballots:
        vote = BallotLayout.of(schema).vote
        (counts,) = open_engine(source, schema, table=table, order_key=order_key).counts([(vote,)])
        return cls(counts, schema)

    @property
    def candidates(self) -> tuple[str, ...]:
        return self.schema.field(BallotLayout.of(self.schema).vote).labels

    def votes(self) -> Sealed[NDArray[np.int64]]:
        """The votes for each candidate."""
        return Sealed(
            self._counts, Sensitivity.of(1, monotone=True), self.relation, because="a ballot has one vote"
        )

    def size(self) -> Sealed[NDArray[np.int64]]:
        return Sealed(
            np.array([self._counts.sum()]),
            Sensitivity.of(1, monotone=True),
            self.relation,
            because="a ballot is counted once",
        )
