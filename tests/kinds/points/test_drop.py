"""Points that lie elsewhere are left out: on every engine alike, before anything is counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import penstock
from penstock.engine import open_engine
from penstock.errors import DataError, SchemaError
from penstock.kinds.points.data import Points
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

MAP = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}, outside: drop}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}, outside: drop}
"""
FRAME = pl.DataFrame({"x": [0.1, 0.9, 1.5, 0.2, -3.0, 1.0], "y": [0.1, 0.9, 0.5, 7.0, -1.0, 0.0]})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_what_lies_outside_is_counted_nowhere(tmp_path: Path, engine: str) -> None:
    FRAME.write_csv(tmp_path / "rides.csv")
    points = Points.open(tmp_path / "rides.csv", Schema.from_yaml(MAP), engine=engine)
    assert int(open_seal(points.size()).sum()) == 3
    assert open_seal(points.histogram([2, 2])).reshape(2, 2).tolist() == [[1, 0], [1, 1]]
    clamped = Points.open(
        tmp_path / "rides.csv", Schema.from_yaml(MAP.replace("drop", "clamp")), engine=engine
    )
    assert int(open_seal(clamped.size()).sum()) == 6


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_dropped_row_is_not_refused_for_another_column_and_others_still_are(
    tmp_path: Path, engine: str
) -> None:
    rows = pl.DataFrame({"x": ["0.1", "5", "0.2"], "y": ["0.1", "what", "0.3"]})
    rows.write_csv(tmp_path / "rides.csv")
    kept = open_engine(tmp_path / "rides.csv", Schema.from_yaml(MAP), engine=engine, coordinates=True)
    assert kept is not None
    rows.with_columns(pl.Series("x", ["0.1", "0.5", "0.2"])).write_csv(tmp_path / "rides.csv")
    with pytest.raises(DataError, match="what"):
        open_engine(tmp_path / "rides.csv", Schema.from_yaml(MAP), engine=engine, coordinates=True)


def test_an_evaluation_compares_with_what_stayed() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(0.5, 0.4, 2000), "y": rng.normal(0.5, 0.4, 2000)})
    schema = Schema.from_yaml(MAP)
    made = penstock.release(frame, schema, epsilon=50, seed=1)
    inside = frame.filter(pl.col("x").is_between(0, 1) & pl.col("y").is_between(0, 1))
    told, again = (penstock.evaluate(made, each).scores for each in (frame, inside))
    assert [score.value for score in told] == [score.value for score in again]


def test_only_points_are_dropped_and_only_by_bounds() -> None:
    with pytest.raises(SchemaError, match="only points on a map can be dropped"):
        Schema.from_yaml(MAP.replace("kind: points", "kind: table"))
    with pytest.raises(SchemaError, match="outside of bounds"):
        Schema.from_yaml("{kind: points, fields: [{name: a, constraints: {enum: [b]}, outside: drop}]}")
