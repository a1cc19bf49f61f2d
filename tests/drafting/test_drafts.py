"""Drafts: what they propose, what they mark, and what they must not show."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from penstock.drafting.proposal import MARKERS, draft
from penstock.errors import DataError, SchemaError, UsageError
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.schema import Schema, round_outwards

TEXT = pl.DataFrame(
    {
        "age": ["17", "90", " 33", ""],
        "zip": ["01234", "02345", "01111", "?"],
        "patient_id": ["1", "2", "2", "3"],
        "visited": ["2020-05-01", "2021-02-03", "2020-01-01", None],
        "at": ["2020-05-01T10:00", "2021-02-03 10:00:00", "2020-01-01", "2020-01-02"],
        "ok": ["true", "false", "TRUE", "false"],
        "weight": ["1.5", "2", "3e2", "?"],
        "sex": ["M", "F", "M", "F"],
        "day": ["2020-02-30", "2020-01-01", "2020-01-01", "2020-01-01"],
    }
)


def test_every_fact_read_off_the_data_is_marked_and_named() -> None:
    proposal = draft(TEXT)
    assert proposal.to_review() == ["age", "zip", "visited", "at", "ok", "weight", "sex", "day", "unit"]
    with pytest.raises(SchemaError, match="not yet reviewed"):
        proposal.refuse_if_unreviewed()
    document = proposal.to_yaml()
    assert document.count("# read off the data: its type") == len(proposal.fields)
    assert (
        "# read off the data: its type, its bounds (rounded outwards), that values are missing\n  - name: age"
        in document
    )
    assert document.count("review: true") == len(proposal.fields) + 1
    assert Schema.from_yaml(document) == proposal
    Schema.from_yaml(document.replace("review: true", "review: false")).refuse_if_unreviewed()


def test_types_are_recognised_in_text() -> None:
    proposal = draft(TEXT)
    kinds = {field.name: field.type for field in proposal.fields}
    assert kinds == {"age": "integer", "zip": "string", "visited": "date", "at": "datetime", "ok": "boolean",
                     "weight": "number", "sex": "string", "day": "string"}  # fmt: skip
    assert [field.name for field in proposal.fields if field.missing == "value"] == [
        "age",
        "zip",
        "visited",
        "weight",
    ]


def test_signs_for_missing_values_do_not_tell_which_of_them_occur() -> None:
    """They stand at the top, where no field's review mark would cover them."""
    with_signs = pl.DataFrame({"age": ["31", "?", "45"], "n": [1.5, float("nan"), 2.0]})
    without = pl.DataFrame({"age": ["31", "32", "45"], "n": [1.5, 1.5, 2.0]})
    assert draft(with_signs).missing_values == draft(without).missing_values == MARKERS


def test_bounds_are_rounded_outwards() -> None:
    proposal = draft(TEXT)
    assert proposal.field("age").domain == "0..100"
    assert proposal.field("weight").domain == "0..400"
    assert proposal.field("visited").domain == "2020-01-01..2021-12-31"
    assert proposal.field("at").domain == "2020-01-01T00:00:00..2021-12-31T23:59:59"
    assert "17" not in proposal.to_yaml()


def test_a_draft_encodes_the_data_it_was_drafted_from() -> None:
    assert len(draft(TEXT).encode(TEXT)) == 8


def test_types_are_taken_from_typed_columns() -> None:
    frame = pl.DataFrame(
        {
            "i": [1, 2],
            "f": [1.5, float("nan")],
            "b": [True, None],
            "d": [date(2020, 1, 1), None],
            "t": [datetime(2020, 1, 1), None],
            "c": pl.Series(["x", "y"], dtype=pl.Categorical),
            "n": pl.Series([None, None], dtype=pl.Null),
            "l": [[1], [2]],
        }
    )
    proposal = draft(frame)
    types = ["integer", "number", "boolean", "date", "datetime", "string"]
    assert [field.type for field in proposal.fields] == types
    assert "# Left out: 'n' holds no values." in proposal.to_yaml()
    assert "# Left out: 'l' holds list(int64) values." in proposal.to_yaml()
    assert len(proposal.encode(frame)) == 6


def test_identifiers_and_free_text_are_left_out_and_their_values_not_shown() -> None:
    canaries = [f"canary-{i}" for i in range(100)]
    frame = pl.DataFrame(
        {"email": canaries, "remark": canaries, "case_no": range(100), "sex": ["f", "m"] * 50}
    )
    document = draft(frame).to_yaml()
    assert "canary" not in document
    assert "Left out: 'email' looks like an identifier" in document
    assert "Left out: 'remark' has too many different values" in document
    assert "Left out: 'case_no' looks like an identifier" in document
    assert draft(frame).names == ("sex",)
    with pytest.raises(DataError, match="No column can become a field"):
        draft(frame.drop("sex"))


def test_a_likely_user_column_is_suggested_and_not_silently_used() -> None:
    proposal = draft(TEXT)
    assert proposal.unit.protects == "record"
    assert "# If one person may have several records" in proposal.to_yaml()
    assert "unit: {protects: user, column: patient_id, at_most: 1}" in proposal.to_yaml()
    assert "patient_id" not in proposal.names
    assert "one person" not in draft(TEXT.drop("patient_id")).to_yaml()


class Untouchable:
    """Records that must not be read."""

    names = ("age", "user_id")

    def frame(self, names: object = None) -> pl.DataFrame:
        raise AssertionError("a value was read")


