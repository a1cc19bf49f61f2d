"""The sealed handle on points: records with coordinates in a public box.

A point falls into exactly one cell of any grid, so a histogram has L1 sensitivity 1 when one point
is added or removed, and m when a user with up to m points is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine import Engine, open_engine
from penstock.errors import SchemaError
from penstock.privacy.sealed import Sealed, Sensitivity
from penstock.schema import Relation, Schema

Counts = NDArray[np.int64]

LATTICE_BITS = 30
"""Coordinates are placed on a public lattice of 2**30 steps, so that every engine agrees on the cells."""


class Points:
    """Points that can be counted and not seen.

    >>> import polars as pl
    >>> schema = Schema.from_yaml('''
    ... kind: points
    ... fields:
    ...   - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
    ... ''')
    >>> Points.open(pl.DataFrame({"x": [0.5, 0.7]}), schema).histogram([4])
    Sealed(sensitivity 1, add-remove)
    """

    def __init__(self, engine: Engine, schema: Schema) -> None:
        if schema.relation is not Relation.ADD_REMOVE:
            raise SchemaError(
                "Methods for points protect one point or user added or removed; set relation to "
                "'add-remove' in the schema."
            )
        self._engine = engine
        self.schema = schema
        for field in schema.fields:
            if not field.ranged:
                raise SchemaError(
                    f"{field.name}: a coordinate must be a number or a date with bounds, not "
                    f"{field.kind}. Remove the field, or declare the data as kind 'table'."
                )
        self.low = tuple(field.edges.low for field in schema.fields)
        self.high = tuple(field.edges.end for field in schema.fields)

    @classmethod
    def open(
        cls,
        source: Any,
        schema: Schema,
        *,
        table: str | None = None,
        engine: str = "auto",
        order_key: bytes | None = None,
    ) -> Points:
        """Read and validate the points; what the schema refuses stops here, before any charge.

        `order_key` repeats the choice of each user's records, for runs with a seed.
        """
        return cls(open_engine(source, schema, table=table, engine=engine, order_key=order_key), schema)

    def __repr__(self) -> str:
        return f"Points({' x '.join(self.names)}, sealed, {self.relation.value})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def relation(self) -> Relation:
        return self.schema.relation

    @property
    def sensitivity(self) -> Sensitivity:
        """Of one histogram over disjoint cells."""
        records = self.schema.unit.records
        return Sensitivity.of(records, linf=records, l2_squared=records**2, monotone=True)

    def size(self) -> Sealed[Counts]:
        """The number of points, as a vector of one."""
        return Sealed(np.array([self._engine.rows()], dtype=np.int64), self.sensitivity, self.relation)

    def histogram(self, sides: Sequence[int]) -> Sealed[Counts]:
        """Counts of the cells of a regular grid over the public box, flat in C order."""
        positions, weights = self._engine.lattice(self.names, LATTICE_BITS)
        scaled = (positions * np.asarray(sides, dtype=np.int64)) >> LATTICE_BITS
        cells = np.ravel_multi_index(tuple(scaled.T), tuple(sides))
        counts = np.bincount(cells, weights=weights, minlength=int(np.prod(sides))).astype(np.int64)
        return Sealed(counts, self.sensitivity, self.relation)
