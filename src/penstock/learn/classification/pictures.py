"""Pictures of classifiers, drawn from their noisy counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.learn.classification.small_tree import grown
from penstock.learn.classification.training import indicators
from penstock.report.diagrams import tree
from penstock.report.numbers import percent
from penstock.report.picture import Picture
from penstock.report.pictures import bars, heatmap

if TYPE_CHECKING:
    from penstock.learn.classification.cells import CellsRelease
    from penstock.learn.classification.classifier import ClassifierRelease
    from penstock.learn.classification.tree_release import DecisionTreeRelease

MOST_LEAVES = 12
MOST_SHOWN = 20
"""Groups of a column that are drawn beside those of another."""


def overall(release: ClassifierRelease) -> Picture:
    """How often each label occurs."""
    return bars(
        f"{release.target}: how often each label occurs",
        release.labels,
        np.maximum(0, release.counts.sum(axis=0)),
    )


def _summed(release: CellsRelease, kept: tuple[int, ...]) -> NDArray[np.int64]:
    """The counts of some columns of the grid and of the label.

    Counts below zero are added up like all others, because without them the sums would be too large.
    """
    shape = (*release.partition.shape, len(release.labels))
    others = tuple(axis for axis in range(len(shape) - 1) if axis not in kept)
    summed: NDArray[np.int64] = np.maximum(0, release.counts.reshape(shape).sum(axis=others))
    return summed


def with_label(release: CellsRelease, axis: int) -> Picture:
    """One column that is looked at: its groups, and how many records of each label they have."""
    groups = release.partition.groups[axis]
    counts = _summed(release, (axis,))
    series = {label: counts[:, place] for place, label in enumerate(release.labels)}
    drawn = bars(
        f"{groups.name} and {release.target}",
        groups.labels,
        series,
        caption=_how_far(release.labels, groups.labels, counts),
    )
    return replace(drawn, columns=(groups.name, *release.labels))


def _how_far(labels: Sequence[str], groups: Sequence[str], counts: NDArray[np.int64]) -> str:
    """Between which groups the share of a label differs most, and how far; groups of few records aside."""
    many = np.flatnonzero(counts.sum(axis=1) >= max(1, int(counts.sum()) // 100))
    if len(many) < 2:
        return ""
    groups, counts = [groups[place] for place in many.tolist()], counts[many]
    shares = counts / counts.sum(axis=1, keepdims=True)
    told = int(np.ptp(shares, axis=0).argmax())
    low, high = int(shares[:, told].argmin()), int(shares[:, told].argmax())
    return (
        f"The share of {labels[told]} is {percent(float(shares[low, told]))} in {groups[low]} and "
        f"{percent(float(shares[high, told]))} in {groups[high]}, groups of few records aside."
    )


def across_two(release: CellsRelease) -> list[Picture]:
    """The two columns that add most, together: how often the label that is not the usual one occurs."""
    lost = _lost(release)
    if len(lost) < 2:
        return []
    first, second = sorted(int(axis) for axis in np.argsort(lost)[-2:])
    one, two = release.partition.groups[first], release.partition.groups[second]
    if one.size > MOST_SHOWN or two.size > MOST_SHOWN:
        return []
    counts = _summed(release, (first, second))
    label = int(np.argsort(release.believed.sum(axis=0))[-2])
    shares = 100 * counts[:, :, label] / np.maximum(1, counts.sum(axis=2))
    return [
        heatmap(
            f"{one.name} and {two.name} together",
            one.labels,
            two.labels,
            shares,
            amount=f"% {release.labels[label]}",
            row_name=one.name,
            column_name=two.name,
            caption=f"The two columns that add most: the percentage of {release.labels[label]} where both "
            "are known. Where records are few, it is mostly noise.",
        )
    ]


def _lost(release: CellsRelease) -> list[float]:
    """How much less often the classifier would be right without each column of its grid."""
    counts = release.believed.reshape(*release.partition.shape, len(release.labels))
    number = max(1, int(counts.sum()))
    whole = release.right()
    return [
        whole - float(counts.sum(axis=axis).max(axis=-1).sum()) / number
        for axis in range(len(release.partition.groups))
    ]


def what_each_adds(release: CellsRelease) -> list[Picture]:
    """The table of features: in how many groups each column is seen, and what would be lost without it."""
    if not release.partition.groups:
        return []
    lost, whole = _lost(release), release.right()
    names = list(release.partition.names)
    drawn = bars(
        "What each column adds",
        names,
        [100 * share for share in lost],
        amount="percentage points",
        caption=f"By its own noisy counts the classifier is right for {percent(whole)} of the records; the "
        "bars say how much less it would be without each column.",
    )
    rows = tuple(
        (groups.name, groups.size, round(100 * share, 3))
        for groups, share in zip(release.partition.groups, lost, strict=True)
    )
    return [replace(drawn, columns=("column", "groups", "percentage points"), rows=rows)]


def drawn_tree(release: CellsRelease) -> list[Picture]:
    """A small decision tree that is trained on the counts: the shortest way to say what they know."""
    if not release.partition.groups or np.count_nonzero(release.believed.sum(axis=0)) < 2:
        return []
    learned = grown(indicators(release.partition), release.believed, MOST_LEAVES)
    names = [(groups.name, label) for groups in release.partition.groups for label in groups.labels]
    told = ["all"]
    for parent, yes in zip(learned.parents[1:], learned.yes[1:], strict=True):
        name, group = names[learned.feature[parent]]
        told.append(f"{name}\n{'' if yes else 'not '}{group}")
    for node, feature in enumerate(learned.feature):
        if feature < 0:
            told[node] += f"\n→ {release.labels[int(learned.counts[node].argmax())]}"
    return [
        tree(
            f"{release.target} as a small tree",
            told,
            learned.parents,
            learned.counts.sum(axis=1).tolist(),
            caption=f"A decision tree of at most {MOST_LEAVES} leaves, trained on the noisy counts: what a "
            "record is asked, and which label it gets.",
        )
    ]


def grown_tree(release: DecisionTreeRelease) -> list[Picture]:
    """The tree itself: what a record is asked, and which label it gets."""
    if not release.tree.ways:
        return []
    answers = [release.labels[int(place)] for place in release.chances.argmax(axis=1)]
    nodes = len(release.tree.column)
    told, parents, values = ["all"] * nodes, [-1] * nodes, [0.0] * nodes
    for node, ways in release.tree.ways.items():
        for child in np.unique(ways).tolist():
            parents[child], told[child] = node, "\n".join(release.question(node, child))
    for place, leaf in enumerate(release.tree.leaves.tolist()):
        told[leaf] += f"\n→ {answers[place]}"
        values[leaf] = float(release.believed[place].sum())
    for node in range(nodes - 1, 0, -1):
        values[parents[node]] += values[node]
    return [tree(f"{release.target}: the tree", told, parents, values)]
