"""Records that stay inside a database: how a kind asks it for counts, and what it keeps for that.

Sequences, item sets and calls are coded where they are and counted there. What comes back are whole numbers
for cells that the question names, and never a record. Everything here is raw and lies below the seal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from penstock.engine.collations import refuse_folding
from penstock.engine.connection import Duck, explained
from penstock.engine.database import Numbers
from penstock.engine.records import Source
from penstock.engine.stored import database_of

if TYPE_CHECKING:
    import ibis.expr.types as ir

T = TypeVar("T")


class Inside:
    """Raw: the records of a source in the database that holds them, or in a DuckDB that reads them."""

    def __init__(self, records: Source, columns: Sequence[str], duck: Duck | None = None) -> None:
        self._failure = records.failure
        self._duck = duck
        self.source: ir.Table = self.asked(lambda: records.table(columns, duck=duck))
        # Held from the first question to the last: with it go the lists that were handed over, and in
        # PostgreSQL the snapshot.
        self.database = self.asked(lambda: database_of(self.source))
        self.asked(lambda: refuse_folding(self.database, self.source))

    def asked(self, question: Callable[[], T]) -> T:
        """The answer to a question; what goes wrong there as a sentence for the custodian."""
        with explained(self._failure):
            return question()

    def counts(self, table: ir.Table, key: Any, cells: int) -> Numbers:
        """How many rows of a table have each whole number below `cells`."""
        (found,) = self.asked(lambda: self.database.tables(table, [key.cast("int64")]))
        return _dense(*found, cells)

    def sums(self, table: ir.Table, key: Any, amount: Any) -> tuple[Numbers, Numbers]:
        """The sum of an amount for each whole number that a key has, ascending."""
        read = table.select(key=key.cast("int64"), amount=amount.cast("int64"))
        grouped = read.group_by("key").aggregate(total=read["amount"].sum().cast("int64"))
        found = self.asked(lambda: self.database.numbers(grouped))
        order = np.argsort(found["key"])
        return found["key"][order], found["total"][order]

    def summed(self, table: ir.Table, key: Any, amount: Any, cells: int) -> Numbers:
        """The same for each whole number below `cells`."""
        return _dense(*self.sums(table, key, amount), cells)


def _dense(keys: Numbers, numbers: Numbers, cells: int) -> Numbers:
    found = np.zeros(cells, dtype=np.int64)
    found[keys] = numbers
    return found
