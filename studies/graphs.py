"""Private counts and synthetic graphs on public networks, beside what was published.

    python studies/graphs.py --all                         # measure; or part by part, see --help
    python studies/graph_speed.py --keep                   # times and memory; both take about an hour in all
    python studies/graphs.py --write                       # the pages, from what was measured

Median errors of ladder, Laplace and smooth noise follow from the exact laws and are not simulated. Whatever
is measured is kept in studies/results/graphs.json, part by part.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import graph_pages
import graph_properties
import graph_recursive
from graph_data import (
    BUDGETS,
    FILES,
    FITTED,
    GRAPHS,
    KRONFIT,
    KRONMOM,
    NOISES,
    NOISY_RUNS,
    PATTERNS,
    PRIVATE,
    RUNS,
    SHAPE_RUNS,
    SHAPED,
    SYNTHETIC,
    graph,
    keep,
    known,
)
from penstock.kinds.graph import counting
from penstock.kinds.graph.data import Graph
from penstock.kinds.graph.degree_sequence import private_degrees
from penstock.kinds.graph.models import degree_triangle, kronecker
from penstock.kinds.graph.models.kronecker import Initiator
from penstock.kinds.graph.ordering import AscendingDegrees
from penstock.kinds.graph.patterns import KTriangle, Pattern, pattern
from penstock.kinds.graph.simple import SimpleGraph
from penstock.kinds.graph.statistics import DISTANCES, spectrum, statistics
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.rungs import Rungs
from penstock.privacy.mechanisms import ladder, noise, smooth
from penstock.privacy.mechanisms.noisy_local import noisy_local
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Schema

SETTINGS = (("0.2", "0"), ("0.2", "0.01"), ("0.2", "0.1"), ("1", "0"))
NEAR = 0.03


# Counts ----------------------------------------------------------------------------------------------


def medians(shape: Pattern, rungs: Rungs, epsilon: Fraction) -> dict[str, float]:
    """The median absolute error of each noise, from its law."""
    found = {
        "ladder": float(ladder.margin(rungs, epsilon / 2, 0.5)),
        "laplace": rungs.limit * log(2) / float(epsilon),
    }
    if shape.name in ("triangle", "3-star"):
        for calibration in ("published", "tight"):
            alpha, beta = smooth.cauchy_parameters(epsilon, calibration)
            found[f"smooth, {calibration}"] = float(smooth.cauchy_scale(rungs, alpha, beta))
    return found


def noisy_local_median(shape: KTriangle, name: str, epsilon: str, delta: str = "0.01") -> float:
    """The median error of the noisy local sensitivity, by simulation."""
    whole = handle(name)
    truth = counting.k_triangles(graph(name), shape.k)
    source = Randomness.seeded(17)
    sealed = whole.local(shape)
    errors = [
        abs(noisy_local(sealed, shape.growth, Budget(epsilon, delta, randomness=source)) - truth)
        for _ in range(NOISY_RUNS)
    ]
    return float(np.median(errors))


def handle(name: str) -> Graph:
    """The sealed handle on a public graph."""
    schema = Schema.from_yaml(f"{{kind: graph, edges: {{nodes: {FILES[name][1]}, header: false}}}}")
    return Graph(graph(name), schema)


def counts() -> dict[str, Any]:
    """Median relative errors of every noise, pattern, graph and budget."""
    found: dict[str, Any] = {}
    for name in FILES:
        for words in PATTERNS:
            shape = pattern(words)
            rungs = shape.rungs(graph(name))
            for epsilon in BUDGETS:
                for method, error in medians(shape, rungs, Fraction(epsilon)).items():
                    found[f"{method}|{words}|{name}|{epsilon}"] = error / rungs.value
                if isinstance(shape, KTriangle) and epsilon in BUDGETS[:4]:
                    error = noisy_local_median(shape, name, epsilon)
                    found[f"noisy local|{words}|{name}|{epsilon}"] = error / rungs.value
            print(name, words, flush=True)
    return found


# Fits ------------------------------------------------------------------------------------------------


def truths(made: SimpleGraph) -> dict[str, float]:
    """The four counts that a fit matches."""
    return {
        "edge": float(made.m),
        "2-star": float(counting.stars(made, 2)),
        "triangle": float(counting.triangles(made)),
        "3-star": float(counting.stars(made, 3)),
    }


def private_counts(
    name: str, sealed: Sealed[Rungs], epsilon: str, delta: str, seed: int
) -> tuple[dict[str, float], AscendingDegrees]:
    """What a release of a Kronecker graph looks at, without reading the graph again."""
    return private_features(handle(name), sealed, epsilon, delta, seed)


def private_features(
    whole: Graph, sealed: Sealed[Rungs], epsilon: str, delta: str, seed: int
) -> tuple[dict[str, float], AscendingDegrees]:
    """The four noisy counts and the degrees of a graph whose triangle ladder is known."""
    budget = Budget(epsilon, delta, randomness=Randomness.seeded(seed))
    degrees = private_degrees(whole, budget.part("degrees", "1/2", delta_share=0))
    rest = budget.part("triangles", "1/2", delta_share=1 if delta != "0" else 0)
    triangles = ladder.ladder(sealed, pay=rest) if delta == "0" else smooth.laplace(sealed, pay=rest)
    return {
        "edge": degrees.stars(1),
        "2-star": degrees.stars(2),
        "triangle": float(triangles),
        "3-star": degrees.stars(3),
    }, degrees


def sealed_triangles(name: str) -> Sealed[Rungs]:
    return Sealed(
        pattern("triangle").rungs(graph(name)),
        Sensitivity.of(1),
        Relation.ADD_REMOVE,
        because="the ladder of the triangles, computed once for many releases of a public graph",
    )


def fits(runs: int) -> dict[str, Any]:
    """Initiators without noise, and means and deviations of private ones."""
    found: dict[str, Any] = {}
    for name in FITTED:
        levels = kronecker.levels_of(FILES[name][1])
        exact, _ = kronecker.fit(truths(graph(name)), levels)
        found[f"moments|{name}"] = [exact.a, exact.b, exact.c]
        sealed = sealed_triangles(name)
        for epsilon, delta in SETTINGS:
            entries, dropped = [], 0
            for seed in range(runs):
                features, _ = private_counts(name, sealed, epsilon, delta, seed)
                made, _ = kronecker.fit(features, levels)
                entries.append([made.a, made.b, made.c])
                dropped += features["triangle"] <= 0
            values = np.array(entries)
            found[f"{label(epsilon, delta)}|{name}"] = {
                "mean": values.mean(axis=0).tolist(),
                "sd": values.std(axis=0, ddof=1).tolist(),
                "near": int(np.count_nonzero(np.abs(values[:, 1] - exact.b) <= NEAR)),
                "dropped": dropped,
                "runs": runs,
            }
            print(name, label(epsilon, delta), values.mean(axis=0).round(4), flush=True)
    return found


def label(epsilon: str, delta: str) -> str:
    """How a setting is called: pure, or as published with a delta."""
    return f"pure {epsilon}" if delta == "0" else f"published {epsilon} {delta}"


def synthetic(runs: int) -> dict[str, Any]:
    """Graphs drawn from known initiators: what moments and private estimates make of them."""
    found: dict[str, Any] = {}
    for name, entries in SYNTHETIC.items():
        made = [
            SimpleGraph.of(1 << 14, *kronecker.draw(Initiator(*entries), 14, np.random.default_rng(s)))
            for s in range(10)
        ]
        fits = [kronecker.fit(truths(one), 14)[0] for one in made]
        moments = np.array([[one.a, one.b, one.c] for one in fits])
        found[f"moments|{name}"] = [moments.mean(axis=0).tolist(), moments.std(axis=0, ddof=1).tolist()]
        schema = Schema.from_yaml("{kind: graph, edges: {nodes: 16384}}")
        whole = Graph(made[0], schema)
        sealed = whole.rungs(pattern("triangle"))
        values = np.array([_entries(whole, sealed, seed) for seed in range(runs)])
        found[f"private|{name}"] = [values.mean(axis=0).tolist(), values.std(axis=0, ddof=1).tolist()]
        print("synthetic", name, found[f"moments|{name}"], values.mean(axis=0).round(4), flush=True)
    return found


def _entries(whole: Graph, sealed: Sealed[Rungs], seed: int) -> list[float]:
    features, _ = private_features(whole, sealed, "0.2", "0.01", seed)
    made, _ = kronecker.fit(features, 14)
    return [made.a, made.b, made.c]


def drawn(many: int) -> dict[str, Any]:
    """Means over graphs from the published initiators."""
    found: dict[str, Any] = {}
    for name in FITTED:
        levels = kronecker.levels_of(FILES[name][1])
        for source, entries in (("KronFit", KRONFIT), ("KronMom", KRONMOM), ("Private", PRIVATE)):
            rng, values = np.random.default_rng(3), []
            for _ in range(many):
                one = SimpleGraph.of(2**levels, *kronecker.draw(Initiator(*entries[name]), levels, rng))
                leading = float(spectrum(one, 1)[0][0])
                linked, largest = np.count_nonzero(one.degrees), one.degrees[0]
                values.append([one.m, linked, largest, counting.triangles(one), leading])
            found[f"{source}|{name}"] = {
                "mean": np.mean(values, axis=0).tolist(),
                "sd": np.std(values, axis=0, ddof=1).tolist(),
                "graphs": many,
            }
            print(source, name, np.mean(values, axis=0).round(1), flush=True)
    return found


def degrees(runs: int) -> dict[str, Any]:
    """Edges and stars of noisy degrees at epsilon 0.1 as ratios to the truth, mean and deviation; and 2-stars
    of degrees whose order was not restored.
    """
    found: dict[str, Any] = {}
    for name in FITTED:
        right, ratios, unordered = truths(graph(name)), [], []
        for seed in range(runs):
            noisy = noise.counts(handle(name).degrees(), Budget("0.1", randomness=Randomness.seeded(seed)))
            ordered = AscendingDegrees.nearest(noisy)
            ratios.append(
                [ordered.stars(k) / right[what] for k, what in ((1, "edge"), (2, "2-star"), (3, "3-star"))]
            )
            unordered.append(float((noisy * (noisy - 1.0) / 2).sum()) / right["2-star"])
        values = np.array(ratios)
        found[name] = [
            values.mean(axis=0).tolist(),
            values.std(axis=0, ddof=1).tolist(),
            float(np.mean(unordered)),
        ]
        print(name, found[name], flush=True)
    return found


# Shapes ----------------------------------------------------------------------------------------------


def shapes(runs: int, name: str, epsilon: str) -> dict[str, Any]:
    """The five distances of both models, without noise (none) or under a budget."""
    truth, levels = statistics(graph(name)), kronecker.levels_of(FILES[name][1])
    sealed = sealed_triangles(name)
    rows: dict[str, list[list[float]]] = {"degree-triangle": [], "kronecker": []}
    for seed in range(1 if epsilon == "none" else runs):
        rng = np.random.default_rng(seed)
        if epsilon == "none":
            features, whole = truths(graph(name)), graph(name).degrees[::-1].copy()
        else:
            features, noisy = private_counts(name, sealed, epsilon, "0", seed)
            whole = noisy.whole
        closeness = degree_triangle.fitted(whole, max(0.0, features["triangle"]))
        made, _ = kronecker.fit(features, levels)
        drawn = {
            "degree-triangle": SimpleGraph.of(whole.size, *degree_triangle.draw(whole, closeness, rng)),
            "kronecker": SimpleGraph.of(2**levels, *kronecker.draw(made, levels, rng)),
        }
        for model, one in drawn.items():
            other = statistics(one)
            distances = [distance(truth, other) for distance in DISTANCES.values()]
            rows[model].append([*distances, float(other.triangles)])
    print(name, epsilon, flush=True)
    return {f"{model}|{name}|{epsilon}": np.mean(values, axis=0).tolist() for model, values in rows.items()}


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "properties": lambda runs: graph_properties.measured(),
    "counts": lambda runs: counts(),
    "degrees": degrees,
    "fits": fits,
    "synthetic": synthetic,
    "drawn": lambda runs: drawn(GRAPHS),
    "recursive": lambda runs: graph_recursive.medians(),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in (*PARTS, "shapes", "all", "write"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--graphs", nargs="+", choices=SHAPED, default=SHAPED, help="for --shapes")
    parser.add_argument("--budgets", nargs="+", choices=NOISES, default=NOISES, help="for --shapes")
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    for name, measure in PARTS.items():
        if given.all or getattr(given, name):
            keep(name, measure(given.runs))
    if given.all or given.shapes:
        for epsilon, name in product(given.budgets, given.graphs):
            keep("shapes", shapes(SHAPE_RUNS, name, epsilon))
    if given.write:
        graph_pages.page(known()).write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
