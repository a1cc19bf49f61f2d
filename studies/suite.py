"""The suite: the default method on 35 tables, half to choose its knobs by and half to confirm them.

    python studies/suite.py                            # a day of one processor
    python studies/suite.py --dataset "bank 2000" --budget 1
    python studies/suite.py --show                     # the table of what is there

Every table of `frame/suite.py`, whole and in samples of 500, 2,000 and 10,000 rows, at six budgets. Errors
are the mean total variation distances of pairs (Q2) and triples (Q3) of columns between a table and as many
synthetic rows, over at most a hundred sets of columns drawn by a fixed seed. `before` are the figures of
the default as it was before the suite was made, saved in `frame/suite_before.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log, nan
from pathlib import Path

from frame import Dataset, Reference, Results, Statement, Study, Verdict, main
from frame.study import Method
from frame.suite import BUDGETS, CHOOSING, CONFIRMING, SIZES, SUITE
from frame.table import markdown
from frame.tabular import Fit, Original, Rows
from penstock.evaluation.metrics import distances, subsets
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.independent import Independent
from penstock.kinds.table.privbayes.method import PrivBayes
from penstock.schema import Relation

METRICS = ("Q2", "Q3")
MOST_SETS = 100
BEFORE = Path(__file__).parent / "frame" / "suite_before.json"
ROWS = {"digits": 1_797, "mushroom": 8_124, "breast_cancer": 569, "wine": 178, "iris": 150, "diabetes": 442}
"""Of the tables that have fewer than 10,000."""

METHODS: dict[str, Method] = {
    "independent": Fit(Independent(), Relation.ADD_REMOVE),
    "plain": Fit(PrivBayes(preset="plain"), Relation.ADD_REMOVE),
    "confluence": Fit(Confluence(), Relation.ADD_REMOVE),
    "resampled": Original(resampled=True),
}


@dataclass(frozen=True)
class SomeDistances:
    """The mean total variation distance over at most MOST_SETS marginals of this many attributes."""

    way: int

    def __call__(self, dataset: Dataset, outcome: Rows, seed: int) -> float:
        sets = subsets(dataset.names, self.way, MOST_SETS)
        return float(distances(dataset.codes, {"rows": outcome.codes}, dataset.sizes, sets)["rows"].mean())


def cells() -> Iterator[str]:
    """The tables of the suite, samples first."""
    for name in SUITE:
        rows = ROWS.get(name, 20_000)
        yield from (f"{name} {size}" for size in SIZES if size < rows)
        yield name


def runs(dataset: str, epsilon: str) -> int:
    """How often a cell is run: the more, the more its figures vary."""
    _, _, size = dataset.partition(" ")
    told = float(size or ROWS.get(dataset, 20_000)) * float(epsilon)
    return 20 if told <= 300 else 10 if told <= 3_000 else 5 if told <= 30_000 else 3


# What came out --------------------------------------------------------------------------------------------


def ratio(results: Results, dataset: str, epsilon: str, base: str, metric: str) -> float:
    """The error of the default over that of another method."""
    return results.mean(dataset, "confluence", epsilon, metric) / results.mean(dataset, base, epsilon, metric)


def ratios(results: Results, base: str, half: Sequence[str]) -> dict[tuple[str, str, str], float]:
    """All that were measured, on these tables."""
    found = {
        (dataset, epsilon, metric): ratio(results, dataset, epsilon, base, metric)
        for dataset in results.study.datasets
        if dataset.partition(" ")[0] in half
        for epsilon in results.study.budgets
        for metric in METRICS
    }
    return {key: value for key, value in found.items() if value == value}


def mean_ratio(found: Sequence[float]) -> float:
    return exp(sum(map(log, found)) / len(found)) if found else nan


def summary(results: Results) -> str:
    """One line for each cell: errors, and ratios of the default to the others, pairs / triples."""
    heads = ["half, table, ε", "independent", "plain", "before", "confluence", "resampled"]
    heads += [f"to {base}" for base in ("independent", "plain", "before", "resampled")]
    before = {(r.dataset, r.epsilon, r.metric): r.value for r in results.study.references}
    rows = []
    for dataset in results.study.datasets:
        half = "choosing" if dataset.partition(" ")[0] in CHOOSING else "confirming"
        for epsilon in results.study.budgets:
            errors = {
                method: [results.mean(dataset, method, epsilon, metric) for metric in METRICS]
                for method in METHODS
            }
            if any(value != value for value in errors["confluence"]):
                continue
            errors["before"] = [before.get((dataset, epsilon, metric), nan) for metric in METRICS]
            row = [f"{half}, {dataset}, {epsilon}", *(_both(errors[head], 3) for head in heads[1:6])]
            ours = errors["confluence"]
            row += [
                _both([one / two for one, two in zip(ours, errors[base], strict=True)], 2)
                for base in ("independent", "plain", "before", "resampled")
            ]
            rows.append(row)
    return "\n".join(markdown(heads, rows))


def _both(values: Sequence[float], digits: int) -> str:
    return " / ".join(f"{value:.{digits}f}" if value == value else "-" for value in values)


def never_worse(base: str, half: Sequence[str], most: float) -> Statement:
    name = "choosing" if half == tuple(CHOOSING) else "confirming"

    def check(results: Results) -> Verdict:
        found = ratios(results, base, half)
        if not found:
            return Verdict(None, "")
        worst = max(found, key=lambda key: found[key])
        above = sum(value > most for value in found.values())
        text = f"mean {mean_ratio(list(found.values())):.3f}; {above} of {len(found)} figures above {most}; "
        return Verdict(above == 0, text + f"worst {' ε '.join(worst[:2])} {worst[2]}: {found[worst]:.3f}")

    return Statement(name, f"The error is at most {most} times that of `{base}` in every cell.", check)


def study() -> Study:
    datasets = list(cells())
    saved = json.loads(BEFORE.read_text(encoding="utf-8")) if BEFORE.is_file() else []
    often: dict[str | tuple[str, str], int] = {
        (dataset, epsilon): runs(dataset, epsilon) for dataset in datasets for epsilon in BUDGETS
    }
    return Study(
        name="suite",
        title="The suite: tables to choose by and tables to confirm",
        datasets=datasets,
        methods=METHODS,
        budgets=BUDGETS,
        metrics={metric: SomeDistances(way) for metric, way in zip(METRICS, (2, 3), strict=True)},
        repetitions=3,
        fewer=often,
        references=[Reference(**each) for each in saved],
        source="before",
        statements=[
            never_worse(base, tuple(half), most)
            for half in (CHOOSING, CONFIRMING)
            for base, most in (("independent", 1.02), ("plain", 1.02))
        ],
        summary=summary,
        notes=(
            "Tables marked choosing are those on which knobs were chosen. All methods protect under "
            "`add-remove` with a private number of records.",
        ),
    )


if __name__ == "__main__":
    main(study)
