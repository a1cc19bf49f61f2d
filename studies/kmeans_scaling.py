"""k-means as clusters and dimensions become more: made-up clusters of all shapes, epsilon 1.

python studies/kmeans_scaling.py             # three repetitions, about ten minutes on one core
python studies/kmeans_scaling.py --show      # what is there already
"""

from __future__ import annotations

from statistics import fmean

from frame import Method, Results, Statement, Study, Verdict, main
from frame.clusters import GRID_OF_SHAPES, Clustered, Nicv, WithoutNoise
from frame.statements import count_of
from frame.table import markdown, number
from penstock.learn.clusters.method import KMeans

NICV = "NICV"
EPSILON = "1"
KS, DS = (2, 4, 7, 10), (2, 4, 7, 10)
METHODS: dict[str, Method] = {
    "Grown": Clustered(KMeans),
    "Hybrid": Clustered(KMeans, {"preset": "hybrid"}),
    "EUGkM": Clustered(KMeans, {"preset": "eugkm"}),
    "DPLloyd": Clustered(KMeans, {"preset": "dplloyd"}),
    "DPLloyd-Impr": Clustered(KMeans, {"preset": "dplloyd-impr"}),
    "without noise": WithoutNoise(),
}


def above(results: Results, method: str, k: int, d: int) -> float:
    """What the NICV of a method is above that without noise."""
    name = f"synthe-{k}-{d}"
    best = results.mean(name, "without noise", EPSILON, NICV)
    return results.mean(name, method, EPSILON, NICV) - best


def grows(results: Results, more: str, less: str, along: str) -> Verdict:
    """Whether what one method loses grows more along dimensions, or clusters, than what another loses."""

    def growth(method: str) -> float:
        ends = (DS if along == "d" else KS)[:: len(DS) - 1]
        others = KS if along == "d" else DS
        low, high = (
            fmean(above(results, method, *((k, end) if along == "d" else (end, k))) for k in others)
            for end in ends
        )
        return high - low

    return count_of([(f"growth of {less} and of {more}, from 2 to 10", growth(less), growth(more))])


def scales(results: Results, one: str, other: str, needed: float) -> Verdict:
    return count_of(
        (
            (f"{other} with k {k}, d {d}", results.get(f"synthe-{k}-{d}", one, EPSILON, NICV), beside)
            for k in KS
            for d in DS
            if (beside := results.get(f"synthe-{k}-{d}", other, EPSILON, NICV)) is not None
        ),
        needed,
    )


STATEMENTS = (
    Statement(
        "H1",
        "EUGkM suffers more than DPLloyd-Impr from more dimensions.",
        lambda r: grows(r, "EUGkM", "DPLloyd-Impr", "d"),
    ),
    Statement(
        "H2",
        "DPLloyd-Impr becomes worse quickly with more clusters, EUGkM less so.",
        lambda r: grows(r, "DPLloyd-Impr", "EUGkM", "k"),
    ),
    Statement(
        "H3",
        "The hybrid scales better than EUGkM with clusters and dimensions.",
        lambda r: scales(r, "Hybrid", "EUGkM", 0.75),
    ),
    Statement(
        "H4",
        "DPLloyd scales better with dimensions than EUGkM.",
        lambda r: grows(r, "EUGkM", "DPLloyd", "d"),
    ),
    Statement(
        "A4",
        "The default is no worse than the hybrid, in nine of ten shapes.",
        lambda r: scales(r, "Grown", "Hybrid", 0.9),
    ),
)


def maps(results: Results) -> str:
    """One map for every method: what it is above clustering without noise, by clusters and dimensions."""
    parts = []
    for method in METHODS:
        if method == "without noise":
            continue
        rows = [[str(k), *(number(above(results, method, k, d)) for d in DS)] for k in KS]
        heads = ["k", *(f"d = {d}" for d in DS)]
        parts.append("\n".join([f"**{method}, NICV above that without noise**", "", *markdown(heads, rows)]))
    return "\n\n".join(parts)


def study() -> Study:
    """k-means on sixteen shapes."""
    return Study(
        name="kmeans_scaling",
        title="More clusters and more dimensions",
        datasets=tuple(GRID_OF_SHAPES),
        methods=METHODS,
        budgets=(EPSILON,),
        metrics={NICV: Nicv()},
        repetitions=3,
        fixed=frozenset({"without noise"}),
        statements=STATEMENTS,
        summary=maps,
        notes=("10,000 points in clusters of sizes 1:2:…:k and up to 100 outliers; ε is 1.",),
    )


if __name__ == "__main__":
    main(study)
