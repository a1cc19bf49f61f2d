"""How a question to a table is answered: by counts that see all of it, or else by the model."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.counted import MOST_CELLS, CountedTable, answered
from penstock.kinds.table.support import Support
from penstock.releases import Answer
from penstock.releases.answer import contributions

if TYPE_CHECKING:
    from penstock.schema import Condition, Schema

Reals = NDArray[np.float64]


class Asked(Protocol):
    """What is needed of a release to answer a question."""

    @property
    def schema(self) -> Schema: ...

    @property
    def support(self) -> Support: ...

    @property
    def total(self) -> float: ...

    @property
    def counted_tables(self) -> Sequence[CountedTable]: ...

    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]: ...

    def marginal(self, names: Sequence[str]) -> Reals: ...

    def share(self, condition: Condition) -> float: ...


def answer(release: Asked, condition: Condition) -> Answer:
    """The number of records for which a question holds, what it rests on, and what to keep in mind.

    Counts that see the question answer it by themselves, with the error of their noise; anything else is
    answered by the model.
    """
    schema, support = release.schema, release.support
    names = condition.names
    if prod(schema.sizes[name] for name in names) > MOST_CELLS:
        return _by_model(release, condition, cut=_cut_fields(condition), seen=False)
    weights = support.weights(condition, names)
    possible = weights[~np.isnan(weights)]
    if not (possible > 0).any():
        return Answer(0.0, 0.0, "records", "declared", ("The schema rules this out.",))
    public = None if schema.size is None else float(schema.size)
    if public is not None and (possible == 1).all():
        return Answer(public, 0.0, "records", "declared", ("The schema states the number of records.",))
    cut = _cut_fields(condition) if ((possible > 0) & (possible < 1)).any() else []
    known = None if cut else answered(release.counted_tables, names, weights, public)
    if known is not None:
        return Answer.counted(*known, "records", contributions(schema))
    seen = any(set(names) <= set(table.attributes) for table in release.counted_tables)
    return _by_model(release, condition, cut=cut, seen=seen)


def _by_model(release: Asked, condition: Condition, *, cut: Sequence[str], seen: bool) -> Answer:
    names = condition.names
    around = release.support.around(names)
    cells = prod(release.schema.sizes[name] for name in around)
    if cut and len(around) > len(names) and cells <= MOST_CELLS:
        # a rule cuts through the same bin, so what of the bin can be met depends on further columns
        weights = np.nan_to_num(release.support.weights(condition, around))
        share = float((release.marginal(around) * weights).sum())
    else:
        share = release.share(condition)
    spread = bool(cut) and seen
    caveats = [spread_evenly(cut)] if cut else []
    if not spread:
        caveats = [_unseen(names), *caveats]
    caveats += [*unconnected(release.in_groups(names)), *contributions(release.schema)]
    value = release.total * share
    return Answer(value, None, "records", "spread evenly" if spread else "model", tuple(caveats))


def spread_evenly(fields: Sequence[str]) -> str:
    bins = "bins" if len(fields) > 1 else "a bin"
    return (
        f"It cuts through {bins} of {', '.join(fields)}: records are taken to be spread evenly inside, and "
        "how far that is wrong is not known. Questions at the edges of bins have an error bar."
    )


def _unseen(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"No table of counts tells this of {names[0]}: the number follows from the model."
    return (
        f"No table of counts sees {', '.join(names)} together as finely as this: the number follows from the "
        "model, whose error is not known."
    )


def unconnected(groups: Sequence[Sequence[str]]) -> list[str]:
    """That an answer takes columns to be independent because the release knows nothing else."""
    if len(groups) < 2:
        return []
    words = " and ".join(", ".join(group) for group in groups)
    return [f"The release does not connect {words}: they are taken to be independent."]


def _cut_fields(condition: Condition) -> list[str]:
    """The fields a bin of which the question cuts through."""
    found: dict[str, None] = {}
    for term in condition.disjoint_terms():
        for name, weights in term.items():
            if np.any((weights > 1e-12) & (weights < 1 - 1e-12)):
                found[name] = None
    return list(found)