@pytest.mark.parametrize(
    "source", [Untouchable(), ["age", "user_id"], TEXT.select(age="age", user_id="patient_id")]
)
def test_headers_only_reads_no_value(source: pl.DataFrame | list[str]) -> None:
    proposal = draft(source, headers_only=True)
    assert proposal.names == ("age", "user_id")
    assert proposal.to_review() == ["age", "user_id", "unit"]
    assert all(field.type == "string" and field.values == () for field in proposal.fields)
    assert "enum: []" in proposal.to_yaml()
    assert "no value was read" in proposal.to_yaml()
    assert "column: user_id" in proposal.to_yaml()
    assert Schema.from_yaml(proposal.to_yaml()) == proposal
    with pytest.raises(SchemaError, match="age: no categories are declared"):
        Schema.from_yaml(proposal.to_yaml().replace("review: true", "review: false"))


def test_points_keep_their_coordinates_only() -> None:
    proposal = draft(pl.DataFrame({"x": [1.5, 2.5], "y": [-3, 4], "name": ["a", "b"]}), kind="points")
    assert (proposal.kind, proposal.names) == ("points", ("x", "y"))
    assert "'name' is not a coordinate" in proposal.to_yaml()


def test_sequences_get_a_guess_at_their_columns() -> None:
    proposal = draft(TEXT.select("patient_id", "visited", "sex"), kind="sequences")
    layout = SequenceLayout.of(proposal)
    assert (layout.user, layout.time, layout.symbol) == ("patient_id", "visited", "sex")
    assert "a guess from their names" in proposal.to_yaml()
    lone = draft(TEXT.select("sex"), kind="sequences")
    assert lone.layout is None
    assert "Say which columns make a sequence" in lone.to_yaml()


def test_hopeless_sources_are_answered_with_one_sentence() -> None:
    with pytest.raises(DataError, match="no records"):
        draft(TEXT.head(0))
    with pytest.raises(DataError, match="no columns"):
        draft(pl.DataFrame())
    with pytest.raises(DataError, match="a: the data has two columns of this name"):
        draft(["a", "b", "a"])
    with pytest.raises(DataError, match="Column 2 has no name"):
        draft(["a", " "])
    with pytest.raises(UsageError, match=r"'tables' is not a kind of data \(did you mean 'table'\?\)"):
        draft(TEXT, kind="tables")


def test_one_row_and_one_value_are_enough() -> None:
    frame = pl.DataFrame({"a": ["x"], "n": ["5"], "d": ["2020-05-05"], "z": ["0"]})
    proposal = draft(frame)
    assert {name: codes.tolist() for name, codes in proposal.encode(frame).items()}.keys() == {
        "a",
        "n",
        "d",
        "z",
    }


cells = st.one_of(
    st.text(max_size=6), st.integers(-(10**6), 10**6).map(str), st.floats(-1e6, 1e6).map(repr),
    st.dates().map(str), st.sampled_from(["", "?", "true", "NA", "nan", "inf", "007"]), st.none(),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(
    st.lists(cells, min_size=1, max_size=15),
    st.text(min_size=1, max_size=8).filter(lambda name: name.strip()),
)
def test_any_column_can_be_drafted_and_then_encoded(values: list[str | None], name: str) -> None:
    frame = pl.DataFrame({name: pl.Series(values, dtype=pl.String)})
    try:
        proposal = draft(frame)
    except DataError:
        event("nothing to propose")
        return
    again = Schema.from_yaml(proposal.to_yaml())
    assert again == proposal
    codes = again.encode(frame)
    back = again.encode(again.decode(codes, np.random.default_rng(0)))
    assert back[name].tolist() == codes[name].tolist()


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e15, 1e15), st.floats(0, 1e15))
def test_rounded_bounds_contain_what_they_round(low: float, length: float) -> None:
    high = low + length
    start, end = round_outwards(low, high)
    assert start <= low
    assert high <= end
    assert end > start


def test_amounts_that_most_records_lack_get_a_bin_for_zero() -> None:
    gains = [0] * 75 + list(range(50, 2550, 100))
    proposal = draft(
        pl.DataFrame(
            {"gain": gains, "few": [0] * 90 + [5] * 10, "both": [-500, *gains[1:]], "age": range(100)}
        )
    )
    assert proposal.field("gain").spikes == (0,)
    assert proposal.field("gain").labels[:2] == ("0", "1..49")
    assert proposal.field("both").spikes == (0,)
    assert proposal.field("few").values == (0, 5)
    assert proposal.field("age").spikes == ()
    assert "that 0 stands out" in proposal.to_yaml()
    assert Schema.from_yaml(proposal.to_yaml()) == proposal


def test_numbers_of_many_records_get_bins_that_follow_them_and_dates_keep_the_calendar() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "amount": rng.gamma(2, 300, 10_000).round(2),
            "percent": rng.integers(0, 101, 10_000),
            "day": [date(2020, 1, 1), date(2024, 12, 31)] * 5_000,
        }
    )
    many, few = draft(frame), draft(frame.head(9_999))
    assert many.field("amount").bins is not None
    assert many.field("amount").bins.adaptive
    assert "leave 'bins' out" in many.to_yaml()
    assert many.field("percent").edges.one_per_value
    assert [field.bins for field in few.fields] == [None, None, None]
    assert many.field("day").bins is None
    assert many.field("day").edges.count == 60  # months
