"""Feeding lines: whatever is read is counted at once and forgotten.

Lines are taken as they come, as many as are there and no more than a few megabytes, and are never written.
What waits for the rest of its line is the update that is being read; it is all that is kept from one reading
to the next. How much is read at a time depends on how fast lines come, not on what they say.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Any, BinaryIO

import numpy as np

from penstock.errors import DataError, UsageError
from penstock.kinds.stream.forgetting import overwrite_small
from penstock.kinds.stream.lines import Lines, Unfinished, read_lines
from penstock.kinds.stream.living import Living
from penstock.lifetime import undisturbed
from penstock.releases.disk import reason

_AT_ONCE = 4 << 20


class Feeding:
    """How many updates were fed, how many lines were none, and whether somebody ended it.

    For the custodian's terminal alone; `say` is told of the first line that is left out.
    """

    def __init__(self, living: Living[Any], field: int | None, say: Callable[[str], None]) -> None:
        self.updates = self.left_out = 0
        self.interrupted = False
        self.first = ""
        self._living, self._field, self._say = living, field, say
        self._lines = 0
        self._unfinished = Unfinished()

    def take(self, piece: bytes) -> bool:
        """Feed what was read, and say whether it was the end: nothing at all."""
        text, too_long = self._unfinished.lines(piece) if piece else (self._unfinished.last(), False)
        if text:
            self._count(read_lines(text, self._field))
        if too_long:
            self._lines += 1
            self._leave_out(self._lines, 1, "it is longer than any id.")
        return not piece

    def _count(self, found: Lines) -> None:
        updates, fitting = found.updates, np.ones(len(found.updates), dtype=np.bool_)
        for place, why in found.odd[:1]:
            self._leave_out(self._lines + place + 1, len(found.odd), why)
        for strange, why in self._living.strangers(updates):
            (odd,) = np.nonzero(strange & fitting)
            if odd.size:
                self._leave_out(self._lines + int(found.places[odd[0]]) + 1, odd.size, why)
                fitting &= ~strange
        if not fitting.all():
            updates = updates.those(fitting)
        self._living.update(updates.ids, updates.deltas)
        self.updates += len(updates)
        self._lines += found.number

    def _leave_out(self, line: int, number: int, why: str) -> None:
        if not self.left_out:
            self.first = f"line {line:,}: {why}"
            self._say(f"A line is no update and is left out, as all others of its kind will be; {self.first}")
        self.left_out += number


def feed(
    living: Living[Any],
    descriptor: int,
    *,
    field: int | None = None,
    every: float = 1.0,
    step: float | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Feeding:
    """Feed the lines of a file or pipe until it ends or somebody interrupts.

    With a `field` the id is that word of each line. The disk is brought up to date after `every` seconds at
    the latest, and in the end; memory that lines were in is overwritten as often. A running count
    ends a step after every `step` seconds.
    """
    if step is not None and not living.sketch.ahead:
        raise UsageError(f"{living.info().name} has no steps; leave out --step-every. Nothing was fed.")
    fed, ended, remnants = Feeding(living, field, say), False, False
    due, over = monotonic() + every, inf if step is None else monotonic() + step
    try:
        while not ended:
            waiting = max(0.0, min(due, over) - monotonic())
            if select.select([descriptor], [], [], waiting)[0]:
                with undisturbed():  # what was read is counted, whoever wants to end the process meanwhile
                    # no name for what is read: it would hold the last lines until the next ones come
                    ended, remnants = fed.take(os.read(descriptor, _AT_ONCE)), True
            if step is not None and monotonic() >= over:
                living.step()
                over += step
            if monotonic() >= due:
                living.flush()
                if remnants:
                    overwrite_small()
                    remnants = False
                due = monotonic() + every
    except KeyboardInterrupt:
        fed.interrupted = True
    finally:
        living.flush()
    if fed.left_out and not fed.updates and not fed.interrupted:
        raise DataError(f"None of {fed.left_out:,} lines was an update; {fed.first} Nothing was fed.")
    return fed


def opened(path: str) -> BinaryIO:
    """A file of lines; DataError where there is none."""
    try:
        return open(path, "rb", buffering=0)
    except OSError as problem:
        raise DataError(f"'{path}' cannot be read: {reason(problem)}. Nothing was fed.") from None
