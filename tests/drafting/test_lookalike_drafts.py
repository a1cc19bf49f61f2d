"""Drafts of files as custodians bring them: codes, signs, spikes, identifiers and event logs are seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.lookalikes import ACTIVITIES, Lookalike, census, churn, event_log, hospital

import penstock
from penstock.drafting.proposal import draft
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.schema import Schema

TABLES = [census, churn, hospital]


def confirmed(proposal: Schema) -> Schema:
    return Schema.from_yaml(proposal.to_yaml().replace("review: true", "review: false"))


@pytest.mark.parametrize("make", TABLES)
def test_planted_facts_are_drafted_and_marked(make: Callable[[], Lookalike]) -> None:
    made = make()
    proposal = draft(made.frame)
    assert set(proposal.names) == set(made.frame.columns) - set(made.identifiers)
    assert proposal.to_review() == [*proposal.names, "unit"]
    for name, codes in made.codes.items():
        field = proposal.field(name)
        assert (field.type, field.values) == ("integer", codes)
    for name, marker in made.markers.items():
        field = proposal.field(name)
        assert field.type in ("integer", "number")
        assert field.missing == "value"
        assert not marker or (field.missing_values or ())[0] == marker
    for name, spikes in made.spikes.items():
        field = proposal.field(name)
        alone = field.ranged and field.edges.one_per_value  # then every value has a bin of its own
        assert alone or field.spikes == spikes or set(spikes) <= set(field.constraints.enum or ())
    assert Schema.from_yaml(proposal.to_yaml()) == proposal


def test_nobody_gets_a_code_that_nobody_has() -> None:
    """The codes 1 and 2 of a small file used to become the range 0..3."""
    made = census(300)
    schema = confirmed(draft(made.frame))
    rows = penstock.release(made.frame, schema, epsilon=1, method="independent", seed=1).sample(2000, seed=1)
    assert set(rows["SEX"]) == {1, 2}
    assert set(rows["ETHNICITY"]) <= {1, 2, 3, 4, 10, 11}
    assert rows["YEARS_HERE"].null_count() > 0
    assert (rows["WORK"] == -9).any()


def test_decimals_are_those_of_the_data() -> None:
    proposal = draft(hospital().frame)
    assert proposal.field("bmi").decimals == 1
    assert draft(churn().frame).field("monthly_charges").decimals == 2
    rows = confirmed(proposal).decode({"bmi": np.arange(10)}, np.random.default_rng(1))
    assert (rows["bmi"] == rows["bmi"].round(1)).all()
    fine = pl.DataFrame({"x": np.random.default_rng(1).random(50)})
    assert draft(fine).field("x").decimals is None


def far(usual: NDArray[Any], value: float, share: float = 0.05) -> NDArray[Any]:
    """Amounts, some of which are replaced by a value."""
    return np.where(np.arange(len(usual)) % round(1 / share) == 0, value, usual)


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(
    ("values", "spikes", "ends"),
    [
        (far(np.arange(2000) % 96, 999), (999,), 101),
        (far(far(np.arange(2000) % 96, 999), 998, 0.001), (998, 999), 101),
        (far(np.arange(2000) % 70 - 40, 9999), (9999,), 31),
        (far(np.round(36 + np.arange(2000) % 40 / 10, 1), 99.9), (99.9,), 40),
    ],
)
def test_nines_far_above_all_others_are_values_of_their_own(
    values: NDArray[Any], spikes: tuple[float, ...], ends: float, typed: bool
) -> None:
    column = pl.Series("x", values)
    found = draft(pl.DataFrame([column if typed else column.cast(pl.String)]))
    field = found.field("x")
    assert (field.spikes, field.constraints.maximum) == (spikes, spikes[-1])
    assert ends in field.edges.values
    assert len([edge for edge in field.edges.values if edge <= ends]) >= 16
    assert "missingValues if it means that a value is missing" in found.to_yaml()


def test_another_value_far_above_all_others_has_a_bin_of_its_own_and_stretches_none() -> None:
    found = draft(pl.DataFrame({"x": far(np.arange(2000) % 95, 5000)})).field("x")
    assert (found.constraints.maximum, found.spikes) == (5000, (5000,))
    usual = draft(pl.DataFrame({"x": np.arange(2000) % 95})).field("x")
    assert found.edges.values[:16] == usual.edges.values[:16]
    assert found.edges.count == usual.edges.count + 2
    assert found.missing == "refuse"
    few = draft(pl.DataFrame({"x": far(np.arange(2000) % 95, 5000, 0.002)})).field("x")
    assert (few.bins, few.spikes) == (None, ())  # an exact value of few records is not told
    assert draft(pl.DataFrame({"x": far(np.arange(2000) % 95, 99)})).field("x").missing == "refuse"


@pytest.mark.parametrize("typed", [True, False])
def test_few_decimals_are_categories_in_the_order_of_numbers(typed: bool) -> None:
    column = pl.Series("dose", np.array([10.5, 0.5, 1.0, 1.5, 2.0])[np.arange(200) % 5])
    frame = pl.DataFrame([column if typed else column.cast(pl.String)])
    schema = confirmed(draft(frame))
    found = schema.field("dose")
    assert (found.type, found.values, found.ordered) == ("number", (0.5, 1.0, 1.5, 2.0, 10.5), True)
    assert schema.encode(frame)["dose"][:5].tolist() == [4, 0, 1, 2, 3]
    assert schema.decode({"dose": np.arange(5)}, np.random.default_rng(1))["dose"].to_list() == [
        *(0.5, 1.0, 1.5, 2.0, 10.5)
    ]


@pytest.mark.parametrize(
    "texts",
    [
        ["2026-W09", "2026-W10", "2025-W47"],
        ["2026-W09-1", "2026-W10-7", "2025-W47-3"],
        ["2026-09", "2026-10", "2025-11"],
        ["2026-Q1", "2026-Q2", "2025-Q4"],
        ["09:30", "10:00", "23:45"],
    ],
)
def test_weeks_months_and_times_of_the_day_are_categories_in_the_order_of_time(texts: list[str]) -> None:
    found = draft(pl.DataFrame({"when": texts * 20})).field("when")
    assert (found.values, found.categories_ordered) == (tuple(sorted(texts)), True)
    assert not draft(pl.DataFrame({"when": [*texts, "never"] * 20})).field("when").categories_ordered


@pytest.mark.parametrize(
    ("form", "seems"),
    [
        (lambda k: f"{k},5", "decimal comma"),
        (lambda k: f"{k + 1}.234,5", "decimal comma"),
        (lambda k: f"{k + 1},234.50", "separated thousands"),
        (lambda k: f"{k}.5%", "percentages"),
        (lambda k: f"{k} EUR", "amounts of money"),
        (lambda k: f"€{k}.00", "amounts of money"),
        (lambda k: f"{1 + k % 28:02d}.{1 + k % 12:02d}.{1900 + k}", "dates"),
        (lambda k: f"{1 + k % 12}/{1 + k % 28}/{1900 + k}", "dates"),
    ],
)
@pytest.mark.parametrize("different", [12, 100])
def test_numbers_and_dates_that_are_written_otherwise_are_named(
    form: Callable[[int], str], seems: str, different: int
) -> None:
    """They are text for a draft: few of them categories, many left out; either way it says why."""
    frame = pl.DataFrame({"x": [form(k % different) for k in range(120)], "sex": ["f", "m"] * 60})
    proposal = draft(frame)
    assert ("x" in proposal.names) == (different == 12)
    assert re.search(f"seem to be (numbers with (a )?)?{seems}: write", proposal.to_yaml())


def test_words_and_codes_are_not_taken_for_numbers_written_otherwise() -> None:
    frame = pl.DataFrame({"a": ["A12", "B34", "C56"] * 40, "b": ["1-2", "3-4", "5+"] * 40})
    assert "seem to be" not in draft(frame).to_yaml()


def test_those_who_come_back_are_the_unit() -> None:
    proposal = draft(hospital().frame)
    assert (proposal.unit.protects, proposal.unit.column, proposal.unit.at_most) == ("user", "patient_id", 5)
    assert proposal.unit.review
    assert "'patient_id' repeats like an identifier" in proposal.to_yaml()
    assert draft(churn().frame).unit.protects == "record"
    renamed = draft(hospital().frame.rename({"patient_id": "whose"}))
    assert renamed.unit.column == "whose"
    assert draft(hospital().frame, kind="points").unit.protects == "user"


@pytest.mark.parametrize("name", ["case_no", "CaseNumber", "CASE_ID", "invoice no", "fall"])
def test_a_case_number_is_no_field(name: str) -> None:
    made = hospital(500).frame.rename({"case_no": name})
    assert name not in draft(made).names
    assert f"Left out: '{name}' looks like an identifier" in draft(made).to_yaml()


def test_amounts_are_not_taken_for_identifiers() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "salary": rng.integers(18_000, 90_000, 400),
            "day": rng.integers(0, 365, 400),
            "town": rng.choice([f"Town {i}" for i in range(60)], 400),
            "member": rng.choice(["no", "yes"], 400),
        }
    )
    proposal = draft(frame)
    assert set(proposal.names) == {"salary", "day", "town", "member"}
    assert proposal.unit.protects == "record"


def as_csv(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_csv(folder / "data.csv")
    return folder / "data.csv"


def as_parquet(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "data.parquet")
    return folder / "data.parquet"


def as_objects(frame: pl.DataFrame, folder: Path) -> pd.DataFrame:
    """Numbers and their signs in one pandas column, as spreadsheets are read."""
    columns: dict[str, list[Any]] = {}
    for column in frame:
        numbers = column.cast(pl.Float64, strict=False).to_list()
        texts = column.to_list()
        columns[column.name] = [
            text if value is None else int(value) if value == int(value) else value
            for text, value in zip(texts, numbers, strict=True)
        ]
    return pd.DataFrame(columns, dtype=object)


@pytest.mark.parametrize("make", TABLES)
def test_the_draft_is_the_same_wherever_the_records_are(
    make: Callable[..., Lookalike], tmp_path: Path
) -> None:
    made = make(600)
    reference = draft(made.frame)
    for source in (as_csv(made.frame, tmp_path), as_parquet(made.typed, tmp_path), made.typed):
        assert penstock.draft(source) == reference
    assert draft(made.typed).names == reference.names
    kept = [name for name in reference.names if name not in ("monthly_charges", "total_charges", "bmi")]
    found = penstock.draft(as_objects(made.frame, tmp_path))
    assert [found.field(name) for name in kept] == [reference.field(name) for name in kept]


def test_whole_numbers_that_pandas_made_floats_stay_whole() -> None:
    frame = pd.DataFrame({"rooms": [1.0, 2.0, None, 3.0] * 50, "rent": [450.0, None, 820.0, 1010.0] * 50})
    frame["rent"] += np.arange(200)
    proposal = penstock.draft(frame)
    assert proposal.field("rooms").values == (1, 2, 3)
    assert proposal.field("rent").type == "integer"


def test_words_among_numbers_are_signs_only_where_they_mean_it() -> None:
    values = [str(i) for i in range(40)] * 3
    frame = pl.DataFrame(
        {
            "known": [*values[:-2], "Unknown", "unknown"],
            "repeated": [*values[:-2], "ask later", "ask later"],
            "once": [*values[:-1], "Jane Doe"],
            "many": [*values[:-4], "a", "b", "c", "d"],
            "codes": ["1", "2", "3", "E"] * 30,
        }
    )
    proposal = draft(frame)
    assert proposal.field("known").missing_values == ("Unknown", "unknown", "")
    assert proposal.field("repeated").missing_values == ("ask later", "")
    assert proposal.field("codes").values == ("1", "2", "3", "E")
    assert [proposal.field(name).type for name in ("once", "many")] == ["string", "string"]


def test_categories_that_are_partly_numbers_come_in_numeric_order() -> None:
    frame = pl.DataFrame({"grade": ["10", "2", "1", "11", "b", "a"] * 10})
    assert draft(frame).field("grade").values == ("1", "2", "10", "11", "a", "b")


@pytest.mark.parametrize("offset", ["+02:00", "Z", "", "-0530", "+01"])
def test_event_logs_are_recognised_whatever_their_offset(offset: str) -> None:
    made = event_log(60, offset=offset)
    proposal = draft(made.frame, kind="sequences")
    layout = SequenceLayout.of(proposal)
    assert (layout.user, layout.time, layout.symbol) == (
        "case:concept:name",
        "time:timestamp",
        "concept:name",
    )
    assert proposal.field("concept:name").values == tuple(sorted(ACTIVITIES))
    as_table = draft(made.frame)
    assert as_table.field("time:timestamp").type == "datetime"
    assert "look like an event log" in as_table.to_yaml()
    assert "case:concept:name" not in as_table.names


@pytest.mark.parametrize("names", [
    ("case_id", "timestamp", "activity"), ("ticket", "at", "event name"), ("patient_id", "when", "ward step"),
])  # fmt: skip
def test_event_logs_are_recognised_under_other_names(names: tuple[str, str, str]) -> None:
    log = event_log(60).frame.select(
        pl.col("org:resource"), *(pl.col(old).alias(new) for old, new in zip(
            ("case:concept:name", "time:timestamp", "concept:name"), names, strict=True))
    )  # fmt: skip
    layout = SequenceLayout.of(draft(log, kind="sequences"))
    assert (layout.user, layout.time, layout.symbol) == names


def event_frame(moment: Callable[[int], str], names: tuple[str, str, str]) -> pl.DataFrame:
    """120 cases of 3 events with names of two words."""
    rows = [
        (70000 + case, event, moment(600 * case + place))
        for case in range(120)
        for place, event in enumerate(["Create Order", "Ship Goods", "Send Invoice"])
    ]
    return pl.DataFrame(rows, schema=list(names), orient="row")


@pytest.mark.parametrize(
    "pattern", ["%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M+0200", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S,5Z"]
)
def test_cases_are_told_by_the_times_beside_them_and_names_are_not_split(pattern: str) -> None:
    """Neither the names of the columns nor the form of the numbers says that these are cases."""
    start = datetime(2025, 3, 1)
    frame = event_frame(
        lambda minutes: (start + timedelta(minutes=minutes)).strftime(pattern), ("Vorgang", "Was", "Wann")
    )
    proposal = penstock.draft(frame, kind="sequences")
    layout = SequenceLayout.of(proposal)
    assert (layout.user, layout.time, layout.symbol) == ("Vorgang", "Wann", "Was")
    assert proposal.field("Was").labels == ("Create Order", "Send Invoice", "Ship Goods")
    assert proposal.field("Wann").type == "datetime"


def test_a_log_whose_times_cannot_be_read_says_so() -> None:
    frame = event_frame(lambda minutes: f"{minutes % 28 + 1}/3/25", ("case", "activity", "at"))
    proposal = penstock.draft(frame, kind="sequences")
    assert SequenceLayout.of(proposal).time is None
    assert "No column reads as a time" in proposal.to_yaml()
    dated = event_frame(lambda minutes: f"2025-03-{minutes % 28 + 1:02}", ("case", "activity", "at"))
    assert "No column reads as a time" not in penstock.draft(dated, kind="sequences").to_yaml()


def test_a_spike_stands_out_of_its_neighbours_however_many_share_its_bin() -> None:
    """An outlier stretches the range until nearly all amounts share a bin; a hump is no spike."""
    rng = np.random.default_rng(1)
    amounts = np.r_[np.zeros(600), rng.integers(500, 4000, 1400), np.full(200, 99999)].astype(int)
    assert penstock.draft(pl.DataFrame({"wage": amounts})).field("wage").spikes == (0, 99999)
    humps = rng.poisson(20, 4000)
    humps[0] = 100
    assert penstock.draft(pl.DataFrame({"visits": humps})).field("visits").spikes == ()
    heaped = np.r_[
        rng.integers(0, 5000, 1000), np.repeat([500, 1000, 1500, 2000, 2500, 3000], [60, 99, 70, 90, 80, 100])
    ]
    assert penstock.draft(pl.DataFrame({"rent": heaped})).field("rent").spikes == (
        1000,
        1500,
        2000,
        2500,
        3000,
    )


def test_minus_one_among_amounts_means_missing_and_among_codes_is_one() -> None:
    rng = np.random.default_rng(1)
    years = np.where(rng.random(500) < 0.3, -1, rng.integers(1950, 2020, 500))
    field = penstock.draft(pl.DataFrame({"arrived": years})).field("arrived")
    assert (field.missing, field.missing_values) == ("value", ("-1", ""))
    assert field.domain == "1950..2020"
    votes = rng.integers(-1, 2, 500)
    assert penstock.draft(pl.DataFrame({"vote": votes})).field("vote").labels == ("-1", "0", "1")


def test_long_numbers_that_come_back_are_people() -> None:
    rng = np.random.default_rng(1)
    whose = 400000 + 7 * rng.integers(0, 700, 2500)
    for name in ("mrn", "nummer"):
        proposal = penstock.draft(pl.DataFrame({name: whose, "sex": rng.integers(1, 3, 2500)}))
        assert (proposal.unit.protects, proposal.unit.column) == ("user", name)
        assert proposal.names == ("sex",)
    prices = 100000 + 500 * rng.integers(0, 700, 2500)
    assert penstock.draft(pl.DataFrame({"price": prices, "sex": prices % 2})).unit.protects == "record"


def test_events_with_offsets_are_read_in_the_order_of_time() -> None:
    from penstock.kinds.sequences.reading import read_sequences

    frame = pl.DataFrame(
        {
            "case_id": ["1"] * 4,
            "at": ["2024-01-01T10:00:00.5+02:00", "2024-01-01T08:00:00.25Z", "2024-01-01T07:59-00:30",
                   "2024-01-01 07:00"],
            "step": ["c", "b", "d", "a"],
        }
    )  # fmt: skip
    schema = Schema.from_yaml(
        "kind: sequences\nsequence: {user: case_id, time: at, symbol: step, longest: 9}\n"
        "fields: [{name: step, constraints: {enum: [a, b, c, d]}}]"
    )
    assert read_sequences(frame, schema).codes.tolist() == [0, 1, 2, 3]
