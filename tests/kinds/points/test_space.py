"""Spaces: children partition their parent, keys keep cells together, engines agree."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SchemaError, UsageError
from penstock.kinds.points.data import Points
from penstock.kinds.points.space import Cells, Space
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import grow
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

MIXED = Schema.from_yaml("""
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: -1, maximum: 3}}
  - name: animal
    constraints: {enum: [newt, cat, dog, wolf, hen, duck]}
    taxonomy: {mammals: [cat, {canines: [dog, wolf]}], birds: {fowl: [hen, duck]}, amphibians: [newt]}
    missing: value
  - {name: age, type: integer, constraints: {minimum: 1, maximum: 11}}
  - {name: second, type: integer, constraints: {minimum: 0, maximum: 99999}}
  - {name: grade, constraints: {enum: [low, middle, high]}, categoriesOrdered: true}
""")


def zoo(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    animals = ["newt", "cat", "dog", "wolf", "hen", "duck", None]
    return pl.DataFrame(
        {
            "x": np.clip(rng.normal(0, 0.5, n), -1, 3),
            "animal": rng.choice(np.array(animals, dtype=object), n).tolist(),
            "age": rng.integers(1, 12, n),
            "second": rng.integers(0, 1000, n) ** 2 // 10,
            "grade": rng.choice(["low", "middle", "high"], n).tolist(),
        }
    )


def volume(space: Space, cells: Cells) -> int:
    return sum(int(np.prod(row.astype(object))) for row in cells.stop - cells.start)


@pytest.mark.parametrize("together", [None, 1, 2])
def test_children_are_disjoint_and_cover_their_parent(together: int | None) -> None:
    space = Space.of(MIXED, together=together, deepest=5)
    cells = space.top()
    for depth in range(4):
        fans = space.fans(cells, depth)
        assert fans.max() <= space.fan_out
        some = np.flatnonzero(fans > 0)[:7]
        below, parents, codes = space.children(cells.take(some), depth)
        assert np.bincount(parents).tolist() == fans[some].tolist()
        for number, parent in enumerate(some):
            mine = np.flatnonzero(parents == number)
            inside = Cells(below.start[mine], below.stop[mine])
            assert volume(space, inside) == volume(space, cells.take(np.array([parent])))
            assert (inside.start >= cells.start[parent]).all()
            assert (inside.stop <= cells.stop[parent]).all()
            assert (np.diff(codes[mine]) > 0).all()  # siblings in the order of their keys
        cells = below


def test_fan_out_is_the_product_over_all_fields() -> None:
    # x in 2, animal in mammals, birds, amphibians and missing, age in 2, second in 2, grade in 2
    assert Space.of(MIXED).fan_out == 2 * 4 * 2 * 2 * 2
    assert Space.of(MIXED, together=1).fan_out == 4


def test_a_group_with_a_single_member_is_passed_over() -> None:
    axis = Space.of(MIXED).axes[1]
    assert axis.listed is not None
    # birds holds only fowl, so its next cut is into hen and duck; newt is amphibians' only member
    assert [cut.tolist() for cut in axis.listed] == [
        [0],
        [0, 3, 5, 6],
        [0, 1, 3, 4, 5, 6],
        [0, 1, 2, 3, 4, 5, 6],
    ]
    assert axis.codes is not None
    assert [axis.codec.attribute.labels[code] for code in axis.codes] == [
        "cat", "dog", "wolf", "hen", "duck", "newt", "(missing)",
    ]  # fmt: skip


def test_whole_numbers_are_halved_down_to_single_values() -> None:
    age, second = Space.of(MIXED).axes[2], Space.of(MIXED).axes[3]
    assert age.listed is not None
    assert age.listed[-1].tolist() == list(range(11))
    assert second.listed is None
    edges = second.measured(np.arange(second.places + 1))
    assert (edges[0], edges[-1]) == (0, 100_000)
    assert set(np.diff(edges).tolist()) <= {1.0, 2.0}


@pytest.mark.parametrize("together", [None, 1, 2])
def test_every_cell_holds_exactly_the_records_between_its_places(together: int | None) -> None:
    frame = zoo(800)
    space = Space.of(MIXED, together=together, deepest=4)
    level = Points.open(frame, MIXED).top(space)
    for _ in range(3):
        split = np.flatnonzero(level.fans > 0)[::3]
        level = level.children(split)
        counts = open_seal(level.scores(np.arange(len(level.fans))))
        for cell in range(0, len(counts), 17):
            assert counts[cell] == inside(frame, space, level.cells.take(np.array([cell])))


def inside(frame: pl.DataFrame, space: Space, cell: Cells) -> int:
    """The same count, from the values themselves."""
    kept = np.ones(frame.height, dtype=bool)
    for number, axis in enumerate(space.axes):
        low, high = (float(axis.measured(side[:, number])[0]) for side in (cell.start, cell.stop))
        if axis.codes is not None:
            names = {axis.codec.attribute.labels[code] for code in axis.codes[int(low) : int(high)]}
            kept &= frame[axis.name].fill_null("(missing)").is_in(list(names)).to_numpy()
        else:
            begin, end = axis.values(np.array([low, high]))
            values = frame[axis.name].to_numpy().astype(float)
            kept &= (values >= begin) & ((values < end) | (high == axis.length))
    return int(kept.sum())


@given(st.integers(0, 10**6), st.sampled_from([None, 1, 3]))
@settings(max_examples=15, deadline=None)
def test_every_record_lies_in_exactly_one_leaf(seed: int, together: int | None) -> None:
    frame = zoo(120, seed)
    points = Points.open(frame, MIXED)
    space = Space.of(MIXED, together=together)
    pay = Budget(5, randomness=Randomness.seeded(seed))
    growth = grow(points.top(space), Splitter.paid(pay, fan_out=space.fan_out), deepest=space.deepest)
    assert open_seal(points.leaf_counts(growth)).sum() == 120


def test_a_database_grows_the_same_tree_as_memory(tmp_path: Path) -> None:
    path = tmp_path / "zoo.parquet"
    zoo(3000).write_parquet(path)
    grown = []
    for engine in ("memory", "duckdb"):
        points = Points.open(path, MIXED, engine=engine)
        space = Space.of(MIXED)
        splitter = Splitter.paid(Budget(2, randomness=Randomness.seeded(9)), fan_out=space.fan_out)
        growth = grow(points.top(space), splitter, deepest=space.deepest)
        grown.append((growth.shape.fans.tolist(), open_seal(points.leaf_counts(growth)).tolist()))
    assert grown[0] == grown[1]
    assert len(grown[0][0]) > 100


def test_a_database_is_asked_again_only_where_the_tree_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    import penstock.kinds.points.data as module

    schema = Schema.from_yaml("""
    kind: points
    fields:
      - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
      - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
    """)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.random(4000) ** 8, "y": rng.random(4000) ** 8})
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 1 << 8)
    shapes = []
    for engine in ("memory", "duckdb"):
        points, space = Points.open(frame, schema, engine=engine), Space.of(schema)
        splitter = Splitter.paid(Budget(4, randomness=Randomness.seeded(2)), fan_out=4)
        growth = grow(points.top(space), splitter, deepest=space.deepest)
        shapes.append(growth.shape.fans.tolist())
        answers = {id(level._cloud): len(level._cloud) for level in growth.levels}
    assert shapes[0] == shapes[1]
    assert len(answers) > 3
    assert max(answers.values()) < 4000  # never all points one by one


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
def test_keys_sort_places_by_cells_in_any_number_of_dimensions(count: int) -> None:
    fields = "\n".join(
        f"  - {{name: c{i}, type: number, constraints: {{minimum: 0, maximum: 1}}}}" for i in range(count)
    )
    schema = Schema.from_yaml(f"kind: points\nfields:\n{fields}")
    space = Space.of(schema)
    assert space.fan_out == (2**count if count <= 6 else 8)
    rng = np.random.default_rng(count)
    points = Points.open(pl.DataFrame({f"c{i}": rng.random(500) ** 20 for i in range(count)}), schema)
    growth = grow(
        points.top(space),
        Splitter.paid(Budget(50, randomness=Randomness.seeded(1)), fan_out=space.fan_out),
        deepest=space.deepest,
    )
    assert space.slot(growth.shape.depth - 1)[0] == space.words - 1  # deep enough to need every word
    assert (space.words > 1) == (count > 2)
    assert open_seal(points.leaf_counts(growth)).sum() == 500


def test_what_is_raw_does_not_print_itself() -> None:
    top = Points.open(zoo(37), MIXED).top(Space.of(MIXED))
    assert "37" not in repr(top)
    assert "37" not in repr(top._cloud)


def test_too_many_children_are_refused_before_anything_is_spent() -> None:
    names = ", ".join(f"c{i}" for i in range(4200))
    field = f"constraints: {{enum: [{names}]}}"
    tree = f"taxonomy: [{names}]"
    schema = Schema.from_yaml(f"kind: points\nfields:\n  - {{name: a, {field}, {tree}}}")
    with pytest.raises(SchemaError, match="smaller groups"):
        Space.of(schema)
    flat = Schema.from_yaml(f"kind: points\nfields:\n  - {{name: a, {field}}}")
    assert Space.of(flat).fan_out <= 18  # a plain list is cut in several steps


@pytest.mark.parametrize("options", [{"together": 0}, {"deepest": -1}])
def test_impossible_limits_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Space.of(MIXED, **options)
