"""The ledger: the custodian's permanent book of what was spent on which data, and what is left.

One book, one account per dataset under the custodian's own name for it, a limit for each account.
Three promises, each of which holds when several processes release at once and when any of them is
killed at any moment:

- A reservation is durable before `reserve` returns, hence before any noise is drawn. A crash can waste
  budget; it cannot make a draw that is in no book.
- The total of an account never passes its limit. Checking and entering are one transaction, and the
  transactions of an account come one after the other.
- Amounts are exact fractions, kept as text and added in Python, under the relation of the account:
  what was paid under another relation is converted first or refused.

What a release has reserved is given back only when it stopped before any randomness was handed out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from secrets import token_hex
from typing import Any, Literal

from penstock.errors import BudgetError, LedgerError
from penstock.privacy.budgets.accounting import converted, sequential
from penstock.privacy.budgets.budget import Amount, exact
from penstock.privacy.budgets.receipt import plain
from penstock.privacy.unit import Relation

Status = Literal["reserved", "complete", "returned"]


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the book: what one release was allowed to cost."""

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


class LedgerAccount:
    """One dataset's account; a `Budget` is drawn from it."""

    def __init__(self, ledger: Ledger, name: str, label: str = "") -> None:
        """Called by `Ledger.account`."""
        self.name = name
        self.label = label
        self._ledger = ledger
        self._own: set[str] = set()

    def __repr__(self) -> str:
        return f"LedgerAccount({self.name!r} in {self._ledger.place})"

    def balance(self) -> Balance:
        """Limit, spent and left, as of now."""
        with self._ledger._book.reading() as rows:
            return rows.balance(self.name)

    def entries(self) -> list[LedgerEntry]:
        """Every entry, oldest first, including those given back."""
        with self._ledger._book.reading() as rows:
            rows.refuse_unknown(self.name)
            return rows.entries(self.name)

    def check(self, epsilon: Fraction, delta: Fraction, relation: Relation) -> None:
        """Raise LedgerError when the limit does not allow this much now."""
        self.balance().refuse_above_limit(epsilon, delta, relation)

    def reserve(self, epsilon: Fraction, delta: Fraction, relation: Relation) -> str:
        """Debit the account durably, or raise LedgerError; the entry's name for the receipt."""
        if epsilon < 0 or delta < 0:
            raise LedgerError("Only what is spent can be entered in a ledger; an amount cannot be negative.")
        with self._ledger._book.writing() as rows:
            rows.lock(self.name)
            rows.balance(self.name).refuse_above_limit(epsilon, delta, relation)
            entry = f"{self.name}/{token_hex(6)}"
            rows.enter(
                LedgerEntry(entry, self.name, _now(), self.label, epsilon, delta, relation, "reserved", "")
            )
        self._own.add(entry)
        return entry

    def complete(self, entry: str, release: str) -> None:
        """Note that the entry became a release of this name; it stays spent either way."""
        with self._ledger._book.writing() as rows:
            rows.lock(self.name)
            rows.close(self.name, entry, "complete", release)
        self._own.discard(entry)

    def give_back(self, entry: str) -> None:
        """Return what was reserved; only a budget calls this, before it has handed out randomness.

        An entry of another run is refused: nobody can prove any more that nothing was drawn on it.
        """
        if entry not in self._own:
            raise LedgerError(
                f"Entry '{entry}' stays spent: only the run that reserved it can prove that nothing "
                "was drawn on it."
            )
        with self._ledger._book.writing() as rows:
            rows.lock(self.name)
            rows.close(self.name, entry, "returned", "")
        self._own.discard(entry)


class Ledger:
    """A book in an SQLite file, or in any database that SQLAlchemy speaks to.

    >>> import tempfile; folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/ledger.db")
    >>> ledger.set_limit("people", epsilon=3)
    >>> ledger.account("people").reserve(Fraction(1), Fraction(0), Relation.ADD_REMOVE)
    'people/...'
    >>> ledger.account("people").balance().left[0]
    Fraction(2, 1)
    >>> folder.cleanup()
    """

    def __init__(self, url: str | PathLike[str]) -> None:
        """Open the book at a file name or an SQLAlchemy URL."""
        from penstock.privacy.ledger.database import Book

        self._book = Book.open(url)

    @classmethod
    def open(cls, url: str | PathLike[str]) -> Ledger:
        """The book at a file name or an SQLAlchemy URL; LedgerError when there is none."""
        return cls(url)

    @classmethod
    def create(cls, url: str | PathLike[str]) -> Ledger:
        """A new, empty book; LedgerError when there is one already, or something else."""
        from penstock.privacy.ledger.database import Book

        Book.create(url)
        return cls(url)

    @property
    def place(self) -> str:
        """Where the book is kept, without any password."""
        return self._book.place

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    def account(self, name: str, label: str = "") -> LedgerAccount:
        """The account of this name; `label` is noted with every reservation that is made through it."""
        with self._book.reading() as rows:
            rows.refuse_unknown(name)
        return LedgerAccount(self, name, label)

    def balances(self) -> list[Balance]:
        """Every account with its limit and what is spent, by name."""
        with self._book.reading() as rows:
            return [rows.balance(name) for name in rows.names()]

    def set_limit(
        self, name: str, epsilon: Amount, delta: Amount = 0, relation: Relation | str = Relation.ADD_REMOVE
    ) -> None:
        """What the dataset of this name may cost in all; opens its account when there is none.

        An account can move from add-remove to replace, and its entries are then counted at their
        higher price; the way back is closed once something was paid under replace.
        """
        limit = exact(epsilon), exact(delta, "delta")
        if limit[0] < 0 or not 0 <= limit[1] < 1:
            raise LedgerError("A limit needs an epsilon of at least 0 and a delta of at least 0 and below 1.")
        if not _NAME.fullmatch(name):
            raise LedgerError(
                f"'{name:.60}' cannot be the name of an account; use up to 100 letters, digits, spaces and "
                "._-, beginning with a letter or digit."
            )
        try:
            kept = Relation(relation)
        except ValueError:
            raise LedgerError(f"A limit holds under 'add-remove' or 'replace', not '{relation}'.") from None
        with self._book.writing() as rows:
            rows.open_account(name)
            for entry in rows.entries(name):
                if entry.relation is not kept and entry.relation is Relation.REPLACE and entry.counts:
                    raise LedgerError(
                        f"Account '{name}' has entries under 'replace', which say nothing under "
                        "'add-remove'; keep its limit under 'replace'."
                    )
            rows.set_limit(name, *limit, kept, _now())


_NAME = re.compile(r"[^\W_][\w .-]{0,99}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
