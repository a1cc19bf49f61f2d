"""Generated tables: one way of depending on each other for each family, the same on every machine.

A family knows only a number of rows, its parameters and a seed; its domain is public by construction. Codes
are drawn directly, so that a table of a million cells costs nothing to read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from frame.data import Codes, Dataset, flat, ordered
from penstock.schema import Schema

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


def made(name: str, columns: Sequence[Ints], sizes: Sequence[int], graded: frozenset[int]) -> Dataset:
    """A dataset of these columns; those whose number is in `graded` have an order."""
    names = [f"c{number}" for number in range(len(columns))]
    fields = [
        (ordered if number in graded else flat)(each, range(size))
        for number, (each, size) in enumerate(zip(names, sizes, strict=True))
    ]
    codes: Codes = dict(zip(names, columns, strict=True))
    return Dataset(name, Schema.model_validate({"fields": fields}), codes, {})


def picked(rng: np.random.Generator, chances: Reals, given: Ints | None = None, rows: int = 0) -> Ints:
    """A code for each row, by the chances, or by the row of chances that `given` names."""
    steps = np.cumsum(chances, axis=-1)
    if given is None:
        return np.minimum(np.searchsorted(steps, rng.random(rows)), len(steps) - 1).astype(np.int64)
    found = np.zeros(len(given), dtype=np.int64)
    coins = rng.random(len(given))
    for code in range(len(steps)):
        here = given == code
        found[here] = np.minimum(np.searchsorted(steps[code], coins[here]), steps.shape[1] - 1)
    return found


def skewed(rng: np.random.Generator, size: int, flatness: float) -> Reals:
    return np.asarray(rng.dirichlet(np.full(size, flatness)))


def functional(name: str, rows: int, roots: Sequence[int], derived: int, noise: float, seed: int) -> Dataset:
    """A few free columns, and many that are functions of one or two of them but for some noise."""
    rng = np.random.default_rng(seed)
    columns = [picked(rng, skewed(rng, size, 2.0), rows=rows) for size in roots]
    sizes = list(roots)
    for number in range(derived):
        first, second = rng.choice(len(roots), size=2, replace=False)
        size = int(rng.integers(2, 9))
        if number % 2:
            value = rng.integers(0, size, roots[first])[columns[first]]
        else:
            value = rng.integers(0, size, (roots[first], roots[second]))[columns[first], columns[second]]
        replaced = rng.random(rows) < noise
        columns.append(np.where(replaced, rng.integers(0, size, rows), value))
        sizes.append(size)
    return made(name, columns, sizes, frozenset())


def mixture(name: str, rows: int, classes: int, sizes: Sequence[int], flatness: float, seed: int) -> Dataset:
    """A hidden class, given which all columns are independent: everything depends on everything, a little."""
    rng = np.random.default_rng(seed)
    hidden = picked(rng, skewed(rng, classes, 3.0), rows=rows)
    columns = [picked(rng, rng.dirichlet(np.full(size, flatness), classes), hidden) for size in sizes]
    return made(name, columns, sizes, frozenset())


def tree(name: str, rows: int, sizes: Sequence[int], flatness: float, fan_out: int, seed: int) -> Dataset:
    """Each column depends on an earlier one: a chain for a fan-out of one, else a tree."""
    rng = np.random.default_rng(seed)
    columns = [picked(rng, skewed(rng, sizes[0], 2.0), rows=rows)]
    for number, size in enumerate(sizes[1:], 1):
        parent = (number - 1) // fan_out
        chances = rng.dirichlet(np.full(size, flatness), sizes[parent])
        columns.append(picked(rng, chances, columns[parent]))
    return made(name, columns, sizes, frozenset())


def rare(name: str, rows: int, sizes: Sequence[int], exponent: float, seed: int) -> Dataset:
    """Categories whose frequencies fall like a power of their rank, half of the columns noisy copies."""
    rng = np.random.default_rng(seed)
    columns: list[Ints] = []
    for number, size in enumerate(sizes):
        chances = np.arange(1, size + 1) ** -exponent
        own = picked(rng, chances / chances.sum(), rows=rows)
        if number % 2:
            copied = columns[-1] % size
            own = np.where(rng.random(rows) < 0.6, copied, own)
        columns.append(own)
    return made(name, columns, sizes, frozenset())


def large(name: str, rows: int, many: Sequence[int], few: Sequence[int], seed: int) -> Dataset:
    """Columns of hundreds or thousands of categories, and some small ones that depend on them."""
    rng = np.random.default_rng(seed)
    columns = []
    for size in many:
        chances = rng.gamma(0.5, size=size) + 1e-3
        columns.append(picked(rng, chances / chances.sum(), rows=rows))
    for number, size in enumerate(few):
        source = columns[number % len(many)]
        value = rng.integers(0, size, many[number % len(many)])[source]
        columns.append(np.where(rng.random(rows) < 0.4, rng.integers(0, size, rows), value))
    return made(name, columns, [*many, *few], frozenset(range(0, len(many), 2)))


def wide(name: str, rows: int, count: int, factors: int, loading: float, seed: int) -> Dataset:
    """Yes/no columns that answer to a few hidden factors."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, factors))
    weights = rng.normal(size=(factors, count)) * (rng.random((factors, count)) < 0.4) * loading
    shift = rng.normal(-1.0, 1.0, size=count)
    answers = hidden @ weights + rng.logistic(size=(rows, count)) + shift > 0
    return made(name, [column.astype(np.int64) for column in answers.T], [2] * count, frozenset())


