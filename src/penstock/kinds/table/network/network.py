"""A Bayesian network over the variables of an encoding: what is released, sampled and asked."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.balancing import balanced, looks
from penstock.kinds.table.network.drawing import draw
from penstock.kinds.table.network.encoding import Codes, Variable
from penstock.kinds.table.network.parents import Pair

Reals = NDArray[np.float64]

_CHUNK = 1 << 20  # rows drawn at a time


@dataclass(frozen=True, eq=False)
class Network:
    """Pairs in an order in which parents come first, and the conditional table of each.

    `tables[i]` has a row for each configuration of the parents of `pairs[i]`, first parent slowest,
    and in it the distribution of the child.
    """

    variables: tuple[Variable, ...]
    pairs: tuple[Pair, ...]
    tables: tuple[Reals, ...]

    def __post_init__(self) -> None:
        there: set[int] = set()
        for pair, table in zip(self.pairs, self.tables, strict=True):
            for parent in pair.parents:
                if parent.variable not in there:
                    raise ValueError("parents come before their children")
            if pair.child in there or len({p.variable for p in pair.parents}) < len(pair.parents):
                raise ValueError("every variable has one place in the network")
            there.add(pair.child)
            expected = (prod(self.parent_sizes(pair)), self.variables[pair.child].size)
            if table.shape != expected:
                raise ValueError(f"the table of {self.variables[pair.child].name} must have shape {expected}")
        if there != set(range(len(self.variables))):
            raise ValueError("every variable has a place in the network")

    def parent_sizes(self, pair: Pair) -> tuple[int, ...]:
        return tuple(self.variables[variable].sizes[level] for variable, level in pair.parents)

    @property
    def degree(self) -> int:
        """The largest number of parents."""
        return max((len(pair.parents) for pair in self.pairs), default=0)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """From parent to child."""
        return [(parent.variable, pair.child) for pair in self.pairs for parent in pair.parents]

    def sample(self, n: int, rng: np.random.Generator, *, balance: bool = False) -> list[Codes]:
        """The codes of `n` rows, one array for each variable; with `balance` as in `balancing`."""
        parts = [self._chunk(min(_CHUNK, n - start), rng, balance) for start in range(0, n, _CHUNK)] or [
            self._chunk(0, rng, balance)
        ]
        return (
            parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
        )

    def _chunk(self, n: int, rng: np.random.Generator, balance: bool) -> list[Codes]:
        columns: dict[int, Codes] = {}
        most = looks(len(self.variables), n) if balance else 0
        for pair, table in zip(self.pairs, self.tables, strict=True):
            groups = self.configurations(pair, columns, n)
            drawn = draw(groups, table, rng)
            if most:
                before = {number: (codes, self.variables[number].size) for number, codes in columns.items()}
                drawn = balanced(drawn, groups, table, before, most, rng)
            columns[pair.child] = drawn
        return [columns[number] for number in range(len(self.variables))]

    def configurations(self, pair: Pair, columns: dict[int, Codes], n: int) -> Codes:
        """The number of the parents' configuration in each row."""
        key = np.zeros(n, dtype=np.int64)
        for variable, level in pair.parents:
            grouping = self.variables[variable].levels[level]
            seen = columns[variable] if level == 0 else grouping.lookup[columns[variable]]
            key = key * grouping.size + seen
        return key
