"""Encodings: worked codes, round trips, and decoding that never fails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kinds.table.network.encoding import EncodingName, Variable, encode_as, encoded
from penstock.schema import Schema

SCHEMA = Schema.from_yaml("""
fields:
- {name: age, type: integer, constraints: {minimum: 0, maximum: 15}, bins: {width: 1}}
- name: job
  constraints: {enum: [clerk, cook, nurse, farmer, none]}
  taxonomy: {service: [clerk, cook, nurse], other: [farmer, none]}
  missing: value
- {name: sex, constraints: {enum: [f, m]}}
- {name: planet, constraints: {enum: [earth]}}
""")


def pattern(variables: tuple[Variable, ...], code: int) -> str:
    return "".join(str(code if v.codes is None else v.codes[code]) for v in variables)


def test_gray_codes_of_eight_values() -> None:
    bits = encode_as("gray", [("age", 8)]).variables
    assert [pattern(bits, code) for code in range(8)] == [
        "000",
        "001",
        "011",
        "010",
        "110",
        "111",
        "101",
        "100",
    ]
    # age (30, 40] is index 3: its first bit flipped is (40, 50], its last bit flipped is (20, 30]
    assert [pattern(bits, 3), pattern(bits, 4), pattern(bits, 2)] == ["010", "110", "011"]


def test_second_binary_bit_of_age_joins_distant_intervals() -> None:
    second = encode_as("binary", [("age", 8)]).variables[1]
    assert second.codes == (0, 0, 1, 1, 0, 0, 1, 1)  # (20, 40] and (60, 80]


def test_continuous_tree_of_sixteen_bins() -> None:
    age = encoded("hierarchical", SCHEMA.attributes).variables[0]
    assert age.sizes == (16, 8, 4, 2)
    assert [level.groups[13] for level in age.levels] == [13, 6, 3, 1]


def test_taxonomy_levels_keep_missing_values_apart_and_vanilla_has_none() -> None:
    job = encoded("hierarchical", SCHEMA.attributes).variables[1]
    assert [level.groups for level in job.levels] == [(0, 1, 2, 3, 4, 5), (0, 0, 0, 1, 1, 2)]
    assert [v.sizes for v in encoded("vanilla", SCHEMA.attributes).variables] == [(16,), (6,), (2,)]


def test_attributes_with_one_code_become_no_variable() -> None:
    for name in ("binary", "gray", "vanilla", "hierarchical"):
        encoding = encoded(name, SCHEMA.attributes)
        assert "planet" not in {variable.attribute for variable in encoding.variables}
    assert len(encoded("binary", SCHEMA.attributes).variables) == 4 + 3 + 1
    assert encoded("binary", SCHEMA.attributes).binary
    assert not encoded("vanilla", SCHEMA.attributes).binary


@pytest.mark.parametrize("name", ["binary", "gray", "vanilla", "hierarchical"])
def test_every_code_survives_the_round_trip(name: EncodingName) -> None:
    encoding = encoded(name, SCHEMA.attributes)
    rows = {a.name: np.random.default_rng(1).integers(a.size, size=200) for a in SCHEMA.attributes}
    seen = [
        rows[v.attribute] if v.codes is None else np.array(v.codes)[rows[v.attribute]]
        for v in encoding.variables
    ]
    codes, valid = encoding.codes(seen, 200)
    assert valid.all()
    assert {key: value.tolist() for key, value in codes.items()} == {k: v.tolist() for k, v in rows.items()}


@given(st.sampled_from(["binary", "gray"]), st.lists(st.integers(2, 41), min_size=1, max_size=4), st.data())
def test_any_bits_decode_to_declared_codes(name: EncodingName, sizes: list[int], data: st.DataObject) -> None:
    encoding = encode_as(name, [(f"a{i}", size) for i, size in enumerate(sizes)])
    bits = [
        np.array(data.draw(st.lists(st.integers(0, 1), min_size=6, max_size=6))) for _ in encoding.variables
    ]
    codes, valid = encoding.codes(bits, 6)
    for i, size in enumerate(sizes):
        assert ((codes[f"a{i}"] >= 0) & (codes[f"a{i}"] < size)).all()
    again = [
        codes[v.attribute] if v.codes is None else np.array(v.codes)[codes[v.attribute]]
        for v in encoding.variables
    ]
    assert np.array_equal(np.array(again)[:, valid], np.array(bits)[:, valid])


def test_views_count_bits_and_levels_of_the_same_column() -> None:
    encoding = encoded("hierarchical", SCHEMA.attributes)
    age, job, sex = encoding.variables
    assert sex.column() == "sex"
    assert age.column(3).size == 2
    assert job.column(1).codes == (0, 0, 0, 1, 1, 2)
    bit = encoded("binary", SCHEMA.attributes).variables[0]
    assert bit.column().codes == (0,) * 8 + (1,) * 8
    assert bit.column() is bit.column()
