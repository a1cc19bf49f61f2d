"""Schemas in YAML: exact round trips, and one sentence with a remedy for every mistake."""

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SchemaError
from penstock.schema import Bins, Constraints, Field, Relation, Schema, Taxonomy, Unit
from penstock.schema.values import is_pattern

text = st.text(max_size=12)
nonempty = text.filter(lambda t: t.strip(" \t\n\r\x0b\x0c") != "")
whole = st.integers(-(2**50), 2**50)
real = st.floats(-1e12, 1e12, allow_nan=False)


def distinct(texts: list[str]) -> list[str]:
    return list({each.strip(" \t\n\r\x0b\x0c"): each for each in texts}.values())


@st.composite
def trees(draw: st.DrawFn, leaves: list[str]) -> Taxonomy:
    """Any tree over these leaves: cut the list at random places, again and again."""
    if len(leaves) > 1 and draw(st.booleans()):
        place = draw(st.integers(1, len(leaves) - 1))
        parts = [draw(trees(leaves[:place])), draw(trees(leaves[place:]))]
        return Taxonomy("*", tuple(Taxonomy(draw(text), part.children) for part in parts))
    return Taxonomy("*", tuple(Taxonomy(leaf) for leaf in leaves))


@st.composite
def fields(draw: st.DrawFn, name: str) -> Field:
    kind = draw(st.sampled_from(["string", "integer", "number", "boolean", "date", "datetime"]))
    facts: dict[str, Any] = {
        "name": name,
        "type": kind,
        "title": draw(st.none() | text),
        "review": draw(st.booleans()),
    }
    facts["missing"] = draw(st.sampled_from(["value", "refuse"]))
    facts["outside"] = draw(st.sampled_from(["other", "refuse"]))
    facts["missing_values"] = draw(st.none() | st.just(()))
    if kind == "string":
        values = distinct(draw(st.lists(nonempty, min_size=1, max_size=6)))
        facts["missing_values"] = ()
        facts["categories_ordered"] = draw(st.booleans())
        known = len(values) - draw(st.integers(0, len(values) - 1))
        values, raw = values[:known], values[known:]
        facts["constraints"] = Constraints(enum=tuple(values))
        facts["merged"] = {draw(st.sampled_from(values)): raw} if raw else {}
        if draw(st.booleans()):
            facts["taxonomy"] = draw(trees(values))
    elif kind in ("integer", "number"):
        low, high = sorted(
            draw(st.lists(whole if kind == "integer" else real, min_size=2, max_size=2, unique=True))
        )
        facts["constraints"] = Constraints(minimum=low, maximum=high)
        facts["outside"] = draw(st.sampled_from(["clamp", "other", "refuse"]))
        if kind == "number" and high - low > 1e-3 and draw(st.booleans()):
            facts["bins"] = Bins(edges=(low, low + (high - low) / 3, high))
        elif draw(st.booleans()):
            facts["bins"] = Bins(count=1)
    elif kind in ("date", "datetime"):
        source = (
            st.dates() if kind == "date" else st.datetimes().map(lambda moment: moment.replace(microsecond=0))
        )
        low, high = sorted(draw(st.lists(source, min_size=2, max_size=2)))
        facts["constraints"] = Constraints(minimum=low, maximum=high)
    return Field(**facts)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    name = st.text(min_size=1, max_size=10).filter(lambda each: not is_pattern(each))
    names = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    return Schema(
        title=draw(st.none() | text),
        unit=draw(st.sampled_from([Unit(), Unit(protects="user", column="id", at_most=3, review=True)])),
        relation=draw(st.sampled_from(list(Relation))),
        size=draw(st.none() | st.integers(1, 10**9)),
        fields=tuple(draw(fields(name)) for name in names),
    )


