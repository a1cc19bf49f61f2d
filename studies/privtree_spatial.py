"""PrivTree for points: range counts of small, medium and large boxes, beside six other methods.

python studies/privtree_spatial.py                    # ten repetitions, about an hour
python studies/privtree_spatial.py --repetitions 3    # three
python studies/privtree_spatial.py --full             # 100 repetitions, as published
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import hypot, log, nan, sqrt
from statistics import fmean, geometric_mean

from frame import Reference, Results, Statement, Study, Verdict, main
from frame.points import (
    MADE,
    REAL,
    SETS,
    AbsoluteError,
    Fitted,
    PublishedAdaptiveGrid,
    PublishedDawa,
    PublishedUniformGrid,
    RelativeError,
    SyntheticError,
)
from frame.results import Summary
from frame.statements import Figure, count_of
from penstock.kinds.points.baselines import Hierarchy, Privelet, SimpleTree
from penstock.kinds.points.privtree import PrivTree

BUDGETS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
ROADS = ("two_states", "us_roads")
FLAT = (*ROADS, "gowalla", "checkin")
RELATIVE, ABSOLUTE = "relative error", "absolute error"

# The prototype of the specification, section 9: relative errors of small, medium and large boxes.
SKEWED = {
    "PrivTree, published constant": {
        "0.05": (0.120, 0.421, 0.382),
        "0.2": (0.057, 0.192, 0.143),
        "0.8": (0.024, 0.072, 0.059),
        "1.6": (0.016, 0.039, 0.033),
    },
    "SimpleTree": {
        "0.05": (0.353, 0.646, 0.643),
        "0.2": (0.291, 0.350, 0.328),
        "0.8": (0.257, 0.188, 0.171),
        "1.6": (0.246, 0.143, 0.119),
    },
    "UG": {
        "0.05": (0.436, 2.63, 2.33),
        "0.2": (0.572, 1.96, 0.949),
        "0.8": (0.308, 0.707, 0.370),
        "1.6": (0.098, 0.268, 0.099),
    },
    "AG": {
        "0.05": (0.201, 0.639, 0.407),
        "0.2": (0.176, 0.378, 0.230),
        "0.8": (0.050, 0.094, 0.066),
        "1.6": (0.032, 0.050, 0.031),
    },
    "Hierarchy": {
        "0.05": (5.01, 10.3, 4.39),
        "0.2": (1.28, 2.59, 1.10),
        "0.8": (0.345, 0.651, 0.277),
        "1.6": (0.191, 0.329, 0.142),
    },
    "Privelet*": {
        "0.05": (19.5, 26.2, 10.1),
        "0.2": (4.88, 6.55, 2.54),
        "0.8": (1.22, 1.64, 0.635),
        "1.6": (0.614, 0.819, 0.318),
    },
}
EVEN = {
    "PrivTree, published constant": {"0.8": (0.058, 0.039, 0.011)},
    "UG": {"0.8": (0.049, 0.027, 0.006)},
    "AG": {"0.8": (0.056, 0.034, 0.007)},
}
TRIPS = {
    "PrivTree, published constant": {
        "0.05": (0.341, 1.207, 0.564),
        "0.2": (0.203, 0.671, 0.319),
        "0.8": (0.121, 0.359, 0.146),
    },
    "UG": {
        "0.05": (0.382, 1.58, 0.777),
        "0.2": (0.327, 1.26, 0.507),
        "0.8": (0.253, 0.899, 0.352),
    },
}
BAND = 0.25


def references() -> Iterator[Reference]:
    for dataset, figures in (("skew2d", SKEWED), ("even2d", EVEN), ("trips4d", TRIPS)):
        for method, by_budget in figures.items():
            for epsilon, values in by_budget.items():
                for name, value in zip(SETS, values, strict=True):
                    yield Reference(dataset, method, epsilon, f"{RELATIVE} {name}", value, runs=3)


def below(
    results: Results,
    first: str,
    others: Sequence[str],
    datasets: Sequence[str],
    sets: Sequence[str] = tuple(SETS),
    budgets: Sequence[str] = BUDGETS,
    *,
    metric: str = RELATIVE,
    factor: float = 1.0,
    needed: float = 1.0,
) -> Verdict:
    """A statement that one method's error, times a factor, is below those of others in all settings."""
    parts: list[tuple[str, Figure, Figure]] = []
    for dataset in datasets:
        for name in sets:
            for epsilon in budgets:
                one = results.get(dataset, first, epsilon, f"{metric} {name}")
                for other in others:
                    two = results.get(dataset, other, epsilon, f"{metric} {name}")
                    left = one if factor == 1.0 or one is None else one.mean * factor
                    parts.append((f"{other} on {dataset}, {name}, ε {epsilon}", left, two))
    return count_of(parts, needed)


