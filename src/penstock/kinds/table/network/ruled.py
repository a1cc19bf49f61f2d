"""A network that keeps the schema's rules, without losing anybody: structural zeros, margins preserved.

Rejecting rows that break a rule would take away most of a group of which much is ruled out: where children
can be neither married nor at work, nearly every child that a network draws is one or the other. Here no row
is rejected. The network is walked in its order. Where rules speak of a column and of columns before it,
these become its parents, and what they rule out gets no probability. What is left is weighed, code by code,
so that the column keeps the distribution that it had: the weights are found by iterative proportional
fitting over a pool of synthetic rows. Combinations that would leave a later column without any possible
value are ruled out beforehand.

All of it is post-processing of a public network and of public rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.drawing import draw
from penstock.kinds.table.network.encoding import Codes, Encoding, Variable
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent
from penstock.kinds.table.support import Support, ruled_out_share

Reals = NDArray[np.float64]
Truth = NDArray[np.bool_]

POOL = 1 << 17
"""Synthetic rows over which the weights are found."""

CHECKED = 1 << 14
"""Synthetic rows by which it is estimated how many would break a rule."""

MOST_JOINED = 1 << 18
"""Cells of a table of rules that speak of one column and of columns before it."""

MOST_STORED = 1 << 20
"""Cells of the conditional table of a column."""

STEPS = 200
_ENOUGH = 1e-5
_WIDEST = 1e6  # between the weights of two codes


@dataclass(frozen=True, eq=False)
class Rule:
    """Which combinations of groups of some variables can occur: one axis each, at the levels given."""

    variables: tuple[int, ...]
    possible: Truth


def ruled(
    network: Network, encoding: Encoding, support: Support, margins: Mapping[int, Reals] | None = None
) -> Network:
    """The network with everything that the rules forbid left out, as far as the tables for that have room.

    `margins` are the distributions that variables are to keep; where they are not given, those of the
    network as it is.
    """
    return _Walk(network, encoding, support, margins or {}).network() if support.impossible else network


def rules_of(encoding: Encoding, support: Support) -> list[Rule]:
    """The rules over the variables of an encoding, all at full resolution.

    For attributes in bits a pattern that stands for no code cannot occur either.
    """
    numbers: dict[str, list[int]] = {}
    for number, variable in enumerate(encoding.variables):
        numbers.setdefault(variable.attribute, []).append(number)
    found = []
    for scope, impossible in support.impossible:
        table = ~impossible
        for axis, name in enumerate(scope):
            if encoding.name in ("binary", "gray") and name in numbers:
                whole = np.zeros(
                    (*table.shape[:axis], 1 << len(numbers[name]), *table.shape[axis + 1 :]), dtype=np.bool_
                )
                whole[(slice(None),) * axis + (encoding.patterns(name),)] = table
                table = whole
        own = [number for name in scope for number in numbers.get(name, ())]
        found.append(Rule(tuple(own), table.reshape([encoding.variables[number].size for number in own])))
    return found


def precedence(encoding: Encoding, support: Support) -> dict[int, frozenset[int]]:
    """For each variable those that must come before it, so that what rules need to know of a row is known."""
    if not support.impossible:
        return {}
    numbers: dict[str, set[int]] = {}
    for number, variable in enumerate(encoding.variables):
        numbers.setdefault(variable.attribute, set()).add(number)
    return {
        number: frozenset(
            other for name in support.before[variable.attribute] for other in numbers.get(name, ())
        )
        for number, variable in enumerate(encoding.variables)
    }


def next_ones(count: int, before: Mapping[int, frozenset[int]], there: Sequence[int]) -> list[int]:
    """Of so many variables those that may come next, in their own order.

    >>> next_ones(3, {0: frozenset([2])}, [1])
    [2]
    """
    left = {number for number in range(count) if number not in there}
    return [number for number in sorted(left) if not before.get(number, frozenset()) & left]


def ruled_out_of(network: Network, encoding: Encoding, support: Support) -> float:
    """The share of rows of a network that break a rule, for people to know what the rules did."""
    rng = np.random.default_rng(0)
    codes, valid = encoding.codes(network.sample(CHECKED, rng), CHECKED)
    meant = {
        name: column[valid].astype(support.schema.attribute(name).dtype) for name, column in codes.items()
    }
    return ruled_out_share(support.schema, meant, rng)


class _Walk:
    """One walk along a network."""

    def __init__(
        self, network: Network, encoding: Encoding, support: Support, margins: Mapping[int, Reals]
    ) -> None:
        self.plain, self.margins = network, margins
        self.variables = network.variables
        self.place = {pair.child: place for place, pair in enumerate(network.pairs)}
        rules = rules_of(encoding, support)
        self.levels = [_level(variable, number, rules) for number, variable in enumerate(self.variables)]
        self.sizes = [v.sizes[level] for v, level in zip(self.variables, self.levels, strict=True)]
        self.masks = self._masks([self._coarse(rule) for rule in rules])
        self.rng = np.random.default_rng(0)

    def _coarse(self, rule: Rule) -> Rule:
        """The rule at the coarsest levels that tell everything apart that any rule does."""
        table = rule.possible
        for axis, number in enumerate(rule.variables):
            lookup = self.variables[number].levels[self.levels[number]].lookup
            table = np.take(table, np.unique(lookup, return_index=True)[1], axis=axis)
        return Rule(rule.variables, table)

    def _masks(self, rules: list[Rule]) -> dict[int, Rule]:
        """For each variable what it may be given variables before it, itself the last axis.

        From the last variable to the first: what leaves it without a value is a rule about the others.
        """
        waiting, masks = list(rules), {}
        for pair in reversed(self.plain.pairs):
            child = pair.child
            mine = [rule for rule in waiting if max(rule.variables, key=self.place.__getitem__) == child]
            waiting = [rule for rule in waiting if rule not in mine]
            joined = self._joined(child, mine)
            if joined is None:
                continue
            masks[child] = joined
            implied = np.asarray(joined.possible.any(axis=-1))
            if not implied.all() and implied.ndim:
                waiting.append(Rule(joined.variables[:-1], implied))
        return masks

    def _joined(self, child: int, rules: Sequence[Rule]) -> Rule | None:
        """Rules about one variable and those before it as one; the widest are left out for lack of room."""
        taken: Rule | None = None
        for rule in sorted(rules, key=lambda each: each.possible.size):
            known = () if taken is None else taken.variables
            scope = sorted({*known, *rule.variables} - {child}, key=self.place.__getitem__)
            whole = (*scope, child)
            if prod(self.sizes[number] for number in whole) > MOST_JOINED:
                continue
            table = np.ones([self.sizes[number] for number in whole], dtype=np.bool_)
            for each in (rule,) if taken is None else (taken, rule):
                axes = [whole.index(number) for number in each.variables]
                lengths = [self.sizes[n] if axis in axes else 1 for axis, n in enumerate(whole)]
                table &= np.transpose(each.possible, np.argsort(axes)).reshape(lengths)
            taken = Rule(whole, table)
        return taken

    def network(self) -> Network:
        """The new network, column by column, with the pool of rows that is drawn from it."""
        before = self.plain.sample(POOL, np.random.default_rng(1))
        pool: dict[int, Codes] = {}
        pairs, tables = [], []
        for pair, table in zip(self.plain.pairs, self.plain.tables, strict=True):
            if pair.child in self.masks or pair.child in self.margins:
                pair, table = self._kept(pair, table, pool, before)
            pairs.append(pair)
            tables.append(table)
            pool[pair.child] = draw(self._configurations(pair.parents, pool), table, self.rng)
        return Network(self.variables, tuple(pairs), tuple(tables))

    def _kept(
        self, pair: Pair, table: Reals, pool: Mapping[int, Codes], before: Sequence[Codes]
    ) -> tuple[Pair, Reals]:
        """The pair with what the rules look at among its parents, and its table without what they forbid."""
        child = pair.child
        free = Rule((child,), np.ones(self.sizes[child], dtype=np.bool_))
        mask = self.masks.get(child, free)
        others = mask.variables[:-1]
        pair, table = self._with_room(pair, table, others, pool)
        parents = tuple(
            Parent(number, min(level, self.levels[number])) if number in others else Parent(number, level)
            for number, level in pair.parents
        )
        known = {number for number, _ in parents}
        parents += tuple(Parent(number, self.levels[number]) for number in others if number not in known)
        shape = [self.variables[number].sizes[level] for number, level in parents]
        rows = np.indices(shape, dtype=np.int64).reshape(len(shape), prod(shape))
        old = self._rows(pair.parents, parents, rows)
        seen = self._rows(tuple(Parent(number, self.levels[number]) for number in others), parents, rows)
        groups = self.variables[child].levels[self.levels[child]].lookup
        possible = mask.possible.reshape(-1, self.sizes[child])[seen][:, groups]
        own = [axis for axis, (number, _) in enumerate(parents) if self._same_attribute(number, child)]
        context = np.zeros(rows.shape[1], dtype=np.int64)
        for axis in own:
            context = context * shape[axis] + rows[axis]
        contexts = prod(shape[axis] for axis in own)
        goal = self._goal(child, [parents[axis].variable for axis in own], contexts, before)
        weights = np.bincount(self._configurations(parents, pool), minlength=rows.shape[1])
        kept = _filled(table[old] * possible, goal[context] * possible, possible, table[old])
        return Pair(child, parents), _weighed(kept, weights.astype(np.float64), context, goal)

    def _with_room(
        self, pair: Pair, table: Reals, others: Sequence[int], pool: Mapping[int, Codes]
    ) -> tuple[Pair, Reals]:
        """The pair without as many of its last parents as leave no room for those that rules ask for."""
        while True:
            plain = [parent for parent in pair.parents if parent.variable not in others]
            cells = self.variables[pair.child].size * prod(self.sizes[number] for number in others)
            for number, level in pair.parents:
                size = self.variables[number].sizes[level]
                cells = (
                    cells * size if number not in others else max(cells, cells // self.sizes[number] * size)
                )
            if cells <= MOST_STORED or not plain:
                return pair, table
            rest = tuple(parent for parent in pair.parents if parent != plain[-1])
            weights = np.bincount(self._configurations(pair.parents, pool), minlength=len(table)) + 1e-9
            shape = [self.variables[number].sizes[level] for number, level in pair.parents]
            axis = pair.parents.index(plain[-1])
            joint = (table * weights[:, None]).reshape(*shape, -1).sum(axis=axis)
            joint = joint.reshape(-1, joint.shape[-1])
            pair, table = Pair(pair.child, rest), joint / joint.sum(axis=1, keepdims=True)

    def _rows(self, wanted: Sequence[Parent], parents: Sequence[Parent], rows: Codes) -> Codes:
        """For each configuration of some parents the one of others that are as coarse or coarser."""
        places = {number: axis for axis, (number, _) in enumerate(parents)}
        key = np.zeros(rows.shape[1], dtype=np.int64)
        for number, level in wanted:
            variable, fine = self.variables[number], parents[places[number]].level
            lookup = np.zeros(variable.sizes[fine], dtype=np.int64)
            lookup[variable.levels[fine].lookup] = variable.levels[level].lookup
            key = key * variable.sizes[level] + lookup[rows[places[number]]]
        return key

    def _configurations(self, parents: Sequence[Parent], pool: Mapping[int, Codes]) -> Codes:
        key = np.zeros(POOL, dtype=np.int64)
        for number, level in parents:
            grouping = self.variables[number].levels[level]
            key = key * grouping.size + grouping.lookup[pool[number]]
        return key

    def _same_attribute(self, one: int, two: int) -> bool:
        return self.variables[one].attribute == self.variables[two].attribute

    def _goal(self, child: int, own: Sequence[int], contexts: int, before: Sequence[Codes]) -> Reals:
        """The distribution that a variable is to keep; of a bit, given the bits before it."""
        size = self.variables[child].size
        if not own and child in self.margins:
            return self.margins[child][None, :]
        key = np.zeros(POOL, dtype=np.int64)
        for number in own:
            key = key * self.variables[number].size + before[number]
        counts = np.bincount(key * size + before[child], minlength=contexts * size).astype(np.float64)
        table = counts.reshape(contexts, size)
        mass = table.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(table, mass, out=np.full_like(table, 1 / size), where=mass > 0))


def _level(variable: Variable, number: int, rules: Sequence[Rule]) -> int:
    """The coarsest level of a variable whose groups no rule tells apart."""
    seen = [
        np.moveaxis(rule.possible, rule.variables.index(number), 0).reshape(variable.size, -1)
        for rule in rules
        if number in rule.variables
    ]
    if not seen:
        return 0
    signs = np.unique(np.concatenate(seen, axis=1), axis=0, return_inverse=True)[1].ravel()
    return max(
        level
        for level, grouping in enumerate(variable.levels)
        if len(set(zip(grouping.lookup.tolist(), signs.tolist(), strict=True))) == grouping.size
    )


def _filled(table: Reals, spare: Reals, possible: Truth, plain: Reals) -> Reals:
    """Distributions; rows without mass take the spare one, then all that is possible, then what there was."""
    for other in (spare, possible.astype(np.float64), plain):
        empty = table.sum(axis=1) <= 0
        if not empty.any():
            break
        table[empty] = other[empty]
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _weighed(table: Reals, weights: Reals, context: Codes, goal: Reals) -> Reals:
    """The distributions, each code weighed, so that with these weights of the rows they add up to the goal.

    Iterative proportional fitting; what cannot be met, because rules leave no room, is approached.
    """
    used = np.flatnonzero(weights)
    rows, mass, where = table[used], weights[used] / weights.sum(), context[used]
    present = np.bincount(where, mass, minlength=len(goal))
    wanted = goal * present[:, None]
    factor = np.ones_like(goal)
    for _ in range(STEPS):
        scaled = rows * factor[where]
        scaled /= np.maximum(scaled.sum(axis=1, keepdims=True), 1e-300)
        found = np.zeros_like(goal)
        np.add.at(found, where, scaled * mass[:, None])
        if np.abs(found - wanted).max(initial=0.0) < _ENOUGH:
            break
        step = np.divide(wanted, found, out=np.ones_like(goal), where=(found > 0) & (wanted > 0))
        factor = np.clip(factor * step, 1 / _WIDEST, _WIDEST)
    weighed = table * factor[context]
    return np.asarray(weighed / weighed.sum(axis=1, keepdims=True), dtype=np.float64)
