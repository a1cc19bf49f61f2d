"""Codes: sensible bins, levels that only coarsen, and values that come back into their own code."""

from datetime import date, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import calls

from penstock.errors import DataError, SchemaError
from penstock.schema import Attribute, Bins, Codec, Field, Schema


def field(**facts: Any) -> Field:
    return Field(name="x", **facts)


def integers(low: int, high: int, **more: Any) -> Field:
    return field(type="integer", constraints={"minimum": low, "maximum": high}, **more)


# ---- bins


def test_few_whole_values_get_a_bin_each_and_many_are_cut_at_round_places() -> None:
    assert integers(0, 100).labels == tuple(str(i) for i in range(101))
    assert integers(0, 101).labels[:2] == ("0..1", "2..3")
    assert integers(0, 1_000_000).labels[:2] == ("0..9999", "10000..19999")
    assert field(type="number", constraints={"minimum": 0, "maximum": 1}).edges.values[:3] == (0, 0.01, 0.02)
    assert integers(7, 7).labels == ("7",)
    assert field(type="number", constraints={"minimum": 7, "maximum": 7}).labels == ("7",)


def test_equal_bins_of_integers_are_whole_and_differ_by_at_most_one_value() -> None:
    assert integers(0, 99, bins={"count": 4}).labels == ("0..24", "25..49", "50..74", "75..99")
    spans = [integers(17, 90, bins={"count": 16}).edges.span(code) for code in range(16)]
    assert {high - low + 1 for low, high in spans} == {4, 5}
    assert all(after[0] == before[1] + 1 for before, after in pairwise(spans))


def test_bins_of_a_width_start_at_the_minimum_and_the_last_one_may_be_short() -> None:
    assert integers(0, 22, bins={"width": 10}).labels == ("0..9", "10..19", "20..22")
    assert integers(0, 20, bins={"width": 10}).labels == ("0..9", "10..19", "20")
    assert integers(0, 19, bins={"width": 10}).labels == ("0..9", "10..19")
    wide = field(type="number", constraints={"minimum": 0, "maximum": 1}, bins={"width": 0.1})
    assert wide.edges.values == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


def test_edges_are_the_numbers_that_a_reader_would_type() -> None:
    ten = field(type="number", constraints={"minimum": 0, "maximum": 1}, bins={"count": 10})
    assert ten.edges.values == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


def test_bounds_may_come_from_the_edges() -> None:
    given_edges = integers(0, 10, bins={"edges": [0, 3, 10]})
    assert given_edges == field(
        type="integer", constraints={"minimum": 0, "maximum": 10}, bins=Bins(edges=(0, 3, 10))
    )
    assert field(type="integer", bins={"edges": [0, 3, 10]}).labels == ("0..2", "3..10")
    assert field(type="integer", bins={"edges": [0, 3, 10, 10]}).labels == ("0..2", "3..9", "10")


def test_dates_are_cut_into_whole_days() -> None:
    months = field(type="date", bins={"edges": ["2020-01-01", "2020-02-01", "2020-03-01"]})
    assert months.labels == ("2020-01-01..2020-01-31", "2020-02-01..2020-03-01")


def test_bounds_can_be_replaced() -> None:
    wider = integers(0, 9).with_bounds(0, 99, Bins(count=2))
    assert wider.labels == ("0..49", "50..99")
    with pytest.raises(SchemaError, match="above the maximum"):
        wider.with_bounds(5, 1)


# ---- levels


def sizes(attribute: Attribute) -> list[int]:
    return [level.size for level in attribute.levels]


def test_bins_merge_two_by_two_down_to_two() -> None:
    attribute = Attribute.of(integers(0, 15))
    assert sizes(attribute) == [16, 8, 4, 2]
    assert attribute.levels[1].labels[:2] == ("0..1", "2..3")
    assert attribute.levels[3].codes.tolist() == [0] * 8 + [1] * 8
    assert sizes(Attribute.of(integers(1, 5))) == [5, 3, 2]
    assert sizes(Attribute.of(integers(1, 1))) == [1]


