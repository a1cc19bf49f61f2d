"""The plainest way to count a marginal: what every engine is compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine import Column, Marginal


def plain_count(
    codes: Mapping[str, NDArray[Any]], sizes: Mapping[str, int], marginal: Marginal, length: int
) -> NDArray[np.int64]:
    """One pass, one cell at a time."""
    shape: list[int] = []
    columns: list[NDArray[np.int64]] = []
    for column in marginal:
        named = Column(column) if isinstance(column, str) else column
        own = codes[named.name].astype(np.int64)
        columns.append(own if named.codes is None else np.array(named.codes)[own])
        shape.append(named.size if named.size is not None else sizes[named.name])
    table = np.zeros(shape, dtype=np.int64)
    if columns:
        np.add.at(table, tuple(columns), 1)
    else:
        table += length
    return table.reshape(-1)


def plain_counts(
    codes: Mapping[str, NDArray[Any]], sizes: Mapping[str, int], marginals: Sequence[Marginal], length: int
) -> list[NDArray[np.int64]]:
    return [plain_count(codes, sizes, marginal, length) for marginal in marginals]
