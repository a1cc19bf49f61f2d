"""The lines of a ledger, and what they leave of an account's limit: plain values, whatever keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from penstock.errors import BudgetError, LedgerError
from penstock.privacy.budgets.accounting import converted, sequential
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.unit import Relation

Status = Literal["reserved", "complete", "returned"]


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the ledger: what one release was allowed to cost."""

    name: str
    account: str
    time: str
    label: str
    epsilon: Fraction
    delta: Fraction
    relation: Relation
    status: Status
    release: str

    @property
    def counts(self) -> bool:
        """Whether it is part of what was spent."""
        return self.status != "returned"

    def to_dict(self) -> dict[str, str]:
        """Plain JSON; every amount is an exact fraction in text."""
        return {name: str(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Balance:
    """What an account may cost in all, and what it has cost so far, under its relation."""

    account: str
    relation: Relation
    limit: tuple[Fraction, Fraction]
    spent: tuple[Fraction, Fraction]
    entries: int

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """What may still be spent; nothing, when the limit was lowered below what is spent."""
        return max(Fraction(0), self.limit[0] - self.spent[0]), max(
            Fraction(0), self.limit[1] - self.spent[1]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; every amount is an exact fraction in text."""
        return {
            "account": self.account,
            "relation": self.relation.value,
            "entries": self.entries,
            **{
                name: {"epsilon": str(pair[0]), "delta": str(pair[1])}
                for name, pair in (("limit", self.limit), ("spent", self.spent), ("left", self.left))
            },
        }

    @classmethod
    def of(
        cls,
        account: str,
        limit: tuple[Fraction, Fraction],
        relation: Relation,
        entries: Sequence[LedgerEntry],
    ) -> Balance:
        """The balance of an account with these entries."""
        counted = [entry for entry in entries if entry.counts]
        spent = sequential(
            converted(entry.epsilon, entry.delta, entry.relation, relation) for entry in counted
        )
        return cls(account, relation, limit, spent, len(counted))

    def cost(self, epsilon: Fraction, delta: Fraction, relation: Relation) -> tuple[Fraction, Fraction]:
        """What an amount means for this account; LedgerError when it means nothing here."""
        try:
            return converted(epsilon, delta, relation, self.relation)
        except BudgetError:
            raise LedgerError(
                f"Account '{self.account}' is kept under '{self.relation.value}', and a release under "
                f"'{relation.value}' says nothing there, because it makes the number of records public. Set "
                f"'relation: {self.relation.value}' in the schema, or keep the account under "
                f"'{relation.value}' with 'penstock ledger limit'. Nothing was spent."
            ) from None

    def refuse_above_limit(self, epsilon: Fraction, delta: Fraction, relation: Relation) -> None:
        """Raise LedgerError when this much more would pass the limit."""
        cost = self.cost(epsilon, delta, relation)
        for name, more, left, limit in zip(("epsilon", "delta"), cost, self.left, self.limit, strict=True):
            if more > left:
                why = "" if relation is self.relation else f" (converted to '{self.relation.value}')"
                raise LedgerError(
                    f"Account '{self.account}' has {name} {plain(left)} left of its limit {plain(limit)}, "
                    f"and this release asks for {plain(more)}{why}. Nothing was spent. Ask for less, or "
                    "raise the limit with 'penstock ledger limit'."
                )
