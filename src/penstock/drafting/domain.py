"""The domain that a column's values suggest: categories or bounds, bins, spikes and decimals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from math import isfinite
from typing import Any

import polars as pl

from penstock.drafting.columns import decimals_of, far_above, spikes_in
from penstock.schema.bins import Bins
from penstock.schema.field import Constraints, Field
from penstock.schema.magnitudes import round_outwards
from penstock.schema.values import LARGEST_WHOLE, Type, at, parse, written


@dataclass(frozen=True)
class Domain:
    """What the values of a column suggest as its domain."""

    constraints: Constraints = field(default_factory=Constraints)
    categories_ordered: bool = False
    bins: Bins | None = None
    spikes: tuple[Any, ...] = ()
    decimals: int | None = None
    seems: str | None = None

    @property
    def facts(self) -> list[str]:
        """What was read off the data, in words."""
        if self.constraints.enum is not None:
            return ["its categories"]
        found = ["its bounds (rounded outwards)"] * (self.constraints.minimum is not None)
        if self.bins is not None:
            found.append("its bins, because few values lie far above all others")
        if self.spikes:
            found.append(f"that {_listed(self.spikes)} stand{'s' if len(self.spikes) == 1 else ''} out")
        return found + ["its decimals"] * (self.decimals is not None)

    @property
    def hints(self) -> list[str]:
        """What else the values may be."""
        if self.seems is not None:
            return [f"read as text; the values seem to be {self.seems}"]
        if self.bins is None:
            return []
        last = written(self.spikes[-1])
        return [f"move {last} from spikes to missingValues if it means that a value is missing"]


def _listed(values: Sequence[Any]) -> str:
    words = [written(value) for value in values]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def range_of(type_: Type, known: pl.Series, *, codes: bool) -> Domain:
    """Bounds, and among numbers how many decimals they have and, with `codes`, what stands out."""
    constraints = _bounds(type_, known)
    if type_ not in ("integer", "number"):
        return Domain(constraints)
    values = known.to_numpy()
    decimals = decimals_of(values) if type_ == "number" and len(values) else None
    if not codes:
        return Domain(constraints, decimals=decimals)
    far = far_above(known)
    bins = _bins_below(type_, known, far) if far else None
    if bins is not None and bins.edges is not None:
        constraints = Constraints(minimum=bins.edges[0], maximum=bins.edges[-1])
    bare = Field.model_construct(name=known.name, type=type_, constraints=constraints, bins=bins, spikes=())
    spikes = sorted({*spikes_in(values, bare.edges), *(far if bins is not None else ())})
    own = tuple(parse(type_, value) for value in spikes)
    return Domain(constraints, bins=bins, spikes=own, decimals=decimals)


def _bins_below(type_: Type, known: pl.Series, far: list[float]) -> Bins | None:
    """Bins as if the values far above all others were not there, and one up to the last of them."""
    near = _bounds(type_, known.filter(~known.is_in(far)))
    assert isinstance(near.maximum, int | float)
    if near.maximum >= far[0]:
        return None
    usual = Field.model_construct(name=known.name, type=type_, constraints=near, bins=None, spikes=())
    end = near.maximum + 1 if type_ == "integer" else near.maximum
    return Bins(edges=tuple(parse(type_, edge) for edge in (*usual.edges.values[:-1], end, far[-1])))


def too_large(type_: Type, known: pl.Series) -> bool:
    """Whether no schema could have the bounds that numbers suggest."""
    if type_ not in ("integer", "number") or known.is_empty():
        return False
    numbers = known.to_numpy()
    low, high = round_outwards(float(numbers.min()), float(numbers.max()))
    return not isfinite(high - low) or (type_ == "integer" and max(-low, high) > LARGEST_WHOLE)


def _bounds(kind: Type, known: pl.Series) -> Constraints:
    numbers = known.to_numpy()
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    if kind in ("integer", "number"):
        low, high = round_outwards(low, high)
        minimum: Any = int(low) if kind == "integer" else low
        maximum: Any = int(high) if kind == "integer" else high
        return Constraints(minimum=minimum, maximum=maximum)
    seconds = 86400 if kind == "date" else 1
    first, last = (at("datetime", where * seconds) for where in (low, high))
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    if kind == "date":
        return Constraints(minimum=date(first.year, 1, 1), maximum=date(last.year, 12, 31))
    return Constraints(minimum=datetime(first.year, 1, 1), maximum=datetime(last.year, 12, 31, 23, 59, 59))
