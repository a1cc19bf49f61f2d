"""How a question to a table is answered: by counts that see all of it, or else by the model.

What rests on the model has a range where one is known. A question that cuts through bins lies between the one
without these bins and the one with all of them. Where both are counted, the truth is above the lower bar of
the one and below the upper bar of the other but for 2.5 % each, whatever the records are. Else the range is
estimated (`model_error`), or there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.counted import MOST_CELLS, CountedTable, answered
from penstock.kinds.table.model_error import strays
from penstock.kinds.table.support import Support
from penstock.releases import Answer
from penstock.releases.answer import Basis, Range, contributions

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

    @property
    def estimates_errors(self) -> bool: ...

    @property
    def loose(self) -> Sequence[Condition]: ...

    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]: ...

    def marginal(self, names: Sequence[str]) -> Reals: ...

    def share(self, condition: Condition, worth: str | None = None) -> float: ...


def answer(release: Asked, condition: Condition) -> Answer:
    """The number of records for which a question holds, what it rests on, and what to keep in mind.

    Counts that see the question answer it by themselves, with the error of their noise; anything else is
    answered by the model.
    """
    schema, support = release.schema, release.support
    names = condition.names
    if prod(schema.sizes[name] for name in names) > MOST_CELLS:
        return _by_model(release, condition, cut=cut_fields(condition), seen=False, range_=None)
    weights = support.weights(condition, names)
    possible = weights[~np.isnan(weights)]
    if not (possible > 0).any():
        return Answer(0.0, 0.0, "records", "declared", ("The schema rules this out.",))
    public = None if schema.size is None else float(schema.size)
    if public is not None and (possible == 1).all():
        return Answer(public, 0.0, "records", "declared", ("The schema states the number of records.",))
    cut = cut_fields(condition) if ((possible > 0) & (possible < 1)).any() else []
    known = None if cut else answered(release.counted_tables, names, weights, public)
    if known is not None:
        return Answer.counted(*known, "records", contributions(schema))
    seen = any(table.sees(names) for table in release.counted_tables)
    enclosed = _enclosed(release, names, weights, public) if cut else None
    range_ = enclosed or _likely(release, names, weights, public)
    return _by_model(release, condition, cut=cut, seen=seen, range_=range_)


def _ends(weights: Reals) -> list[Reals]:
    """The question without all that it cuts through, and the one with it."""
    impossible = np.isnan(weights)
    return [np.where(impossible, np.nan, held) for held in (weights >= 1, weights > 0)]


def _enclosed(release: Asked, names: Sequence[str], weights: Reals, public: float | None) -> Range | None:
    """Between the lower bar of what lies wholly inside, and the upper bar of what the question touches."""
    inner, outer = (answered(release.counted_tables, names, each, public) for each in _ends(weights))
    if inner is None or outer is None:
        return None
    high = max(0.0, outer[0]) + outer[1].half
    return Range(max(0.0, inner[0] - inner[1].half), high if public is None else min(high, public), "counted")


def _likely(release: Asked, names: Sequence[str], weights: Reals, public: float | None) -> Range | None:
    """An estimate of how far the truth lies from the model; None where no study has looked at its like."""
    if not release.estimates_errors:
        return None
    joint = release.marginal(names)
    ends = []
    for sign, each in zip((-1, 1), _ends(weights), strict=True):
        held = np.nan_to_num(each)
        found = strays(release.counted_tables, names, joint, held, release.total, public=public is not None)
        if found is None:
            return None
        ends.append(release.total * float((joint * held).sum()) + sign * found.half)
    return Range(max(0.0, ends[0]), ends[1] if public is None else min(ends[1], public), "estimated")


def _by_model(
    release: Asked, condition: Condition, *, cut: Sequence[str], seen: bool, range_: Range | None
) -> Answer:
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
    caveats = [spread_evenly(cut, range_)] if cut else []
    if not spread:
        caveats = [_unseen(names, known=range_ is not None), *caveats]
    if range_ is not None and range_.known == "estimated":
        caveats.append(ESTIMATED)
    caveats += [*unconnected(release.in_groups(names)), *contributions(release.schema)]
    value = release.total * share
    basis: Basis = "spread evenly" if spread else "model"
    return Answer(value, None, "records", basis, tuple(caveats), range=range_)


ESTIMATED = (
    "The range is an estimate of the model's error from the release's own counts. More than 9 of 10 such "
    "ranges held the truth in a study of other tables; none of them is guaranteed."
)


def spread_evenly(fields: Sequence[str], range_: Range | None = None) -> str:
    bins, them = ("bins", "them") if len(fields) > 1 else ("a bin", "it")
    far = "how far that is wrong is not known"
    if range_ is not None:
        far = f"the range, from none to all of {them}, allows for any other way"
        if range_.known == "counted":
            far = f"the range, counted without and with {them}, covers at least 95 % however they are"
    return (
        f"It cuts through {bins} of {', '.join(fields)}: records are taken to be spread evenly inside, and "
        f"{far}. Questions at the edges of bins have an error bar."
    )


def _unseen(names: Sequence[str], *, known: bool) -> str:
    if len(names) == 1:
        return f"No table of counts tells this of {names[0]}: the number follows from the model."
    model = "the model." if known else "the model, whose error is not known."
    return (
        f"No table of counts sees {', '.join(names)} together as finely as this: the number follows from "
        f"{model}"
    )


def unconnected(groups: Sequence[Sequence[str]]) -> list[str]:
    """That an answer takes columns to be independent because the release knows nothing else."""
    if len(groups) < 2:
        return []
    words = " and ".join(", ".join(group) for group in groups)
    return [f"The release does not connect {words}: they are taken to be independent."]


def cut_fields(condition: Condition) -> list[str]:
    """The fields a bin of which the question cuts through."""
    found: dict[str, None] = {}
    for term in condition.disjoint_terms():
        for name, weights in term.items():
            if np.any((weights > 1e-12) & (weights < 1 - 1e-12)):
                found[name] = None
    return list(found)
