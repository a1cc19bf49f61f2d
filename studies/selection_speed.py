"""How fast is exact selection? One and a hundred of a million candidates, and streams of a million questions.

    python studies/selection_speed.py

Times are CPU time of one thread, the best of five runs, including the operating system's random bits. NumPy's
floating-point Gumbel noise is what unsafe software uses, and is here only to show what safety costs. What is
promised for a million stands beside what was measured, with the ratio of the two; the exit code is 1 where a
promise is not kept. The tests promise the same as numbers of steps and random bytes, which no busy machine
changes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.choice import best, best_several
from penstock.privacy.mechanisms.retraversal import retraverse
from penstock.privacy.mechanisms.sparse import above_threshold, sparse_vector
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation

CHOSEN = 100
ONE = Sensitivity.of(1)


@dataclass(frozen=True)
class Timed:
    """Seconds for work on so many candidates or questions, and what is promised for a million of them."""

    name: str
    of: int
    took: float
    promised: float | None = None

    @property
    def ratio(self) -> float | None:
        """What was measured, as a part of what is promised."""
        return None if self.promised is None else self.took / (self.promised * self.of / 1_000_000)


def seconds(work: Callable[[], object]) -> float:
    work()  # tables made once and kept are not part of it
    best = float("inf")
    for _ in range(5):
        start = process_time()
        work()
        best = min(best, process_time() - start)
    return best


def sealed(scores: NDArray[Any]) -> Sealed[NDArray[Any]]:
    return Sealed(
        scores,
        Sensitivity.scores(1, scores.size, monotone=True),
        Relation.ADD_REMOVE,
        because="a record has an item or not, and added it lowers no support",
    )


def shapes(size: int) -> dict[str, NDArray[Any]]:
    """Scores of different temper: few that are alike, all different, all the same, and real numbers."""
    ranks = np.arange(1, size + 1)
    return {
        "Zipf counts": size // ranks,
        "all different": np.random.default_rng(0).permutation(size),
        "all alike": np.zeros(size, dtype=np.int64),
        "reals": size / ranks,
    }


def unsafe(scores: NDArray[Any]) -> object:
    """Gumbel noise in floating point, the c largest."""
    noisy = scores + CHOSEN * np.random.default_rng().gumbel(size=scores.size)
    return np.argpartition(noisy, scores.size - CHOSEN)[-CHOSEN:]


def selections(size: int) -> Iterator[Timed]:
    """Each mechanism on the same scores, and unsafe noise."""
    for shape, scores in shapes(size).items():
        for how, promised, work in ways(scores):
            yield Timed(f"{how}, {shape}", size, seconds(work), promised)


def ways(scores: NDArray[Any]) -> Iterator[tuple[str, float | None, Callable[[], object]]]:
    closed = sealed(scores)
    yield "1, permute-and-flip", 1.0, lambda: best(closed, Budget(1))
    yield "1, exponential", 1.0, lambda: best(closed, Budget(1), method="exponential")
    yield f"{CHOSEN}, one-shot", 0.7, lambda: best_several(closed, CHOSEN, Budget(1), method="one-shot")
    yield f"{CHOSEN}, exponential", 0.7, lambda: best_several(closed, CHOSEN, Budget(1), method="exponential")
    yield (
        f"{CHOSEN}, retraversal",
        None,
        lambda: retraverse(closed, Budget(1), c=CHOSEN, threshold=1000, passes=3),
    )
    yield f"{CHOSEN}, NumPy (unsafe)", None, lambda: unsafe(scores)


def streams(size: int) -> Iterator[Timed]:
    """Nobody is above the threshold, so that all questions are asked."""
    values = np.random.default_rng(0).integers(0, 100, size)
    whole = sealed(values)
    limit = 100_000

    def asked(value: Any) -> Sealed[Any]:
        return Sealed(value, ONE, Relation.ADD_REMOVE, because="a record moves one question by one")

    def vectors() -> Iterator[Sealed[NDArray[Any]]]:
        for start in range(0, size, 10_000):
            yield asked(values[start : start + 10_000])

    few = [asked(value) for value in values[: size // 5].tolist()]
    works: list[tuple[str, int, float | None, Callable[[], object]]] = [
        (
            "one sealed vector",
            size,
            0.5,
            lambda: above_threshold(whole, Budget(1), c=50, threshold=limit),
        ),
        (
            "one sealed vector, a new threshold each time",
            size,
            2.0,
            lambda: above_threshold(whole, Budget(1), c=50, threshold=limit, redraw=True),
        ),
        (
            "a stream of vectors of 10,000",
            size,
            2.0,
            lambda: sum(1 for _ in sparse_vector(vectors(), Budget(1), c=50, threshold=limit)),
        ),
        (
            "a stream of single numbers",
            len(few),
            None,
            lambda: sum(1 for _ in sparse_vector(few, Budget(1), c=50, threshold=limit)),
        ),
    ]
    for name, questions, promised, work in works:
        yield Timed(name, questions, seconds(work), promised)


def shown(title: str, rows: Iterator[Timed]) -> bool:
    """Print a table as it comes; whether every promise was kept."""
    kept = True
    print(f"{title:48}{'of':>12}{'seconds':>10}{'a second':>14}{'promised':>10}{'ratio':>8}")
    for row in rows:
        promised = f"{row.promised:.1f}" if row.promised is not None else "-"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        print(f"{row.name:48}{row.of:12,}{row.took:10.3f}{row.of / row.took:14,.0f}{promised:>10}{ratio:>8}")
        kept &= row.ratio is None or row.ratio <= 1
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description="Time exact selections and sparse vectors.")
    parser.add_argument("--size", type=int, default=1_000_000)
    size = parser.parse_args().size
    kept = [shown("selection", selections(size)), shown("sparse vector", streams(size))]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
