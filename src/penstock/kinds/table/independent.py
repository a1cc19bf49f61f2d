"""Independent columns: noisy one-way marginals and nothing else.

Guarantee: pure epsilon for one unit added or removed, or replaced where the schema says so.
Why: each column's counts are one histogram over a public domain with L1 sensitivity 1 (2 under
replace) for each record of a unit; their budgets add up to the whole.

This is the floor that every other tabular method has to beat, and the honest choice where the
budget is too small to learn how columns depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.errors import ReleaseError
from penstock.kinds.table.columns import ruled_columns
from penstock.kinds.table.connections import Connections
from penstock.kinds.table.counted import CountedTable
from penstock.kinds.table.data import Table
from penstock.kinds.table.release import TableRelease
from penstock.postprocessing import onto_simplex, weighted_mean
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.releases import Manifest, Model
from penstock.schema import Condition

Reals = NDArray[np.float64]


def share_by_size(sizes: Sequence[int]) -> list[Fraction]:
    """Shares of a budget over histograms of these sizes that make the sum of their errors smallest.

    The error of a histogram with s cells and budget e grows like s / e; under a fixed sum of
    budgets the best e is proportional to the square root of s (taken to four digits, exactly).

    >>> share_by_size([4, 16])
    [Fraction(1, 3), Fraction(2, 3)]
    """
    roots = [isqrt(size * 10**8) for size in sizes]
    return [Fraction(root, sum(roots)) for root in roots]


@dataclass(frozen=True)
class Independent(Method[Table]):
    """Noisy one-way marginals; synthetic columns are drawn independently.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}]")
    >>> table = Table.open(pl.DataFrame({"smoker": [True] * 300 + [False] * 700}), schema)
    >>> release = Independent().fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> 280 < release.query("smoker = true").value < 320
    True
    """

    name: ClassVar[str] = "independent"

    def fit(self, table: Table, budget: Budget) -> IndependentRelease:
        """Count every column, with more of the budget for larger ones; spends all of it."""
        self.ready(table, budget)
        names = [attribute.name for attribute in table.attributes]
        sizes = [attribute.size for attribute in table.attributes]
        parts = [
            budget.part(f"counts of {name}", share)
            for name, share in zip(names, share_by_size(sizes), strict=True)
        ]
        sealed = table.counts([(name,) for name in names])
        deviations = [
            noise.standard_deviation(counts.sensitivity.l1, part.epsilon)
            for counts, part in zip(sealed, parts, strict=True)
        ]
        noisy = [noise.counts(counts, pay=part) for counts, part in zip(sealed, parts, strict=True)]
        total = (
            float(table.public_size)
            if table.public_size is not None
            else weighted_mean(
                [float(counts.sum()) for counts in noisy],
                [size * deviation**2 for size, deviation in zip(sizes, deviations, strict=True)],
            )
        )
        return IndependentRelease(
            method=self.name,
            schema=table.schema,
            receipt=budget.receipt(table.schema.unit, table.relation),
            total=max(total, 0.0),
            counts=dict(zip(names, noisy, strict=True)),
            deviations=dict(zip(names, deviations, strict=True)),
        )


class _Saved(BaseModel):
    total: float
    deviations: dict[str, float]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class IndependentRelease(TableRelease):
    """One noisy histogram for each column.

    >>> from penstock import Schema, release
    >>> from penstock.demo import survey, survey_schema
    >>> schema = Schema.from_yaml(survey_schema())
    >>> made = release(survey(500), schema, epsilon=1, method="independent", seed=1)
    >>> made.sample(3, seed=1).columns[:3]
    ['district', 'age', 'sex']
    >>> len(made.counts["sex"])
    3
    """

    form: ClassVar[str] = "independent"

    counts: Mapping[str, NDArray[np.int64]]
    deviations: Mapping[str, float]

    def _shares(self, name: str) -> Reals:
        """The plausible distribution of one column: non-negative and adding up to one."""
        mass = max(self.total, 1.0)
        return onto_simplex(self.counts[name], mass) / mass

    @cached_property
    def _ruled(self) -> TableRelease:
        """The same columns as a model that keeps the schema's rules."""
        return ruled_columns(self, {name: self._shares(name) for name in self.schema.names})

    @property
    def loose(self) -> Sequence[Condition]:
        return self._ruled.loose if self.schema.rules else ()

    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        """The joint distribution of these columns under independence, or as near to it as rules allow."""
        if self.schema.rules:
            return self._ruled.weighted(names, weights)
        shares = {name: self._shares(name) * weights.get(name, 1.0) for name in (*names, *weights)}
        joint = np.array(np.prod([shares[name].sum() for name in weights if name not in names]))
        for name in names:
            joint = np.multiply.outer(joint, shares[name])
        return joint

    @cached_property
    def counted_tables(self) -> Sequence[CountedTable]:
        return [
            CountedTable((name,), (np.arange(len(counts)),), counts, self.deviations[name]).without(
                self.support.impossible
            )
            for name, counts in self.counts.items()
        ]

    @property
    def connections(self) -> Connections:
        return Connections(tuple((name,) for name in self.schema.names), target=self.schema.target)

    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        return [(name,) for name in names]

    def draw_codes(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return self._ruled.draw_codes(n, rng) if self.schema.rules else self.drawn_apart(n, rng)

    def drawn_apart(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Rows of codes as they would be without rules."""
        return {
            attribute.name: rng.choice(attribute.size, size=n, p=self._shares(attribute.name))
            for attribute in self.schema.attributes
        }

    def draw_weighted(
        self, weights: Mapping[str, Reals], n: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]] | None:
        if self.schema.rules:
            return self._ruled.draw_weighted(weights, n, rng)
        found = {}
        for attribute in self.schema.attributes:
            shares = self._shares(attribute.name) * weights.get(attribute.name, 1.0)
            found[attribute.name] = (
                rng.choice(attribute.size, size=n, p=shares / (shares.sum() or 1.0))
                if n
                else (np.zeros(0, dtype=np.int64))
            )
        return found

    def model(self) -> Model:
        import polars as pl

        columns = [
            (name, code, int(count))
            for name, counts in self.counts.items()
            for code, count in enumerate(counts)
        ]
        frame = pl.DataFrame(
            columns, schema={"attribute": pl.String, "code": pl.Int64, "count": pl.Int64}, orient="row"
        )
        return Model(
            json=_Saved(total=self.total, deviations=dict(self.deviations)).model_dump(),
            tables={"counts": frame},
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        frame = model.table("counts", {"attribute": pl.String, "code": pl.Int64, "count": pl.Int64})
        expected = [
            (attribute.name, code)
            for attribute in manifest.schema.attributes
            for code in range(attribute.size)
        ]
        if list(zip(frame["attribute"], frame["code"], strict=True)) != expected:
            raise ReleaseError(
                "model-counts.parquet does not list the codes of schema.yaml; get the release again."
            )
        names = manifest.schema.names
        if set(saved.deviations) != set(names) or not 0 <= saved.total < np.inf:
            raise ReleaseError("model.json does not fit schema.yaml; get the release again.")
        counts = {name: frame.filter(pl.col("attribute") == name)["count"].to_numpy() for name in names}
        return cls(**manifest.common, total=saved.total, counts=counts, deviations=saved.deviations)

    def explain(self) -> Sequence[str]:
        return [
            "One noisy histogram for each column. Synthetic rows draw every column on its own, so nothing in "
            "this release says how columns depend on each other."
        ]

    def limits(self) -> Sequence[str]:
        return [
            "Questions about two or more columns at once are answered as if the columns were independent."
        ]
