"""One small release of every form that a folder can have."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
from tests.conformance.checks import examples, fitted

import penstock
from penstock import catalogue
from penstock.kinds.table.baselines import Contingency, LaplaceMarginals, Uniform
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Release
from penstock.schema import Schema

FORMS = catalogue.forms()

PEOPLE = """
fields:
  - {name: age, type: integer, constraints: {minimum: 18, maximum: 90}, bins: {width: 24}}
  - {name: sex, constraints: {enum: [f, m]}}
  - {name: smoker, type: boolean}
"""
SQUARE = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
"""
PAGES = """
kind: sequences
sequence: {symbol: pages, longest: 6}
fields:
  - {name: pages, constraints: {enum: [home, news, sport]}}
"""
BASKETS = """
kind: itemsets
items: {item: basket}
fields:
  - {name: basket, constraints: {enum: [bread, butter, milk, eggs]}}
"""
CATALOGUED: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "network": (PEOPLE, None, {}),
    "independent": (PEOPLE, "independent", {}),
    "tree": (SQUARE, "privtree", {}),
    "grid": (SQUARE, "uniform-grid", {}),
    "adaptive-grid": (SQUARE, "adaptive-grid", {}),
    "simple-tree": (SQUARE, "simple-tree", {}),
    "suffix-tree": (PAGES, "privtree-sequences", {}),
    "n-gram": (PAGES, "n-gram", {}),
    "top-strings": (PAGES, "top-strings", {"many": 4}),
    "selection": (BASKETS, "select-items", {"c": 2, "counts": "1/2"}),
}
BASELINES = {"marginals": LaplaceMarginals(), "full-table": Contingency(), "uniform": Uniform()}


@cache
def one_of(form: str) -> Release:
    """The release of this form, of a few hundred made-up records."""
    if form not in CATALOGUED and form not in BASELINES:
        info = next(info for info in catalogue.methods() if info.form == form)
        return fitted(info, examples(info)[-1])
    if form in BASELINES:
        table = Table.open(_records(PEOPLE), Schema.from_yaml(PEOPLE))
        return BASELINES[form].fit(table, Budget(1, randomness=Randomness.seeded(1)))
    schema, method, parameters = CATALOGUED[form]
    return penstock.release(
        _records(schema), Schema.from_yaml(schema), epsilon=1, method=method, parameters=parameters, seed=1
    )


def _records(schema: str) -> pl.DataFrame:
    rows = range(400)
    pages, goods = ("home", "news", "sport"), ("bread", "butter", "milk", "eggs")
    return {
        PEOPLE: pl.DataFrame(
            {
                "age": [18 + _number(i, 70) for i in rows],
                "sex": ["fm"[_number(7 * i, 2)] for i in rows],
                "smoker": [_number(3 * i, 10) < 3 for i in rows],
            }
        ),
        SQUARE: pl.DataFrame(
            {
                "x": [_number(i, 100) * _number(i + 5, 100) / 1e4 for i in rows],
                "y": [_number(3 * i, 100) / 100 for i in rows],
            }
        ),
        PAGES: pl.DataFrame(
            {"pages": [" ".join(pages[_number(i + j, 3)] for j in range(_number(i, 6))) for i in rows]}
        ),
        BASKETS: pl.DataFrame({"basket": [" ".join(goods[: 1 + _number(i, 4)]) for i in rows]}),
    }[schema]


def _number(place: int, bound: int) -> int:
    """A made-up number that is the same everywhere."""
    return (place * 2654435761 + 40503 * (place // 7)) % 2**32 * bound >> 32