@settings(max_examples=80, deadline=None)
@given(schemas(), st.dictionaries(text, st.tuples(text), max_size=3))
def test_a_schema_survives_yaml_exactly(schema: Schema, remarks: dict[str, tuple[str]]) -> None:
    again = Schema.from_yaml(schema.to_yaml())
    assert again == schema
    assert again.to_yaml() == schema.to_yaml()
    spoken = {**remarks, schema.names[0]: ("a remark\nin two lines",)}
    assert Schema.from_yaml(schema.with_remarks(spoken).to_yaml()) == schema


@settings(max_examples=30, deadline=None)
@given(schemas())
def test_a_schema_survives_json_exactly(schema: Schema) -> None:
    facts = json.loads(schema.model_dump_json(by_alias=True, exclude_none=True))
    assert Schema.model_validate(facts) == schema


def test_a_schema_survives_a_file(tmp_path: Path) -> None:
    schema = Schema(fields=(Field(name="née", constraints={"enum": ["ja", "nein"]}),))
    schema.save(tmp_path / "s.yaml")
    assert Schema.load(tmp_path / "s.yaml") == schema
    with pytest.raises(SchemaError, match="cannot be written"):
        schema.save(tmp_path / "no" / "s.yaml")


def test_what_is_typed_is_what_is_meant() -> None:
    schema = Schema.from_yaml(
        """
        fields:
        - {name: a, constraints: {enum: [yes, no, 007, 1.50, 12:30, 2020-01-01, ~x, 'null', True]}}
        - {name: b, type: number, constraints: {minimum: 1e-3, maximum: 1_e5}}
        """.replace("1_e5", "1e5")
    )
    assert schema.field("a").values == (
        "yes",
        "no",
        "007",
        "1.50",
        "12:30",
        "2020-01-01",
        "~x",
        "null",
        "True",
    )
    assert schema.field("b").constraints.minimum == 0.001
    assert schema.field("b").constraints.maximum == 100000.0


def test_dates_are_read_by_the_field_that_declares_them() -> None:
    schema = Schema.from_yaml(
        "fields: [{name: d, type: datetime, constraints: {minimum: 2020-01-01, maximum: 2020-01-02 10:00}}]"
    )
    assert schema.field("d").constraints.maximum == datetime(2020, 1, 2, 10)
    schema = Schema.from_yaml(
        "fields: [{name: d, type: date, constraints: {minimum: 2020-01-01, maximum: 2020-01-02}}]"
    )
    assert schema.field("d").constraints.minimum == date(2020, 1, 1)


def one(field: str, top: str = "") -> str:
    return f"{top}\nfields:\n- {{{field}}}"


