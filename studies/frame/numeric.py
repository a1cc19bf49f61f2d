"""Tables of raw numbers, dates and gaps: their public bounds, ways to cut them, and what a cut loses.

Importing this module makes the tables known to `frame.data.data_of`. Nothing about a field is declared but
its type and its bounds, as somebody writes them who has not seen the records. Half of the tables are there to
choose by, half only to confirm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from frame.data import LOADERS, SCHOOL, file, flat, ordered
from frame.suite import ABROAD, BANK, CANCER, JOBS, KIN, MARRIED, RACES, WINE, WORK
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema
from penstock.schema.round_bins import round_edges
from penstock.schema.values import at

Reals = NDArray[np.float64]
Fields = Sequence[Mapping[str, Any]]

RANGES = 60
LEVELS = np.arange(0.05, 0.951, 0.05)
GROUPS = 16
MOST_PAIRS = 60
ROWS = (2_000, 10_000)


def between(name: str, low: Any, high: Any, type_: str = "number", **more: Any) -> dict[str, Any]:
    """A field of which only the bounds are known."""
    bounds = {"minimum": low, "maximum": high}
    return {"name": name, "type": type_, "constraints": bounds, "outside": "clamp", **more}


@dataclass(frozen=True, eq=False)
class Numeric:
    """Raw records, and their fields without bins."""

    name: str
    frame: pl.DataFrame
    fields: Fields

    @cached_property
    def schema(self) -> Schema:
        return Schema.model_validate({"fields": list(self.fields)})

    @cached_property
    def ranged(self) -> list[str]:
        """The fields whose values are numbers, dates or times."""
        return [field.name for field in self.schema.fields if field.ranged]

    @cached_property
    def truth(self) -> Measures:
        return Measures(self.frame, self)

    def cut(self, rows: int) -> Numeric:
        """So many of the records, drawn by a fixed seed."""
        chosen = np.random.default_rng(0).permutation(self.frame.height)[:rows]
        return replace(self, name=f"{self.name} {rows}", frame=self.frame[chosen])

    def places(self, frame: pl.DataFrame, name: str) -> Reals:
        """The values of a range as numbers; missing ones are not a number."""
        codec = self.schema.codecs[name]
        column = frame[name]
        if column.dtype == pl.String:
            column = column.cast(pl.Date) if codec.field.type == "date" else column.cast(pl.Datetime("us"))
        if codec.field.type == "date":
            column = column.cast(pl.Date).cast(pl.Int32)
        elif codec.field.type == "datetime":
            column = column.cast(pl.Datetime("us")).cast(pl.Int64) // 1_000_000
        found = column.cast(pl.Float64).to_numpy().astype(np.float64)
        return np.asarray(np.clip(found, codec.field.edges.low, codec.field.edges.high), dtype=np.float64)


class Measures:
    """The shares of ranges, the ranks of quantiles and the pairs of columns of some rows."""

    def __init__(self, frame: pl.DataFrame, data: Numeric) -> None:
        self.data = data
        self.places = {name: data.places(frame, name) for name in data.ranged}
        self.sorted = {name: np.sort(each[~np.isnan(each)]) for name, each in self.places.items()}
        self.rows = frame.height
        self.codes = {name: self._grouped(frame, name) for name in data.schema.names}

    def _grouped(self, frame: pl.DataFrame, name: str) -> NDArray[np.int64]:
        """Categories as they are, numbers in groups of about as many original records each."""
        if name not in self.places:
            return np.asarray(self.data.schema.codecs[name].locate(frame[name].cast(pl.String)) + 1)
        original = self.data.truth.sorted[name] if "truth" in vars(self.data) else self.sorted[name]
        cuts = np.unique(np.quantile(original, np.arange(1, GROUPS) / GROUPS))
        groups = np.searchsorted(cuts, self.places[name], side="right")
        return np.where(np.isnan(self.places[name]), GROUPS + 1, groups)

    def within(self, name: str, low: Reals, high: Reals) -> Reals:
        """The shares of all rows with a value from low to high."""
        known = self.sorted[name]
        inside = np.searchsorted(known, high, side="right") - np.searchsorted(known, low, side="left")
        return np.asarray(inside / self.rows)

    def ranks(self, name: str, values: Reals) -> tuple[Reals, Reals]:
        """The shares of the known values below, and up to, each value."""
        known = self.sorted[name]
        low, high = (np.searchsorted(known, values, side=side) / len(known) for side in ("left", "right"))
        return low, high


def _ends(data: Numeric, name: str) -> tuple[Reals, Reals]:
    """Ranges that people might ask for: half of their ends anywhere, half among the records."""
    rng = np.random.default_rng(0)
    edges = data.schema.field(name).edges
    anywhere = rng.uniform(edges.low, edges.high, (RANGES // 2, 2))
    among = rng.choice(data.truth.sorted[name], (RANGES // 2, 2))
    ends = np.sort(np.concatenate([anywhere, among]), axis=1)
    return ends[:, 0], ends[:, 1]


def ranges(dataset: Any, outcome: Any, seed: int) -> float:
    """The mean difference of the shares of ranges."""
    del seed
    data: Numeric = dataset
    found = []
    for name in data.ranged:
        ends = _ends(data, name)
        found.append(np.abs(outcome.within(name, *ends) - data.truth.within(name, *ends)).mean())
    return float(np.mean(found))


def quantiles(dataset: Any, outcome: Any, seed: int) -> float:
    """How far the rank of a released quantile lies from its level, on average."""
    del seed
    data: Numeric = dataset
    found = []
    for name in data.ranged:
        known = outcome.sorted[name]
        values = np.quantile(known, LEVELS) if len(known) else np.full(len(LEVELS), np.nan)
        low, high = data.truth.ranks(name, values)
        found.append(np.maximum(0, np.maximum(low - LEVELS, LEVELS - high)).mean())
    return float(np.mean(found))


def pairs(dataset: Any, outcome: Any, seed: int) -> float:
    """The mean total variation distance of pairs, numbers in groups of equally many original records."""
    del seed
    data: Numeric = dataset
    names = list(combinations(data.schema.names, 2))
    chosen = np.random.default_rng(0).permutation(len(names))[:MOST_PAIRS]
    found = []
    for number in chosen:
        one, two = names[number]
        tables = [
            np.unique(rows.codes[one] * 100_000 + rows.codes[two], return_counts=True)
            for rows in (data.truth, outcome)
        ]
        keys = np.union1d(tables[0][0], tables[1][0])
        shares = []
        for (own, counts), rows in zip(tables, (data.truth, outcome), strict=True):
            share = np.zeros(len(keys))
            share[np.searchsorted(keys, own)] = counts / rows.rows
            shares.append(share)
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


# Ways to cut ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A method on a table whose ranges are cut in one way: evenly, at round places, or by its records."""

    method: Any
    way: str
    most: int

    def schema(self, data: Numeric) -> Schema:
        fields = []
        for field, plain in zip(data.schema.fields, data.fields, strict=True):
            fields.append({**plain, "bins": self._bins(field)} if field.ranged else dict(plain))
        return Schema.model_validate({"fields": fields})

    def _bins(self, field: Any) -> dict[str, Any] | None:
        low, high = field.edges.low, field.edges.high
        values = int(high - low) + 1 if field.whole else None
        if values is not None and values <= min(64, self.most if self.way != "adaptive" else 64):
            return {"count": values}
        if self.way == "adaptive":
            return {"adaptive": True, "most": self.most}
        if self.way == "even":
            return {"count": self.most if values is None else min(self.most, values)}
        inner = round_edges(field.type, low, high, self.most)
        return {"edges": [at(field.type, place) for place in (low, *inner, high)]}

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Measures:
        data: Numeric = dataset
        budget = Budget(epsilon, randomness=Randomness.seeded(seed))
        table, rest = Table.open(data.frame, self.schema(data)).prepared(budget)
        made = self.method.fit(table, rest)
        _ = data.truth
        return Measures(made.sample(data.frame.height, seed=seed), data)


