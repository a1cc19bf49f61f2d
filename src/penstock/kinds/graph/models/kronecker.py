"""Stochastic Kronecker graphs: expected counts, a fit by matching them, and an exact sampler.

A symmetric initiator [[a, b], [b, c]] with a >= c, to the k-th Kronecker power, gives every pair of 2^k nodes
a probability: a^i b^j c^l for nodes whose numbers agree in i binary zeros and l ones and differ in j digits.
Every pair is linked independently, each once.

Expected counts of edges, 2-stars (hairpins), triangles and 3-stars (tripins) have closed forms (Gleich and
Owen 2012). Two coefficients of the 3-stars are misprinted in parts of the literature, 5 and 4 where 3 and 6
belong: with R_m the row sums of m-th powers and D the diagonal, six times the expectation is the sum over
nodes of R1^3 - 3 R1^2 D + 6 R1 D^2 - 3 R1 R2 + 3 D R2 + 2 R3 - 6 D^3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import factorial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.engine.distinct import distinct
from penstock.errors import UsageError

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
Distance = Literal["squared", "absolute"]
Norm = Literal["F", "F2", "E", "E2"]
FEATURES = ("edge", "2-star", "triangle", "3-star")
_GRID = 11
_REFINED = 5
_SOLVERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Nelder-Mead", {"xatol": 1e-7, "fatol": 0, "maxiter": 500}),
    ("L-BFGS-B", {"ftol": 1e-15, "gtol": 1e-12}),
    ("Nelder-Mead", {"xatol": 1e-9, "fatol": 0, "maxiter": 300}),
)
_POLISH = {"xatol": 1e-9, "fatol": 1e-15, "maxiter": 300}
_SMALLEST = 1e-9


@dataclass(frozen=True)
class Initiator:
    """[[a, b], [b, c]], entries between 0 and 1, a >= c.

    >>> {name: round(float(count), 4) for name, count in Initiator(0.9, 0.5, 0.2).expected(2).items()}
    {'edge': 1.6, '2-star': 0.8525, 'triangle': 0.0756, '3-star': 0.0756}
    """

    a: float
    b: float
    c: float

    def __post_init__(self) -> None:
        if not all(0 <= entry <= 1 for entry in (self.a, self.b, self.c)):
            raise UsageError("The entries of an initiator are probabilities, between 0 and 1.")

    def expected(self, levels: int) -> dict[str, float]:
        """The expected number of each feature in a graph of 2^levels nodes."""
        found = expected(self.a, self.b, self.c, levels)
        return {name: max(0.0, count) for name, count in zip(FEATURES, found, strict=True)}


def levels_of(n: int) -> int:
    """The smallest k with 2^k >= n.

    >>> levels_of(1), levels_of(5242), levels_of(8192), levels_of(8193)
    (0, 13, 13, 14)
    """
    return (n - 1).bit_length()


def expected(a: Any, b: Any, c: Any, k: int) -> tuple[Any, Any, Any, Any]:
    """Expected counts of the features, in their order, for one initiator or for arrays of them.

    Rounding may leave them a little below zero.
    """
    two, three = a**2 + c**2, a**3 + c**3
    mixed = b * two
    edges = ((a + 2 * b + c) ** k - (a + c) ** k) / 2
    hairpins = (
        ((a + b) ** 2 + (b + c) ** 2) ** k
        - 2 * (a * (a + b) + c * (b + c)) ** k
        - (two + 2 * b**2) ** k
        + 2 * two**k
    ) / 2
    triangles = (
        (three + 3 * b**2 * (a + c)) ** k - 3 * (a * (a**2 + b**2) + c * (b**2 + c**2)) ** k + 2 * three**k
    ) / 6
    tripins = (
        ((a + b) ** 3 + (b + c) ** 3) ** k
        - 3 * (a * (a + b) ** 2 + c * (b + c) ** 2) ** k
        - 3 * (three + mixed + b**2 * (a + c) + 2 * b**3) ** k
        + 2 * (three + 2 * b**3) ** k
        + 3 * (three + b**2 * (a + c)) ** k
        + 6 * (three + mixed) ** k
        - 6 * three**k
    ) / 6
    return edges, hairpins, triangles, tripins


def fit(
    features: Mapping[str, float], levels: int, *, distance: Distance = "squared", norm: Norm = "F2"
) -> tuple[Initiator, float]:
    """The initiator whose expected counts are nearest to these, and how far they are.

    Features of 0 or less say nothing about a model and are left out; that depends on the given numbers alone.
    The sum has several valleys, so that it is searched from the best places of a grid.
    """
    used = tuple((name, float(value)) for name, value in features.items() if value > 0)
    return _fitted(used, levels, distance, norm)


@lru_cache(maxsize=256)
def _fitted(
    given: tuple[tuple[str, float], ...], levels: int, distance: Distance, norm: Norm
) -> tuple[Initiator, float]:
    """The fit itself, of counts above zero; kept, since an audit asks for the same ones many times."""
    used = dict(given)
    if levels == 0 or "edge" not in used:
        return Initiator(0.0, 0.0, 0.0), 0.0
    axis = np.linspace(0, 1, _GRID)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    places = expected(grid[:, 0], grid[:, 1], grid[:, 0] * grid[:, 2], levels)
    heights = np.asarray(_far(used, places, distance, norm))
    starts = grid[np.argsort(heights, kind="stable")[:_REFINED]]

    def far(point: Reals) -> float:
        """Of a point (a, b, c/a), moved into the cube, the distance."""
        a, b, share = (min(1.0, max(0.0, entry)) for entry in point.tolist())
        return float(_far(used, expected(a, b, a * share, levels), distance, norm))

    if distance == "squared" and norm in ("F", "F2"):
        best = _by_least_squares(used, levels, norm, starts, far)
    else:  # others have kinks and more valleys; the robust one shows the way
        near, _ = _fitted(given, levels, "squared", "F2")
        best = _by_descent(np.vstack([[near.a, near.b, near.c / near.a if near.a else 0.0], starts]), far)
    a, b, c = float(best[0]), float(best[1]), float(best[0] * best[2])
    return Initiator(a, b, c), far(best)


def _by_least_squares(
    used: Mapping[str, float], levels: int, norm: Norm, starts: Reals, far: Callable[[Reals], float]
) -> Reals:
    """The lowest point by trust regions from every start, where the distance is a sum of smooth squares."""
    from scipy.optimize import least_squares, minimize

    places = [place for place, name in enumerate(FEATURES) if name in used]
    wanted = np.array([used[FEATURES[place]] for place in places])
    base = wanted if norm == "F2" else np.sqrt(wanted)

    def gaps(point: Reals) -> Reals:
        a, b, share = point.tolist()
        found = expected(a, b, a * share, levels)
        return np.asarray((np.array([found[place] for place in places]) - wanted) / base)

    best: Reals = starts[0]
    lowest = far(best)
    for start in starts:
        inside = np.clip(start, 1e-3, 1 - 1e-3)
        found = least_squares(gaps, inside, bounds=(0, 1), ftol=1e-10, xtol=1e-8, gtol=1e-10, max_nfev=60)
        if far(found.x) < lowest:
            best, lowest = found.x, far(found.x)
    # Trust regions stay a little off the faces of the cube; a simplex does not.
    last = minimize(far, best, method="Nelder-Mead", bounds=[(0.0, 1.0)] * 3, options=_POLISH)
    return np.asarray(np.clip(last.x if float(last.fun) < lowest else best, 0, 1))


def _by_descent(starts: Reals, far: Callable[[Reals], float]) -> Reals:
    """The lowest point that simplices and gradients lead to."""
    from scipy.optimize import minimize

    best: Reals = starts[0]
    lowest = far(best)
    for start in starts:
        for method, options in _SOLVERS:
            found = minimize(far, start, method=method, bounds=[(0.0, 1.0)] * 3, options=options)
            start = np.clip(found.x, 0, 1)
            if far(start) < lowest:
                best, lowest = start, far(start)
    return best


def _far(used: Mapping[str, float], found: Sequence[Any], distance: Distance, norm: Norm) -> Any:
    """The distance of expected counts from those given; arrays of them are compared one by one."""
    total = 0.0
    for name, guess in zip(FEATURES, found, strict=True):
        value = used.get(name)
        if value is None:
            continue
        gap = abs(guess - value)
        top = gap**2 if distance == "squared" else gap
        base = value if norm.startswith("F") else abs(guess) + _SMALLEST
        total = total + top / (base**2 if norm.endswith("2") else base)
    return total


# The sampler -----------------------------------------------------------------------------------------


def draw(initiator: Initiator, levels: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Both ends of every link of one graph on 2^levels nodes, numbered from 0 on.

    Pairs with the same digits in common have the same probability. Of each such class the number of links is
    binomial, and so many different pairs of it are drawn uniformly: together exactly the independent draws.
    """
    ones: list[Numbers] = []
    others: list[Numbers] = []
    for j in range(1, levels + 1):
        for i in range(levels - j + 1):
            shape = (i, j, levels - i - j)
            chance = initiator.a**i * initiator.b**j * initiator.c ** shape[2]
            size = pairs_in(shape)
            many = int(rng.binomial(size, chance))
            if many:
                first, second = _chosen(shape, size, many, rng)
                ones.append(first)
                others.append(second)
    nothing = np.zeros(0, dtype=np.int64)
    return (np.concatenate(ones), np.concatenate(others)) if ones else (nothing, nothing)


