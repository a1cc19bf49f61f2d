"""Uniform: every combination of values equally likely. The floor below all floors.

Guarantee: pure epsilon for one unit added or removed.
Why: the records are not looked at, except for their number, which is counted once and paid for. Where it is
public, the noisy count is paid for like anywhere else and then not used: a receipt equals its budget always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.errors import ReleaseError
from penstock.kinds.table.columns import ruled_columns
from penstock.kinds.table.connections import Connections
from penstock.kinds.table.data import Table
from penstock.kinds.table.release import TableRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.releases import Manifest, Model
from penstock.schema import Condition

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Uniform(Method[Table]):
    """The uniform distribution over the schema's domain; pays for the number of records only, public or not.

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
        """Count the records, though a public number is the better one; spends the whole budget."""
        self.ready(table, budget)
        noisy = int(noise.counts(table.size(), pay=budget.rest("number of records"))[0])
        total = noisy if table.public_size is None else table.public_size
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

    @cached_property
    def _ruled(self) -> TableRelease:
        """Every column as even as the rules allow."""
        return ruled_columns(
            self, {name: np.full(size, 1 / size) for name, size in self.schema.sizes.items()}
        )

    @property
    def loose(self) -> Sequence[Condition]:
        return self._ruled.loose if self.schema.rules else ()

    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        if self.schema.rules:
            return self._ruled.weighted(names, weights)
        sizes = self.schema.sizes
        scale = prod(float(weight.mean()) for name, weight in weights.items() if name not in names)
        joint = np.array(scale)
        for name in names:
            joint = np.multiply.outer(joint, np.full(sizes[name], 1 / sizes[name]) * weights.get(name, 1.0))
        return joint

    @property
    def connections(self) -> Connections:
        return Connections(tuple((name,) for name in self.schema.names))

    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        return [(name,) for name in names]

    def draw_codes(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return self._ruled.draw_codes(n, rng) if self.schema.rules else self.drawn_apart(n, rng)

    def drawn_apart(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Rows of codes as they would be without rules."""
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
        if self.schema.rules:
            return ["Every column with its values as equally likely as the schema's rules allow."]
        return ["Every combination of values that the schema allows, equally likely."]

    def limits(self) -> Sequence[str]:
        return ["Nothing in this release but the number of records comes from the data."]
