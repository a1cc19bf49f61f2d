"""Partitions of the predictors' values: how coarsely a classifier sees a record.

All of it is public. The hierarchies come from the schema: the taxonomy of a categorical column, merged bins
of a numeric one, all values at once where there is neither. A level is a partition of all codes of a column;
level 0 is the root, at which the column is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from penstock.engine import Column
from penstock.errors import SchemaError
from penstock.privacy.unit import Relation
from penstock.schema import Attribute, Schema

Numbers = NDArray[np.int64]

ANY = "Any"
"""What a column that is not looked at holds for every record."""
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Groups:
    """The codes of one column, in groups: `of` is the group of each code, `labels` are the groups' names.

    >>> Groups("age", np.array([0, 0, 1]), ("young", "old")).size
    2
    """

    name: str
    of: Numbers
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def column(self) -> Column:
        """The column of a marginal that counts the groups."""
        return Column.of(self.name, self.of, self.size)

    @cached_property
    def sizes(self) -> Numbers:
        """How many codes each group has."""
        return np.bincount(self.of, minlength=self.size)


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The levels of one column, root first; sizes strictly increase.

    >>> schema = Schema.from_yaml('''
    ... fields: [{name: age, type: integer, constraints: {minimum: 0, maximum: 79}, bins: {count: 8}}]
    ... ''')
    >>> Hierarchy.of(schema.attribute("age")).sizes
    (1, 2, 4, 8)
    """

    name: str
    levels: tuple[Groups, ...]

    @classmethod
    def of(cls, attribute: Attribute) -> Hierarchy:
        """Every level of an attribute; one at which nothing is told apart is the root, and stands once."""
        root = Groups(attribute.name, np.zeros(attribute.size, dtype=np.int64), (ANY,))
        found = [
            Groups(attribute.name, np.asarray(level.codes).astype(np.int64), level.labels)
            for level in reversed(attribute.levels)
        ]
        return cls(attribute.name, (root, *(groups for groups in found if groups.size > 1)))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(groups.size for groups in self.levels)

    @property
    def leaves(self) -> Groups:
        """The finest level."""
        return self.levels[-1]


def hierarchies(attributes: Sequence[Attribute], target: str) -> tuple[Hierarchy, ...]:
    """The hierarchy of every column but the target, in the schema's order."""
    return tuple(Hierarchy.of(attribute) for attribute in attributes if attribute.name != target)


def refuse_unless_added(schema: Schema) -> None:
    """A classifier of this room is private when a record is added or removed."""
    if schema.relation is not Relation.ADD_REMOVE:
        raise SchemaError(
            "Classifiers are private when a record is added or removed; set relation to 'add-remove' in the "
            "schema."
        )


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells: every combination of groups of some columns, the first column slowest; one without any.

    >>> two = Groups("a", np.array([0, 1]), ("x", "y")), Groups("b", np.array([0, 1]), ("u", "v"))
    >>> Partition(two).cells
    4
    """

    groups: tuple[Groups, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(groups.name for groups in self.groups)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(groups.size for groups in self.groups)

    @property
    def cells(self) -> int:
        return prod(self.shape)

    def marginal(self, target: str) -> list[Column | str]:
        """The counts of every cell and label, the label fastest."""
        return [*(groups.column for groups in self.groups), target]

    def cells_of(self, codes: Mapping[str, NDArray[np.integer]], rows: int) -> Numbers:
        """The cell of each of so many coded rows."""
        found = np.zeros(rows, dtype=np.int64)
        for groups in self.groups:
            found = found * groups.size + groups.of[np.asarray(codes[groups.name])]
        return found

    def places(self) -> Numbers:
        """The group along each column of every cell: a row for each cell."""
        if not self.groups:
            return np.zeros((1, 0), dtype=np.int64)
        return np.stack(np.unravel_index(np.arange(self.cells), self.shape), axis=1).astype(np.int64)


def named(attribute: Attribute, of: Numbers) -> Groups:
    """Groups of an attribute's codes, with the names that the schema has for them where it has."""
    labels = [label_of(attribute, np.flatnonzero(of == group).tolist()) for group in range(int(of.max()) + 1)]
    return Groups(attribute.name, of, _told_apart(labels))


def label_of(attribute: Attribute, codes: Sequence[int]) -> str:
    """What some codes of an attribute are called together."""
    if len(codes) == attribute.size:
        return ANY
    for level in attribute.levels:
        groups = np.asarray(level.codes)
        first = int(groups[codes[0]])
        if np.array_equal(np.flatnonzero(groups == first), codes):
            return level.labels[first]
    if attribute.ordered and codes[-1] < attribute.regular and codes[-1] - codes[0] == len(codes) - 1:
        return _from_to(attribute.labels[codes[0]], attribute.labels[codes[-1]])
    shown = [attribute.labels[code] for code in codes[:MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(codes) - MOST_NAMED} more" if len(codes) > MOST_NAMED else "")


def _from_to(first: str, last: str) -> str:
    """Neighbouring bins or grades: from where the first begins to where the last one ends.

    >>> _from_to("0..19", "60..79"), _from_to("low", "high")
    ('0..79', 'low to high')
    """
    low, high = first.split(".."), last.split("..")
    return f"{low[0]}..{high[1]}" if len(low) == len(high) == 2 else f"{first} to {last}"


def _told_apart(labels: Sequence[str]) -> tuple[str, ...]:
    """Each label once: a number is added to those that occur again."""
    found: list[str] = []
    for label in labels:
        number, told = 2, label
        while told in found:
            told, number = f"{label} ({number})", number + 1
        found.append(told)
    return tuple(found)
