"""Evaluation of a release of a graph: five statistics of synthetic graphs, degrees, and counts.

The floor is a random graph with as many links as the original, which knows nothing else; the ceiling is what
the same model, or at least one that has the original's degrees and triangles, comes to without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.engine.distinct import distinct
from penstock.errors import DataError
from penstock.evaluation.findings import Evaluator, Findings, Options
from penstock.evaluation.score import Score
from penstock.kinds.graph import pictures
from penstock.kinds.graph.counting import stars
from penstock.kinds.graph.degree_sequence import DegreeSequenceRelease
from penstock.kinds.graph.kronecker import KroneckerRelease
from penstock.kinds.graph.models import degree_triangle, kronecker
from penstock.kinds.graph.patterns import pattern
from penstock.kinds.graph.reading import open_graph
from penstock.kinds.graph.simple import SimpleGraph
from penstock.kinds.graph.statistics import DISTANCES, Statistics, degree_distance, mean, statistics
from penstock.kinds.graph.subgraph_counts import SubgraphCountsRelease
from penstock.kinds.graph.synthetic import SyntheticGraphRelease
from penstock.progress import progress
from penstock.releases.release import Release
from penstock.report.page import Block, Gallery, Section
from penstock.schema import Schema

GRAPHS = 10
LARGE = 50_000
LEADING = "leading eigenvalue"
EXACT = "no error at all"
NUMBERS: Mapping[str, Callable[[Statistics], float]] = {
    "edges": lambda one: one.edges,
    "2-stars": lambda one: one.two_stars,
    "triangles": lambda one: one.triangles,
    "3-stars": lambda one: one.three_stars,
    LEADING: lambda one: one.leading,
}
NOTES = {
    "degrees": "largest gap between the shares of nodes of at most some degree, nodes without links left out",
    "hops": "mean gap of the numbers of pairs within so many steps, on a logarithmic scale",
    "scree": "mean gap of the largest eigenvalues, on a logarithmic scale",
    "network values": "mean gap of the components of the leading eigenvector, on a logarithmic scale",
    "clustering": "mean gap of the share of linked pairs of neighbours, over nodes of at least two links",
}


class GraphEvaluation(Evaluator):
    """What of a graph is told, compared with the graph."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        original = open_graph(source, schema, table=options.table)
        if not original.m:
            raise DataError("The graph to compare with has no edges.")
        if isinstance(release, SubgraphCountsRelease):
            return _counts(release, original)
        if isinstance(release, DegreeSequenceRelease):
            return _degrees(release, original, options.seed)
        assert isinstance(release, SyntheticGraphRelease)
        return _graphs(release, original, options.seed)