def ratios(
    results: Results,
    dataset: str,
    method: str,
    sets: Sequence[str],
    budgets: Sequence[str],
    metric: str = RELATIVE,
) -> list[float]:
    """How many times a method's error is that of PrivTree."""
    return [
        results.mean(dataset, method, epsilon, f"{metric} {name}")
        / results.mean(dataset, "PrivTree", epsilon, f"{metric} {name}")
        for name in sets
        for epsilon in budgets
    ]


def between(found: Sequence[float], low: float, high: float) -> Verdict:
    known = [value for value in found if value == value]
    if not known:
        return Verdict(None, "")
    inside = all(low <= value <= high for value in known)
    return Verdict(inside, f"{min(known):.2f} to {max(known):.2f} times")


def better_when_large(results: Results) -> Verdict:
    """How far Hierarchy and Privelet* are behind PrivTree, on large boxes against medium ones."""
    parts: list[tuple[str, Figure, Figure]] = []
    for dataset in FLAT:
        for method in ("Hierarchy", "Privelet*"):
            for epsilon in BUDGETS:
                large, medium = (
                    ratios(results, dataset, method, [name], [epsilon])[0] for name in ("large", "medium")
                )
                parts.append((f"{method} on {dataset}, ε {epsilon}", large, medium))
    return count_of(parts, needed=0.5)


def falls(results: Results, method: str, datasets: Sequence[str]) -> list[float]:
    """By what factor a method's error falls from the smallest budget to the largest."""
    return [
        results.mean(dataset, method, BUDGETS[0], f"{RELATIVE} {name}")
        / results.mean(dataset, method, BUDGETS[-1], f"{RELATIVE} {name}")
        for dataset in datasets
        for name in SETS
    ]


def mean_gap(results: Results, dataset: str, others: Sequence[str], metric: str = RELATIVE) -> float:
    """The geometric mean of how far the others are behind."""
    found = [
        ratio
        for other in others
        for ratio in ratios(results, dataset, other, tuple(SETS), BUDGETS, metric)
        if ratio == ratio
    ]
    return geometric_mean(found) if found else nan


def smaller_gaps(results: Results, than: str) -> Verdict:
    return count_of(
        [
            (
                f"others behind PrivTree on average, gowalla and {than}",
                mean_gap(results, "gowalla", ALL[:-1]),
                mean_gap(results, than, ALL[:-1]),
            )
        ]
    )


def closer_in_absolute_error(results: Results) -> Verdict:
    return count_of(
        (
            f"others behind PrivTree on {dataset} on average",
            mean_gap(results, dataset, ALL[:-1], ABSOLUTE),
            mean_gap(results, dataset, ALL[:-1]),
        )
        for dataset in ROADS
    )


def large_margin(results: Results) -> Verdict:
    """The others behind PrivTree on the taxi trips by a half or more, on average."""
    gaps = {other: mean_gap(results, "nyc_taxi", [other]) for other in ("UG", "Privelet*", "DAWA")}
    if any(gap != gap for gap in gaps.values()):
        return Verdict(None, "")
    shown = ", ".join(f"{other} {gap:.2f} times" for other, gap in gaps.items())
    return Verdict(min(gaps.values()) >= 1.5, f"on average {shown}")


def constants(results: Results) -> Verdict:
    """How much higher the error with the published constant is, on average over everything measured.

    The sets of one release share its noise: their errors are averaged as if they moved together, budgets
    and datasets as independent.
    """
    gaps, variances = [], []
    for dataset in results.study.datasets:
        for epsilon in BUDGETS:
            inside, errors = [], []
            for name in SETS:
                metric = f"{RELATIVE} {name}"
                ours = results.get(dataset, "PrivTree", epsilon, metric)
                published = results.get(dataset, PUBLISHED, epsilon, metric)
                if ours is None or published is None:
                    continue
                inside.append(log(published.mean / ours.mean))
                errors.append(hypot(published.error / published.mean, ours.error / ours.mean))
            if inside:
                gaps.append(fmean(inside))
                variances.append(fmean(errors) ** 2)
    if not gaps:
        return Verdict(None, "")
    gap, error = fmean(gaps), sqrt(sum(variances)) / len(gaps)
    return Verdict(gap >= -2 * error, f"{100 * gap:+.1f} % ± {100 * error:.1f} % over {len(gaps)} settings")


