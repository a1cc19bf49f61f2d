"""Marginals grouped by their overlap with what was measured (statement 9; thesis figures 3.14 and 3.15).

python studies/privbayes_overlap.py
python studies/privbayes_overlap.py --full
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import nan

from frame import Dataset, Results, Statement, Study, Verdict, main
from frame.statements import count_of
from frame.tabular import Outcome, distances
from privbayes_methods import BUDGETS, journal

DATASETS = ("nltcs", "acs", "adult", "br2000")


@dataclass(frozen=True)
class ByOverlap:
    """The mean distance of three-way marginals for each size of their largest overlap with a measured one."""

    way: int = 3

    def __call__(self, dataset: Dataset, outcome: Outcome, seed: int) -> dict[str, float]:
        network = outcome.release.network
        names = [variable.attribute for variable in network.variables]
        measured = [frozenset(names[part.variable] for part in pair.parts) for pair in network.pairs]
        groups: dict[int, list[float]] = defaultdict(list)
        for marginal, distance in distances(dataset, outcome, self.way):
            groups[max(len(known & set(marginal)) for known in measured)].append(distance)
        return {str(overlap): sum(values) / len(values) for overlap, values in sorted(groups.items())}


def less_overlap_more_error(results: Results) -> Verdict:
    return count_of(
        (
            f"{dataset} ε {epsilon}, {more} and {less}",
            results.get(dataset, "PrivBayes", epsilon, f"overlap {more}"),
            results.get(dataset, "PrivBayes", epsilon, f"overlap {less}"),
        )
        for dataset in DATASETS
        for epsilon in BUDGETS
        for more, less in ((3, 2), (2, 1))
    )


def stronger_on_nltcs(results: Results) -> Verdict:
    """The error at overlap 2 relative to that at overlap 3, averaged over the budgets that have both."""

    def ratio(dataset: str) -> float:
        values = [
            results.mean(dataset, "PrivBayes", epsilon, "overlap 2")
            / results.mean(dataset, "PrivBayes", epsilon, "overlap 3")
            for epsilon in BUDGETS
        ]
        known = [value for value in values if value == value]
        return sum(known) / len(known) if known else nan

    return count_of((f"{other} and nltcs", ratio(other), ratio("nltcs")) for other in DATASETS[1:])


def no_overlap_of_three(results: Results) -> Verdict:
    if results.get("nltcs", "PrivBayes", "0.05", "overlap 2") is None:
        return Verdict(None, "")
    there = results.get("nltcs", "PrivBayes", "0.05", "overlap 3")
    return Verdict(there is None, "k = 1, so pairs are all that is counted")


STATEMENTS = (
    Statement("9", "Less overlap means more error, always.", less_overlap_more_error),
    Statement("9", "The effect is stronger on NLTCS.", stronger_on_nltcs),
    Statement("9", "On NLTCS at ε 0.05 no overlap of 3 occurs.", no_overlap_of_three),
)


def study() -> Study:
    return Study(
        name="privbayes_overlap",
        title="Error by overlap with the measured marginals",
        datasets=DATASETS,
        methods={"PrivBayes": journal()},
        budgets=BUDGETS,
        metrics={"overlap": ByOverlap()},
        repetitions=8,
        fewer={"acs": 3},
        statements=STATEMENTS,
        notes=("Three-way marginals; the figures are mean total variation distances.",),
    )


if __name__ == "__main__":
    main(study)
