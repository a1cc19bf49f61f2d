"""Sequences inside a database: coded there, kept there, counted there.

The twin of `symbols.Symbols` and `occurrences.Text`, number for number. Every sequence is one row with one
text, its codes behind a mark (`penstock.engine.strings`). What precedes a place of it is a part of the text
in front of that place; so all contexts of one length are counted in one query, in which the parts are
compared with the list of the contexts that are asked for. Only counts come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.bound import keep_some_per_user, refuse_nobody, refuse_uncalled, user_in_database
from penstock.engine.inside import Inside
from penstock.engine.pieces import USER
from penstock.engine.records import Source
from penstock.engine.stored import Stored
from penstock.engine.strings import PLACE, ROW, TOKEN, Digits, cut_up, listed_texts, places_of, refuse_values
from penstock.errors import DataError
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.progress import progress
from penstock.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

Numbers = NDArray[np.int64]

TEXT, LENGTH, FIRST, GAPS = "t", "n", "b", "g"
_WHO, _AT, _WHEN, _MOMENT = "who", "at", "when", "moment"
_WRONG, _TIED, _UNREAD = "wrong", "tied", "unread"


class SequencesInDatabase(Inside):
    """Raw: sequences that stay in a database; `symbols.Recorded` says what can be asked."""

    def __init__(self, records: Source, schema: Schema, needed: Sequence[str], order_key: bytes) -> None:
        super().__init__(records, needed)
        self._schema, self._layout = schema, SequenceLayout.of(schema)
        self._codec = schema.codec(self._layout.symbol)
        assert self._layout.longest is not None
        self._longest = self._layout.longest
        self._digits = Digits(self._codec.size + 1)
        self._clock = Clock.of(schema)
        self._gap_digits = Digits(1 if self._clock is None else self._clock.gaps.count + 1)
        with progress("encoding sequences"):
            self._stored: Stored = self.asked(lambda: self._bounded(self.source, order_key))

    @property
    def table(self) -> ir.Table:
        return self._stored.table

    @property
    def size(self) -> int:
        return int(self._lengths[1].sum())

    @cached_property
    def _lengths(self) -> tuple[Numbers, Numbers]:
        """The lengths that occur, ascending, and how often."""
        (found,) = self.asked(lambda: self.database.tables(self.table, [self.table[LENGTH]]))
        return found

    def length_counts(self, longest: int) -> tuple[Numbers, Numbers]:
        lengths, times = self._lengths
        counts = np.bincount(np.minimum(lengths, longest), weights=times).astype(np.int64)
        found = np.flatnonzero(counts)
        return found, counts[found]

    def cut(self, alphabet: int, longest: int) -> CutInDatabase:
        return CutInDatabase(self, self._digits, alphabet, longest)

    def starts(self, clock: Clock) -> Numbers:
        return self.counts(self.table, self.table[FIRST], clock.starts.count)

    def gaps(self, clock: Clock, alphabet: int, longest: int) -> Numbers:
        import ibis

        count = clock.gaps.count
        placed = places_of(
            self.table.select(TEXT, LENGTH, GAPS),
            ibis.least(self.table[LENGTH], ibis.literal(longest, type="int64")),
        )
        read = placed.select(
            symbol=self._digits.at(placed[TEXT], placed[PLACE]),
            gap=self._gap_digits.at(placed[GAPS], placed[PLACE] - 1),
        )
        read = read.filter(read["gap"] < count)
        return self.counts(read, read["symbol"] * count + read["gap"], alphabet * count).reshape(
            alphabet, count
        )

    def _bounded(self, source: ir.Table, order_key: bytes) -> Stored:
        """The texts of the sequences, checked; of each user a random sample where users have several."""
        values = self._values(source) if self._layout.user is None else self._events(source)
        found = Stored(values[1])
        self._refuse(found.table, values[0])
        owner = self._schema.unit.column
        if owner is None or owner == self._layout.user:
            return found
        names = [USER, TEXT, LENGTH] + ([] if self._clock is None else [FIRST, GAPS])
        refuse_uncalled(found.table, USER, owner)
        some = keep_some_per_user(found.table.select(*names), USER, self._schema.unit.records, order_key)
        return Stored(some.drop(USER))

    def _values(self, source: ir.Table) -> tuple[ir.Table, ir.Table]:
        """One row, one sequence: the values of all of them, and the texts."""
        from penstock.schema.database import coded

        owner = self._schema.unit.column
        if owner is not None:
            source = source.mutate(**{owner: user_in_database(source[owner])})
        keep = {} if owner is None else {USER: owner}
        values = cut_up(source, self._layout.symbol, self._layout.separator, keep)
        inner = coded(
            values,
            {TOKEN: self._codec},
            {name: name for name in (ROW, PLACE, *keep)},
            computed=self.database.computed,
            listed=self.database.listed,
        )
        there = inner[PLACE].notnull()
        grouped = inner.group_by([ROW, *keep]).aggregate(
            **{
                TEXT: self._joined(inner, self._digits, inner[TOKEN]),
                LENGTH: inner[PLACE].count(),
                _WRONG: (there & (inner[TOKEN] < 0)).sum(),
            }
        )
        return values, self._marked(grouped)

    def _events(self, source: ir.Table) -> tuple[ir.Table, ir.Table]:
        """One row, one event: the events as they are, and the texts, in each the events by time."""
        import ibis

        from penstock.schema.database import coded

        events = self._timed(source)
        owned = [_WHO] + ([USER] if USER in events.columns else [])
        codecs = {TOKEN: self._codec} | ({} if self._clock is None else {_WHEN: self._clock.codec})
        keep = [name for name in events.columns if name not in codecs]
        inner = coded(
            events,
            codecs,
            {name: name for name in keep},
            computed=self.database.computed,
            listed=self.database.listed,
        )
        by = {"group_by": [inner[name] for name in owned], "order_by": [inner[_AT], inner[TOKEN]]}
        placed = inner.mutate(
            **{
                PLACE: ibis.row_number().over(**by),
                "at_before": inner[_AT].lag().over(**by),
                "token_before": inner[TOKEN].lag().over(**by),
                **({} if self._clock is None else {"moment_before": inner[_MOMENT].lag().over(**by)}),
            }
        )
        if self._clock is not None:
            placed = self._gapped(placed, owned, self._clock)
        tied = (placed[_AT] == placed["at_before"]) & (placed[TOKEN] != placed["token_before"])
        asked = {
            TEXT: self._joined(placed, self._digits, placed[TOKEN]),
            LENGTH: placed.count(),
            _WRONG: (placed[TOKEN] < 0).sum(),
            _TIED: tied.sum(),
            _UNREAD: placed[_UNREAD].sum(),
        }
        if self._clock is not None:
            asked[_UNREAD] = (placed[_UNREAD] | (placed[_WHEN] < 0)).sum()
            asked[FIRST] = ibis.ifelse(placed[PLACE] == 0, placed[_WHEN], ibis.null("int64")).min()
            asked[GAPS] = self._joined(placed, self._gap_digits, placed["gap"])
        return events, self._marked(placed.group_by(owned).aggregate(**asked))

    def _gapped(self, placed: ir.Table, owned: Sequence[str], clock: Clock) -> ir.Table:
        """The events with the bin of what passed before each, which is none where that does not count."""
        import ibis

        from penstock.engine.expressions import added

        later = placed[PLACE] > 0
        groups = [*(placed[name] for name in owned), placed[TOKEN], later]
        turn = ibis.row_number().over(group_by=groups, order_by=placed[PLACE])
        one, none = (ibis.literal(number, type="int64") for number in (1, 0))
        passed = placed[_MOMENT] - placed["moment_before"]
        steps = [ibis.ifelse(passed >= int(edge), one, none) for edge in clock.gaps.values[1:-1]]
        turned = placed.mutate(turn=turn, steps=added([none, *steps]))
        counted = (turned[PLACE] > 0) & (turned["turn"] == 0)
        last = ibis.literal(clock.gaps.count, type="int64")
        return turned.mutate(gap=ibis.ifelse(counted, turned["steps"], last))

    def _joined(self, table: ir.Table, digits: Digits, codes: Any) -> Any:
        """The codes of a group as a text, up to the longest."""
        kept = table[PLACE].notnull() & (table[PLACE] < self._longest)
        return self.database.joined(digits.written(codes), table[PLACE], kept)

    def _marked(self, grouped: ir.Table) -> ir.Table:
        import ibis

        mark = ibis.literal(self._digits.text([self._codec.size]))
        # the end gets its mark where it is asked for, since texts with one would sort in another order
        longest = ibis.literal(self._longest, type="int64")
        return grouped.mutate(
            **{
                TEXT: mark + grouped[TEXT].fill_null(""),
                LENGTH: ibis.least(grouped[LENGTH].cast("int64"), longest),
            }
        )

    def _timed(self, source: ir.Table) -> ir.Table:
        """The events with whose they are and when they were, as something that sorts in the right order."""
        import ibis

        from penstock.schema.database import readings

        layout, schema = self._layout, self._schema
        assert layout.user is not None
        if layout.time is None:
            raise DataError(
                f"{layout.user}: the rows of a database stand in no order, and the schema names no time of "
                "events. Add 'time' to 'sequence', or use the memory engine, which takes them as they come. "
                "Nothing was spent."
            )
        columns: dict[str, Any] = {
            TOKEN: source[layout.symbol],
            _WHO: user_in_database(source[layout.user]),
        }
        owner = schema.unit.column
        if owner is not None and owner != layout.user:
            columns[USER] = user_in_database(source[owner])
        time: Any = source[layout.time]
        if layout.time in schema.names:
            value, _, readable = readings(schema.codec(layout.time), time)
            columns |= {_AT: value, _UNREAD: ~readable}
        elif time.type().is_numeric() or time.type().is_temporal():
            missing = time.isnull()
            if time.type().is_floating():
                missing = missing | time.isnan()
            columns |= {_AT: time, _UNREAD: missing}
        else:
            raise DataError(
                f"{layout.time}: the times are {str(time.type()).lower()} values, which a database does not "
                "sort as times. Declare the column under 'fields' as a datetime or a number, or convert it. "
                "Nothing was spent."
            )
        if self._clock is not None:
            edges = self._clock.starts
            low, high = (ibis.literal(int(end), type="int64") for end in (edges.low, edges.high))
            moment = columns[_AT].cast("int64")
            columns |= {_WHEN: time, _MOMENT: ibis.greatest(low, ibis.least(high, moment))}
        return source.select(**columns)

    def _refuse(self, found: ir.Table, values: ir.Table) -> None:
        """DataError for what the schema refuses, for events in no certain order, and for nobody's records."""
        asked = [name for name in (_WRONG, _TIED, _UNREAD) if name in found.columns]
        sums = self.database.numbers(found.aggregate(**{name: found[name].sum() for name in asked}))
        refuse_values(int(sums[_WRONG][0]), self._codec, values)
        layout, schema = self._layout, self._schema
        if _UNREAD in sums and int(sums[_UNREAD][0]):
            raise DataError(
                f"{layout.time}: {int(sums[_UNREAD][0])} times are missing, unreadable or outside of the "
                "declared domain. Fix these rows."
            )
        if _TIED in sums and int(sums[_TIED][0]):
            raise DataError(
                f"{layout.time}: {int(sums[_TIED][0])} events have the same time as another one of the same "
                f"{layout.user}, and the rows of a database stand in no order. Give times that differ, or "
                "use the memory engine, which takes such rows as they come. Nothing was spent."
            )
        if layout.user is not None:
            refuse_nobody(found, _WHO, layout.user, schema.missing_values)
        if USER in found.columns:
            refuse_nobody(found, USER, str(schema.unit.column), schema.missing_values)


