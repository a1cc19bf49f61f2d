"""Pictures of classifiers, drawn from their noisy counts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.learn.classification.training import indicators, occupied
from penstock.report.diagrams import tree
from penstock.report.numbers import percent
from penstock.report.picture import Picture
from penstock.report.pictures import bars

if TYPE_CHECKING:
    from penstock.learn.classification.cells import CellsRelease
    from penstock.learn.classification.classifier import ClassifierRelease
    from penstock.learn.classification.tree_release import DecisionTreeRelease

MOST_LEAVES = 12


def overall(release: ClassifierRelease) -> Picture:
    """How often each label occurs."""
    return bars(
        f"{release.target}: how often each label occurs", release.labels, release.believed.sum(axis=0)
    )


def with_label(release: CellsRelease, axis: int) -> Picture:
    """One column that is looked at: its groups, and how many records of each label they have."""
    groups = release.partition.groups[axis]
    shape = (*release.partition.shape, len(release.labels))
    others = tuple(place for place in range(len(shape) - 1) if place != axis)
    counts = release.believed.reshape(shape).sum(axis=others)
    series = {label: counts[:, place] for place, label in enumerate(release.labels)}
    drawn = bars(f"{groups.name} and {release.target}", groups.labels, series)
    return replace(drawn, columns=(groups.name, *release.labels))


def what_each_adds(release: CellsRelease) -> list[Picture]:
    """The table of features: in how many groups each column is seen, and what would be lost without it."""
    if not release.partition.groups:
        return []
    shape = (*release.partition.shape, len(release.labels))
    counts = release.believed.reshape(shape)
    number = max(1, int(counts.sum()))
    whole = release.right()
    lost = [
        whole - float(counts.sum(axis=axis).max(axis=-1).sum()) / number
        for axis in range(len(release.partition.groups))
    ]
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
    from sklearn.tree import DecisionTreeClassifier

    places, labels, weights = occupied(release)
    if not release.partition.groups or len(np.unique(labels)) < 2:
        return []
    known: Any = DecisionTreeClassifier(max_leaf_nodes=MOST_LEAVES, random_state=0)
    known.fit(indicators(release.partition)[places], labels, sample_weight=weights.astype(np.float64))
    learned = known.tree_
    names = [f"{groups.name}: {label}" for groups in release.partition.groups for label in groups.labels]
    answers = [release.labels[int(known.classes_[np.argmax(value[0])])] for value in learned.value]
    told, parents = [""] * learned.node_count, [-1] * learned.node_count
    for node in range(learned.node_count):
        inner = learned.children_left[node] >= 0
        told[node] += "" if inner else f"→ {answers[node]}"
        if inner:
            question = names[int(learned.feature[node])]
            for child, word in ((learned.children_left[node], "not "), (learned.children_right[node], "")):
                parents[int(child)] = node
                told[int(child)] = f"{word}{question} "
    told[0] = f"all {told[0]}".strip()
    return [
        tree(
            f"{release.target} as a small tree",
            [text.strip() for text in told],
            parents,
            [float(value) for value in learned.weighted_n_node_samples],
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
            parents[child], told[child] = node, release.question(node, child)
    for place, leaf in enumerate(release.tree.leaves.tolist()):
        told[leaf] += f" → {answers[place]}"
        values[leaf] = float(release.believed[place].sum())
    for node in range(nodes - 1, 0, -1):
        values[parents[node]] += values[node]
    return [tree(f"{release.target}: the tree", told, parents, values)]
