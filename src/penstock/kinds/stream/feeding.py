"""From lines to updates: whatever is read is counted at once and forgotten.

Lines are taken as they come, as many as are there and no more than a few megabytes, and are never written.
What waits for the rest of its line is the update that is being read; it is all that is kept from one reading
to the next. How much is read at a time depends on how fast lines come, not on what they say.
"""

from __future__ import annotations

import os
import re
import select
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError, UsageError
from penstock.kinds.stream.hashing import LONG, from_letters, from_texts
from penstock.kinds.stream.living import Living
from penstock.lifetime import undisturbed
from penstock.releases.disk import reason

_AT_ONCE = 4 << 20
_LONGEST_LINE = 1 << 20
_NUMBER = re.compile(rb"[+-]?[0-9]{1,18}\Z")


@dataclass(frozen=True)
class Fed:
    """How many updates were fed, and whether somebody ended it; for the custodian's terminal alone."""

    updates: int
    interrupted: bool


def feed(
    living: Living[Any],
    descriptor: int,
    *,
    field: int | None = None,
    every: float = 1.0,
    step: float | None = None,
) -> Fed:
    """Feed the lines of a file or pipe until it ends or somebody interrupts.

    With a `field` the id is that word of each line. The disk is brought up to date after `every` seconds at
    the latest, and in the end. A running count ends a step after every `step` seconds.
    """
    if step is not None and not living.sketch.ahead:
        raise UsageError(f"{living.info().name} has no steps; leave out --step-every. Nothing was fed.")
    number, rest, ended = 0, b"", False
    due, over = monotonic() + every, inf if step is None else monotonic() + step
    try:
        while not ended:
            waiting = max(0.0, min(due, over) - monotonic())
            if select.select([descriptor], [], [], waiting)[0]:
                with undisturbed():  # what was read is counted, whoever wants to end the process meanwhile
                    piece = os.read(descriptor, _AT_ONCE)
                    ended = not piece
                    whole, rest = _lines(rest + piece, ended=ended)
                    number += _count(living, whole, field, number) if whole else 0
            if step is not None and monotonic() >= over:
                living.step()
                over += step
            if monotonic() >= due:
                living.flush()
                due = monotonic() + every
    except KeyboardInterrupt:
        return Fed(number, True)
    finally:
        living.flush()
    return Fed(number, False)


def opened(path: str) -> BinaryIO:
    """A file of lines; DataError where there is none."""
    try:
        return open(path, "rb", buffering=0)
    except OSError as problem:
        raise DataError(f"'{path}' cannot be read: {reason(problem)}. Nothing was fed.") from None


def _lines(text: bytes, *, ended: bool) -> tuple[bytes, bytes]:
    """All that ends with a line break, and the beginning of a line behind it."""
    if ended:
        return (text if not text or text.endswith(b"\n") else text + b"\n"), b""
    cut = text.rfind(b"\n") + 1
    if len(text) - cut > _LONGEST_LINE:
        raise DataError(
            f"A line has more than {_LONGEST_LINE:,} bytes; ids are shorter. Nothing of it was fed."
        )
    return text[:cut], text[cut:]


def _count(living: Living[Any], text: bytes, field: int | None, before: int) -> int:
    """Feed whole lines; how many updates they were."""
    if field is None and b"\t" not in text and b"\r" not in text:
        ids = _each_line(text)
        _update(living, ids, np.ones(ids.size, dtype=np.int64), before)
        return int(ids.size)
    ids_: list[bytes] = []
    deltas: list[int] = []
    problem: DataError | None = None
    for line in text.splitlines():
        try:
            parsed = _parsed(line, field)
        except DataError as found:
            problem = DataError(f"Line {before + len(ids_) + 1}: {found} All lines before it were fed.")
            break
        if parsed is not None:
            ids_.append(parsed[0])
            deltas.append(parsed[1])
    if ids_:
        _update(living, from_texts(ids_), np.array(deltas, dtype=np.int64), before)
    if problem is not None:
        raise problem
    return len(ids_)


def _update(living: Living[Any], ids: NDArray[np.uint64], deltas: NDArray[np.int64], before: int) -> None:
    """Count updates as a whole, or none of them."""
    try:
        living.update(ids, deltas)
    except DataError as problem:
        where = f"Among the updates {before + 1:,} to {before + ids.size:,}"
        told = str(problem).replace(
            "Nothing of this call was fed.", "None of these was fed, all before were."
        )
        raise DataError(f"{where}: {told}") from None


def _parsed(line: bytes, field: int | None) -> tuple[bytes, int] | None:
    """The id and the change of one line; None for an empty one."""
    if field is not None:
        words = line.split(None, field)
        if not words:
            return None
        if len(words) < field:
            raise DataError(f"it has no word {field}.")
        return words[field - 1], 1
    identity, tab, change = line.partition(b"\t")
    if not identity.strip():
        return None
    if not tab:
        return identity.strip(), 1
    if not _NUMBER.match(change.strip()):
        raise DataError("what follows the tab is no whole number.")
    return identity.strip(), int(change)


def _each_line(text: bytes) -> NDArray[np.uint64]:
    """The ids of lines that hold nothing else, empty ones left out."""
    letters = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(letters == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts
    if int(lengths.max(initial=0)) > LONG or bool((letters == 32).any()):
        return from_texts([line.strip() for line in text.split(b"\n") if line.strip()])
    kept = lengths > 0
    return from_letters(letters, starts[kept], lengths[kept])
