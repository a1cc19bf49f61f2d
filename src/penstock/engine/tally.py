"""Counting rows of small integer codes, many marginals at a time.

Four ideas keep it fast. Where the columns asked for have few cells together, their joint table
answers all marginals (see `penstock.engine.joint_table`). Elsewhere marginals that overlap are answered
from a common superset, counted once. A counted superset is itself a table of weighted rows, usually
far shorter, so its marginals are counted the same way, recursively. And tables that share leading
columns share the mixed-radix key of those columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.engine.joint_table import marginals_of
from penstock.engine.marginal import Columns
from penstock.engine.plan import cover

Codes = NDArray[np.unsignedinteger] | NDArray[np.intp]

_BLOCK = 1 << 16  # rows handled at a time, so that keys stay in the processor's cache
_FRACTION = 1 / 2  # a superset has no more cells than this share of the rows
_HELD = 1 << 23  # cells held at a time before they are summed up into marginals
_WORTH_SUMMING = 512  # with fewer rows than this, nothing is cheaper than counting them,
_WORTH_PLANNING = 4096  # and with fewer than this, planning supersets costs more
_STEPS = 1 << 14  # on the cells of a joint table that are worth a marginal,
_STEPS_PER_ROW = 16  # and on short tables
_JOINT = 1 << 23  # cells of the largest joint table that is transformed
_EXACT = 1 << 53
_ALREADY_SMALL = 3 / 4  # a table of weighted rows pays off below this share of the rows


class Rows:
    """Coded rows, each standing for `weights` records (None: one each)."""

    def __init__(
        self, columns: Columns, codes: Mapping[int, Codes], length: int, weights: NDArray[np.int64] | None
    ) -> None:
        self.columns, self.codes, self.length, self.weights = columns, dict(codes), length, weights
        # NumPy adds weights up as doubles, which are exact as long as all of them together are below 2**53.
        few = weights is None or not weights.size or int(weights.max()) * weights.size < _EXACT
        self._doubles = None if weights is None or not few else weights.astype(np.float64)

    def tally(self, marginals: Sequence[tuple[int, ...]]) -> list[NDArray[np.int64]]:
        """The flat counts of each marginal, its first column slowest."""
        found: list[NDArray[np.int64] | None] = [None] * len(marginals)
        if self.length < _WORTH_SUMMING or len(marginals) == 1:
            return self._one_by_one(marginals)
        used = tuple(sorted({number for marginal in marginals for number in marginal}))
        cells = self.columns.cells(used)
        steps = cells * (len(used) + self.length // _BLOCK + 1)  # every block of rows adds to all cells
        if cells <= _JOINT and steps <= min(_STEPS, _STEPS_PER_ROW * self.length) * len(marginals):
            return self._from_joint(used, marginals)
        if self.length < _WORTH_PLANNING:
            return self._one_by_one(marginals)
        supersets = cover(marginals, self.columns, int(min(self.length, _BLOCK) * _FRACTION))
        alone: list[tuple[int, tuple[int, ...]]] = []
        shared: list[tuple[int, tuple[int, ...]]] = []
        for number, superset in enumerate(supersets):
            if len(superset.members) < 3:
                alone += [(member, marginals[member]) for member in superset.members]
            else:
                shared.append((number, superset.columns))
        for number, counts in self._direct(shared):
            superset = supersets[number]
            smaller = self._summary(superset.columns, counts)
            if smaller.length > self.length * _ALREADY_SMALL:
                alone += [(member, marginals[member]) for member in superset.members]
                continue
            for member, part in zip(
                superset.members, smaller.tally([marginals[m] for m in superset.members]), strict=True
            ):
                found[member] = part
        for position, counts in self._direct(alone):
            found[position] = counts
        return [counts for counts in found if counts is not None]

    def _one_by_one(self, marginals: Sequence[tuple[int, ...]]) -> list[NDArray[np.int64]]:
        found = sorted(self._direct(list(enumerate(marginals))), key=lambda item: item[0])
        return [counts for _, counts in found]

    def _from_joint(
        self, used: tuple[int, ...], marginals: Sequence[tuple[int, ...]]
    ) -> list[NDArray[np.int64]]:
        """All marginals from the one table of all columns they use."""
        ((_, joint),) = self._direct([(0, used)])
        sizes = [self.columns.size[number] for number in used]
        return marginals_of(joint.reshape(sizes), used, marginals)

    def column(self, number: int) -> Codes:
        """The codes of a column; those through a lookup are computed once."""
        codes = self.codes.get(number)
        if codes is None:
            lookup = self.columns.lookup[number]
            assert lookup is not None
            codes = lookup[self.codes[self.columns.base[number]]]
            if self.length > _BLOCK:
                codes = codes.astype(np.min_scalar_type(self.columns.size[number]))
            self.codes[number] = codes
        return codes

    def _summary(self, grouping: tuple[int, ...], counts: NDArray[np.int64]) -> Rows:
        """The non-empty cells of a counted table, as weighted rows."""
        cells = np.flatnonzero(counts)
        sizes = [self.columns.size[number] for number in grouping]
        codes = np.unravel_index(cells, sizes) if sizes else ()
        return Rows(self.columns, dict(zip(grouping, codes, strict=True)), len(cells), counts[cells])

    def _direct(
        self, wanted: Sequence[tuple[int, tuple[int, ...]]]
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Count each (label, columns) by a pass over the rows; blocks of rows, shared key prefixes."""
        ordered = sorted(wanted, key=lambda item: item[1])
        batch: list[tuple[int, tuple[int, ...]]] = []
        held = 0
        for item in ordered:
            batch.append(item)
            held += self.columns.cells(item[1])
            if held >= _HELD:
                yield from self._batch(batch)
                batch, held = [], 0
        yield from self._batch(batch)

    def _batch(self, batch: Sequence[tuple[int, tuple[int, ...]]]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        totals: list[NDArray[np.int64] | None] = [None] * len(batch)
        needed = {number for _, grouping in batch for number in grouping}
        whole = {number: self.column(number) for number in needed}
        for start in range(0, max(self.length, 1), _BLOCK):
            stop = min(start + _BLOCK, self.length)
            block = {number: codes[start:stop].astype(np.intp, copy=False) for number, codes in whole.items()}
            keys = _Keys(block, self.columns, stop - start)
            for index, (_, grouping) in enumerate(batch):
                counts = self._counted(keys.of(grouping), self.columns.cells(grouping), start, stop)
                total = totals[index]
                if total is None:
                    totals[index] = counts
                else:
                    total += counts
        for (label, _), total in zip(batch, totals, strict=True):
            assert total is not None
            yield label, total

    def _counted(self, keys: NDArray[np.intp], cells: int, start: int, stop: int) -> NDArray[np.int64]:
        """The sum of the rows' weights in each cell, exactly."""
        if self.weights is not None and self._doubles is None:
            counts = np.zeros(cells, dtype=np.int64)
            np.add.at(counts, keys, self.weights[start:stop])
            return counts
        weights = None if self._doubles is None else self._doubles[start:stop]
        return np.bincount(keys, weights, cells).astype(np.int64, copy=False)


class _Keys:
    """Mixed-radix keys of a block of rows; a run of equal leading columns is computed once."""

    def __init__(self, block: Mapping[int, NDArray[np.intp]], columns: Columns, length: int) -> None:
        self.block, self.columns, self.length = block, columns, length
        self.prefix: tuple[int, ...] = ()
        self.stack: list[NDArray[np.intp]] = []

    def of(self, grouping: tuple[int, ...]) -> NDArray[np.intp]:
        if not grouping:
            return np.zeros(self.length, dtype=np.intp)
        depth = 0
        for ours, theirs in zip(self.prefix, grouping, strict=False):
            if ours != theirs:
                break
            depth += 1
        for level in range(depth, len(grouping)):
            codes = self.block[grouping[level]]
            if level == 0:
                key = codes
            else:
                buffer = self.stack[level] if level < len(self.stack) and level > 0 else np.empty_like(codes)
                key = np.multiply(self.stack[level - 1], self.columns.size[grouping[level]], out=buffer)
                key += codes
            if level < len(self.stack):
                self.stack[level] = key
            else:
                self.stack.append(key)
        self.prefix = grouping
        return self.stack[len(grouping) - 1]
