"""Noisy marginals of a network's variables as tables over the schema's attributes, and their empty cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from penstock.kinds.table.counted import CountedTable
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.support import Support


def as_counted(one: Measured, variables: Sequence[Variable], sizes: Mapping[str, int]) -> CountedTable:
    """One axis for each attribute: its bits become their patterns, levels say which codes share a place."""
    axes = _axes(one, variables)
    places = []
    for name, mine in axes.items():
        place = np.zeros(sizes[name], dtype=np.int64)
        for axis in mine:
            variable, level = variables[one.parts[axis].variable], one.parts[axis].level
            codes = np.arange(len(place)) if variable.codes is None else np.array(variable.codes)
            place = place * variable.sizes[level] + variable.levels[level].lookup[codes]
        places.append(place)
    order = [axis for mine in axes.values() for axis in mine]
    shape = [prod(one.counts.shape[axis] for axis in mine) for mine in axes.values()]
    return CountedTable(
        tuple(axes),
        tuple(places),
        np.transpose(one.counts, order).reshape(shape),
        one.deviation,
        gaussian=one.gaussian,
        together=one.together,
    )


def cleared(
    measured: Sequence[Measured], variables: Sequence[Variable], sizes: Mapping[str, int], support: Support
) -> list[Measured]:
    """The marginals without the noise in cells that no record can fall into."""
    if not support.impossible:
        return list(measured)
    found = []
    for one in measured:
        possible = as_counted(one, variables, sizes).without(support.impossible).possible
        assert possible is not None
        order = [axis for mine in _axes(one, variables).values() for axis in mine]
        turned = possible.reshape([one.counts.shape[axis] for axis in order])
        found.append(replace(one, counts=np.where(np.transpose(turned, np.argsort(order)), one.counts, 0)))
    return found


def _axes(one: Measured, variables: Sequence[Variable]) -> dict[str, list[int]]:
    """For each attribute the axes that are its variables."""
    axes: dict[str, list[int]] = {}
    for axis, part in enumerate(one.parts):
        axes.setdefault(variables[part.variable].attribute, []).append(axis)
    return axes