def test_missing_and_other_values_stay_groups_of_their_own() -> None:
    attribute = Attribute.of(integers(0, 3, missing="value", outside="other"))
    assert attribute.labels == ("0", "1", "2", "3", "(missing)", "(other)")
    assert (attribute.regular, attribute.missing, attribute.other) == (4, 4, 5)
    assert sizes(attribute) == [6, 4]
    assert attribute.levels[1].codes.tolist() == [0, 0, 1, 1, 2, 3]
    assert attribute.levels[1].labels == ("0..1", "2..3", "(missing)", "(other)")


def test_an_unbalanced_taxonomy_is_cut_at_equal_depth() -> None:
    tree = {
        "Europe": ["France", "Italy"],
        "Asia": {"East": ["Japan", "Korea"], "West": ["Iran"]},
        "Other": ["Moon"],
    }
    attribute = Attribute.of(field(taxonomy=tree))
    assert attribute.labels == ("France", "Italy", "Japan", "Korea", "Iran", "Moon")
    assert attribute.levels[1].labels == ("France", "Italy", "East", "West", "Moon")
    assert attribute.levels[2].labels == ("Europe", "Asia", "Other")
    assert attribute.levels[2].codes.tolist() == [0, 0, 1, 1, 1, 2]


def test_levels_that_do_not_coarsen_and_the_root_are_left_out() -> None:
    assert sizes(Attribute.of(field(taxonomy={"all": {"a": ["x"], "b": ["y"], "c": ["z"]}}))) == [3]
    assert sizes(Attribute.of(field(taxonomy=["x", "y", "z"]))) == [3]
    assert sizes(Attribute.of(field(taxonomy={"all": ["x", "y"]}, missing="value"))) == [3]


def test_groups_of_the_same_name_in_different_places_are_different_groups() -> None:
    attribute = Attribute.of(field(taxonomy={"A": {"rest": ["x", "y"]}, "B": {"rest": ["z", "w"]}}))
    assert sizes(attribute) == [4, 2]


def test_flat_categories_and_booleans_have_one_level() -> None:
    assert sizes(Attribute.of(field(constraints={"enum": list("abcdef")}))) == [6]
    assert Attribute.of(field(type="boolean")).labels == ("false", "true")
    ordinal = Attribute.of(field(constraints={"enum": list("abcd")}, categories_ordered=True))
    assert (sizes(ordinal), ordinal.ordered, ordinal.levels[1].labels) == ([4, 2], True, ("a..b", "c..d"))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(0, 2))
def test_every_level_is_a_coarsening_of_the_one_before(count: int, extras: int) -> None:
    more = [{}, {"missing": "value"}, {"missing": "value", "outside": "other"}][extras]
    attribute = Attribute.of(integers(0, 999, bins={"count": count}, **more))
    assert attribute.levels[0].codes.tolist() == list(range(attribute.size))
    for fine, coarse in pairwise(attribute.levels):
        assert coarse.size < fine.size
        assert len(coarse.labels) == coarse.size == len(set(coarse.codes.tolist()))
        pairs = set(zip(fine.codes.tolist(), coarse.codes.tolist(), strict=True))
        assert len(pairs) == fine.size
        assert not coarse.codes.flags.writeable


# ---- encoding


def encode(declared: Field, values: list[Any]) -> list[int]:
    return Codec(declared, ("", "NA")).encode(pl.Series("x", values)).tolist()


def test_the_smallest_type_that_fits_is_used() -> None:
    for count, dtype in ((256, np.uint8), (257, np.uint16), (65536, np.uint16), (65537, np.uint32)):
        codes = Codec(integers(0, 10**6, bins={"count": count})).encode(pl.Series([0, 10**6]))
        assert codes.dtype == dtype
        assert codes.tolist() == [0, count - 1]


