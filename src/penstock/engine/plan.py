"""Which few tables to count so that many marginals follow from them.

A pass over the records is dear, summing a small table is cheap. A plan therefore covers the
marginals asked for by supersets of bounded size: one pass per superset, every covered marginal
by summation. Planning sees only public things: column numbers, sizes, lookups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.engine.marginal import Columns

_SHORTEST_WINDOW = 2048
_ANSWERED = 1e6  # more columns than any marginal has: it is never complete again
_LOOKED_AT = 1 << 19  # marginals times columns that are looked at together: more where columns are few


@dataclass(frozen=True)
class Superset:
    """One table to count and the marginals (positions in the request) it answers.

    `columns` are the columns to group by. They may hold a plain column in place of several of
    the lookups through it, when that is the smaller table.
    """

    columns: tuple[int, ...]
    members: tuple[int, ...]


def cover(marginals: Sequence[tuple[int, ...]], columns: Columns, limit: int) -> list[Superset]:
    """Supersets of at most `limit` cells that together answer every marginal.

    A marginal that is larger than `limit` by itself becomes its own superset. Greedy: start
    from a marginal, keep adding the column that completes most waiting marginals per added
    bit. Long requests are planned in windows of neighbours, so the cost stays linear.
    """
    frequency = np.zeros(len(columns.base), dtype=np.int64)
    for marginal in marginals:
        for column in marginal:
            frequency[column] += 1
    rank = np.empty(len(frequency), dtype=np.int64)
    rank[np.argsort(-frequency, kind="stable")] = np.arange(len(frequency))
    ranks = rank.tolist()

    def key(position: int) -> list[int]:
        return sorted(ranks[column] for column in marginals[position])

    order = sorted(range(len(marginals)), key=key)
    supersets: list[Superset] = []
    length = max(_SHORTEST_WINDOW, _LOOKED_AT // max(1, int(np.count_nonzero(frequency))))
    for start in range(0, len(order), length):
        window = order[start : start + length]
        supersets += _Window(window, marginals, columns, limit, ranks).supersets()
    return supersets


class _Window:
    """Greedy cover of one run of marginals, with vectorised bookkeeping."""

    def __init__(
        self,
        window: Sequence[int],
        marginals: Sequence[tuple[int, ...]],
        columns: Columns,
        limit: int,
        ranks: Sequence[int],
    ) -> None:
        used = sorted({c for position in window for c in marginals[position]}, key=ranks.__getitem__)
        local = {column: i for i, column in enumerate(used)}
        self.columns, self.limit, self.used = columns, limit, used
        self.positions = np.array(window)
        # a row for each column, as numbers: sums over marginals are then products of matrices
        self.member = np.zeros((len(used), len(window)), dtype=np.float32)
        lengths = [len(marginals[position]) for position in window]
        places = np.repeat(np.arange(len(window)), lengths)
        self.member[[local[c] for position in window for c in marginals[position]], places] = 1
        self.lengths = np.array(lengths, dtype=np.float32)
        self.sizes = np.array([columns.size[c] for c in used], dtype=np.float64)
        bases = sorted({columns.base[c] for c in used})
        self.base = np.array([bases.index(columns.base[c]) for c in used], dtype=np.int64)
        self.leaves = np.array([columns.size[b] for b in bases], dtype=np.float64)
        self.bits = np.log2(np.maximum(self.sizes, 1.5))

    def supersets(self) -> list[Superset]:
        found: list[Superset] = []
        waiting = np.ones(len(self.positions), dtype=bool)
        left, places, member, lengths = (
            len(waiting),
            np.arange(len(waiting)),
            self.member,
            self.lengths.copy(),
        )
        for first in range(len(self.positions)):
            if not waiting[first]:
                continue
            if 2 * left < len(places):  # those that are answered are looked at no longer
                places = np.flatnonzero(waiting)
                member, lengths = self.member[:, places], self.lengths[places]
            chosen, answered = self._grow(self.member[:, first] > 0, member, lengths)
            lengths[answered] = _ANSWERED
            covered = places[answered]
            waiting[covered] = False
            left -= len(covered)
            found.append(Superset(self._grouping(chosen), tuple(self.positions[covered].tolist())))
        return found

    def _grow(
        self, chosen: NDArray[np.bool_], member: NDArray[np.float32], lengths: NDArray[np.float32]
    ) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """The columns of a table that begins with those chosen, and which of the marginals it answers."""
        product = np.ones(len(self.leaves))
        np.multiply.at(product, self.base[chosen], self.sizes[chosen])
        cells = float(np.prod(np.minimum(product, self.leaves)))
        missing = lengths - chosen.astype(np.float32) @ member
        while cells <= self.limit and self.used:
            gain = member @ (missing == 1).astype(np.float32)
            gain[chosen] = 0
            now = np.minimum(product, self.leaves)[self.base]
            after = np.minimum(product[self.base] * self.sizes, self.leaves[self.base])
            growth = after / now
            # A plain column in the table answers all lookups of it at no cost.
            free = (growth <= 1) & ~chosen
            if free.any():
                chosen |= free
                missing -= free.astype(np.float32) @ member
                continue
            worth = np.where(cells * growth <= self.limit, gain / (self.bits + 0.1), 0.0)
            best = int(np.argmax(worth))
            if worth[best] <= 0:
                break
            chosen[best] = True
            product[self.base[best]] *= self.sizes[best]
            cells *= float(growth[best])
            missing -= member[best]
        return chosen, np.flatnonzero(missing == 0)

    def _grouping(self, chosen: NDArray[np.bool_]) -> tuple[int, ...]:
        by_base: dict[int, list[int]] = {}
        for i in np.flatnonzero(chosen).tolist():
            column = self.used[i]
            by_base.setdefault(self.columns.base[column], []).append(column)
        grouping: list[int] = []
        for base, same in by_base.items():
            as_leaf = self.columns.cells(same) >= self.columns.size[base]
            grouping += [base] if as_leaf else same
        return tuple(grouping)
