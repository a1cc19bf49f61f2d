"""Which columns of the data make a sequence."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from penstock.errors import SchemaError
from penstock.kinds.sequences.rules import OrderRules
from penstock.schema import Layout, Schema

LARGEST_LENGTH = 10**9
"""No more symbols of a sequence are kept, whatever is declared."""
USUAL_LENGTH = 100
"""Symbols of a long sequence, where the schema sets no bound."""


class SequenceLayout(Layout):
    """Which columns make a sequence.

    With a `user`, every row is one event: the rows of a user, ordered by `time` (or as they stand), are
    one sequence. Without, every row is one whole sequence: its `symbol` column holds a list, or text cut
    at the `separator` (by default at blanks). Of every sequence the first `longest` symbols are kept; the
    end of a sequence counts as one.

    What is known about their order holds in all synthetic sequences: they begin with one of the symbols in
    `first` and end with one of those in `last`, have those in `once` at most once, and of the symbols of a
    list in `never_both` one at most.

    >>> SequenceLayout(symbol="page", user="visitor", longest=20).declared
    {'symbol': 'page'}
    """

    missing: ClassVar[str] = (
        "sequence: the schema does not say which columns make a sequence. Add a line such as "
        "'sequence: {user: visitor, time: visited, symbol: page, longest: 20}'."
    )
    not_columns: ClassVar[tuple[str, ...]] = ("separator",)

    symbol: str = Field(description="the field of symbols")
    user: str | None = Field(default=None, description="the column that says whose events they are")
    time: str | None = Field(default=None, description="the column that orders events")
    separator: str | None = Field(default=None, description="what separates symbols in a text")
    longest: int | None = Field(default=None, description="so many symbols of a sequence at most")
    first: tuple[str, ...] = Field(default=(), description="sequences begin with one of these symbols")
    last: tuple[str, ...] = Field(default=(), description="sequences end with one of these symbols")
    once: tuple[str, ...] = Field(default=(), description="these symbols occur once at most")
    never_both: tuple[tuple[str, ...], ...] = Field(
        default=(), description="lists of symbols of which a sequence has one at most"
    )

    @model_validator(mode="after")
    def _possible(self) -> SequenceLayout:
        if self.longest is not None and self.longest < 1:
            raise SchemaError(f"sequence: longest is {self.longest}; at least 1 symbol must be kept.")
        if self.time is not None and self.user is None:
            raise SchemaError(
                "sequence: 'time' orders the events of a user; name the 'user' too, or remove it."
            )
        if any(len(set(pair)) < 2 for pair in self.never_both):
            raise SchemaError(
                "sequence: 'neverBoth' lists symbols of which a sequence has one at most; give two or more, "
                "such as 'neverBoth: [[paid, rejected]]'."
            )
        if self.separator is not None and (self.user is not None or not self.separator):
            raise SchemaError(
                "sequence: 'separator' cuts the text of a row that is a whole sequence, and is not empty; "
                "remove it."
            )
        return self

    @classmethod
    def _where(cls, data: object) -> str:
        return "sequence"

    @property
    def gathered_by(self) -> str | None:
        return self.user

    @property
    def most_values(self) -> int:
        return self.longest or USUAL_LENGTH

    @property
    def declared(self) -> dict[str, str]:
        return {"symbol": self.symbol}

    def refuse(self, schema: Schema) -> None:
        for field in schema.fields:
            if field.name not in (self.symbol, self.time):
                raise SchemaError(
                    f"{field.name}: a release of sequences holds the symbols ('{self.symbol}') and "
                    "nothing else. Remove this field from the schema."
                )
        if schema.field(self.symbol).labels:
            OrderRules.of(self, schema.attribute(self.symbol).labels, self.longest or LARGEST_LENGTH)
        if self.time in schema.names:
            field = schema.field(self.time or "")
            if field.outside == "other" or field.missing == "value":
                raise SchemaError(
                    f"{field.name}: events are ordered by their times, so that none may be missing or "
                    "unknown. Remove 'missing' and 'outside: other' from this field."
                )
        if schema.unit.protects == "user" and schema.unit.column == self.user and schema.unit.records > 1:
            raise SchemaError(
                f"unit: all events of one {self.user} are one sequence, of which 'sequence: longest' says "
                "how much is kept. Set 'at_most: 1'."
            )
