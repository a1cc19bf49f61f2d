"""Marginals counted inside a database: which tables are asked for, and what follows from those known already.

What comes back is a contingency table of public columns: one line for each cell that is not empty. A table
that answers several marginals has at most half as many cells as there are records, so that no result has a
line for each of them, unless a marginal that was asked for is larger itself. How many tables there are is
seen by this process and the database alone.

Results are raw and unprotected: only `penstock.privacy` may call this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.connection import explained
from penstock.engine.database import Database
from penstock.engine.expressions import packed, through
from penstock.engine.marginal import Columns
from penstock.engine.pieces import code_column
from penstock.engine.plan import Superset, cover
from penstock.engine.tally import Rows
from penstock.engine.words import Words
from penstock.errors import DataError
from penstock.progress import progress

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MANY = 256  # marginals from which on few large tables are better than many small ones
_CELLS_MANY = 1 << 20
_PLAIN = 1 << 10  # cells of a marginal that is counted without its lookups, where marginals are few
_KNOWN = 128  # tables that are held for the next request,
_LINES = 1 << 20  # and their lines in all


class Answers:
    """Counts of marginals, given as column numbers, over the codes that a database keeps.

    Tables that were counted are held, as long as they are few: the next request is answered from them where
    it can be.
    """

    def __init__(
        self,
        database: Database,
        columns: Columns,
        table: ir.Table,
        words: Words | None,
        length: int,
        failure: Callable[[Exception], DataError],
    ) -> None:
        self._database, self._columns, self._failure = database, columns, failure
        self._table, self._words, self._length = table, words, length
        self._known: list[tuple[int, Rows]] = []
        self._lines = 0

    def counts(self, marginals: Sequence[tuple[int, ...]]) -> list[NDArray[np.int64]]:
        """Raw: the contingency table of each marginal, flat, its first column slowest."""
        found: dict[int, NDArray[np.int64]] = {}
        by_table: dict[int, list[int]] = {}
        for position, marginal in enumerate(marginals):
            place = self._knows(marginal)
            if place is not None:
                by_table.setdefault(place, []).append(position)
        for place, members in by_table.items():
            tables = self._known[place][1].tally([marginals[member] for member in members])
            found |= zip(members, tables, strict=True)
        waiting = [position for position in range(len(marginals)) if position not in found]
        many = len(waiting) >= _MANY
        limit = min(_CELLS_MANY if many else self._database.cells, self._length // 2)
        plain = 0 if many else min(_PLAIN, limit)
        asked = [self._plainly(marginals[position], plain) for position in waiting]
        with progress("counting marginals", total=len(marginals)) as step:
            step(len(found))
            for some in self._at_once(cover(asked, self._columns, limit)):
                for superset, rows in zip(some, self._grouped([each.columns for each in some]), strict=True):
                    members = [waiting[member] for member in superset.members]
                    tables = rows.tally([marginals[member] for member in members])
                    found |= zip(members, tables, strict=True)
                    self._hold(superset.columns, rows)
                    step(len(members))
        return [found[position] for position in range(len(marginals))]

    def code(self, number: int) -> Any:
        """The code of a plain column as an expression."""
        return (
            self._table[code_column(number)] if self._words is None else self._words.code(self._table, number)
        )

    def _plainly(self, marginal: tuple[int, ...], limit: int) -> tuple[int, ...]:
        """The marginal without lookups, where that is a small table: it answers other ones, too."""
        plain = tuple(dict.fromkeys(self._columns.base[number] for number in marginal))
        return plain if self._columns.cells(plain) <= limit else marginal

    def _knows(self, marginal: tuple[int, ...]) -> int | None:
        """The shortest of the tables held that the marginal follows from."""
        base = self._columns.base
        able = [
            place
            for place, (held, _) in enumerate(self._known)
            if all((held >> number | held >> base[number]) & 1 for number in marginal)
        ]
        return min(able, key=lambda place: self._known[place][1].length, default=None)

    def _hold(self, columns: tuple[int, ...], rows: Rows) -> None:
        if len(self._known) < _KNOWN and self._lines + rows.length <= _LINES:
            self._known.append((sum(1 << number for number in columns), rows))
            self._lines += rows.length

    def _at_once(self, supersets: Sequence[Superset]) -> Iterator[list[Superset]]:
        """Tables that one question counts: as many as the database takes, and has room for."""
        some: list[Superset] = []
        cells = 0
        for superset in supersets:
            more = min(self._columns.cells(superset.columns), self._length)
            if some and (len(some) == self._database.together or cells + more > self._database.room):
                yield some
                some, cells = [], 0
            some.append(superset)
            cells += more
        if some:
            yield some

    def _seen(self, number: int, *, whatever: bool = False) -> tuple[int, Any]:
        """The expression of a column, through its lookup; of the plain column where that is better, unless
        it shall be the lookup `whatever` it takes."""
        base, lookup = self._columns.base[number], self._columns.lookup[number]
        column = self.code(base).cast("int64")
        found = None if lookup is None else self._database.looked_up(column, lookup)
        if found is None and lookup is not None and whatever:
            found = through(column, lookup)
        return (base, column) if found is None else (number, found)

    def _columns_of(self, grouping: tuple[int, ...]) -> dict[int, Any]:
        """The expressions of columns by their numbers: plain ones only where their table stays as small as a
        table may be, so that no key is too long for a number and no result has a line for each record."""
        seen = dict(self._seen(number) for number in grouping)
        most = max(self._columns.cells(grouping), min(_CELLS_MANY, self._length // 2))
        if self._columns.cells(tuple(seen)) <= most:
            return seen
        return dict(self._seen(number, whatever=True) for number in grouping)

    def _key(self, grouping: tuple[int, ...]) -> tuple[Any, Callable[[NDArray[np.int64]], dict[int, Any]]]:
        """The columns of a table as one number, and how to tell them apart again."""
        words = self._words
        if words is not None and all(self._columns.lookup[number] is None for number in grouping):
            together = words.together(self._table, grouping)
            if together is not None:
                key, behind = together
                return key, lambda cells: dict(
                    zip(grouping, words.codes_of(cells, grouping, behind), strict=True)
                )
        seen = self._columns_of(grouping)
        sizes = [self._columns.size[number] for number in seen]
        key = packed(list(seen.values()), sizes)
        return key, lambda cells: dict(zip(seen, np.unravel_index(cells, sizes), strict=True))

    def _grouped(self, groupings: Sequence[tuple[int, ...]]) -> list[Rows]:
        """For each grouping of columns its non-empty cells as weighted rows, grouped by one packed key."""
        keys = [self._key(grouping) for grouping in groupings if grouping]
        with explained(self._failure):
            tables = iter(self._database.tables(self._table, [key for key, _ in keys]))
        apart = (told for _, told in keys)
        answers = []
        for grouping in groupings:
            if not grouping:
                answers.append(Rows(self._columns, {}, 1, np.array([self._length], dtype=np.int64)))
                continue
            cells, weights = next(tables)
            answers.append(Rows(self._columns, next(apart)(cells), len(weights), weights))
        return answers
