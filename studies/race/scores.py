"""How close synthetic rows are to the training part, and what a classifier learns from them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from frame.data import Dataset, load
from penstock.evaluation.metrics import independent_columns, mean_tvd, resampled

Codes = Mapping[str, NDArray[Any]]

HALF = 0.5

TARGET = {"nltcs": "getting about outside", "adult-race": "income>50K"}


def scored(path: Path, name: str) -> dict[str, float]:
    """The scores of a file of synthetic rows; codes outside the domain are held at its ends."""
    train = load(f"{name} train")
    frame = pl.read_csv(path)
    codes = {
        column: np.clip(frame[column].cast(pl.Float64).fill_null(0).to_numpy().astype(np.int64), 0, size - 1)
        for column, size in train.sizes.items()
    }
    return measured(codes, name)


def measured(codes: Codes, name: str) -> dict[str, float]:
    train, test = load(f"{name} train"), load(f"{name} test")
    return {
        "2-way": mean_tvd(train.codes, codes, train.sizes, 2),
        "3-way": mean_tvd(train.codes, codes, train.sizes, 3),
        "accuracy": accuracy(train, codes, test, TARGET[name]),
    }


@cache
def bounds(name: str, rows: int) -> dict[str, dict[str, float]]:
    """The floors and the ceiling: no peer, no privacy, no budget."""
    train = load(f"{name} train")
    rng = np.random.default_rng(0)
    uniform = {column: rng.integers(size, size=rows) for column, size in train.sizes.items()}
    return {
        "uniform rows": measured(uniform, name),
        "independent columns, no noise": measured(independent_columns(train.codes, rows, rng), name),
        "original, resampled": measured(resampled(train.codes, rows, rng), name),
    }


def accuracy(train: Dataset, codes: Codes, test: Dataset, target: str) -> float:
    """Share of right answers on held-out original rows after training on synthetic ones."""
    return float(np.mean((likely(train, codes, test, target) > HALF) == test.codes[target]))


def likely(train: Dataset, codes: Codes, test: Dataset, target: str) -> NDArray[np.float64]:
    """What a classifier that learned from synthetic rows gives every held-out row for the second class."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    names = [name for name in train.names if name != target]
    if len(np.unique(codes[target])) < 2:
        return np.full(test.rows, float(codes[target][0]))
    model = HistGradientBoostingClassifier(
        max_iter=40, learning_rate=0.2, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    with threadpool_limits(1):
        model.fit(np.column_stack([codes[name] for name in names]), codes[target])
        chances = model.predict_proba(np.column_stack([test.codes[name] for name in names]))
    return np.asarray(chances[:, 1])
