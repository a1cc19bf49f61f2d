"""k-means, one thing changed at a time: rounds, starts, parts of the budget, sizes of grids and blocks.

python studies/kmeans_shapes.py             # three repetitions, about ten minutes on one core
python studies/kmeans_shapes.py --show      # what is there already
"""

from __future__ import annotations

from collections.abc import Sequence

from frame import Method, Results, Statement, Study, Verdict, main
from frame.clusters import Clustered, Nicv, Parts, WithoutNoise
from frame.statements import count_of
from penstock.learn.clusters.baselines.gupt import GuptKMeans
from penstock.learn.clusters.method import KMeans

NICV = "NICV"
DATASETS = ("s1", "adult-num", "taxi", "even-5-3")
BUDGETS = ("0.1", "1")
ROUNDS = (2, 5, 20, 80)
THETAS = (2, 5, 10, 20, 50)
SHARES = ("1/10", "3/10", "1/2", "7/10", "9/10")
POWERS = (0.2, 0.4, 0.6, 0.8)
"""There are n to this power blocks: the published 0.4 means blocks of n to the 0.6 points."""

METHODS: dict[str, Method] = {
    **{f"DPLloyd, {t} rounds": Clustered(KMeans, {"preset": "dplloyd", "rounds": t}) for t in ROUNDS},
    "DPLloyd-Impr": Clustered(KMeans, {"preset": "dplloyd-impr"}),
    "DPLloyd-Impr, away from the border": Clustered(KMeans, {"preset": "dplloyd-impr", "boundary": "border"}),
    **{f"grid, theta {theta}": Parts(theta=theta) for theta in THETAS},
    **{f"grid with {share}, then a round": Parts(share=share) for share in SHARES},
    "Hybrid": Clustered(KMeans, {"preset": "hybrid"}),
    **{f"GkM, n^{power} blocks": Clustered(GuptKMeans, {"power": power}, drawn=False) for power in POWERS},
    "without noise": WithoutNoise(),
}


def no_worse(
    results: Results, one: str, others: Sequence[str], factor: float = 1.0, needed: float = 1.0
) -> Verdict:
    """Whether a method has at most a factor times the error of others, in a share of all cases."""
    return count_of(
        (
            (
                f"{other} on {dataset}, ε {epsilon}",
                results.mean(dataset, one, epsilon, NICV),
                factor * results.mean(dataset, other, epsilon, NICV),
            )
            for dataset in DATASETS
            for epsilon in BUDGETS
            for other in others
        ),
        needed,
    )


STATEMENTS = (
    Statement(
        "S1",
        "Twenty rounds and more, as in a competing paper, make DPLloyd look bad.",
        lambda r: no_worse(r, "DPLloyd, 5 rounds", ["DPLloyd, 20 rounds", "DPLloyd, 80 rounds"]),
    ),
    Statement(
        "S2",
        "θ = 10 works well in most cases: within 10 % of the best θ.",
        lambda r: no_worse(
            r, "grid, theta 10", [f"grid, theta {theta}" for theta in THETAS], factor=1.1, needed=0.75
        ),
    ),
    Statement(
        "S3",
        "The fitted share of Algorithm 16 is as good as any fixed one, within 10 %, in most cases.",
        lambda r: no_worse(
            r, "Hybrid", [f"grid with {share}, then a round" for share in SHARES], factor=1.1, needed=0.75
        ),
    ),
    Statement(
        "S4",
        "Blocks of n^0.6 points are far from the best for GkM: more and smaller ones are better.",
        lambda r: no_worse(r, "GkM, n^0.8 blocks", ["GkM, n^0.4 blocks"]),
    ),
    Statement(
        "S5",
        "Neither kind of packed starts is better than the other everywhere.",
        lambda r: neither(r, "DPLloyd-Impr", "DPLloyd-Impr, away from the border"),
    ),
)


def neither(results: Results, one: str, two: str) -> Verdict:
    """Whether each of two methods is better than the other somewhere."""
    better = {
        name: [
            f"{dataset}, ε {epsilon}"
            for dataset in DATASETS
            for epsilon in BUDGETS
            if results.mean(dataset, name, epsilon, NICV) < results.mean(dataset, other, epsilon, NICV)
        ]
        for name, other in ((one, two), (two, one))
    }
    if not any(better.values()):
        return Verdict(None, "")
    shown = "; ".join(f"{name} is better in {len(cases)}" for name, cases in better.items())
    return Verdict(all(better.values()), f"of {len(DATASETS) * len(BUDGETS)} cases {shown}")


def study() -> Study:
    """k-means, one thing changed at a time."""
    return Study(
        name="kmeans_shapes",
        title="Rounds, starts, shares, grids and blocks",
        datasets=DATASETS,
        methods=METHODS,
        budgets=BUDGETS,
        metrics={NICV: Nicv()},
        repetitions=3,
        fixed=frozenset({"without noise"}),
        statements=STATEMENTS,
        notes=("Grids with another theta or a fixed share take the number of points as public.",),
    )


if __name__ == "__main__":
    main(study)
