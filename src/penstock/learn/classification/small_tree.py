"""A small decision tree on counts of labels, for a picture: what a classifier of cells knows, in short.

Only for a look. Whoever wants a tree to work with trains one of scikit-learn's on the cells
(`penstock.learn.classification.training`); loading that library took most of the time of a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SmallTree:
    """Nodes in the order in which they came, the root first.

    `feature` is what a node asks (-1: nothing, it is a leaf), `parents` the node above (-1: none), `yes`
    whether its parent's answer is yes, `counts` the labels of the records that come there.
    """

    feature: tuple[int, ...]
    parents: tuple[int, ...]
    yes: tuple[bool, ...]
    counts: Reals


def grown(features: NDArray[Any], counts: NDArray[Any], leaves: int) -> SmallTree:
    """The tree of at most so many leaves that always splits where the Gini impurity falls most.

    `features` has a row of 0 and 1 for each cell, `counts` a row of the labels in it.

    >>> tree = grown(np.array([[1, 0], [1, 1], [0, 1]]), np.array([[9, 0], [8, 1], [1, 7]]), 2)
    >>> tree.feature, tree.counts.tolist()
    ((0, -1, -1), [[18.0, 8.0], [1.0, 7.0], [17.0, 1.0]])
    """
    asked, labels = np.asarray(features, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    rows = [np.arange(len(asked))]
    feature, parents, yes = [-1], [-1], [False]
    found = [_best(asked, labels, rows[0])]
    while (len(feature) + 1) // 2 < leaves:
        node = max(range(len(found)), key=lambda place: found[place][0])
        gain, chosen = found[node]
        if gain <= 1e-9 * labels.sum():
            break
        feature[node], found[node] = chosen, (-np.inf, -1)
        inside = asked[rows[node], chosen] > 0
        for word, part in ((False, rows[node][~inside]), (True, rows[node][inside])):
            rows.append(part)
            feature.append(-1)
            parents.append(node)
            yes.append(word)
            found.append(_best(asked, labels, part))
    there = np.array([labels[each].sum(axis=0) for each in rows])
    return SmallTree(tuple(feature), tuple(parents), tuple(yes), there)


def _best(features: Reals, counts: Reals, rows: NDArray[np.intp]) -> tuple[float, int]:
    """How much the impurity falls by the best question to these cells, times the records; and which it is."""
    inside = features[rows].T @ counts[rows]
    whole = counts[rows].sum(axis=0)
    falls = _purity(inside) + _purity(whole - inside) - _purity(whole)
    if not len(falls):
        return -np.inf, -1
    best = int(falls.argmax())
    return float(falls[best]), best


def _purity(counts: Reals) -> Reals:
    """The number of records less their Gini impurity times that number."""
    total = counts.sum(axis=-1)
    return np.asarray((counts**2).sum(axis=-1) / np.where(total > 0, total, 1.0))
