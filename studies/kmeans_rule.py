"""A tree or a grid: whether the default of k-means should depend on the data's public facts.

    python studies/kmeans_rule.py             # six runs of each, about ten minutes on one core
    python studies/kmeans_rule.py --show

The presets `grown` and `hybrid` differ in their synopsis: a tree of PrivTree, or a grid. `always the better`
is what nobody can have, the better one of both in every case; the rules are public ones that were tried for
coming near it: by the number of fields, and by how many points there are for each cluster times epsilon.
Their constants were looked for on the first half of the data, and the other half confirms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, isnan, log

from frame import Method, Results, Statement, Study, Verdict, main
from frame.clusters import Clustered, Nicv
from frame.data import data_of
from penstock.learn.clusters.method import KMeans

NICV = "NICV"
BUDGETS = ("0.1", "0.5", "1")
CHOSEN_ON = ("s1", "adult-num", "taxi", "synthe-6-4", "synthe-5-8")
CONFIRMED_ON = ("gowalla-visits", "roads", "bank-num", "even-5-3", "synthe-4-2")
HALVES = {"to choose by": CHOSEN_ON, "to confirm": CONFIRMED_ON}
METHODS: dict[str, Method] = {
    "Grown": Clustered(KMeans),
    "Hybrid": Clustered(KMeans, {"preset": "hybrid"}),
}
FEW_DIMENSIONS = (1, 2, 3)
POINTS_EACH = (100, 300, 1000, 3000, 10_000)
"""n epsilon / k, below or above which a grid is taken."""


@dataclass(frozen=True)
class Rule:
    """A grid is taken with no more fields than `most`, and n epsilon / k from `least` to below `limit`."""

    most: float = inf
    least: float = 0.0
    limit: float = inf

    def __call__(self, name: str, epsilon: str) -> bool:
        points, fields = _facts(name)
        return fields <= self.most and self.least <= points * float(epsilon) < self.limit


def rules() -> dict[str, Rule]:
    """Every rule that was tried."""
    found = {"always a tree": Rule(most=0), "always a grid": Rule()}
    found |= {f"a grid up to {most} fields": Rule(most=most) for most in FEW_DIMENSIONS}
    found |= {f"a grid below {limit:,} points": Rule(limit=limit) for limit in POINTS_EACH}
    return found | {f"a grid from {limit:,} points on": Rule(least=limit) for limit in POINTS_EACH}


def _facts(name: str) -> tuple[float, int]:
    """Points for each cluster, and fields."""
    data = data_of(name)
    return len(data.points) / data.k, data.points.shape[1]


def ratio(results: Results, rule: Rule | None, half: str) -> float:
    """The geometric mean of the NICV by a rule over that of the tree; None: the better one of both."""
    found = []
    for name in HALVES[half]:
        for epsilon in BUDGETS:
            tree, grid = (results.mean(name, method, epsilon, NICV) for method in METHODS)
            if isnan(tree + grid):
                continue
            taken = min(tree, grid) if rule is None else grid if rule(name, epsilon) else tree
            found.append(log(taken / tree))
    return exp(sum(found) / len(found)) if found else float("nan")


def no_rule_is_better(half: str) -> Callable[[Results], Verdict]:
    """Whether the best rule of the first half is no better than the tree by more than a hundredth."""

    def check(results: Results) -> Verdict:
        every = {name: ratio(results, rule, "to choose by") for name, rule in rules().items()}
        if any(map(isnan, every.values())):
            return Verdict(None, "")
        best = min(every, key=lambda name: every[name])
        here = ratio(results, rules()[best], half)
        told = f"best to choose by: {best}, {here:.3f} times the tree's NICV here"
        return Verdict(here >= 0.99, f"{told}; the better one of both {ratio(results, None, half):.3f}")

    return check


STATEMENTS = (
    Statement(
        "A13",
        "On the data to choose by: no public rule of when to take a grid is better than always a tree.",
        no_rule_is_better("to choose by"),
    ),
    Statement("A14", "On data that chose nothing: nor is the best of them.", no_rule_is_better("to confirm")),
)


def summary(results: Results) -> str:
    """Both presets on all data, and every rule beside the tree."""
    heads = [f"{method}, ε {epsilon}" for epsilon in BUDGETS for method in METHODS]
    lines = [f"| NICV | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    for name in (*CHOSEN_ON, *CONFIRMED_ON):
        shown = [results.get(name, method, epsilon, NICV) for epsilon in BUDGETS for method in METHODS]
        told = ["" if one is None else f"{one.mean:.4f} ± {one.error:.4f}" for one in shown]
        lines.append(f"| {name} | {' | '.join(told)} |")
    lines += ["", "| times the tree's NICV | to choose by | to confirm |", "|---|--:|--:|"]
    tried: dict[str, Rule | None] = {**rules(), "always the better": None}
    for name, rule in tried.items():
        shown_here = [ratio(results, rule, half) for half in HALVES]
        lines.append(f"| {name} | {' | '.join(f'{one:.3f}' for one in shown_here)} |")
    return "\n".join(lines)


def study() -> Study:
    """A tree or a grid."""
    return Study(
        name="kmeans_rule",
        title="A tree or a grid: rules for the default of k-means",
        datasets=(*CHOSEN_ON, *CONFIRMED_ON),
        methods=METHODS,
        budgets=BUDGETS,
        metrics={NICV: Nicv()},
        repetitions=6,
        statements=STATEMENTS,
        summary=summary,
    )


if __name__ == "__main__":
    main(study)
