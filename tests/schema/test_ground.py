"""Public lines on maps: read from GeoJSON beside the schema, kept in the release, drawn on maps alone."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import penstock
from penstock.errors import SchemaError
from penstock.schema import Schema

COAST = {
    "type": "FeatureCollection",
    "features": [
        {"type": "Feature", "geometry": geometry}
        for geometry in (
            {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]},
            {"type": "MultiLineString", "coordinates": [[[0, 0.5, 9], [1, 0.5, 9]]]},
            {"type": "Point", "coordinates": [0, 0]},
            None,
        )
    ],
}
SCHEMA = """
kind: points
ground: coast.geojson
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
"""


def written(folder: Path, coast: str = json.dumps(COAST), schema: str = SCHEMA) -> Path:
    (folder / "coast.geojson").write_text(coast)
    (folder / "rides.schema.yaml").write_text(schema)
    return folder / "rides.schema.yaml"


def test_lines_and_borders_are_read_kept_and_drawn(tmp_path: Path) -> None:
    schema = Schema.load(written(tmp_path))
    assert schema.ground == (((0, 0), (1, 0), (1, 1), (0, 0)), ((0, 0.5), (1, 0.5)))
    assert Schema.from_yaml(schema.to_yaml()) == schema
    frame = pl.DataFrame({"x": [0.1, 0.9] * 50, "y": [0.2, 0.8] * 50})
    made = penstock.release(frame, schema, epsilon=1, seed=1, out=tmp_path / "release")
    assert penstock.load(tmp_path / "release").schema.ground == made.schema.ground
    page = (tmp_path / "release" / "report.html").read_text()
    assert page.count('"meta":{"ground":true}') == 2  # on both maps, and on no other picture
    compared = penstock.evaluate(made, frame, learning=False).report()
    assert compared.count('"meta":{"ground":true}') == 2


@pytest.mark.parametrize(
    ("coast", "says"),
    [
        ("{", "no GeoJSON"),
        ("[]", "no GeoJSON"),
        ('{"type": "Circle"}', "no GeoJSON"),
        (f'{{"type": "LineString", "coordinates": [[1{"0" * 400}, 0]]}}', "no GeoJSON"),
        ('{"type": "LineString", "coordinates": [["a", "b"]]}', "no GeoJSON"),
        ('{"type": "LineString", "coordinates": [[1e999, 0]]}', "not finite"),
        (json.dumps({"type": "LineString", "coordinates": [[0, 0]] * 50_001}), "too many"),
    ],
)
def test_what_is_no_map_is_one_sentence(tmp_path: Path, coast: str, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Schema.load(written(tmp_path, coast))


def test_only_kinds_with_maps_have_a_ground_and_files_lie_beside_the_schema(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no map to draw it under"):
        Schema.load(written(tmp_path, schema=SCHEMA.replace("kind: points", "kind: table")))
    with pytest.raises(SchemaError, match="not beside the schema"):
        Schema.load(written(tmp_path, schema=SCHEMA.replace("coast.geojson", "../coast.geojson")))
    with pytest.raises(SchemaError, match="not a list of lines"):
        Schema.from_yaml(SCHEMA)
