"""A network as plain files: one JSON object and two tables, checked in every part when read."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from penstock.errors import ReleaseError
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.encoding import Encoding, EncodingName, Grouping, Variable, encoded
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent
from penstock.releases import Model
from penstock.releases.error_bars import WIDEST
from penstock.schema import Schema

MOST_CELLS = 1 << 27

Whole = Annotated[int, Field(ge=0, lt=1 << 31)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Part(_Strict):
    variable: Whole
    level: Whole = 0


class _Pair(_Strict):
    child: Whole
    parents: list[_Part] = []


class _Variable(_Strict):
    """How a variable may be seen by its children, where that is not the schema's business: custom levels."""

    name: str
    levels: list[list[Whole]] = []


class _Measured(_Strict):
    parts: list[_Part]
    deviation: Annotated[float, Field(ge=0, le=WIDEST)]
    noise: Literal["gaussian"] | None = None
    together: Literal[True] | None = None


class _Saved(_Strict):
    total: Annotated[float, Field(ge=0, lt=1e15)]
    encoding: EncodingName
    variables: list[_Variable]
    network: list[_Pair]
    measured: list[_Measured]


def write(total: float, encoding: Encoding, network: Network, measured: Sequence[Measured]) -> Model:
    """What `read` understands: marginals and conditionals as one long column of numbers each."""
    import polars as pl

    saved = _Saved(
        total=total,
        encoding=encoding.name,
        variables=[
            _Variable(name=v.name, levels=[list(level.groups) for level in v.levels[1:]])
            for v in network.variables
        ],
        network=[_Pair(child=pair.child, parents=_parts(pair.parents)) for pair in network.pairs],
        measured=[
            _Measured(
                parts=_parts(one.parts),
                deviation=one.deviation,
                noise="gaussian" if one.gaussian else None,
                together=True if one.together else None,
            )
            for one in measured
        ],
    )
    tables = [np.zeros(0), *(table.ravel() for table in network.tables)]
    counts = [np.zeros(0, dtype=np.int64), *(one.counts.ravel() for one in measured)]
    return Model(
        json=saved.model_dump(exclude_none=True),
        tables={
            "conditionals": pl.DataFrame({"probability": np.concatenate(tables)}),
            "counts": pl.DataFrame({"count": np.concatenate(counts)}),
        },
    )


def read(model: Model, schema: Schema) -> tuple[float, Encoding, Network, tuple[Measured, ...]]:
    """The parts of a release; ReleaseError or ValueError when anything in them is not what it must be."""
    import polars as pl

    saved = model.read(_Saved)
    encoding = encoded(saved.encoding, schema.attributes)
    if [variable.name for variable in saved.variables] != [variable.name for variable in encoding.variables]:
        raise ReleaseError("model.json does not name the variables of schema.yaml; get the release again.")
    variables = tuple(
        _with_levels(variable, own.levels)
        for variable, own in zip(encoding.variables, saved.variables, strict=True)
    )
    encoding = Encoding(encoding.name, variables, encoding.sizes)
    pairs = [Pair(_known(pair.child, variables), _checked(pair.parents, variables)) for pair in saved.network]
    shapes = [
        (prod(variables[p].sizes[level] for p, level in pair.parents), variables[pair.child].size)
        for pair in pairs
    ]
    cells = [rows * columns for rows, columns in shapes]
    marginals = [_checked(one.parts, variables) for one in saved.measured]
    sizes = [tuple(variables[v].sizes[level] for v, level in parts) for parts in marginals]
    if sum(cells) > MOST_CELLS or sum(prod(size) for size in sizes) > MOST_CELLS:
        raise ReleaseError("The network has more cells than Penstock loads.")
    frame = model.table("conditionals", {"probability": pl.Float64}, rows=sum(cells))
    tables = tuple(
        np.asarray(piece, dtype=np.float64).reshape(shape)
        for piece, shape in zip(_pieces(frame["probability"].to_numpy(), cells), shapes, strict=True)
    )
    for table in tables:
        if (table < 0).any() or (np.abs(table.sum(axis=1) - 1) > 1e-6).any():
            raise ReleaseError("model-conditionals.parquet holds no distributions; get the release again.")
    frame = model.table("counts", {"count": pl.Int64}, rows=sum(prod(size) for size in sizes))
    noisy = _pieces(frame["count"].to_numpy(), [prod(size) for size in sizes])
    measured = tuple(
        Measured(
            parts,
            np.asarray(counts, dtype=np.int64).reshape(size),
            one.deviation,
            one.noise == "gaussian",
            one.together is True,
        )
        for parts, counts, size, one in zip(marginals, noisy, sizes, saved.measured, strict=True)
    )
    return saved.total, encoding, Network(variables, tuple(pairs), tables), measured


def _parts(parts: Sequence[Parent]) -> list[_Part]:
    return [_Part(variable=part.variable, level=part.level) for part in parts]


def _known(number: int, variables: Sequence[Variable]) -> int:
    if number >= len(variables):
        raise ReleaseError(
            "model.json names a variable that schema.yaml does not have; get the release again."
        )
    return number


def _checked(parts: Sequence[_Part], variables: Sequence[Variable]) -> tuple[Parent, ...]:
    found = tuple(Parent(_known(part.variable, variables), part.level) for part in parts)
    if any(part.level >= len(variables[part.variable].levels) for part in found):
        raise ReleaseError("model.json names a level that its variable does not have; get the release again.")
    if len({part.variable for part in found}) < len(found):
        raise ReleaseError("model.json names a variable twice in one table; get the release again.")
    return found


def _with_levels(variable: Variable, levels: Sequence[Sequence[int]]) -> Variable:
    """The variable with the identity and these coarser levels, each a grouping of the one before."""
    groupings = [Grouping(tuple(range(variable.size)), variable.size)]
    for groups in levels:
        size = max(groups, default=-1) + 1
        finer = groupings[-1]
        if len(groups) != variable.size or set(groups) != set(range(size)) or size > finer.size:
            raise ReleaseError(
                f"model.json groups the codes of {variable.name} wrongly; get the release again."
            )
        if len(set(zip(finer.groups, groups, strict=True))) != finer.size:
            raise ReleaseError(
                f"model.json has levels of {variable.name} that do not nest; get the release again."
            )
        groupings.append(Grouping(tuple(groups), size))
    return Variable(variable.name, variable.attribute, variable.size, variable.codes, tuple(groupings))


def _pieces(values: NDArray[np.generic], lengths: Sequence[int]) -> list[NDArray[np.generic]]:
    return np.split(values, np.cumsum(lengths)[:-1]) if lengths else []