def test_text_and_typed_columns_mean_the_same() -> None:
    ages = integers(0, 99, bins={"width": 10})
    assert encode(ages, ["0", " 10 ", "1.9e1", "+20", "99"]) == [0, 1, 1, 2, 9]
    assert encode(ages, [0, 10, 19, 20, 99]) == [0, 1, 1, 2, 9]
    assert encode(ages, [0.0, 10.0, 19.0, 20.0, 99.0]) == [0, 1, 1, 2, 9]
    words = field(constraints={"enum": ["2", "1", "true"]})
    assert encode(words, ["1", " 2", "true "]) == [1, 0, 2]
    assert encode(words, [1, 2, 2]) == [1, 0, 0]
    assert encode(words, [1.0, 2.0, 2.0]) == [1, 0, 0]
    assert encode(words, [True]) == [2]
    assert Codec(words).encode(pl.Series(["1", "2"], dtype=pl.Categorical)).tolist() == [1, 0]
    days = field(type="date", constraints={"minimum": "2020-01-01", "maximum": "2020-01-10"})
    assert (
        encode(days, ["2020-01-01", "2020-01-10"])
        == encode(days, [date(2020, 1, 1), date(2020, 1, 10)])
        == [0, 9]
    )
    assert encode(days, [datetime(2020, 1, 2, 23, 59)]) == [1]
    truths = field(type="boolean")
    assert encode(truths, ["true", "0"]) == encode(truths, [True, False]) == encode(truths, [1, 0]) == [1, 0]


def test_bins_are_half_open_and_the_last_one_is_closed() -> None:
    halves = field(type="number", constraints={"minimum": 0, "maximum": 1}, bins={"count": 2})
    assert encode(halves, [0.0, np.nextafter(0.5, 0), 0.5, 1.0, -0.0]) == [0, 0, 1, 1, 0]


def test_times_in_any_zone_are_utc() -> None:
    hours = field(
        type="datetime", constraints={"minimum": "2020-01-01", "maximum": "2020-01-02"}, bins={"width": 3600}
    )
    zoned = pl.Series([datetime(2020, 1, 1, 5)]).dt.replace_time_zone("Europe/Paris")
    assert Codec(hours).encode(zoned).tolist() == [4]


def test_values_outside_are_clamped_or_other_as_declared() -> None:
    assert encode(integers(0, 9, outside="clamp"), ["-5", "5", "1e9"]) == [0, 5, 9]
    assert encode(integers(0, 9, outside="other"), ["-5", "5", "x", "nan"]) == [10, 5, 10, 10]
    assert encode(field(constraints={"enum": ["a", "b"]}, outside="other"), ["a", "z"]) == [0, 2]
    assert encode(field(constraints={"enum": ["other", "b"]}, outside="other"), ["z", "b"]) == [0, 1]
    ranked = field(type="integer", constraints={"enum": [1, 5]}, categories_ordered=True, outside="clamp")
    assert encode(ranked, [0, 1, 5, 9]) == [0, 0, 1, 1]


def test_missing_values_are_values() -> None:
    ages = integers(0, 9, missing="value")
    assert encode(ages, ["1", "", "NA", None, " "]) == [1, 10, 10, 10, 10]
    assert Codec(ages, ("-9",)).encode(pl.Series([1, -9, None])).tolist() == [1, 10, 10]
    assert Codec(ages, ("NaN",)).encode(pl.Series([1.0, float("nan"), None])).tolist() == [1, 10, 10]
    assert Codec(ages).encode(pl.Series([None, None])).tolist() == [10, 10]


