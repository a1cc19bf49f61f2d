"""The study of sequences: the generated source, its acceptance bands, and the words of its statements."""

import numpy as np
import pytest

from frame.data import data_of
from frame.sequences import (
    Exponential,
    LengthDistance,
    NGrams,
    Precision,
    PrivTree,
    SequenceData,
    Truncate,
)
from privtree_sequences import MARKOV, study


@pytest.fixture(scope="module")
def source() -> SequenceData:
    data: SequenceData = data_of("markov")
    return data


def measured(source: SequenceData, method: PrivTree, epsilon: str, runs: int) -> np.ndarray:
    """Mean precision of the top 50 and 100, and the mean distance of lengths."""
    found = []
    for seed in range(runs):
        outcome = method(source, epsilon, seed)
        strings = Precision()(source, outcome, seed)
        found.append([strings["50"], strings["100"], LengthDistance()(source, outcome, seed)])
    return np.mean(found, axis=0)


def test_the_generated_source_is_the_described_one(source: SequenceData) -> None:
    lengths = source.symbols.lengths
    assert len(lengths) == 40_000
    assert lengths.mean() == pytest.approx(9.65, abs=0.15)
    assert np.quantile(lengths, 0.95) == 28
    cut = Truncate()(source, "1", 0)
    assert Precision()(source, cut, 0) == {"50": 0.98, "100": 0.99, "200": pytest.approx(0.985)}
    assert LengthDistance()(source, cut, 0) == pytest.approx(0.048, abs=0.005)


@pytest.mark.parametrize("epsilon", ["0.1", "0.8"])
@pytest.mark.parametrize("constant", ["published", "tight"])
def test_privtree_is_within_the_bands_of_the_prototype(
    source: SequenceData, epsilon: str, constant: str
) -> None:
    # ten seeded runs; precision and distance within 0.05 of the prototype's means
    found = measured(source, PrivTree(constant), epsilon, 10)
    assert np.abs(found - MARKOV[epsilon]).max() < 0.05


def test_the_order_of_the_methods_is_the_published_one(source: SequenceData) -> None:
    ours = Precision()(source, PrivTree()(source, "0.4", 1), 1)
    grams = NGrams()(source, "0.4", 1)
    choice = Exponential()(source, "0.4", 1)
    assert ours["100"] > Precision()(source, grams, 1)["100"] + 0.1
    assert ours["100"] > Precision()(source, choice, 1)["100"] + 0.3
    far = LengthDistance()(source, grams, 1)
    near = LengthDistance()(source, PrivTree()(source, "0.4", 1), 1)
    assert far is not None
    assert near is not None
    assert far > 2 * near
    assert LengthDistance()(source, choice, 1) is None


def test_the_study_names_its_cells_and_statements() -> None:
    planned = study()
    assert len(planned.statements) == 10
    assert {cell.dataset for cell in planned.cells(1)} == {"markov", "bpic", "msnbc"}
