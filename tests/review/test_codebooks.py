"""Codebooks: seven forms of the same facts give the same schema, confirmed by their source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.review.cards import cards
from penstock.review.codebooks.importing import entries, take_in
from penstock.review.sheet import Sheet

DRAFT = """\
unit: {review: false}
fields:
  # read off the data: its type, its bounds (rounded outwards), that 0 stands out, that no value is missing
  - name: age
    type: integer
    constraints: {minimum: 0, maximum: 90}
    spikes: [0]
    bins: {adaptive: true}
    review: true
  # read off the data: its type, its categories, that values are missing
  - name: sex
    type: string
    constraints:
      enum: ['1', x]
    missing: value
    review: true
  # read off the data: its type
  - name: note
    type: string
    constraints: {enum: [a]}
    review: true
"""
FRICTIONLESS = {
    "resources": [
        {
            "name": "people",
            "schema": {
                "fields": [
                    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
                    {
                        "name": "sex",
                        "categories": [{"value": 1, "label": "male"}, {"value": 2, "label": "female"}],
                    },
                    {"name": "note", "title": "A note", "type": "string"},
                    {"name": "elsewhere", "type": "boolean"},
                ]
            },
        }
    ]
}
CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "tableSchema": {
        "columns": [
            {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 120}},
            {"name": "sex", "datatype": {"base": "integer", "format": "^(1|2)$"}},
            {"name": "note", "titles": {"en": ["A note"]}},
        ]
    },
}
NIST = {
    "AGE": {"description": "Person's age", "values": {"min": 0, "max": 120}},
    "sex": {"description": "Sex", "values": {"1": "male", "2": "female"}},
    "note": {"description": "A note"},
}
DDI = """<?xml version="1.0"?>
<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
  <var name="age" intrvl="contin"><labl>Age</labl><valrng><range min="0" max="120"/></valrng></var>
  <var name="sex"><labl>Sex</labl>
    <catgry><catValu>1</catValu><labl>male</labl></catgry>
    <catgry><catValu>2</catValu><labl>female</labl></catgry>
    <catgry missing="Y"><catValu>-9</catValu><labl>no answer</labl></catgry></var>
  <var name="note"><labl>A note</labl></var>
