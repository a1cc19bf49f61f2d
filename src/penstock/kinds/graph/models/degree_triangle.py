"""Graphs with given degrees and about a given number of triangles, drawn from these two facts alone.

Nodes are put into blocks of similar degree, as in the block two-level model of Seshadhri, Kolda and Pinar
(2012): a block that begins with degree d has d + 1 nodes. Inside a block pairs are linked with one
probability, which makes triangles; what is left of every node's degree is linked at random across the whole
graph, stub by stub. Unlike the published model, stubs are matched instead of drawn by weight, so that degrees
come out nearly as given; and since a single number of triangles is known, the probability inside a block has
a single free number. It is closeness (2/d)^decay: nodes of low degree lie in closer blocks, as in most
networks. The decay is fixed and the closeness is set so that the number of triangles comes out as given.
Blocks that are nearly cliques leave their nodes no link to others, and the graph falls apart; before they
become so, the decay is lowered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.engine.distinct import distinct
from penstock.kinds.graph.counting import triangles
from penstock.kinds.graph.simple import Numbers, SimpleGraph

Reals = NDArray[np.float64]
DECAY = 0.1
CLOSEST = 0.93
_ROUNDS = 12
_REPAIRS = 60
_TRIES = 11
_FEW_TRIES = 6
_MANY_LINKS = 2_000_000
_REMEMBERED = 64
"""Graphs of so few nodes are fitted over and over by audits, mostly to the same few numbers."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Nodes in ascending order of degree, cut into blocks: where each begins, and how many nodes it has."""

    begins: Numbers
    sizes: Numbers

    @classmethod
    def of(cls, degrees: Numbers) -> Blocks:
        """Blocks of ascending degrees: each as large as its first node can be linked with, from degree 2
        on."""
        n = degrees.size
        place = int(np.searchsorted(degrees, 2))
        begins: list[int] = []
        sizes: list[int] = []
        while place < n:
            d = int(degrees[place])
            same = int(np.searchsorted(degrees, d, side="right")) - place
            many = max(1, same // (d + 1))  # whole blocks of one degree at once
            for _ in range(many):
                size = min(d + 1, n - place)
                if size < 3:
                    break
                begins.append(place)
                sizes.append(size)
                place += size
            if n - place < 3:
                break
        return cls(np.array(begins, dtype=np.int64), np.array(sizes, dtype=np.int64))


@dataclass(frozen=True)
class Closeness:
    """How closely blocks are linked: `closeness` for degree 2, falling with the degree like d^-decay."""

    closeness: float
    decay: float = DECAY

    def chances(self, degrees: Numbers) -> Reals:
        """The probability of a link inside blocks that begin with these degrees."""
        return np.asarray(self.closeness * (2.0 / np.maximum(degrees, 2)) ** self.decay)


def draw(degrees: Numbers, closeness: Closeness, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Both ends of every link of one graph; nodes are places in the ascending degrees."""
    blocks = Blocks.of(degrees)
    ones, others = _inside(blocks, closeness.chances(degrees[blocks.begins]), rng)
    n = degrees.size
    used = np.bincount(ones, minlength=n) + np.bincount(others, minlength=n)
    return _matched(degrees - used, ones, others, rng)


def _inside(blocks: Blocks, chances: Reals, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Links inside blocks, every pair by itself."""
    pairs = blocks.sizes * (blocks.sizes - 1) // 2
    many = rng.binomial(pairs, np.clip(chances, 0, 1))
    first = np.cumsum(pairs) - pairs
    # Different pairs of one block: uniform ones, those drawn twice drawn again. Of blocks that are more than
    # half full the pairs that are not linked are drawn instead, so that few are drawn twice.
    full = 2 * many > pairs
    few = np.where(full, pairs - many, many)
    keys = np.zeros(0, dtype=np.int64)
    left = few
    while left.any():
        wanted = np.repeat(np.arange(pairs.size), left)
        drawn = distinct(first[wanted] + rng.integers(pairs[wanted]))
        drawn = drawn[~_among(keys, drawn)]
        keys = np.insert(keys, np.searchsorted(keys, drawn), drawn)
        left = left - np.bincount(np.searchsorted(first, drawn, side="right") - 1, minlength=pairs.size)
    owner = np.searchsorted(first, keys, side="right") - 1
    inside = np.repeat(first[full], pairs[full])
    inside += np.arange(inside.size) - np.repeat(np.cumsum(pairs[full]) - pairs[full], pairs[full])
    keys = np.sort(np.concatenate([keys[~full[owner]], inside[~_among(keys, inside)]]))
    block = np.searchsorted(first, keys, side="right") - 1
    rank = keys - first[block]
    high = ((1 + np.sqrt(1.0 + 8.0 * rank)) / 2).astype(np.int64)
    high = np.where(high * (high - 1) // 2 > rank, high - 1, high)
    low = rank - high * (high - 1) // 2
    return blocks.begins[block] + low, blocks.begins[block] + high


def _matched(
    left: Numbers, ones: Numbers, others: Numbers, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """What is left of the degrees, linked at random. Pairs that are linked already are taken apart and tried
    again with others; the last ones break up a link between two others and take its ends.
    """
    n = left.size
    keys = np.sort(np.minimum(ones, others) * n + np.maximum(ones, others))
    stubs = np.repeat(np.arange(n), np.maximum(left, 0))
    for turn in range(_ROUNDS + _REPAIRS):
        if stubs.size < 2 or (turn >= _ROUNDS and not keys.size):
            break
        rng.shuffle(stubs)
        half = stubs.size // 2
        first, second = stubs[:half], stubs[half : 2 * half]
        if turn < _ROUNDS:
            good = _new(keys, first, second, n)
            added = _key(first[good], second[good], n)
        else:
            broken = keys[rng.integers(keys.size, size=half)]
            good = _new(keys, first, broken // n, n) & _new(keys, second, broken % n, n)
            good &= _once(broken)
            links = [_key(first, broken // n, n), _key(second, broken % n, n)]
            twice = ~_once(np.concatenate(links))
            good &= ~(twice[:half] | twice[half:])
            added = np.concatenate([links[0][good], links[1][good]])
            keys = np.delete(keys, np.searchsorted(keys, broken[good]))
        added = np.sort(added)
        keys = np.insert(keys, np.searchsorted(keys, added), added)  # in order, without sorting all again
        stubs = np.concatenate([first[~good], second[~good], stubs[2 * half :]])
    return keys // max(n, 1), keys % max(n, 1)


def _among(keys: Numbers, wanted: Numbers) -> NDArray[np.bool_]:
    """Which numbers are among sorted ones."""
    if not keys.size:
        return np.zeros(wanted.size, dtype=np.bool_)
    return np.asarray(keys[np.minimum(np.searchsorted(keys, wanted), keys.size - 1)] == wanted)


def _key(one: Numbers, other: Numbers, n: int) -> Numbers:
    return np.minimum(one, other) * n + np.maximum(one, other)


def _once(keys: Numbers) -> NDArray[np.bool_]:
    """True at the first place of every value."""
    found = np.zeros(keys.size, dtype=np.bool_)
    found[np.unique(keys, return_index=True)[1]] = True
    return found


def _new(keys: Numbers, one: Numbers, other: Numbers, n: int) -> NDArray[np.bool_]:
    """Which pairs are of two nodes, not linked yet, and not named twice."""
    wanted = _key(one, other, n)
    return np.asarray((one != other) & ~_among(keys, wanted) & _once(wanted))


def fitted(degrees: Numbers, wanted: float, *, seed: int = 0) -> Closeness:
    """How closely blocks must be linked for graphs of these degrees to have the wanted number of triangles.

    By bisection over drawn graphs, which are counted; all of them are drawn from the given numbers alone.
    """
    if degrees.size <= _REMEMBERED:
        return _fitted_before(degrees.astype(np.int64).tobytes(), float(wanted), seed)
    return _fitted(degrees, wanted, seed)


@lru_cache(maxsize=1024)
def _fitted_before(degrees: bytes, wanted: float, seed: int) -> Closeness:
    return _fitted(np.frombuffer(degrees, dtype=np.int64), wanted, seed)


def _fitted(degrees: Numbers, wanted: float, seed: int) -> Closeness:
    n = degrees.size
    tries = _TRIES if int(degrees.sum()) < 2 * _MANY_LINKS else _FEW_TRIES

    def found(trial: Closeness) -> int:
        ones, others = draw(degrees, trial, np.random.default_rng(seed))
        return triangles(SimpleGraph.of(n, ones, others))

    low, high = 0.0, 3.0
    if found(_at(low)) >= wanted:
        return _at(low)
    for _ in range(tries):
        middle = (low + high) / 2
        low, high = (middle, high) if found(_at(middle)) < wanted else (low, middle)
    return _at((low + high) / 2)


def _at(step: float) -> Closeness:
    """From no block at all (0) to cliques (3), each step with more triangles than those before."""
    if step <= 1:
        return Closeness(CLOSEST * step, DECAY)
    if step <= 2:
        return Closeness(CLOSEST, DECAY * (2 - step))
    return Closeness(CLOSEST + (1 - CLOSEST) * (step - 2), 0.0)
