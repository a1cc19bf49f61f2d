"""Pictures of released graphs, drawn from public numbers and synthetic graphs alone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.graph.models.kronecker import Initiator
from penstock.kinds.graph.simple import Matrix, Numbers, SimpleGraph
from penstock.kinds.graph.statistics import clustering, spectrum
from penstock.releases.answer import Answer
from penstock.report import pictures
from penstock.report.curves import curves
from penstock.report.dots import dots_and_lines
from penstock.report.numbers import readable
from penstock.report.picture import Picture

DRAWN_NODES = 60
DRAWN_LINKS = 150
MAJORISED = 100
SIDE = 48
LARGEST = 200_000
SHOWN_VALUES = 50


def of_graph(graph: SimpleGraph) -> list[Picture]:
    """Pictures of one synthetic graph: its degrees, its shape, its eigenvalues and its clustering."""
    found = [degree_distribution({"synthetic": graph.degrees})]
    if not graph.m:
        return found
    small = graph.n <= DRAWN_NODES and graph.m <= DRAWN_LINKS
    found.append(drawing(graph) if small else adjacency(graph))
    if graph.n <= LARGEST:
        found += [scree({"synthetic": spectrum(graph, SHOWN_VALUES)[0]})]
        found += [clustering_by_degree({"synthetic": clustering(graph)})]
    return found


def initiator(found: Initiator) -> Picture:
    """The fitted initiator as a table of two by two."""
    return pictures.heatmap(
        "Initiator",
        ["0", "1"],
        ["0", "1"],
        np.array([[found.a, found.b], [found.b, found.c]]),
        caption=f"The probability that two binary digits contribute to a link: {found.a:.4g} for two zeros, "
        f"{found.b:.4g} for different digits, {found.c:.4g} for two ones.",
        amount="probability",
        row_name="digit",
        column_name="digit of the other node",
    )


def drawing(graph: SimpleGraph) -> Picture:
    """A small graph as dots and lines."""
    ones, others = graph.edges
    told = f"A synthetic graph of {graph.n} nodes and {graph.m} links; nodes without any are not drawn."
    linked = graph.adjacency[: int(np.count_nonzero(graph.degrees))]  # nodes stand in falling order of degree
    places = spread(linked[:, : linked.shape[0]])
    return dots_and_lines(
        "A synthetic graph", places, list(zip(ones.tolist(), others.tolist(), strict=True)), told
    )


def spread(adjacency: Matrix) -> NDArray[np.float64]:
    """Places in the plane whose distances are about the numbers of steps between nodes.

    By majorisation of the stress with weights 1 / steps^2 (Gansner, Koren and North 2004).
    """
    from scipy.sparse.csgraph import shortest_path

    steps = shortest_path(adjacency, unweighted=True)
    apart = np.isinf(steps)
    steps[apart] = 1 + steps[~apart].max()
    np.fill_diagonal(steps, 1.0)
    weights = steps**-2.0
    np.fill_diagonal(weights, 0.0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    places = np.random.default_rng(0).normal(size=(len(steps), 2))  # any order would be a saddle for some
    for _ in range(MAJORISED):
        gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
        pull = weights * steps / np.maximum(gaps, 1e-9)
        places = inverse @ (np.diag(pull.sum(axis=1)) - pull) @ places
    return np.asarray(places)


def adjacency(graph: SimpleGraph) -> Picture:
    """Where links are, nodes in falling order of degree: a square of cells."""
    ones, others = graph.edges
    cells = min(SIDE, graph.n)
    grid, _, _ = np.histogram2d(
        np.concatenate([ones, others]), np.concatenate([others, ones]), bins=cells, range=[[0, graph.n]] * 2
    )
    edges = np.linspace(0, graph.n, cells + 1).astype(int)
    labels = [f"{a + 1}..{b}" for a, b in pairwise(edges)]
    return pictures.heatmap(
        "Who is linked with whom",
        labels,
        labels,
        np.log10(1 + grid),
        caption=f"A synthetic graph of {graph.n:,} nodes and {graph.m:,} links. Nodes stand in falling "
        "order of their "
        "number of links; stronger colour means more links (on a logarithmic scale) between two groups of "
        "nodes.",
        amount="powers of ten of links",
        row_name="nodes",
        column_name="nodes",
    )


def scree(values: Mapping[str, NDArray[np.float64]]) -> Picture:
    """The largest eigenvalues by rank."""
    series = {name: (np.arange(1, found.size + 1), found) for name, found in values.items()}
    return curves("Eigenvalues", series, x_name="rank", y_name="absolute eigenvalue")


def network_values(values: Mapping[str, NDArray[np.float64]]) -> Picture:
    """The components of the leading eigenvector by rank."""
    series = {name: (np.arange(1, found.size + 1), found) for name, found in values.items()}
    return curves("Network values", series, x_name="rank", y_name="leading eigenvector")


def hop_plot(values: Mapping[str, NDArray[np.float64]]) -> Picture:
    """Pairs of nodes within so many steps."""
    series = {name: (np.arange(found.size), found) for name, found in values.items()}
    return curves("Hops", series, x_name="steps", y_name="pairs of nodes within them", log_x=False)


def clustering_by_degree(values: Mapping[str, NDArray[np.float64]]) -> Picture:
    """How many pairs of neighbours are linked, by degree."""
    series = {}
    for name, found in values.items():
        known = np.flatnonzero(~np.isnan(found))
        series[name] = (known, found[known])
    return curves(
        "Clustering",
        series,
        x_name="links of a node",
        y_name="share of linked pairs of neighbours",
        log_y=False,
        dots=True,
    )


def degree_distribution(degrees: Mapping[str, Numbers], caption: str = "") -> Picture:
    """Nodes by their number of links, on logarithmic axes; nodes without any cannot be shown there."""
    series: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for name, values in degrees.items():
        found, nodes = np.unique(values, return_counts=True)
        series[name] = (found, nodes)
    told = caption
    if not told:
        first = next(iter(degrees.values()))
        alone = int(np.count_nonzero(first == 0))
        told = (
            f"How many nodes have how many links: at most {readable(float(first.max(initial=0)))}; "
            f"{readable(float(alone))} nodes without any are not shown."
        )
    return curves("Degrees", series, x_name="links of a node", y_name="nodes", caption=told, dots=True)


def counts(answers: Mapping[str, Answer]) -> Picture:
    """Released numbers of patterns, one bar each."""
    told = "; ".join(str(answer) for answer in answers.values())
    return pictures.bars(
        "Patterns",
        list(answers),
        np.array([float(answer.value) for answer in answers.values()]),
        caption=f"Released numbers: {told}.",
        amount="patterns",
    )
