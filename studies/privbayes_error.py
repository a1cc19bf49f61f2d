"""Where the error comes from: the network or the marginals (statement 5; figure 11).

    python studies/privbayes_error.py
    python studies/privbayes_error.py --full

`BestNetwork` chooses the network without noise, `BestMarginal` counts without noise; neither is private.
"""

from __future__ import annotations

from frame import Results, Statement, Study, Summary, Verdict, load, main
from frame.statements import count_of
from frame.tabular import MeanDistance, Misclassified
from privbayes_methods import BUDGETS, BestMarginal, BestNetwork, journal

WHOLE = ("nltcs", "acs", "adult", "br2000")
TRAIN = ("nltcs train", "adult train")
METRIC = {"nltcs": "Q4", "acs": "Q4", "adult": "Q3", "br2000": "Q3"}


def marginals_matter_for_counts(results: Results) -> Verdict:
    return count_of(
        (
            (
                f"{dataset} ε {epsilon}",
                results.get(dataset, "BestMarginal", epsilon, METRIC[dataset]),
                results.get(dataset, "BestNetwork", epsilon, METRIC[dataset]),
            )
            for dataset in WHOLE
            for epsilon in BUDGETS
        ),
        needed=0.9,
    )


def much_more_on_large_domains(results: Results) -> Verdict:
    """The ratio of the two errors, averaged over budgets: Adult and BR2000 against NLTCS and ACS."""

    def ratio(dataset: str) -> float:
        values = [
            results.mean(dataset, "BestMarginal", epsilon, METRIC[dataset])
            / results.mean(dataset, "BestNetwork", epsilon, METRIC[dataset])
            for epsilon in BUDGETS
        ]
        return sum(values) / len(values)

    return count_of(
        (f"{one} and {two}", ratio(one), ratio(two))
        for one in ("adult", "br2000")
        for two in ("nltcs", "acs")
    )


def network_matters_for_classification(results: Results) -> Verdict:
    """Mean error over the tasks of each dataset."""

    def error(dataset: str, method: str, epsilon: str) -> Summary | None:
        return results.average((dataset, method, epsilon, f"SVM {task}") for task in load(dataset).tasks)

    return count_of(
        (
            f"{dataset} ε {epsilon}",
            error(dataset, "BestNetwork", epsilon),
            error(dataset, "BestMarginal", epsilon),
        )
        for dataset in TRAIN
        for epsilon in BUDGETS
    )


STATEMENTS = (
    Statement(
        "5",
        "The error of counts comes mainly from noisy marginals (nine cases in ten).",
        marginals_matter_for_counts,
    ),
    Statement("5", "More so on Adult and BR2000.", much_more_on_large_domains),
    Statement(
        "5",
        "Classification suffers more from the noisy network.",
        network_matters_for_classification,
    ),
)


def study() -> Study:
    return Study(
        name="privbayes_error",
        title="Where the error comes from",
        datasets=(*WHOLE, *TRAIN),
        methods={"PrivBayes": journal(), "BestNetwork": BestNetwork(), "BestMarginal": BestMarginal()},
        budgets=BUDGETS,
        metrics={
            "Q3": MeanDistance(3, ("adult", "br2000")),
            "Q4": MeanDistance(4, ("nltcs", "acs")),
            "SVM": Misclassified(),
        },
        repetitions=3,
        fewer={"acs": 1, "br2000": 2},
        statements=STATEMENTS,
        notes=("`BestNetwork` and `BestMarginal` look at the records without paying and are not private.",),
    )


if __name__ == "__main__":
    main(study)