YEAR = field(type="date", constraints={"minimum": "2020-01-01", "maximum": "2020-12-31"})
REFUSALS = [
    (
        integers(0, 9),
        ["1", "75k"],
        "x: value '75k' in row 2 is not a whole number; the schema declares 0..9. "
        'Fix the row, or set "outside: other" for this field.',
    ),
    (integers(0, 9), [1.5], "x: value 1.5 in row 1 is not a whole number; the schema declares 0..9."),
    (integers(0, 9), ["NaN"], "x: value 'NaN' in row 1 is not a whole number"),
    (integers(0, 9), [float("nan")], "x: value nan in row 1 is not a whole number"),
    (integers(0, 9, outside="clamp"), [float("inf")], "x: value inf in row 1 is not a whole number"),
    (
        integers(0, 9),
        ["1", "2", "10"],
        "x: value '10' in row 3 is outside the declared 0..9. "
        'Fix the row, or set "outside: clamp" or "outside: other" for this field.',
    ),
    (integers(0, 9), ["1", ""], 'x: the value in row 2 is missing. Fix the row, or set "missing: value"'),
    (
        field(constraints={"enum": ["Male", "Female"]}),
        ["Male", "Mael"],
        "x: value 'Mael' in row 2 is not a declared category (did you mean 'Male'?). Add it to the enum",
    ),
    (field(type="boolean"), ["maybe"], "x: value 'maybe' in row 1 is not true or false"),
    (
        YEAR,
        ["2020-02-30"],
        "x: value '2020-02-30' in row 1 is not a date (YYYY-MM-DD); the schema declares 2020-",
    ),
    (integers(0, 9), [date(2020, 1, 1)], "x: the column holds date values, the schema declares integer"),
    (field(constraints={"enum": ["1", "01"]}), [1], "are the same number. Store the column as text"),
]


@pytest.mark.parametrize(("declared", "values", "message"), REFUSALS, ids=range(len(REFUSALS)))
def test_a_refused_value_is_named_with_its_row_and_a_remedy(
    declared: Field, values: list[Any], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        encode(declared, values)
    assert message in str(caught.value)


def test_a_schema_encodes_its_own_columns_only() -> None:
    schema = Schema.from_yaml("fields: [{name: sex, constraints: {enum: [f, m]}}, {name: ok, type: boolean}]")
    codes = schema.encode(pl.DataFrame({"ok": ["true"], "secret": ["!"], "sex": ["m"]}))
    assert {name: column.tolist() for name, column in codes.items()} == {"sex": [1], "ok": [1]}
    assert schema.sizes == {"sex": 2, "ok": 2}
    with pytest.raises(DataError, match=r"sex: the data has no such column \(did you mean 'sexe'\?\)"):
        schema.encode(pl.DataFrame({"sexe": ["m"], "ok": ["true"]}))


# ---- decoding

DECLARED = [
    integers(-5, 1000, bins={"count": 7}, missing="value", outside="other"),
    integers(0, 9, missing="value"),
    field(type="number", constraints={"minimum": -1, "maximum": 1}, bins={"count": 9}, missing="value"),
    field(type="number", bins={"edges": [0, 5e-324, 1e-300, 1]}),
    field(type="number", constraints={"minimum": 3, "maximum": 3}),
    field(type="date", constraints={"minimum": "1960-01-01", "maximum": "2040-12-31"}, missing="value"),
    field(type="datetime", constraints={"minimum": "1960-01-01", "maximum": "2040-12-31"}, missing="value"),
    field(type="boolean", missing="value"),
    field(constraints={"enum": [" a", "b", "c"]}, missing="value", outside="other"),
    field(type="integer", constraints={"enum": [5, 3, 1]}, missing="value"),
    field(type="date", constraints={"enum": ["2020-01-01", "2019-01-01"]}),
]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(DECLARED))
def test_decoded_values_encode_to_the_same_code(seed: int, declared: Field) -> None:
    codec, rng = Codec(declared), np.random.default_rng(seed)
    attribute = codec.attribute
    codes = rng.integers(0, attribute.size, 200)
    back = codec.encode(codec.decode(codes, rng))
    # a number or date has no word for "other": it decodes to null
    silent = declared.type != "string" and attribute.other is not None
    expected = np.where(codes == attribute.other, attribute.missing, codes) if silent else codes
    assert back.tolist() == expected.tolist()
    as_text = codec.decode(codes, np.random.default_rng(seed)).cast(pl.String)
    assert codec.encode(as_text).dtype == attribute.dtype


