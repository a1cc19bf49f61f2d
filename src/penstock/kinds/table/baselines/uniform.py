"""Uniform: every combination of values equally likely. The floor below all floors.

Guarantee: pure epsilon for one unit added or removed.
Why: the records are not looked at, except for their number where it is not public. Where it is, as under
replace, nothing is spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.errors import ReleaseError
from penstock.kinds.table.data import Table
from penstock.kinds.table.release import TableRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.releases import Manifest, Model

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Uniform(Method[Table]):
    """The uniform distribution over the schema's domain; pays for the number of records only.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}]")
    >>> table = Table.open(pl.DataFrame({"smoker": [True] * 900 + [False] * 100}), schema)
    >>> release = Uniform().fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> 450 < release.query("smoker = true").value < 550
    True
    """

    name: ClassVar[str] = "uniform"

    def fit(self, table: Table, budget: Budget) -> UniformRelease:
        """Count the records, unless their number is public; spends the whole budget or nothing of it."""
        self.ready(table, budget)
        total = table.public_size
        if total is None:
            total = int(noise.counts(table.size(), pay=budget.rest("number of records"))[0])
        return UniformRelease(
            method=self.name,
            schema=table.schema,
            receipt=budget.receipt(table.schema.unit, table.relation),
            total=float(max(0, total)),
        )


class _Saved(BaseModel):
    total: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UniformRelease(TableRelease):
    """A domain and a number of records.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: a, type: boolean}]")
    >>> table = Table.open(pl.DataFrame({"a": [True] * 9}), schema)
    >>> release = Uniform().fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.sample(3, seed=1).columns
    ['a']
    """

    form: ClassVar[str] = "uniform"

    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        sizes = self.schema.sizes
        scale = prod(float(weight.mean()) for name, weight in weights.items() if name not in names)
        joint = np.array(scale)
        for name in names:
            joint = np.multiply.outer(joint, np.full(sizes[name], 1 / sizes[name]) * weights.get(name, 1.0))
        return joint

    def draw_codes(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {name: rng.integers(size, size=n) for name, size in self.schema.sizes.items()}

    def model(self) -> Model:
        return Model(json=_Saved(total=self.total).model_dump())

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        saved = model.read(_Saved)
        if not 0 <= saved.total < 1e15:
            raise ReleaseError("model.json holds no number of records; get the release again.")
        return cls(**manifest.common, total=saved.total)

    def explain(self) -> Sequence[str]:
        return ["Every combination of values that the schema allows, equally likely."]

    def limits(self) -> Sequence[str]:
        return ["Nothing in this release but the number of records comes from the data."]
