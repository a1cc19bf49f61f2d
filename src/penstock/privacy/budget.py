"""Budgets: exact amounts of privacy loss that can be divided and spent once.

A `Budget` is live: it knows what was taken from it. Dividing it gives budgets that share one till,
so that whatever the parts pay ends on one receipt. Amounts are fractions; parts add up exactly.
Spending what is no longer there raises before any sealed value is opened. The till also holds the
source of randomness and the ledger account, so a mechanism needs nothing but its payment:
``noise.counts(sealed, pay=part)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import BudgetError
from penstock.privacy.receipt import Apart, Charge, Entry, Receipt, Together, plain
from penstock.schema.unit import Relation, Unit

if TYPE_CHECKING:
    from penstock.privacy.randomness import Randomness
    from penstock.privacy.sealed import Sealed

Amount = int | float | str | Fraction | Decimal

LARGEST_EPSILON = 100


def exact(amount: Amount, name: str = "epsilon") -> Fraction:
    """The amount as a fraction; a float means the decimal that it prints as.

    >>> exact(0.1), exact("7/10")
    (Fraction(1, 10), Fraction(7, 10))
    """
    try:
        return Fraction(str(amount)) if isinstance(amount, float) else Fraction(amount)
    except (ValueError, OverflowError, TypeError, ZeroDivisionError):
        raise BudgetError(f"{name} must be a finite number such as 0.5 or '7/10', not {amount!r}. "
                          "Nothing was spent.") from None


class Account(Protocol):
    """Where a budget is drawn from: an account of a ledger."""

    def check(self, epsilon: Fraction, delta: Fraction, relation: Relation) -> None:
        """Raise LedgerError when the limit does not allow this much."""

    def reserve(self, epsilon: Fraction, delta: Fraction, relation: Relation) -> str:
        """Debit the account durably, or raise LedgerError; the entry's name for the receipt."""


@dataclass
class _Node:
    """A group on the receipt under construction."""

    label: str
    apart: bool = False
    parts: list[_Node | Charge] = field(default_factory=list)

    def freeze(self) -> Entry:
        frozen = tuple(part if isinstance(part, Charge) else part.freeze() for part in self.parts)
        kept = tuple(part for part in frozen if isinstance(part, Charge) or part.parts)
        return Apart(self.label, kept) if self.apart else Together(self.label, kept)


class _Till:
    """What all parts of one budget share."""

    def __init__(self, epsilon: Fraction, delta: Fraction, randomness: Randomness | None, account: Account | None):
        self.epsilon, self.delta = epsilon, delta
        self.lock = RLock()
        self.account = account
        self.ledger_entry: str | None = None
        self.relation: Relation | None = None
        self.root = _Node("release")
        self._randomness = randomness

    @property
    def randomness(self) -> Randomness:
        if self._randomness is None:
            from penstock.privacy.randomness import Randomness

            self._randomness = Randomness.system()
        return self._randomness

    def admit(self, relation: Relation) -> None:
        """The first charge fixes the relation and debits the ledger, durably, before any noise."""
        if self.relation is None:
            if self.account is not None:
                self.ledger_entry = self.account.reserve(self.epsilon, self.delta, relation)
            self.relation = relation
        elif self.relation is not relation:
            raise BudgetError(f"This budget has paid under '{self.relation.value}' and cannot also pay under "
                              f"'{relation.value}'; convert the sealed value first.")


