"""Columns that are drawn on their own, as a network: what a release of single columns becomes under rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.encoding import encoded
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair
from penstock.kinds.table.network.release import NetworkRelease
from penstock.kinds.table.network.ruled import next_ones, precedence, ruled
from penstock.kinds.table.release import TableRelease


def ruled_columns(release: TableRelease, shares: Mapping[str, NDArray[np.float64]]) -> NetworkRelease:
    """The columns with these distributions, each given no more of the others than the rules ask for."""
    encoding = encoded("vanilla", release.schema.attributes)
    variables = encoding.variables
    before = precedence(encoding, release.support)
    order: list[int] = []
    while len(order) < len(variables):
        order.append(next_ones(len(variables), before, order)[0])
    margins = {number: shares[variable.attribute] for number, variable in enumerate(variables)}
    plain = Network(
        variables,
        tuple(Pair(number) for number in order),
        tuple(margins[number][None, :] for number in order),
    )
    return NetworkRelease(
        method=release.method,
        schema=release.schema,
        receipt=release.receipt,
        total=release.total,
        encoding=encoding,
        network=ruled(plain, encoding, release.support, margins),
        measured=(),
    )
