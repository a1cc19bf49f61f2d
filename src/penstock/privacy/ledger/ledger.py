"""The ledger: the custodian's permanent record of what was spent on which data, and what is left.

One ledger, one account per dataset under the custodian's own name for it, a limit for each account.
Three promises, each of which holds when several processes release at once and when any of them is
killed at any moment:

- A reservation is durable before `reserve` returns, hence before any noise is drawn. A crash can waste
  budget; it cannot make a draw that is in no ledger.
- The total of an account never passes its limit. Checking and entering are one transaction, and the
  transactions of an account come one after the other.
- Amounts are exact fractions, kept as text and added in Python, under the relation of the account:
  what was paid under another relation is converted first or refused.

What a release has reserved is given back only when it stopped before any randomness was handed out; the
account is told before the first draw, and from then on refuses, whoever asks.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from secrets import token_hex
from threading import Lock

from penstock.errors import LedgerError
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.ledger.entries import Balance, LedgerEntry
from penstock.privacy.unit import Relation

# The database is imported where a ledger is opened: it brings SQLAlchemy, a third of a second that a release
# without a ledger need not wait for. A test watches.


class LedgerAccount:
    """One dataset's account; a `Budget` is drawn from it."""

    def __init__(self, ledger: Ledger, name: str, label: str = "") -> None:
        """Called by `Ledger.account`."""
        self.name = name
        self.label = label
        self._ledger = ledger
        self._process, self._lock = os.getpid(), Lock()
        self._own: set[str] = set()  # reserved here, and nothing drawn on it yet
        self._returned: set[str] = set()

    def __repr__(self) -> str:
        return f"LedgerAccount({self.name!r} in {self._ledger.place})"

    def balance(self) -> Balance:
        """Limit, spent and left, as of now."""
        with self._ledger._database.reading() as rows:
            return rows.balance(self.name)

    def entries(self) -> list[LedgerEntry]:
        """Every entry, oldest first, including those given back."""
        with self._ledger._database.reading() as rows:
            rows.refuse_unknown(self.name)
            return rows.entries(self.name)

    def check(self, epsilon: Fraction, delta: Fraction, relation: Relation) -> None:
        """Raise LedgerError when the limit does not allow this much now."""
        self.balance().refuse_above_limit(epsilon, delta, relation)

    def reserve(self, epsilon: Fraction, delta: Fraction, relation: Relation) -> str:
        """Debit the account durably, or raise LedgerError; the entry's name for the receipt."""
        if epsilon < 0 or delta < 0:
            raise LedgerError("Only what is spent can be entered in a ledger; an amount cannot be negative.")
        with self._ledger._database.writing() as rows:
            rows.lock(self.name)
            rows.balance(self.name).refuse_above_limit(epsilon, delta, relation)
            entry = f"{self.name}/{token_hex(6)}"
            rows.enter(
                LedgerEntry(entry, self.name, _now(), self.label, epsilon, delta, relation, "reserved", "")
            )
        self._own.add(entry)
        return entry

    def drawn(self, entry: str) -> None:
        """Note that randomness is about to be handed out on the entry, which then stays spent for good.

        LedgerError when it was given back: a draw on it would be in no ledger.
        """
        with self._lock:
            if entry in self._returned:
                raise LedgerError(
                    f"Entry '{entry}' was given back, so that nothing can be drawn on it any more; make a "
                    "new budget. Nothing was spent."
                )
            self._own.discard(entry)

    def complete(self, entry: str, release: str) -> None:
        """Note that the entry became a release of this name; it stays spent either way."""
        with self._ledger._database.writing() as rows:
            rows.lock(self.name)
            rows.close(self.name, entry, "complete", release)
        with self._lock:
            self._own.discard(entry)

    def give_back(self, entry: str) -> None:
        """Return what was reserved, as long as no randomness was handed out on it.

        An entry of another run or process is refused: nobody can prove any more that nothing was drawn on it.
        """
        with self._lock:
            if entry not in self._own or os.getpid() != self._process:
                raise LedgerError(
                    f"Entry '{entry}' stays spent: only the run that reserved it can give it back, and only "
                    "before anything was drawn on it."
                )
            self._own.discard(entry)
            self._returned.add(entry)  # first, so that nothing is drawn while it is written
            with self._ledger._database.writing() as rows:
                rows.lock(self.name)
                rows.close(self.name, entry, "returned", "")


class Ledger:
    """A ledger in an SQLite file, or in any database that SQLAlchemy speaks to.

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
        """Open the ledger at a file name or an SQLAlchemy URL."""
        from penstock.privacy.ledger.database import LedgerDatabase  # see the note on imports above

        self._database = LedgerDatabase.open(url)

    @classmethod
    def open(cls, url: str | PathLike[str]) -> Ledger:
        """The ledger at a file name or an SQLAlchemy URL; LedgerError when there is none."""
        return cls(url)

    @classmethod
    def create(cls, url: str | PathLike[str]) -> Ledger:
        """A new, empty ledger; LedgerError when there is one already, or something else."""
        from penstock.privacy.ledger.database import LedgerDatabase  # see the note on imports above

        LedgerDatabase.create(url)
        return cls(url)

    @property
    def place(self) -> str:
        """Where the ledger is kept, without any password."""
        return self._database.place

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    def account(self, name: str, label: str = "") -> LedgerAccount:
        """The account of this name; `label` is noted with every reservation that is made through it."""
        with self._database.reading() as rows:
            rows.refuse_unknown(name)
        return LedgerAccount(self, name, label)

    def balances(self) -> list[Balance]:
        """Every account with its limit and what is spent, by name."""
        with self._database.reading() as rows:
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
        with self._database.writing() as rows:
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
