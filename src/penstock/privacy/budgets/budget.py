"""Budgets: exact amounts of privacy loss that can be divided and spent once.

A `Budget` is live: it knows what was taken from it. Dividing it gives budgets that share one till,
so that whatever the parts pay ends on one receipt. Amounts are fractions; parts add up exactly.
Spending what is no longer there raises before any sealed value is opened. The till also holds the
source of randomness and the ledger account, so a mechanism needs nothing but its payment:
``noise.counts(sealed, pay=part)``.

Gaussian noise is paid with `Rho`: a budget with a delta buys an amount of zero-concentrated DP once,
which is then divided exactly like a budget: ``noise.gaussian(sealed, pay=budget.concentrated("sums"))``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from operator import index
from typing import Any, NoReturn

from penstock.errors import BudgetError
from penstock.privacy.budgets.accounting import rho_of
from penstock.privacy.budgets.amounts import Amount, exact, plain
from penstock.privacy.budgets.charges import Charge, Portion
from penstock.privacy.budgets.receipt import Receipt
from penstock.privacy.budgets.till import Account, ApartNode, ConcentratedNode, Node, Till
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.unit import Relation, Unit

LARGEST_EPSILON = 100
SMALLEST_EPSILON = Fraction(1, 10**12)
LARGEST_DELTA = Fraction(1, 100)


class _Spendable(ABC):
    """What a budget in (epsilon, delta) and an amount of rho have in common: they are spent once."""

    label: str
    _till: Till
    _closed: bool
    _disjoint: bool  # inside `apart`, directly or further up

    def _nothing_left(self, mechanism: str) -> NoReturn:
        raise BudgetError(f"Nothing is left of '{self.label}' to pay for {mechanism}. Nothing was spent.")

    def __reduce__(self) -> Any:
        raise BudgetError("A budget cannot be copied or sent to another process: it could be spent twice.")

    @property
    def randomness(self) -> Randomness:
        """The source of every draw that this budget pays for; public coins are drawn from it too."""
        return self._till.randomness

    def spend(
        self,
        mechanism: str,
        sealed: Sealed[Any] | None = None,
        *,
        amount: Fraction | None = None,
        relation: Relation | None = None,
        sensitivity: str | None = None,
        detail: str = "",
    ) -> Randomness:
        """Pay everything that is left of this part for one run of a mechanism.

        `amount` is what the mechanism calibrated its noise to; if another thread has taken from this
        part since it was read, nothing is paid.

        Called by mechanisms only, after all arguments are checked and before the seal is opened.
        The charge is on the receipt, and durable in the ledger, when this returns the randomness
        to draw with.
        """
        used = sealed.relation if sealed is not None else relation
        if used is None or (relation is not None and relation is not used):
            raise BudgetError(f"{mechanism} must say under which relation it is private. Nothing was spent.")
        if sensitivity is None:
            sensitivity = self._norm(sealed) if sealed is not None else ""
        with self._till.lock:
            if self._closed or self._amount() <= 0:
                self._nothing_left(mechanism)
            if amount is not None and amount != self._amount():
                raise BudgetError(
                    f"'{self.label}' was divided while {mechanism} prepared to spend it. Nothing was spent."
                )
            if self._disjoint and used is not Relation.ADD_REMOVE:
                raise BudgetError(
                    f"'{self.label}' is one of several disjoint parts, which are only private "
                    "together under 'add-remove'. Nothing was spent on it."
                )
            randomness = self._till.admit(used)
            self._till.hand_out()
            charge = self._pay(mechanism, sensitivity, detail)
            self._closed = True
            return randomness.charged(charge)

    @abstractmethod
    def _amount(self) -> Fraction:
        """What is left to calibrate noise to: epsilon, or rho."""

    @abstractmethod
    def _norm(self, sealed: Sealed[Any]) -> str:
        """The norm of the sensitivity that this kind of payment is calibrated to."""

    @abstractmethod
    def _pay(self, mechanism: str, sensitivity: str, detail: str) -> Charge | Portion:
        """Put all that is left on the receipt, and say what stands there now."""


class Budget(_Spendable):
    """An amount (epsilon, delta) that a release may cost; a part of a budget is a budget.

    >>> structure, counts = Budget("1").split(structure="3/10", counts="7/10")
    >>> structure.epsilon + counts.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        epsilon: Amount,
        delta: Amount = 0,
        *,
        randomness: Randomness | None = None,
        account: Account | None = None,
    ) -> None:
        amount, slack = exact(epsilon), exact(delta, "delta")
        if amount <= 0:
            raise BudgetError(f"epsilon must be greater than 0, not {epsilon!s:.60}. Nothing was spent.")
        if amount < SMALLEST_EPSILON:
            raise BudgetError(
                f"epsilon {epsilon!s:.60} would leave nothing but noise; the smallest that Penstock "
                f"accepts is {plain(SMALLEST_EPSILON)}. Nothing was spent."
            )
        if amount > LARGEST_EPSILON:
            raise BudgetError(
                f"epsilon {epsilon!s:.60} would protect nobody; the largest that Penstock "
                f"accepts is {LARGEST_EPSILON}. Nothing was spent."
            )
        if not 0 <= slack < 1:
            raise BudgetError(f"delta must be at least 0 and below 1, not {delta!s:.60}. Nothing was spent.")
        if slack > LARGEST_DELTA:
            raise BudgetError(
                f"delta {delta!s:.60} would protect nobody: so often a record may be told as it is. The "
                f"largest that Penstock accepts is {plain(LARGEST_DELTA)}; choose it far below one in the "
                "number of records. Nothing was spent."
            )
        till = Till(amount, slack, randomness, account)
        self._set(till, "release", amount, slack, till.root, disjoint=False)

    def _set(
        self, till: Till, label: str, epsilon: Fraction, delta: Fraction, node: Node, *, disjoint: bool
    ) -> None:
        self._till, self._node, self._disjoint = till, node, disjoint
        self.label, self.epsilon, self.delta = label, epsilon, delta
        self._given: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
        self._closed = False

    def _child(
        self, label: str, epsilon: Fraction, delta: Fraction, parent: Node, *, disjoint: bool
    ) -> Budget:
        node = Node(label)
        parent.parts.append(node)
        child = Budget.__new__(Budget)
        child._set(self._till, label, epsilon, delta, node, disjoint=disjoint)
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

    def part(self, label: str, share: Amount, *, delta_share: Amount | None = None) -> Budget:
        """A part that holds `share` of this whole budget (and `delta_share` of its delta)."""
        portion = _share(label, share)
        slack_portion = portion if delta_share is None else _share(label, delta_share)
        return self._take(label, self.epsilon * portion, self.delta * slack_portion)

    def split(self, **shares: Amount) -> tuple[Budget, ...]:
        """Named parts; their shares may not exceed the whole."""
        named = _shares(shares)
        with self._till.lock:
            total = sum(named.values(), Fraction(0))
            self._refuse_above_left("All parts together", self.epsilon * total, self.delta * total)
            return tuple(self.part(label, share) for label, share in named.items())

    def evenly(self, labels: Sequence[str]) -> list[Budget]:
        """Equal parts, one for each label, that use up the whole budget."""
        return [self.part(label, Fraction(1, len(labels))) for label in labels]

    def rest(self, label: str) -> Budget:
        """Everything that is left, as one part."""
        with self._till.lock:
            return self._take(label, *self.left)

    def _refuse_above_left(self, label: str, epsilon: Fraction, delta: Fraction) -> None:
        left = self.left
        if epsilon > left[0] or delta > left[1]:
            what = ("epsilon", epsilon, left[0]) if epsilon > left[0] else ("delta", delta, left[1])
            raise BudgetError(
                f"{label} would take {what[0]} {plain(what[1])} of '{self.label}', where "
                f"{plain(what[2])} is left. Nothing was spent on it."
            )

    def _take(self, label: str, epsilon: Fraction, delta: Fraction) -> Budget:
        with self._till.lock:
            self._refuse_above_left(f"'{label}'", epsilon, delta)
            self._given = (self._given[0] + epsilon, self._given[1] + delta)
            return self._child(label, epsilon, delta, self._node, disjoint=self._disjoint)

    def apart(self, labels: Sequence[str], *, meets: int = 1, because: str) -> list[Budget]:
        """A budget for each of several disjoint parts of the records, paid for only once.

        Parallel composition: a unit lies in at most `meets` of the parts, so the dearest of them are
        the price of all. That holds when units are added or removed and every record is assigned to
        its part on its own. A unit of several records can lie in as many parts: pass
        ``meets=unit.records``; each part then holds that fraction of what is left. Paying under
        another relation is refused here, a wrong `meets` by the receipt.

        A budget cannot see whether parts share records: `because` says why they do not, in a few words that
        a reviewer finds beside the reasons of sealed values.
        """
        if not isinstance(because, str) or not because.strip():
            raise BudgetError(
                f"Disjoint parts of '{self.label}' need the reason why they share no record: because='...'. "
                "Nothing was spent."
            )
        if not labels:
            raise BudgetError(f"'{self.label}' needs at least one disjoint part to pay. Nothing was spent.")
        try:
            whole = 0 if isinstance(meets, bool) else index(meets)
        except TypeError:
            whole = 0
        if whole < 1:
            raise BudgetError(
                f"A unit meets at least one disjoint part of '{self.label}', and a whole number of them, not "
                f"{meets!r:.60}. Nothing was spent."
            )
        with self._till.lock:
            met = min(whole, len(labels))
            epsilon, delta = self.left
            self._closed = True
            group = ApartNode(self.label, meets=met)
            self._node.parts.append(group)
            return [self._child(label, epsilon / met, delta / met, group, disjoint=True) for label in labels]

    def concentrated(self, label: str | None = None) -> Rho:
        """Everything that is left, turned once into an amount of zero-concentrated DP.

        Whatever its parts pay, the whole (epsilon, delta) is due with the first of them. The amount
        is rounded down, so what it pays for is (epsilon, delta)-DP.
        """
        with self._till.lock:
            epsilon, delta = self.left
            if epsilon <= 0:
                self._nothing_left("a concentrated amount")
            if delta == 0:
                raise BudgetError(
                    f"'{self.label}' has no delta, which Gaussian noise needs; give it a "
                    "delta such as 1e-6, or use Laplace noise. Nothing was spent."
                )
            name = self.label if label is None else label
            node = ConcentratedNode(name, epsilon=epsilon, delta=delta, rho=rho_of(epsilon, delta))
            self._closed = True
            self._node.parts.append(node)
            return Rho(self._till, name, node.rho, node, disjoint=self._disjoint)

    def _amount(self) -> Fraction:
        return self.left[0]

    def _norm(self, sealed: Sealed[Any]) -> str:
        return str(sealed.sensitivity.l1)

    def _pay(self, mechanism: str, sensitivity: str, detail: str) -> Charge:
        charge = Charge(self.label, mechanism, *self.left, sensitivity, detail)
        self._node.parts.append(charge)
        return charge

    def protect(self, unit: Unit) -> None:
        """Say whose presence is hidden by what this budget pays for, as the ledger will book it.

        A single record, unless it is said. Every method says it before it pays; BudgetError when something
        was paid for another unit already.
        """
        with self._till.lock:
            self._till.protect(unit)

    def check(self, relation: Relation) -> None:
        """Ask the ledger, before any data is touched, whether this budget may be spent."""
        if self._till.account is not None and self._till.ledger_entry is None:
            self._till.account.check(self._till.epsilon, self._till.delta, relation, self._till.unit)

    def ready(self, relation: Relation) -> None:
        """What every method asks first: refuse an empty budget, and one that the ledger does not allow."""
        if not self.left[0]:
            raise BudgetError(f"Nothing is left of '{self.label}' to pay with. Nothing was spent.")
        self.check(relation)

    def reserve(self, relation: Relation) -> None:
        """Debit the ledger now instead of with the first charge, so that no other release can come first."""
        with self._till.lock:
            self._till.admit(relation)

    def give_back(self) -> None:
        """Return a reservation; BudgetError once anything was paid, because it may have been drawn."""
        with self._till.lock:
            self._till.give_back()

    def mark_repeatable(self) -> None:
        """Note that what this budget pays for rests on random choices that can be repeated: unpublishable."""
        self._till.repeatable = True

    def complete(self, release: str) -> None:
        """Note in the ledger which release this budget became."""
        if self._till.account is not None and self._till.ledger_entry is not None:
            self._till.account.complete(self._till.ledger_entry, release)

    def receipt(self, unit: Unit | None = None, relation: Relation | None = None) -> Receipt:
        """The receipt of everything paid so far by this budget's till."""
        with self._till.lock:
            return Receipt(
                budget_epsilon=self._till.epsilon,
                budget_delta=self._till.delta,
                relation=self._till.relation or relation or Relation.ADD_REMOVE,
                unit=(unit or self._till.unit).model_copy(update={"review": False}),
                paid=self._till.paid(),
                publishable=self._till.randomness.secure and not self._till.repeatable,
                ledger=self._till.ledger_entry,
            )


