"""Marginals and the columns they are made of: coded columns, as they are or seen through a lookup.

All of it is public: names, domain sizes and lookups come from the schema, never from records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 1 << 27
"""The largest marginal an engine counts: one gibibyte of 64-bit cells."""


@dataclass(frozen=True)
class Column:
    """A column of a marginal: a coded one as it is, or through a lookup: leaf code -> coarser code.

    >>> Column("age", (0, 0, 1, 1)).size
    2

    `size` may be given where a coarser code has no leaf below it; without `codes` it stays None
    and the size is that of the coded column itself. A marginal may hold one coded column several
    times through different lookups, as the bits of an encoding do.
    """

    name: str
    codes: tuple[int, ...] | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        if self.codes is None:
            if self.size is not None:
                raise ValueError(f"{self.name}: without a lookup the size is that of the column")
            return
        if not self.codes or min(self.codes) < 0:
            raise ValueError(f"{self.name}: a lookup has one code of 0 or more per leaf code")
        needed = max(self.codes) + 1
        if self.size is None:
            object.__setattr__(self, "size", needed)
        elif self.size < needed:
            raise ValueError(f"{self.name}: the lookup uses code {needed - 1}, beyond its size {self.size}")

    @classmethod
    def of(cls, name: str, codes: Iterable[int] | NDArray[np.integer], size: int | None = None) -> Self:
        """From any sequence of codes, such as the array of a taxonomy's level.

        >>> Column.of("age", np.array([0, 0, 1], dtype=np.uint8))
        Column(name='age', codes=(0, 0, 1), size=2)
        """
        return cls(name, tuple(int(code) for code in codes), size)


Marginal = Sequence[Column | str]
"""The columns of one contingency table, slowest first."""


class Columns:
    """The distinct columns asked for so far, numbered: the vocabulary of a plan.

    Column i is `names[base[i]]` seen through `lookup[i]` (None: as it is) and has `size[i]` codes.
    The plain columns come first, so number and base agree for them.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"{name}: a column has at least one code")
        self.names = tuple(sizes)
        self.base = list(range(len(self.names)))
        self.size = list(sizes.values())
        self.lookup: list[NDArray[np.intp] | None] = [None] * len(self.names)
        self._number = {name: number for number, name in enumerate(self.names)}
        self._recoded: dict[Column, int] = {}

    def numbers(self, marginals: Sequence[Marginal]) -> list[tuple[int, ...]]:
        """The column numbers of each marginal; unknown names and misfitting lookups are refused."""
        # Hashing a long lookup again and again would cost more than counting: within one call
        # the same object is the same column. It is kept, so that no other gets the same identity.
        seen: dict[int, tuple[Column, int]] = {}
        resolved: list[tuple[int, ...]] = []
        for marginal in marginals:
            if isinstance(marginal, str):
                raise TypeError(f"a marginal is a sequence of columns; write ({marginal!r},)")
            numbers: list[int] = []
            for column in marginal:
                if isinstance(column, str):
                    number = self._plain(column)
                else:
                    known = seen.get(id(column))
                    if known is None:
                        known = seen[id(column)] = (column, self._looked_up(column))
                    number = known[1]
                numbers.append(number)
            if len(set(numbers)) < len(numbers):
                raise ValueError(f"a marginal names the same column twice: {marginal!r}")
            if self.cells(numbers) > MOST_CELLS:
                raise ValueError(f"a marginal of {self.cells(numbers)} cells exceeds the limit {MOST_CELLS}")
            resolved.append(tuple(numbers))
        return resolved

    def varying(self, marginals: Sequence[Marginal]) -> list[tuple[int, ...]]:
        """The same without columns of a single code, which change neither counts nor their order."""
        numbers = self.numbers(marginals)
        if 1 not in self.size:
            return numbers
        return [tuple(number for number in some if self.size[number] > 1) for some in numbers]

    def cells(self, numbers: Iterable[int]) -> int:
        return prod(map(self.size.__getitem__, numbers))

    def _plain(self, name: str) -> int:
        try:
            return self._number[name]
        except KeyError:
            raise ValueError(f"no column {name!r}; there are {', '.join(self.names)}") from None

    def _looked_up(self, column: Column) -> int:
        base = self._plain(column.name)
        if column.codes is None or column.size is None:
            return base
        known = self._recoded.get(column)
        if known is not None:
            return known
        if len(column.codes) != self.size[base]:
            raise ValueError(
                f"{column.name}: the lookup has {len(column.codes)} codes, the column {self.size[base]}"
            )
        number = len(self.base)
        self.base.append(base)
        self.size.append(column.size)
        self.lookup.append(np.array(column.codes, dtype=np.intp))
        self._recoded[column] = number
        return number
