"""The lines of a ledger, and what they leave of an account's limit: plain values, whatever keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from penstock.errors import BudgetError, LedgerError
from penstock.privacy.budgets.accounting import Cost, converted, group, sequential
from penstock.privacy.budgets.amounts import held_up, plain
from penstock.privacy.unit import Entity, Relation, Unit

Status = Literal["reserved", "complete", "returned"]


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the ledger: what one release was allowed to cost.

    `unit` is what the release protects, with its bound; None in lines from before ledgers kept it, which are
    taken to be about whatever their account is about. `holds_at_most` is in how many of these units one of
    the account's has a part at most, as the custodian said; 1 where both are the same.
    """

    name: str
    account: str
    time: str
    label: str
    epsilon: Fraction
    delta: Fraction
    relation: Relation
    status: Status
    release: str
    unit: Unit | None
    holds_at_most: int = 1

    @property
    def counts(self) -> bool:
        """Whether it is part of what was spent."""
        return self.status != "returned"

    def counted(self, whom: Entity | None) -> int:
        """How often it counts in an account about `whom`: as a group of so many units (`Entity.group`)."""
        if whom is None or self.unit is None:
            return self.holds_at_most
        return whom.group(self.unit.entity, self.holds_at_most)

    def cost(self, relation: Relation, whom: Entity | None) -> Cost:
        """What it means for the account's own unit, under the account's relation."""
        return cost(self.epsilon, self.delta, self.relation, relation, self.counted(whom))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; every amount is an exact fraction in text."""
        told = {name: str(value) for name, value in vars(self).items()}
        unit = None if self.unit is None else self.unit.model_dump(exclude_none=True, exclude={"review"})
        return {**told, "unit": unit, "holds_at_most": self.holds_at_most}


@dataclass(frozen=True)
class Limit:
    """What an account may cost in all, and what it is about where the custodian says so.

    `holds_at_most` moves an account to another `unit`: one of these has a part in at most so many of those
    before.
    """

    epsilon: Fraction
    delta: Fraction
    relation: Relation
    unit: Entity | None = None
    holds_at_most: int | None = None


def cost(epsilon: Fraction, delta: Fraction, given: Relation, wanted: Relation, steps: int) -> Cost:
    """What an amount for one unit means for something that is at most so many `steps` of add-remove of them.

    A group of so many costs `steps` times the epsilon and more than that in delta (`group`). Replacing it is
    removing one such group and adding another. Under replace itself the group must not be larger than 1: the
    number of units is public there, and what holds 3 of them may be replaced by what holds 5.

    >>> cost(Fraction(1), Fraction(0), Relation.ADD_REMOVE, Relation.REPLACE, 40)
    (Fraction(80, 1), Fraction(0, 1))
    """
    if given is Relation.REPLACE and steps > 1:
        raise BudgetError(
            "A guarantee under 'replace' says nothing about groups: the number of units is public there."
        )
    return converted(*group(epsilon, delta, steps), given, wanted)


@dataclass(frozen=True)
class Balance:
    """What an account may cost in all, and what it has cost so far, for its unit and under its relation.

    `unit` is None as long as neither a limit nor an entry says whom the account is about.
    """

    account: str
    relation: Relation
    unit: Entity | None
    limit: Cost
    spent: Cost
    entries: int

    @property
    def left(self) -> Cost:
        """What may still be spent; nothing, when the limit was lowered below what is spent."""
        return max(Fraction(0), self.limit[0] - self.spent[0]), max(
            Fraction(0), self.limit[1] - self.spent[1]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; every amount is an exact fraction in text."""
        return {
            "account": self.account,
            "relation": self.relation.value,
            "unit": None if self.unit is None else self.unit.name,
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
        limit: Cost,
        relation: Relation,
        unit: Entity | None,
        entries: Sequence[LedgerEntry],
    ) -> Balance:
        """The balance of an account with these entries; a sum too long to be written is rounded up.

        The first of them says whom it is about, given back or not, unless a limit did.
        """
        counted = [entry for entry in entries if entry.counts]
        own = (entry.unit.entity for entry in entries if entry.unit is not None and entry.holds_at_most == 1)
        whom = unit if unit is not None else next(own, None)
        epsilon, delta = sequential(entry.cost(relation, whom) for entry in counted)
        return cls(account, relation, whom, limit, (held_up(epsilon), held_up(delta)), len(counted))

    def held(self, unit: Unit, holds_at_most: int | None) -> int:
        """In how many units of a release one of the account's has a part; LedgerError if nobody said it."""
        if self.unit is None and self.entries:
            raise LedgerError(
                f"The entries of account '{self.account}' are from before ledgers kept units, and do not "
                "say whom they protect; say it once, with 'penstock ledger limit ... --unit "
                f"{unit.entity.name}' if they are like this release. Nothing was spent."
            )
        if self.unit is None or self.unit == unit.entity:
            if holds_at_most is not None:
                raise LedgerError(
                    f"Account '{self.account}' and this release are both about {unit.entity.words}, so there "
                    "is nothing to convert; leave out --holds-at-most, or say with 'penstock ledger limit "
                    "... --unit' whom the account is about. Nothing was spent."
                )
            return 1
        kept, released = self.unit.words, unit.entity.words
        if not self.unit.can_hold(unit.entity):
            raise LedgerError(
                f"Account '{self.account}' is kept for {kept}, which is only a part of what this release "
                f"protects, {released}. Move the account to the larger unit with 'penstock ledger limit ... "
                f"--unit {unit.entity.name} --holds-at-most N', or use another account. Nothing was spent."
            )
        if holds_at_most is None:
            raise LedgerError(
                f"Account '{self.account}' is kept for {kept}, and this release protects {released}; their "
                f"amounts cannot be added up. If {kept} has a part in at most N of these in the data, with "
                "all their records or with some, say --holds-at-most N (in Python: holds_at_most=N) and it "
                f"is booked at the price of {_times(self.unit.group(unit.entity, 1))}N of them; or use "
                "another account. Nothing was spent."
            )
        return holds_at_most

    def cost(self, epsilon: Fraction, delta: Fraction, relation: Relation, steps: int = 1) -> Cost:
        """What an amount means for this account; LedgerError when it means nothing here."""
        try:
            return cost(epsilon, delta, relation, self.relation, steps)
        except BudgetError:
            pass
        if relation is self.relation:
            raise LedgerError(
                f"A release under 'replace' says nothing about a group of {steps}, because it makes their "
                f"number public; it cannot be booked in account '{self.account}', which is kept for another "
                "unit. Use another account. Nothing was spent."
            )
        raise LedgerError(
            f"Account '{self.account}' is kept under '{self.relation.value}', and a release under "
            f"'{relation.value}' says nothing there, because it makes the number of records public. Set "
            f"'relation: {self.relation.value}' in the schema, or keep the account under "
            f"'{relation.value}' with 'penstock ledger limit'. Nothing was spent."
        )

    def refuse_above_limit(
        self, epsilon: Fraction, delta: Fraction, relation: Relation, unit: Unit, held: int
    ) -> None:
        """Raise LedgerError when this much more, for a unit of which `held` are touched, passes the limit."""
        steps = held if self.unit is None else self.unit.group(unit.entity, held)
        price = self.cost(epsilon, delta, relation, steps)
        changed = [f"to '{self.relation.value}'"] * (relation is not self.relation)
        changed += [f"for a group of {steps}"] * (steps > 1)
        why = f" (converted {', '.join(changed)})" if changed else ""
        for name, more, left, limit in zip(("epsilon", "delta"), price, self.left, self.limit, strict=True):
            if more > left:
                raise LedgerError(
                    f"Account '{self.account}' has {name} {plain(left)} left of its limit {plain(limit)}, "
                    f"and this release asks for {plain(more)}{why}. Nothing was spent. Ask for less, or "
                    "raise the limit with 'penstock ledger limit'."
                )


def _times(factor: int) -> str:
    return "" if factor == 1 else f"{factor} times "
