"""The plainest way to count a marginal: what every engine is compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine import Marginal, View


def plain_count(
    codes: Mapping[str, NDArray[Any]], sizes: Mapping[str, int], marginal: Marginal, length: int
) -> NDArray[np.int64]:
    """One pass, one cell at a time."""
    shape: list[int] = []
    columns: list[NDArray[np.int64]] = []
    for view in marginal:
        named = View(view) if isinstance(view, str) else view
        column = codes[named.name].astype(np.int64)
        if named.codes is not None:
            column = np.array(named.codes)[column]
        columns.append(column)
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
