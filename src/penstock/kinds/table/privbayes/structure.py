"""Learning which attributes depend on which: the greedy private network (Algorithms 2 and 4).

Guarantee: each round's choice is epsilon1/(d-1)-differentially private, so d - 1 rounds cost epsilon1.
Why: the candidates of a round are a function of public numbers and of the choices made before; their
scores are sealed with the largest change that one unit can cause to any of them; and the only thing
that leaves is the index that `choice.best` draws. A round in which nothing can be learned (one
candidate, or none with parents) is decided by a public coin and pays nothing, so that its share goes
to the counts; this is also what resets beta to 0 when the whole network can only be the empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import prod
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from penstock.engine.marginal import Marginal
from penstock.errors import UsageError
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import Pair, Parent
from penstock.kinds.table.network.ruled import next_ones
from penstock.kinds.table.privbayes.parent_sets import ParentSets
from penstock.kinds.table.privbayes.scores import ScoreName, scores
from penstock.kinds.table.privbayes.sensitivity import Bound, of_scores
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.public import AnyBelow
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sealed import Sealed, join
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.progress import progress

Counts = NDArray[np.int64]
Candidates = Callable[[Sequence[int]], list[Pair]]

Before = Mapping[int, frozenset[int]]
NOTHING_BEFORE: Before = MappingProxyType({})

MOST_AT_ONCE = 1 << 24
"""Cells of the tables that are counted at a time."""


def marginal(variables: Sequence[Variable], pair: Pair) -> Marginal:
    """What an engine counts for the joint table of a pair, the child's values slowest."""
    return tuple([variables[part.variable].column(part.level) for part in pair.parts])


def shape(variables: Sequence[Variable], pair: Pair) -> tuple[int, int]:
    """The child's values and the parents' configurations."""
    return variables[pair.child].size, prod([variables[p].sizes[level] for p, level in pair.parents])


def binary_candidates(variables: Sequence[Variable], k: int, before: Before = NOTHING_BEFORE) -> Candidates:
    """Algorithm 2: every attribute that is left, with every set of min(k, |V|) attributes already there.

    Where rules link attributes, `before` says which of them must be there first: a public matter.
    """
    every = [Parent(number) for number in range(len(variables))]

    def candidates(there: Sequence[int]) -> list[Pair]:
        sets = list(combinations([every[number] for number in there], min(k, len(there))))
        left = next_ones(len(variables), before, there)
        return [Pair(child, parents) for child in left for parents in sets]

    return candidates


def general_candidates(
    variables: Sequence[Variable], cells: int, before: Before = NOTHING_BEFORE
) -> Candidates:
    """Algorithm 4: every attribute that is left, with every maximal parent set of at most `cells` cells.

    An attribute that is too large by itself gets no parents.
    """
    sets = ParentSets()
    taken: list[int] = []

    def candidates(there: Sequence[int]) -> list[Pair]:
        for number in there[len(taken) :]:
            sets.append(number, variables[number].sizes)
            taken.append(number)
        left = next_ones(len(variables), before, there)
        return [
            Pair(child, parents)
            for child in left
            for parents in sets.maximal(cells // variables[child].size) or ((),)
        ]

    return candidates


@dataclass
class SealedScores:
    """The sealed scores of all candidates met so far; each is computed once."""

    table: Table
    variables: Sequence[Variable]
    name: ScoreName
    bound: Bound = "tight"
    _known: dict[Pair, tuple[int, tuple[int, int]]] = field(default_factory=dict)  # place and shape
    _all: Sealed[Counts] | None = None

    def of(self, pairs: Sequence[Pair]) -> Sealed[Counts]:
        """The scores of these candidates, with the largest change that one unit can cause to any."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        for some, shapes in self._batches(new):
            self._learn(some, shapes)
        assert self._all is not None
        known = [self._known[pair] for pair in pairs]
        places = np.array([place for place, _ in known])
        return self._all.claim(
            lambda values: values[places],
            self._sensitivity([shape for _, shape in known]),
            shape=places.shape,
            because="the bound of a score holds whatever else is scored beside it, so these move by no more "
            "than the largest bound among themselves, which follows from the public shapes of their tables",
        )

    def _batches(self, pairs: Sequence[Pair]) -> Iterator[tuple[list[Pair], list[tuple[int, int]]]]:
        """As many pairs at a time as have tables that fit into memory together, with their shapes."""
        some: list[Pair] = []
        shapes: list[tuple[int, int]] = []
        cells = 0
        for pair in pairs:
            values, configurations = shape(self.variables, pair)
            cells += values * configurations
            if some and cells > MOST_AT_ONCE:
                yield some, shapes
                some, shapes, cells = [], [], values * configurations
            some.append(pair)
            shapes.append((values, configurations))
        if some:
            yield some, shapes

    def _learn(self, new: Sequence[Pair], shapes: Sequence[tuple[int, int]]) -> None:
        found = self.table.derive(
            [marginal(self.variables, pair) for pair in new],
            lambda counts: scores(self.name, shapes, counts, self.table.relation),
            self._sensitivity(shapes),
            shape=(len(shapes),),
            because=f"one record that comes, goes or is replaced moves any score {self.name} by at most the "
            "bound that penstock.kinds.table.privbayes.sensitivity proves for tables of this shape, and m "
            "records of a unit are m such changes; all scores may move at once",
        )
        for pair, shape in zip(new, shapes, strict=True):
            self._known[pair] = (len(self._known), shape)
        self._all = found if self._all is None else join([self._all, found])

    def _sensitivity(self, shapes: Sequence[tuple[int, int]]) -> Sensitivity:
        return of_scores(
            self.name,
            shapes,
            self.table.relation,
            n=self.table.public_size,
            records=self.table.schema.unit.records,
            bound=self.bound,
        )


def learn(
    known: SealedScores, candidates: Candidates, budget: Budget, share: Fraction, method: choice.Method
) -> list[Pair]:
    """The pairs in the order of their choice; each round that chooses takes `share` of the budget.

    The first attribute is drawn by a public coin, independently of the records.
    """
    variables, coins = known.variables, budget.randomness
    firsts = [pair.child for pair in candidates([]) if not pair.parents]
    chosen = [Pair(firsts[coins.draw(AnyBelow(len(firsts)))])]
    with progress("choosing the network", total=len(variables)) as step:
        step(1)
        while len(chosen) < len(variables):
            options = candidates([pair.child for pair in chosen])
            if not options:
                raise UsageError("There is no candidate for the next attribute of the network.")
            if len(options) == 1 or not any(pair.parents for pair in options):
                chosen.append(options[coins.draw(AnyBelow(len(options)))])
            else:
                pay = budget.part(f"choice {len(chosen)}", share)
                chosen.append(options[choice.best(known.of(options), pay, method=method)])
            step(1)
    return chosen
