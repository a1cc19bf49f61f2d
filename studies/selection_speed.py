"""How fast is exact selection? A hundred of a million candidates, and streams of a million questions.

    python studies/selection_speed.py

Times are CPU time of one thread, the best of five runs, including the operating system's random bits. NumPy's
floating-point Gumbel noise is what unsafe software uses, and is here only to show what safety costs. The
floors are one second for a million candidates and 500,000 questions a second; the exit code is 1 below them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.choice import best_several
from penstock.privacy.mechanisms.retraversal import retraverse
from penstock.privacy.mechanisms.sparse import above_threshold, sparse_vector
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation

CHOSEN = 100
ONE = Sensitivity.of(1)


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


def selections(size: int) -> Iterator[tuple[str, float]]:
    for name, scores in shapes(size).items():
        for how, spent in ways(scores):
            yield f"{CHOSEN} of {size:,}, {name}, {how}", spent


def ways(scores: NDArray[Any]) -> Iterator[tuple[str, float]]:
    """Seconds of each mechanism for the same scores, and of unsafe noise."""
    closed = sealed(scores)
    yield "one-shot", seconds(lambda: best_several(closed, CHOSEN, Budget(1), method="one-shot"))
    yield "exponential", seconds(lambda: best_several(closed, CHOSEN, Budget(1), method="exponential"))
    yield "retraversal", seconds(lambda: retraverse(closed, Budget(1), c=CHOSEN, threshold=1000, passes=3))
    yield "NumPy (unsafe)", seconds(lambda: unsafe(scores))


def streams(size: int) -> Iterator[tuple[str, float]]:
    """Questions a second; nobody is above the threshold, so that all are asked."""
    values = np.random.default_rng(0).integers(0, 100, size)
    whole = sealed(values)
    limit = 100_000

    def vectors() -> Iterator[Sealed[NDArray[Any]]]:
        for start in range(0, size, 10_000):
            yield Sealed(
                values[start : start + 10_000],
                ONE,
                Relation.ADD_REMOVE,
                because="a record moves a query by at most one",
            )

    few = [
        Sealed(value, ONE, Relation.ADD_REMOVE, because="a record moves a query by at most one")
        for value in values[: size // 5].tolist()
    ]
    counted = {
        "one sealed vector": (
            size,
            lambda: above_threshold(whole, Budget(1), c=50, threshold=limit),
        ),
        "one sealed vector, a new threshold each time": (
            size,
            lambda: above_threshold(whole, Budget(1), c=50, threshold=limit, redraw=True),
        ),
        "a stream of vectors of 10,000": (
            size,
            lambda: sum(1 for _ in sparse_vector(vectors(), Budget(1), c=50, threshold=limit)),
        ),
        "a stream of single numbers": (
            len(few),
            lambda: sum(1 for _ in sparse_vector(few, Budget(1), c=50, threshold=limit)),
        ),
    }
    for name, (questions, work) in counted.items():
        yield f"{questions:,} questions, {name}", questions / seconds(work)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time exact selections and sparse vectors.")
    parser.add_argument("--size", type=int, default=1_000_000)
    size = parser.parse_args().size
    good = True
    print(f"{'selection':62}{'seconds':>10}")
    for name, took in selections(size):
        good &= took < 1 or "retraversal" in name
        print(f"{name:62}{took:10.3f}")
    print(f"\n{'sparse vector':62}{'a second':>14}")
    for name, rate in streams(size):
        good &= rate >= 500_000 or "single" in name
        print(f"{name:62}{rate:14,.0f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
