"""Values that stand out, decimals, and missing values that are written as they came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lookalikes import churn, hospital

import penstock
from penstock.errors import SchemaError
from penstock.schema import Field, Schema, parse
from penstock.schema.codec import Codec


def number(**facts: Any) -> Field:
    return Field(name="x", type="number", constraints={"minimum": 0, "maximum": 100}, **facts)


def whole(**facts: Any) -> Field:
    return Field(name="x", type="integer", constraints={"minimum": 0, "maximum": 999}, **facts)


def test_each_spike_has_a_bin_of_its_own() -> None:
    assert whole(bins={"count": 2}, spikes=[0, 501, 999]).labels == (
        "0", "1..499", "500", "501", "502..998", "999",
    )  # fmt: skip
    assert number(bins={"count": 2}, spikes=[0, 12.5, 100]).labels == (
        "0", "(0, 12.5)", "12.5", "(12.5, 50)", "[50, 100)", "100",
    )  # fmt: skip


SPIKED = [
    whole(bins={"count": 3}, spikes=[0, 501, 999]),
    whole(spikes=[7], missing="value", missing_values=("-9",)),
    number(bins={"count": 3}, spikes=[0, 21.6, 100], decimals=1),
    number(bins={"edges": [0, 0.05, 100]}, decimals=1, missing="value"),
    number(bins={"width": 0.5}, decimals=0),
    number(spikes=[50]),
]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(SPIKED))
def test_what_is_drawn_lies_in_its_bin_and_a_spike_is_drawn_exactly(seed: int, declared: Field) -> None:
    codec, rng = Codec(declared, declared.missing_values or ("",)), np.random.default_rng(seed)
    codes = rng.integers(0, codec.size, 300)
    drawn = codec.decode(codes, rng)
    assert codec.encode(codec.marked(drawn)).tolist() == codes.tolist()
    assert codec.encode(codec.marked(drawn, as_text=True).cast(pl.String)).tolist() == codes.tolist()
    for value in declared.spikes:
        (own,) = codec.encode(pl.Series([value])).tolist()
        assert set(drawn.filter(pl.Series(codes == own)).to_list()) <= {value}


def test_numbers_have_the_decimals_that_the_schema_says() -> None:
    codec = Codec(number(bins={"count": 7}, decimals=1))
    drawn = codec.decode(np.arange(2000) % 7, np.random.default_rng(1))
    assert (drawn == drawn.round(1)).all()
    assert max(len(text.split(".")[1]) for text in drawn.cast(pl.String)) == 1


def test_numbers_with_decimals_are_drawn_evenly() -> None:
    """Chi-square of 5 values over 10,000 seeded draws; 45 is exceeded with probability below 1e-8."""
    codec = Codec(number(bins={"width": 5}, decimals=0))
    drawn = codec.decode(np.full(10_000, 3), np.random.default_rng(3)).to_numpy()
    assert set(drawn) == {15.0, 16.0, 17.0, 18.0, 19.0}
    counts = np.bincount(drawn.astype(int))[15:]
    assert ((counts - 2000) ** 2 / 2000).sum() < 45


@pytest.mark.parametrize(("question", "expected"), [
    ("x = 0", [1, 0, 0, 0, 0, 0]), ("x != 50", [1, 1, 0, 1, 1, 1]), ("x < 50", [1, 1, 0, 0, 0, 0]),
    ("x <= 50", [1, 1, 1, 0, 0, 0]), ("x > 50", [0, 0, 0, 1, 1, 0]), ("x in (0, 50)", [1, 0, 1, 0, 0, 0]),
])  # fmt: skip
def test_a_spike_can_be_asked_for(question: str, expected: list[int]) -> None:
    schema = Schema(fields=(number(bins={"edges": [0, 75, 100]}, spikes=[0, 50], missing="value"),))
    expected[-1] = 0
    found = parse(question, schema).table(("x",))
    assert found.tolist() == expected
    frame = pl.DataFrame({"x": [0, 3, 50, 51, 80, None]})
    assert parse(question, schema).holds(frame).tolist() == [bool(each) for each in expected]


@pytest.mark.parametrize(("facts", "why"), [
    ({"spikes": [1000]}, "the spike 1000 is not between"), ({"spikes": [5, 5]}, "given twice"),
    ({"spikes": 5}, "not a list"), ({"spikes": ["x"]}, "spike 'x' is not a whole number"),
    ({"decimals": 1}, "belong to a field of type 'number'"),
])  # fmt: skip
def test_spikes_and_decimals_that_cannot_be_meant_are_refused(facts: Any, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        whole(**facts)


def test_spikes_and_decimals_of_categories_are_refused() -> None:
    with pytest.raises(SchemaError, match="'spikes' belong to a range"):
        Field(name="x", type="integer", constraints={"enum": [1, 2]}, spikes=[1])
    with pytest.raises(SchemaError, match="decimals"):
        number(decimals=10)


def test_the_words_survive_a_file() -> None:
    schema = Schema(fields=(number(spikes=[0, 21.6], decimals=1, missing="value", missing_values=("N", "")),))
    text = schema.to_yaml()
    assert "spikes: [0, 21.6]" in text
    assert "decimals: 1" in text
    assert "missingValues: [N, '']" in text
    assert Schema.from_yaml(text) == schema


def test_adaptive_bins_leave_spikes_alone() -> None:
    schema = Schema(
        fields=(whole(bins={"adaptive": True, "most": 4}, spikes=[0, 501, 999]),),
    )
    frame = pl.DataFrame({"x": [0] * 400 + [501] * 300 + [999] * 200 + list(range(100, 500))})
    release = penstock.release(frame, schema, epsilon=4, method="independent", seed=1)
    assert {"0", "501", "999"} <= set(release.schema.field("x").labels)
    assert abs((release.sample(1300, seed=2)["x"] == 501).sum() - 300) < 60


def test_a_release_writes_missing_values_as_they_came(tmp_path: Path) -> None:
    made = hospital(800)
    schema = Schema.from_yaml(made.schema.replace("width: 5}", "width: 5}, decimals: 1"))
    release = penstock.release(made.frame, schema, epsilon=3, method="independent", seed=1)
    rows = release.sample(400, seed=3)
    assert rows["bmi"].dtype == pl.Float64
    assert rows["bmi"].null_count() > 0
    assert rows["glucose"].null_count() == 0
    assert (rows["glucose"] == -9).sum() > 0
    release.save(tmp_path / "out")
    written = pl.read_csv(tmp_path / "out" / "synthetic.csv", infer_schema=False)
    assert (written["bmi"] == "unknown").any()
    assert (written["glucose"] == "-9").any()
    assert all(len(text.partition(".")[2]) == 1 for text in written["bmi"] if text != "unknown")
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    fields = {field["name"]: field for field in package["resources"][0]["schema"]["fields"]}
    assert fields["bmi"]["missingValues"] == ["unknown"]
    assert fields["glucose"]["missingValues"] == ["-9"]
    assert fields["glucose"]["constraints"]["minimum"] == 0
    assert "missingValues" not in fields["age"]
    assert schema.encode(written).keys() == schema.encode(rows).keys()
    assert penstock.load(tmp_path / "out").sample(400, seed=3).equals(rows)


def test_planted_spikes_survive_a_release() -> None:
    made = churn(2000)
    text = made.schema.replace("bins: {edges: [0, 501, 502, 1000, 2000, 3000]}", "spikes: [501]")
    text = text.replace("bins: {edges: [0, 30, 90, 180, 365, 999, 999]}", "spikes: [999]")
    schema = Schema.from_yaml(text)
    rows = penstock.release(made.frame, schema, epsilon=3, method="independent", seed=1).sample(2000, seed=1)
    for name, (value,) in made.spikes.items():
        truth = (made.frame[name] == str(value)).sum()
        assert abs((rows[name] == value).sum() - truth) < 120
