"""Files whose first row is a record: it must not become the names of columns."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

import penstock
from penstock import Schema
from penstock.engine import open_engine, read
from penstock.engine.header import position_of_value, told
from penstock.errors import DataError, UsageError

RECORDS = {
    "numbers": "39,77516\n50,83311\n38,215646\n",
    "text beside a number": "Private,39\nState,50\nPrivate,38\n",
    "dates": "2020-01-31,a\n2020-02-01,b\n2020-02-03,a\n",
    "other dates": "31.01.2020,a\n01.02.2020,b\n",
    "times": "2020-01-31T12:00:00+02:00,in\n2020-01-31T13:00:00+02:00,out\n",
    "a missing value": "?,Berlin\nf,Paris\n",
    "money": "$12.50,Berlin\n$9.00,Paris\n",
    "addresses": "ann@example.org,Berlin\nbob@example.org,Paris\n",
    "one year": "Smith,2001\nJones,1987\n",
    "points": "-73.98 40.71\n-73.95 40.78\n".replace(" ", "\t"),
    "a semicolon": "m;34,5\nf;28,1\n",
    "the same date twice": "2020-01-31,2020-01-31\n2020-02-01,2020-02-03\n",
    "keys": "9f86d081884c7d65,Berlin\n60303ae22b998861,Paris\n",
    "keys with dashes": "f47ac10b-58cc-4372-a567-0e02b2c3d479,Rome\nc9bf9e57-1685-4c89-bafb-ff5af830be8a,X\n",
}
"""First rows that give themselves away by themselves."""

LATER = {
    "categories": "Private,m\nState,f\nPrivate,m\nState,f\n",
    "one category": "Smith,m\nJones,f\nMiller,m\n",
    "codes": "AB-12,Berlin\nCD-34,Paris\nEF-56,Rome\n",
    "another case": "NURSE,Berlin\nnurse,Paris\ncook,Rome\n",
    "amounts of any length": "EUR 12,Anna\nUSD 99000,Ben\nEUR 7,Cem\n",
    "codes of several forms": "C73.1,Anna\nJ20,Ben\nE11.9,Cem\n",
    "identifiers alone": "48.42140 N,11.24157 E\n53.70448 N,9.47037 E\n53.37673 N,10.63303 E\n",
    "far below": "leukaemia,Zell\n" + "flu,Ulm\ncold,Kiel\n" * 600 + "leukaemia,Ulm\n",
}
"""First rows that only the records below them give away."""

NAMES = [
    "name,age,income",
    "region,2019,2020,2021",
    "region,2021,2020,2019",
    "region,2000,2010,2020",
    "0,1,2,3",
    "1,2,3",
    ",name,age",
    "q1,q2,q3",
    "1st,2nd",
    "age_18-24,share%",
    "x",
    "country code,GDP (2019 US$)",
    "naïve,größe",
    "icd10,decade2010",
]


def file(folder: Path, text: str, name: str = "records.csv") -> Path:
    place = folder / name
    place.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return place


def values_of(text: str) -> list[str]:
    first = text.splitlines()[0]
    mark = next(mark for mark in ",;\t" if mark in first)
    return [value for value in first.split(mark) if len(value) > 2]


@pytest.mark.parametrize("name", ["records.csv", "records.tsv", "records.csv.gz", "records.txt"])
@pytest.mark.parametrize("shape", RECORDS)
def test_a_first_row_that_reads_as_values_is_refused_and_not_quoted(
    tmp_path: Path, shape: str, name: str
) -> None:
    place = file(tmp_path, RECORDS[shape], name)
    with pytest.raises(DataError, match="looks like a record") as caught:
        read(place)
    message = str(caught.value)
    for words in ("--no-header", "--header NAME", "--header first"):
        assert words in message
    assert not any(value in message for value in values_of(RECORDS[shape]))
    for kind in ("table", "points", "sequences", "itemsets"):
        with pytest.raises(DataError, match="looks like a record"):
            penstock.draft(place, kind=kind)
    with pytest.raises(DataError, match="looks like a record"):
        penstock.draft(place, headers_only=True)
    with pytest.raises(DataError, match="looks like a record"):
        penstock.draft(place, epsilon=1)


@pytest.mark.parametrize("shape", LATER)
def test_a_draft_refuses_a_first_row_that_is_like_the_values_below_it(tmp_path: Path, shape: str) -> None:
    place = file(tmp_path, LATER[shape])
    with pytest.raises(DataError, match="looks like a record") as caught:
        penstock.draft(place)
    assert not any(value in str(caught.value) for value in values_of(LATER[shape]))
    frame = pl.read_csv(place)
    with pytest.raises(DataError, match="looks like a record"):
        penstock.draft(frame)
    frame.write_parquet(tmp_path / "records.parquet")
    with pytest.raises(DataError, match="looks like a record"):
        penstock.draft(tmp_path / "records.parquet")
    assert penstock.draft(place, header="first").names


@pytest.mark.parametrize("header", NAMES)
def test_sensible_names_are_taken(tmp_path: Path, header: str) -> None:
    columns = header.count(",") + 1
    rows = "\n".join(",".join(f"{column}.{row}" for column in range(columns)) for row in range(5, 9))
    place = file(tmp_path, f"{header}\n{rows}\n")
    assert len(read(place).names) == columns
    penstock.draft(place)


def test_years_and_numbering_are_names_only_when_they_count() -> None:
    assert position_of_value(["a", "2019", "2021", "2022"]) == 1
    assert position_of_value(["a", "2019", "2020", "34"]) == 1
    assert position_of_value(["0", "1"]) == 0
    assert position_of_value(["2", "3", "4"]) == 0
    assert position_of_value(["2019", "2019"]) == 0
    assert position_of_value(["1950", "2050"]) is None


def test_the_custodian_can_say_what_the_first_row_is(tmp_path: Path) -> None:
    place = file(tmp_path, "39,State\n50,Private\n38,Private\n")
    assert read(place, header="first").names == ("39", "State")
    assert read(place, header="first").frame().height == 2
    without = read(place, header="none")
    assert without.names == ("column_1", "column_2")
    assert without.frame().rows() == [("39", "State"), ("50", "Private"), ("38", "Private")]
    assert not without.empty
    for given in ("age,work", ["age", "work"]):
        named = read(place, header=given)
        assert named.frame().to_dict(as_series=False) == {
            "age": ["39", "50", "38"],
            "work": ["State", "Private", "Private"],
        }
    with pytest.raises(DataError, match="2 columns, and 3 names"):
        read(place, header="a,b,c")
    with pytest.raises(DataError, match="columns 1 and 2 have the same name"):
        read(place, header="a,a")
    for wrong in ("", "a,,b", [], ["a", ""]):
        with pytest.raises(UsageError, match="a name for every column"):
            told(wrong)


def test_a_file_without_a_header_is_the_same_on_every_engine(tmp_path: Path) -> None:
    schema = Schema.from_yaml(
        "fields:\n- {name: age, type: integer, constraints: {minimum: 0, maximum: 99}}\n"
        "- {name: work, constraints: {enum: [State, Private]}}"
    )
    place = file(tmp_path, "\n39,State\n50,Private\n38,Private\n", "records.csv.gz")
    found = [
        open_engine(read(place, header="age,work"), schema, engine=engine).counts([("work",)])
        for engine in ("memory", "duckdb")
    ]
    assert [counts[0].tolist() for counts in found] == [[1, 2], [1, 2]]


def test_a_ragged_file_without_a_header_is_told_the_right_row(tmp_path: Path) -> None:
    place = file(tmp_path, "39,State\n50\n")
    with pytest.raises(DataError, match=r"row 2 \(line 2\) has 1 field, the first row has 2"):
        read(place, header="none").frame()


def test_names_belong_to_text_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 2]})
    assert read(frame, header="first").confirmed
    with pytest.raises(DataError, match="text files only"):
        read(frame, header="none")


def test_frames_made_of_such_a_file_are_refused_too(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    place = file(tmp_path, RECORDS["text beside a number"])
    for frame in (pandas.read_csv(place), pl.read_csv(place), pl.read_csv(place).to_arrow()):
        with pytest.raises(DataError, match="Read the file that they came from again"):
            read(frame)
        assert read(frame, header="first").names == ("Private", "39")
    assert read(pandas.read_csv(place, header=None)).names == ("0", "1")


def test_a_release_refuses_fields_called_like_their_own_categories(tmp_path: Path) -> None:
    place = file(tmp_path, LATER["categories"])
    schema = Schema.from_yaml(
        "fields:\n- {name: Private, constraints: {enum: [Private, State]}}\n"
        "- {name: m, constraints: {enum: [f, m]}}"
    )
    with pytest.raises(DataError, match="field 1 of the schema is called like one of its categories"):
        penstock.release(place, schema, epsilon=1, method="independent")
    penstock.release(place, schema, epsilon=1, method="independent", header="first")


def test_private_drafts_of_text_files_mark_names_until_they_are_confirmed(tmp_path: Path) -> None:
    place = file(tmp_path, "name,age\n" + "ada,31\nbob,45\n" * 200)
    waiting = penstock.draft(place, epsilon=4, delta="1e-4")
    assert set(waiting.names) <= set(waiting.to_review())
    assert "check that they are names, and no record" in waiting.to_yaml()
    confirmed = penstock.draft(place, epsilon=4, delta="1e-4", header="first")
    assert "no record" not in confirmed.to_yaml()
    assert "age" not in confirmed.to_review()


def test_equal_names_are_told_by_their_places_alone(tmp_path: Path) -> None:
    """Two equal values in the first record of a file without a header are nobody's business."""
    with pytest.raises(DataError, match="columns 1 and 3 have the same name") as refused:
        penstock.draft(file(tmp_path, "nurse,Ulm,nurse\ncook,Kiel,smith\n"))
    assert "nurse" not in str(refused.value)