class CutInDatabase:
    """Raw: what is kept of sequences in a database, followed context by context or string by string."""

    def __init__(self, whole: SequencesInDatabase, digits: Digits, alphabet: int, longest: int) -> None:
        self._whole, self.digits, self.width, self._longest = whole, digits, alphabet + 1, longest

    def contexts(self) -> ContextsInDatabase:
        return ContextsInDatabase(self, [], self.following([""], 0), 0)

    def grams(self) -> GramsInDatabase:
        return GramsInDatabase(self, [""], 0)

    def following(self, texts: Sequence[str], length: int) -> Numbers:
        """What follows each of several strings of one length: a row for each string."""
        return self._counted(texts, length, before=False).reshape(len(texts), self.width)

    def around(self, texts: Sequence[str], length: int) -> Numbers:
        """The same with what stands before the string: rows for each of that, string by string."""
        return self._counted(texts, length, before=True).reshape(len(texts) * self.width, self.width)

    def _counted(self, texts: Sequence[str], length: int, *, before: bool) -> Numbers:
        import ibis

        cells = len(texts) * self.width ** (2 if before else 1)
        if not texts:
            return np.zeros(0, dtype=np.int64)
        table = self._whole.table.select(TEXT, LENGTH)
        placed = places_of(table, ibis.least(table[LENGTH] + 1, ibis.literal(self._longest, type="int64")))
        if length:
            placed = placed.filter(placed[PLACE] > length)
        mark = ibis.literal(self.digits.text([self.width - 1]))
        text, place = placed[TEXT] + mark, placed[PLACE]
        columns = {"after": self.digits.at(text, place)}
        if before:
            columns["before"] = self.digits.at(text, place - (length + 1))
        if length:
            columns["string"] = self.digits.cut(text, place - length, length)
        found = placed.select(**columns)
        number: Any = ibis.literal(0, type="int64")
        if length and len(texts) == 1:
            found = found.filter(found["string"] == texts[0])
        elif length:
            listed = listed_texts(texts, found, "listed", "number")
            found = found.inner_join(listed, found["string"] == listed["listed"])
            number = found["number"]
        key = number
        for name in ("before", "after") if before else ("after",):
            key = key * self.width + found[name]
        return self._whole.counts(found, key, cells)


