"""Item sets: DiffPart's published figures and sentences, and our methods beside it.

    python studies/diffpart.py --errors --shapes --speed --scale   # measure, a part at a time or together
    python studies/diffpart.py --write                             # the pages of the documentation

Errors are relative to the truth, or to a thousandth of the records, over five groups of random sets of items
by length; utility is that of the 100 most frequent sets. Data: see `set_data.py`. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from penstock.catalogue import method as known_method
from penstock.contracts.plug import method_class
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.evaluation import relative_error, workload
from penstock.kinds.itemsets.mining import frequent, supports_of, utility
from penstock.kinds.itemsets.release import ItemSetsRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from set_data import NAMES, STM_RECORDS, Baskets, load, shaped
from set_methods import write_tables
from set_pages import (
    BESIDE,
    BUDGETS,
    FAN_OUTS,
    FEW_RUNS,
    FIRST,
    HIGH,
    LISTS,
    METHODS,
    MSNBC_RECORDS,
    PUBLISHED,
    QUERIES,
    RUNS,
    SCALE,
    SMALL,
    TOP,
    TRANSIT_RECORDS,
    UNIVERSES,
    page,
)
from set_speed import scale, speed

PLACE = Path(__file__).with_name("set_results.json")
"""Kept with the code, so that the pages can be made again anywhere. `error` alone, and `runs` as a range, are
figures of earlier runs, of which only the tables were left."""


class Truth:
    """The original of a dataset, with the questions that are asked of every release."""

    def __init__(self, baskets: Baskets) -> None:
        self.sets = baskets.truth()
        self.items, self.records = baskets.items, self.sets.total
        rng = np.random.default_rng(1)
        self.asked = workload(self.items, int(self.sets.sizes.max()), QUERIES, rng)
        self.right = [supports_of(self.sets, self.items, group) for group in self.asked]
        self.top = frequent(self.sets, self.items, TOP)

    def errors(self, release: ItemSetsRelease) -> list[float]:
        return [
            relative_error(right, release.estimates(group), self.records)
            for right, group in zip(self.right, self.asked, strict=True)
        ]

    def utilities(self, release: ItemSetsRelease) -> list[float]:
        """Of the 20, 50 and 100 most frequent sets."""
        found = release.frequent(TOP)
        return [utility(self.top[:many], dict(found[:many])) for many in LISTS]

    def same(self, release: ItemSetsRelease) -> list[bool]:
        """Whether the first few most frequent sets are the true ones, in whatever order."""
        found = release.frequent(max(FIRST))
        return [
            {items for items, _ in self.top[:many]} == {items for items, _ in found[:many]} for many in FIRST
        ]


def released(data: ItemSets, name: str, parameters: dict[str, Any], epsilon: str, seed: int) -> Any:
    made = method_class(known_method(name))(**parameters)
    return made.fit(data, Budget(Fraction(epsilon), randomness=Randomness.seeded(seed)))


def errors(runs: int, name: str, labels: Iterable[str], budgets: Sequence[str]) -> dict[str, Any]:
    """Errors by group and utilities of some methods at some budgets, on one dataset."""
    baskets = load(name)
    truth, data = Truth(baskets), ItemSets.open(baskets.rows, baskets.schema)
    shape = [truth.records, truth.items, float(truth.sets.sizes @ truth.sets.weights) / truth.records]
    found: dict[str, Any] = {f"shape|{name}": [*shape, int(truth.sets.sizes.max())]}
    found[f"nothing|{name}"] = [
        relative_error(right, np.zeros(len(right)), truth.records) for right in truth.right
    ]
    methods = METHODS | BESIDE | (SMALL if baskets.items <= 20 else {})
    for label in (label for label in labels if label in methods):
        method, parameters = methods[label]
        times = runs if label in METHODS else min(runs, FEW_RUNS)
        for epsilon in (each for each in budgets if each in BUDGETS or label == "top-sets"):
            scores, useful, same = [], [], []
            for seed in range(times):
                one = released(data, method, parameters, epsilon, seed)
                scores.append(truth.errors(one))
                useful.append(truth.utilities(one))
                same.append(truth.same(one))
            found[f"{label}|{name}|{epsilon}"] = {
                "errors": np.mean(scores, axis=0).tolist(),
                "utility": dict(zip(map(str, LISTS), np.mean(useful, axis=0).tolist(), strict=True)),
                "same": dict(zip(map(str, FIRST), np.mean(same, axis=0).tolist(), strict=True)),
                "runs": times,
            }
            print(name, label, epsilon, flush=True)
    return found


def shapes(runs: int) -> Iterator[dict[str, Any]]:
    """Fan-out and number of records on msnbc; universe, records and frequent sets on made-up transit data."""
    baskets = load("msnbc")
    truth, data = Truth(baskets), ItemSets.open(baskets.rows, baskets.schema)
    for epsilon in PUBLISHED:
        for fan_out in FAN_OUTS:
            each = [released(data, "diffpart", {"fan_out": fan_out}, epsilon, seed) for seed in range(runs)]
            yield {f"fan-out|{fan_out}|{epsilon}": mean(truth.errors(one)[2] for one in each)}
    for records in MSNBC_RECORDS:
        fewer = Baskets("msnbc", baskets.rows.sample(records, seed=1), baskets.items)
        yield _errors(fewer, f"msnbc|{records}", runs)
    for items in UNIVERSES:
        yield _errors(shaped(200_000, items), f"items|{items}", runs)
    for records in TRANSIT_RECORDS:
        yield _errors(shaped(records), f"transit|{records}", runs)
    baskets = shaped(STM_RECORDS)
    truth, data = Truth(baskets), ItemSets.open(baskets.rows, baskets.schema)
    for epsilon in PUBLISHED:
        each = [released(data, "diffpart", {}, epsilon, seed) for seed in range(runs)]
        useful = np.mean([truth.utilities(one) for one in each], axis=0).tolist()
        yield {f"transit top|{many}|{epsilon}": one for many, one in zip(LISTS, useful, strict=True)}


def _errors(baskets: Baskets, label: str, runs: int) -> dict[str, float]:
    """The mean error of DiffPart at the smallest and the largest published budget."""
    truth, data = Truth(baskets), ItemSets.open(baskets.rows, baskets.schema)
    found = {}
    for epsilon in ("0.5", "1.25"):
        each = [released(data, "diffpart", {}, epsilon, seed) for seed in range(runs)]
        found[f"{label}|{epsilon}"] = mean(float(np.mean(truth.errors(one))) for one in each)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("errors", "shapes", "speed", "scale", "write"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--data", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--methods", nargs="*", default=[*METHODS, *BESIDE, *SMALL])
    parser.add_argument("--budgets", nargs="*", default=[*BUDGETS, *HIGH], choices=[*BUDGETS, *HIGH])
    given = parser.parse_args()
    known: dict[str, Any] = json.loads(PLACE.read_text(encoding="utf-8")) if PLACE.exists() else {}

    def keep(name: str, found: dict[str, Any]) -> None:
        known[name] = known.get(name, {}) | found
        PLACE.parent.mkdir(parents=True, exist_ok=True)
        PLACE.write_text(json.dumps(known, indent=1), encoding="utf-8")

    if given.errors:
        for name in given.data:
            keep("errors", errors(given.runs, name, given.methods, given.budgets))
    if given.shapes:
        for found in shapes(min(given.runs, FEW_RUNS)):
            keep("shapes", found)
    if given.speed:
        keep("speed", speed())
    if given.scale:
        keep("scale", scale(SCALE))
    if given.write:
        page(known).write()
        write_tables(known["errors"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
