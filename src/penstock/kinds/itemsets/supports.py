"""Sizes of sets and supports of all items, for a part of the budget, and what becomes of them.

Why it is private: a set is counted once in a histogram of sizes. The noisy sizes then say how many items half
of the sets have; a set with no more counts as a whole for each of its items, another divides that number
evenly among them, so that it is the L1 sensitivity of the supports. All else is post-processing.

What the division loses is made up for on the whole, by the noisy sizes. And one noisy support says little
about a rare item, but all of them together say how many items are rare, and how rare: the distribution of the
true supports is estimated first, the one under which all noisy ones are most likely, and every support then
becomes the number whose expected relative error is the least, given that distribution and its noisy value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.itemsets.data import STEPS, ItemSets
from penstock.kinds.itemsets.weighted import Numbers
from penstock.postprocessing import onto_simplex
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RANGES = (0, 1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49)
"""Where ranges of sizes begin: wider for large ones, which are few, so that there is less noise in all."""
LARGEST_SIZE = 64
LEAST = 0.001
"""Errors of supports are relative to this share of the sets at least, as the literature has it."""

EVENLY = 0.25
"""So much of the room of rows is shared by all: what meets by chance alone had better meet too seldom."""

PIECE = 1 << 16
"""About so many items are shuffled at once."""

Reals = NDArray[np.float64]

CLEAR = 10.0
"""A noisy support of so many scales of its noise is left as it is."""
ROUNDS = 60
FINENESS = 8
"""Noisy supports are told apart in steps of this part of their scale."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """How many sets have each number of items, 0 or more of each, from noisy counts.

    >>> sizes = Sizes.plausible(np.array([0, 50, 45, 0, 0, 10]))
    >>> sizes.usual, sizes.number, round(sizes.mean, 2), sizes.mean_within(1)
    (2, 105.0, 1.86, 1.0)
    """

    counts: Reals

    @classmethod
    def paid(cls, sets: ItemSets, pay: Budget) -> Sizes:
        """Counted with noise, in ranges."""
        return cls.plausible(np.asarray(noise.counts(sets.sizes(RANGES), pay=pay)))

    @classmethod
    def plausible(cls, noisy: Numbers) -> Sizes:
        """From noisy counts of ranges: the nearest with the same sum of which none is negative.

        All sizes of a range are taken to be as frequent.
        """
        begins = RANGES[: len(noisy)]
        widths = np.diff(begins, append=LARGEST_SIZE + 1 if len(noisy) == len(RANGES) else RANGES[len(noisy)])
        ranges = onto_simplex(noisy, max(1.0, float(noisy.sum())))
        return cls(np.repeat(ranges / widths, widths))

    @property
    def number(self) -> float:
        """How many sets there are."""
        return float(self.counts.sum())

    @property
    def usual(self) -> int:
        """The smallest size that half of the sets do not exceed; 1 at least."""
        reached = np.cumsum(self.counts)
        return max(1, int(np.searchsorted(reached, reached[-1] / 2)))

    @property
    def mean(self) -> float:
        return self.mean_within(len(self.counts))

    def mean_within(self, most: int) -> float:
        """The mean size, if sets had at most so many items; not 0."""
        sizes = np.minimum(np.arange(len(self.counts)), most)
        return max(float(sizes @ self.counts) / self.number, 1e-9)


@dataclass(frozen=True, eq=False)
class Supports:
    """Noisy supports of all items, and the scale of their noise."""

    noisy: Reals
    scale: float
    number: float

    @classmethod
    def paid(cls, sets: ItemSets, sizes: Sizes, pay: Budget) -> Supports:
        """Counted with noise, every set for as many items as half of the sets have."""
        sealed = sets.supports_within(sizes.usual)
        made_up = sizes.mean / sizes.mean_within(sizes.usual) / STEPS
        scale = made_up * float(sealed.sensitivity.l1 / pay.epsilon)
        noisy = made_up * np.asarray(noise.counts(sealed, pay=pay), dtype=np.float64)
        return cls(noisy, scale, sizes.number)

    def likely(self) -> Numbers:
        """Whole supports of 0 or more that are likely."""
        return whole(likely(self.noisy, self.scale, LEAST * self.number))


def whole(counts: Reals) -> Numbers:
    """Counts as whole numbers with about the same sum, by chance that is the same every time."""
    below = np.floor(counts)
    up = np.random.default_rng(0).random(len(counts)) < counts - below
    found: Numbers = (below + up).astype(np.int64)
    return found


def likely(noisy: Reals, scale: float, least: float) -> Reals:
    """Supports of 0 or more, given noisy ones with Laplace noise of this scale.

    Errors count relative to the support, or to `least` where that is more.

    >>> noisy = np.r_[np.full(50, -1.0), np.full(50, 1.0), 40.0, 5000.0]
    >>> found = likely(noisy, 2.0, 1.0)
    >>> bool((found[:100] < 1).all()), float(found[101])
    (True, 5000.0)
    """
    unclear = noisy < CLEAR * scale
    found = noisy.copy()
    if not unclear.any():
        return found
    steps, place, times = np.unique(
        np.round(noisy[unclear] * FINENESS / scale), return_inverse=True, return_counts=True
    )
    grid = _grid(scale)
    chance = np.exp(-np.abs(steps[:, None] / FINENESS - grid / scale))
    prior = np.full(len(grid), 1 / len(grid))
    for _ in range(ROUNDS):
        after = chance * prior
        after /= after.sum(axis=1, keepdims=True)
        prior = times @ after / times.sum()
    wanted = np.cumsum(chance * prior / np.maximum(grid, least), axis=1)
    best = grid[np.argmax(2 * wanted >= wanted[:, -1:], axis=1)]
    found[unclear] = best[place]
    return found


def _grid(scale: float) -> Reals:
    """The supports that come into question: none, a few small ones, and evenly up to clear ones."""
    small = np.geomspace(min(1.0, scale / 4), scale, 40)
    return np.concatenate([[0.0], small, np.arange(1.25, 2 * CLEAR, 0.25) * scale])


def spread(items: Numbers, supports: Numbers, rows: int) -> list[tuple[int, Numbers]]:
    """Each item with so many different rows, by chance that is the same every time.

    >>> [(item, len(set(found.tolist()))) for item, found in spread(np.array([7]), np.array([2]), 3)]
    [(7, 2)]
    """
    rng = np.random.default_rng(0)
    return [
        (item, rng.choice(rows, many, replace=False, shuffle=False))
        for item, many in zip(items.tolist(), np.minimum(supports, rows).tolist(), strict=True)
    ]


def spread_by_size(items: Numbers, supports: Numbers, held: Numbers, sizes: Sizes) -> csr_array:
    """Rows with further items: each item in about so many rows, more of them where a row has more room.

    `held` says how many items every row has already. Rows get sizes as frequent as `sizes` says, none less
    than what it holds, by chance that is the same every time; what is missing is its room, a part of which is
    shared by all rows. A row that is given an item twice has it once, and as many more are given as that will
    probably be.

    >>> sizes = Sizes(np.array([0.0, 60.0, 0.0, 40.0]))
    >>> found = spread_by_size(np.array([7]), np.array([40]), np.ones(100, dtype=np.int64), sizes)
    >>> found.shape, found.nnz > 30
    ((100, 8), True)
    """
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    missing = _sizes_of_rows(held, sizes, rng) - held
    room = EVENLY * max(float(missing.mean()), 1e-9) + (1 - EVENLY) * missing
    twice = float(room @ np.maximum(room - 1, 0)) / float(room.sum()) ** 2
    given = whole(np.minimum(supports, len(held)) * (1 + np.minimum(supports * twice / 2, 1)))
    begins = np.append(0, np.cumsum(whole(room * (given.sum() / room.sum()))))
    # Rows stay in order and items are dealt out to pieces of them, each shuffled where a cache holds it.
    dealt = np.repeat(items.astype(np.min_scalar_type(int(items.max()))), given)
    pieces = 1 + len(dealt) // PIECE
    shuffled = np.concatenate([rng.permutation(dealt[piece::pieces]) for piece in range(pieces)])
    places = _places(len(held), int(begins[-1]))
    columns = np.resize(shuffled, begins[-1]).astype(places)
    marks = np.ones(len(columns), dtype=np.bool_)
    found = csr_array((marks, columns, begins.astype(places)), shape=(len(held), int(items.max()) + 1))
    found.sum_duplicates()
    return found


def _sizes_of_rows(held: Numbers, sizes: Sizes, rng: np.random.Generator) -> Numbers:
    """A size for every row, as frequent as they say, and none less than what the row holds already."""
    reached = np.floor(np.cumsum(sizes.counts) / sizes.number * len(held) + 0.5).astype(np.int64)
    begins = np.append(0, reached)  # so many rows have a smaller size than each
    waiting = np.zeros(0, dtype=np.int16)
    found, order = held.copy(), np.argsort(held.astype(np.int16), kind="stable")
    levels = np.searchsorted(held[order], np.arange(int(held.max(initial=0)) + 2))
    last = len(reached)
    for least in range(int(held.max(initial=0)), -1, -1):
        some = np.arange(min(least, last), last, dtype=np.int16)
        more = np.repeat(some, np.diff(begins)[min(least, last) : last])
        waiting, last = np.concatenate([waiting, more]), min(least, last)
        rows = order[levels[least] : levels[least + 1]][: len(waiting)]
        if len(rows) < len(waiting):
            rng.shuffle(waiting)
        found[rows], waiting = waiting[: len(rows)], waiting[len(rows) :]
    return found


def holding(holders: Iterable[tuple[int, NDArray[np.integer]]], rows: int) -> csr_array:
    """Rows with their items, from items with their rows.

    >>> found = holding([(7, np.array([2, 0])), (4, np.array([2]))], 3)
    >>> found.indptr.tolist(), found.indices.tolist()
    ([0, 1, 1, 3], [7, 4, 7])
    """
    from scipy.sparse import csc_array

    of_item = dict(holders)
    lengths = np.zeros(max(of_item, default=0) + 1, dtype=np.int64)
    lengths[list(of_item)] = [len(found) for found in of_item.values()]
    begins = np.append(0, np.cumsum(lengths))
    places = _places(rows, int(begins[-1]))
    owners = np.concatenate([np.zeros(0, dtype=places), *(of_item[item] for item in sorted(of_item))])
    marks = np.ones(len(owners), dtype=np.bool_)
    return csc_array(
        (marks, owners.astype(places, copy=False), begins.astype(places)), shape=(rows, len(lengths))
    ).tocsr()


def gathered(*parts: csr_array) -> tuple[Numbers, NDArray[np.unsignedinteger]]:
    """How many items each row has, and all of them, ascending in every row; no two parts share an item.

    >>> sizes, items = gathered(holding([(4, np.array([2]))], 3), holding([(7, np.array([2, 0]))], 3))
    >>> sizes.tolist(), items.tolist()
    ([1, 0, 2], [7, 4, 7])
    """
    items = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize((part.shape[0], items))
    found = sum(parts[1:], parts[0])
    return np.diff(found.indptr).astype(np.int64), found.indices.astype(np.min_scalar_type(items))


def shortened(
    sizes: Numbers, items: NDArray[np.unsignedinteger], largest: int | None
) -> tuple[Numbers, NDArray[np.unsignedinteger]]:
    """Rows with at most so many of their items, by chance that is the same every time.

    >>> shortened(np.array([1, 3]), np.array([7, 4, 5, 9], dtype=np.uint8), 2)[0].tolist()
    [1, 2]
    """
    if largest is None or not (sizes > largest).any():
        return sizes, items
    rows = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((np.random.default_rng(0).random(len(items)), rows))
    kept = np.zeros(len(items), dtype=np.bool_)
    kept[order[np.arange(len(items)) - np.repeat(np.cumsum(sizes) - sizes, sizes) < largest]] = True
    return np.minimum(sizes, largest), items[kept]


def _places(rows: int, entries: int) -> type[np.signedinteger]:
    """The narrowest numbers that tell so many rows and entries apart."""
    return np.int32 if max(rows, entries) < 1 << 31 else np.int64
