"""What the report shows of a network: its edges with their strength, two-way tables, conditionals."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from penstock.kinds.table.release import MOST_DRAWN
from penstock.report.picture import Picture

if TYPE_CHECKING:
    from penstock.kinds.table.network.release import NetworkRelease

MOST_EDGES = 40  # drawn; the others are counted in the caption
MOST_TABLES = 4
MOST_CODES = 40
_MEAN_HALF = 0.4  # half the mean absolute value of a standard normal variable


def strengths(release: NetworkRelease) -> dict[tuple[str, str], float]:
    """The edges between attributes, from parent to child, strongest first."""
    variables = release.network.variables
    edges = dict.fromkeys(
        (variables[parent].attribute, variables[child].attribute)
        for parent, child in release.network.edges
        if variables[parent].attribute != variables[child].attribute
    )
    known: dict[tuple[str, str], float] = {}
    for parent, child in edges:
        if (child, parent) not in known:  # bits of two attributes may point both ways
            known[parent, child] = release.strength(parent, child)
    return dict(sorted(known.items(), key=lambda item: -item[1]))


def pictures(release: NetworkRelease) -> list[Picture]:
    """The network, then the strongest pairs as counts and as conditionals."""
    from penstock.report import diagrams
    from penstock.report.pictures import heatmap

    known = release.strengths
    if release.as_a_whole:  # its network connects everything
        known = {pair: strength for pair, strength in known.items() if strength > _by_chance(release, *pair)}
    if not known:
        return []
    shown = list(known)[:MOST_EDGES]
    hidden = len(known) - len(shown)
    (parent, child), strongest = next(iter(known.items()))
    caption = (
        f"The Bayesian network: {len(known)} {'dependency' if len(known) == 1 else 'dependencies'} between "
        f"{len(release.schema.names)} attributes. "
        f"The number at an edge is its strength, from 0 (independent) to 1; the strongest is {parent} to "
        f"{child}, {strongest:.2f}." + (f" The {hidden} weakest edges are not drawn." if hidden else "")
    )
    names = release.schema.names
    if len(names) > MOST_DRAWN:  # only those with an edge, which are few
        names = tuple(name for name in names if any(name in edge for edge in shown))
    drawn = [
        diagrams.network(
            "Which attributes depend on which",
            names,
            shown,
            caption=caption,
            strengths=[known[edge] for edge in shown],
        )
    ]
    small = [edge for edge in shown if max(release.encoding.sizes[name] for name in edge) <= MOST_CODES]
    for parent, child in small[:MOST_TABLES]:
        joint = release.marginal([parent, child])
        rows, columns = release.schema.attribute(parent).labels, release.schema.attribute(child).labels
        drawn.append(
            heatmap(
                f"{parent} by {child}",
                rows,
                columns,
                release.total * joint,
                row_name=parent,
                column_name=child,
            )
        )
        mass = joint.sum(axis=1, keepdims=True)
        share = 100 * np.divide(joint, mass, out=np.zeros_like(joint), where=mass > 0)
        drawn.append(
            heatmap(
                f"{child} given {parent}",
                rows,
                columns,
                share,
                amount="percent",
                row_name=parent,
                column_name=child,
            )
        )
    return drawn


def _by_chance(release: NetworkRelease, *pair: str) -> float:
    """Twice the strength that noise and chance would show where two columns have nothing in common."""
    one, two = (release.encoding.sizes[name] for name in pair)
    noise = sum(each.total_variance for each in release.measured) * one * two
    chance = release.total * (one - 1) * (two - 1)
    return 2 * _MEAN_HALF * sqrt(noise + chance) / max(1.0, release.total)


def explained(release: NetworkRelease) -> list[str]:
    """The model in words."""
    network = release.network
    cells = sum(one.counts.size for one in release.measured)
    lines = [
        f"A Bayesian network: {len(release.schema.names)} attributes, each drawn given at most "
        f"{network.degree} others. Its tables come from {len(release.measured)} noisy tables of counts with "
        f"{cells:,} cells in all."
    ]
    if release.by_products:
        lines.append(
            "Tables of single columns and pairs were put together from one noisy matrix of products, in "
            "which each record is the square of one vector."
        )
    if release.as_a_whole:
        lines.append("All columns were counted in one table: whatever they have in common is in its counts.")
    if release.encoding.name in ("binary", "gray"):
        lines.append(
            f"Attributes were cut into {len(network.variables)} bits ({release.encoding.name} code)."
        )
    return lines
