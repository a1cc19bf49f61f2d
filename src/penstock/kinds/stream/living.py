"""Living releases: opened once, fed for as long as one likes, asked now and then, closed.

What all of them share, whatever the sketch: they pay for the noise of the counters when they are opened, and
for each answer when it is given; they keep the book, the ledger and the files. What an object holds, and what
stands on the disk, is the counters, which are private as they stand, and public facts. No source of
randomness outlives the call that draws from it, and no update outlives the call that brings it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from penstock import catalogue
from penstock.contracts.sketch import NORMAL_95, Estimate, Updates
from penstock.errors import DataError, PenstockError, ReleaseError, UsageError
from penstock.kinds.stream import folder as place
from penstock.kinds.stream.book import AHEAD, Book, Reading, now
from penstock.kinds.stream.data import Fed
from penstock.kinds.stream.forgetting import overwrite_freed
from penstock.kinds.stream.hashing import numbered, whole_numbers
from penstock.kinds.stream.keeping import Kept, S
from penstock.kinds.stream.paying import (
    Seed,
    account_of,
    address,
    charged,
    complete,
    drawing,
    known_parameters,
    refuse_schema,
)
from penstock.privacy.budgets.amounts import Amount, exact, plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.receipt import Receipt
from penstock.privacy.laws.public import AnyBelow
from penstock.privacy.ledger.ledger import Ledger
from penstock.releases.paths import absolute
from penstock.schema import Schema

MOST_ANSWERS = 10**6


class Living(Kept[S]):
    """A stream under a sketch, with its book.

    `epsilon` is what it may cost in all: `state_share` of it pays for the counters at once, the rest is for
    `answers` answers. In a `folder` its counters live in a file; without one they live in memory and go with
    the process. A `seed` makes the noise repeatable, and therefore protects nobody.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        epsilon: Amount,
        answers: int = 1,
        state_share: Amount = "1/2",
        folder: str | Path | None = None,
        ledger: Ledger | str | None = None,
        account: str | None = None,
        holds_at_most: int | None = None,
        seed: Seed = None,
        **parameters: Any,
    ) -> None:
        overwrite_freed()
        info = self.info()
        self.sketch = self.sketch_class(**known_parameters(info, self.sketch_class, parameters))
        refuse_schema(info, schema)
        self.sketch.check(schema)
        budget, share = Budget(epsilon), exact(state_share, "state_share")
        if not isinstance(answers, int) or isinstance(answers, bool) or not 1 <= answers <= MOST_ANSWERS:
            raise UsageError(
                f"answers must be a whole number from 1 to {MOST_ANSWERS:,}, not {answers!r:.40}. Nothing "
                "was "
                "spent."
            )
        if self.sketch.ahead and answers != 1:
            raise UsageError(
                f"All answers of {info.name} are paid for when it is opened; leave out the number of "
                "answers. Nothing "
                "was spent."
            )
        if not 0 < share < 1:
            raise UsageError(
                f"state_share must lie between 0 and 1, not at {state_share!s:.40}. Nothing was spent."
            )
        if self.sketch.ahead and share != Fraction(1, 2):
            raise UsageError(
                f"One epsilon pays for the counters of {info.name} and for all that is told; leave out "
                "state_share. Nothing was spent."
            )
        state = budget.epsilon if self.sketch.ahead else budget.epsilon * share
        if self.sketch.largest_state is not None and state > self.sketch.largest_state:
            raise UsageError(
                f"The counters of {info.name} can be paid with epsilon {plain(self.sketch.largest_state)} at "
                "most, "
                f"and this is {plain(state)}; lower state_share. Nothing was spent."
            )
        self._folder = None
        self._lock = None
        self._weight = place.unweighed() if self.sketch.weighed else None
        known = asdict(self.sketch)
        self._book = Book(
            sketch=info.name,
            parameters={each.name: known[each.name] for each in self.sketch.parameters()},
            schema_yaml=schema.to_yaml(),
            key="0",
            epsilon=str(budget.epsilon),
            answers=answers,
            epsilon_state=str(state),
            epsilon_out=str(budget.epsilon if self.sketch.ahead else (budget.epsilon - state) / answers),
            opened=now(),
            publishable=seed is None,
            ledger=address(ledger),
            account=account,
            holds_at_most=holds_at_most,
        )
        if not self.sketch.holds(self.setting):
            raise UsageError(
                f"Epsilon {plain(state)} is too small for the counters of {info.name}: its noise would not "
                "fit into them. Nothing was spent."
            )
        blank = self.sketch.blank(self.setting)
        with nullcontext() if folder is None else place.place_for(folder, blank.nbytes):
            paying = account_of(ledger, account, f"{info.name}: the state of a stream", holds_at_most)
            with drawing(seed) as source:
                key = source.draw(AnyBelow(1 << 128))
                self._book = self._book.model_copy(update={"key": str(key)})
                label = AHEAD if self.sketch.ahead else "state"
                self._counters = self._drawn(self.sketch.blank(self.setting), label, paying, source)
            if self.sketch.ahead:
                self._book = self._book.model_copy(update={"own": [0] * self._counters.size})
            if folder is not None:
                self._move_to(place.create(folder, self._book, self._counters, self._weight))

    def update(self, ids: Any, deltas: Any = 1, *, seed: Seed = None) -> None:
        """Add `deltas` to the totals of `ids`: whole numbers or texts, one or an array of them.

        All of them are checked first: what cannot be meant is refused as a whole. Nothing remembers them but
        the counters. A `seed` is for sketches whose updates are random themselves.
        """
        words = numbered(ids)
        updates = Updates(words, whole_numbers(deltas, words.size))
        for strange, why in self.strangers(updates):
            if strange.any():
                raise DataError(f"{why} Nothing of this call was fed.")
        self.refuse_change()
        if seed is not None and self.sketch.draws and self._book.publishable:
            with self._booking():
                self._keep(self._book.model_copy(update={"publishable": False}))
        with drawing(seed) as source:
            self.sketch.feed(self.setting, self._counters, updates, source)
        if self._weight is not None:
            self._weight += int(updates.deltas.sum())

    def strangers(self, updates: Updates) -> Iterator[tuple[NDArray[np.bool_], str]]:
        """Which updates cannot be meant, and why; each is judged by itself, whatever the others are."""
        setting, deltas = self.setting, updates.deltas
        yield (
            (deltas > setting.most) | (deltas < -setting.most),
            f"An update changes a total by more than {setting.most:,}, the largest total that the schema "
            "allows.",
        )
        if not self.info().deletes:
            yield (
                deltas < 0,
                f"{self.info().name} cannot take anything back: every change must be positive.",
            )
        if self.sketch.numbered:
            yield (
                updates.ids >= np.uint64(setting.ids),
                f"Ids of this sketch are whole numbers from 0 to {setting.ids - 1:,}.",
            )

    def answer(
        self,
        question: str | None = None,
        at: int | None = None,
        *,
        seed: Seed = None,
        ledger: Ledger | str | None = None,
    ) -> Reading:
        """Answer a question about the stream as it is now, and pay for it.

        Without a question, the first that the sketch can answer; `at` is the number that belongs to it. A
        stream that is booked in a ledger pays there too, before anything is drawn.
        """
        name = self._asked(question, at)
        self._refuse_closed()
        price = Fraction(self._book.epsilon_out)
        with self._booking():
            if self._book.spent + price > self._book.limit:
                raise UsageError(
                    f"All {self._book.answers} answers of this stream are given, for epsilon "
                    f"{plain(self._book.limit)} in all; open another stream. Nothing was spent."
                )
            label = f"answer {len(self._book.readings) + 1}: {name}{'' if at is None else f' {at}'}"
            paying = self._paying(ledger, label)
            with drawing(seed) as source:
                pay = Budget(price, randomness=source, account=paying)
                self._ready(pay)
                self._note({"label": label, "mechanism": "begun", "epsilon": str(price)}, seed)
                fed = Fed(self.seized(), self.setting)
                found = self.asked(fed, name, at, pay.rest(label))
                charge, entry = charged(pay, label)
            error = NORMAL_95 * found.deviation
            reading = Reading(name, at, found.value, error, found.text, now(), price, found.conservative)
            self._settle(charge, entry)
            self._keep(self._book.with_reading(reading))
            complete(pay, label)
        return reading

    def threshold(self, share: Amount) -> int:
        """The least total that is this share of the weight of the whole stream, as it is now; free of charge.

        Only streams that keep their weight know it: it is public under 'replace'.
        """
        part = exact(share, "share")
        if not 0 < part <= 1:
            raise UsageError(f"share must be above 0 and at most 1, not {share!s:.40}. Nothing was spent.")
        if self._weight is None:
            raise UsageError(
                f"This stream keeps no total weight; open {self.info().name} with --param weigh=true under "
                "'replace', or give the number itself. Nothing was spent."
            )
        return max(1, ceil(part * int(self._weight[0])))

    def step(self, *, seed: Seed = None) -> Reading:
        """End a step of a running count; other streams have none."""
        raise UsageError(
            f"{self.info().name} has no steps; ask it with 'penstock stream ask'. Nothing was spent."
        )

    def rerandomise(self, *, seed: Seed = None, ledger: Ledger | str | None = None) -> None:
        """Draw new noise on top of the old, after an intrusion that was noticed; costs another state share.

        Whoever saw the counters then learns no more from seeing them again. The old noise stays, so that
        answers get worse.
        """
        self.refuse_change()
        if not self.sketch.redrawable:
            raise UsageError(
                f"The noise of {self.info().name} cannot be drawn anew without losing what it counts; close "
                "this stream and open another. Nothing was spent."
            )
        label = f"state, drawn anew {self._book.drawn}"
        with self._booking():
            paying = self._paying(ledger, label)
            drawn = self._book.model_copy(update={"drawn": self._book.drawn + 1})
            before, self._book = self._book, drawn
            try:
                with drawing(seed) as source:
                    counters = self._drawn(self._counters, label, paying, source)
            except BaseException:
                self._book = before
                raise
            # The book first: a crash in between costs accuracy, and hides no charge.
            self._keep(self._book.model_copy(update={"publishable": before.publishable and seed is None}))
            self._counters[...] = counters
            counters[...] = 0
            place.written(self._counters)

    def merge(self, other: object) -> None:
        """Refused: two states cannot be made one.

        The sum of two states holds the noise of both, modulo a prime, which hides what either has counted;
        and neighbours would have to be paid for in both of them.
        """
        raise UsageError(
            "Two streams cannot be merged: the noise of both would add up and hide what either has counted. "
            "Feed "
            "one stream from both sources, or add up answers about disjoint ids. Nothing was spent."
        )

    def save(self, folder: str | Path) -> Path:
        """Keep it in a new folder from now on: its counters move there, and are no longer in memory alone."""
        if self._folder is not None:
            raise UsageError(f"This stream is kept in '{self._folder}' already.")
        self._refuse_closed()
        blank = self.sketch.blank(self.setting)
        with place.place_for(folder, blank.nbytes):
            self._move_to(place.create(folder, self._book, self._counters, self._weight))
        return self.folder

    def release(self) -> None:
        """Let another process feed it: write everything, and let go of the folder."""
        self.flush()
        self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def flush(self) -> None:
        """Wait until the disk holds what was fed so far."""
        place.written(self._counters, self._weight)

    def close(self) -> Receipt:
        """Erase the counters; the answers and the receipt stay. Nothing can be fed or asked afterwards."""
        self.refuse_change()
        with self._booking():
            # The book first: killed in between, a stream is closed, and the next to load it goes on erasing.
            # What is left may be published, and where the ledger stands is nobody's business.
            self._keep(self._book.model_copy(update={"closed": now(), "ledger": None}))
            self._counters[...] = 0
            self._counters = np.zeros(0, dtype=self._counters.dtype)
            self._weight = None
            if self._folder is not None:
                place.erase(self._folder)
            self._lock = None
        return self.receipt

    # What sketches say -------------------------------------------------------------------------------

    @abstractmethod
    def asked(self, fed: Fed, question: str, at: int | None, pay: Budget) -> Estimate:
        """What the counters say to a question, with fresh noise that `pay` pays for."""

    def refuse_question(self, question: str, at: int | None) -> None:
        """Raise UsageError for a number that does not belong to the question; costs nothing."""

    def _asked(self, question: str | None, at: int | None) -> str:
        known = self.info().questions
        name = next(iter(known)) if question is None else question
        if name not in known:
            raise UsageError(
                f"{self.info().name} does not answer '{name!s:.40}'; it answers {', '.join(known)}. Nothing "
                "was "
                "spent."
            )
        needs = known[name]
        if (needs is None) != (at is None):
            wanted = f"needs a number, its {needs}" if needs else "has no number of its own"
            raise UsageError(f"The question '{name}' {wanted}. Nothing was spent.")
        if at is not None and (not isinstance(at, int) or isinstance(at, bool)):
            raise UsageError(f"{needs} must be a whole number, not {at!r:.40}. Nothing was spent.")
        self.refuse_question(name, at)
        return name

    @classmethod
    def kept_in(cls, folder: Path, book: Book, *, writing: bool) -> Self:
        """The stream in a folder; called by `load`."""
        overwrite_freed()
        made = cls.__new__(cls)
        try:
            parameters = known_parameters(cls.info(), cls.sketch_class, book.parameters)
            made.sketch = cls.sketch_class(**parameters)
            refuse_schema(cls.info(), book.described)
            made.sketch.check(book.described)
        except PenstockError as problem:
            told = str(problem).removesuffix(" Nothing was spent.")
            raise ReleaseError(f"'{folder}' was changed by hand, or is of another version. {told}") from None
        made.go_on(folder, book, writing=writing)
        return made

    def go_on(self, folder: Path, book: Book, *, writing: bool) -> None:
        """Take over what is kept in a folder."""
        self._folder, self._book = folder, book
        self._lock = place.lock(folder) if writing and book.closed is None else None
        blank = self.sketch.blank(book.setting)
        self._counters, self._weight = np.zeros(0, dtype=blank.dtype), None
        if book.closed is None:
            self._map(writing=writing)
        elif writing:
            place.erase(folder)


def load(folder: str | Path, *, writing: bool = True) -> Living[Any]:
    """The living release that is kept in a folder, to be fed and asked on.

    With ``writing=False`` it can be asked while another process feeds it.
    """
    book = place.load_book(folder)
    return living_class(book.sketch).kept_in(absolute(folder), book, writing=writing)


def living_class(name: str) -> type[Living[Any]]:
    """The living release of this name, checked against its contract when it is loaded."""
    found = catalogue.load(catalogue.sketch(name).where)
    if not isinstance(found, type) or not issubclass(found, Living):
        raise TypeError(f"{name} is no living release")
    return found
