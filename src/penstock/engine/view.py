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
class View:
    """A coded column, as it is or generalised: leaf code -> coarser code.

    >>> View("age", (0, 0, 1, 1)).size
    2

    `size` may be given where a coarser code has no leaf below it; without `codes` it stays None
    and the size is that of the column itself. A marginal may hold several views of one column,
    as the bits of an encoding do.
    """

    name: str
    codes: tuple[int, ...] | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        if self.codes is None:
            if self.size is not None:
                raise ValueError(f"{self.name}: a view without a lookup has the size of its column")
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
        """A view from any sequence of codes, such as the array of a taxonomy's level.

        >>> View.of("age", np.array([0, 0, 1], dtype=np.uint8))
        View(name='age', codes=(0, 0, 1), size=2)
        """
        return cls(name, tuple(int(code) for code in codes), size)


Marginal = Sequence[View | str]
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
        self._views: dict[View, int] = {}

    def numbers(self, marginals: Sequence[Marginal]) -> list[tuple[int, ...]]:
        """The column numbers of each marginal; unknown names and misfitting lookups are refused."""
        # Hashing a long lookup again and again would cost more than counting: within one call
        # the same object is the same view. Views are kept, so that no other gets the same identity.
        seen: dict[int, tuple[View, int]] = {}
        resolved: list[tuple[int, ...]] = []
        for marginal in marginals:
            if isinstance(marginal, str):
                raise TypeError(f"a marginal is a sequence of columns; write ({marginal!r},)")
            numbers: list[int] = []
            for view in marginal:
                if isinstance(view, str):
                    number = self._plain(view)
                else:
                    known = seen.get(id(view))
                    if known is None:
                        known = seen[id(view)] = (view, self._viewed(view))
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

    def _viewed(self, view: View) -> int:
        base = self._plain(view.name)
        if view.codes is None or view.size is None:
            return base
        known = self._views.get(view)
        if known is not None:
            return known
        if len(view.codes) != self.size[base]:
            raise ValueError(
                f"{view.name}: the lookup has {len(view.codes)} codes, the column {self.size[base]}"
            )
        number = len(self.base)
        self.base.append(base)
        self.size.append(view.size)
        self.lookup.append(np.array(view.codes, dtype=np.intp))
        self._views[view] = number
        return number
