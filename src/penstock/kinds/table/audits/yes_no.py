"""Tiny tables of yes/no columns, on which the private steps of methods are enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.kinds.table.data import Table
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Records = Sequence[tuple[int, ...]]


def yes_no_table(records: Records, columns: int, relation: Relation, at_most: int | None = None) -> Table:
    """So many columns x0, x1, … of 0 and 1; with `at_most`, behind them whose record it is.

    >>> yes_no_table([(0, 1), (1, 1)], 2, Relation.REPLACE)
    Table(2 attributes, sealed, replace)
    """
    import polars as pl

    names = [f"x{number}" for number in range(columns)]
    facts: dict[str, Any] = {
        "fields": [{"name": name, "type": "integer", "constraints": {"enum": [0, 1]}} for name in names]
    }
    if relation is Relation.REPLACE:
        facts |= {"relation": "replace", "size": len(records)}
    if at_most is not None:
        facts["unit"] = {"protects": "user", "column": "person", "at_most": at_most}
        names.append("person")
    frame = pl.DataFrame(list(records), schema=names, orient="row")
    return Table.open(frame, Schema.model_validate(facts))