</dataDscr></codeBook>"""
PLAIN = "variable,values\nage,0..120\nsex,1=male; 2=female\nnote,A note\n"


@pytest.fixture
def sheet(tmp_path: Path) -> Sheet:
    file = tmp_path / "people.schema.yaml"
    file.write_text(DRAFT)
    return Sheet(file)


def written(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content)
    return folder / name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", json.dumps(FRICTIONLESS)),
        ("schema.json", json.dumps(FRICTIONLESS["resources"][0]["schema"])),
        ("people-metadata.json", json.dumps(CSVW)),
        ("dictionary.json", json.dumps(NIST)),
        ("codebook.xml", DDI),
        ("codes.csv", PLAIN),
    ],
)
def test_every_form_of_codebook_confirms_its_facts_and_nothing_that_was_read_off_the_data(
    sheet: Sheet, tmp_path: Path, name: str, content: str
) -> None:
    found = take_in(sheet, written(tmp_path, name, content))
    assert found.confirmed == ("age", "sex")
    assert found.titled == ("note",)
    age, sex = sheet.schema.field("age"), sheet.schema.field("sex")
    assert (age.domain, age.type, age.spikes, age.bins) == ("0..120", "integer", (), None)
    assert sex.values == (1, 2)
    assert (age.missing, sex.missing) == ("value", "value")  # the codebook does not say that none is missing
    assert sheet.left == ["note"]
    _, shown, _, note = cards(sheet)
    assert shown.source.startswith(f"from the codebook {name}: its bounds")
    assert shown.read == ()
    assert note.waiting
    assert sheet.path.read_text().count("read off the data") == 1


def test_signs_for_missing_values_and_labels_come_along(sheet: Sheet, tmp_path: Path) -> None:
    take_in(sheet, written(tmp_path, "codebook.xml", DDI))
    sex = sheet.schema.field("sex")
    assert sex.missing_values == ("-9", "")
    assert sex.description == "1 = male; 2 = female"


def test_codes_beside_bounds_are_spikes_or_signs_as_in_the_dictionaries_of_nist(tmp_path: Path) -> None:
    facts = {"POVPIP": {"values": {"N": "N/A", "min": 0, "max": 500, "501": "above 5 x poverty line"}}}
    (entry,) = entries(written(tmp_path, "data_dictionary.json", json.dumps(facts)))
    assert (entry.low, entry.high, entry.spikes, entry.signs) == ("0", "501", ("501",), ("N",))


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_value_labels_of_stata_and_spss_are_read_without_a_record(
    sheet: Sheet, tmp_path: Path, suffix: str
) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0], "sex": [1, 2]})
    write = pyreadstat.write_sav if suffix == ".sav" else pyreadstat.write_dta
    labels = {"sex": {1: "male", 2: "female"}}
    write(
        frame, str(tmp_path / f"people{suffix}"), variable_value_labels=labels, column_labels=["Age", "Sex"]
    )
    found = take_in(sheet, tmp_path / f"people{suffix}")
    assert (found.confirmed, found.titled) == (("sex",), ("age",))
    assert sheet.schema.field("sex").values == (1, 2)
    assert sheet.schema.field("age").title == "Age"


BOMB = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>
<codeBook><dataDscr><var name="age"><labl>&b;</labl></var></dataDscr></codeBook>"""


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("bomb.xml", BOMB, "XML entities"),
        ("broken.xml", "<codeBook>", "not valid XML"),
        ("empty.xml", "<codeBook/>", "describes no variable"),
        ("broken.json", "{", "not valid JSON"),
        ("list.json", "[1, 2]", "neither a Frictionless"),
        ("wrong.json", '{"fields": [1]}', "not built as its form demands"),
        ("unknown.xml", "<?xml version='1.0' encoding='nobody-knows'?><codeBook/>", "not valid XML"),
        ("endless.json", '{"age": {"min": 0, "max": Infinity}}', "age: "),
        ("long.csv", "age," + "x" * 200_000, "cannot be read as CSV"),
        ("three.csv", "a,b,c\n", "line 1, has 3 columns"),
        ("empty.csv", "\n", "no line of two columns"),
        ("book.docx", "", "no codebook that can be read"),
        ("people.sav", "nothing", "cannot be read as a .sav file"),
    ],
)
def test_what_is_no_codebook_is_one_sentence_and_changes_nothing(
    sheet: Sheet, tmp_path: Path, name: str, content: str, says: str
) -> None:
    with pytest.raises(PenstockError, match=says):
        take_in(sheet, written(tmp_path, name, content))
    assert sheet.path.read_text() == DRAFT


def test_a_codebook_that_makes_no_sense_changes_nothing(sheet: Sheet, tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="above the maximum"):
        take_in(sheet, written(tmp_path, "codes.csv", "sex,1;2\nage,120..0\n"))
    assert sheet.path.read_text() == DRAFT


def test_what_was_merged_stays_merged_when_a_codebook_lists_the_parts(sheet: Sheet, tmp_path: Path) -> None:
    sheet.do("merge", "sex", "x", "into", "2")
    (tmp_path / "codebook.csv").write_text("variable,values\nsex,1; 2; 3; x\n")
    assert take_in(sheet, tmp_path / "codebook.csv").confirmed == ("sex",)
    assert sheet.schema.field("sex").labels == ("1", "2", "3")
    assert sheet.schema.field("sex").spellings == {"1": 0, "2": 1, "3": 2, "x": 1}
    (tmp_path / "numbers.csv").write_text("variable,values\nsex,0..9\n")
    take_in(sheet, tmp_path / "numbers.csv")
    assert "merged" not in sheet.path.read_text()
