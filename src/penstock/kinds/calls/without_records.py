"""WHERE on public data: a release of which all six tables are public, so that no record is read.

It costs nothing and its receipt is empty: a line to compare with, and of use where nobody has records.
"""

from __future__ import annotations

from pathlib import Path

from penstock.errors import UsageError
from penstock.kinds.calls.public import PublicTables
from penstock.kinds.calls.region import Region
from penstock.kinds.calls.release import CallsRelease
from penstock.kinds.calls.tables import PARTS, Tables
from penstock.kinds.calls.where import Where
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Schema


def release(schema: Schema, folder: str | Path, *, depth: int = 6) -> CallsRelease:
    """WHERE on public data: a release from six public tables; no record is read and nothing paid."""
    given = PublicTables.read(folder, schema)
    missing = [part for part in PARTS if part not in given.parts]
    if missing:
        raise UsageError(f"public: '{folder}' lacks {', '.join(missing)}; without records all are needed.")
    region, side = Region.of(schema), 1 << depth
    tables = Tables(
        side=side,
        home=given.places("home", side),
        work=given.places("work", side),
        callers=given.callers,
        **given.commute(region.diagonal),
        **given.per_day(),
        **given.call_time(),
        **given.hours(side),
    )
    return CallsRelease(
        method=Where.name,
        schema=schema,
        receipt=Budget(1).receipt(schema.unit, schema.relation),
        parameters={"public": str(folder), "depth": depth},
        tables=tables,
        public=given.parts,
    )
