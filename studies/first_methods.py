"""How good are the two first methods, on the data of the demo? The figures of their pages in docs/methods.

    python studies/first_methods.py           # five seeds each, about two minutes

Every score is the mean over releases with seeds 1 to 5 and stands beside the floor and the ceiling that
`penstock evaluate` computes. Lower is better throughout.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import fmean

import polars as pl

import penstock
from penstock import demo
from penstock.schema import Schema

EPSILONS = ("1/10", "1/2", "1", "4")
TABLE_SCORES = ("single columns", "pairs of columns")
POINT_SCORES = ("small boxes", "medium boxes", "large boxes")


def rows(data: pl.DataFrame, schema: Schema, scores: Sequence[str], seeds: int) -> list[list[str]]:
    """One row for each budget: the mean scores, with the floor and the ceiling last."""
    found = {}
    for epsilon in EPSILONS:
        found[epsilon] = [
            penstock.evaluate(penstock.release(data, schema, epsilon=epsilon, seed=seed), data)
            for seed in range(1, seeds + 1)
        ]
    table = [
        [f"ε = {float(penstock.Budget(epsilon).epsilon):g}"]
        + [f"{fmean(each.score(name).value for each in evaluations):.4f}" for name in scores]
        for epsilon, evaluations in found.items()
    ]
    last = found[EPSILONS[-1]][0]
    table.append(["floor", *(f"{last.score(name).floor:.4f}" for name in scores)])
    table.append(["ceiling", *(f"{last.score(name).ceiling:.4f}" for name in scores)])
    return table


def markdown(title: Sequence[str], table: list[list[str]]) -> str:
    lines = [title, ["---"] * len(title), *table]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    print("independent, on the demo survey (10,000 records, 12 columns): mean total variation distance\n")
    survey = rows(demo.survey(), Schema.from_yaml(demo.survey_schema()), TABLE_SCORES, seeds)
    print(markdown(["", *TABLE_SCORES], survey))
    print("\nuniform-grid, on the demo rides (20,000 points): mean relative error of counts in boxes\n")
    rides = rows(demo.rides(), Schema.from_yaml(demo.rides_schema()), POINT_SCORES, seeds)
    print(markdown(["", *POINT_SCORES], rides))


if __name__ == "__main__":
    main()
