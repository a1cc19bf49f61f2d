"""Lattices with resolutions per field, categories beside coordinates, and restricted to coarser cells."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from penstock.engine import Engine, MemoryEngine, Within, open_engine
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
