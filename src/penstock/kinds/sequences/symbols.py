"""Raw sequences as numbers, and what is counted in them wherever they are. All of it lies below the seal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from penstock.engine.strings import ranked
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.occurrences import Text

Numbers = NDArray[np.int64]


class Contexts(Protocol):
    """Raw: what follows each of several contexts of one length, which grow to the left.

    Contexts are numbered; `histograms[i]` counts the symbols (and ends, last) that follow context i.
    """

    size: int
    depth: int

    @property
    def histograms(self) -> Numbers:
        """A row for each of them, a column per symbol and the end."""

    def children(self, split: Numbers) -> Self:
        """The contexts longer by one symbol (or beginning, last) than these (ascending), parent by parent."""


class Grams(Protocol):
    """Raw: what follows each of several strings, which grow to the right."""

    size: int

    @property
    def histograms(self) -> Numbers:
        """A row for each of them, a column per symbol and the end."""

    def extended(self, cells: Numbers) -> Self:
        """The strings that some cells count: string number times width plus symbol, ascending."""


class Cut(Protocol):
    """Raw: sequences of which so much is kept."""

    def contexts(self) -> Contexts:
        """The empty context, which precedes everything."""

    def grams(self) -> Grams:
        """The empty string, which is followed by everything."""


class Recorded(Protocol):
    """Raw: sequences, wherever they are."""

    @property
    def size(self) -> int:
        """How many there are."""

    def cut(self, alphabet: int, longest: int) -> Cut:
        """The first `longest` symbols of each sequence, where its end counts as one."""

    def length_counts(self, longest: int) -> tuple[Numbers, Numbers]:
        """The lengths that occur, ascending, and how often; more than the longest counts as that."""

    def starts(self, clock: Clock) -> Numbers:
        """How many sequences have their first event in each bin of the declared time."""

    def gaps(self, clock: Clock, alphabet: int, longest: int) -> Numbers:
        """What passes before an event since the one before it: a row per symbol, a column per public bin.

        Of every sequence the first event with each symbol counts, among those kept behind its first event.
        """


@dataclass(frozen=True, eq=False)
class Symbols:
    """Raw: the codes of all sequences end to end, and how many symbols each of them has.

    `moments` says when each event was, in days or seconds, where the schema declares the domain of times.
    """

    codes: NDArray[np.unsignedinteger]
    lengths: Numbers
    moments: Numbers | None = None

    @property
    def size(self) -> int:
        return len(self.lengths)

    @cached_property
    def _places(self) -> Numbers:
        """The place of every symbol in its sequence, from 0."""
        return np.arange(len(self.codes)) - np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)

    @property
    def _begins(self) -> Numbers:
        """Where each sequence begins that is not empty."""
        return (np.cumsum(self.lengths) - self.lengths)[self.lengths > 0]

    def chosen(self, kept: NDArray[np.intp]) -> Symbols:
        """Only the sequences of these numbers."""
        take = np.zeros(len(self.lengths), dtype=np.bool_)
        take[kept] = True
        events = np.repeat(take, self.lengths)
        moments = None if self.moments is None else self.moments[events]
        return Symbols(self.codes[events], self.lengths[take], moments)

    def order(self, longest: int | None, clock: Clock | None, alphabet: int) -> Sequence[Numbers]:
        """By what the sequences of one user are counted: all that is kept of them, as a database has it."""
        kept = self.lengths if longest is None else np.minimum(self.lengths, longest)
        inside = slice(None) if longest is None else self._places < longest
        found = [ranked(self.codes[inside], kept)]
        if clock is not None and self.moments is not None:
            first = np.zeros(self.size, dtype=np.int64)
            first[self.lengths > 0] = self._start_bins(clock)
            found += [first, ranked(self._gap_bins(clock, alphabet)[inside], kept)]
        return found

    def cut(self, alphabet: int, longest: int) -> Text:
        return Text.of(self, alphabet, longest)

    def length_counts(self, longest: int) -> tuple[Numbers, Numbers]:
        counts = np.bincount(np.minimum(self.lengths, longest))
        found = np.flatnonzero(counts)
        return found, counts[found]

    def starts(self, clock: Clock) -> Numbers:
        return np.bincount(self._start_bins(clock), minlength=clock.starts.count)

    def gaps(self, clock: Clock, alphabet: int, longest: int) -> Numbers:
        bins, count = self._gap_bins(clock, alphabet), clock.gaps.count
        counted = (bins < count) & (self._places < longest)
        cells = self.codes[counted].astype(np.int64) * count + bins[counted]
        return np.bincount(cells, minlength=alphabet * count).reshape(alphabet, count)

    def _start_bins(self, clock: Clock) -> Numbers:
        """The bin of the first event of each sequence that is not empty."""
        assert self.moments is not None
        return clock.starts.codes(self.moments[self._begins].astype(np.float64))

    def _gap_bins(self, clock: Clock, alphabet: int) -> Numbers:
        """The bin of what passed before every event, or behind the last bin where that does not count."""
        assert self.moments is not None
        later = np.flatnonzero(self._places > 0)
        owner = np.repeat(np.arange(self.size), self.lengths)[later]
        _, first = np.unique(owner * alphabet + self.codes[later].astype(np.int64), return_index=True)
        counted = later[first]
        passed = (self.moments[counted] - self.moments[counted - 1]).astype(np.float64)
        bins = np.full(len(self.codes), clock.gaps.count, dtype=np.int64)
        bins[counted] = np.minimum(clock.gaps.codes(passed), clock.gaps.count - 1)
        return bins