def pairs_in(shape: tuple[int, int, int]) -> int:
    """How many pairs agree in so many zeros, differ in so many digits (at least one) and agree in ones."""
    zeros, differing, ones = shape
    orders = factorial(zeros) * factorial(differing) * factorial(ones)
    return factorial(sum(shape)) // orders << (differing - 1)


def _chosen(
    shape: tuple[int, int, int], size: int, many: int, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """So many different pairs of a class, all such choices equally likely."""
    levels = sum(shape)
    if 2 * many > size:
        every = _every(shape)
        kept = every[rng.permutation(every.size)[:many]]
    else:
        kept = np.zeros(0, dtype=np.int64)
        while kept.size < many:
            more = _some(shape, many - kept.size, rng)
            kept = distinct(np.concatenate([kept, more]))
    return kept >> levels, kept & ((1 << levels) - 1)


def _some(shape: tuple[int, int, int], many: int, rng: np.random.Generator) -> Numbers:
    """Uniform pairs of a class, as the lower number followed by the higher one in binary."""
    left = np.tile(np.array(shape, dtype=np.int64), (many, 1))
    levels = sum(shape)
    one, other = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    for place in range(levels):
        drawn = rng.integers(levels - place, size=many)
        zero = drawn < left[:, 0]
        differs = ~zero & (drawn < left[:, 0] + left[:, 1])
        left[:, 0] -= zero
        left[:, 1] -= differs
        turn = rng.integers(2, size=many)
        both = np.where(zero, 0, 1)
        one = 2 * one + np.where(differs, turn, both)
        other = 2 * other + np.where(differs, 1 - turn, both)
    return (np.minimum(one, other) << levels) | np.maximum(one, other)


def _every(shape: tuple[int, int, int]) -> Numbers:
    """All pairs of a class."""
    levels = sum(shape)
    states = [(0, 0, *shape)]
    for _ in range(levels):
        states = [
            (2 * one + x, 2 * two + y, zeros - (x == y == 0), differing - (x != y), ones - (x == y == 1))
            for one, two, zeros, differing, ones in states
            for x, y, room in ((0, 0, zeros), (0, 1, differing), (1, 0, differing), (1, 1, ones))
            if room
        ]
    return np.array([(one << levels) | two for one, two, *_ in states if one < two], dtype=np.int64)