def test_decoded_columns_have_the_declared_type_and_name() -> None:
    rng = np.random.default_rng(0)
    kinds = [Codec(declared).decode(np.array([0]), rng).dtype for declared in DECLARED]
    numbers, calendar = [pl.Int64, pl.Int64, pl.Float64, pl.Float64, pl.Float64], [pl.Date, pl.Datetime("us")]
    assert kinds == [*numbers, *calendar, pl.Boolean, pl.String, pl.Int64, pl.Date]
    assert Codec(DECLARED[0]).decode(np.array([0]), rng).name == "x"
    with pytest.raises(ValueError, match=r"codes must lie in 0\.\.1"):
        Codec(field(type="boolean")).decode(np.array([2]), rng)


def test_draws_inside_a_bin_are_even() -> None:
    """Chi-square of 10 whole values over 20000 seeded draws; 60 is exceeded with probability below 1e-8."""
    drawn = Codec(integers(0, 99, bins={"count": 10})).decode(np.full(20000, 3), np.random.default_rng(5))
    counts = np.bincount(drawn.to_numpy())[30:40]
    assert counts.sum() == 20000
    assert ((counts - 2000) ** 2 / 2000).sum() < 60


def test_a_schema_decodes_a_whole_frame() -> None:
    schema = Schema.from_yaml("fields: [{name: sex, constraints: {enum: [f, m]}}, {name: ok, type: boolean}]")
    frame = schema.decode({"ok": np.array([1, 0]), "sex": np.array([0, 1])}, np.random.default_rng(0))
    assert frame.to_dict(as_series=False) == {"sex": ["f", "m"], "ok": [True, False]}


def test_a_text_table_is_encoded_by_columns_and_not_by_values() -> None:
    """A hundred times the rows take no more calls; `studies/promises.py` has the seconds."""
    rng = np.random.default_rng(0)
    schema = Schema.from_yaml(
        "fields:\n"
        + "".join(
            f"- {{name: n{i}, type: integer, constraints: {{minimum: 0, maximum: 99}}}}\n" for i in range(7)
        )
        + "".join(f"- {{name: c{i}, constraints: {{enum: [a, b, c, d, e, f, g, h]}}}}\n" for i in range(8))
    )
    columns = {name: rng.integers(0, 100, 45_000).astype(str) for name in schema.names[:7]}
    columns |= {name: rng.choice(list("abcdefgh"), 45_000) for name in schema.names[7:]}
    frame, few = pl.DataFrame(columns), pl.DataFrame(columns).head(450)
    schema.encode(few)  # what is made once and kept is not part of it
    assert calls(lambda: schema.encode(frame)) <= calls(lambda: schema.encode(few)) < 45_000


def test_drawn_numbers_have_few_digits() -> None:
    """A draw is anywhere in its bin, so fifteen digits would only pretend to be exact."""
    schema = Schema.from_yaml("""
fields:
  - {name: income, type: number, constraints: {minimum: 0, maximum: 5000}, bins: {count: 5}}
  - {name: tiny, type: number, constraints: {minimum: -0.003, maximum: 0.001}, bins: {count: 7}}
  - {name: huge, type: number, bins: {edges: [1.0e+12, 1.0000001e+12, 1.0e+15]}}
  - {name: fixed, type: number, constraints: {minimum: 0.1, maximum: 0.1}}
""")
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(schema.codec(name).size, size=20_000) for name in schema.names}
    drawn = schema.decode(codes, rng)
    for name, decimals in (("income", 0), ("tiny", 7), ("huge", 0), ("fixed", 1)):
        values = drawn[name].to_numpy()
        assert np.array_equal(np.round(values, decimals), values), name
        assert np.array_equal(schema.codec(name).encode(drawn[name]), codes[name]), name
    assert drawn["income"].n_unique() > 4500
    assert drawn["tiny"].n_unique() > 5000
