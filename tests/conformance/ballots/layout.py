"""Which column is the vote."""

from typing import ClassVar

from pydantic import Field

from penstock.schema import Layout


class BallotLayout(Layout):
    """The column of the votes.

    >>> BallotLayout(vote="party").declared
    {'vote': 'party'}
    """

    missing: ClassVar[str] = "ballot: say which column is the vote, such as 'ballot: {vote: party}'."

    vote: str = Field(description="the field of votes")

    @property
    def declared(self) -> dict[str, str]:
        return {"vote": self.vote}