class ContextsInDatabase:
    """Raw: the twin of `occurrences.Contexts`."""

    def __init__(self, cut: CutInDatabase, parents: Sequence[str], histograms: Numbers, depth: int) -> None:
        self._cut, self._parents = cut, parents
        self.histograms, self.size, self.depth = histograms, len(histograms), depth

    def _text(self, number: int) -> str:
        """A context: one symbol more than its parent."""
        if not self.depth:
            return ""
        parent, symbol = divmod(number, self._cut.width)
        return self._cut.digits.text([symbol]) + self._parents[parent]

    def children(self, split: Numbers) -> ContextsInDatabase:
        texts = [self._text(number) for number in split.tolist()]
        return ContextsInDatabase(self._cut, texts, self._cut.around(texts, self.depth), self.depth + 1)


class GramsInDatabase:
    """Raw: the twin of `occurrences.Grams`; it is counted when somebody asks."""

    def __init__(self, cut: CutInDatabase, texts: Sequence[str], length: int) -> None:
        self._cut, self._texts, self._length, self.size = cut, texts, length, len(texts)

    @cached_property
    def histograms(self) -> Numbers:
        return self._cut.following(self._texts, self._length)

    def extended(self, cells: Numbers) -> GramsInDatabase:
        width = self._cut.width
        longer = [
            self._texts[cell // width] + self._cut.digits.text([cell % width]) for cell in cells.tolist()
        ]
        return GramsInDatabase(self._cut, longer, self._length + 1)
