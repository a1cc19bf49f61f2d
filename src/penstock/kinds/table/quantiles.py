"""Quantiles of a column of numbers among the records that meet a condition.

The number is that of the model, whose values are even inside a bin. Where a table of noisy counts sees the
condition and the column, edges of bins enclose it: below an edge lie fewer than a share q of the records as
long as (those below) - q (all of them) is below zero, a weighted sum of noisy counts whose error is known.
Going up from the first edge, the truth is above every edge that is surely below it, until the first one that
is not; were the last of these above the truth, then the first edge above the truth would have passed for
below, which happens in 2.5 % of all releases. So it is from the other side.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.kinds.table.answering import Asked, cut_fields
from penstock.kinds.table.counted import MOST_CELLS, sums_of
from penstock.kinds.table.measures import nothing_known
from penstock.releases import Answer
from penstock.releases.answer import Basis, Range, contributions
from penstock.schema import Amounts

if TYPE_CHECKING:
    from penstock.schema import Condition

Reals = NDArray[np.float64]

USUAL = (0.05, 0.25, 0.5, 0.75, 0.95)


def quantiles_of(release: Asked, condition: Condition, name: str, wanted: Sequence[float]) -> list[Answer]:
    """For each wanted share the value below which so many of the records lie, and what it rests on."""
    amounts, field = Amounts.of(condition.codecs[name]), condition.codecs[name].field
    for share in wanted:
        if not 0 <= share <= 1:
            raise QueryError(f"A quantile is a share from 0 to 1, not {share:g}.")
    narrowed = condition.present(name)
    names = tuple(dict.fromkeys((*condition.names, name)))
    if prod(release.schema.sizes[each] for each in names) > MOST_CELLS:
        raise QueryError("The question joins too many columns for a quantile. Ask about fewer of them.")
    axis = names.index(name)
    weights = release.support.weights(narrowed, names)
    held = np.nan_to_num(weights)
    others = tuple(place for place in range(len(names)) if place != axis)
    shares = (release.marginal(names) * held).sum(axis=others)
    if not shares.sum() > 0:
        texts = [(f"is the {share:g} quantile of {name}", share) for share in wanted]
        return [nothing_known(narrowed, name, text, share) for text, share in texts]
    order = np.array([code for code in np.argsort(amounts.low, kind="stable") if amounts.known[code]])
    low, high, mass = amounts.low[order], amounts.high[order], shares[order] / shares.sum()
    below = np.concatenate([[0.0], np.cumsum(mass)])
    cut = bool(((held > 0) & (held < 1)).any())
    ends = None if cut else _enclosed(release, names, axis, held, order, wanted)
    whole = bool((low == high).all())
    found = []
    for number, share in enumerate(wanted):
        place = int(np.clip(np.searchsorted(below, share, side="left") - 1, 0, len(order) - 1))
        while mass[place] <= 0 and place + 1 < len(order):
            place += 1
        inside = (share - below[place]) / mass[place] if mass[place] > 0 else 0.5
        step = 1.0 if field.whole else 0.0
        value = float(low[place] + np.clip(inside, 0, 1) * (high[place] - low[place] + step))
        value = min(np.floor(value), high[place]) if field.whole else value
        range_ = None
        if ends is not None:
            first, last = ends[number]
            range_ = Range(min(float(low[first]), value), max(float(high[last]), value), "counted")
        basis: Basis = "model" if range_ is None else "spread evenly"
        notes = [_caveat(names, name, counted=range_ is not None, whole=whole, cut=cut, condition=condition)]
        found.append(
            Answer(
                value,
                None,
                f"is the {share:g} quantile of {name}",
                basis,
                (*notes, *contributions(release.schema)),
                range=range_,
            )
        )
    return found


def _caveat(
    names: Sequence[str], name: str, *, counted: bool, whole: bool, cut: bool, condition: Condition
) -> str:
    if counted:
        inside = "" if whole else f" Inside a bin of {name}, records are taken to be spread evenly."
        return f"The range is counted and covers at least 95 %.{inside}"
    if cut:
        columns = ", ".join(cut_fields(condition))
        return f"It cuts through a bin of {columns}: the number follows from the model, and has no range."
    return (
        f"No table of counts sees {', '.join(names)} together as finely as this: the number follows from the "
        "model, and has no range."
    )


def _enclosed(
    release: Asked,
    names: Sequence[str],
    axis: int,
    held: Reals,
    order: NDArray[np.int64],
    wanted: Sequence[float],
) -> list[tuple[int, int]] | None:
    """For each share the first and the last bin in which its quantile may lie; None where no table sees."""
    best, size = None, release.schema.size
    public = None if size is None else float(size)
    for table in release.counted_tables:
        if table.sees(names):
            least, most = table.extremes(names, held)
            known = np.isfinite(most)
            fine = len(np.unique(table.place(names[axis]))) == held.shape[axis]
            if fine and (least[known] == most[known]).all():
                told = sums_of(table, release.counted_tables, names, public)
                noise = table.deviation**2 * float(table.sums(names)[1][known].mean())
                if told is not None and (best is None or noise < best[0]):
                    best = noise, table, told
    if best is None:
        return None
    _, table, told = best
    places = table.place(names[axis])
    _, inside = table.extremes(names, held)
    inside = np.where(np.isfinite(inside), inside, 0.0)
    shape = [-1 if place == axis else 1 for place in range(len(names))]
    ends = []
    for share in wanted:
        lower, upper = 0, len(order) - 1
        rank = np.full(inside.shape[axis], np.inf)
        rank[places[order]] = np.arange(len(order))
        states = []
        for edge in range(1, len(order)):
            weights = inside * ((rank < edge).astype(np.float64) - share).reshape(shape)
            weights = np.where(np.isfinite(rank).reshape(shape), weights, 0.0)
            amount, half = told.sum(weights), told.bar(weights).half
            states.append(-1 if amount + half < 0 else 1 if amount - half > 0 else 0)
        for edge, state in enumerate(states, 1):
            if state != -1:
                break
            lower = edge
        for edge, state in reversed(list(enumerate(states, 1))):
            if state != 1:
                break
            upper = edge - 1
        ends.append((lower, max(lower, upper)))
    return ends
