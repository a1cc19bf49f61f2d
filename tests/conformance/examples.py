"""Tiny data to try a method on, from the audits of the method's room (`MethodAudit`).

They are records that may occur, a schema, and parameters that matter. A method without an audit has no
example, and fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import polars as pl

import penstock
from penstock.audit.hostile import described
from penstock.audit.methods import MethodAudit
from penstock.audit.targets import every_audit
from penstock.catalogue import MethodInfo
from penstock.privacy.budgets.amounts import Amount
from penstock.privacy.unit import Relation
from penstock.releases import Release
from penstock.schema import Schema


@dataclass(frozen=True)
class Example:
    """Data that a method can be tried on."""

    schema: Schema
    frame: pl.DataFrame
    parameters: dict[str, Any]
    delta: Fraction = Fraction(0)

    def under(self, relation: str, *, public: bool = False) -> Example:
        """The same records under another relation; replace makes their number public, as `public` does."""
        facts = self.schema.model_dump(by_alias=True, exclude_defaults=True)
        facts["relation"] = relation
        facts.pop("size", None)
        if relation == Relation.REPLACE or public:
            facts["size"] = self.frame.height
        return replace(self, schema=Schema.model_validate(facts))


def audits_of(info: MethodInfo) -> list[MethodAudit]:
    """The audits of a method, wherever they are listed."""
    return [audit for audits in every_audit() for audit in audits.methods if audit.method == info.name]


def example_of(audit: MethodAudit) -> Example:
    """What an audit tries, as records of a custodian."""
    schema = described(audit.schema)
    records = list(audit.universe) or list(audit.pairs[0].second)
    if schema.size is not None:
        records = (records * schema.size)[: schema.size]
    columns = list(audit.columns or schema.names)
    frame = pl.DataFrame(records, schema=columns, orient="row")
    return Example(schema, frame, dict(audit.parameters), audit.delta)


@cache
def examples(info: MethodInfo) -> list[Example]:
    """Everything that the audits of a method try, and the first of it with a crowd of records."""
    found = [example_of(audit) for audit in audits_of(info)]
    assert found, f"{info.name} has no audit, so there is nothing to try it on"
    crowd = next((one for one in found if one.schema.size is None), None)
    if crowd is not None:
        found.append(replace(crowd, frame=pl.concat([crowd.frame] * 40)))
    return found


def fitted(
    info: MethodInfo,
    example: Example,
    epsilon: Amount = "1",
    *,
    engine: str = "memory",
    seed: int | None = 5,
) -> Release:
    """One release, the way a user makes it."""
    return penstock.release(
        example.frame,
        example.schema,
        epsilon=epsilon,
        delta=example.delta,
        method=info.name,
        parameters=example.parameters,
        engine=engine,
        seed=seed,
    )


def words_of(release: Release) -> tuple[Any, ...]:
    """Everything that a release publishes, to be compared."""
    model = release.model()
    tables = {name: table.to_dict(as_series=False) for name, table in model.tables.items()}
    return (
        release.method,
        release.form,
        release.kind,
        release.answer,
        release.schema,
        release.receipt.to_dict(),
        dict(release.parameters),
        dict(model.json),
        tables,
    )
