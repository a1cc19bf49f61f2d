"""The memory engine counts what a plain loop counts, however it shares the work."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.effort import calls
from tests.engine.counting import plain_counts

from penstock.engine import Column, Engine, Marginal, MemoryEngine
from penstock.errors import DataError

Codes = dict[str, NDArray[Any]]


def random_table(seed: int, sizes: dict[str, int], length: int, patterns: int | None = None) -> Codes:
    """Random codes; with `patterns`, only so many different rows."""
    rng = np.random.default_rng(seed)
    codes: Codes = {name: rng.integers(0, size, patterns or length) for name, size in sizes.items()}
    if patterns is not None:
        chosen = rng.integers(0, patterns, length)
        codes = {name: column[chosen] for name, column in codes.items()}
    return codes


def random_column(rng: np.random.Generator, name: str, size: int) -> Column | str:
    if rng.random() < 0.4:
        return name
    groups = int(rng.integers(1, size + 2))
    return Column.of(name, rng.integers(0, groups, size), groups)


def random_marginals(seed: int, sizes: dict[str, int], count: int) -> list[Marginal]:
    """Any columns, through any lookups, several of one column among them."""
    rng = np.random.default_rng(seed)
    marginals: list[Marginal] = []
    while len(marginals) < count:
        names = rng.choice(list(sizes), int(rng.integers(0, min(len(sizes), 5) + 1)))
        columns = [random_column(rng, str(name), sizes[str(name)]) for name in names]
        if len(set(columns)) == len(columns):
            marginals.append(tuple(columns))
    return marginals


def assert_counts(codes: Codes, sizes: dict[str, int], marginals: list[Marginal], length: int) -> None:
    found = MemoryEngine(codes, sizes).counts(marginals)
    expected = plain_counts(codes, sizes, marginals, length)
    assert len(found) == len(expected)
    for marginal, ours, theirs in zip(marginals, found, expected, strict=True):
        assert ours.dtype == np.int64
        assert np.array_equal(ours, theirs), marginal


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    length=st.sampled_from([0, 1, 2, 50, 700, 3000]),
    count=st.sampled_from([1, 5, 30, 80]),
    patterns=st.sampled_from([None, 1, 20]),
    seed=st.integers(0, 2**32),
)
@example(sizes=[6, 5, 2], length=700, count=5, patterns=None, seed=2247104)  # several without columns
def test_counts_equal_plain_counts(
    sizes: list[int], length: int, count: int, patterns: int | None, seed: int
) -> None:
    named = {f"a{i}": size for i, size in enumerate(sizes)}
    codes = random_table(seed, named, length, patterns)
    assert_counts(codes, named, random_marginals(seed + 1, named, count), length)


def test_rows_beyond_one_block_are_all_counted() -> None:
    sizes = {"a": 3, "b": 300, "c": 70_000, "d": 1}
    length = 150_001
    codes = random_table(1, sizes, length)
    coarse = Column.of("c", np.arange(70_000) % 5)
    marginals: list[Marginal] = [("a", "b"), ("c",), ("b", "a", "d"), (coarse, "b")]
    assert_counts(codes, sizes, marginals, length)


def test_all_pairs_triples_and_quadruples_of_binary_columns_share_supersets_and_stay_exact() -> None:
    sizes = {f"a{i}": 2 for i in range(10)}
    codes = random_table(2, sizes, 20_000)
    marginals: list[Marginal] = [m for k in (1, 2, 3, 4) for m in itertools.combinations(sizes, k)]
    assert_counts(codes, sizes, marginals, 20_000)


def test_bits_of_one_column_may_be_counted_against_each_other() -> None:
    sizes = {"a": 16, "b": 3}
    codes = random_table(3, sizes, 1000)
    bits = [Column.of("a", (np.arange(16) >> i) & 1, 2) for i in range(4)]
    marginals: list[Marginal] = [tuple(bits), (bits[2], "b", bits[0]), ("a", bits[1])]
    assert_counts(codes, sizes, marginals, 1000)


def test_a_permuting_lookup_is_applied() -> None:
    engine = MemoryEngine({"a": np.array([0, 0, 1, 2])}, {"a": 3})
    assert engine.counts([(Column("a", (2, 0, 1)),)])[0].tolist() == [1, 1, 2]


def test_a_lookup_may_have_codes_without_leaves() -> None:
    engine = MemoryEngine({"a": np.array([0, 1, 1])}, {"a": 2})
    assert engine.counts([(Column("a", (0, 2), 4),)])[0].tolist() == [1, 0, 2, 0]


def test_counts_of_nothing_asked_and_of_no_columns() -> None:
    engine = MemoryEngine({"a": np.array([0, 1, 1])}, {"a": 2})
    assert engine.counts([]) == []
    assert [table.tolist() for table in engine.counts([()])] == [[3]]


def test_an_empty_table_is_counted_like_any_other() -> None:
    engine = MemoryEngine({"a": np.array([], dtype=np.uint8)}, {"a": 2})
    assert engine.rows() == 0
    assert [table.tolist() for table in engine.counts([("a",), ()])] == [[0, 0], [0]]
    rows, weights = engine.distinct(["a"])
    assert rows.shape == (0, 1)
    assert len(weights) == 0


def test_results_of_one_call_do_not_share_memory() -> None:
    engine = MemoryEngine({"a": np.array([0, 1, 1])}, {"a": 2})
    first, second = engine.counts([("a",), ("a",)])
    first += 100
    assert second.tolist() == [1, 2]
    assert engine.counts([("a",)])[0].tolist() == [1, 2]


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 7, 60_000, 1 << 20]), min_size=1, max_size=8),
    length=st.integers(0, 60),
    seed=st.integers(0, 2**32),
)
def test_distinct_rows_are_sorted_complete_and_weighted(sizes: list[int], length: int, seed: int) -> None:
    """Eight columns of 2**20 codes exceed one 64-bit key: the ranks of partial keys must keep order."""
    named = {f"a{i}": size for i, size in enumerate(sizes)}
    codes = random_table(seed, named, length, patterns=10)
    rows, weights = MemoryEngine(codes, named).distinct(list(named))
    expected: dict[tuple[int, ...], int] = {}
    for row in zip(*(codes[name].tolist() for name in named), strict=True):
        expected[row] = expected.get(row, 0) + 1
    assert [tuple(row) for row in rows.tolist()] == sorted(expected)
    assert weights.tolist() == [expected[row] for row in sorted(expected)]


def test_distinct_of_some_columns_in_another_order() -> None:
    engine = MemoryEngine({"a": np.array([1, 0, 1]), "b": np.array([0, 1, 0])}, {"a": 2, "b": 2})
    rows, weights = engine.distinct(["b", "a"])
    assert rows.tolist() == [[0, 1], [1, 0]]
    assert weights.tolist() == [2, 1]


def test_a_code_outside_the_domain_is_refused_before_counting() -> None:
    with pytest.raises(DataError, match="a: row 2 holds code 5, the domain has the codes 0 to 2"):
        MemoryEngine({"a": np.array([0, 5])}, {"a": 3})
    with pytest.raises(DataError, match="code -1"):
        MemoryEngine({"a": np.array([-1])}, {"a": 3})


@pytest.mark.parametrize(
    ("marginal", "words"),
    [
        (("b",), "no column 'b'"),
        (("a", "a"), "same column twice"),
        ((Column("a", (0, 1)),), "lookup has 2 codes, the column 3"),
        ((Column("a", (0, 1, 2)), Column("a", (0, 1, 2))), "same column twice"),
    ],
)
def test_marginals_that_make_no_sense_are_refused(marginal: Marginal, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MemoryEngine({"a": np.array([0])}, {"a": 3}).counts([marginal])


def test_a_marginal_too_large_to_hold_is_refused() -> None:
    sizes = {f"a{i}": 1000 for i in range(4)}
    with pytest.raises(ValueError, match="cells exceeds the limit"):
        MemoryEngine(random_table(0, sizes, 3), sizes).counts([tuple(sizes)])


def test_a_name_alone_is_not_a_marginal() -> None:
    with pytest.raises(TypeError, match=r"write \('a',\)"):
        MemoryEngine({"a": np.array([0])}, {"a": 3}).counts(["a"])


@pytest.mark.parametrize(("codes", "size"), [((), None), ((-1,), None), ((0, 3), 3), (None, 2)])
def test_lookups_are_checked(codes: tuple[int, ...] | None, size: int | None) -> None:
    with pytest.raises(ValueError, match="a: "):
        Column("a", codes, size)


def test_the_memory_engine_keeps_the_protocol() -> None:
    assert isinstance(MemoryEngine({"a": np.array([0])}, {"a": 1}), Engine)


def test_all_pairs_of_15_columns_take_far_fewer_passes_than_pairs_and_no_loop_over_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What makes 45,000 rows a matter of milliseconds, counted; `studies/promises.py` has the seconds."""
    rng = np.random.default_rng(4)
    sizes = {f"a{i}": int(size) for i, size in enumerate(rng.integers(2, 17, 15))}
    engine = MemoryEngine(random_table(5, sizes, 45_000), sizes)
    pairs = list(itertools.combinations(sizes, 2))
    assert len(pairs) == 105
    tallied, plain = [], np.bincount

    def counted(keys: np.ndarray, *rest: object) -> np.ndarray:
        tallied.append(len(keys))
        return plain(keys, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(np, "bincount", counted)
        engine.counts(pairs)
    assert sum(tallied) < 45_000 * 40  # one pass over the rows for each pair would be 45,000 * 105
    assert calls(lambda: engine.counts(pairs)) < 45_000 / 2  # a loop over rows would be one each, at least
