"""Counting what follows what: occurrences of strings in sequences, followed level by level.

All sequences stand one after the other in one array, each behind a mark, which stands for its beginning
when it is looked back at and for its end when it is what comes next. A *place* is the position of a symbol
(or end) that is predicted. Following strings means to keep, for each place, the number of the string that
precedes it; all strings of one length are then counted in one pass. Everything here is raw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from penstock.kinds.sequences.symbols import Symbols

Numbers = NDArray[np.int64]
Places = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Text:
    """Raw: sequences over the symbols 0 ... alphabet - 1, each behind the mark `alphabet`.

    >>> from penstock.kinds.sequences.symbols import Symbols
    >>> text = Text.of(Symbols(np.array([0, 0, 1], dtype=np.uint8), np.array([1, 2])), alphabet=2, longest=2)
    >>> text.codes.tolist(), text.places.tolist()
    ([2, 0, 2, 2, 0, 1], [1, 2, 4, 5])
    """

    codes: NDArray[np.unsignedinteger]
    places: Places
    alphabet: int

    @classmethod
    def of(cls, symbols: Symbols, alphabet: int, longest: int | None = None) -> Text:
        """The first `longest` symbols of each sequence, where its end counts as one (None: all of it)."""
        kept, codes = symbols.lengths, symbols.codes
        ended = np.ones(len(kept), dtype=np.bool_)
        if longest is not None and len(kept) and int(kept.max()) >= longest:
            within = np.arange(len(codes)) - np.repeat(np.cumsum(kept) - kept, kept)
            codes, ended = codes[within < longest], kept < longest
            kept = np.minimum(kept, longest)
        spans = 1 + kept + ended
        ends = np.cumsum(spans)
        begins = ends - spans
        laid = np.full(int(spans.sum()), alphabet, dtype=np.min_scalar_type(alphabet))
        symbol = np.ones(len(laid), dtype=np.bool_)
        symbol[begins] = False
        symbol[ends[ended] - 1] = False
        laid[symbol] = codes
        predicted = np.ones(len(laid), dtype=np.bool_)
        predicted[begins] = False
        places = np.flatnonzero(predicted)
        return cls(laid, places.astype(np.int32) if len(laid) < 1 << 31 else places, alphabet)

    @property
    def width(self) -> int:
        """How many things can come next: the symbols and the end. As many can come before."""
        return self.alphabet + 1

    def contexts(self) -> Contexts:
        """The empty context, from which longer ones grow."""
        return Contexts.root(self)

    def grams(self) -> Grams:
        """The empty string, from which longer ones grow."""
        return Grams.root(self)

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """For every position and the one behind the last whether it is a place."""
        found = np.zeros(len(self.codes) + 1, dtype=np.bool_)
        found[self.places] = True
        return found


class Contexts:
    """Raw: what follows each of several contexts of one length, which grow to the left.

    Contexts are numbered; `histograms[i]` counts the symbols (and ends, last) that follow context i. The
    array of places moves on to the level of the children, so that only one level holds it.
    """

    def __init__(self, text: Text, places: Places, owners: Places | None, size: int, depth: int) -> None:
        self._text, self._places, self._owners = text, places, owners
        self.size, self.depth = size, depth
        self.histograms = _histograms(text, places, owners, size)

    @classmethod
    def root(cls, text: Text) -> Contexts:
        """The empty context, which precedes everything."""
        return cls(text, text.places, None, 1, 0)

    def children(self, split: Numbers) -> Contexts:
        """The contexts longer by one symbol (or beginning, last) than these (ascending), parent by parent."""
        places, owners, width = self._places, self._owners, self._text.width
        self._places = self._owners = np.zeros(0, dtype=np.int32)
        if owners is None:
            owners = np.zeros(len(places), dtype=np.int32)
        renumbered = np.full(self.size, -1, dtype=np.int32)
        renumbered[split] = np.arange(len(split), dtype=np.int32)
        owners = renumbered[owners]
        if len(split) < self.size:
            kept = owners >= 0
            places, owners = places[kept], owners[kept]
        owners *= width
        owners += self._text.codes[places - (self.depth + 1)]
        return Contexts(self._text, places, owners, len(split) * width, self.depth + 1)


class Grams:
    """Raw: what follows each of several strings, which grow to the right.

    Strings are numbered; `histograms[i]` counts the symbols (and ends, last) that follow string i.
    """

    def __init__(self, text: Text, places: Places, owners: Places | None, size: int) -> None:
        self._text, self._places, self._owners, self.size = text, places, owners, size
        self.histograms = _histograms(text, places, owners, size)

    @classmethod
    def root(cls, text: Text) -> Grams:
        """The empty string, which is followed by everything."""
        return cls(text, text.places, None, 1)

    def extended(self, cells: Numbers) -> Grams:
        """The strings that some cells count: string number times width plus symbol, ascending."""
        width = self._text.width
        renumbered = np.full(self.size * width, -1, dtype=np.int32)
        renumbered[cells] = np.arange(len(cells), dtype=np.int32)
        owners = renumbered[_cells(self._text, self._places, self._owners)]
        kept = (owners >= 0) & self._text.inside[self._places + 1]
        return Grams(self._text, self._places[kept] + 1, owners[kept], len(cells))


def _cells(text: Text, places: Places, owners: Places | None) -> Places:
    following = text.codes[places]
    if owners is None:
        return following.astype(np.int32)
    cells: Places = owners * np.int32(text.width)
    cells += following
    return cells


def _histograms(text: Text, places: Places, owners: Places | None, size: int) -> Numbers:
    cells = _cells(text, places, owners)
    return np.bincount(cells, minlength=size * text.width).reshape(size, text.width)
