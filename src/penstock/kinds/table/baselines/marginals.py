"""Releases of marginals: noisy tables of every set of so many attributes, and no model of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.errors import QueryError, ReleaseError, UsageError
from penstock.kinds.table.answering import spread_evenly
from penstock.kinds.table.baselines.workload import Subset, workload
from penstock.kinds.table.counted import CountedTable, answered, identity
from penstock.kinds.table.release import MOST_DRAWN, drawn_columns
from penstock.kinds.table.support import Support
from penstock.postprocessing import clamped
from penstock.releases import Answer, Manifest, Model, Release
from penstock.releases.answer import contributions
from penstock.releases.example import example_query
from penstock.report.picture import Picture
from penstock.report.pictures import distribution
from penstock.schema import parse

Reals = NDArray[np.float64]


class _Saved(BaseModel):
    total: float
    way: int
    deviations: list[float]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MarginalsRelease(Release):
    """An unbiased noisy table of counts for every set of `way` attributes.

    `deviations` are the standard deviations of the noise in one cell of each. Answers cut negative
    counts off and rescale to the total, marginal by marginal.

    >>> import polars as pl
    >>> from penstock.kinds.table.baselines import LaplaceMarginals
    >>> from penstock.kinds.table.data import Table
    >>> from penstock.privacy.budgets.budget import Budget
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> table = Table.open(pl.DataFrame({"smoker": [True] * 9, "coughs": [False] * 9}), schema)
    >>> release = LaplaceMarginals(way=2).fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.can_query, release.can_sample
    (True, False)
    """

    kinds: ClassVar[tuple[str, ...]] = ("table",)
    answer: ClassVar[str] = "counts"
    form: ClassVar[str] = "marginals"

    total: float
    way: int
    estimates: Sequence[Reals]
    deviations: Sequence[float]

    @property
    def size(self) -> int:
        return round(self.total)

    @cached_property
    def _place(self) -> dict[frozenset[str], int]:
        """The first measured marginal that holds a set of attributes."""
        found: dict[frozenset[str], int] = {}
        for number, names in enumerate(combinations(self.schema.names, self.way)):
            for count in range(len(names) + 1):
                for subset in combinations(names, count):
                    found.setdefault(frozenset(subset), number)
        return found

    @cached_property
    def _sets(self) -> list[Subset]:
        return list(combinations(self.schema.names, self.way))

    def counts(self, names: Sequence[str]) -> Reals:
        """The noisy counts of a marginal, negative ones included, one axis for each attribute."""
        number = self._place.get(frozenset(names))
        if number is None or len(set(names)) < len(names):
            raise QueryError(
                f"This release holds marginals of {self.way} different attributes; ask about no more of them."
            )
        held = self._sets[number]
        summed = self.estimates[number].sum(
            axis=tuple(axis for axis, name in enumerate(held) if name not in names)
        )
        kept = [name for name in held if name in names]
        return np.transpose(summed, [kept.index(name) for name in names])

    def marginal(self, names: Sequence[str]) -> Reals:
        """The joint probabilities of these attributes' codes, one axis each."""
        return clamped(np.where(self._support.allowed(tuple(names)), self.counts(names), 0.0), 1.0)

    @cached_property
    def _support(self) -> Support:
        return Support.of(self.schema)

    def ask(self, expression: str) -> Answer:
        """The estimated number of records for which an expression about few enough attributes holds.

        The noise of two cells of one table is uncorrelated in both methods that make such tables, and equally
        large, so the table that answers knows its error. Others are not asked: they may share its noise.
        """
        condition = parse(expression, self.schema)
        names = condition.names
        counts = self.counts(names)
        weights = self._support.weights(condition, names)
        possible = weights[~np.isnan(weights)]
        if not (possible > 0).any():
            return Answer(0.0, 0.0, "records", "declared", ("The schema rules this out.",))
        told = contributions(self.schema)
        if ((possible > 0) & (possible < 1)).any():
            share = float((self.marginal(names) * np.nan_to_num(weights)).sum())
            caveats = (spread_evenly(names), *told)
            return Answer(self.total * share, None, "records", "spread evenly", caveats)
        number = self._place[frozenset(names)]
        cells = self.estimates[number].size // counts.size
        table = CountedTable(
            names, identity(self.schema.sizes, names), counts, self.deviations[number] * cells**0.5
        )
        public = None if self.schema.size is None else float(self.schema.size)
        known = answered([table.without(self._support.impossible)], names, weights, public)
        assert known is not None  # the table has an axis for every name, and no cell is cut
        return Answer.counted(*known, "records", told)

    def example(self) -> str | None:
        return example_query(self.schema, min(2, self.way))

    def pictures(self) -> Sequence[Picture]:
        shown = drawn_columns(self.schema)
        return [distribution(self.schema, name, self.total * self.marginal([name])) for name in shown]

    @property
    def not_drawn(self) -> int:
        return max(0, len(self.schema.names) - MOST_DRAWN)

    def model(self) -> Model:
        import polars as pl

        values = np.concatenate([table.ravel() for table in self.estimates])
        return Model(
            json=_Saved(total=self.total, way=self.way, deviations=list(self.deviations)).model_dump(),
            tables={"marginals": pl.DataFrame({"count": values})},
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        try:
            sets = workload(manifest.schema, saved.way)
        except UsageError:
            raise ReleaseError("model.json does not fit schema.yaml; get the release again.") from None
        sizes = manifest.schema.sizes
        shapes = [tuple(sizes[name] for name in names) for names in sets]
        if not 0 <= saved.total < 1e15 or len(saved.deviations) != len(sets):
            raise ReleaseError("model.json does not fit schema.yaml; get the release again.")
        cells = [prod(shape) for shape in shapes]
        frame = model.table("marginals", {"count": pl.Float64}, rows=sum(cells))
        parts = np.split(frame["count"].to_numpy(), np.cumsum(cells)[:-1])
        estimates = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        return cls(
            **manifest.common,
            total=saved.total,
            way=saved.way,
            estimates=estimates,
            deviations=saved.deviations,
        )

    def explain(self) -> Sequence[str]:
        return [
            f"Noisy counts of every set of {self.way} columns. Each table was measured on its own, so two of "
            "them can disagree about what they share, and there is no model from which rows could be drawn."
        ]

    def limits(self) -> Sequence[str]:
        return [
            f"Questions about more than {self.way} columns at once have no answer.",
            "The budget is shared by all tables, so each is noisier the more there are.",
        ]
