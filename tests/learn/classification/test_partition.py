"""Hierarchies from the schema, and the grids made of their levels."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.learn.classification.adult import MULTICLASS, SIZES

from penstock.errors import SchemaError, UsageError
from penstock.kinds.table.target import target_of
from penstock.learn.classification.grids import LOOKED_AT, Levels, around, grids, partition
from penstock.learn.classification.partition import ANY, Hierarchy, hierarchies, named
from penstock.schema import Schema

YAML = """
fields:
  - name: work
    taxonomy: [Never, {Worked: [Without-pay, {Paid: [Private, {Gov: [State, Local]}]}]}]
  - name: gain
    type: integer
    constraints: {minimum: 0, maximum: 100}
    bins: {edges: [0, 6, 11, 16, 21, 100], coarser: [[11, 21], [21]]}
    missing: value
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 79}, bins: {count: 8}}
  - {name: constant, constraints: {enum: [same]}}
  - {name: rich, constraints: {enum: ['yes', 'no']}}
target: rich
"""
SCHEMA = Schema.from_yaml(YAML)


def sizes_of(schema: Schema) -> dict[str, tuple[int, ...]]:
    return {hierarchy.name: hierarchy.sizes for hierarchy in hierarchies(schema.attributes, "rich")}


def test_levels_come_from_the_schema_and_shallow_leaves_stay_what_they_are() -> None:
    assert sizes_of(SCHEMA) == {
        "work": (1, 2, 3, 4, 5),
        "gain": (1, 3, 4, 6),  # a missing value is a group of its own at every level but the root
        "age": (1, 2, 4, 8),
        "constant": (1,),
    }
    work = Hierarchy.of(SCHEMA.attribute("work"))
    assert work.levels[2].labels == ("Never", "Without-pay", "Paid")
    assert work.levels[0].labels == (ANY,)


def test_every_level_is_a_partition_that_the_next_one_refines() -> None:
    for hierarchy in hierarchies(SCHEMA.attributes, "rich"):
        for coarse, fine in zip(hierarchy.levels, hierarchy.levels[1:], strict=False):
            assert coarse.size < fine.size
            assert len({(f, c) for f, c in zip(fine.of, coarse.of, strict=True)}) == fine.size
        for groups in hierarchy.levels:
            assert sorted(set(groups.of.tolist())) == list(range(groups.size))


def test_coarser_bins_are_read_back_and_refused_where_no_bin_ends() -> None:
    again = Schema.from_yaml(SCHEMA.to_yaml())
    assert again == SCHEMA
    assert sizes_of(again) == sizes_of(SCHEMA)
    gain = Hierarchy.of(SCHEMA.attribute("gain"))
    assert gain.levels[1].labels == ("0..20", "21..100", "(missing)")
    for coarser in ("[[12]]", "[[11], [6]]"):
        with pytest.raises(SchemaError, match="not among the inner"):
            Schema.from_yaml(YAML.replace("[[11, 21], [21]]", coarser))


def test_the_target_is_a_column_of_categories() -> None:
    assert target_of(SCHEMA, None) == "rich"
    assert target_of(SCHEMA, "work") == "work"
    for stated in ("age", "constant", "nobody"):
        with pytest.raises(UsageError, match="target"):
            target_of(SCHEMA, stated)
    with pytest.raises(UsageError, match="Say which column"):
        target_of(Schema.from_yaml("fields: [{name: a, type: boolean}]"), None)


@pytest.mark.parametrize(
    ("most_cells", "number"),
    [
        (1, 1),
        (2, 8),
        (4, 36),
        (10, 168),
        (50, 2343),
        (100, 5858),
        (244, 17_418),
        (488, 36_805),
        (977, 72_933),
        (2442, 167_125),
        (4884, 294_911),
    ],
)
def test_there_are_as_many_grids_of_adult_as_the_specification_counts(most_cells: int, number: int) -> None:
    assert len(grids(list(SIZES.values()), most_cells, 10**9)) == number


def test_grids_of_adult_by_their_number_of_columns() -> None:
    found = Counter(len(grid) for grid in grids(list(SIZES.values()), 100, 10**9))
    assert found == {0: 1, 1: 35, 2: 488, 3: 2079, 4: 2433, 5: 761, 6: 61}
    assert prod(map(len, SIZES.values())) == 27_993_600
    assert prod(map(len, MULTICLASS.values())) == 13_996_800
    assert len(grids(list(MULTICLASS.values()), 100, 10**9)) == 4886
    assert len(grids(list(MULTICLASS.values()), 244, 10**9)) == 13_999
    assert len(grids(list(MULTICLASS.values()), 4884, 10**9)) == 213_535


SIZED = st.lists(st.lists(st.integers(2, 9), max_size=3, unique=True).map(lambda more: (1, *sorted(more))))


@given(SIZED.filter(lambda sizes: len(sizes) <= 4), st.integers(0, 60), st.integers(1, 40))
def test_grids_are_all_that_fit_each_once_and_a_limit_cuts_the_list_short(
    sizes: list[tuple[int, ...]], most_cells: int, most_grids: int
) -> None:
    every = grids(sizes, most_cells, 10**9)
    assert len(set(every)) == len(every)
    fitting = {
        tuple((column, int(level)) for column, level in enumerate(levels) if level)
        for levels in np.ndindex(*map(len, sizes))
        if prod(some[level] for some, level in zip(sizes, levels, strict=True)) <= most_cells
    }
    assert set(every) == fitting | {()}
    assert grids(sizes, most_cells, most_grids) == every[:most_grids]


@given(SIZED.filter(lambda sizes: len(sizes) <= 4), st.integers(1, 60))
def test_every_grid_that_fits_is_a_coarser_view_of_one_of_the_finest(
    sizes: list[tuple[int, ...]], most_cells: int
) -> None:
    listed = grids(sizes, most_cells, 10**9, levels="finest")
    every = grids(sizes, most_cells, 10**9)
    assert set(listed) <= set(every)
    for grid in every:
        same = [dict(other) for other in listed if dict(other).keys() == dict(grid).keys()]
        assert any(all(other[column] >= level for column, level in grid) for other in same)
    for grid, other in product(listed, listed):
        if grid != other and dict(grid).keys() == dict(other).keys():
            assert not all(dict(other)[column] >= level for column, level in grid)


def test_the_search_for_the_finest_ends_where_it_looked_at_ten_times_as_many_as_are_wanted() -> None:
    sizes = [(1, *range(2, 40))] * 3
    assert len(grids(sizes, 10**9, 100)) == 100
    assert LOOKED_AT * 10 == 100  # the root and 38 levels each of two columns are 77
    assert grids(sizes, 10**9, 10, levels="finest") == [(), ((0, 38),), ((1, 38),)]


@given(
    SIZED.filter(lambda sizes: len(sizes) <= 4),
    st.integers(1, 60),
    st.sampled_from(["all", "finest", "even"]),
    st.integers(1, 40),
)
def test_a_beam_lists_some_of_what_fits_each_once_and_no_more_than_are_wanted(
    sizes: list[tuple[int, ...]], most_cells: int, levels: Levels, most_grids: int
) -> None:
    every = set(grids(sizes, most_cells, 10**9))
    some = grids(sizes, most_cells, most_grids, levels=levels, search="beam")
    assert some[0] == ()
    assert len(set(some)) == len(some) <= most_grids
    assert set(some) <= every
    whole = grids(sizes, most_cells, 10**6, levels=levels, search="beam")
    assert set(whole) == set(grids(sizes, most_cells, 10**6, levels=levels))


@given(SIZED.filter(lambda sizes: len(sizes) <= 4), st.integers(1, 60))
def test_even_levels_make_one_finest_grid_of_every_set_of_columns_that_fits(
    sizes: list[tuple[int, ...]], most_cells: int
) -> None:
    even = grids(sizes, most_cells, 10**9, levels="even")
    assert set(even) <= set(grids(sizes, most_cells, 10**9, levels="finest"))
    columns = [tuple(column for column, _ in grid) for grid in even]
    fitting = {tuple(column for column, _ in grid) for grid in grids(sizes, most_cells, 10**9)}
    assert len(columns) == len(set(columns)) == len(fitting)


def test_a_beam_reaches_grids_of_many_columns_where_the_first_grids_are_of_two() -> None:
    sizes = [(1, 2, 4, 8, 16)] * 64
    first, beam = (grids(sizes, 170, 10_000, search=search) for search in ("first", "beam"))
    assert max(map(len, first)) == 2
    assert max(map(len, beam)) >= 4
    seen = Counter(column for grid in beam for column, _ in grid)
    assert min(seen.values()) > max(seen.values()) / 20  # none is left out


@given(SIZED.filter(lambda sizes: len(sizes) <= 4), st.integers(1, 60), st.data())
def test_around_a_grid_are_itself_and_what_differs_by_a_column_or_makes_room_for_one(
    sizes: list[tuple[int, ...]], most_cells: int, data: st.DataObject
) -> None:
    every = grids(sizes, most_cells, 10**9)
    grid = data.draw(st.sampled_from(every))
    near = around(grid, sizes, most_cells, 10**9)
    assert near[0] == grid
    assert len(set(near)) == len(near)
    assert set(near) <= set(every)
    here = dict(grid)
    for other in every:
        levels = dict(other)
        changed = [c for c in {**here, **levels} if here.get(c, 0) != levels.get(c, 0)]
        new = [column for column in changed if column not in here]
        coarser = all(levels.get(column, 0) < here[column] for column in changed if column in here)
        expected = len(changed) <= 1 or (len(changed) == 2 and len(new) == 1 and coarser)
        assert (other in near) == expected
    assert around(grid, sizes, most_cells, 2) == near[:2]


def test_rows_are_sorted_into_cells_by_the_groups_of_their_codes() -> None:
    columns = hierarchies(SCHEMA.attributes, "rich")
    cells = partition(((0, 1), (2, 1)), columns)
    assert (cells.names, cells.shape, cells.cells) == (("work", "age"), (2, 2), 4)
    codes = {"work": np.array([0, 1, 4]), "age": np.array([0, 7, 3])}
    assert cells.cells_of(codes, 3).tolist() == [0, 3, 2]
    assert cells.places().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert partition((), columns).cells_of(codes, 3).tolist() == [0, 0, 0]


def test_groups_are_called_as_the_schema_calls_them() -> None:
    work = SCHEMA.attribute("work")
    assert named(work, np.array([0, 0, 1, 1, 1])).labels == ("Never, Without-pay", "Paid")
    age = SCHEMA.attribute("age")
    assert named(age, np.array([0, 0, 1, 1, 1, 1, 1, 1])).labels == ("0..19", "20..79")
    apart = named(age, np.array([0, 1, 0, 0, 0, 0, 0, 1])).labels
    assert apart == ("0..9, 20..29, 30..39 and 3 more", "10..19, 70..79")
