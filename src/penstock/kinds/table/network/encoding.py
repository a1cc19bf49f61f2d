"""Encodings: the variables that a network is learned over, and the way back to the schema's codes.

==============  =======================================================  ==================
encoding        an attribute of size s becomes                            network
==============  =======================================================  ==================
binary          ⌈log₂ s⌉ bits of the natural code, highest bit first       binary (Algs 1, 2)
gray            the same bits of the reflected code i xor (i >> 1)        binary (Algs 1, 2)
vanilla         one variable                                             general (3, 4, 5)
hierarchical    one variable with the levels of its taxonomy or bins      general (3, 4, 6)
==============  =======================================================  ==================

All of it is public. An attribute with a single code is known beforehand and becomes no variable.
A bit pattern that stands for no code can be sampled; such rows are drawn again (`Encoding.codes`
marks them), and what is left after the last try falls to the last code, so decoding never fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.engine.marginal import Column
from penstock.schema.attribute import Attribute

EncodingName = Literal["binary", "gray", "vanilla", "hierarchical"]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Grouping:
    """A coarser look at a variable: the group of each of its codes."""

    groups: tuple[int, ...]
    size: int

    @cached_property
    def lookup(self) -> Codes:
        return np.array(self.groups, dtype=np.int64)


@dataclass(frozen=True)
class Variable:
    """A node of the network: an attribute, or one bit of it.

    `codes` gives the variable's code for each code of the attribute (None: the same). `levels` are
    the ways in which it can be seen as a parent; the first one is the identity.
    """

    name: str
    attribute: str
    size: int
    codes: tuple[int, ...] | None = None
    levels: tuple[Grouping, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.levels:
            object.__setattr__(self, "levels", (Grouping(tuple(range(self.size)), self.size),))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of values at each level."""
        return tuple(level.size for level in self.levels)

    def column(self, level: int = 0) -> Column | str:
        """What an engine counts to see this variable at this level."""
        known = self._columns.get(level)
        if known is None:
            known = self._columns[level] = self._column(level)
        return known

    @cached_property
    def _columns(self) -> dict[int, Column | str]:
        return {}

    def _column(self, level: int) -> Column | str:
        groups = None if level == 0 else self.levels[level].groups
        if self.codes is None and groups is None:
            return self.attribute
        if groups is None:
            return Column(self.attribute, self.codes, self.size)
        seen = groups if self.codes is None else tuple(groups[code] for code in self.codes)
        return Column(self.attribute, seen, self.levels[level].size)


@dataclass(frozen=True)
class Encoding:
    """The variables of a table and how their codes become codes of its attributes again."""

    name: EncodingName
    variables: tuple[Variable, ...]
    sizes: Mapping[str, int]

    @property
    def binary(self) -> bool:
        """Whether every variable has two values, so that the binary network can be learned."""
        return all(variable.size == 2 for variable in self.variables)

    def patterns(self, name: str) -> Codes:
        """The bit pattern of each code of an attribute, as a number; only for the encodings in bits."""
        codes = np.arange(self.sizes[name])
        return codes ^ (codes >> 1) if self.name == "gray" else codes

    def codes(self, sampled: Sequence[NDArray[Any]], n: int) -> tuple[dict[str, Codes], NDArray[np.bool_]]:
        """Codes of all attributes for sampled variables, and which rows had a pattern for each of them.

        >>> encoding = encode_as("gray", [("age", 5)])
        >>> bits = [np.array([0, 1, 1]), np.array([1, 1, 0]), np.array([0, 0, 1])]
        >>> encoding.codes(bits, 3)
        ({'age': array([3, 4, 4])}, array([ True,  True, False]))
        """
        found = {name: np.zeros(n, dtype=np.int64) for name in self.sizes}
        for variable, values in zip(self.variables, sampled, strict=True):
            if self.name in ("binary", "gray"):
                found[variable.attribute] = found[variable.attribute] * 2 + values
            else:
                found[variable.attribute] = np.asarray(values, dtype=np.int64)
        valid = np.ones(n, dtype=np.bool_)
        for name, size in self.sizes.items():
            if self.name == "gray":
                found[name] = _from_gray(found[name])
            inside = found[name] < size
            valid &= inside
            if not inside.all():
                found[name] = np.minimum(found[name], size - 1)
        return found, valid


def encoded(name: EncodingName, attributes: Sequence[Attribute]) -> Encoding:
    """The encoding of a schema's attributes."""
    levels = {
        attribute.name: tuple(
            Grouping(tuple(int(code) for code in level.codes), level.size) for level in attribute.levels
        )
        for attribute in attributes
    }
    return encode_as(name, [(attribute.name, attribute.size) for attribute in attributes], levels)


def encode_as(
    name: EncodingName,
    sizes: Sequence[tuple[str, int]],
    levels: Mapping[str, tuple[Grouping, ...]] | None = None,
) -> Encoding:
    """The encoding of attributes of these sizes; levels are used by the hierarchical one only."""
    variables: list[Variable] = []
    for attribute, size in sizes:
        if size < 2:
            continue
        if name in ("binary", "gray"):
            variables += _bits(attribute, size, gray=name == "gray")
        else:
            known = (levels or {}).get(attribute, ()) if name == "hierarchical" else ()
            variables.append(Variable(attribute, attribute, size, None, known))
    return Encoding(name, tuple(variables), dict(sizes))


def _bits(attribute: str, size: int, *, gray: bool) -> list[Variable]:
    width = (size - 1).bit_length()
    if width == 1:
        return [Variable(attribute, attribute, 2)]
    patterns = [code ^ (code >> 1) if gray else code for code in range(size)]
    return [
        Variable(
            f"{attribute} bit {place + 1}",
            attribute,
            2,
            tuple((pattern >> (width - 1 - place)) & 1 for pattern in patterns),
        )
        for place in range(width)
    ]


def _from_gray(patterns: Codes) -> Codes:
    index = patterns.copy()
    shift = 1
    while (patterns >> shift).any():
        index ^= patterns >> shift
        shift += 1
    return index