def ordinal(name: str, rows: int, count: int, grades: int, factors: int, seed: int) -> Dataset:
    """Graded answers to a questionnaire: a few hidden factors, cut into grades at different places."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, factors))
    columns = []
    for _ in range(count):
        weights = rng.normal(size=factors) * (rng.random(factors) < 0.5)
        value = hidden @ weights + rng.normal(size=rows)
        cuts = np.sort(rng.normal(0.0, 1.5, size=grades - 1))
        columns.append(np.searchsorted(cuts, value).astype(np.int64))
    return made(name, columns, [grades] * count, frozenset(range(count)))


def alone(name: str, rows: int, sizes: Sequence[int], flatness: float, seed: int) -> Dataset:
    """Columns that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    columns = [picked(rng, skewed(rng, size, flatness), rows=rows) for size in sizes]
    return made(name, columns, sizes, frozenset())


def twins(name: str, rows: int, sizes: Sequence[int], copied: Sequence[int], seed: int) -> Dataset:
    """Independent columns, some of which come a second time, unchanged."""
    rng = np.random.default_rng(seed)
    columns = [picked(rng, skewed(rng, size, 2.0), rows=rows) for size in sizes]
    columns += [columns[number].copy() for number in copied]
    return made(name, columns, [*sizes, *(sizes[number] for number in copied)], frozenset())


def gaps(name: str, rows: int, sizes: Sequence[int], missing: float, seed: int) -> Dataset:
    """A chain in which values are missing, several at once: the last code of every column says so."""
    rng = np.random.default_rng(seed)
    whole = tree(name, rows, sizes, 0.6, 2, seed + 1)
    careless = rng.random(rows) < 0.5
    columns = []
    for column, size in zip(whole.codes.values(), sizes, strict=True):
        gone = rng.random(rows) < np.where(careless, 1.6 * missing, 0.4 * missing)
        columns.append(np.where(gone, size, column))
    return made(name, columns, [size + 1 for size in sizes], frozenset())


def parity(name: str, rows: int, triples: int, others: int, seed: int) -> Dataset:
    """Three columns at a time whose sum is even: every two of them are independent, all three are not."""
    rng = np.random.default_rng(seed)
    columns: list[Ints] = []
    for _ in range(triples):
        first, second = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
        columns += [first, second, (first + second + (rng.random(rows) < 0.05)) % 2]
    columns += [
        np.where(rng.random(rows) < 0.7, columns[number], rng.integers(0, 2, rows))
        for number in range(others)
    ]
    return made(name, columns, [2] * (3 * triples + others), frozenset())


def people(
    name: str, rows: int, bins: Sequence[int], kinds: Sequence[int], factors: int, seed: int
) -> Dataset:
    """Numbers in fine bins and categories that answer to the same few hidden factors, as in a census.

    Numbers bend with their factors and are skewed, and every third is nothing for many. Categories win by the
    largest of noisy scores. Some columns answer to another column besides.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, factors))
    columns: list[Ints] = []
    for number, size in enumerate(bins):
        weights = rng.normal(size=factors) * (rng.random(factors) < 0.5)
        value = hidden @ weights + rng.uniform(0.2, 1.0) * rng.normal(size=rows)
        value += 0.4 * np.square(hidden[:, number % factors])
        if columns:
            value += rng.normal() * columns[-1] / bins[number - 1]
        value = np.exp(0.6 * value)
        value /= np.quantile(value, 0.999)
        if number % 3 == 2:
            value[hidden[:, (number + 1) % factors] + 0.3 * rng.normal(size=rows) > 0.3] = 0.0
        columns.append(np.clip(value * size, 0, size - 1).astype(np.int64))
    for size in kinds:
        weights = rng.normal(size=(factors, size)) * 1.2
        scores = hidden @ weights + rng.gumbel(size=(rows, size)) + np.log(skewed(rng, size, 1.0) + 1e-3)
        scores += np.multiply.outer(columns[int(rng.integers(len(bins)))] / 20, rng.normal(size=size))
        columns.append(scores.argmax(axis=1).astype(np.int64))
    return made(name, columns, [*bins, *kinds], frozenset(range(len(bins))))


def spikes(name: str, rows: int, bins: Sequence[int], factors: int, seed: int) -> Dataset:
    """Numbers in bins that are nothing for half of the rows or nearly all, as how often a word is used."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, factors))
    columns: list[Ints] = []
    for size in bins:
        value = hidden @ (rng.normal(size=factors) * (rng.random(factors) < 0.5)) + rng.normal(size=rows)
        used = np.exp(0.8 * value)
        found = np.clip(size * used / np.quantile(used, 0.999), 0, size - 1).astype(np.int64)
        nothing = value + rng.normal(size=rows)
        found[nothing < np.quantile(nothing, rng.uniform(0.5, 0.95))] = 0
        columns.append(found)
    return made(name, columns, bins, frozenset(range(len(bins))))
