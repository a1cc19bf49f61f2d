"""Drafts of ballots: the first column of categories is the vote."""

from __future__ import annotations

import polars as pl
from tests.conformance.ballots.layout import BallotLayout

from penstock.drafting.proposal import KindDraft, Notes
from penstock.schema import Field, Layout


class BallotsDraft(KindDraft):
    """One column is kept.

    >>> from penstock.drafting.proposal import Notes
    >>> party = Field(name="party", constraints={"enum": ["red", "green"]})
    >>> BallotsDraft().arranged([party], None, (), Notes())[1]
    BallotLayout(vote='party')
    """

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        vote = next((each for each in fields if each.kind == "categorical"), None)
        return (fields, None) if vote is None else ([vote], BallotLayout(vote=vote.name))
