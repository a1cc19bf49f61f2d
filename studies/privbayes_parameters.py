"""How the two parameters matter: beta, the share for the network, and theta (claim 4; figures 9 and 10).

python studies/privbayes_parameters.py
python studies/privbayes_parameters.py --full
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from frame import Claim, Results, Study, Verdict, load, main
from frame.claims import count_of
from frame.tabular import MeanDistance, Misclassified
from penstock.tabular.privbayes.usefulness import degree
from privbayes_methods import journal

WHOLE = ("nltcs", "acs", "adult", "br2000")
TRAIN = ("nltcs train", "adult train")
METRIC = {"nltcs": "Q4", "acs": "Q4", "adult": "Q3", "br2000": "Q3"}
TASK = {"nltcs train": "SVM outside", "adult train": "SVM female"}
BUDGETS = ("0.1", "0.4", "1.6")
BETAS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "0.9")
THETAS = ("1", "2", "3", "4", "5", "6", "8", "12")


def relative(results: Results, parameter: str, values: Sequence[str], value: str) -> float:
    """The mean over datasets and budgets of the error relative to the best value of the parameter there."""
    ratios = []
    for dataset in WHOLE:
        for epsilon in BUDGETS:
            errors = {
                each: results.mean(dataset, f"{parameter} {each}", epsilon, METRIC[dataset])
                for each in values
            }
            ratios.append(errors[value] / min(errors.values()))
    return sum(ratios) / len(ratios)


def good(parameter: str, values: Sequence[str], inside: Sequence[str]) -> Any:
    def check(results: Results) -> Verdict:
        """Every value inside costs less than every value outside."""
        cost = {value: relative(results, parameter, values, value) for value in values}
        text = ", ".join(f"{value}: {cost[value]:.3f}" for value in values)
        outside = [cost[value] for value in values if value not in inside]
        if any(c != c for c in cost.values()):
            return Verdict(None, "")
        holds = max(cost[value] for value in inside) <= min(outside)
        return Verdict(holds, f"error relative to the best {parameter} of each case: {text}")

    return check


def worse_at_both_ends(parameter: str, values: Sequence[str]) -> Any:
    def check(results: Results) -> Verdict:
        best = min(relative(results, parameter, values, value) for value in values)
        return count_of(
            (f"{parameter} {value}", best * 1.02, relative(results, parameter, values, value))
            for value in (values[0], values[-1])
        )

    return check


def beta_resets(results: Results) -> Verdict:
    """On ACS at ε 0.1 and beta 0.9 the degree is 0, so that all of the budget goes to the counts."""
    acs = load("acs")
    k = degree(acs.rows, Fraction(1, 10) * Fraction(1, 10), len(acs.names), Fraction(4))
    reset = results.mean("acs", "beta 0.9", "0.1", "Q4")
    return Verdict(k == 0, f"degree {k}; Q4 at beta 0.9 is {reset:.4f}")


CLAIMS = (
    Claim("4", "Every beta from 0.2 to 0.5 is better than every other.", good("beta", BETAS, BETAS[1:5])),
    Claim("4", "The error rises at both ends of beta.", worse_at_both_ends("beta", BETAS)),
    Claim("4", "ACS at ε 0.1 and beta 0.9 is special: k = 0 resets beta.", beta_resets),
    Claim("4", "Every theta from 3 to 6 is better than every other.", good("theta", THETAS, THETAS[2:6])),
    Claim("4", "The error rises at both ends of theta.", worse_at_both_ends("theta", THETAS)),
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
        repetitions=5,
        fewer={"acs": 1, "adult train": 2},
        claims=CLAIMS,
        notes=("Sweeps of one parameter keep the other at beta 0.3 or theta 4.",),
    )


if __name__ == "__main__":
    main(study)
