"""Two small releases that exist for tests only: a plain one, and one that shows every kind of picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from pydantic import BaseModel

from penstock.errors import ReleaseError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Answer, Manifest, Model, Release
from penstock.report import diagrams, maps, pictures
from penstock.report.picture import Picture
from penstock.schema import Relation, Schema

SURVEY = """
title: Household survey 2023
description: Working conditions and income of adults in four regions, released for teaching and research.
fields:
  - {name: age, type: integer, constraints: {minimum: 17, maximum: 90}}
  - {name: sex, constraints: {enum: [Female, Male]}}
  - name: workclass
    missing: value
    constraints:
      enum: [Private, Self-employed not incorporated, Local government, State government, Federal government,
             Without pay]
  - name: education
    categoriesOrdered: true
    constraints:
      enum: [Preschool, 1st-4th, 5th-6th, 7th-8th, 9th, 10th, 11th, 12th, High school, Some college,
             Vocational, Associate, Bachelors, Masters, Professional school, Doctorate]
  - {name: hours, title: Hours per week, type: integer, constraints: {minimum: 1, maximum: 99},
     bins: {width: 7}}
  - {name: interview, type: date, constraints: {minimum: 2023-01-01, maximum: 2023-12-31}, bins: {count: 12}}
  - {name: income, constraints: {enum: ['<=50K', '>50K']}}
