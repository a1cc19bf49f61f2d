"""How good a release of sequences is: exact frequent strings, distances, and the whole evaluation."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from tests.kinds.sequences.trees import rows, schema

import penstock
from penstock.errors import DataError
from penstock.kinds.sequences.evaluation import (
    _resampled,
    frequent_strings,
    length_distance,
    precision,
    transition_distance,
    transitions,
)
from penstock.kinds.sequences.occurrences import Text
from penstock.kinds.sequences.symbols import Symbols
from penstock.schema import Schema


def symbols(texts: list[str]) -> Symbols:
    codes = np.array([ord(letter) - ord("A") for text in texts for letter in text], dtype=np.uint8)
    return Symbols(codes, np.array([len(text) for text in texts], dtype=np.int64))


def random_texts(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ABC"), rng.integers(0, 8), p=[0.6, 0.3, 0.1])) for _ in range(n)]


def test_frequent_strings_are_those_of_a_plain_count() -> None:
    texts = random_texts(200)
    counted = Counter(
        text[begin:end]
        for text in texts
        for begin in range(len(text))
        for end in range(begin + 1, len(text) + 1)
    )
    ranked = sorted(counted, key=lambda string: (-counted[string], len(string), string))[:40]
    found = frequent_strings(Text.of(symbols(texts), 3), 40)
    assert [("".join("ABC"[code] for code in string), count) for string, count in found] == [
        (string, counted[string]) for string in ranked
    ]
    assert frequent_strings(Text.of(symbols([]), 3), 5) == []
    assert len(frequent_strings(Text.of(symbols(["AB"]), 3), 99)) == 3


def test_precision_and_distances() -> None:
    assert precision([(0,), (1,), (2,)], [(1,), (3,)]) == 0.5
    assert length_distance(np.array([1, 1, 2]), np.array([1, 2, 5])) == pytest.approx(1 / 3)
    one, two = transitions(Text.of(symbols(["AB", "AB"]), 2)), transitions(Text.of(symbols(["BA"]), 2))
    assert one.tolist() == [[0, 2, 0], [0, 0, 2], [2, 0, 0]]
    assert transition_distance(one, one) == 0
    assert transition_distance(one, two) == 1


def test_resampling_keeps_whole_sequences() -> None:
    texts = ["", "A", "BB", "CCC"]
    again = _resampled(symbols(texts * 5), np.random.default_rng(1))
    ends = np.cumsum(again.lengths)
    assert len(again.lengths) == 20
    for end, length in zip(ends, again.lengths, strict=True):
        assert "".join("ABC"[code] for code in again.codes[end - length : end]) in texts


@pytest.mark.parametrize("method", ["privtree-sequences", "n-gram", "top-strings"])
def test_evaluation_stands_between_floor_and_ceiling(method: str) -> None:
    texts = ["ABCAB", "ABC", "AAB", "CAB"] * 700 + random_texts(1000)
    released = penstock.release(rows(texts), schema("ABC", 9), epsilon=20, method=method, seed=1)
    found = penstock.evaluate(released, rows(texts))
    names = [score.name for score in found.scores]
    assert names[0] == ("top 20 strings" if method == "top-strings" else "top 50 strings")
    assert found.scores[0].floor < found.scores[0].value <= 1
    assert ("lengths" in names) == (method != "top-strings")
    if method == "privtree-sequences":
        for name in ("what follows what", "lengths"):
            assert found.score(name).value < found.score(name).floor
    assert found.rows == 3800
    page = found.report()
    assert "Not for publication" in page
    assert "The most frequent strings" in page


def test_evaluation_of_events_and_of_users_with_many_sequences() -> None:
    events = Schema.from_yaml("""
kind: sequences
unit: {protects: user, column: who, at_most: 1}
sequence: {user: visit, time: at, symbol: s, longest: 4}
fields:
  - {name: s, constraints: {enum: [A, B]}}
""")
    frame = pl.DataFrame(
        {
            "who": [1, 1, 1, 2] * 100,
            "visit": [1, 1, 2, 3] * 100,
            "at": range(400),
            "s": ["A", "B", "A", "B"] * 100,
        }
    )
    released = penstock.release(frame, events, epsilon=20, seed=1)
    found = penstock.evaluate(released, frame)
    assert found.rows == 3  # all three visits, although each person keeps one only
    with pytest.raises(DataError, match="no sequences"):
        penstock.evaluate(released, frame.head(0))
