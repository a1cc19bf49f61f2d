"""How the two parameters matter: beta, the share for the network, and theta (statement 4; figures 9 and 10).

python studies/privbayes_parameters.py
python studies/privbayes_parameters.py --full
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, log
from typing import Any

from frame import Results, Statement, Study, Verdict, load, main
from frame.tabular import MeanDistance, Misclassified
from penstock.kinds.table.privbayes.usefulness import degree
from privbayes_methods import journal

WHOLE = ("nltcs", "acs", "adult", "br2000")
TRAIN = ("nltcs train", "adult train")
METRIC = {"nltcs": "Q4", "acs": "Q4", "adult": "Q3", "br2000": "Q3"}
TASK = {"nltcs train": "SVM outside", "adult train": "SVM female"}
BUDGETS = ("0.1", "0.4", "1.6")
BETAS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "0.9")
THETAS = ("1", "2", "3", "4", "5", "6", "8", "12")


def cost(results: Results, parameter: str, values: Sequence[str]) -> dict[str, float]:
    """For each value its error relative to that of all values, a geometric mean over datasets and budgets."""
    logs: dict[str, list[float]] = {value: [] for value in values}
    for dataset in WHOLE:
        for epsilon in BUDGETS:
            errors = {
                value: results.mean(dataset, f"{parameter} {value}", epsilon, METRIC[dataset])
                for value in values
            }
            middle = sum(log(error) for error in errors.values()) / len(values)
            for value, error in errors.items():
                logs[value].append(log(error) - middle)
    return {value: exp(sum(each) / len(each)) for value, each in logs.items()}


def told(found: Mapping[str, float]) -> str:
    best = min(found.values())
    return "error relative to the best value: " + ", ".join(
        f"{value}: {each / best:.2f}" for value, each in found.items()
    )


def good(parameter: str, values: Sequence[str], inside: Sequence[str]) -> Any:
    def check(results: Results) -> Verdict:
        """Every value inside is within a tenth of the best, on average over all cases."""
        found = cost(results, parameter, values)
        if any(each != each for each in found.values()):
            return Verdict(None, "")
        worst = max(found[value] for value in inside)
        return Verdict(worst <= 1.10 * min(found.values()), told(found))

    return check


def worse_at_both_ends(parameter: str, values: Sequence[str], inside: Sequence[str]) -> Any:
    def check(results: Results) -> Verdict:
        """The first and the last value are worse than the mean of those inside."""
        found = cost(results, parameter, values)
        if any(each != each for each in found.values()):
            return Verdict(None, "")
        middle = sum(found[value] for value in inside) / len(inside)
        first, last = found[values[0]] / middle, found[values[-1]] / middle
        text = f"relative to the mean inside, {values[0]}: {first:.2f}, {values[-1]}: {last:.2f}"
        return Verdict(min(first, last) > 1, text)

    return check


def beta_resets(results: Results) -> Verdict:
    """On ACS at ε 0.1 and beta 0.9 the degree is 0, so that all of the budget goes to the counts."""
    acs = load("acs")
    k = degree(acs.rows, Fraction(1, 10) * Fraction(1, 10), len(acs.names), Fraction(4))
    found = {beta: results.mean("acs", f"beta {beta}", "0.1", "Q4") for beta in ("0.3", "0.7", "0.9")}
    if any(value != value for value in found.values()):
        return Verdict(None, "")
    text = ", ".join(f"{value:.4f} at beta {beta}" for beta, value in found.items())
    return Verdict(k == 0, f"degree {k}; Q4 {text}")


GOOD_BETAS, GOOD_THETAS = BETAS[1:5], THETAS[2:6]
STATEMENTS = (
    Statement(
        "4", "Every beta from 0.2 to 0.5 is good (within 10 % of the best).", good("beta", BETAS, GOOD_BETAS)
    ),
    Statement("4", "The error rises at both ends of beta.", worse_at_both_ends("beta", BETAS, GOOD_BETAS)),
    Statement("4", "ACS at ε 0.1 and beta 0.9 is special: k = 0 resets beta.", beta_resets),
    Statement(
        "4", "Every theta from 3 to 6 is good (within 10 % of the best).", good("theta", THETAS, GOOD_THETAS)
    ),
    Statement(
        "4", "The error rises at both ends of theta.", worse_at_both_ends("theta", THETAS, GOOD_THETAS)
    ),
)


def study() -> Study:
    methods = {f"beta {beta}": journal(beta=Fraction(beta)) for beta in BETAS}
    methods |= {f"theta {theta}": journal(theta=Fraction(theta)) for theta in THETAS}
    return Study(
        name="privbayes_parameters",
        title="The parameters beta and theta",
        datasets=(*WHOLE, *TRAIN),
        methods=methods,
        budgets=BUDGETS,
        metrics={
            "Q3": MeanDistance(3, ("adult", "br2000")),
            "Q4": MeanDistance(4, ("nltcs", "acs")),
            "SVM": Misclassified(tasks=("outside", "female")),
        },
        repetitions=3,
        fewer={"acs": 1, "br2000": 2, ("br2000", "1.6"): 1},
        statements=STATEMENTS,
        notes=("Sweeps of one parameter keep the other at beta 0.3 or theta 4.",),
    )


if __name__ == "__main__":
    main(study)
