"""From lines to updates, each line by itself: whatever stands beside it, it is the same update or none.

That is a matter of privacy. If a line that cannot be read ended the feeding, or changed how others are read,
one person's line would decide about everybody's. So what is no update is left out, and the others are fed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.sketch import Updates
from penstock.kinds.stream.hashing import LONG, Words, from_letters, from_texts

LONGEST = 1 << 20
"""Bytes of a line; what is longer is no id."""
_TOO_LONG = f"it has more than {LONGEST:,} bytes."
_NUMBER = re.compile(rb"[+-]?[0-9]{1,18}\Z")
_BLANKS = b" \r"


@dataclass(frozen=True)
class Lines:
    """Updates, each with its line, from 0; how many lines there are; which of them are none, and why."""

    updates: Updates
    places: NDArray[np.int64]
    number: int
    odd: tuple[tuple[int, str], ...] = ()


class Unfinished:
    """The beginning of the line that is being read: all that waits from one reading to the next."""

    def __init__(self) -> None:
        self._rest, self._passing = b"", False

    def lines(self, piece: bytes) -> tuple[bytes, bool]:
        """Whole lines, and whether the line behind them has become too long; nothing of that one is kept."""
        if self._passing:
            cut = piece.find(b"\n")
            if cut < 0:
                return b"", False
            piece, self._passing = piece[cut + 1 :], False
        text = self._rest + piece
        cut = text.rfind(b"\n") + 1
        self._rest = text[cut:]
        if len(self._rest) <= LONGEST:
            return text[:cut], False
        self._rest, self._passing = b"", True
        return text[:cut], True

    def last(self) -> bytes:
        """What stands behind the last line break, as a line."""
        rest, self._rest = self._rest, b""
        return rest + b"\n" if rest else b""


def read_lines(text: bytes, field: int | None = None) -> Lines:
    r"""What whole lines say: an id; an id, a tab and a change; or with a `field` that word of each line.

    >>> found = read_lines(b"7\n\n8\t-1\n9\tmany\n")
    >>> found.updates.ids.tolist(), found.updates.deltas.tolist(), found.places.tolist(), found.odd
    ([7, 8], [1, -1], [0, 2], ((3, 'what follows the tab is no whole number.'),))
    """
    if field is None and b"\t" not in text and b"\r" not in text:
        return _plain(text)
    ids, deltas, places, odd = [], [], [], []
    lines = text.split(b"\n")[:-1]
    for place, line in enumerate(lines):
        found = _update(line, field)
        if isinstance(found, str):
            odd.append((place, found))
        elif found is not None:
            ids.append(found[0])
            deltas.append(found[1])
            places.append(place)
    updates = Updates(from_texts(ids), np.array(deltas, dtype=np.int64))
    return Lines(updates, np.array(places, dtype=np.int64), len(lines), tuple(odd))


def _update(line: bytes, field: int | None) -> tuple[bytes, int] | str | None:
    """The id and the change of a line, None for an empty one, or what is wrong with it."""
    if len(line) > LONGEST:
        return _TOO_LONG
    if field is not None:
        words = line.split(None, field)
        if not words:
            return None
        return (words[field - 1], 1) if len(words) >= field else f"it has no word {field}."
    identity, tab, change = line.partition(b"\t")
    identity, change = identity.strip(_BLANKS), change.strip(_BLANKS)
    if not identity:
        return "nothing stands before the tab." if tab else None
    if not tab:
        return identity, 1
    return (identity, int(change)) if _NUMBER.match(change) else "what follows the tab is no whole number."


def _plain(text: bytes) -> Lines:
    """Lines that hold nothing but an id."""
    letters = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(letters == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts
    odd: tuple[tuple[int, str], ...] = ()
    ids: Words
    if int(lengths.max(initial=0)) > LONG or bool((letters == 32).any()):
        lines = [line.strip(_BLANKS) for line in text.split(b"\n")[:-1]]
        kept = np.fromiter(map(bool, lines), dtype=np.bool_, count=len(lines)) & (lengths <= LONGEST)
        odd = tuple((place, _TOO_LONG) for place in np.flatnonzero(lengths > LONGEST).tolist())
        ids = from_texts([lines[place] for place in np.flatnonzero(kept).tolist()])
    else:
        kept = lengths > 0
        ids = from_letters(letters, starts[kept], lengths[kept])
    updates = Updates(ids, np.ones(ids.size, dtype=np.int64))
    return Lines(updates, np.flatnonzero(kept), int(ends.size), odd)
