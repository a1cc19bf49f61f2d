"""The sealed handle on item sets: baskets, transactions, lists of diagnoses.

The support of an item is the number of units that have it: of sets, or of users where the schema protects
users with several sets. A unit has an item or has it not, so that its coming or going moves each support by
at most one, and all of them in the same direction. Together they move by at most the number of items that a
unit can have, which is the whole universe unless the schema bounds the sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.data import Data
from penstock.errors import DataError, SchemaError
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.reading import Incidence, open_itemsets
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema


class ItemSets(Data):
    """Item sets that can be counted and not seen.

    >>> import polars as pl
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, butter, milk]}}
    ... ''')
    >>> ItemSets.open(pl.DataFrame({"basket": ["milk bread", "butter", ""]}), schema).supports()
    Sealed(sensitivity 3, add-remove)
    """

    def __init__(self, incidence: Incidence, schema: Schema) -> None:
        _ = ItemSetLayout.of(schema)
        self._incidence, self.schema = incidence, schema
        if schema.relation is Relation.REPLACE:
            if schema.unit.records > 1:
                raise SchemaError(
                    "relation 'replace' keeps the number of item sets fixed, but a user who is replaced may "
                    "bring another number of them; set unit.at_most to 1, or use relation 'add-remove'."
                )
            if schema.size is None:
                raise SchemaError(
                    "relation 'replace' makes the number of item sets public; declare it in the schema as "
                    "'size', or use relation 'add-remove'."
                )

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> ItemSets:
        nothing = np.zeros(0, dtype=np.int64)
        cls(Incidence(nothing, nothing, nothing), schema)  # refuses bad schemas before anything is read
        found = open_itemsets(source, schema, table=table, order_key=order_key)
        if schema.relation is Relation.REPLACE and schema.size != found.size:
            raise DataError(
                f"The schema declares a public size of {schema.size} item sets and the data has another "
                "number; correct one of them. Nothing was spent."
            )
        return cls(found, schema)

    def __repr__(self) -> str:
        return f"ItemSets({len(self.universe)} items, sealed, {self.schema.relation.value})"

    @property
    def universe(self) -> tuple[str, ...]:
        """All items that can be: public. Signs for missing and other items are none of them."""
        return self.schema.field(ItemSetLayout.of(self.schema).item).labels

    @property
    def counted(self) -> str:
        """What a support counts."""
        return "users" if self.schema.unit.protects == "user" else "item sets"

    @property
    def sensitivity(self) -> Sensitivity:
        """Of all supports together."""
        size, largest = len(self.universe), ItemSetLayout.of(self.schema).largest
        most = size if largest is None else min(size, largest * self.schema.unit.records)
        if self.schema.relation is Relation.ADD_REMOVE:
            return Sensitivity.of(most, linf=1, monotone=True)
        return Sensitivity.of(2 * most, linf=1)

    def size(self) -> Sealed[NDArray[np.int64]]:
        """The number of item sets, as a vector of one."""
        moves = self.schema.unit.records if self.schema.relation is Relation.ADD_REMOVE else 0
        return Sealed(
            np.array([self._incidence.size], dtype=np.int64),
            Sensitivity.of(moves, monotone=True),
            self.schema.relation,
            because="every set is counted once; under replace the number is public and stays as it is",
        )

    def supports(self) -> Sealed[NDArray[np.int64]]:
        """For every item of the universe, how many units have it."""
        size = self.schema.codec(ItemSetLayout.of(self.schema).item).size
        counts = self._incidence.holders(size)[: len(self.universe)]
        return Sealed(
            counts,
            self.sensitivity,
            self.schema.relation,
            because="a unit has an item or not: coming or going it moves the support of each item that it "
            "has by one, and it has no more items than the schema allows in all of its sets; one that is "
            "replaced loses its items and brings others, which moves each support by one at most",
        )