def random_graph(n: int, m: int, rng: np.random.Generator) -> SimpleGraph:
    """Any graph of so many nodes and links, all equally likely."""
    pairs = n * (n - 1) // 2
    keys = np.zeros(0, dtype=np.int64)
    while keys.size < min(m, pairs):
        keys = distinct(np.concatenate([keys, rng.integers(pairs, size=min(m, pairs) - keys.size)]))
    high = ((1 + np.sqrt(1.0 + 8.0 * keys)) / 2).astype(np.int64)
    high = np.where(high * (high - 1) // 2 > keys, high - 1, high)
    return SimpleGraph.of(n, keys - high * (high - 1) // 2, high)


def _graphs(release: SyntheticGraphRelease, original: SimpleGraph, seed: int) -> Findings:
    many = GRAPHS if original.n <= LARGE else 1
    with progress("comparing graphs", total=many + 3) as step:
        truth = statistics(original, seed=seed)
        step(1)
        drawn = []
        for number in range(many):
            drawn.append(statistics(release.simple(seed + number), seed=seed))
            step(1)
        floor = statistics(random_graph(original.n, original.m, np.random.default_rng(seed)), seed=seed)
        step(1)
        ceiling = statistics(_without_noise(release, original, seed), seed=seed)
        step(1)
    scores = [
        Score(
            name,
            float(np.mean([distance(truth, one) for one in drawn])),
            floor=distance(truth, floor),
            ceiling=distance(truth, ceiling),
            note=f"{NOTES[name]}; mean of {many} synthetic graphs. Floor: random links",
        )
        for name, distance in DISTANCES.items()
    ]
    scores += _count_scores(truth, drawn)
    both = {"original": truth, "synthetic": mean(drawn)}
    details = {
        "graphs": many,
        **{name: {what: of(one) for what, of in NUMBERS.items()} for name, one in both.items()},
    }
    return Findings(tuple(scores), original.m, details, [_section(both)], "the same model without noise")


def _without_noise(release: SyntheticGraphRelease, original: SimpleGraph, seed: int) -> SimpleGraph:
    """A synthetic graph of the same model, fitted to the original itself."""
    rng = np.random.default_rng(seed)
    wanted = pattern("triangle").count(original)
    if isinstance(release, KroneckerRelease):
        counts = {
            "edge": original.m,
            "triangle": wanted,
            "2-star": stars(original, 2),
            "3-star": stars(original, 3),
        }
        found, _ = kronecker.fit({name: float(count) for name, count in counts.items()}, release.levels)
        return SimpleGraph.of(release.drawn_nodes, *kronecker.draw(found, release.levels, rng))
    degrees = original.degrees[::-1].copy()
    closeness = degree_triangle.fitted(degrees, wanted)
    return SimpleGraph.of(original.n, *degree_triangle.draw(degrees, closeness, rng))


def _count_scores(truth: Statistics, drawn: list[Statistics]) -> list[Score]:
    """Relative errors of numbers; a graph without any is the floor."""
    return [
        Score(
            name,
            abs(float(np.mean([of(one) for one in drawn])) - of(truth)) / max(of(truth), 1),
            floor=1.0,
            ceiling=0.0,
            note=f"relative error of the mean {'' if name == LEADING else 'number of '}{name}; "
            "floor: none at all",
        )
        for name, of in NUMBERS.items()
    ]


def _section(both: Mapping[str, Statistics]) -> Section:
    blocks: list[Block] = [
        Gallery(
            [
                pictures.degree_distribution(
                    {name: one.degrees.round().astype(np.int64) for name, one in both.items()},
                    "How many nodes have how many links.",
                ),
                pictures.hop_plot({name: one.hops for name, one in both.items()}),
                pictures.scree({name: one.scree for name, one in both.items()}),
                pictures.network_values({name: one.network for name, one in both.items()}),
                pictures.clustering_by_degree({name: one.clustering for name, one in both.items()}),
            ]
        )
    ]
    lead = "The original beside the mean of several synthetic graphs."
    return Section("What the graphs are like", blocks, short="Graphs", lead=lead)


def _degrees(release: DegreeSequenceRelease, original: SimpleGraph, seed: int) -> Findings:
    found, random = release.degrees.whole, random_graph(original.n, original.m, np.random.default_rng(seed))
    sequences = {"original": original.degrees, "release": found, "random": random.degrees}
    of = {name: _only_degrees(degrees) for name, degrees in sequences.items()}
    right = original.m
    scores = (
        Score(
            "degrees",
            degree_distance(of["original"], of["release"]),
            floor=degree_distance(of["original"], of["random"]),
            ceiling=0.0,
            note=f"{NOTES['degrees']}; floor: random links",
        ),
        Score(
            "edges",
            abs(release.count("edge").value - right) / right,
            floor=1.0,
            ceiling=0.0,
            note="relative error of the number of edges; floor: none at all",
        ),
    )
    shown = pictures.degree_distribution(
        {"original": original.degrees, "release": found}, "How many nodes have how many links."
    )
    section = Section("Degrees", [Gallery([shown])], short="Degrees", lead="The original beside the release.")
    return Findings(scores, original.m, {"edges": right}, [section], EXACT)


def _only_degrees(degrees: Any) -> Statistics:
    nothing = np.zeros(0)
    known = degrees[degrees > 0].astype(np.float64)
    return Statistics(degrees.size, 0, 0, 0, 0, known, nothing, nothing, nothing, nothing)


def _counts(release: SubgraphCountsRelease, original: SimpleGraph) -> Findings:
    custom = set(release.parameters.get("custom", ()))
    scores, truths = [], {}
    for name in release.counts:
        if name in custom:
            continue
        right = pattern(name).count(original)
        truths[name] = right
        scores.append(
            Score(
                name,
                abs(release.count(name).value - right) / max(right, 1),
                floor=1.0,
                ceiling=0.0,
                note=f"relative error of the number of {name}s; floor: none at all",
            )
        )
    if not scores:
        raise DataError("Only custom patterns were counted, and how they are counted is not in the release.")
    return Findings(tuple(scores), original.m, {"counts": truths}, [], EXACT)
