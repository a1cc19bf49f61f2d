"""What keeps a living release: its book, its folder, and the accounts that pay for it.

Everything here is the same for all sketches. A charge is in the book, and in the ledger, before noise is
drawn; the counters are in one place; and only the process that holds the folder changes them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from penstock import catalogue
from penstock.catalogue import SketchInfo
from penstock.contracts.sketch import Counters, Setting, Sketch
from penstock.errors import LedgerError, ReleaseError, UsageError
from penstock.kinds.stream import folder as place
from penstock.kinds.stream.book import Book, Reading
from penstock.kinds.stream.paying import Seed, account_of, charged, complete
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.charges import Charge
from penstock.privacy.budgets.receipt import Receipt
from penstock.privacy.ledger.ledger import Ledger, LedgerAccount
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

S = TypeVar("S", bound=Sketch)


class Kept(ABC, Generic[S]):
    """A stream with its book and its counters, wherever they are."""

    sketch_class: ClassVar[type[Any]]
    sketch: S
    _book: Book
    _counters: Any
    _weight: Any
    _folder: Path | None
    _lock: place.Lock | None

    @classmethod
    def info(cls) -> SketchInfo:
        """Its entry in the catalogue."""
        return catalogue.sketch(cls.sketch_class.name)

    @property
    def setting(self) -> Setting:
        """The public facts."""
        return self._book.setting

    @property
    def schema(self) -> Schema:
        return self._book.described

    @property
    def receipt(self) -> Receipt:
        """What was paid so far, of what may be."""
        return self._book.receipt

    @property
    def book(self) -> Book:
        """All that is written about it besides the counters: public."""
        return self._book

    @property
    def history(self) -> list[Reading]:
        """Every answer so far."""
        return self._book.history

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        if self._folder is None:
            raise UsageError("This stream is kept in memory alone; save it first.")
        return self._folder

    @property
    def answers_left(self) -> int:
        """How many more answers its budget pays for."""
        return int((self._book.limit - self._book.spent) / Fraction(self._book.epsilon_out))

    @property
    def left(self) -> str:
        """What is left of it, in words."""
        return f"{self.answers_left:,} {'answer' if self.answers_left == 1 else 'answers'} left"

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        resting = (
            f"; it takes for granted that no total of an id changes by more than {self.setting.most:,}"
            if self.sketch.trusts_totals
            else ""
        )
        if self.sketch.weighed:
            resting += "; the weight of the whole stream is public at every moment"
        return (
            f"{self.receipt.guarantee}; pan-private: it also holds against whoever sees the counters at one "
            f"moment, unannounced{resting}"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._book.readings)} told, {self.left})"

    def _drawn(
        self, around: Counters, label: str, paying: LedgerAccount | None, source: Randomness
    ) -> Counters:
        """The counters with noise, once the state share is paid."""
        setting = self.setting
        law = self.sketch.noise(setting, around)
        budget = Budget(setting.state, randomness=source, account=paying)
        self._ready(budget)
        part = budget.rest(label)
        drawing = part.spend(
            self.sketch.mechanism,
            relation=setting.relation,
            sensitivity=f"{setting.touched} {self.info().unit}{'' if setting.touched == 1 else 's'}",
            detail=f"{prod(around.shape):,} counters",
        )
        drawn = drawing.draw(law)
        counters = drawn.astype(around.dtype)
        drawn[...] = 0
        self._write_down(budget, label)
        return counters

    def _write_down(self, budget: Budget, label: str) -> None:
        """Put what a budget has paid into the book."""
        charge, entry = charged(budget, label)
        entries = [*self._book.entries, *([entry] if entry else [])]
        self._book = self._book.with_charge(charge, entries=entries)
        complete(budget, label)

    def _ready(self, budget: Budget) -> None:
        schema = self.schema
        budget.protect(schema.booked)
        budget.ready(schema.relation)

    def _note(self, line: Mapping[str, str], seed: Seed) -> None:
        """Write a charge down before its noise is drawn."""
        self._keep(self._book.with_charge(line, publishable=self._book.publishable and seed is None))

    def _settle(self, charge: Charge, entry: str | None) -> None:
        """Say in full what the last charge paid for."""
        begun = self._book.model_copy(update={"paid": self._book.paid[:-1]})
        self._book = begun.with_charge(charge, entries=[*begun.entries, *([entry] if entry else [])])

    def _keep(self, book: Book) -> None:
        self._book = book
        if self._folder is not None:
            place.keep_book(self._folder, book)

    @contextmanager
    def _booking(self) -> Iterator[None]:
        """One process at a time asks; what another has asked meanwhile is known."""
        if self._folder is None:
            yield
            return
        busy = f"'{self._folder}' is being asked by another process; try again. Nothing was spent."
        with place.held(self._folder, busy):
            self._book = place.load_book(self._folder)
            self._refuse_closed()
            yield

    def _paying(self, ledger: Ledger | str | None, label: str) -> LedgerAccount | None:
        """The account that this stream is booked in; never around it."""
        if self._book.account is None:
            if ledger is not None:
                raise UsageError("This stream was opened without an account; leave out the ledger.")
            return None
        opened = self._book.ledger if ledger is None else ledger
        if opened is None:
            raise LedgerError(
                "This stream is booked in a ledger whose address is not kept with it; give it again with "
                "--ledger. Nothing was spent."
            )
        named = f"{self.info().name}: {label}"
        return account_of(opened, self._book.account, named, self._book.holds_at_most)

    def seized(self) -> Counters:
        """What somebody who takes the state by force sees: for audits, and for what is paid."""
        return np.asarray(self._counters)

    def _move_to(self, folder: Path) -> None:
        """From now on the counters are those of the folder, and nowhere else."""
        self._counters[...] = 0
        self._folder = folder
        self._lock = place.lock(folder)
        self._map(writing=True)

    def _map(self, *, writing: bool) -> None:
        """Take the counters from the folder, if they can be what the book describes."""
        folder, setting = self.folder, self.setting
        found = place.numbers_of(folder, place.COUNTERS, self.sketch.blank(setting), writing=writing)
        if not self.sketch.plausible(setting, found):
            raise ReleaseError(place.wrong(folder / place.COUNTERS))
        self._counters = found
        if self.sketch.weighed:
            self._weight = place.numbers_of(folder, place.WEIGHT, place.unweighed(), writing=writing)

    def refuse_change(self) -> None:
        """Only who holds the counters may change them."""
        self._refuse_closed()
        if self._folder is not None and self._lock is None:
            raise ReleaseError(
                f"'{self._folder}' was opened to be asked, or let go of; load it again to change it. Nothing "
                "was "
                "spent."
            )

    def _refuse_closed(self) -> None:
        if self._book.closed is not None:
            raise ReleaseError(
                f"This stream was closed at {self._book.closed}: its counters are erased. Nothing was spent."
            )
