"""What all pairs have in common: noisy counts of all pairs of columns, with less of their noise.

Columns that answer to the same few causes depend on one another in ways that repeat: written one beside the
other, the tables of all pairs, less what independent columns would have, are a matrix of low rank, plus what
is special about single pairs. Noise has no such pattern. It spreads over all directions alike, and none of
them gets more than twice the deviation times the square root of their number. So directions in which the
matrix is longer than that are kept, each shortened for what noise has lengthened and turned it by (the
shrinkage of least expected square error for a symmetric matrix); the others are dropped. Of what a single
pair then still differs by, it gets back the part by which that exceeds its noise, learned from all pairs and
from the pair itself (James and Stein). Where noise is small, nothing changes.

How much noise is left in a pair follows from how much of its two columns the kept directions take up: all of
it in columns that they hold whole, as those of two identical columns are, and hardly any where they are few.

The tables of a column with itself are not counted, nor would they be of low rank; what the others say of them
is found by going round, as factor analysis does.

Everything here is post-processing: it knows noisy counts that were paid for, and no record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.conditionals import Measured, added_up
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.postprocessing import onto_simplex

Reals = NDArray[np.float64]
Couple = tuple[int, int]

FEWEST = 4
"""Columns; three pairs have little in common that noise would not have."""

MOST = 1024
"""Groups of all columns together: the directions of a matrix of more take long to find."""

ROUNDS = 15
"""Of finding directions, at most; each with what the last one said of a column with itself."""

VOUCHED = 4
"""Cells of its own that a pair would need to be believed as much as all others about how it differs."""

HEAVY = 5
"""By how much squares of Laplace noise scatter, in squares of their mean; of Gaussian noise it would be 2."""

CALMER = 0.8
"""Of its noise, what a pair must keep less of to be told anew; half of all pairs, or none is."""

_STILL = 1e-3  # of the largest entry: a round that changes less is the last
_SMALLEST = 1e-12


class InCommon(Measured):
    """A table of a pair that was not counted like this: what it has in common with all others, and itself.

    Its deviation is about that of what is left of the noise, which is no longer that of a mechanism.
    """


@dataclass(frozen=True, eq=False)
class _Pair:
    """What all views say of one pair: shares of records, less those of independent columns."""

    beyond: Reals
    deviation: float

    @property
    def free(self) -> int:
        rows, columns = self.beyond.shape
        return max(1, int((rows - 1) * (columns - 1)))


def told(views: Sequence[Measured], variables: Sequence[Variable], total: float) -> Sequence[Measured]:
    """These views, where they hold all pairs, with what their pairs have in common instead of their noise.

    A view of two columns is told anew, with the noise that is left; one of more keeps what is about three
    and more of its columns, and its pairs are told beside it. Views of pairs that keep most of their noise
    stay as they are, coarser ones too, and so do all where some pair was not counted as finely as the others.
    """
    wide = [view for view in views if len(view.parts) > 1]
    levels = _levels(wide)
    at = [Parent(number, levels.get(number, 0)) for number in range(len(variables))]
    sizes = [variables[part.variable].sizes[part.level] for part in at]
    couples = list(combinations(range(len(variables)), 2))
    if len(variables) < FEWEST or total < 1 or sum(sizes) > MOST or not _covered(couples, wide, at):
        return views
    shares = [_single(views, part, variables, total) for part in at]
    pairs = _pooled(wide, at, shares, variables, total)
    common, noise, error = _common(pairs, sizes)
    calmer = {couple for couple in couples if noise[couple] < CALMER}
    if 2 * len(calmer) < len(couples):
        return views
    gaussian = any(view.gaussian for view in wide)
    anew: dict[ParentSet, Measured] = {
        (at[a], at[b]): InCommon(
            (at[a], at[b]),
            total * (np.multiply.outer(shares[a], shares[b]) + common[a, b]),
            max(total * error[a, b], _SMALLEST),
            gaussian,
        )
        for a, b in couples
        if (a, b) in calmer
    }
    better = {couple: common[couple] for couple in calmer}
    found = [
        _mended(view, at, shares, better, total) if len(view.parts) > 2 else anew.get(view.parts, view)
        for view in views
    ]
    counted = {view.parts for view in views}
    return [*dict.fromkeys(found), *(view for parts, view in anew.items() if parts not in counted)]


def _covered(couples: Sequence[Couple], wide: Sequence[Measured], at: Sequence[Parent]) -> bool:
    """Whether every pair is in a table that sees both as finely as any table of several does."""
    return len({couple for view in wide for couple in _couples(view, at)}) == len(couples)


def _couples(view: Measured, at: Sequence[Parent]) -> list[Couple]:
    fine = sorted(number for number, level in view.parts if at[number].level == level)
    return list(combinations(fine, 2))


def _levels(wide: Sequence[Measured]) -> dict[int, int]:
    """The finest level of each variable in a table with another."""
    found: dict[int, int] = {}
    for view in wide:
        for number, level in view.parts:
            found[number] = min(found.get(number, level), level)
    return found


def _single(views: Sequence[Measured], part: Parent, variables: Sequence[Variable], total: float) -> Reals:
    """The shares of the groups of one column, from every view that sees them."""
    sums, precision = np.zeros(variables[part.variable].sizes[part.level]), 0.0
    for view in views:
        level = dict(view.parts).get(part.variable)
        if level is not None and level <= part.level and (len(view.parts) == 1 or not view.together):
            counts = added_up(view.counts.astype(np.float64), view.parts, (part,), variables)
            weight = counts.size / max(view.total_variance, _SMALLEST)
            sums, precision = sums + weight * counts, precision + weight
    return onto_simplex(sums / precision, total) / total


def _pooled(
    wide: Sequence[Measured],
    at: Sequence[Parent],
    shares: Sequence[Reals],
    variables: Sequence[Variable],
    total: float,
) -> dict[Couple, _Pair]:
    """What all views that see both columns in full say of each pair."""
    sums: dict[Couple, tuple[Reals, float]] = {}
    for view in wide:
        counts = view.counts.astype(np.float64)
        weight = 1 / max(view.total_variance, _SMALLEST)
        for a, b in _couples(view, at):
            table = added_up(counts, view.parts, (at[a], at[b]), variables)
            before, precision = sums.get((a, b), (np.zeros(()), 0.0))
            sums[a, b] = before + weight * table.size * table, precision + weight * table.size
    return {
        (a, b): _Pair(
            _centred(table / (precision * total) - np.multiply.outer(shares[a], shares[b])),
            1 / (sqrt(precision) * total),
        )
        for (a, b), (table, precision) in sums.items()
    }


def _centred(table: Reals) -> Reals:
    """What is left of it is about dependence; rows and columns as such are known better."""
    return np.asarray(table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean())


def _common(
    pairs: Mapping[Couple, _Pair], sizes: Sequence[int]
) -> tuple[dict[Couple, Reals], dict[Couple, float], dict[Couple, float]]:
    """For each pair what it has of dependence, how much of its noise is left, and how far a cell is off."""
    ends = np.cumsum([0, *sizes])
    place = [slice(int(first), int(last)) for first, last in pairwise(ends)]
    scale = _scales(pairs, len(sizes))
    seen = np.zeros((int(ends[-1]), int(ends[-1])))
    squares, free = 0.0, 0
    for (a, b), pair in pairs.items():
        block = pair.beyond * (scale[a] * scale[b])
        seen[place[a], place[b]], seen[place[b], place[a]] = block, block.T
        squares += pair.free * (pair.deviation * scale[a] * scale[b]) ** 2
        free += pair.free
    directions = int(ends[-1]) - len(sizes)
    longest = 2 * sqrt(squares / free * directions)  # that noise alone makes any of them
    low = np.zeros_like(seen)
    kept = np.zeros((len(seen), 0))
    for _ in range(ROUNDS):
        for mine in place:
            seen[mine, mine] = low[mine, mine]
        lengths, vectors = np.linalg.eigh(seen)
        clear = lengths > longest
        kept, strength = vectors[:, clear], np.sqrt(np.square(lengths[clear]) - longest**2)
        before, low = low, (kept * strength) @ kept.T
        if np.abs(low - before).max() <= _STILL * np.abs(low).max():
            break
    # of the noise of a column, what no direction has that was kept
    free_of = [
        max(0.0, 1 - float(np.square(kept[mine]).sum()) / max(1, mine.stop - mine.start - 1))
        for mine in place
    ]
    apart = {(a, b): free_of[a] * free_of[b] for a, b in pairs}
    guess = {(a, b): low[place[a], place[b]] / (scale[a] * scale[b]) for a, b in pairs}
    own = _special(pairs, guess, apart)
    common = {pair: guess[pair] + own[pair] * (pairs[pair].beyond - guess[pair]) for pair in pairs}
    noise = {couple: sqrt(1 - (1 - own[couple] ** 2) * apart[couple]) for couple in pairs}
    # how pairs differ for reasons of their own is known no better than noise lets it be
    unseen = sqrt(HEAVY / free)
    error = {
        couple: pair.deviation * sqrt(1 - (1 - max(own[couple], unseen / (1 + unseen))) * apart[couple])
        for couple, pair in pairs.items()
    }
    return common, noise, error


def _special(
    pairs: Mapping[Couple, _Pair], guess: Mapping[Couple, Reals], apart: Mapping[Couple, float]
) -> dict[Couple, float]:
    """The part that is no noise of what each pair differs by from what it has in common with all.

    By how much pairs differ for reasons of their own, in deviations of noise, is learned from all of them
    and, the more it has to tell, from the pair itself.
    """
    beyond = {
        couple: float(np.square((pair.beyond - guess[couple]) / pair.deviation).sum())
        - apart[couple] * pair.free
        for couple, pair in pairs.items()
    }
    mean = max(0.0, sum(beyond.values()) / sum(pair.free for pair in pairs.values()))
    found = {}
    for couple, pair in pairs.items():
        mine = max(0.0, (VOUCHED * mean + beyond[couple]) / (VOUCHED + pair.free))
        found[couple] = mine / (mine + apart[couple]) if mine > 0 else 0.0
    return found


def _scales(pairs: Mapping[Couple, _Pair], columns: int) -> Reals:
    """A factor for each column with which the noise of all pairs is about the same."""
    logs = np.zeros((columns, columns))
    for (a, b), pair in pairs.items():
        logs[a, b] = logs[b, a] = np.log(max(pair.deviation, _SMALLEST))
    mean = logs.sum() / (columns * (columns - 1))
    return np.asarray(np.exp(-(logs.sum(axis=1) - (columns - 1) * mean) / (columns - 2)))


def _mended(
    view: Measured,
    at: Sequence[Parent],
    shares: Sequence[Reals],
    common: Mapping[Couple, Reals],
    total: float,
) -> Measured:
    """A view whose pairs say what they have in common with all others; the rest of it stays."""
    counts = view.counts.astype(np.float64)
    place = {part.variable: axis for axis, part in enumerate(view.parts)}
    for a, b in (couple for couple in _couples(view, at) if couple in common):
        others = tuple(axis for axis in range(counts.ndim) if axis not in (place[a], place[b]))
        has = counts.sum(axis=others)
        more = _centred(total * (np.multiply.outer(shares[a], shares[b]) + common[a, b]) - has)
        shape = [size if axis in (place[a], place[b]) else 1 for axis, size in enumerate(counts.shape)]
        counts += more.reshape(shape) * (more.size / counts.size)
    return replace(view, counts=counts)
