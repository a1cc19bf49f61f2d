"""How far the truth may lie from what a model says: an estimate from the release's own noisy counts.

A question gives every combination of codes of its columns a weight. Under independent columns the weights
are a sum of parts (Hoeffding's decomposition): one that each column tells alone, one that each pair tells
only together, and so on; parts are orthogonal, so the squares of their sizes add up to the variance of all.
Every part is either *seen*, by tables of noisy counts that hold its columns, or not, and a table of coarser
levels sees what its groups tell of it.

*   `noise`: the deviation of the noise in all that is seen.
*   `unseen`: the records times the size of all that is not seen. The truth strays so far from the model in
    a part that is not seen if its columns are wholly dependent in just the way that is asked.
*   `apart`: how far the model disagrees with the counts of the parts that are seen, beyond their noise.
*   `total`: the deviation of the noise in the number of all records, times the mean weight. It is what no
    column tells: little for a count of few records, most of the error for a sum of numbers far from zero.

How far does the truth stray? A method that counts what depends most, until noise would outweigh it, leaves
dependence of a size between its noise and everything uncounted. The half-width of the estimate is in
proportion to their geometric mean, the root of noise times unseen, with noise and apart beside it. The factor
was chosen on one half of the suite of tables so that it covers the truth in 95 of 100 questions
(`studies/suite_bars.py`, docs/studies/suite-bars.md), and looked at on the other half. It is no bound:
dependence that is built to be missed is missed. All of it is post-processing of public numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import hypot, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.counted import CountedTable

Reals = NDArray[np.float64]
Axes = tuple[int, ...]

MOST_COLUMNS = 12
"""Of a question; beyond it, nothing is estimated."""

TOGETHER = 3
"""Columns of a part that is looked for among the tables; what only more of them tell counts as unseen."""

FACTOR = 1.15
"""Chosen on the first half of the suite: `python studies/suite_bars.py --chosen`."""


@dataclass(frozen=True)
class Strays:
    """What a release tells of a question by itself, in records: see the module."""

    noise: float
    unseen: float
    apart: float
    total: float = 0.0

    @property
    def half(self) -> float:
        """The half-width within which the truth is likely to lie, at least one record.

        >>> round(Strays(noise=10.0, unseen=400.0, apart=0.0).half, 1)
        73.6
        """
        strayed = FACTOR * sqrt(self.noise * (self.noise + self.unseen))
        return max(1.0, hypot(strayed, self.apart, _QUANTILE * self.total))


def strays(
    tables: Sequence[CountedTable],
    names: Sequence[str],
    joint: Reals,
    weights: Reals,
    total: float,
    *,
    public: bool = False,
) -> Strays | None:
    """What tables of noisy counts tell of a question with these weights, and what they leave open.

    `joint` are the model's probabilities of the same combinations of codes; None where there are too many
    columns to look at. The `total` has no noise where it is `public`.
    """
    if len(names) > MOST_COLUMNS or total <= 0:
        return None
    axes = range(len(names))
    shares = [joint.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    seen: dict[Axes, list[tuple[CountedTable, list[Reals]]]] = {}
    for table in tables:
        here = [axis for axis in axes if names[axis] in table.attributes]
        groups = {axis: _grouping(table, names[axis]) for axis in here}
        for many in range(1, TOGETHER + 1):
            for part in combinations(here, many) if table.sees([names[a] for a in here[:many]]) else ():
                seen.setdefault(part, []).append((table, [groups[axis] for axis in part]))
    means = {part: _mean(weights, shares, part) for part in _below(seen)}
    noise = apart = told = 0.0
    for part, counted in seen.items():
        own = _own(means, part)
        sides = [shares[axis] for axis in part]
        model = joint.sum(axis=tuple(axis for axis in axes if axis not in part))
        looks = [_look(table, [names[a] for a in part], groups, own, sides) for table, groups in counted]
        largest = max(look.size for look in looks)
        best = [look for look in looks if look.size > 0 and look.size >= _ALIKE * largest]
        if not best:
            continue
        precision = sum(1 / max(look.variance, _LEAST) for look in best)
        off = sum(
            (look.sum - total * float((model * look.back).sum())) / max(look.variance, _LEAST)
            for look in best
        )
        noise += 1 / precision
        apart += max(0.0, (off / precision) ** 2 - 1 / precision)
        told += largest
    everything = _weighed(weights**2, shares) - _weighed(weights, shares) ** 2
    counts = [] if public else [t.deviation**2 * t.counts.size for t in tables if not t.together]
    precision = sum(1 / max(_LEAST, variance) for variance in counts)
    all_of_them = abs(float((joint * weights).sum())) / sqrt(precision) if precision else 0.0
    return Strays(sqrt(noise), total * sqrt(max(0.0, everything - told)), sqrt(apart), all_of_them)


_ALIKE = 0.9  # views that see nearly as much of a part as the finest one are averaged with it
_LEAST = 1e-12
_QUANTILE = 1.959964  # of the normal distribution


@dataclass(frozen=True, eq=False)
class _Look:
    """What a table says of one part: its sum, the variance of that, how much of the part it sees.

    `back` is what it sees of the part, for each combination of codes.
    """

    sum: float
    variance: float
    size: float
    back: Reals


def _look(
    table: CountedTable, names: Sequence[str], groups: Sequence[Reals], own: Reals, sides: Sequence[Reals]
) -> _Look:
    """The part as the table's groups of codes tell it: its mean in each of them."""
    mass, within = own * reduce(np.multiply.outer, sides), own
    for axis, group in enumerate(groups):
        mass = np.moveaxis(np.tensordot(group, mass, axes=([1], [axis])), 0, axis)
    weight = reduce(np.multiply.outer, [group @ side for group, side in zip(groups, sides, strict=True)])
    coarse = np.divide(mass, weight, out=np.zeros_like(mass), where=weight > 0)
    within = coarse
    for axis, name in enumerate(names):
        within = np.take(within, table.place(name), axis=axis)
    places = [table.attributes.index(name) for name in names]
    others = tuple(axis for axis in range(table.counts.ndim) if axis not in places)
    sums = np.transpose(table.counts.sum(axis=others), np.argsort(np.argsort(places)))
    cells = table.counts.size / prod(coarse.shape)
    return _Look(
        float((sums * coarse).sum()),
        table.deviation**2 * cells * float((coarse**2).sum()),
        float((coarse**2 * weight).sum()),
        within,
    )