# Tables ---------------------------------------------------------------------------------------------------


def bank() -> Numeric:
    frame = pl.read_csv(file("bank/bank_additional_full.csv.gz"))
    fields = [
        {key: part for key, part in field.items() if key != "bins"} if "bins" in field else field
        for field in BANK
    ]
    return Numeric("bank", frame, fields)


def adult() -> Numeric:
    fields = (
        between("age", 15, 95, "integer"),
        flat("workclass", WORK),
        between("fnlwgt", 0, 1_500_000, "integer"),
        ordered("education", SCHOOL),
        flat("marital-status", MARRIED),
        flat("occupation", JOBS),
        flat("relationship", KIN),
        flat("race", RACES),
        flat("sex", ("Female", "Male")),
        between("capital-gain", 0, 100_000, "integer"),
        between("capital-loss", 0, 4_500, "integer"),
        between("hours-per-week", 0, 100, "integer"),
        flat("native-country", ABROAD),
        flat("income", ("<=50K", ">50K")),
    )
    return Numeric("adult", pl.read_csv(file("adult/adult_48842.csv.gz")), fields)


def bundled(name: str, bounds: Sequence[tuple[float, float]]) -> Numeric:
    """A table that scikit-learn brings along."""
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    columns = {str(each): found.data[:, place] for place, each in enumerate(found.feature_names)}
    fields = [between(each, *ends) for each, ends in zip(columns, bounds, strict=True)]
    labels = [str(label) for label in found.target_names]
    frame = pl.DataFrame(columns).with_columns(pl.Series("class", [labels[code] for code in found.target]))
    return Numeric(name, frame, [*fields, flat("class", labels)])


