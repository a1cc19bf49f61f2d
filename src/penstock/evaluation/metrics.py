"""Distances between tables of codes, for evaluations and studies.

Everything here looks at the original records and is for the custodian, or for public data: nothing in
this room is private.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.engine import MemoryEngine
from penstock.errors import UsageError

Codes = Mapping[str, NDArray[Any]]
Sizes = Mapping[str, int]
Subset = tuple[str, ...]

MOST_CELLS = 1 << 22
BATCH_CELLS = 1 << 23


def tvd(first: ArrayLike, second: ArrayLike) -> float:
    """Total variation distance of two histograms (counts or probabilities) over the same cells.

    The largest difference in probability that any set of cells can show: 0 for equal shapes, 1 for
    disjoint ones. Counts below zero, as noise leaves them, count as zero.

    >>> tvd([3, 1], [1, 1])
    0.25
    """
    one = np.maximum(np.asarray(first, dtype=np.float64).ravel(), 0.0)
    two = np.maximum(np.asarray(second, dtype=np.float64).ravel(), 0.0)
    if one.shape != two.shape:
        raise UsageError(f"Histograms of {one.size} and {two.size} cells cannot be compared.")
    return float(0.5 * np.abs(_shares(one) - _shares(two)).sum())


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    total = counts.sum()
    return counts / total if total > 0 else np.full(counts.shape, 1.0 / max(1, counts.size))


def subsets(names: Sequence[str], way: int, limit: int | None = None, seed: int = 0) -> list[Subset]:
    """All sets of `way` columns, or `limit` of them drawn without replacement by a fixed seed."""
    if way < 1:
        raise UsageError(f"A marginal has at least one column, not {way}.")
    count = comb(len(names), way)
    if limit is None or count <= limit:
        return list(combinations(names, way))
    rng = np.random.default_rng(seed)
    if count <= 200_000:
        every = list(combinations(names, way))
        return [every[place] for place in sorted(rng.choice(count, size=limit, replace=False))]
    chosen: dict[Subset, None] = {}
    while len(chosen) < limit:
        places = np.sort(rng.choice(len(names), size=way, replace=False))
        chosen[tuple(names[place] for place in places)] = None
    return list(chosen)


def distances(
    original: Codes, others: Mapping[str, Codes], sizes: Sizes, marginals: Sequence[Subset]
) -> dict[str, NDArray[np.float64]]:
    """The distance of each marginal of the original from the same marginal of each of the others."""
    names = sorted({name for marginal in marginals for name in marginal})
    kept = {name: sizes[name] for name in names}
    engines = {
        key: MemoryEngine({name: codes[name] for name in names}, kept)
        for key, codes in {"": original, **others}.items()
    }
    found: dict[str, list[float]] = {key: [] for key in others}
    for batch in _batches(marginals, sizes):
        if len(batch) == 1 and cells(batch[0], sizes) > MOST_CELLS:
            for key, codes in others.items():
                found[key].append(_sparse_tvd(original, codes, sizes, batch[0]))
            continue
        counts = {key: engine.counts(batch) for key, engine in engines.items()}
        for key in others:
            found[key] += [tvd(one, two) for one, two in zip(counts[""], counts[key], strict=True)]
    return {key: np.array(values) for key, values in found.items()}


def mean_tvd(
    original_codes: Codes,
    synthetic_codes: Codes,
    sizes: Sizes,
    way: int,
    limit: int | None = None,
    seed: int = 0,
) -> float:
    """The mean total variation distance of the `way`-way marginals, of at most `limit` sampled ones.

    >>> codes = {"a": np.array([0, 1]), "b": np.array([0, 1])}
    >>> mean_tvd(codes, {"a": np.array([0, 1]), "b": np.array([1, 0])}, {"a": 2, "b": 2}, 2)
    1.0
    """
    marginals = subsets(list(sizes), way, limit, seed)
    return float(
        distances(original_codes, {"synthetic": synthetic_codes}, sizes, marginals)["synthetic"].mean()
    )


def cells(marginal: Iterable[str], sizes: Sizes) -> int:
    return prod(sizes[name] for name in marginal)


def _batches(marginals: Sequence[Subset], sizes: Sizes) -> Iterator[list[Subset]]:
    """Groups in the same order whose tables fit in memory together; a giant comes alone."""
    batch: list[Subset] = []
    held = 0
    for marginal in marginals:
        more = cells(marginal, sizes)
        if batch and (held + more > BATCH_CELLS or more > MOST_CELLS):
            yield batch
            batch, held = [], 0
        batch.append(marginal)
        held += more
        if more > MOST_CELLS:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _sparse_tvd(original: Codes, other: Codes, sizes: Sizes, marginal: Subset) -> float:
    """The same distance over the cells that occur, where the table of all cells would be too large."""
    one, two = _keys(original, sizes, marginal), _keys(other, sizes, marginal)
    _, index = np.unique(np.concatenate([one, two]), return_inverse=True)
    width = int(index.max(initial=-1)) + 1
    return tvd(
        np.bincount(index[: len(one)], minlength=width), np.bincount(index[len(one) :], minlength=width)
    )


def _keys(codes: Codes, sizes: Sizes, marginal: Subset) -> NDArray[np.int64]:
    if cells(marginal, sizes) >= 1 << 62:
        raise UsageError(f"The columns {', '.join(marginal)} together have too many values to compare.")
    key = np.zeros(len(codes[marginal[0]]), dtype=np.int64)
    for name in marginal:
        key = key * sizes[name] + codes[name]
    return key


def independent_columns(codes: Codes, rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """The floor: every column drawn from the original's own distribution of it, nothing joint kept."""
    return {name: rng.choice(values, size=rows) for name, values in codes.items()}


def resampled(codes: Codes, rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """The ceiling: whole rows of the original, drawn with replacement. No release can be much closer."""
    length = len(next(iter(codes.values())))
    chosen = rng.integers(length, size=rows)
    return {name: values[chosen] for name, values in codes.items()}