"""


class _Saved(BaseModel):
    total: int
    note: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tiny(Release):
    """Counts for each code of each field."""

    kinds: ClassVar[tuple[str, ...]] = ("table",)
    answer: ClassVar[str] = "synthetic data"
    form: ClassVar[str] = "tiny"

    counts: Mapping[str, tuple[int, ...]]
    note: str = ""

    @property
    def size(self) -> int:
        return sum(next(iter(self.counts.values())))

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        codes = {}
        for name, counts in self.counts.items():
            weights = np.maximum(np.array(counts, dtype=float), 0)
            codes[name] = rng.choice(len(counts), size=n, p=weights / weights.sum())
        return self.schema.decode(codes, rng)

    def ask(self, expression: str) -> Answer:
        name, _, label = expression.partition(" = ")
        code = self.schema.attribute(name).labels.index(label.strip("'"))
        return Answer(float(self.counts[name][code]), 3.0, "records", "counted")

    def example(self) -> str | None:
        name, labels = self.schema.names[0], self.schema.attributes[0].labels
        return f"{name} = '{labels[0]}'"

    def model(self) -> Model:
        rows = [
            (name, code, count) for name, counts in self.counts.items() for code, count in enumerate(counts)
        ]
        columns = {"field": pl.String, "code": pl.Int64, "count": pl.Int64}
        return Model(
            {"total": self.size, "note": self.note},
            {"counts": pl.DataFrame(rows, schema=columns, orient="row")},
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        saved = model.read(_Saved)
        frame = model.table("counts", {"field": pl.String, "code": pl.Int64, "count": pl.Int64})
        counts: dict[str, tuple[int, ...]] = {}
        for name, size in manifest.schema.sizes.items():
            column = frame.filter(pl.col("field") == name)
            if column["code"].to_list() != list(range(size)):
                raise ReleaseError(f"model-counts.parquet does not list the codes of '{name}'.")
            counts[name] = tuple(column["count"])
        return cls(**manifest.common, counts=counts, note=saved.note)

    def pictures(self) -> Sequence[Picture]:
        return [pictures.distribution(self.schema, name, counts) for name, counts in self.counts.items()]

    def explain(self) -> Sequence[str]:
        return [
            "One noisy histogram for each field. Synthetic rows draw every field on its own, so nothing in "
            "this release says how fields depend on each other."
        ]

    def limits(self) -> Sequence[str]:
        return ["Questions about two or more fields at once are answered as if the fields were independent."]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Showcase(Tiny):
    """A tiny release that shows one picture of every kind."""

    form: ClassVar[str] = "showcase"

    def pictures(self) -> Sequence[Picture]:
        rng = np.random.default_rng(4)
        names = self.schema.names
        x, y = rng.normal([[0.35], [0.6]], 0.11, (2, 40_000)).clip(0, 0.999)
        grid, across, up = np.histogram2d(x, y, bins=(64, 48), range=[[0, 1], [0, 0.75]])
        edges = [
            (names[0], names[3]),
            (names[1], names[4]),
            (names[3], names[6]),
            (names[4], names[6]),
            (names[0], names[2]),
            (names[3], names[2]),
            (names[2], names[5]),
        ]
        labels = [
            "all",
            "home",
            "work",
            "shop",
            "home work",
            "home shop",
            "work home",
            "work shop",
            "home work home",
            "home work shop",
        ]
        return [
            *super().pictures(),
            pictures.heatmap(
                "Education by income",
                self.schema.attribute("education").labels,
                ("<=50K", ">50K"),
                rng.integers(20, 4000, (16, 2)),
                row_name="education",
                column_name="income",
            ),
            pictures.heatmap(
                "Age by hours",
                self.schema.attribute("age").labels,
                self.schema.attribute("hours").labels,
                np.outer(np.hanning(18)[1:-1], np.hanning(18)[1:16]) * 900,
                row_name="age",
                column_name="hours",
            )
            if len(self.schema.attribute("age").labels) == 16
            else pictures.bars("Age", [1, 2], [3, 4]),
            maps.grid_map("Map of pick-ups", across, up, grid, x_name="longitude", y_name="latitude"),
            maps.box_map("Map of adaptive cells", *_quadtree(x, y), x_name="longitude", y_name="latitude"),
            diagrams.network("How fields depend on each other", names, edges),
            diagrams.tree(
                "Frequent walks",
                labels,
                [-1, 0, 0, 0, 1, 1, 2, 2, 4, 4],
                [9000, 4200, 3100, 1500, 2900, 900, 1800, 700, 2200, 420],
                amount="walks",
            ),
        ]


def _quadtree(x: Any, y: Any) -> tuple[list[tuple[float, float, float, float]], list[int]]:
    boxes, counts = [], []
    waiting = [(0.0, 0.0, 1.0, 1.0)]
    while waiting:
        left, low, right, high = waiting.pop()
        count = int(((x >= left) & (x < right) & (y >= low) & (y < high)).sum())
        if count > 400 and right - left > 1 / 64:
            a, b = (left + right) / 2, (low + high) / 2
            waiting += [(left, low, a, b), (a, low, right, b), (left, b, a, high), (a, b, right, high)]
        else:
            boxes.append((left, low, right, high))
            counts.append(count)
    return boxes, counts


def paid(
    schema: Schema, epsilon: str = "1", *, seed: int | None = 7, relation: Relation = Relation.ADD_REMOVE
) -> Any:
    """A receipt with a charge for each field."""
    budget = Budget(epsilon, randomness=None if seed is None else Randomness.seeded(seed))
    size, counts = budget.split(size="1/20", counts="19/20")
    size.spend("discrete laplace", relation=relation, sensitivity="1")
    for name, part in zip(
        schema.names, counts.evenly([f"counts of {name}" for name in schema.names]), strict=True
    ):
        part.spend("discrete laplace", relation=relation, sensitivity="1", detail=f"histogram of {name}"[:40])
    return budget.receipt(schema.unit, relation)


def tiny(
    kind: type[Tiny] = Tiny,
    *,
    schema: str = SURVEY,
    seed: int | None = 7,
    n: int = 1000,
    epsilon: str = "1",
    **fields: Any,
) -> Tiny:
    """A release of `n` made-up records."""
    facts = Schema.from_yaml(schema)
    rng = np.random.default_rng(1)
    counts = {}
    for attribute in facts.attributes:
        size = attribute.size
        weights = np.exp(-0.5 * ((np.arange(size) - size * 0.4) / (size * 0.22 + 0.6)) ** 2) + 0.02
        counts[attribute.name] = tuple(int(c) for c in rng.multinomial(n, weights / weights.sum()))
    options = {
        "method": kind.form,
        "parameters": {"rounds": 3, "smooth": True, "names": ["a", "b"]},
        **fields,
    }
    return kind(schema=facts, receipt=paid(facts, epsilon, seed=seed), counts=counts, **options)