def sales(name: str, rows: int, spread: float, seed: int) -> Numeric:
    """Amounts over several powers of ten, days and times of sales, a share of incomes unknown."""
    rng = np.random.default_rng(seed)
    branch = rng.choice(6, rows, p=[0.35, 0.25, 0.15, 0.12, 0.08, 0.05])
    amount = np.round(rng.lognormal(2.5 + 0.4 * branch, spread).clip(0, 10_000), 2)
    stock = (1000 * rng.lognormal(2.0, 1.2, rows) * (1 + branch)).clip(0, 1_000_000).astype(np.int64)
    day = (365 * 4 * rng.beta(2, 1.2, rows)).astype(np.int64)
    hour = np.where(branch < 3, rng.normal(11, 2, rows), rng.normal(18, 2.5, rows)).clip(0, 23.99)
    start = datetime(2021, 1, 1)
    at_time = [start + timedelta(days=int(d), seconds=int(3600 * h)) for d, h in zip(day, hour, strict=True)]
    income = np.round(rng.gamma(2 + branch, 900), 0).clip(0, 60_000)
    known = rng.random(rows) > 0.4
    frame = pl.DataFrame(
        {
            "branch": [f"b{code}" for code in branch],
            "amount": amount,
            "stock": stock,
            "day": [moment.date() for moment in at_time],
            "at": at_time,
            "income": pl.Series([int(x) if k else None for x, k in zip(income, known, strict=True)]),
            "score": rng.normal(50 + 5 * branch, 10).clip(0, 100),
        }
    )
    fields = (
        flat("branch", [f"b{code}" for code in range(6)]),
        between("amount", 0, 10_000, decimals=2),
        between("stock", 0, 1_000_000, "integer"),
        between("day", date(2020, 1, 1), date(2025, 12, 31), "date"),
        between("at", datetime(2020, 1, 1), datetime(2025, 12, 31, 23, 59, 59), "datetime"),
        between("income", 0, 100_000, "integer", missing="value"),
        between("score", 0, 100),
    )
    return Numeric(name, frame, fields)


def gauges(name: str, rows: int, seed: int) -> Numeric:
    """Readings that fill little of their range, in one heap or in two, and that follow each other."""
    rng = np.random.default_rng(seed)
    heap = rng.random(rows) < 0.3
    base = np.where(heap, rng.normal(20, 1, rows), rng.normal(60, 4, rows))
    frame = pl.DataFrame(
        {
            "kind": np.where(heap, "cold", "warm"),
            "one": base.clip(0, 1000),
            "two": (base * 2 + rng.normal(0, 3, rows)).clip(-500, 500),
            "three": rng.uniform(0, 1, rows),
            "four": rng.exponential(3, rows).clip(0, 100),
            "five": rng.poisson(np.where(heap, 3, 40), rows),
        }
    )
    fields = (
        flat("kind", ("cold", "warm")),
        between("one", 0, 1000),
        between("two", -500, 500),
        between("three", 0, 1),
        between("four", 0, 100),
        between("five", 0, 500, "integer"),
    )
    return Numeric(name, frame, fields)


CHOOSING: dict[str, Callable[[], Numeric]] = {
    "raw-bank": bank,
    "raw-sales": partial(sales, "raw-sales", 20_000, 1.0, 31),
    "raw-gauges": partial(gauges, "raw-gauges", 20_000, 32),
}
CONFIRMING: dict[str, Callable[[], Numeric]] = {
    "raw-adult": adult,
    "raw-cancer": partial(bundled, "breast_cancer", CANCER),
    "raw-wine": partial(bundled, "wine", WINE),
    "raw-orders": partial(sales, "raw-orders", 30_000, 1.6, 33),
    "raw-meters": partial(gauges, "raw-meters", 30_000, 34),
}
SMALL = ("raw-cancer", "raw-wine")
"""Tables of fewer rows than any sample."""


def _sampled(load: Callable[[], Numeric], rows: int) -> Numeric:
    return load().cut(rows)


for _name, _load in {**CHOOSING, **CONFIRMING}.items():
    LOADERS[_name] = _load
    for _rows in ROWS:
        LOADERS[f"{_name}-{_rows}"] = partial(_sampled, _load, _rows)
