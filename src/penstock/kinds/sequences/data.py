"""The sealed handle on sequences: visits to pages, stations on a trip, events of a case.

One unit is a whole sequence (or a user with up to m of them). Of every sequence the first `longest`
symbols are kept, its end counting as one, so that a unit owns at most `longest` (times m) *places*: positions
at which something is predicted from what came before. That number is what everything here is
calibrated to.

* A place has one context of each length, and in a tree of contexts exactly one leaf. A unit therefore
  moves the histograms of all leaves together by at most its number of places.
* Adding a place adds one to one histogram on each level of one path from the root. The score of a
  context, the size of its histogram without the largest entry, then grows by 0 or 1 on that path and
  nowhere else; and it never grows from a context to a longer one: what is left of the longer one's
  histogram after dropping its largest entry is at most what is left after dropping the entry that is
  largest in the shorter one's, and that is part of the shorter one's score.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.data import Data, Handle
from penstock.errors import SchemaError, UsageError
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.sequences.lengths import binned
from penstock.kinds.sequences.reading import open_sequences
from penstock.kinds.sequences.symbols import Contexts, Cut, Grams, Recorded, Symbols
from penstock.privacy.mechanisms.growth import Growth
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

Numbers = NDArray[np.int64]

MOST_LENGTHS = 1_000_000
"""Lengths among which one is chosen: each has a score of its own."""
_IN_WORDS = 1 << 20  # a share of so many parts, times fewer than 2**42 sequences, stays inside 64 bits
_FINEST_SHARE = 10**30


class ContextLevel(Handle):
    """All contexts of one length that exist so far: a level of the tree that PrivTree grows."""

    def __init__(self, raw: Contexts, width: int, moves: Sensitivity) -> None:
        self._raw, self._width, self._moves = raw, width, moves

    @property
    def fans(self) -> Numbers:
        """A context can be lengthened by any symbol or the beginning, unless it begins there already."""
        fans = np.full(self._raw.size, self._width)
        if self._raw.depth:
            fans[self._width - 1 :: self._width] = 0
        return fans

    def scores(self, asked: Numbers) -> Sealed[Numbers]:
        """How often something else than the most frequent symbol follows each context."""
        counts = self._raw.histograms[asked]
        return Sealed(
            counts.sum(axis=1) - counts.max(axis=1),
            self._moves,
            Relation.ADD_REMOVE,
            because="a place has one context of each length, and one more in an entry of a histogram raises "
            "the sum without the largest entry by 0 or 1: a unit raises scores along as many paths as it has "
            "places. They do not grow from a context to a longer one, and which contexts there are is public",
        )

    def children(self, split: Numbers) -> ContextLevel:
        return ContextLevel(self._raw.children(split), self._width, self._moves)


class Sequences(Data):
    """Sequences that can be counted and not seen.

    >>> import polars as pl
    >>> schema = Schema.from_yaml('''
    ... kind: sequences
    ... sequence: {symbol: pages, longest: 20}
    ... fields:
    ...   - {name: pages, constraints: {enum: [home, news, sport]}}
    ... ''')
    >>> Sequences.open(pl.DataFrame({"pages": ["home news", "home sport home"]}), schema)
    Sequences(3 symbols, at most 20 kept of each, sealed, add-remove)
    """

    def __init__(self, recorded: Recorded, schema: Schema, longest: int | None = None) -> None:
        columns = SequenceLayout.of(schema)
        if schema.relation is not Relation.ADD_REMOVE:
            raise SchemaError(
                "Methods for sequences protect one sequence or user added or removed; set relation to "
                "'add-remove' in the schema."
            )
        kept = columns.longest if longest is None else longest
        if kept is None:
            raise SchemaError(
                "sequence: the longest sequence is not declared. Add 'longest: 20' or whatever length most "
                "sequences do not exceed; it is public and must not be read off the data."
            )
        self._recorded = recorded
        self.schema, self.longest = schema, kept
        self.alphabet = schema.attribute(columns.symbol).labels
        self._cut = recorded.cut(len(self.alphabet), kept)

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> Sequences:
        cls(Symbols(np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64)), schema)  # refuses bad schemas
        return cls(open_sequences(source, schema, table=table, engine=engine, order_key=order_key), schema)

    def __repr__(self) -> str:
        return (
            f"Sequences({len(self.alphabet)} symbols, at most {self.longest} kept of each, sealed, "
            f"{self.schema.relation.value})"
        )

    @property
    def width(self) -> int:
        """How many things can come next: all symbols, and the end. As many can come before."""
        return len(self.alphabet) + 1

    @property
    def places(self) -> int:
        """The largest number of places of one unit, which is also the number of paths it touches."""
        return self.longest * self.schema.unit.records

    @property
    def sensitivity(self) -> Sensitivity:
        """Of histograms that share no place: the leaves of a tree of contexts, the strings of one length."""
        return Sensitivity.of(self.places, monotone=True)

    def size(self) -> Sealed[Numbers]:
        """The number of sequences, as a vector of one."""
        records = self.schema.unit.records
        return Sealed(
            np.array([self._recorded.size], dtype=np.int64),
            Sensitivity.of(records, monotone=True),
            self.schema.relation,
            because="every sequence is counted once, and a unit brings at most as many as its bound says",
        )

    def truncated(self, longest: int) -> Sequences:
        """The same sequences, of which less is kept."""
        if not 1 <= longest <= self.longest:
            raise UsageError(f"Between 1 and {self.longest} symbols can be kept, not {longest}.")
        shorter = Sequences(self._recorded, self.schema, longest)
        shorter.repeatable = self.repeatable
        return shorter

    def length_counts(self) -> Sealed[Numbers]:
        """How many sequences have a length in each public bin; more than is kept counts as the longest."""
        lengths, counts = self._recorded.length_counts(self.longest)
        return Sealed(
            binned(lengths, self.longest, counts),
            Sensitivity.of(self.schema.unit.records, monotone=True),
            self.relation,
            because="a sequence has one length, and a unit at most as many sequences as its bound says",
        )

    @property
    def clock(self) -> Clock | None:
        """The public bins of times, where the schema declares their domain."""
        return Clock.of(self.schema)

    def starts(self) -> Sealed[Numbers]:
        """How many sequences have their first event in each bin of the declared time."""
        return Sealed(
            self._recorded.starts(self._timed()),
            Sensitivity.of(self.schema.unit.records, monotone=True),
            self.relation,
            because="a sequence has one first event or none, and a unit as many sequences as its bound says",
        )

    @property
    def most_gaps(self) -> int:
        """How many times between events of one unit are counted at most."""
        return max(1, min(len(self.alphabet), self.longest - 1)) * self.schema.unit.records

    def gaps(self) -> Sealed[Numbers]:
        """What passes before an event since the one before it: a row per symbol, a column per public bin.

        Of every sequence the first event with each symbol counts, among those kept behind its first event.
        """
        return Sealed(
            self._recorded.gaps(self._timed(), len(self.alphabet), self.longest),
            Sensitivity.of(self.most_gaps, monotone=True),
            self.relation,
            because="a sequence is counted once for each symbol at most, and for each event but its first, "
            "whatever other sequences there are",
        )

    def _timed(self) -> Clock:
        clock = self.clock
        if clock is None:
            raise UsageError("The schema declares no domain of times; add the time column under 'fields'.")
        return clock

    def contexts(self) -> ContextLevel:
        """The empty context, from which a tree of contexts grows."""
        return ContextLevel(self._cut.contexts(), self.width, self.sensitivity)

    def leaves(self, growth: Growth[ContextLevel]) -> Sealed[Numbers]:
        """What follows each leaf of a tree of contexts: one row per leaf, a column per symbol and the end."""
        levels = zip(growth.levels, growth.leaves, strict=True)
        rows = [level._raw.histograms[leaves] for level, leaves in levels]
        return Sealed(
            np.concatenate(rows),
            self.sensitivity,
            self.schema.relation,
            because="a place has exactly one leaf of a tree of contexts, and is counted there once",
        )

    def lengths(self, share: Fraction) -> Sealed[Numbers]:
        """For every length up to the longest, how far it is from the shortest that a share q does not exceed.

        With q = a/b let f(l) = b (sequences not longer than l) - a (sequences). The score of l is
        -max(0, -f(l), f(l - 1)): zero where f crosses zero, which happens at one length even if many others
        do not occur at all. One sequence more moves the first count by 0 or 1 and the second by 1, so f
        moves by at most max(a, b - a), and so does a maximum of such numbers. The share alone decides whether
        they are 64-bit integers or Python's own, which have no end: a product that wraps around would move
        by more.
        """
        refuse_lengths(share, self.longest)
        ended = np.zeros(self.longest + 2, dtype=np.int64)
        lengths, counts = self._recorded.length_counts(self.longest)
        ended[lengths + 1] = counts
        not_longer = np.cumsum(ended)[: self.longest + 1]
        exact = not_longer if share.denominator <= _IN_WORDS else not_longer.astype(object)
        f = share.denominator * exact - share.numerator * int(ended.sum())
        scores = -np.maximum(0, np.maximum(-f[1:], f[:-1]))
        step = max(share.numerator, share.denominator - share.numerator) * self.schema.unit.records
        return Sealed(
            scores,
            Sensitivity.scores(step, self.longest),
            self.schema.relation,
            because="one sequence moves f(l) by b - a or by -a, so by at most max(a, b - a), a unit of m "
            "sequences by m times that, and a maximum of such numbers by no more",
        )

    def grams(self) -> GramLevel:
        """The empty string, from which longer strings grow to the right."""
        return GramLevel(self._cut.grams(), self.sensitivity)

    def candidates(self) -> Candidates:
        """The strings of one symbol, as candidates for the most frequent string."""
        return Candidates(self._cut, self.alphabet, self.places)


def refuse_lengths(share: Fraction, longest: int) -> None:
    """Refuse a share of the sequences, or so many lengths, for which `Sequences.lengths` has no scores."""
    if not 0 < share < 1:
        raise UsageError(f"A share of the sequences lies between 0 and 1, not at {share}.")
    if share.denominator > _FINEST_SHARE:
        raise UsageError(
            "A share of the sequences may have up to 30 decimals, or 30 digits below the line; round the "
            "quantile. Nothing was spent."
        )
    if longest > MOST_LENGTHS:
        raise UsageError(
            f"A longest length can be chosen among {MOST_LENGTHS:,} lengths, and the schema allows "
            f"{longest:,}; declare a smaller 'longest' in the schema. Nothing was spent."
        )


class GramLevel(Handle):
    """Strings of one length and what follows them; a place is counted after one of them at most."""

    def __init__(self, raw: Grams, moves: Sensitivity) -> None:
        self._raw, self._moves = raw, moves

    @property
    def size(self) -> int:
        return self._raw.size

    def histograms(self) -> Sealed[Numbers]:
        """One row per string, a column per symbol and the end."""
        return Sealed(
            self._raw.histograms,
            self._moves,
            Relation.ADD_REMOVE,
            because="before a place stands one string of each length, so that it is counted once at most",
        )

    def extended(self, cells: Numbers) -> GramLevel:
        """The strings that some cells count: string number times width plus symbol, ascending."""
        return GramLevel(self._raw.extended(cells), self._moves)


class Candidates(Handle):
    """Strings among which a frequent one is chosen, again and again; public but for their counts.

    A chosen string gives way to all strings that are one symbol longer. The count of a string moves by
    at most the places of one unit, and the counts of all strings in the same direction.
    """

    def __init__(self, cut: Cut, alphabet: Sequence[str], places: int) -> None:
        self._width, self._places = len(alphabet) + 1, places
        self._after: list[tuple[Grams, tuple[int, ...]]] = []
        self._cells: list[tuple[int, int]] = []
        self._counts: list[int] = []
        self._counted = 0
        self._add(cut.grams(), ())

    def _add(self, after: Grams, string: tuple[int, ...]) -> None:
        self._after.append((after, string))
        self._cells += [(len(self._after) - 1, symbol) for symbol in range(self._width - 1)]

    def _count(self) -> None:
        for after, _ in self._after[self._counted :]:
            self._counts += after.histograms[0, :-1].tolist()
        self._counted = len(self._after)

    def __len__(self) -> int:
        return len(self._cells)

    def scores(self) -> Sealed[Numbers]:
        """How often each candidate occurs, overlapping occurrences included; new ones are counted now."""
        self._count()
        moves = Sensitivity.scores(self._places, len(self), monotone=True)
        return Sealed(
            np.array(self._counts, dtype=np.int64),
            moves,
            Relation.ADD_REMOVE,
            because="a string ends at each place of a unit at most once, and who comes lowers no count",
        )

    def take(self, chosen: int) -> tuple[int, ...]:
        """The string that was chosen, as codes; its extensions become candidates in its place."""
        self._count()
        (group, symbol), _ = self._cells.pop(chosen), self._counts.pop(chosen)
        after, string = self._after[group]
        longer = (*string, symbol)
        self._add(after.extended(np.array([symbol])), longer)
        return longer
