"""The most frequent of a public list of candidates, or all those above a threshold.

Guarantee: pure epsilon, for one unit added or removed, or replaced where the schema says so.
Why: the scores are counts over a public list of candidates. Which mechanism chooses among them is decided
from public facts (`selection.plan`); each is private by its own theorem (`privacy.choice`, `privacy.sparse`,
`privacy.noise`). Counts of what was selected are a second look at the records, paid with their own share:
once the selection is public, it is a list of known candidates like any other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import D, Method
from penstock.contracts.parameters import Exact, Share, Text, Whole
from penstock.errors import UsageError
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.table.adaptive_bins import at_most
from penstock.kinds.table.data import Table
from penstock.learn.selection.mechanism import Mechanism
from penstock.learn.selection.plan import Request
from penstock.learn.selection.release import COUNTS_OF_SELECTED, SelectionRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.public import AnyOrder
from penstock.privacy.mechanisms import choice, noise
from penstock.privacy.mechanisms.sparse import above_threshold
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Field, Schema

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Candidates:
    """What there is to choose from, and its sealed scores."""

    labels: Sequence[str]
    scores: Sealed[Counts]
    counted: str
    field: str


@dataclass(frozen=True)
class _Selection(Method[D]):
    """What both selections share: what is asked for, and how it is answered.

    `c` is how many to select (with a threshold: at most), `threshold` the count that a candidate must reach,
    `counts` the share of epsilon for noisy counts of what is selected, which is spent even if that is nobody,
    `mechanism` how to choose.
    """

    c: Annotated[int | None, Whole(least=1)] = None
    threshold: Annotated[Amount | None, Exact()] = None
    counts: Annotated[Amount, Share(none=True)] = 0
    mechanism: Mechanism = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._request

    @property
    def _request(self) -> Request:
        limit = None if self.threshold is None else exact(self.threshold, "threshold")
        return Request(self.c, limit, exact(self.counts, "counts"), self.mechanism)

    def _asked_of(self) -> dict[str, str | None]:
        """The parameters that say what to select from, for the release."""
        return {}

    @abstractmethod
    def _candidates(self, data: D) -> _Candidates:
        """The candidates of the data and their sealed scores."""

    def fit(self, data: D, budget: Budget) -> SelectionRelease:
        """Select, and count what was selected where a share is set aside for it."""
        self.ready(data, budget)
        schema, request = data.schema, self._request
        offered = self._candidates(data)
        if request.c is not None:  # adaptive bins may come out fewer than `check` could know
            request = replace(request, c=min(request.c, len(offered.labels)))
        scores = offered.scores
        mechanism = request.choose(scores.sensitivity, budget.left[0])
        counts: Counts | None
        margin: float | None
        if mechanism == "histogram":
            chosen, counts, margin = _from_histogram(scores, request, budget)
        else:
            chosen, counts, margin = _from_choice(scores, request, len(offered.labels), budget, mechanism)
        return SelectionRelease(
            method=self.name,
            schema=schema,
            receipt=budget.receipt(schema.unit, scores.relation),
            parameters={
                "c": self.c,
                "threshold": None if request.threshold is None else str(request.threshold),
                "counts": str(request.counts),
                "mechanism": mechanism,
                **self._asked_of(),
            },
            field=offered.field,
            mechanism=mechanism,
            items=tuple(offered.labels[index] for index in chosen),
            counts=counts,
            margin=margin,
            counted=offered.counted,
            candidates=len(offered.labels),
        )


@dataclass(frozen=True)
class SelectItems(_Selection[ItemSets]):
    """The items that most units have, of a public universe.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, butter, milk]}}
    ... ''')
    >>> sets = ItemSets.open(pl.DataFrame({"basket": ["milk"] * 90 + ["milk bread"] * 60}), schema)
    >>> SelectItems(c=2).fit(sets, Budget(1, randomness=Randomness.seeded(1))).items
    ('milk', 'bread')
    """

    name: ClassVar[str] = "select-items"

    def check(self, schema: Schema) -> None:
        """Refuse more items than the universe has."""
        self._request.refuse_above(len(schema.field(ItemSetLayout.of(schema).item).labels))

    def _candidates(self, data: ItemSets) -> _Candidates:
        return _Candidates(data.universe, data.supports(), data.counted, ItemSetLayout.of(data.schema).item)


@dataclass(frozen=True)
class SelectCategories(_Selection[Table]):
    """The categories of a table's column that hold most records; `column` may be left out of one.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: commute, constraints: {enum: [bus, car, foot, tram]}}]")
    >>> table = Table.open(pl.DataFrame({"commute": ["bus"] * 90 + ["tram"] * 60 + ["car"] * 5}), schema)
    >>> SelectCategories(c=2).fit(table, Budget(1, randomness=Randomness.seeded(1))).items
    ('bus', 'tram')
    """

    name: ClassVar[str] = "select-categories"

    column: Annotated[str | None, Text()] = None

    def check(self, schema: Schema) -> None:
        """Refuse a column that is not there, and more categories than a column can have."""
        self._request.refuse_above(len(self._field(at_most(schema)).labels))

    def _asked_of(self) -> dict[str, str | None]:
        return {"column": self.column}

    def _field(self, schema: Schema) -> Field:
        """The column to select from."""
        if self.column is None and len(schema.names) > 1:
            raise UsageError(
                f"Say which column to select from (column): {', '.join(schema.names[:8])}. Nothing was spent."
            )
        return schema.field(schema.names[0] if self.column is None else self.column)

    def _candidates(self, table: Table) -> _Candidates:
        field = self._field(table.schema)
        size = len(field.labels)
        (counts,) = table.counts([(field.name,)])
        scores = counts.claim(
            lambda whole: whole[:size],
            counts.sensitivity,
            shape=(size,),
            because="without the cells for missing and other values the rest moves by no more than all",
        )
        return _Candidates(field.labels, scores, "records", field.name)


def _from_histogram(
    scores: Sealed[Counts], request: Request, budget: Budget
) -> tuple[list[int], Counts, float]:
    """Noise for everybody; the rest is post-processing."""
    part = budget.rest("counts of all candidates")
    margin = float(noise.margin(scores.sensitivity.l1, part.epsilon))
    noisy = noise.counts(scores, pay=part)
    order = np.argsort(-noisy, kind="stable")
    if request.threshold is not None:
        order = order[noisy[order] >= ceil(request.threshold)]
    chosen = order[: request.c]
    return chosen.tolist(), noisy[chosen], margin


def _from_choice(
    scores: Sealed[Counts], request: Request, size: int, budget: Budget, mechanism: Mechanism
) -> tuple[list[int], Counts | None, float | None]:
    assert request.c is not None  # the request refuses anything else
    part = budget.part("selection", 1 - request.counts)
    if mechanism == "sparse-vector":
        assert request.threshold is not None
        chosen = _above(scores, size, request.c, request.threshold, part)
    else:
        method: choice.SeveralMethod = "exponential" if mechanism == "exponential" else "one-shot"
        chosen = choice.best_several(scores, request.c, part, method=method)
    if not request.counts:
        return chosen, None, None
    paid = budget.rest(COUNTS_OF_SELECTED)
    known = _some(scores, chosen)
    margin = float(noise.margin(known.sensitivity.l1, paid.epsilon))
    noisy = noise.counts(known, pay=paid)
    if mechanism != "sparse-vector":
        return chosen, noisy, margin
    order = np.argsort(-noisy, kind="stable")  # a sparse vector ranks nobody, the counts do
    return [chosen[place] for place in order], noisy[order], margin


def _above(scores: Sealed[Counts], size: int, c: int, threshold: Fraction, pay: Budget) -> list[int]:
    """Candidates above the threshold, asked in a random order that says nothing about them."""
    order = pay.randomness.spawn("order").draw(AnyOrder(size))
    shuffled = scores.claim(
        lambda whole: whole[order],
        scores.sensitivity,
        because="the same coordinates in an order that was drawn without looking at them",
    )
    found = above_threshold(shuffled, pay, c=c, threshold=threshold).positions
    return sorted(order[found].tolist())


def _some(scores: Sealed[Counts], chosen: Sequence[int]) -> Sealed[Counts]:
    """The scores of candidates that are public by now."""
    moves = scores.sensitivity
    each = min(moves.linf, len(chosen) * moves.linf)
    some = Sensitivity.of(min(moves.l1, len(chosen) * moves.linf), linf=each, monotone=moves.monotone)
    return scores.claim(
        lambda whole: whole[list(chosen)],
        some,
        shape=(len(chosen),),
        because="some coordinates move by no more than all do, and each by no more than linf",
    )
