"""Attributes: the coded, public view of a field that methods work with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.schema.field import OTHER, Field

MISSING_LABEL = "(missing)"
OTHER_LABEL = "(other)"

Codes = NDArray[np.unsignedinteger]


def code_type(size: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned integer type that holds the codes 0..size-1."""
    if size <= 1 << 8:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if size <= 1 << 16 else np.dtype(np.uint32)


@dataclass(frozen=True, eq=False)
class Level:
    """One generalisation: the group at this level for each leaf code."""

    codes: Codes
    size: int
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Attribute:
    """A field seen as the codes 0..size-1.

    Codes below ``regular`` are the declared categories or bins, in order; then come, where the
    schema declares them, one code for missing values and one for values outside the domain.
    ``levels[0]`` is the identity, sizes strictly decrease, and the root is left out. Missing and
    other values stay groups of their own at every level.
    """

    name: str
    size: int
    labels: tuple[str, ...]
    ordered: bool
    levels: tuple[Level, ...]
    regular: int
    missing: int | None
    other: int | None

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        return code_type(self.size)

    @classmethod
    def of(cls, field: Field) -> Attribute:
        regular = len(field.labels)
        labels = list(field.labels)
        missing = other = None
        if field.missing == "value":
            missing = len(labels)
            labels.append(MISSING_LABEL)
        if field.outside == "other":
            if not field.ranged and field.type == "string" and OTHER in field.labels:
                other = field.labels.index(OTHER)
            else:
                other = len(labels)
                labels.append(OTHER_LABEL)
        special = tuple(labels[regular:])
        groupings = [(np.arange(regular), labels[:regular])]
        if field.taxonomy is not None:
            groupings += _taxonomy(field)
        elif field.ordered:
            groupings += _merges(field)
        levels: list[Level] = []
        for grouping in groupings:
            level = _level(*grouping, special)
            if not levels or (level.size < levels[-1].size and level.size - len(special) > 1):
                levels.append(level)
        return cls(
            field.name, len(labels), tuple(labels), field.ordered, tuple(levels), regular, missing, other
        )


Grouping = tuple[NDArray[np.int64], list[str]]  # the group of each regular code, the label of each group


def _level(groups: NDArray[np.int64], labels: list[str], special: tuple[str, ...]) -> Level:
    """A grouping of the regular codes, with missing and other values as further groups."""
    size = len(labels) + len(special)
    codes = np.append(groups, np.arange(len(labels), size)).astype(code_type(size))
    codes.flags.writeable = False
    return Level(codes, size, (*labels, *special))


def _merges(field: Field) -> list[Grouping]:
    """Adjacent bins merged where the schema says, or else two by two, again and again: 16, 8, 4, 2."""
    if field.ranged and field.coarser:
        return [_between(field, edges) for edges in field.coarser]
    count, width, result = len(field.labels), 2, []
    while width < count:
        labels = [_merged(field, first, min(first + width, count) - 1) for first in range(0, count, width)]
        result.append((np.arange(count) // width, labels))
        width *= 2
    return result


def _between(field: Field, edges: tuple[float, ...]) -> Grouping:
    """Bins told apart by these inner edges alone."""
    groups = np.searchsorted(edges, field.edges.values[:-1], side="right").astype(np.int64)
    ends = [np.flatnonzero(groups == group)[[0, -1]].tolist() for group in range(len(edges) + 1)]
    return groups, [_merged(field, first, last) for first, last in ends]


def _merged(field: Field, first: int, last: int) -> str:
    if field.ranged:
        return field.span_label(first, last)
    return field.labels[first] if first == last else f"{field.labels[first]}..{field.labels[last]}"


def _taxonomy(field: Field) -> list[Grouping]:
    """The tree cut at every depth from just above its deepest leaves up to just below the root."""
    assert field.taxonomy is not None
    result: list[Grouping] = []
    for depth in range(field.taxonomy.depth - 1, 0, -1):
        groups = field.taxonomy.groups(depth)
        place = {leaf: number for number, (_, leaves) in enumerate(groups) for leaf in leaves}
        result.append((np.array([place[label] for label in field.labels]), [label for label, _ in groups]))
    return result
