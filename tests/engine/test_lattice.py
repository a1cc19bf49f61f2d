"""Lattices with resolutions per field, categories beside coordinates, and restricted to coarser cells."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from penstock.engine import Engine, MemoryEngine, Within, open_engine
from penstock.engine.coordinates import Coordinate
from penstock.engine.directions import Directions
from penstock.schema import Schema

FACTS = Schema.from_yaml("""
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 8}, missing: value}
  - {name: kind, constraints: {enum: [bus, tram, foot]}}
  - {name: hour, type: integer, constraints: {minimum: 0, maximum: 23}}
""")


def rides(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    x = rng.random(n) * 8
    return pl.DataFrame(
        {
            "x": [None if i % 50 == 0 else float(v) for i, v in enumerate(x)],
            "kind": rng.choice(["bus", "tram", "foot"], n).tolist(),
            "hour": rng.integers(0, 24, n),
        }
    )


@pytest.fixture(params=["memory", "duckdb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    path = tmp_path / "rides.parquet"
    rides().write_parquet(path)
    return open_engine(path, FACTS, engine=request.param, coordinates=True)


def test_every_field_has_its_own_resolution_and_categories_their_codes(engine: Engine) -> None:
    positions, weights = engine.lattice(["x", "kind", "hour"], [3, None, 2])
    there = rides().drop_nulls()
    codes = {"bus": 0, "tram": 1, "foot": 2}
    expected: dict[tuple[int, ...], int] = {}
    for x, kind, hour in there.iter_rows():
        place = (int(x), codes[kind], int(hour / 24 * 4))
        expected[place] = expected.get(place, 0) + 1
    assert dict(zip(map(tuple, positions.tolist()), weights.tolist(), strict=True)) == expected


def test_an_answer_can_be_restricted_to_cells_of_a_coarser_lattice(engine: Engine) -> None:
    chosen = np.array([[0, 3], [1, 0]])  # x in [0, 4) and hour in [18, 24); x in [4, 8) and hour in [0, 6)
    positions, weights = engine.lattice(["x", "hour"], [4, 3], Within(["x", "hour"], [1, 2], chosen))
    everything, all_weights = engine.lattice(["x", "hour"], [4, 3])
    kept = [
        place in {(0, 3), (1, 0)}
        for place in zip((everything[:, 0] >> 3).tolist(), (everything[:, 1] >> 1).tolist(), strict=True)
    ]
    assert 0 < sum(kept) < len(kept)
    assert positions.tolist() == everything[kept].tolist()
    assert weights.tolist() == all_weights[kept].tolist()


def test_a_category_has_no_lattice_and_a_stranger_no_column(engine: Engine) -> None:
    with pytest.raises(ValueError, match="no coordinate 'kind'"):
        engine.lattice(["kind"], 3)
    if isinstance(engine, MemoryEngine):
        with pytest.raises(ValueError, match="no column 'z'"):
            engine.lattice(["z"], [None])


def test_cells_of_a_grid_are_counted_alike_and_none_is_left_out(engine: Engine) -> None:
    counts = engine.grid(["x", "hour"], 30, [3, 5])
    there = rides().drop_nulls()
    expected = np.zeros((3, 5), dtype=np.int64)
    for x, _, hour in there.iter_rows():
        expected[min(int(x * 3 / 8), 2), int(hour * 5 / 24)] += 1
    assert counts.reshape(3, 5).tolist() == expected.tolist()
    assert counts.sum() == there.height
    assert engine.grid(["x"], 30, [1000]).size == 1000


@pytest.mark.parametrize("many", [1, 3, 40])
def test_the_nearest_centre_is_the_same_everywhere_and_the_first_of_several(
    engine: Engine, many: int
) -> None:
    rng = np.random.default_rng(many)
    bits, names = 6, ["x", "hour"]
    centres = rng.integers(0, 1 << (bits + 1), (many, 2))
    centres[-1] = centres[0]  # a tie for everything that is nearest to either
    counts, sums = engine.nearest(names, bits, centres)
    positions, weights = engine.lattice(names, bits)
    expected, totals = np.zeros(many, dtype=np.int64), np.zeros((many, 2), dtype=np.int64)
    for place, weight in zip(positions, weights, strict=True):
        apart = [
            sum((2 * int(p) + 1 - int(c)) ** 2 for p, c in zip(place, centre, strict=True))
            for centre in centres
        ]
        best = apart.index(min(apart))
        expected[best] += weight
        totals[best] += weight * place
    assert counts.tolist() == expected.tolist()
    assert sums.tolist() == totals.tolist()
    assert many == 1 or counts[-1] == 0


def test_too_fine_a_lattice_is_refused_before_doubles_round() -> None:
    places = Coordinate(0.0, 1.0)
    engine = MemoryEngine({"a": np.array([0])}, {"a": 1}, {"a": (np.array([0.5]), places)})
    with pytest.raises(ValueError, match="too fine"):
        engine.nearest(["a"], 26, np.array([[1]]))


def test_directions_are_the_same_everywhere_and_end_where_they_are_said_to(engine: Engine) -> None:
    """Two mixtures of two coordinates, by whole numbers; 400 records, 8 of them without an x."""
    across = Directions(np.array([[3, -2], [1, 1]]), np.array([7, -20]), bits=8, reach=600)
    seen = engine.projected(["x", "hour"], across)
    positions, weights = engine.lattice(["x", "hour"], 8)
    middles = 2 * np.repeat(positions, weights, axis=0) + 1 - 256
    expected = np.clip(middles @ across.weights.T - across.middle, -600, 600)
    assert seen.rows() == len(expected) == 392
    assert (np.abs(expected) == 600).any()
    found, many = seen.lattice(across.names, 10)
    places = np.minimum((expected + 600) * 1024 // 1200, 1023)
    rows, counted = np.unique(places, axis=0, return_counts=True)
    assert found.tolist() == rows.tolist()
    assert many.tolist() == counted.tolist()
    assert seen.grid(across.names, 30, [4, 4]).sum() == 392
    assert engine.rows() == 400
    within = Within(across.names[:1], [1], np.array([[1]]))
    assert seen.lattice(across.names, 10, within)[1].sum() == (places[:, 0] >= 512).sum()


def test_directions_beyond_what_doubles_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="doubles"):
        Directions(np.array([[1 << 30]]), np.array([0]), bits=23, reach=1)


def test_sums_and_products_are_the_same_everywhere(engine: Engine) -> None:
    positions, weights = engine.lattice(["x", "hour"], 8)
    rows = np.repeat(positions, weights, axis=0)
    many, sums, products = engine.moments(["x", "hour"], 8)
    assert many == len(rows) == 392
    assert sums.tolist() == rows.sum(axis=0).tolist()
    assert products.tolist() == (rows.T @ rows).tolist()
