"""What the schema's rules leave possible, told in codes: structural zeros.

A rule about few columns is a table over their codes: 1 where it rules out everything that a combination of
codes stands for, 0 where it rules out nothing, and in between where it cuts through a bin. Combinations that
are ruled out wholly hold no record, so they get no probability; where a bin is cut, the codes may occur and
their values are drawn so that no rule is broken. Rules are public facts: nothing here looks at a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.schema import Condition, Schema, any_of

Truth = NDArray[np.bool_]
Reals = NDArray[np.float64]

MOST_CELLS = 1 << 20
"""Combinations of codes of the columns of one rule; a larger one only rejects rows that break it."""

_WHOLE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Support:
    """The combinations of codes that can occur.

    `impossible` holds a table for each set of columns that rules speak of together, true where nothing is
    possible. `cut` are the rules that cut through a bin, and `loose` those that are too wide for a table.
    """

    schema: Schema
    impossible: tuple[tuple[tuple[str, ...], Truth], ...]
    cut: tuple[Condition, ...]
    loose: tuple[Condition, ...]

    @classmethod
    def of(cls, schema: Schema) -> Support:
        """The support of a schema; without rules everything can occur."""
        sizes = schema.sizes
        narrow = [rule for rule in schema.rules if prod(sizes[name] for name in rule.names) <= MOST_CELLS]
        tables = {id(rule): rule.table(rule.names) for rule in narrow}
        scopes: list[tuple[str, ...]] = []
        for rule in sorted(narrow, key=lambda each: -len(each.names)):
            if not any(set(rule.names) <= set(scope) for scope in scopes):
                scopes.append(rule.names)
        found = []
        for scope in scopes:
            inside = [rule for rule in narrow if set(rule.names) <= set(scope)]
            table = any_of(inside).table(scope) > _WHOLE
            if table.any():
                found.append((scope, table))
        cut = [rule for rule in narrow if np.any((tables[id(rule)] > 1e-9) & (tables[id(rule)] <= _WHOLE))]
        loose = [rule for rule in schema.rules if id(rule) not in tables]
        return cls(schema, tuple(found), tuple(cut), tuple(loose))

    def __bool__(self) -> bool:
        """Whether anything is ruled out."""
        return bool(self.schema.rules)

    def allowed(self, names: Sequence[str]) -> Truth:
        """Over the codes of these columns: false where rules about them alone leave nothing possible."""
        shape = [self.schema.sizes[name] for name in names]
        result = np.ones(shape, dtype=np.bool_)
        for scope, table in self.impossible:
            if set(scope) <= set(names):
                axes = [names.index(name) for name in scope]
                lengths = [size if axis in axes else 1 for axis, size in enumerate(shape)]
                result &= ~np.transpose(table, np.argsort(axes)).reshape(lengths)
        return result

    def weights(self, condition: Condition, names: Sequence[str]) -> Reals:
        """Of every combination of codes of these columns the share for which a question holds.

        Values are even inside a bin as far as no rule forbids them; NaN where nothing is possible.
        """
        share = condition.table(tuple(names))
        rules = [rule for rule in self.cut if set(rule.names) <= set(names)]
        if rules and np.any((share > 0) & (share < 1)):
            possible = any_of(rules).negated.table(tuple(names))
            both = condition.and_not(rules).table(tuple(names))
            share = np.divide(both, possible, out=np.zeros_like(both), where=possible > 1e-12)
        share = np.where(np.abs(share - np.rint(share)) < 1e-9, np.rint(share), share)
        return np.where(self.allowed(tuple(names)), share, np.nan)

    def around(self, names: Sequence[str]) -> tuple[str, ...]:
        """These columns, and those of the rules that cut through a bin of one of them."""
        more = [each for rule in self.cut if set(rule.names) & set(names) for each in rule.names]
        return tuple(dict.fromkeys((*names, *more)))

    def broken(self, codes: Mapping[str, NDArray[np.integer]]) -> Truth:
        """Which coded rows no values could make possible, as far as one table of rules can tell."""
        rows = len(next(iter(codes.values())))
        result = np.zeros(rows, dtype=np.bool_)
        for scope, table in self.impossible:
            result |= table[tuple(codes[name] for name in scope)]
        return result

    @cached_property
    def classes(self) -> dict[str, NDArray[np.int64]]:
        """For each column the number of the class of every code: codes that no table of rules tells apart."""
        found = {}
        for name, size in self.schema.sizes.items():
            seen = [
                np.moveaxis(table, scope.index(name), 0).reshape(size, -1)
                for scope, table in self.impossible
                if name in scope
            ]
            rows = np.concatenate([np.zeros((size, 1), dtype=np.bool_), *seen], axis=1)
            found[name] = np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
        return found

    @cached_property
    def before(self) -> dict[str, frozenset[str]]:
        """For each column those that a row must hold before it, so that every rule can be kept on the way.

        In a rule the column comes last that the others can force to the smallest part of its codes: under 16
        there is one marital status of five, and with another one there are still most ages. Whatever shares a
        rule with a column that comes later is known by then; rules that follow from rules (they forbid what
        would leave a later column without any value) join the others.
        """
        links: dict[str, set[str]] = {name: set() for name in self.schema.names}
        decides: dict[str, set[str]] = {name: set() for name in self.schema.names}
        for scope, table in self.impossible:
            forced = max(scope, key=lambda name: _force(table, scope.index(name)))
            for name in scope:
                links[name] |= set(scope) - {name}
                decides[name] |= {forced} - {name}
        kinds = {name: int(classes.max()) + 1 for name, classes in self.classes.items()}
        before = {name: frozenset[str]() for name in self.schema.names}
        left = [name for name, others in links.items() if others]
        while left:
            name = min(
                left,
                key=lambda each: (
                    bool(decides[each] & set(left)),
                    prod(kinds[other] for other in links[each]),
                    -self.schema.names.index(each),
                ),
            )
            before[name] = frozenset(links[name])
            for other in links[name]:
                links[other] = (links[other] | links[name]) - {name, other}
            left.remove(name)
        return before


def _force(impossible: Truth, axis: int) -> float:
    """The largest factor by which the other columns of a rule can cut down the codes of one of them."""
    table = np.moveaxis(~impossible, axis, -1).reshape(-1, impossible.shape[axis])
    some = table.sum(axis=1)
    return float(table.shape[1] / some[some > 0].min(initial=table.shape[1]))


def ruled_out_share(schema: Schema, codes: Mapping[str, NDArray[Any]], rng: np.random.Generator) -> float:
    """The share of coded rows that break a rule with the values that they are given, to four digits."""
    rows = schema.decode(codes, rng)
    return round(float(schema.rules_out(rows).mean()), 4) if rows.height else 0.0
