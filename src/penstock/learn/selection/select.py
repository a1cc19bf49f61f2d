"""The most frequent of a public list of candidates, or all those above a threshold.

Guarantee: pure epsilon, for one unit added or removed, or replaced where the schema says so.
Why: the scores are counts over a public list of candidates. Which mechanism chooses among them is decided
from public facts (`selection.plan`); each is private by its own theorem (`privacy.choice`, `privacy.sparse`,
`privacy.noise`). Counts of what was selected are a second look at the records, paid with their own share:
once the selection is public, it is a list of known candidates like any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.table.data import Table
from penstock.learn.selection.plan import Mechanism, Wish
from penstock.learn.selection.release import SelectionRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise
from penstock.privacy.mechanisms.sparse import above_threshold
from penstock.privacy.randomness.samplers import permutation
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Candidates:
    """What there is to choose from, and its sealed scores."""

    labels: Sequence[str]
    scores: Sealed[Counts]
    counted: str
    field: str


@dataclass(frozen=True)
class _Selection(ABC):
    """What both selections share: the wish, and how it is fulfilled.

    `c` is how many to select (with a threshold: at most), `threshold` the count that a candidate must reach,
    `counts` the share of epsilon for noisy counts of what is selected, `mechanism` how to choose.
    """

    method: ClassVar[str]

    c: int | None = None
    threshold: Fraction | None = None
    counts: Fraction = Fraction(0)
    mechanism: Mechanism = "auto"

    def __post_init__(self) -> None:
        limit: Any = self.threshold
        object.__setattr__(self, "threshold", None if limit is None else exact(limit, "threshold"))
        share: Amount = self.counts
        object.__setattr__(self, "counts", exact(share, "counts"))
        _ = self._wish

    @property
    def _wish(self) -> Wish:
        return Wish(self.c, self.threshold, self.counts, self.mechanism)

    @abstractmethod
    def _candidates(self, data: Any) -> _Candidates:
        """The candidates of the data and their sealed scores."""

    def _fit(self, data: Any, schema: Schema, budget: Budget) -> SelectionRelease:
        offered = self._candidates(data)
        scores = offered.scores
        budget.check(scores.relation)
        mechanism = self._wish.choose(scores.sensitivity, len(offered.labels), budget.left[0])
        counts: Counts | None
        margin: float | None
        if mechanism == "histogram":
            chosen, counts, margin = self._from_histogram(scores, budget)
        else:
            chosen, counts, margin = self._from_choice(scores, len(offered.labels), budget, mechanism)
        return SelectionRelease(
            method=self.method,
            schema=schema,
            receipt=budget.receipt(schema.unit, scores.relation),
            parameters={
                "c": self.c,
                "threshold": None if self.threshold is None else str(self.threshold),
                "counts": str(self.counts),
                "mechanism": mechanism,
            },
            field=offered.field,
            items=tuple(offered.labels[index] for index in chosen),
            counts=counts,
            margin=margin,
            counted=offered.counted,
            candidates=len(offered.labels),
        )

    def _from_histogram(self, scores: Sealed[Counts], budget: Budget) -> tuple[list[int], Counts, float]:
        """Noise for everybody; the rest is post-processing."""
        part = budget.rest("counts of all candidates")
        margin = float(noise.margin(scores.sensitivity.l1, part.epsilon))
        noisy = noise.counts(scores, pay=part)
        order = np.argsort(-noisy, kind="stable")
        if self.threshold is not None:
            order = order[noisy[order] >= ceil(self.threshold)]
        chosen = order[: self.c]
        return chosen.tolist(), noisy[chosen], margin

    def _from_choice(
        self, scores: Sealed[Counts], size: int, budget: Budget, mechanism: Mechanism
    ) -> tuple[list[int], Counts | None, float | None]:
        assert self.c is not None  # the wish refuses anything else
        part = budget.part("selection", 1 - self.counts)
        if mechanism == "sparse-vector":
            assert self.threshold is not None
            chosen = _above(scores, size, self.c, self.threshold, part)
        else:
            method: choice.SeveralMethod = "exponential" if mechanism == "exponential" else "one-shot"
            chosen = choice.best_several(scores, self.c, part, method=method)
        if not self.counts or not chosen:
            return chosen, None, None
        paid = budget.rest("counts of the selected")
        known = _some(scores, chosen)
        margin = float(noise.margin(known.sensitivity.l1, paid.epsilon))
        noisy = noise.counts(known, pay=paid)
        if mechanism != "sparse-vector":
            return chosen, noisy, margin
        order = np.argsort(-noisy, kind="stable")  # a sparse vector ranks nobody, the counts do
        return [chosen[place] for place in order], noisy[order], margin


@dataclass(frozen=True)
class SelectItems(_Selection):
    """The items that most units have, of a public universe.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
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

    method: ClassVar[str] = "select-items"

    def fit(self, data: ItemSets, budget: Budget) -> SelectionRelease:
        return self._fit(data, data.schema, budget)

    def _candidates(self, data: ItemSets) -> _Candidates:
        return _Candidates(data.universe, data.supports(), data.counted, data.schema.item_columns.item)


@dataclass(frozen=True)
class SelectCategories(_Selection):
    """The categories of a table's column that hold most records; `column` may be left out of one."""

    method: ClassVar[str] = "select-categories"

    column: str | None = None

    def fit(self, table: Table, budget: Budget) -> SelectionRelease:
        return self._fit(table, table.schema, budget)

    def _candidates(self, table: Table) -> _Candidates:
        names = table.schema.names
        if self.column is None and len(names) > 1:
            raise UsageError(
                f"Say which column to select from (column): {', '.join(names[:8])}. Nothing was spent."
            )
        field = table.schema.field(names[0] if self.column is None else self.column)
        size = len(field.labels)
        (counts,) = table.counts([(field.name,)])
        scores = counts.claim(
            lambda whole: whole[:size],
            counts.sensitivity,
            because="without the cells for missing and other values the rest moves by no more than all",
        )
        return _Candidates(field.labels, scores, "records", field.name)


def _above(scores: Sealed[Counts], size: int, c: int, threshold: Fraction, pay: Budget) -> list[int]:
    """Candidates above the threshold, asked in a random order that says nothing about them."""
    order = permutation(size, pay.randomness.spawn("order"))
    shuffled = scores.claim(
        lambda whole: whole[order], scores.sensitivity, because="the same coordinates in a public order"
    )
    found = above_threshold(shuffled, pay, c=c, threshold=threshold).positions
    return sorted(order[found].tolist())


def _some(scores: Sealed[Counts], chosen: Sequence[int]) -> Sealed[Counts]:
    """The scores of candidates that are public by now."""
    moves = scores.sensitivity
    some = Sensitivity.of(min(moves.l1, len(chosen) * moves.linf), linf=moves.linf, monotone=moves.monotone)
    return scores.claim(
        lambda whole: whole[list(chosen)],
        some,
        because="some coordinates move by no more than all do, and each by no more than linf",
    )
