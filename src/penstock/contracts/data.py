"""What every sealed handle on data offers: the only thing that a method ever gets to see of the records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from penstock import catalogue
from penstock.engine import refuse_engine
from penstock.engine.header import Header
from penstock.engine.source import read
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.unit import Relation, Unit
from penstock.schema import Schema


class Handle:
    """Gives out sealed values: a handle on data, or on a part of them such as a level of a hierarchy.

    The audit finds by this name whatever could state too small a sensitivity.
    """


class Data(Handle, ABC):
    """Records of one kind that can be counted and not seen.

    Whatever a handle gives out about the records is sealed; its schema and what follows from it is public.
    """

    schema: Schema
    repeatable: bool = False
    """Whether the records that users keep were chosen by a key that is known: such a release is not for the
    public."""
    made_of: Unit | None = None
    """The unit of the data that these records were made of, one for one; None: they are what was opened."""

    @final
    @classmethod
    def open(
        cls,
        source: Any,
        schema: Schema,
        *,
        table: str | None = None,
        engine: str = "auto",
        order_key: bytes | None = None,
    ) -> Self:
        """Read, validate and code the records; what the schema refuses stops here, before any charge.

        `source` is a file, a database URL (with `table`) or a frame. `engine` is one that the catalogue knows
        for this kind of data, or 'auto'. `order_key` repeats the random choice of the records that a user
        keeps, for runs with a seed; it makes every release of the data unpublishable.
        """
        refuse_engine(engine, catalogue.kind(schema.kind).engines, f"Data of kind '{schema.kind}'")
        opened = cls._opened(source, schema, table=table, engine=engine, order_key=order_key)
        opened.repeatable = order_key is not None
        return opened

    @classmethod
    @abstractmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> Self:
        """The handle on these records: what `open` does where kinds of data differ."""

    @classmethod
    def read(cls, source: Any, schema: Schema, *, table: str | None = None, header: Header = None) -> Any:
        """What `open` is given: the source as the house reads it, or as the kind does where only it can."""
        if schema.layout is not None and schema.layout.headless:
            return source
        return read(source, table=table, header=header)

    @property
    def relation(self) -> Relation:
        """Against which change the records are protected."""
        return self.schema.relation

    @property
    def booked(self) -> Unit:
        """The unit as a ledger keeps it."""
        return self.made_of or self.schema.booked

    @property
    def declared(self) -> Schema:
        """The schema that was written down; `schema` may say more, once something was found and paid for."""
        return self.schema

    @abstractmethod
    def size(self) -> Sealed[NDArray[np.int64]]:
        """The number of records, as a vector of one."""

    def prepared(self, budget: Budget) -> tuple[Self, Budget]:
        """The data as a method sees it, and what is left of the budget for the method.

        A kind whose schema leaves something to be found in the records first, such as bins that follow
        the data, finds it here and pays for it.
        """
        return self, budget
