"""The till behind a budget: one receipt, one relation, one source of randomness, one ledger entry.

All parts of a budget share one till. The first payment fixes the relation and debits the ledger,
durably; every payment is written on the receipt before the mechanism gets the randomness to draw
with. So whatever was drawn has been paid for, however the program ends.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from threading import RLock
from typing import Protocol

from penstock.errors import BudgetError
from penstock.privacy.budgets.charges import Apart, Charge, Concentrated, Entry, Portion, Together
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation, Unit


class Account(Protocol):
    """Where a budget is drawn from: an account of a ledger."""

    def check(self, epsilon: Fraction, delta: Fraction, relation: Relation, unit: Unit) -> None:
        """Raise LedgerError when the limit does not allow this much, or it is about another unit."""

    def reserve(self, epsilon: Fraction, delta: Fraction, relation: Relation, unit: Unit) -> str:
        """Debit the account durably, or raise LedgerError; the entry's name for the receipt."""

    def drawn(self, entry: str) -> None:
        """Note that randomness is about to be handed out on the entry, which then stays spent.

        Raise LedgerError when it was given back: nothing may be drawn on it any more.
        """

    def complete(self, entry: str, release: str) -> None:
        """Note that the entry became a release of this name."""

    def give_back(self, entry: str) -> None:
        """Return what was reserved; the caller has proof that nothing was drawn on it."""


@dataclass
class Node:
    """A group on the receipt under construction; how its parts compose is decided when it is made."""

    label: str
    parts: list[Node | Charge] = field(default_factory=list)

    def freeze(self) -> Entry:
        return Together(self.label, self.frozen())

    def frozen(self) -> tuple[Entry, ...]:
        frozen = (part if isinstance(part, Charge) else part.freeze() for part in self.parts)
        return tuple(part for part in frozen if isinstance(part, Charge) or part.parts)


@dataclass
class ApartNode(Node):
    meets: int = 1

    def freeze(self) -> Entry:
        return Apart(self.label, self.frozen(), self.meets)


@dataclass
class ConcentratedNode(Node):
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    portions: list[Portion] = field(default_factory=list)

    def freeze(self) -> Entry:
        return Concentrated(self.label, self.epsilon, self.delta, self.rho, tuple(self.portions))


class Till:
    """What all parts of one budget share."""

    def __init__(
        self, epsilon: Fraction, delta: Fraction, randomness: Randomness | None, account: Account | None
    ) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.lock = RLock()
        self.account = account
        self.ledger_entry: str | None = None
        self.relation: Relation | None = None
        self.unit = Unit()
        self._drawn = False
        self.repeatable = False  # beside the noise, something else random can be predicted or repeated
        self.root = Node("release")
        self._process = os.getpid()
        self._randomness = randomness

    @property
    def randomness(self) -> Randomness:
        with self.lock:
            if self._randomness is None:
                self._randomness = Randomness.system()
            return self._randomness

    def admit(self, relation: Relation) -> Randomness:
        """The first charge fixes the relation and debits the ledger, durably, before any noise."""
        if os.getpid() != self._process:
            # After a fork there are two tills that do not know of each other.
            raise BudgetError(
                "A budget can only be spent by the process that made it; give each process a "
                "budget of its own. Nothing was spent."
            )
        randomness = self.randomness
        if self.relation is None:
            if self.account is not None:
                self.ledger_entry = self.account.reserve(self.epsilon, self.delta, relation, self.unit)
            self.relation = relation
        elif self.relation is not relation:
            raise BudgetError(
                f"This budget has paid under '{self.relation.value}' and cannot also pay under "
                f"'{relation.value}'; convert the sealed value first. Nothing was spent on it."
            )
        return randomness

    def protect(self, unit: Unit) -> None:
        """Whose presence everything that is paid here hides; fixed with the first payment."""
        if self.relation is not None and unit.entity != self.unit.entity:
            raise BudgetError(
                f"This budget has paid for {self.unit.words} and cannot also pay for {unit.words}; give each "
                "unit a budget of its own. Nothing was spent on it."
            )
        self.unit = unit

    def hand_out(self) -> None:
        """Called before randomness leaves the till; from here on the debit can never be given back."""
        if self.account is not None and self.ledger_entry is not None:
            self.account.drawn(self.ledger_entry)
        self._drawn = True

    def give_back(self) -> None:
        """Undo the ledger's debit, as long as no randomness was handed out to draw with."""
        if self._drawn or self.paid().parts:
            raise BudgetError("This budget has paid for draws, and what was drawn cannot be given back.")
        if self.account is not None and self.ledger_entry is not None:
            self.account.give_back(self.ledger_entry)
        self.ledger_entry = self.relation = None

    def paid(self) -> Together:
        """Everything paid so far, as it stands on the receipt."""
        return _tidy(self.root)


def _tidy(root: Node) -> Together:
    """The tree without groups that hold nothing but a single charge, or one group of the same name."""

    def lift(part: Entry) -> Entry:
        if isinstance(part, Charge | Concentrated):
            return part
        parts = tuple(lift(inner) for inner in part.parts)
        if isinstance(part, Apart):
            return Apart(part.label, parts, part.meets)
        if len(parts) == 1 and (isinstance(parts[0], Charge) or parts[0].label == part.label):
            return parts[0]
        return Together(part.label, parts)

    return Together(root.label, tuple(lift(part) for part in root.frozen()))
