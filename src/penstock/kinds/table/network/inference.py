"""Exact answers from a network: marginals, probabilities and conditional rows, without sampling error.

Only the ancestors of what is asked matter. A variable that nobody asks for is carried at the finest
level at which its children look at it, which keeps the tables small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network import elimination
from penstock.kinds.table.network.conditionals import between, grouped
from penstock.kinds.table.network.drawing import draw
from penstock.kinds.table.network.elimination import MOST_CELLS, Factor
from penstock.kinds.table.network.encoding import Codes
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair

Reals = NDArray[np.float64]
Weights = Mapping[int, Reals]
"""For some variables a weight of each code, which multiplies the probability of a row."""


def marginal(
    network: Network,
    wanted: Sequence[int],
    weights: Weights | None = None,
    extra: Sequence[Factor] = (),
    limit: int = MOST_CELLS,
) -> Reals:
    """The weighted joint distribution of some variables, one axis each; TooWideError beyond the limit.

    Without weights it sums to 1, with weights to their expected product. `extra` factors are over
    variables at their full resolution.
    """
    problem = _Problem(network, wanted, weights or {}, extra)
    return elimination.sums(problem.factors, problem.sizes, wanted, limit)


def sample_given(
    network: Network,
    weights: Weights,
    n: int,
    rng: np.random.Generator,
    extra: Sequence[Factor] = (),
    limit: int = MOST_CELLS,
) -> list[Codes] | None:
    """`n` rows with probability proportional to the network's times the weights; None if no row has any.

    What weights and `extra` factors speak of, and all its ancestors, is drawn backwards through an
    elimination; the rest follows forwards from its parents.
    """
    problem = _Problem(network, (), weights, extra)
    steps = elimination.plan([factor.variables for factor in problem.factors], problem.sizes, (), limit)
    tables, rest = elimination.run(problem.factors, steps, problem.sizes)
    if not float(elimination.product(rest, (), problem.sizes)) > 0:
        return None
    coarse: dict[int, Codes] = {}
    for step, table in zip(reversed(steps), reversed(tables), strict=True):
        key = np.zeros(n, dtype=np.int64)
        for variable in step.scope[:-1]:
            key = key * problem.sizes[variable] + coarse[variable]
        rows = table.reshape(-1, table.shape[-1])
        coarse[step.variable] = draw(key, rows, rng)
    columns: dict[int, Codes] = {}
    for pair, table in zip(network.pairs, network.tables, strict=True):
        key = network.configurations(pair, columns, n)
        if pair.child in coarse:
            key, table = _within(network, pair, table, problem, key, coarse[pair.child])
        columns[pair.child] = draw(key, table, rng)
    return [columns[number] for number in range(len(network.variables))]


def _within(
    network: Network, pair: Pair, table: Reals, problem: _Problem, key: Codes, group: Codes
) -> tuple[Codes, Reals]:
    """The distribution of a variable given its parents and the group that it was drawn to be in."""
    groups = problem.groups(pair.child)
    count = problem.sizes.get(pair.child, 1)
    inside = groups[None, :] == np.arange(count)[:, None]
    weighted = table * problem.weights.get(pair.child, np.ones(table.shape[1]))
    used, place = np.unique(key * count + group, return_inverse=True)
    rows = weighted[used // count] * inside[used % count]
    return place.astype(np.int64), rows


class _Problem:
    """The factors of a question: the conditional tables of all that matters, at the levels that matter."""

    def __init__(
        self, network: Network, wanted: Sequence[int], weights: Weights, extra: Sequence[Factor]
    ) -> None:
        self.network, self.weights = network, weights
        full = set(wanted) | {variable for factor in extra for variable in factor.variables}
        self.relevant = self._ancestors(full | set(weights))
        self.levels = self._working_levels(full)
        self.sizes = {
            variable: network.variables[variable].sizes[level] if level is not None else 1
            for variable, level in self.levels.items()
        }
        self.factors = [
            self._factor(pair, table)
            for pair, table in zip(network.pairs, network.tables, strict=True)
            if pair.child in self.relevant
        ]
        self.factors += extra

    def groups(self, variable: int) -> Codes:
        """The group at the working level for each code."""
        level = self.levels[variable]
        if level is None:
            return np.zeros(self.network.variables[variable].size, dtype=np.int64)
        return self.network.variables[variable].levels[level].lookup

    def _ancestors(self, wanted: set[int]) -> set[int]:
        found = set(wanted)
        for pair in reversed(self.network.pairs):
            if pair.child in found:
                found |= {parent.variable for parent in pair.parents}
        return found

    def _working_levels(self, full: set[int]) -> dict[int, int | None]:
        """The finest level at which anybody looks at each variable; None when nobody does."""
        levels: dict[int, int | None] = {
            variable: 0 if variable in full else None for variable in self.relevant
        }
        for pair in self.network.pairs:
            if pair.child in self.relevant:
                for variable, level in pair.parents:
                    known = levels[variable]
                    levels[variable] = level if known is None else min(known, level)
        return levels

    def _factor(self, pair: Pair, table: Reals) -> Factor:
        values = table.reshape(*self.network.parent_sizes(pair), -1)
        if pair.child in self.weights:
            values = values * self.weights[pair.child]
        own = self.levels[pair.child]
        if own != 0:
            values = grouped(values, values.ndim - 1, self.groups(pair.child))
        for axis, (variable, level) in enumerate(pair.parents):
            working = self.levels[variable]
            assert working is not None
            if working != level:
                values = np.take(values, between(self.network.variables[variable], working, level), axis=axis)
        return Factor((*(parent.variable for parent in pair.parents), pair.child), values)
