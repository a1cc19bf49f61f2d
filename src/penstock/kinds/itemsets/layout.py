"""Which columns of the data make an item set."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from penstock.errors import SchemaError
from penstock.schema import Layout, Schema

USUAL_SIZE = 100
"""Items of a large set, where the schema sets no bound."""


class ItemSetLayout(Layout):
    """Which columns make an item set: a basket, a transaction, a list of diagnoses.

    With a `transaction`, every row is one item, and rows with the same value there are one set. Without,
    every row is one whole set: its `item` column holds a list, or text cut at the `separator` (by default at
    blanks). ``header: false`` is for text files whose lines are sets and nothing else, without a name above
    them. Of every set at most `largest` items are kept, chosen at random; leave it out when no bound is
    needed.

    >>> ItemSetLayout(item="product", transaction="basket").declared
    {'item': 'product'}
    """

    missing: ClassVar[str] = (
        "items: the schema does not say which columns make an item set. Add a line such as "
        "'items: {item: product, transaction: basket}' or 'items: {item: products}'."
    )
    not_columns: ClassVar[tuple[str, ...]] = ("separator",)

    item: str = Field(description="the field of items")
    transaction: str | None = Field(default=None, description="the column that says which rows are one set")
    separator: str | None = Field(default=None, description="what separates items in a text")
    largest: int | None = Field(default=None, description="so many items of a set at most")
    header: bool = Field(default=True, description="whether the file has a line of names")

    @model_validator(mode="after")
    def _possible(self) -> ItemSetLayout:
        if self.largest is not None and self.largest < 1:
            raise SchemaError(f"items: largest is {self.largest}; at least 1 item must be kept.")
        if self.separator is not None and (self.transaction is not None or not self.separator):
            raise SchemaError(
                "items: 'separator' cuts the text of a row that is a whole set, and is not empty; remove it."
            )
        if not self.header and self.transaction is not None:
            raise SchemaError(
                "items: 'header: false' is for lines that are whole sets; with a 'transaction' the columns "
                "need their names."
            )
        return self

    @classmethod
    def _where(cls, data: object) -> str:
        return "items"

    @property
    def headless(self) -> bool:
        return not self.header

    @property
    def gathered_by(self) -> str | None:
        return self.transaction

    @property
    def most_values(self) -> int:
        return self.largest or USUAL_SIZE

    @property
    def declared(self) -> dict[str, str]:
        return {"item": self.item}

    def refuse(self, schema: Schema) -> None:
        for field in schema.fields:
            if field.name != self.item:
                raise SchemaError(
                    f"{field.name}: a release of item sets holds the items ('{self.item}') and nothing "
                    "else. Remove this field from the schema."
                )
