"""Synthetic rows of a table of items: which items each set has, in proportion to a released model.

Rows that are alike so far are one combination with a number of rows. An item divides every combination in
two, as its conditional distribution says: combinations with the same parents stand in a random order, and of
their rows every so manieth has the item, from a random one on. So every row has the item with exactly its
probability, each combination and each group of combinations has it as often as expected, but for less than
one row at either end, and time grows with the number of different combinations instead of rows.

Everything here is post-processing: it knows a released model, and no record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.release import NetworkRelease

FEW = 12
"""Combinations of no more columns than this have their expected number of rows, and others are drawn."""


def drawn_rows(release: NetworkRelease, names: Sequence[str], many: int) -> NDArray[np.bool_]:
    """So many synthetic rows: for each of the columns, which rows have it.

    Where columns are few, every combination of them has as many rows as the model expects, but for rounding.
    """
    if len(names) > FEW:
        attributes = [variable.attribute for variable in release.network.variables]
        has, counts = divided(release.network, many, np.random.default_rng(0))
        return np.repeat(has[[attributes.index(name) for name in names]], counts, axis=1)
    reached = np.cumsum(release.marginal(names).ravel())
    counts = np.diff(np.floor(reached / reached[-1] * many + 0.5).astype(np.int64), prepend=0)
    places = np.arange(len(counts)) >> np.arange(len(names))[::-1, None] & 1
    return np.repeat(places.astype(np.bool_), counts, axis=1)


def divided(
    network: Network, many: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """For each variable of two codes, which of the different combinations have it, and their rows."""
    counts = np.array([many], dtype=np.int64)
    columns: dict[int, NDArray[np.int64]] = {}
    for pair, table in zip(network.pairs, network.tables, strict=True):
        groups = network.configurations(pair, columns, len(counts))
        order = rng.permutation(len(counts))
        order = order[np.argsort(groups[order].astype(np.min_scalar_type(len(table))), kind="stable")]
        groups, counts = groups[order], counts[order]
        ends = np.cumsum(counts)
        inside = np.bincount(groups, counts, len(table)).astype(np.int64)
        begins = (np.cumsum(inside) - inside)[groups]
        chances = (table[:, 1] / table.sum(axis=1))[groups]
        starts = rng.random(len(table))[groups]
        upto = np.floor((ends - begins) * chances + starts)
        having = np.clip((upto - np.floor((ends - counts - begins) * chances + starts)), 0, counts)
        both = np.concatenate([counts - having.astype(np.int64), having.astype(np.int64)])
        kept = np.flatnonzero(both)
        old = order[kept % len(counts)]
        columns = {number: codes[old] for number, codes in columns.items()}
        columns[pair.child] = (kept >= len(counts)).astype(np.int64)
        counts = both[kept]
    has = [columns[number].astype(np.bool_) for number in range(len(network.variables))]
    return np.array(has), counts
