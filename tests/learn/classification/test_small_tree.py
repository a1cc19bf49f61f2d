"""The small tree of a picture is the one that scikit-learn grows."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from penstock.learn.classification.small_tree import grown


@pytest.mark.parametrize("seed", range(5))
def test_it_grows_as_scikit_learn_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 2, (40, 7))
    counts = rng.integers(0, 50, (40, 3)) * (1 + features[:, :3])
    tree = grown(features, counts, 9)
    cells, labels = np.nonzero(counts)
    known = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0)
    known.fit(features[cells], labels, sample_weight=counts[cells, labels].astype(np.float64))
    theirs = known.tree_
    assert len(tree.feature) == theirs.node_count == 17
    assert sorted(tree.counts.sum(axis=1)) == pytest.approx(sorted(theirs.weighted_n_node_samples))
    for row in features:
        node = 0
        while tree.feature[node] >= 0:
            (node,) = (
                child
                for child, parent in enumerate(tree.parents)
                if parent == node and tree.yes[child] == bool(row[tree.feature[node]])
            )
        assert tree.counts[node].argmax() == known.predict(row[None, :])[0]


def test_what_cannot_be_told_apart_is_not_split() -> None:
    assert grown(np.array([[1], [1]]), np.array([[3, 1], [2, 2]]), 5).feature == (-1,)
    assert grown(np.zeros((2, 0)), np.array([[3, 1], [2, 2]]), 5).feature == (-1,)
    assert grown(np.array([[0], [1]]), np.array([[4, 0], [9, 0]]), 5).feature == (-1,)
