"""The ledger: the custodian's permanent record of what was spent on which data, and what is left.

One ledger, one account per dataset under the custodian's own name for it, a limit for each account.
Three promises, each of which holds when several processes release at once and when any of them is
killed at any moment:

- A reservation is durable before `reserve` returns, hence before any noise is drawn. A crash can waste
  budget; it cannot make a draw that is in no ledger.
- The total of an account never passes its limit. Checking and entering are one transaction, and the
  transactions of an account come one after the other.
- Amounts are exact fractions, kept as text and added in Python, for the unit and under the relation of the
  account: what was paid under another relation, or for another unit, is converted first or refused.

An account is about one unit: the one that its limit names, or else the one of its first entry. An amount for
records means another for a user who has many of them, and nobody but the custodian knows how many:
`holds_at_most` says it, and the entry keeps it. Units that two columns tell apart may overlap, hospitals and
patients for instance, and count twice (`Entity.group` has the argument).

What a release has reserved is given back only when it stopped before any randomness was handed out; the
account is told before the first draw, and from then on refuses, whoever asks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from secrets import token_hex
from threading import Lock
from typing import NoReturn

from penstock.errors import BudgetError, LedgerError
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.ledger.entries import Balance, LedgerEntry, Limit
from penstock.privacy.unit import Entity, Relation, Unit

# The database is imported where a ledger is opened: it brings SQLAlchemy, a third of a second that a release
# without a ledger need not wait for. A test watches.


RECORD = Unit()
"""What is protected when nobody says otherwise."""


class LedgerAccount:
    """One dataset's account; a `Budget` is drawn from it."""

    def __init__(self, ledger: Ledger, name: str, label: str = "", holds_at_most: int | None = None) -> None:
        """Called by `Ledger.account`."""
        self.name = name
        self.label = label
        self.holds_at_most = holds_at_most
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

    def check(self, epsilon: Fraction, delta: Fraction, relation: Relation, unit: Unit = RECORD) -> None:
        """Raise LedgerError when the limit does not allow this much now, or it is about another unit."""
        balance = self.balance()
        balance.refuse_above_limit(epsilon, delta, relation, unit, balance.held(unit, self.holds_at_most))

    def reserve(self, epsilon: Fraction, delta: Fraction, relation: Relation, unit: Unit = RECORD) -> str:
        """Debit the account durably, or raise LedgerError; the entry's name for the receipt."""
        if epsilon < 0 or delta < 0:
            raise LedgerError("Only what is spent can be entered in a ledger; an amount cannot be negative.")
        with self._ledger._database.writing() as rows:
            rows.lock(self.name)
            balance = rows.balance(self.name)
            held = balance.held(unit, self.holds_at_most)
            balance.refuse_above_limit(epsilon, delta, relation, unit, held)
            entry = f"{self.name}/{token_hex(6)}"
            rows.enter(
                LedgerEntry(
                    entry,
                    self.name,
                    _now(),
                    self.label,
                    epsilon,
                    delta,
                    relation,
                    "reserved",
                    "",
                    unit.model_copy(update={"review": False}),
                    held,
                )
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

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        """The same book: a copy of an estimator pays from the same account, and two books are never made."""
        return self

    def __reduce__(self) -> NoReturn:
        raise LedgerError(
            "An open ledger cannot be sent to another process or written to a file, since it may hold a "
            "password; name its file or its URL there instead."
        )

    def account(self, name: str, label: str = "", *, holds_at_most: int | None = None) -> LedgerAccount:
        """The account of this name; `label` is noted with every reservation that is made through it.

        `holds_at_most` books what protects another unit than the account does: in how many of those units one
        of the account's has a part at most in the data. Epsilon 1 for records costs 40 in an account about
        users of at most 40 records; epsilon 1 for hospitals costs 6 in an account about patients who have
        been in at most 3, because a hospital without one patient's records is one removed and another added.
        """
        _refuse_odd_group(holds_at_most)
        with self._database.reading() as rows:
            rows.refuse_unknown(name)
        return LedgerAccount(self, name, label, holds_at_most)

    def balances(self) -> list[Balance]:
        """Every account with its limit and what is spent, by name."""
        with self._database.reading() as rows:
            return [rows.balance(name) for name in rows.names()]

    def set_limit(
        self,
        name: str,
        epsilon: Amount,
        delta: Amount = 0,
        relation: Relation | str = Relation.ADD_REMOVE,
        *,
        unit: Unit | Entity | str | None = None,
        holds_at_most: int | None = None,
    ) -> None:
        """What the dataset of this name may cost in all; opens its account when there is none.

        `unit` says whom the account is about: 'record', 'user:patient_id'. Without it, an earlier limit or
        the first entry does. An account can move to another unit, of which each has a part in at most
        `holds_at_most` of what it was about, and to replace from add-remove; its entries are then counted at
        their higher price. The way back is closed.
        """
        whom = _entity(unit)
        _refuse_odd_group(holds_at_most)
        limit = Limit(exact(epsilon), exact(delta, "delta"), _relation(relation), whom, holds_at_most)
        if limit.epsilon < 0 or not 0 <= limit.delta < 1:
            raise LedgerError("A limit needs an epsilon of at least 0 and a delta of at least 0 and below 1.")
        if not _NAME.fullmatch(name):
            raise LedgerError(
                f"'{name:.60}' cannot be the name of an account; use up to 100 letters, digits, spaces and "
                "._-, beginning with a letter or digit."
            )
        with self._database.writing() as rows:
            rows.open_account(name)
            counted = [entry for entry in rows.entries(name) if entry.counts]
            if limit.relation is not Relation.REPLACE and any(
                entry.relation is Relation.REPLACE for entry in counted
            ):
                raise LedgerError(
                    f"Account '{name}' has entries under 'replace', which say nothing under "
                    "'add-remove'; keep its limit under 'replace'."
                )
            before = rows.balance(name).unit if counted else None
            if counted:
                _refuse_impossible_move(name, before, counted, limit)
            elif holds_at_most is not None:
                raise LedgerError(
                    f"Account '{name}' has no entries that would have to be converted; leave out "
                    "--holds-at-most."
                )
            rows.set_limit(name, limit, _now())
            if holds_at_most is not None:
                rows.regroup(name, {line.name: _moved(line, before, limit) for line in rows.entries(name)})


def _refuse_impossible_move(
    name: str, before: Entity | None, counted: Sequence[LedgerEntry], limit: Limit
) -> None:
    """An account with entries can only move to a unit of which it is said how many of the old it holds."""
    whom, held = limit.unit, limit.holds_at_most
    moves = whom is not None and before is not None and whom != before
    if held is None and not moves:
        return
    if whom is None or held is None or whom == before:
        raise LedgerError(
            f"Account '{name}' has entries about {before.words if before else 'an unknown unit'}. To move it "
            "to another unit, say --unit and --holds-at-most N together: in how many of those one of the new "
            "unit has a part at most."
        )
    if before is not None and not whom.can_hold(before):
        raise LedgerError(
            f"Account '{name}' has entries about {before.words}, which say nothing about {whom.words}, a "
            "part of it; keep the account's unit, or open another account."
        )
    try:
        for entry in counted:
            replace(entry, holds_at_most=_moved(entry, before, limit)).cost(limit.relation, whom)
    except BudgetError:
        raise LedgerError(
            f"Account '{name}' has entries under 'replace', which say nothing about a group of {held}; keep "
            "the account's unit, or open another account."
        ) from None


def _moved(entry: LedgerEntry, before: Entity | None, limit: Limit) -> int:
    """The `holds_at_most` of an entry once the account is about another unit.

    What has a part in at most h of the old units, each of which has a part in at most k of the entry's, has a
    part in at most h k of these. An entry that does not say its own unit is about what the account was about,
    and from now on nothing would tell; so the price of units that may overlap is kept in the number itself.
    """
    assert limit.holds_at_most is not None
    overlaps = (
        entry.unit is None and entry.holds_at_most == 1 and (before is None or before.column is not None)
    )
    return entry.holds_at_most * limit.holds_at_most * (2 if overlaps else 1)


def _relation(relation: Relation | str) -> Relation:
    try:
        return Relation(relation)
    except ValueError:
        raise LedgerError(f"A limit holds under 'add-remove' or 'replace', not '{relation}'.") from None


def _entity(unit: Unit | Entity | str | None) -> Entity | None:
    if isinstance(unit, Unit):
        return unit.entity
    try:
        return Entity.named(unit) if isinstance(unit, str) else unit
    except ValueError as problem:
        raise LedgerError(f"An account is about one unit, and {problem}.") from None


def _refuse_odd_group(holds_at_most: int | None) -> None:
    if holds_at_most is None:
        return
    if (
        isinstance(holds_at_most, bool)
        or not isinstance(holds_at_most, int)
        or not 1 <= holds_at_most <= _MOST
    ):
        raise LedgerError(
            f"holds_at_most must be a whole number from 1 to {_MOST:,}, not {holds_at_most!r:.60}. Nothing "
            "was spent."
        )


_MOST = 10**9
_NAME = re.compile(r"[^\W_][\w .-]{0,99}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
