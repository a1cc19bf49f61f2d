"""Small sealed tables for the tests of networks, and the papers' datasets where they are at hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from penstock.engine import MemoryEngine
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.release import NetworkRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


def schema_of(
    sizes: Sequence[int], *, replace: int | None = None, ordered: bool = False, **more: Any
) -> Schema:
    """A schema of integer-coded attributes a, b, c, … of these sizes."""
    fields = [
        {
            "name": "abcdefghijklmnopqrstuvwxyz"[i] if len(sizes) <= 26 else f"x{i}",
            "type": "integer",
            "constraints": {"enum": list(range(size))},
            "categoriesOrdered": ordered,
        }
        for i, size in enumerate(sizes)
    ]
    facts: dict[str, Any] = {"fields": fields, **more}
    if replace is not None:
        facts |= {"relation": "replace", "size": replace}
    return Schema.model_validate(facts)


def table_of(rows: np.ndarray, schema: Schema) -> Table:
    """A sealed table of these coded rows."""
    codes = {name: rows[:, i].astype(np.int64) for i, name in enumerate(schema.names)}
    return Table(MemoryEngine(codes, schema.sizes), schema)


def binary_rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Rows in which every attribute mostly copies the one before."""
    rng = np.random.default_rng(seed)
    rows = np.empty((n, d), dtype=np.int64)
    rows[:, 0] = rng.random(n) < 0.4
    for j in range(1, d):
        rows[:, j] = np.where(rng.random(n) < 0.85, rows[:, j - 1], rng.random(n) < 0.3)
    return rows


def mixed_rows(n: int, sizes: Sequence[int], seed: int = 0) -> np.ndarray:
    """Rows in which every attribute leans on the one before."""
    rng = np.random.default_rng(seed)
    rows = np.empty((n, len(sizes)), dtype=np.int64)
    for j, size in enumerate(sizes):
        fresh = np.minimum(rng.geometric(0.35, n) - 1, size - 1)
        rows[:, j] = fresh if j == 0 else np.where(rng.random(n) < 0.7, rows[:, j - 1] % size, fresh)
    return rows


def in_couples(rows: int, columns: int, size: int) -> NDArray[np.int64]:
    """Every second column repeats the one before it in half of the records, and depends on no other."""
    rng = np.random.default_rng(3)
    found = rng.integers(0, size, (rows, columns))
    repeats = rng.random((rows, columns // 2)) < 0.5
    found[:, 1::2] = np.where(repeats, found[:, 0 : columns - 1 : 2], found[:, 1::2])
    return found


def of_causes(rows: int, columns: int, causes: int, size: int) -> NDArray[np.int64]:
    """Columns each of which follows one of some hidden causes in eight of ten records."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, size, (rows, causes))
    follows = rng.random((rows, columns)) < 0.8
    return np.where(follows, hidden[:, np.arange(columns) % causes], rng.integers(0, size, (rows, columns)))


def paid(epsilon: Any, seed: int = 0) -> Budget:
    return Budget(epsilon, randomness=Randomness.seeded(seed))


def real(name: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """One of the papers' datasets, coded, with its domain sizes; skips the test where it is not at hand."""
    files = {
        "nltcs": ("nltcs/nltcs.csv.gz", None),
        "acs": ("acs/acs.csv.gz", None),
        "br2000": ("br2000/br2000.csv.gz", "br2000/domain.json"),
        "adult": ("adult/adult_mst_48842.csv.gz", "adult/mst_domain.json"),
    }
    csv, domain = files[name]
    if not (DATA / csv).exists():
        pytest.skip(f"the {name} data is not at hand")
    frame = pl.read_csv(DATA / csv)
    sizes = dict.fromkeys(frame.columns, 2) if domain is None else json.loads((DATA / domain).read_text())
    return frame.select(list(sizes)), sizes


def real_schema(sizes: dict[str, int], ordered: Sequence[str] = (), **more: Any) -> Schema:
    fields = [
        {
            "name": name,
            "type": "integer",
            "constraints": {"enum": list(range(size))},
            "categoriesOrdered": name in ordered,
        }
        for name, size in sizes.items()
    ]
    return Schema.model_validate({"fields": fields, **more})


def variation(first: np.ndarray, second: np.ndarray, sizes: Sequence[int], ways: int) -> float:
    """The mean total variation distance over all marginals of so many attributes."""
    distances = []
    for chosen in combinations(range(len(sizes)), ways):
        cells = int(np.prod([sizes[i] for i in chosen]))
        shares = []
        for rows in (first, second):
            key = np.zeros(len(rows), dtype=np.int64)
            for i in chosen:
                key = key * sizes[i] + rows[:, i]
            shares.append(np.bincount(key, minlength=cells) / len(rows))
        distances.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(distances))


def distance(release: NetworkRelease, rows: np.ndarray, sizes: Sequence[int], ways: int, seed: int) -> float:
    """The same between some rows and as many synthetic ones."""
    codes = release.draw_codes(len(rows), np.random.default_rng(seed))
    drawn = np.column_stack([codes[name] for name in release.schema.names]).astype(np.int64)
    return variation(rows, drawn, sizes, ways)