def in_bands(results: Results) -> Verdict:
    """Every figure of the published PrivTree against the prototype's, as a ratio."""
    found = [
        results.mean(one.dataset, one.method, one.epsilon, one.metric) / one.value
        for one in references()
        if one.method == PUBLISHED
    ]
    return between(found, 1 - BAND, 1 + BAND)


def default_against_prototype(results: Results) -> Verdict:
    """Our default beside the prototype, whose three runs scatter as ours do."""
    parts: list[tuple[str, Figure, Figure]] = []
    for one in references():
        if one.method == PUBLISHED:
            ours = results.get(one.dataset, "PrivTree", one.epsilon, one.metric)
            theirs = None if ours is None else Summary(one.value, ours.deviation, one.runs)
            parts.append((f"{one.dataset}, {one.metric}, ε {one.epsilon}", ours, theirs))
    return count_of(parts)


ALL = ("UG", "AG", "Hierarchy", "Privelet*", "DAWA")
PUBLISHED = "PrivTree, published constant"
SIMPLE = ("SimpleTree", "SimpleTree, inner counts")


def on_roads(number: str, text: str, check: Callable[[Results, str], Verdict]) -> tuple[Statement, ...]:
    """A statement about roads: on as many points as published, and on the whole country's intersections."""

    def bound(dataset: str) -> Callable[[Results], Verdict]:
        return lambda results: check(results, dataset)

    return tuple(
        Statement(f"{number}{letter}", f"On {dataset}: {text}", bound(dataset))
        for letter, dataset in zip("ab", ROADS, strict=True)
    )


STATEMENTS = (
    *on_roads(
        "S1",
        "PrivTree's relative error is below that of UG, AG, Hierarchy and Privelet* for every set of queries "
        "and every ε.",
        lambda r, roads: below(r, "PrivTree", ALL[:-1], [roads]),
    ),
    *on_roads(
        "S2",
        "PrivTree's error on large boxes is at most a quarter of AG's.",
        lambda r, roads: below(r, "PrivTree", ["AG"], [roads], ["large"], factor=4),
    ),
    *on_roads(
        "S3",
        "PrivTree's error on large boxes is at most a tenth of UG's and Hierarchy's.",
        lambda r, roads: below(r, "PrivTree", ["UG", "Hierarchy"], [roads], ["large"], factor=10),
    ),
    Statement("S4", "In absolute error the others are less far behind.", closer_in_absolute_error),
    *on_roads(
        "S5",
        "in absolute error on large boxes AG is slightly better than PrivTree, in most cases.",
        lambda r, roads: below(r, "AG", ["PrivTree"], [roads], ["large"], metric=ABSOLUTE, needed=0.5),
    ),
    Statement(
        "S6",
        "AG is better than UG and Hierarchy in all cases.",
        lambda r: below(r, "AG", ["UG", "Hierarchy"], FLAT),
    ),
    Statement(
        "S7",
        "Privelet* and Hierarchy are less far behind on large boxes than on medium ones, in most cases.",
        better_when_large,
    ),
    Statement(
        "S8",
        "Privelet* and Hierarchy do not adapt to ε: from 0.05 to 1.6 their error falls no faster than the "
        "noise, 32 times.",
        lambda r: between([f for m in ("Privelet*", "Hierarchy") for f in falls(r, m, FLAT)], 0, 33),
    ),
    Statement(
        "S9", "DAWA is never better than PrivTree.", lambda r: below(r, "PrivTree", ["DAWA"], tuple(REAL))
    ),
    *on_roads(
        "S10",
        "DAWA's error on small and medium boxes is 2 to 3 times PrivTree's for ε from 0.8 on.",
        lambda r, roads: between(ratios(r, roads, "DAWA", ("small", "medium"), ("0.8", "1.6")), 2, 3),
    ),
    Statement("S11", "On Gowalla PrivTree is best.", lambda r: below(r, "PrivTree", ALL, ["gowalla"])),
    *on_roads("S12", "the gaps between PrivTree and the others are larger than on Gowalla.", smaller_gaps),
    Statement(
        "S13",
        "On Gowalla DAWA is noticeably (by half or more) worse on small and medium boxes.",
        lambda r: below(r, "PrivTree", ["DAWA"], ["gowalla"], ("small", "medium"), factor=1.5),
    ),
    Statement(
        "S14",
        "On taxi trips in four dimensions PrivTree is best everywhere.",
        lambda r: below(r, "PrivTree", ("UG", "Privelet*", "DAWA"), ["nyc_taxi"]),
    ),
    Statement(
        "S15",
        "PrivTree is best on taxi trips by a large margin (others half as much again or more).",
        large_margin,
    ),
    Statement(
        "S16a",
        "DAWA's error on New York falls only about twofold (at most fourfold) from ε 0.05 to 1.6.",
        lambda r: between(falls(r, "DAWA", ["nyc_taxi"]), 1, 4),
    ),
    Statement(
        "S16b",
        "The same on trips4d, which has as many trips as the published data.",
        lambda r: between(falls(r, "DAWA", ["trips4d"]), 1, 4),
    ),
    Statement("S17", "UG and DAWA improve on Beijing.", lambda _: Verdict(None, "its trips cannot be had")),
    Statement(
        "A1",
        "Made-up data: PrivTree is within 25 % of the specification's figures, every one.",
        in_bands,
    ),
    Statement("A2", "Our defaults are equal to them or better.", default_against_prototype),
    Statement(
        "A3",
        "On skew2d PrivTree beats every other method on small and medium boxes at every ε.",
        lambda r: below(r, "PrivTree", (*SIMPLE, *ALL), ["skew2d"], ("small", "medium")),
    ),
    Statement(
        "A4",
        "And on large boxes for ε up to 0.8.",
        lambda r: below(r, "PrivTree", (*SIMPLE, *ALL), ["skew2d"], ("large",), BUDGETS[:-1]),
    ),
    Statement("A5", "The published constant's error is higher than our tight one's, on average.", constants),
)


