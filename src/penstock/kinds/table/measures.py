"""Sums and means of a column of numbers among the records that meet a condition.

Bins are turned into values in one way everywhere (`schema.amounts`): a bin is worth the mean of its values,
which are taken to be even inside. What the records really hold lies between its least and its largest value.

A table of noisy counts that sees the condition and the column bounds a sum from both sides: each cell is
worth at least so much and at most so much, so that two weighted sums of noisy counts enclose the truth, each
but for 2.5 % of all releases. For a mean m these sums are of what the values differ from m (Fieller's
method): at the true mean the differences add up to zero, and every m at which they could is kept. Where each
code is one value and no bin is cut, both sums are the same, and the answer is counted. What no table sees
follows from the model, with the same estimate of its error as a count (`model_error`). All of it is post-
processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.kinds.table.answering import ESTIMATED, Asked, cut_fields, spread_evenly, unconnected
from penstock.kinds.table.counted import MOST_CELLS, CountedTable, OfCells, Sums, sums_of
from penstock.kinds.table.model_error import strays
from penstock.releases import Answer
from penstock.releases.answer import Bar, Basis, Known, Range, contributions
from penstock.schema import Amounts

if TYPE_CHECKING:
    from penstock.schema import Condition

Reals = NDArray[np.float64]
Truth = NDArray[np.bool_]

STEPS = 60  # halvings by which the end of a range is found
LOOKS = 65  # places at which it is first looked for


def total_of(release: Asked, condition: Condition, name: str) -> Answer:
    """The sum of a column over the records that meet a condition, what it rests on, and its error."""
    asked = _Asked(release, condition, name)
    text = f"total {name}"
    exact = [view for view in asked.views if view.exact]
    if exact:
        best = min(exact, key=lambda view: view.half(view.least(0.0)))
        worth = best.least(0.0)
        known = best.bar(worth)
        return Answer(best.sum(worth), known.half, text, "counted", asked.notes, known.covers)
    value = release.total * asked.worth
    likely = None if asked.fine else asked.likely(0.0, 0.0)
    if asked.views and likely is None:
        best = min(asked.fine or asked.views, key=lambda view: view.width(0.0))
        low, high = best.least(0.0), best.most(0.0)
        ends = best.sum(low) - best.half(low), best.sum(high) + best.half(high)
        return asked.answer(value, text, asked.total_between(*ends, value, "counted"))
    return asked.answer(
        value, text, None if likely is None else asked.total_between(*likely, value, "estimated")
    )


def mean_of(release: Asked, condition: Condition, name: str) -> Answer:
    """The mean of a column over the records that meet a condition and have a value of it."""
    asked = _Asked(release, condition, name)
    text = f"mean {name}"
    share = asked.share
    if not share > 0:
        return nothing_known(asked.narrowed, name, text, 0.5)
    value = float(np.clip(asked.worth / share, *asked.bounds))
    exact = [view for view in asked.views if view.exact]
    ends = None if asked.fine else asked.ends_of_mean(value)
    likely = None if ends is None else asked.likely(*ends)
    if asked.views and likely is None:
        best = min(exact or asked.fine or asked.views, key=lambda view: view.width(value))
        low, high = best.means(*asked.bounds)
        if exact:
            records = best.sum(np.where(best.whole, 1.0, 0.0))
            if records > 0:
                value = float(np.clip(best.sum(best.least(0.0)) / records, low, high))
            return Answer(value, max(high - value, value - low), text, "counted", asked.notes)
        return asked.answer(value, text, Range(min(low, value), max(high, value), "counted"))
    if ends is None or likely is None:
        return asked.answer(value, text, None)
    records = release.total * share
    low, high = (end + off / records for end, off in zip(ends, likely, strict=True))
    first, last = asked.bounds
    return asked.answer(
        value, text, Range(max(first, min(low, value)), min(last, max(high, value)), "estimated")
    )


def nothing_known(condition: Condition, name: str, text: str, share: float) -> Answer:
    """Where the model holds no record that is asked for: anything in the domain, if there can be one."""
    if not condition.can_hold():
        raise QueryError(f'No record with a value of {name} can meet "{condition.text}"; ask about others.')
    amounts = Amounts.of(condition.codecs[name])
    low, high = float(np.nanmin(amounts.low)), float(np.nanmax(amounts.high))
    told = f"The model holds no such record with a value of {name}: it may be anything in the field's domain."
    return Answer(low + share * (high - low), None, text, "model", (told,), range=Range(low, high, "counted"))


def edge(outside: Callable[[float], bool], first: float, last: float) -> float:
    """Where, on the way from `first` to `last`, values cease to be outside; `first` where none does.

    >>> round(edge(lambda value: value < 2.5, 0.0, 10.0), 6)
    2.5
    """
    places = np.linspace(first, last, LOOKS).tolist()
    inside = next((number for number, place in enumerate(places) if not outside(place)), 0)
    if inside == 0:
        return first
    near, far = places[inside - 1], places[inside]
    for _ in range(STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if outside(middle) else (near, middle)
    return float(near)


@dataclass(frozen=True, eq=False)
class View:
    """What one table of noisy counts says, place by place of the columns of a question.

    `low` and `high` are the least and the largest value there. `whole` says that all of a place is meant,
    `touched` that some of it is; `told` are noisy sums of all places.
    """

    low: Reals
    high: Reals
    whole: Truth
    touched: Truth
    told: Sums

    @cached_property
    def exact(self) -> bool:
        """Whether every place is meant wholly or not at all, and is worth one value."""
        return bool((self.whole == self.touched).all() and (self.low == self.high)[self.touched].all())

    def least(self, mean: float) -> Reals:
        """What a record at each place adds to the sum of differences from `mean`, at least."""
        differs = self.low - mean
        return np.where(self.whole, differs, np.where(self.touched, np.minimum(differs, 0.0), 0.0))

    def most(self, mean: float) -> Reals:
        """The same, at most."""
        differs = self.high - mean
        return np.where(self.whole, differs, np.where(self.touched, np.maximum(differs, 0.0), 0.0))

    def sum(self, worth: Reals) -> float:
        return self.told.sum(worth)

    def bar(self, worth: Reals) -> Bar:
        return self.told.bar(worth)

    def half(self, worth: Reals) -> float:
        return self.bar(worth).half

    def width(self, mean: float) -> float:
        """How far apart the ends of a range from this table lie, as far as it can tell."""
        low, high = self.least(mean), self.most(mean)
        return self.sum(high - low) + self.half(low) + self.half(high)

    def means(self, first: float, last: float) -> tuple[float, float]:
        """Between which means the truth lies: those at which the differences could add up to zero."""

        def too_low(mean: float) -> bool:
            worth = self.least(mean)
            return self.sum(worth) - self.half(worth) > 0

        def too_high(mean: float) -> bool:
            worth = self.most(mean)
            return self.sum(worth) + self.half(worth) < 0

        return edge(too_low, first, last), edge(too_high, last, first)


@dataclass(frozen=True)
class _Asked:
    """A sum or a mean that is asked of a release."""

    release: Asked
    condition: Condition
    name: str

    @cached_property
    def amounts(self) -> Amounts:
        return Amounts.of(self.condition.codecs[self.name])

    @cached_property
    def narrowed(self) -> Condition:
        """The condition, and that there is a value."""
        return self.condition.present(self.name)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        return float(np.nanmin(self.amounts.low)), float(np.nanmax(self.amounts.high))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.condition.names, self.name)))

    @cached_property
    def wide(self) -> bool:
        return prod(self.release.schema.sizes[name] for name in self.names) > MOST_CELLS

    @cached_property
    def share(self) -> float:
        """The share of all records that count."""
        return self.release.share(self.narrowed)

    @cached_property
    def worth(self) -> float:
        """What the records that count are worth, divided by the number of all."""
        return self.release.share(self.narrowed, self.name)

    @cached_property
    def weights(self) -> Reals:
        return self.release.support.weights(self.narrowed, self.names)

    @cached_property
    def cut(self) -> bool:
        return not self.wide and bool(((self.weights > 0) & (self.weights < 1)).any())

    def _along(self, values: Reals) -> Reals:
        """Values of the column's codes, beside the weights of all columns."""
        axis = self.names.index(self.name)
        shape = [len(values) if place == axis else 1 for place in range(len(self.names))]
        return np.broadcast_to(np.nan_to_num(values).reshape(shape), self.weights.shape)

    @cached_property
    def views(self) -> list[View]:
        """What each of these tables says."""
        return [self._view(table, told) for table, told in self._tables]

    @cached_property
    def fine(self) -> list[View]:
        """Of these, those that tell all codes of the column apart."""
        alone = [len(np.unique(table.place(self.name))) for table, _ in self._tables]
        size = self.release.schema.sizes[self.name]
        return [view for view, places in zip(self.views, alone, strict=True) if places == size]

    @cached_property
    def _tables(self) -> list[tuple[CountedTable, Sums]]:
        """The tables that see all columns; none where there are too many combinations."""
        tables = () if self.wide else self.release.counted_tables
        size = self.release.schema.size
        public = None if size is None else float(size)
        able = [table for table in tables if table.sees(self.names)]
        found = [(table, sums_of(table, tables, self.names, public)) for table in able]
        return [(table, told) for table, told in found if told is not None]

    def total_between(self, low: float, high: float, value: float, known: Known) -> Range:
        """The range of a sum: none of numbers that are all above zero is below it."""
        least, most = self.bounds
        low = max(0.0, low) if least >= 0 else low
        high = min(0.0, high) if most <= 0 else high
        return Range(min(low, value), max(high, value), known)

    def _view(self, table: CountedTable, told: Sums) -> View:
        least, most = table.extremes(self.names, self.weights)
        here = np.where(self.weights > 0, 1.0, np.nan)
        low, _ = table.extremes(self.names, self._along(self.amounts.low) * here)
        _, high = table.extremes(self.names, self._along(self.amounts.high) * here)
        touched = np.isfinite(most) & (most > 0)
        return View(
            np.where(touched, low, 0.0),
            np.where(touched, high, 0.0),
            touched & (least >= 1),
            touched,
            told,
        )

    def _model_view(self) -> View:
        """The model's expected counts, code by code, as a table without noise."""
        held = np.nan_to_num(self.weights)
        joint = self.release.marginal(self.names)
        low, high = self._along(self.amounts.low), self._along(self.amounts.high)
        return View(low, high, held >= 1, held > 0, OfCells(joint, np.ones(joint.shape), 0.0, False))

    def ends_of_mean(self, value: float) -> tuple[float, float] | None:
        """The least and the largest mean that the model's counts allow, wherever in their bins values lie."""
        if self.wide:
            return None
        low, high = self._model_view().means(*self.bounds)
        return min(low, value), max(high, value)

    def likely(self, low: float, high: float) -> tuple[float, float] | None:
        """The sums of differences from two means at which the truth is likely to begin and to end."""
        if self.wide or not self.release.estimates_errors:
            return None
        view = self._model_view()
        ends = []
        for sign, worth in ((-1, view.least(low)), (1, view.most(high))):
            found = strays(
                self.release.counted_tables,
                self.names,
                self.release.marginal(self.names),
                worth,
                self.release.total,
                public=self.release.schema.size is not None,
            )
            if found is None:
                return None
            ends.append(self.release.total * view.sum(worth) + sign * found.half)
        return ends[0], ends[1]

    @property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind, however it was counted."""
        field = self.condition.codecs[self.name].field
        told = []
        if self.condition.present(self.name) is not self.condition:
            told.append(f"Records without a number in {self.name} are left out.")
        if field.outside == "clamp":
            told.append(f"Values of {self.name} outside of {field.domain} count as its nearest bound.")
        return (*told, *contributions(self.release.schema))

    def answer(self, value: float, text: str, range_: Range | None) -> Answer:
        """An answer without an error bar, and why it has none."""
        counted = range_ is not None and range_.known == "counted"
        basis: Basis = "spread evenly" if counted else "model"
        told = []
        if not counted:
            told.append(
                f"No table of counts sees {', '.join(self.names)} together as finely as this: the number "
                "follows from the model."
            )
        binned = bool((self.amounts.low < self.amounts.high).any())
        if binned:
            told.append(_binned(self.name, range_))
        if self.cut:
            told.append(spread_evenly(cut_fields(self.condition), range_))
        if range_ is not None and not counted:
            told.append(ESTIMATED)
        told += unconnected(self.release.in_groups(self.names))
        return Answer(value, None, text, basis, (*told, *self.notes), range=range_)


def _binned(name: str, range_: Range | None) -> str:
    far = "how far that is wrong is not known"
    if range_ is not None:
        far = "the range allows for any other value inside"
    return f"A record in a bin of {name} counts with the bin's mean: {far}."
