"""Tables with a label, in ten folds: the protocol of the studies of classifiers.

Adult comes with the folds and taxonomies of PrivPfC's authors. The ranges of Bank's columns are those of its
description; its numbers have sixteen bins of equal width, its folds are stratified by a fixed seed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from frame.data import LOADERS, Codes, Dataset, file
from penstock.schema import Schema

FOLDS = 10
TABLES = ("adult-income", "adult-marital", "bank-deposit", "bank-outcome")

ORDER = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "income", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip
MARITAL = ["Never-married", "Married-Partner-present", "Married-Partner-absent"]
RANGES: Mapping[str, tuple[float, float]] = {
    "age": (15, 100), "duration": (0, 5000), "campaign": (1, 60), "pdays": (0, 999), "previous": (0, 10),
    "emp.var.rate": (-4, 2), "cons.price.idx": (92, 95), "cons.conf.idx": (-55, -25), "euribor3m": (0, 6),
    "nr.employed": (4900, 5300),
}  # fmt: skip
WORDS: Mapping[str, tuple[str, ...]] = {
    "job": (
        "admin.", "blue-collar", "entrepreneur", "housemaid", "management", "retired", "self-employed",
        "services", "student", "technician", "unemployed", "unknown",
    ),
    "marital": ("divorced", "married", "single", "unknown"),
    "education": (
        "illiterate", "basic.4y", "basic.6y", "basic.9y", "high.school", "professional.course",
        "university.degree", "unknown",
    ),
    "default": ("no", "yes", "unknown"),
    "housing": ("no", "yes", "unknown"),
    "loan": ("no", "yes", "unknown"),
    "contact": ("cellular", "telephone"),
    "month": ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    "day_of_week": ("mon", "tue", "wed", "thu", "fri"),
    "poutcome": ("failure", "nonexistent", "success"),
    "y": ("no", "yes"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fold:
    """A training part and a test part of a table, and the column that is to be predicted."""

    train: Dataset
    test: Dataset
    target: str

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The test part as rows of values."""
        return self.test.schema.decode(self.test.codes, np.random.default_rng(0))

    def error(self, answers: Any) -> float:
        """The share of the test part whose label is another than the answer."""
        return float(np.mean(np.asarray(answers) != self.rows[self.target].to_numpy()))


def fold_of(name: str) -> Fold:
    """A fold by the name of its table and its number: "adult-income-3"."""
    table, _, number = name.rpartition("-")
    whole, folds, target = _table(table)
    held = folds == int(number)
    return Fold(
        whole.part(np.flatnonzero(~held), f"{name} train"),
        whole.part(np.flatnonzero(held), f"{name} test"),
        target,
    )


@cache
def _table(name: str) -> tuple[Dataset, Any, str]:
    """A whole table, the fold of each row, and its target."""
    if name.startswith("adult"):
        stem = "adult" if name == "adult-income" else "adult_marital"
        frame = pl.read_csv(file(f"adult_privpfc/{stem}_folds.csv.gz"))
        trees = json.loads(file(f"adult_privpfc/{stem}_hierarchy.json").read_text())
        labels = ["<=50K", ">50K"] if name == "adult-income" else MARITAL
        fields = [_field(column, trees[column]) for column in ORDER if column in trees]
        fields.append({"name": "class", "constraints": {"enum": labels}})
        return _coded(name, frame, fields, "class"), frame["fold"].to_numpy(), "class"
    from sklearn.model_selection import StratifiedKFold

    frame = pl.read_csv(file("bank/bank_additional_full.csv.gz"))
    target = "y" if name == "bank-deposit" else "poutcome"
    fields = [
        {"name": column, "constraints": {"enum": list(WORDS[column])}}
        if column in WORDS
        else _range(column, *RANGES[column])
        for column in frame.columns
    ]
    folds = np.zeros(frame.height, dtype=np.int64)
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(folds, frame[target].to_numpy())
    for number, (_, held) in enumerate(parts):
        folds[held] = number
    return _coded(name, frame, fields, target), folds, target


def _coded(name: str, frame: pl.DataFrame, fields: list[dict[str, Any]], target: str) -> Dataset:
    schema = Schema.model_validate({"fields": fields, "target": target})
    codes: Codes = dict(schema.encode(frame))
    return Dataset(name, schema, codes, {})


def _range(name: str, low: float, high: float) -> dict[str, Any]:
    limits = {"minimum": low, "maximum": high}
    return {"name": name, "type": "number", "constraints": limits, "bins": {"count": 16}, "outside": "clamp"}


def _field(name: str, tree: Mapping[str, Any]) -> dict[str, Any]:
    """A column with the taxonomy of the papers; intervals (a, b] of whole numbers become bins."""
    ((root, below),) = tree.items()
    if not root.startswith("("):
        return {"name": name, "taxonomy": _nested(below)}
    low, high = _ends(root)
    steps = _cuts(tree)
    edges = [low + 1, *(edge + 1 for edge in steps[0]), high]
    return {
        "name": name,
        "type": "integer",
        "constraints": {"minimum": low + 1, "maximum": high},
        "bins": {"edges": edges, "coarser": [[edge + 1 for edge in step] for step in steps[1:]]},
        "outside": "clamp",
    }


def _nested(tree: Mapping[str, Any]) -> list[Any]:
    return [{label: _nested(below)} if below else label for label, below in tree.items()]


def _ends(interval: str) -> tuple[int, int]:
    low, high = interval[1:-1].split(",")
    return int(float(low)), int(float(high))


def _cuts(tree: Mapping[str, Any]) -> list[list[int]]:
    """The inner ends of the intervals at every depth, the finest first; shallow leaves stay."""
    levels: list[list[str]] = []
    level: dict[str, Any] = dict(tree)
    while any(level.values()):
        level = {
            label: below for one, inner in level.items() for label, below in (inner or {one: {}}).items()
        }
        levels.append(list(level))
    return [sorted(_ends(interval)[1] for interval in names)[:-1] for names in reversed(levels)]


NAMES = tuple(f"{table}-{number}" for table in TABLES for number in range(FOLDS))
LOADERS.update({name: partial(fold_of, name) for name in NAMES})