def _grouping(table: CountedTable, name: str) -> Reals:
    """For each place along the table's axis, which codes of a column belong to it."""
    place = table.place(name)
    found = np.zeros((table.counts.shape[table.attributes.index(name)], len(place)))
    found[place, np.arange(len(place))] = 1.0
    return found


def _below(parts: Iterable[Axes]) -> set[Axes]:
    """The parts and all that lies in them."""
    return {few for part in parts for many in range(len(part) + 1) for few in combinations(part, many)}


def _mean(weights: Reals, shares: Sequence[Reals], part: Axes) -> Reals:
    """The mean weight given the codes of some columns, all others being independent of them."""
    found = weights
    for axis in reversed(range(weights.ndim)):
        if axis not in part:
            found = np.tensordot(found, shares[axis], axes=([axis], [0]))
    return np.asarray(found)


def _own(means: dict[Axes, Reals], part: Axes) -> Reals:
    """What some columns tell only together."""
    found = np.zeros_like(means[part])
    for many in range(len(part) + 1):
        for few in combinations(part, many):
            shape = [size if axis in few else 1 for axis, size in zip(part, found.shape, strict=True)]
            found += (-1.0) ** (len(part) - many) * means[few].reshape(shape)
    return found


def _weighed(table: Reals, shares: Sequence[Reals]) -> float:
    return float(_mean(table, shares, ()))
