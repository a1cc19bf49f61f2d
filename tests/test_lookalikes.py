"""The made-up tables hold the facts that were planted in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from tests import lookalikes
from tests.lookalikes import Lookalike, census, churn, event_log, hospital

from penstock.schema import Schema, parse

TABLES = [census, churn, hospital]


@pytest.mark.parametrize("make", TABLES)
def test_rules_hold_without_exception_and_groups_are_not_small(make: Callable[[], Lookalike]) -> None:
    table = make()
    schema = Schema.from_yaml(table.ruled())
    assert len(schema.impossible) == len(table.rules)
    assert not schema.rules_out(table.frame).any()
    for group in table.groups:
        assert parse(group, schema).holds(table.frame).mean() >= 0.03, group
    assert set(schema.encode(table.frame)) == set(table.frame.columns) - set(table.identifiers)


def test_the_census_has_its_size_and_its_rules() -> None:
    table = census(500)
    assert table.frame.shape == (500, 24)
    assert len(set(table.rules)) == 20


@pytest.mark.parametrize("make", TABLES)
def test_markers_spikes_codes_and_identifiers_are_there(make: Callable[[], Lookalike]) -> None:
    table = make()
    for name, marker in table.markers.items():
        assert (table.frame[name] == marker).any()
    for name, values in table.spikes.items():
        known = table.frame[name].filter(table.frame[name] != table.markers.get(name, ""))
        numbers = known.cast(pl.Float64)
        others = numbers.filter(~numbers.is_in([float(value) for value in values]))
        most = int(others.value_counts()["count"].to_numpy().max())
        assert all(int((numbers == value).sum()) > 2 * most for value in values), name
    for name, listed in table.codes.items():
        found = table.frame[name].filter(table.frame[name] != table.markers.get(name, "")).unique()
        assert sorted(map(int, found)) == list(listed)
    for name in table.identifiers:
        assert table.frame[name].n_unique() > len(table.frame) / 4


@pytest.mark.parametrize("make", TABLES)
def test_columns_depend_on_one_another(make: Callable[[], Lookalike]) -> None:
    table = make()
    codes = Schema.from_yaml(table.schema).encode(table.frame)
    for one, other in table.depends:
        joint = np.zeros((int(codes[one].max()) + 1, int(codes[other].max()) + 1))
        np.add.at(joint, (codes[one], codes[other]), 1 / len(table.frame))
        apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        assert np.abs(joint - apart).sum() / 2 > 0.1, (one, other)


@pytest.mark.parametrize("make", [*TABLES, event_log])
def test_the_same_seed_gives_the_same_table(make: Callable[..., Lookalike]) -> None:
    assert make(50, 7).frame.equals(make(50, 7).frame)
    assert not make(50, 7).frame.equals(make(50, 8).frame)


def test_cases_begin_end_and_choose_as_planted() -> None:
    log = event_log()
    cases = (
        log.frame.group_by("case:concept:name", maintain_order=True)
        .agg("concept:name")["concept:name"]
        .to_list()
    )
    lengths = [len(case) for case in cases]
    assert 18 < np.mean(lengths) + 1 < 20
    assert max(lengths) + 1 <= lookalikes.LONGEST_CASE
    for case in cases:
        assert case[0] == lookalikes.FIRST
        assert case[-1] == lookalikes.LAST
        assert all(case.count(name) <= 1 for name in lookalikes.ONCE)
        assert not set(lookalikes.NEVER_BOTH) <= set(case)
