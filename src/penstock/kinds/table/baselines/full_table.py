"""Releases that hold the whole domain: one number for each combination of codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.errors import ReleaseError, UsageError
from penstock.kinds.table.baselines.workload import domain_shape
from penstock.kinds.table.counted import CountedTable, identity
from penstock.kinds.table.release import TableRelease
from penstock.postprocessing import clamped
from penstock.privacy.mechanisms import noise
from penstock.releases import Manifest, Model
from penstock.schema import Condition, Relation

Reals = NDArray[np.float64]
Order = Literal["clamp-first", "project-first"]
ORDERS: tuple[Order, Order] = ("clamp-first", "project-first")


def summed(values: NDArray[Any], keep: Sequence[int]) -> NDArray[Any]:
    """The sums over all axes but `keep`, in the order of `keep`.

    Neighbouring axes of the same fate are merged first: sums over many short axes are slow.
    """
    kept = set(keep)
    shape: list[int] = []
    fates: list[bool] = []
    for axis, size in enumerate(values.shape):
        if fates and fates[-1] == (axis in kept) and not fates[-1]:
            shape[-1] *= size
        else:
            shape.append(size)
            fates.append(axis in kept)
    table = values.reshape(shape)
    for axis in reversed([axis for axis, stays in enumerate(fates) if not stays]):
        table = table.sum(axis=axis)
    ascending = sorted(kept)
    return np.transpose(table, [ascending.index(axis) for axis in keep])


def all_sums(values: Reals, way: int) -> Iterator[tuple[tuple[int, ...], Reals]]:
    """The marginals of every set of `way` axes, each sum reused by all sets that need it.

    Axes are decided one after the other, kept or summed over. Summing halves the table at least, so all
    sets together cost about as much as some dozens of passes over the domain, however many there are.
    """

    def decide(table: Reals, kept: tuple[int, ...], axis: int) -> Iterator[tuple[tuple[int, ...], Reals]]:
        if len(kept) + values.ndim - axis < way:
            return
        if len(kept) == way:
            head = table.shape[: len(kept)]
            yield kept, table.reshape((*head, -1)).sum(axis=-1)
            return
        yield from decide(table, (*kept, axis), axis + 1)
        yield from decide(table.sum(axis=len(kept)), kept, axis + 1)

    return decide(values, (), 0)


class _Saved(BaseModel):
    total: float
    order: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FullTableRelease(TableRelease):
    """A number for every cell of the domain, noisy counts or probabilities, one axis for each attribute.

    With `order` clamp-first, negative cells are cut off in the whole table; with project-first the table
    is summed to what a question is about and cut off there, where the noise has partly cancelled. Rows are
    drawn from the cut-off table in both cases, because only that one is a distribution.

    >>> import polars as pl
    >>> from penstock.kinds.table.baselines import Contingency
    >>> from penstock.kinds.table.data import Table
    >>> from penstock.privacy.budgets.budget import Budget
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> table = Table.open(pl.DataFrame({"smoker": [True] * 9, "coughs": [False] * 9}), schema)
    >>> release = Contingency().fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.values.shape
    (2, 2)
    """

    form: ClassVar[str] = "full-table"

    values: Reals
    order: Order

    @cached_property
    def _cleared(self) -> Reals:
        """The cells, without the noise in those that no record can fall into."""
        if not self.support.impossible:
            return self.values
        return np.where(self.support.allowed(self.schema.names), self.values, 0.0)

    @cached_property
    def _shares(self) -> Reals:
        """The distribution over the whole domain."""
        possible = self.support.allowed(self.schema.names) if self.support.impossible else None
        positive = np.maximum(self._cleared, 0.0)
        if possible is not None and positive.sum() <= 0:
            return np.asarray(possible / max(1, possible.sum()))
        return clamped(self._cleared, 1.0)

    @property
    def loose(self) -> Sequence[Condition]:
        return self.support.loose

    @property
    def _asked(self) -> Reals:
        return self._shares if self.order == "clamp-first" else self._cleared

    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        every = list(self.schema.names)
        asked = [*names, *(name for name in weights if name not in names)]
        joint = clamped(summed(self._asked, [every.index(name) for name in asked]), 1.0)
        for name, weight in weights.items():
            joint = joint * weight.reshape([-1 if name == other else 1 for other in asked])
        return np.asarray(joint.sum(axis=tuple(range(len(names), len(asked)))))

    @cached_property
    def counted_tables(self) -> Sequence[CountedTable]:
        """The cells themselves where they are noisy counts; the last charge paid for them."""
        charges = list(self.receipt.charges())
        if self.method != "contingency" or not charges:
            return ()
        moves = self.schema.unit.records * (1 if self.schema.relation is Relation.ADD_REMOVE else 2)
        paid = charges[-1][1].epsilon
        names = self.schema.names
        table = CountedTable(
            names, identity(self.schema.sizes, names), self.values, noise.standard_deviation(moves, paid)
        )
        return [table.without(self.support.impossible)]

    def all_marginals(self, way: int) -> dict[tuple[str, ...], Reals]:
        """`marginal` for every set of `way` attributes at once, much faster than one by one."""
        names = self.schema.names
        if self.schema.rules:
            return {chosen: self.marginal(chosen) for chosen in combinations(names, way)}
        return {
            tuple(names[axis] for axis in kept): clamped(table, 1.0)
            for kept, table in all_sums(self._asked, way)
        }

    def draw_codes(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return self._drawn(self._shares, n, rng)

    def drawn_apart(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Rows of codes as they would be without rules."""
        return self._drawn(clamped(self.values, 1.0), n, rng)

    def _drawn(self, shares: Reals, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        ends = np.cumsum(shares.ravel())
        cells = np.minimum(np.searchsorted(ends, rng.random(n) * ends[-1], side="right"), ends.size - 1)
        codes = np.unravel_index(cells, self.values.shape)
        return dict(zip(self.schema.names, codes, strict=True))

    def model(self) -> Model:
        import polars as pl

        return Model(
            json=_Saved(total=self.total, order=self.order).model_dump(),
            tables={"domain": pl.DataFrame({"value": self.values.ravel()})},
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        order: Order | None = next((o for o in ORDERS if o == saved.order), None)
        if order is None or not 0 <= saved.total < 1e15:
            raise ReleaseError("model.json does not describe a table of a domain; get the release again.")
        try:
            shape = domain_shape(manifest.schema)
        except UsageError:
            raise ReleaseError("The domain of schema.yaml is too large; get the release again.") from None
        frame = model.table("domain", {"value": pl.Float64}, rows=prod(shape))
        values = frame["value"].to_numpy().reshape(shape)
        return cls(**manifest.common, total=saved.total, values=values, order=order)

    def explain(self) -> Sequence[str]:
        return ["A number for every combination of values that the schema allows, most of them near zero."]

    def limits(self) -> Sequence[str]:
        return ["Where the domain has many more cells than there are records, most of this is noise."]
