"""Where the error of the default lies at a large budget: in noise, in the model, or in the rows.

    python studies/suite_where.py                 # two minutes
    python studies/suite_where.py --write         # and the figures that docs/studies/suite.md shows

Some tables of the suite to choose by, 10,000 rows, ε 10. Triples of columns are told apart by what was
counted about them: all three columns in one view, all three pairs in some view, or fewer. And rows are drawn
from one release in three ways: column by column, as a release draws them, which brings them nearer to the
counts (`penstock.kinds.table.network.aligning`), and twenty times as many, which shows what the model says
without the chance of rows. And for each triple the table of maximum entropy by its three exact pairs: what it
is off by, no pair tells.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from frame import Dataset, load
from frame.table import markdown
from frame.tabular import Original
from penstock.evaluation.metrics import distances, subsets, tvd
from penstock.kinds.table.confluence.implied import of_three
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.network.release import NetworkRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Relation

TABLES = ("bank", "adult-race", "br2000", "functional", "mixture", "gaps", "twins")
ROWS, EPSILON, SETS, MANY = 10_000, "10", 100, 20
SAVED = Path(__file__).parent / "frame" / "suite_where.json"
KINDS = ("in one view", "all three pairs counted", "fewer pairs counted")
WAYS = ("as drawn", "aligned", "many rows", "exact pairs")
Figures = dict[str, dict[str, float]]


def kind(columns: set[int], views: Sequence[set[int]]) -> str:
    """What was counted about three columns."""
    if any(columns <= view for view in views):
        return KINDS[0]
    pairs = [any({one, two} <= view for view in views) for one, two in combinations(columns, 2)]
    return KINDS[1] if all(pairs) else KINDS[2]


def triples(dataset: Dataset, codes: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    sets = subsets(dataset.names, 3, SETS)
    return np.asarray(distances(dataset.codes, {"rows": codes}, dataset.sizes, sets)["rows"])


def looked_at(name: str) -> Figures:
    """For one table: triples of each kind, and rows of each way to draw them, with a resample beside them."""
    dataset = load(f"{name} {ROWS}")
    budget = Budget(EPSILON, randomness=Randomness.seeded(0))
    made = Confluence().fit(dataset.table(Relation.ADD_REMOVE), budget)
    assert isinstance(made, NetworkRelease)
    nearer = triples(dataset, made.draw_codes(ROWS, np.random.default_rng(0)))
    resampled = triples(dataset, Original(resampled=True)(dataset, EPSILON, 0).codes)
    number = {attribute: place for place, attribute in enumerate(dataset.names)}
    views = [{part.variable for part in one.parts} for one in made.measured]
    kinds = [kind({number[each] for each in names}, views) for names in subsets(dataset.names, 3, SETS)]
    found: Figures = {}
    for each in KINDS:
        here = np.array([one == each for one in kinds])
        if here.any():
            ratio = float(nearer[here].mean() / resampled[here].mean())
            found[each] = {"triples": int(here.sum()), "ratio": ratio}
    for label, rows, balance in (("as drawn", ROWS, False), ("many rows", MANY * ROWS, False)):
        columns = made.network.sample(rows, np.random.default_rng(0), balance=balance)
        codes, _ = made.encoding.codes(columns, rows)
        found[label] = {"ratio": float(triples(dataset, codes).mean() / resampled.mean())}
    found["aligned"] = {"ratio": float(nearer.mean() / resampled.mean())}
    found["exact pairs"] = {"ratio": float(untold(dataset).mean() / resampled.mean())}
    return found


def untold(dataset: Dataset) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How far the triples are from what their exact pairs say of them."""
    sets = subsets(dataset.names, 3, SETS)
    tables = [
        counts.reshape([dataset.sizes[name] for name in names])
        for names, counts in zip(sets, dataset.engine.counts(sets), strict=True)
    ]
    return np.array(
        [tvd(each, of_three(each.sum(axis=2), each.sum(axis=1), each.sum(axis=0))) for each in tables]
    )


def shown(figures: Mapping[str, Figures]) -> str:
    """One line for each table: errors over those of a resample."""
    heads = ["table", *KINDS, "all: as drawn", "aligned", f"{MANY} times as many rows", "by exact pairs"]
    rows = []
    for name, found in figures.items():
        cells = [
            f"{found[each]['ratio']:.2f} ({found[each]['triples']:.0f})" if each in found else "-"
            for each in KINDS
        ]
        cells += [f"{found[each]['ratio']:.2f}" for each in WAYS if each in found]
        rows.append([name, *cells])
    return "\n".join(markdown(heads, rows))


def saved() -> dict[str, Figures]:
    return dict(json.loads(SAVED.read_text(encoding="utf-8"))) if SAVED.is_file() else {}


if __name__ == "__main__":
    measured = {name: looked_at(name) for name in TABLES}
    print(shown(measured))
    if "--write" in sys.argv:
        SAVED.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
