"""What a sparse vector answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SparseAnswer:
    """The answer to one query: above its threshold or not, and how large where that is paid for.

    >>> bool(SparseAnswer(True, 17)), bool(SparseAnswer(False))
    (True, False)
    """

    above: bool
    value: int | float | None = None

    def __bool__(self) -> bool:
        return self.above


YES, NO = SparseAnswer(True), SparseAnswer(False)


@dataclass(frozen=True)
class SparseAnswers:
    """The answers to the first queries of a batch: all of them, or up to the last yes that there was.

    `values` holds one number for each yes, or is None where numbers are not paid for.
    """

    above: NDArray[np.bool_]
    values: NDArray[Any] | None = None

    @property
    def positions(self) -> NDArray[np.int64]:
        """Where the answer is yes."""
        return np.flatnonzero(self.above)

    def __len__(self) -> int:
        return self.above.size

    def __iter__(self) -> Iterator[SparseAnswer]:
        numbers = iter(() if self.values is None else self.values.tolist())
        for above in self.above.tolist():
            yield NO if not above else YES if self.values is None else SparseAnswer(True, next(numbers))
