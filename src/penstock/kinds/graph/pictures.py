"""Pictures of released graphs, drawn from public numbers and synthetic graphs alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.graph.simple import Numbers
from penstock.releases.answer import Answer
from penstock.report import pictures
from penstock.report.curves import curves
from penstock.report.numbers import readable
from penstock.report.picture import Picture


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
