"""Records that nobody has: drawn over the declared domains from a few groups, to try things out on.

Nothing is read but the schema. Each group has its own habits in every field, so that fields hang together as
they do among people; how strongly is a guess, and nothing of it is true of anybody.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.schema.attribute import Attribute
from penstock.schema.schema import Schema

GROUPS = 4
_ROUNDS = 100
_WIDTH = 0.12  # of a group's values, where the field is ordered: a share of the range
_EVENNESS = 0.5  # of a group's categories: below 1, a few are frequent


def made_up_rows(schema: Schema, records: int, seed: int = 0) -> pl.DataFrame:
    """So many rows that fit the schema, the same for the same seed; rows that its rules forbid are left out.

    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}]")
    >>> made_up_rows(schema, 3).columns
    ['smoker']
    """
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(GROUPS, 3.0))
    habits = [_habits(attribute, rng) for attribute in schema.attributes]
    kept: list[pl.DataFrame] = []
    missing = records
    for _ in range(_ROUNDS):
        drawn = _drawn(schema, habits, shares, max(1, missing), rng)
        kept.append(drawn.filter(~pl.Series(schema.rules_out(drawn))).head(missing))
        missing -= kept[-1].height
        if missing <= 0:
            break
    if missing > 0:
        raise UsageError(
            "The rules of the schema leave so little possible that no made-up rows can be drawn under them."
        )
    rows = pl.concat(kept)
    column = schema.unit.column
    if column is not None and column not in rows.columns:
        people = np.arange(records) // max(1, schema.unit.records)
        rows = rows.with_columns(pl.Series(column, [f"made up {person}" for person in people.tolist()]))
    return rows


def _habits(attribute: Attribute, rng: np.random.Generator) -> NDArray[np.float64]:
    """For each group how frequent each code is."""
    shares = np.zeros((GROUPS, attribute.size))
    regular = max(1, attribute.regular)
    if attribute.ordered and regular > 2:
        places = (np.arange(regular) + 0.5) / regular
        centres = rng.uniform(0.1, 0.9, GROUPS)
        shares[:, :regular] = np.exp(-0.5 * ((places - centres[:, None]) / _WIDTH) ** 2) + 1e-3
    else:
        shares[:, :regular] = rng.dirichlet(np.full(regular, _EVENNESS), GROUPS) + 1e-3
    shares[:, regular:] = 0.02 * shares.sum(axis=1, keepdims=True)  # missing and other values are rare
    found: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    return found


def _drawn(
    schema: Schema,
    habits: list[NDArray[np.float64]],
    shares: NDArray[np.float64],
    records: int,
    rng: np.random.Generator,
) -> pl.DataFrame:
    group = rng.choice(GROUPS, records, p=shares)
    codes: dict[str, NDArray[np.int64]] = {}
    for attribute, habit in zip(schema.attributes, habits, strict=True):
        rungs = np.cumsum(habit, axis=1)
        rungs[:, -1] = 1.0
        found = np.zeros(records, dtype=np.int64)
        for number in range(GROUPS):
            here = np.flatnonzero(group == number)
            found[here] = np.searchsorted(rungs[number], rng.random(here.size), side="right")
        codes[attribute.name] = np.minimum(found, attribute.size - 1)
    return schema.decode(codes, rng)
