"""Paying for a stream: who books it, what was charged, and a source of randomness that does not stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.catalogue import SketchInfo
from penstock.contracts.sketch import Sketch
from penstock.errors import LedgerError, SchemaError, UsageError
from penstock.kinds.stream.layout import StreamLayout
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.charges import Charge
from penstock.privacy.ledger.ledger import Ledger, LedgerAccount
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Seed = int | Randomness | None
"""Where noise comes from: the system, a seed for tests and studies, or a source that an audit watches."""


@contextmanager
def drawing(seed: Seed) -> Iterator[Randomness]:
    """A source of randomness that is gone, with all it read ahead, when the block ends."""
    if isinstance(seed, Randomness):
        source = seed
    else:
        source = Randomness.system() if seed is None else Randomness.seeded(seed)
    try:
        yield source
    finally:
        source.erase()


def charged(budget: Budget, label: str) -> tuple[Charge, str | None]:
    """The one payment of a budget, and its entry in the ledger."""
    receipt = budget.receipt()
    ((_, charge),) = receipt.charges()
    return Charge(label, charge.mechanism, charge.epsilon, charge.delta, charge.sensitivity, charge.detail), (
        receipt.ledger
    )


def complete(budget: Budget, label: str) -> None:
    try:
        budget.complete(label)
    except LedgerError:
        return  # the entry stays 'reserved', which counts as spent


def known_parameters(info: SketchInfo, sketch: type[Sketch], parameters: Mapping[str, Any]) -> dict[str, Any]:
    names = [each.name for each in sketch.parameters()]
    for name in parameters:
        if name not in names:
            raise UsageError(
                f"{info.name} has no parameter '{name!s:.40}'; it has {', '.join(names) or 'none'}. Nothing "
                "was "
                "spent."
            )
    return dict(parameters)


def refuse_schema(info: SketchInfo, schema: Schema) -> None:
    if schema.kind != info.kind:
        raise SchemaError(
            f"{info.name} is for data of kind '{info.kind}', and the schema describes '{schema.kind}'. "
            "Nothing "
            "was spent."
        )
    schema.refuse_if_unreviewed()
    StreamLayout.of(schema)
    if schema.unit.protects != info.unit:
        raise SchemaError(
            f"{info.name} protects one {info.unit}, and the schema says '{schema.unit.protects}'; write "
            "'unit: "
            f"{{protects: {info.unit}}}'. Nothing was spent."
        )
    if schema.relation.value not in info.relations:
        words = " or ".join(info.relations)
        why = (
            ": under 'replace' the total weight of a stream is public"
            if schema.relation is Relation.REPLACE
            else ""
        )
        raise SchemaError(
            f"{info.name} works under the relation {words}, and the schema says "
            f"'{schema.relation.value}'{why}. "
            "Nothing was spent."
        )


def address(ledger: Ledger | str | None) -> str | None:
    """The address of a ledger as it may be written down: a file, never a URL with a password in it."""
    if ledger is None:
        return None
    where = ledger if isinstance(ledger, str) else ledger.place
    return None if "://" in where else str(Path(where).absolute())


def account_of(
    ledger: Ledger | str | None, account: str | None, label: str, holds_at_most: int | None
) -> LedgerAccount | None:
    if ledger is None and account is None:
        return None
    if ledger is None or account is None:
        raise UsageError("A stream that is booked needs both a ledger and an account. Nothing was spent.")
    opened = Ledger.open(ledger) if isinstance(ledger, str) else ledger
    return opened.account(account, label, holds_at_most=holds_at_most)
