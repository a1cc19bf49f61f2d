"""Rules and questions that compare two columns, and those of the form if … then …"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import QueryError, SchemaError
from penstock.schema import Schema, parse

STAYS = Schema.from_yaml("""
fields:
  - {name: admitted, type: integer, constraints: {minimum: 0, maximum: 29}, bins: {width: 10}}
  - name: discharged
    type: integer
    missing: value
    constraints: {minimum: 0, maximum: 39}
    bins: {width: 10}
  - {name: ward, type: integer, constraints: {enum: [1, 2, 10]}}
  - {name: weight, type: number, constraints: {minimum: 0, maximum: 8}, bins: {count: 4}}
  - {name: height, type: number, constraints: {minimum: 0, maximum: 4}, bins: {count: 2}}
  - {name: name, constraints: {enum: [ward, other]}}
  - {name: day, type: date, constraints: {minimum: 2024-01-01, maximum: 2024-12-31}}
""")


def test_two_columns_are_compared_value_by_value() -> None:
    rows = pl.DataFrame({"admitted": [3, 12, 9], "discharged": [5, 11, None]})
    assert parse("discharged >= admitted", STAYS).holds(rows).tolist() == [True, False, False]
    assert parse("discharged < admitted", STAYS).holds(rows).tolist() == [False, True, False]
    assert parse("not discharged >= admitted", STAYS).holds(rows).tolist() == [False, True, True]


def test_on_codes_a_comparison_has_the_chance_of_even_values() -> None:
    table = parse("admitted < discharged", STAYS).table(("admitted", "discharged"))
    assert table[0].tolist() == pytest.approx([0.45, 1, 1, 1, 0])  # 45 of 100 pairs of digits rise
    assert table[2].tolist() == pytest.approx([0, 0, 0.45, 1, 0])
    real = parse("weight <= height", STAYS).table(("weight", "height"))
    assert real[0, 1] == 1
    assert real[3].tolist() == [0, 0]
    assert real[0, 0] == pytest.approx(0.5, abs=0.01)


def test_codes_that_hold_numbers_compare_with_numbers() -> None:
    rows = pl.DataFrame({"ward": [1, 2, 10], "admitted": [1, 5, 9]})
    assert parse("ward > admitted", STAYS).holds(rows).tolist() == [False, False, True]
    assert parse("ward = admitted", STAYS).holds(rows).tolist() == [True, False, False]


def test_a_category_of_that_name_is_meant_before_a_column() -> None:
    assert parse("name = ward", STAYS).names == ("name",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("admitted < day", "cannot be compared"),
        ("weight = height", "hardly ever equal"),
        ("admitted < dischargedd", "'dischargedd' is not a whole number"),
    ],
)
def test_columns_that_do_not_compare_are_refused(text: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        parse(text, STAYS)


def test_if_then_is_an_implication() -> None:
    rows = pl.DataFrame({"admitted": [3, 3, 20], "ward": [1, 2, 2]})
    assert parse("if admitted < 5 then ward = 1", STAYS).holds(rows).tolist() == [True, False, True]
    nested = parse("if admitted < 5 then if ward != 1 then admitted = 3", STAYS)
    assert nested.holds(rows).tolist() == [True, True, True]
    with pytest.raises(QueryError, match="'then' is expected"):
        parse("if admitted < 5", STAYS)
    named = Schema.from_yaml("fields: [{name: if, type: boolean}]")
    assert parse("if = true", named).names == ("if",)


def test_what_always_holds_is_the_opposite_of_what_is_impossible() -> None:
    facts = 'always: ["discharged >= admitted", "if admitted < 5 then ward = 1"]\n'
    schema = Schema.from_yaml(facts + STAYS.to_yaml())
    rows = pl.DataFrame({"admitted": [3, 12, 12, 3], "discharged": [5, 11, None, None], "ward": [1, 1, 1, 2]})
    assert schema.rules_out(rows).tolist() == [False, True, False, True]
    assert Schema.from_yaml(schema.to_yaml()) == schema
    with pytest.raises(SchemaError, match="always: At position 1: 'nobody' is not a field"):
        Schema.from_yaml('always: ["nobody > 3"]\n' + STAYS.to_yaml())


TWICE = ["admitted < 15 or discharged < admitted", "ward < admitted and admitted < discharged"]
"""They ask twice about values inside one bin, which are taken to be independent; what is certain stays so."""

CONDITIONS = [
    *TWICE,
    "admitted < discharged",
    "admitted = discharged",
    "not admitted >= discharged and ward = 1",
    "if discharged is missing then ward > admitted",
]


@given(st.sampled_from(CONDITIONS), st.integers(0, 2**32 - 1))
def test_the_terms_of_a_question_are_its_chances(text: str, seed: int) -> None:
    """Whatever is asked: rows with even values inside their bins meet it as often as its table says."""
    condition, rng = parse(text, STAYS), np.random.default_rng(seed)
    names = condition.names
    codes = {name: np.full(4000, rng.integers(STAYS.sizes[name])) for name in names}
    chance = condition.on_codes(codes)[0]
    cell = condition.table(names)[tuple(int(codes[name][0]) for name in names)]
    assert cell == pytest.approx(chance)
    share = condition.holds(STAYS.decode(codes, rng)).mean()
    if text not in TWICE:
        assert abs(share - chance) < 5.5 * 0.5 / 4000**0.5 + 1e-9  # 5.5 deviations: below 4e-8 each
    elif chance in (0, 1):
        assert share == chance