class Rho(_Spendable):
    """An amount of zero-concentrated DP, bought with (epsilon, delta); a part of it is one, too.

    >>> sums, counts = Budget("1", "1e-6").concentrated().split(sums="3/4", counts="1/4")
    >>> sums.rho == 3 * counts.rho
    True
    """

    def __init__(
        self, till: Till, label: str, rho: Fraction, node: ConcentratedNode, *, disjoint: bool
    ) -> None:
        """Called by `Budget.concentrated` and `part`."""
        self._till, self._node, self._disjoint = till, node, disjoint
        self.label, self.rho = label, rho
        self._given = Fraction(0)
        self._closed = False

    def __repr__(self) -> str:
        return f"Rho({self.label}: rho {plain(self.rho)}; left {plain(self.left)})"

    @property
    def left(self) -> Fraction:
        """What has neither been spent nor given to a part."""
        return Fraction(0) if self._closed else self.rho - self._given

    def part(self, label: str, share: Amount) -> Rho:
        """A part that holds `share` of this whole amount."""
        return self._take(label, self.rho * _share(label, share))

    def split(self, **shares: Amount) -> tuple[Rho, ...]:
        """Named parts; their shares may not exceed the whole."""
        named = _shares(shares)
        with self._till.lock:
            self._refuse_above_left("All parts together", self.rho * sum(named.values(), Fraction(0)))
            return tuple(self.part(label, share) for label, share in named.items())

    def evenly(self, labels: Sequence[str]) -> list[Rho]:
        """Equal parts, one for each label, that use up the whole amount."""
        return [self.part(label, Fraction(1, len(labels))) for label in labels]

    def rest(self, label: str) -> Rho:
        """Everything that is left, as one part."""
        with self._till.lock:
            return self._take(label, self.left)

    def _refuse_above_left(self, label: str, rho: Fraction) -> None:
        if rho > self.left:
            raise BudgetError(
                f"{label} would take rho {plain(rho)} of '{self.label}', where "
                f"{plain(self.left)} is left. Nothing was spent on it."
            )

    def _take(self, label: str, rho: Fraction) -> Rho:
        with self._till.lock:
            self._refuse_above_left(f"'{label}'", rho)
            self._given += rho
            return Rho(self._till, label, rho, self._node, disjoint=self._disjoint)

    def _amount(self) -> Fraction:
        return self.left

    def _norm(self, sealed: Sealed[Any]) -> str:
        return f"l2 squared {sealed.sensitivity.l2_squared}"

    def _pay(self, mechanism: str, sensitivity: str, detail: str) -> Portion:
        portion = Portion(self.label, mechanism, self.left, sensitivity, detail)
        self._node.portions.append(portion)
        return portion


def _share(label: str, share: Amount) -> Fraction:
    portion = exact(share, f"share of '{label}'", derived=True)
    if portion < 0:
        raise BudgetError(f"The share of '{label}' cannot be negative. Nothing was spent.")
    return portion


def _shares(shares: dict[str, Amount]) -> dict[str, Fraction]:
    """Keyword shares with labels as people write them."""
    return {
        label: _share(label, share)
        for label, share in ((name.replace("_", " "), share) for name, share in shares.items())
    }