MISTAKES = [
    ("", "not a mapping"),
    ("- a", "not a mapping"),
    ("title: x", "'fields' is missing. Add it"),
    ("fields: []", "no fields are declared"),
    ("fields: 3", "not a list"),
    ("fields: [3]", "not a mapping"),
    ("fields: {a: b}", "not a list"),
    ("a: [", "line 1: not valid YAML"),
    ("fields: &x\n- *x", "aliases"),
    ("title: a\ntitle: b\nfields: []", "line 2: the key 'title' is given twice"),
    ("? [a, b]\n: c", "cannot be a key"),
    ("\x00", "not valid YAML"),
    ("[" * 5000, "not valid YAML"),
    ("feilds: []", "unknown key 'feilds' (did you mean 'fields'?)"),
    (one("type: integer"), "'name' is missing"),
    (one("name: ''"), "a name is empty"),
    (one("name: a, tpye: integer"), "a: unknown key 'tpye' (did you mean 'type'?)"),
    (one("name: a, type: int"), "a: 'type' is 'int'; write one of 'string', 'integer'"),
    (one("name: a"), "a: no categories are declared. List them under 'constraints: enum'"),
    (one("name: a, constraints: {enum: []}"), "no categories"),
    (one("name: a, constraints: {enum: x}"), "a: 'x' is not a list"),
    (one("name: a, constraints: 5"), "a: constraints are '5'"),
    (one("name: a, constraints: {enum: [x, x]}"), "a: enum value 'x' is given twice"),
    (one("name: a, constraints: {enum: [x, ' x ']}"), "given twice"),
    (one("name: a, constraints: {enum: [x, null]}"), "missing values are declared with 'missing: value'"),
    (one("name: a, constraints: {enums: [x]}"), "a: constraints: unknown key 'enums' (did you mean 'enum'?)"),
    (one("name: a, constraints: {enum: [x], minimum: 3}"), "a: 'minimum' next to an enum"),
    (one("name: a, type: integer, constraints: {enum: [1, x]}"), "a: enum value 'x' is not a whole number"),
    (one("name: a, type: integer"), "a: a whole number without a minimum"),
    (one("name: a, type: integer, constraints: {minimum: 1}"), "without a maximum. Declare public bounds"),
    (one("name: a, type: number, constraints: {minimum: nan, maximum: 3}"), "minimum 'nan' is not a number"),
    (one("name: a, type: number, constraints: {minimum: -1e308, maximum: 1e308}"), "not finite"),
    (one("name: a, type: integer, constraints: {minimum: 0, maximum: 99999999999999999999}"), "beyond 2^53"),
    (
        one("name: a, type: integer, constraints: {minimum: 5, maximum: 3}"),
        "the minimum 5 is above the maximum 3",
    ),
    (one("name: a, type: date, constraints: {minimum: 2020-02-30, maximum: 2021-01-01}"), "is not a date"),
    (
        one("name: a, type: integer, constraints: {minimum: 1, maximum: 4}, bins: 16"),
        "Write 'bins: {count: 16}'",
    ),
    (one("name: a, type: integer, constraints: {minimum: 1, maximum: 4}, bins: {count: 5}"), "at most 4"),
    (one("name: a, type: integer, constraints: {minimum: 1, maximum: 4}, bins: {count: 0}"), "between 1 and"),
    (
        one("name: a, type: integer, constraints: {minimum: 1, maximum: 4}, bins: {count: x}"),
        "a: bins: 'count' is 'x'",
    ),
    (one("name: a, type: integer, constraints: {minimum: 1, maximum: 4}, bins: {}"), "exactly one of"),
    (
        one("name: a, type: integer, constraints: {minimum: 1, maximum: 4}, bins: {count: 2, width: 2}"),
        "exactly one",
    ),
    (
        one("name: a, type: integer, constraints: {minimum: 1, maximum: 4}, bins: {width: 1.5}"),
        "a whole number above",
    ),
    (
        one("name: a, type: number, constraints: {minimum: 1, maximum: 4}, bins: {width: -1}"),
        "is not above 0",
    ),
    (
        one("name: a, type: number, constraints: {minimum: 1, maximum: 4}, bins: {width: inf}"),
        "is not above 0",
    ),
    (
        one("name: a, type: number, constraints: {minimum: 0, maximum: 1e9}, bins: {width: 1}"),
        "Choose a larger width",
    ),
    (
        one("name: a, type: number, constraints: {minimum: 1, maximum: 4}, bins: {edges: [1, 3]}"),
        "Make them agree",
    ),
    (one("name: a, type: number, bins: {edges: [1, 3, 2, 4]}"), "do not increase"),
    (one("name: a, type: integer, bins: {edges: [1, 3, 3, 4]}"), "do not increase"),
    (one("name: a, type: number, bins: {edges: [1]}"), "at least two edges"),
    (one("name: a, type: boolean, bins: {count: 2}"), "neither bounds nor bins"),
    (one("name: a, type: boolean, outside: clamp"), "a boolean cannot be clamped"),
    (one("name: a, type: boolean, trueValues: ['1'], falseValues: ['1']"), "'1' is both true and false"),
    (one("name: a, constraints: {enum: [x]}, outside: clamp"), "categories cannot be clamped"),
    (
        one("name: a, constraints: {enum: [x]}, categoriesOrdered: true, outside: clamp"),
        "no nearest category",
    ),
    (one("name: a, constraints: {enum: [x]}, outside: skip"), "a: 'outside' is 'skip'; write one of 'clamp'"),
    (
        one("name: a, constraints: {enum: [x]}, outside: drop"),
        "only what lies outside of bounds can be dropped",
    ),
    (one("name: a, constraints: {enum: [x]}, missing: ok"), "'missing' is 'ok'; write one of"),
    (
        one("name: a, type: integer, constraints: {minimum: 0, maximum: 9}, taxonomy: {a: [b]}"),
        "belongs to a field with an enum",
    ),
    (one("name: a, taxonomy: {g: [x, y]}, constraints: {enum: [x, y, z]}"), "category 'z' is not a leaf"),
    (one("name: a, taxonomy: {g: [x, y, zz]}, constraints: {enum: [x, y]}"), "leaf 'zz' is not in the enum"),
    (one("name: a, taxonomy: {g: [x, y], h: [x]}, constraints: {enum: [x, y]}"), "holds 'x' more than once"),
    (one("name: a, taxonomy: {g: []}"), "a: taxonomy: the group 'g' is empty"),
    (one("name: a, taxonomy: [[x]]"), "Give the inner group a name"),
    (one("name: a, taxonomy: [null]"), "an empty category"),
    (one("name: a, taxonomy: tree.yaml"), "there is no folder to read it from"),
    (
        one("name: a, constraints: {enum: [x, '?']}", "missingValues: ['?']"),
        "also a sign for a missing value",
    ),
    (one("name: a, constraints: {enum: [x]}", "size: 0"), "size 0 is not positive"),
    (one("name: a, constraints: {enum: [x]}", "size: many"), "'size' is 'many'"),
    (one("name: a, constraints: {enum: [x]}", "kind: tabel"), "'kind' is 'tabel'; write one of 'table'"),
    (
        one("name: a, constraints: {enum: [x]}", "relation: swap"),
        "'relation' is 'swap'; write one of 'add-remove'",
    ),
    (
        one("name: a, constraints: {enum: [x]}", "unit: {protects: user}"),
        "unit: protects 'user' needs 'column'",
    ),
    (
        one("name: a, constraints: {enum: [x]}", "unit: {protect: user}"),
        "unknown key 'protect' (did you mean 'protects'?)",
    ),
    (one("name: a, constraints: {enum: [x]}", "unit: record"), "not a mapping"),
    (
        one("name: a, constraints: {enum: [x]}", "impossible: [b = x]"),
        "impossible: At position 1: 'b' is not a field",
    ),
    (
        one("name: a, constraints: {enum: [x]}", "kind: sequences\nsequence: {user: u, symbol: b}"),
        "the symbol 'b' is not a field",
    ),
    (one("name: a, constraints: {enum: [x]}", "kind: sequences\nsequence: {user: u}"), "'symbol' is missing"),
    (one("name: a, constraints: {enum: [x]}", "unit: {protects: node}"), "'record' or 'user', not 'node'"),
    (one("name: a, constraints: {enum: [x]}", "unit: {protects: sequence}"), "not 'sequence'"),
    (
        one("name: a, type: boolean", "kind: points\nunit: {protects: edge}"),
        "not 'edge'",
    ),
    (
        "fields: [{name: a, constraints: {enum: [x]}}, {name: a, constraints: {enum: [x]}}]",
        "a: the field is declared twice",
    ),
]