def study() -> Study:
    inapplicable = ("AG", "Hierarchy")
    return Study(
        name="privtree_spatial",
        title="PrivTree for points",
        datasets=(*MADE, *REAL),
        methods={
            "PrivTree": Fitted(PrivTree()),
            PUBLISHED: Fitted(PrivTree(constant="published")),
            "SimpleTree": Fitted(SimpleTree(inner=False)),
            "SimpleTree, inner counts": Fitted(SimpleTree()),
            "UG": PublishedUniformGrid(),
            "AG": PublishedAdaptiveGrid(),
            "Hierarchy": Fitted(Hierarchy()),
            "Privelet*": Fitted(Privelet()),
            "DAWA": PublishedDawa(),
        },
        budgets=BUDGETS,
        metrics={RELATIVE: RelativeError(), ABSOLUTE: AbsoluteError(), "synthetic": SyntheticError()},
        repetitions=10,
        skip=frozenset(
            (dataset, method, epsilon)
            for dataset in ("trips4d", "nyc_taxi")
            for method in inapplicable
            for epsilon in BUDGETS
        ),
        references=tuple(references()),
        source="in the specification",
        tolerance=BAND,
        few_runs_tolerance=BAND,
        statements=STATEMENTS,
        notes=(
            "two_states has as many points as the paper's road data, along the roads of the same two states "
            "in the public network us_roads; us_roads itself are the 87,575 intersections of that network. "
            "two_states was added after the statements about roads failed on us_roads: see a and b. "
            "gowalla and checkin stand in for the paper's Gowalla points, nyc_taxi (16,451 trips) for its "
            "98,013; Beijing's 4-D trips could not be had. UG and AG know the exact number of points, as "
            "published. DAWA is told 500 queries of each set and answers that set alone, as published; it "
            "works on 2^16 cells (2^20 in the paper) and with noise on every candidate stretch, without "
            "which it is not private.",
            "SimpleTree answers from leaves alone, as in the specification's figures, or also from the noisy "
            "counts of inner nodes. Its leaves are nodes whose noisy count stayed below the threshold, so "
            "their noise is negative on average: on nyc_taxi they add up to about a tenth of the points at "
            "ε 0.05 and to little more than a third at 1.6. A larger budget splits further and adds such "
            "leaves, which is why the error of large boxes hardly falls; inner counts bring it down.",
        ),
    )


if __name__ == "__main__":
    main(study)
