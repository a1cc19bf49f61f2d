"""Edits of a YAML text change one fact and not a letter besides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SchemaError
from penstock.review import marks
from penstock.schema import document

TEXT = """\
# about people
unit: {review: true}  # who
fields:
  # read off the data: its bounds
  - name: age   # in years
    type: integer

    constraints: {minimum: 0, maximum: 70}  # rounded
    review: true
  # codes as they were typed
  - name: edu
    constraints:
      enum:
        - 007   # no schooling
        # a remark between
        - 'yes'
        - "no"
    review: true
always: ["age >= 0"]
"""
COMMENTS = [line.partition("#")[2].strip() for line in TEXT.splitlines() if "#" in line]


def comments(text: str) -> list[str]:
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]


EDITS: list[tuple[str, Any]] = [
    ("confirm", lambda t: marks.put(t, ("fields", 0, "review"), False)),
    ("bounds", lambda t: marks.put(t, ("fields", 0, "constraints", "maximum"), marks.Number("120"))),
    ("new key", lambda t: marks.put(t, ("fields", 1, "outside"), "other", before="review")),
    ("new top key", lambda t: marks.put(t, ("target",), "edu", before="fields")),
    ("in braces", lambda t: marks.put(t, ("unit", "protects"), "record")),
    ("added item", lambda t: marks.append(t, ("fields", 1, "constraints", "enum"), "~")),
    ("added rule", lambda t: marks.append(t, ("always",), "edu = '#1'")),
    ("removed item", lambda t: marks.remove(t, ("fields", 1, "constraints", "enum", 2))),
]


@pytest.mark.parametrize(("what", "edit"), EDITS)
def test_an_edit_changes_one_line_and_keeps_every_comment(what: str, edit: Any) -> None:
    changed = edit(TEXT)
    assert [each for each in comments(changed) if "edu = '" not in each and "1'" not in each] == COMMENTS
    before, after = TEXT.splitlines(), changed.splitlines()
    assert len([line for line in after if line not in before]) <= 1
    assert len([line for line in before if line not in after]) <= 1


def test_a_removed_field_takes_its_own_remarks_along_and_no_others() -> None:
    changed = marks.remove(TEXT, ("fields", 0))
    assert comments(changed) == ["about people", "who", "codes as they were typed", *COMMENTS[-2:]]
    assert document.as_typed(changed)["fields"] == document.as_typed(TEXT)["fields"][1:]


def test_what_was_typed_stays_what_was_meant() -> None:
    changed = marks.put_items(TEXT, ("fields", 1, "constraints", "enum"), ["007", "no", "null", "1.0"])
    assert document.as_typed(changed)["fields"][1]["constraints"]["enum"] == ["007", "no", "null", "1.0"]
    assert "- 007   # no schooling" in changed


def test_remarks_are_read_added_and_taken_away() -> None:
    assert marks.remarks_above(TEXT, ("fields", 0)) == ["read off the data: its bounds"]
    changed = marks.remark(TEXT, ("fields", 0), "from the codebook")
    assert marks.remarks_above(changed, ("fields", 0)) == [
        "read off the data: its bounds",
        "from the codebook",
    ]
    assert marks.remarks_above(marks.without_remarks(changed, ("fields", 0), "read off"), ("fields", 0)) == [
        "from the codebook"
    ]


def test_an_edit_that_would_change_more_is_refused() -> None:
    with pytest.raises(SchemaError, match="Edit it by hand"):
        marks.put("fields:\n  - {name: a}\n", ("fields", 0, "title"), {1: ["x"]})


words = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=12)


@settings(max_examples=40)
@given(words, st.lists(words, max_size=4, unique=True), st.booleans())
def test_any_text_survives_in_block_and_in_flow_style(title: str, values: list[str], flow: bool) -> None:
    text = "{fields: [{name: a, constraints: {enum: [x]}}]}\n" if flow else TEXT
    text = marks.put(text, ("fields", 0, "title"), title)
    text = marks.put(text, ("fields", 0, "constraints", "enum"), values)
    found = document.as_typed(text)["fields"][0]
    assert (found["title"], found["constraints"]["enum"]) == (title, values)
    text = marks.remove(text, ("fields", 0, "title"))
    assert "title" not in document.as_typed(text)["fields"][0]
    if not flow:
        assert all(each in text for each in COMMENTS)