@pytest.mark.parametrize(("document", "expected"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_answered_with_one_sentence_and_a_remedy(document: str, expected: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_yaml(document)
    message = str(caught.value)
    assert expected in message
    assert message.endswith((".", ")"))
    assert "\n" not in message
    assert "pydantic" not in message


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"nowhere\.yaml: no such file"):
        Schema.load(tmp_path / "nowhere.yaml")
    (tmp_path / "latin.yaml").write_bytes("fields: [é]".encode("latin-1"))
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.load(tmp_path / "latin.yaml")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path)


def test_a_taxonomy_is_read_from_beside_the_schema_and_from_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text('{"Europe": ["France", "Italy"], "Asia": ["Japan"]}')
    (tmp_path / "s.yaml").write_text("fields:\n- {name: land, taxonomy: tree.json}\n")
    schema = Schema.load(tmp_path / "s.yaml")
    assert schema.field("land").labels == ("France", "Italy", "Japan")
    assert Schema.from_yaml(schema.to_yaml()) == schema
    for outside in ("../tree.json", str(tmp_path / "tree.json")):
        (tmp_path / "s.yaml").write_text(f"fields:\n- {{name: land, taxonomy: {outside}}}\n")
        with pytest.raises(SchemaError, match="not beside the schema"):
            Schema.load(tmp_path / "s.yaml")


def test_a_character_in_two_escaped_halves_is_one_and_half_a_character_is_refused() -> None:
    """As JSON writes them; a release whose title had only one of the halves failed after it was paid for."""
    written = json.dumps({"title": "\U0001f600", "fields": [{"name": "a", "type": "boolean"}]})
    assert Schema.from_yaml(written).title == "\U0001f600"
    with pytest.raises(SchemaError, match="line 1: a text has half of a character"):
        Schema.from_yaml(written.replace("\\ude00", ""))


def test_tags_in_a_document_do_nothing() -> None:
    schema = Schema.from_yaml("fields: [{name: !!python/name:os.system a, constraints: {enum: [!!int 1]}}]")
    assert schema.names == ("a",)
    assert schema.field("a").values == ("1",)


def test_unreviewed_facts_stop_a_release_and_are_named() -> None:
    schema = Schema(
        unit=Unit(review=True),
        fields=(
            Field(name="a", constraints={"enum": ["x"]}, review=True),
            Field(name="b", constraints={"enum": ["x"]}),
        ),
    )
    assert schema.to_review() == ["a", "unit"]
    with pytest.raises(SchemaError, match=r"not yet reviewed: a, unit\. .*'review: true' to 'review: false'"):
        schema.refuse_if_unreviewed()
    Schema(fields=(schema.field("b"),)).refuse_if_unreviewed()


def test_a_confirmed_placeholder_still_needs_its_categories() -> None:
    waiting = Schema.from_yaml("fields: [{name: a, constraints: {enum: []}, review: true}]")
    with pytest.raises(SchemaError, match="no categories are declared"):
        _ = waiting.attributes
    with pytest.raises(SchemaError, match="no categories are declared"):
        Schema.from_yaml("fields: [{name: a, constraints: {enum: []}, review: false}]")


def test_facts_cannot_be_changed() -> None:
    schema = Schema.from_yaml(one("name: a, constraints: {enum: [x]}"))
    with pytest.raises(ValueError, match="frozen"):
        schema.size = 5  # type: ignore[misc]


def test_unknown_fields_are_answered_with_the_nearest_name() -> None:
    with pytest.raises(SchemaError, match=r"agee: not a field of the schema \(did you mean 'age'\?\)"):
        Schema.from_yaml(one("name: age, constraints: {enum: [x]}")).field("agee")


def test_a_target_is_one_of_the_fields_of_a_table() -> None:
    field = "fields: [{name: age, type: integer, constraints: {minimum: 0, maximum: 9}}]"
    assert Schema.from_yaml(f"target: age\n{field}").target == "age"
    assert "target: age" in Schema.from_yaml(f"target: age\n{field}").to_yaml()
    with pytest.raises(SchemaError, match="'ages' is not among the fields"):
        Schema.from_yaml(f"target: ages\n{field}")
    with pytest.raises(SchemaError, match="only a table can have a target"):
        Schema.from_yaml(f"kind: points\ntarget: age\n{field}")