class Budget:
    """An amount (epsilon, delta) that a release may cost; a part of a budget is a budget.

    >>> structure, counts = Budget("1").split(structure="3/10", counts="7/10")
    >>> structure.epsilon + counts.epsilon
    Fraction(1, 1)
    """

    def __init__(self, epsilon: Amount, delta: Amount = 0, *, randomness: Randomness | None = None,
                 account: Account | None = None) -> None:
        amount, slack = exact(epsilon), exact(delta, "delta")
        if amount <= 0:
            raise BudgetError(f"epsilon must be greater than 0, not {epsilon}. Nothing was spent.")
        if amount > LARGEST_EPSILON:
            raise BudgetError(f"epsilon {epsilon} would protect nobody; the largest that Penstock accepts is "
                              f"{LARGEST_EPSILON}. Nothing was spent.")
        if not 0 <= slack < 1:
            raise BudgetError(f"delta must be at least 0 and below 1, not {delta}. Nothing was spent.")
        self._till = _Till(amount, slack, randomness, account)
        self._set("release", amount, slack, self._till.root)

    def _set(self, label: str, epsilon: Fraction, delta: Fraction, node: _Node) -> None:
        self.label, self.epsilon, self.delta = label, epsilon, delta
        self._node = node
        self._given: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
        self._closed = False

    @classmethod
    def _under(cls, till: _Till, label: str, epsilon: Fraction, delta: Fraction, node: _Node) -> Budget:
        child = cls.__new__(cls)
        child._till = till
        child._set(label, epsilon, delta, node)
        return child

    def __repr__(self) -> str:
        delta = f", delta {plain(self.delta)}" if self.delta else ""
        return f"Budget({self.label}: epsilon {plain(self.epsilon)}{delta}; left {plain(self.left[0])})"

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """What has neither been spent nor given to a part."""
        if self._closed:
            return Fraction(0), Fraction(0)
        return self.epsilon - self._given[0], self.delta - self._given[1]

    @property
    def randomness(self) -> Randomness:
        """The source of every draw that this budget pays for; public coins are drawn from it too."""
        return self._till.randomness

    def part(self, label: str, share: Amount, *, delta_share: Amount | None = None) -> Budget:
        """A part that holds `share` of this whole budget (and `delta_share` of its delta)."""
        portion = exact(share, f"share of '{label}'")
        slack_portion = portion if delta_share is None else exact(delta_share, f"delta share of '{label}'")
        if portion < 0 or slack_portion < 0:
            raise BudgetError(f"The share of '{label}' cannot be negative.")
        return self._take(label, self.epsilon * portion, self.delta * slack_portion)

    def split(self, **shares: Amount) -> tuple[Budget, ...]:
        """Named parts; their shares may not exceed the whole."""
        return tuple(self.part(label.replace("_", " "), share) for label, share in shares.items())

    def evenly(self, labels: Sequence[str]) -> list[Budget]:
        """Equal parts, one for each label, that use up the whole budget."""
        return [self.part(label, Fraction(1, len(labels))) for label in labels]

    def rest(self, label: str) -> Budget:
        """Everything that is left, as one part."""
        return self._take(label, *self.left)

    def _take(self, label: str, epsilon: Fraction, delta: Fraction) -> Budget:
        with self._till.lock:
            left = self.left
            if epsilon > left[0] or delta > left[1]:
                raise BudgetError(f"'{label}' asks for epsilon {plain(epsilon)} of '{self.label}', where "
                                  f"{plain(left[0])} is left. Nothing was spent on it.")
            self._given = (self._given[0] + epsilon, self._given[1] + delta)
            node = _Node(label)
            self._node.parts.append(node)
            return Budget._under(self._till, label, epsilon, delta, node)

    def apart(self, labels: Sequence[str]) -> list[Budget]:
        """A budget of the full size for each of several disjoint parts of the records.

        Parallel composition: a unit is in one part only, so the dearest part is the price of all.
        That holds when one unit of one record is added or removed and every record is assigned to
        its part on its own; the mechanisms enforce the relation (see `spend`).
        """
        with self._till.lock:
            epsilon, delta = self.left
            self._given, self._closed = (self.epsilon, self.delta), True
            group = _Node(self.label, apart=True)
            self._node.parts.append(group)
            branches = []
            for label in labels:
                node = _Node(label)
                group.parts.append(node)
                branches.append(Budget._under(self._till, label, epsilon, delta, node))
            for branch in branches:
                branch._needs_add_remove = True
            return branches

    _needs_add_remove = False

    def spend(self, mechanism: str, sealed: Sealed[Any] | None = None, *, relation: Relation | None = None,
              sensitivity: str | None = None, detail: str = "") -> Randomness:
        """Pay everything that is left of this part for one run of a mechanism.

        Called by mechanisms only, after all arguments are checked and before the seal is opened.
        The charge is on the receipt, and durable in the ledger, when this returns the randomness
        to draw with.
        """
        used = sealed.relation if sealed is not None else relation
        if used is None:
            raise BudgetError(f"{mechanism} must say under which relation it is private.")
        if sensitivity is None:
            sensitivity = str(sealed.sensitivity.l1) if sealed is not None else ""
        with self._till.lock:
            epsilon, delta = self.left
            if epsilon <= 0:
                raise BudgetError(f"Nothing is left of '{self.label}' to pay for {mechanism}.")
            if self._needs_add_remove and used is not Relation.ADD_REMOVE:
                raise BudgetError(f"'{self.label}' is one of several disjoint parts, which are only private "
                                  "together under 'add-remove'.")
            self._till.admit(used)
            self._closed = True
            self._node.parts.append(Charge(self.label, mechanism, epsilon, delta, sensitivity, detail))
            return self._till.randomness

    def check(self, relation: Relation) -> None:
        """Ask the ledger, before any data is touched, whether this budget may be spent."""
        if self._till.account is not None and self._till.ledger_entry is None:
            self._till.account.check(self._till.epsilon, self._till.delta, relation)

    def receipt(self, unit: Unit | None = None, relation: Relation | None = None) -> Receipt:
        """The receipt of everything paid so far by this budget's till."""
        with self._till.lock:
            paid = self._till.root.freeze()
            assert isinstance(paid, Together)
            return Receipt(
                budget_epsilon=self._till.epsilon,
                budget_delta=self._till.delta,
                relation=self._till.relation or relation or Relation.ADD_REMOVE,
                unit=unit or Unit(),
                paid=_tidy(paid),
                publishable=self._till.randomness.secure,
                ledger=self._till.ledger_entry,
            )


def _tidy(entry: Together) -> Together:
    """Groups that hold a single charge of the same name are shown as that charge."""

    def lift(part: Entry) -> Entry:
        if isinstance(part, Charge):
            return part
        parts = tuple(lift(inner) for inner in part.parts)
        if isinstance(part, Together) and len(parts) == 1:
            only = parts[0]
            if isinstance(only, Charge) or only.label == part.label:
                return only
        return Together(part.label, parts) if isinstance(part, Together) else Apart(part.label, parts)

    return Together(entry.label, tuple(lift(part) for part in entry.parts))
