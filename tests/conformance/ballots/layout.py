"""Which column is the vote."""

from penstock.errors import SchemaError
from penstock.schema import Layout, Schema


class BallotLayout(Layout):
    """The column of the votes.

    >>> BallotLayout(vote="party").declared
    {'vote': 'party'}
    """

    vote: str

    @property
    def declared(self) -> dict[str, str]:
        return {"vote": self.vote}

    @classmethod
    def of(cls, schema: Schema) -> "BallotLayout":
        if not isinstance(schema.layout, BallotLayout):
            raise SchemaError("ballot: say which column is the vote, such as 'ballot: {vote: party}'.")
        return schema.layout
