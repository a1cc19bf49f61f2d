"""A plan answers every marginal exactly once, from supersets of bounded size."""

import itertools
from math import prod

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.engine.marginal import Column, Columns
from penstock.engine.plan import Superset, cover


def cells(superset: Superset, columns: Columns) -> int:
    return prod(columns.size[number] for number in superset.columns)


def answers(superset: Superset, marginal: tuple[int, ...], columns: Columns) -> bool:
    """Every column of the marginal is in the superset, itself or as the plain column that it looks up."""
    return all(n in superset.columns or columns.base[n] in superset.columns for n in marginal)


@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=7),
    limit=st.sampled_from([1, 10, 100, 5000]),
    seed=st.integers(0, 2**32),
    count=st.integers(0, 60),
)
@example(sizes=[1, 1, 1, 1, 1, 2], limit=1, seed=37, count=2)  # lookups with more codes than their column
def test_every_marginal_is_answered_once_within_the_limit(
    sizes: list[int], limit: int, seed: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = Columns({f"a{i}": size for i, size in enumerate(sizes)})
    for name, size in zip(columns.names, sizes, strict=True):
        columns.numbers([(Column.of(name, rng.integers(0, 3, size), 3),)])
        columns.numbers([(Column.of(name, np.arange(size) // 2),)])
    marginals = [
        tuple(rng.choice(len(columns.base), int(rng.integers(0, min(6, len(sizes)))), replace=False).tolist())
        for _ in range(count)
    ]
    plan = cover(marginals, columns, limit)
    assert sorted(itertools.chain.from_iterable(s.members for s in plan)) == list(range(count))
    for superset in plan:
        assert len(set(superset.columns)) == len(superset.columns)
        assert all(answers(superset, marginals[member], columns) for member in superset.members)
        own = max(prod(columns.size[n] for n in marginals[member]) for member in superset.members)
        assert cells(superset, columns) <= max(limit, own)


def test_overlapping_marginals_share_few_supersets() -> None:
    columns = Columns({f"a{i}": 4 for i in range(12)})
    pairs = list(itertools.combinations(range(12), 2))
    plan = cover(pairs, columns, 4**6)
    assert len(plan) <= 10  # 66 pairs, 15 in a superset of six columns


def test_a_plain_column_answers_its_lookups_for_free() -> None:
    columns = Columns({"a": 8, "b": 8})
    asked = [Column.of("a", np.arange(8) // 2), Column.of("a", np.arange(8) // 4), Column("a")]
    marginals = columns.numbers([(column, "b") for column in asked])
    assert [superset.columns for superset in cover(marginals, columns, 64)] == [(1, 0)]
