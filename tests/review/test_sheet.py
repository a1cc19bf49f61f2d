"""The review of a schema file: actions, refusals, and what is never overwritten."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import run
from penstock.errors import PenstockError
from penstock.review.actions import ACTIONS
from penstock.review.cards import cards, overview
from penstock.review.sheet import ChangedMeanwhileError, Sheet

DRAFT = """\
# A draft.
unit: {review: true}
missingValues: ['', NA]
fields:
  # read off the data: its type, its categories, that no value is missing
  - name: ward
    type: string
    constraints:
      enum: [annex, east, north]
    review: true
  # read off the data: its type, its bounds (rounded outwards), its decimals, that values are missing
  - name: weight
    type: number
    constraints: {minimum: 40, maximum: 130.5}
    decimals: 1
    missing: value
    review: true
  # read off the data: its type, its bounds (rounded outwards), that no value is missing
  - name: admitted
    type: date
    constraints: {minimum: '2025-01-01', maximum: '2025-12-31'}
    review: true
"""


@pytest.fixture
def sheet(tmp_path: Path) -> Sheet:
    file = tmp_path / "people.schema.yaml"
    file.write_text(DRAFT)
    return Sheet(file)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("confirm ward", "    review: false"),
        ("widen weight", "    constraints: {minimum: 0, maximum: 200}"),
        ("round weight", "    constraints: {minimum: 0, maximum: 200}"),
        ("widen admitted", "    constraints: {minimum: '2024-01-01', maximum: '2026-12-31'}"),
        ("round admitted", "    constraints: {minimum: '2020-01-01', maximum: '2029-12-31'}"),
        ("bounds weight 20 300", "    constraints: {minimum: 20, maximum: 300}"),
        ("rename ward Ward", "    title: Ward"),
        ("merge ward annex", "      enum: [east, north]"),
        ("merge ward annex east into elsewhere", "    merged: {elsewhere: [annex, east]}"),
        ("merge ward annex east into elsewhere", "      enum: [north, elsewhere]"),
        ("merge ward annex into north", "    merged: {north: [annex]}"),
        ("merge ward annex east into east", "    merged: {east: [annex]}"),
        ("widen ward", "    outside: other"),
        ("add ward west", "      enum: [annex, east, north, west]"),
        ("missing ward value ? -9", "    missingValues: ['?', '-9']"),
        ("markers none", "missingValues: ['', none]"),
        ("outside weight clamp", "    outside: clamp"),
        ("target ward", "target: ward"),
        ("unit user patient 3", "unit: {protects: user, column: patient, at_most: 3, review: true}"),
        ("rule impossible weight < 50 and ward = 'east'", "impossible: [weight < 50 and ward = 'east']"),
    ],
)
def test_each_action_writes_its_line_and_keeps_every_comment(sheet: Sheet, words: str, line: str) -> None:
    name, *rest = words.split()
    sheet.do(name, *rest)
    text = sheet.path.read_text()
    assert line in text.splitlines()
    assert [each for each in text.splitlines() if "#" in each] == [
        each for each in DRAFT.splitlines() if "#" in each
    ]
    sheet.do("undo")
    assert sheet.path.read_text() == DRAFT


def test_merged_categories_are_merged_again_with_all_that_they_mean(sheet: Sheet) -> None:
    sheet.do("merge", "ward", "annex", "east", "into", "elsewhere")
    shown = next(card for card in cards(sheet) if card.name == "ward")
    assert shown.merged == ("elsewhere: annex, east",)
    sheet.do("merge", "ward", "elsewhere", "into", "all")
    assert sheet.schema.field("ward").labels == ("north", "all")
    assert sheet.schema.field("ward").spellings == {
        "north": 0,
        "all": 1,
        "elsewhere": 1,
        "annex": 1,
        "east": 1,
    }
    sheet.do("merge", "ward", "all")
    assert sheet.schema.field("ward").merged == ()
    assert sheet.schema.field("ward").outside == "other"
    assert "merged" not in sheet.path.read_text()


def test_a_category_may_be_called_like_a_word_of_the_action(sheet: Sheet) -> None:
    """The page always says into what, so that whatever is ticked is merged."""
    sheet.do("add", "ward", "into")
    sheet.do("merge", "ward", "annex", "into", "east", "into", "other")
    assert sheet.schema.field("ward").labels == ("north",)
    assert sheet.schema.field("ward").outside == "other"


def test_grades_are_merged_in_their_place(sheet: Sheet) -> None:
    grades = "{name: grade, type: integer, constraints: {enum: [1, 2, 3, 9]}, categoriesOrdered: true}"
    sheet.path.write_text(f"fields:\n  - {grades}\n")
    again = Sheet(sheet.path)
    again.do("merge", "grade", "2", "3", "into", "5")
    assert again.schema.field("grade").values == (1, 5, 9)
    assert dict(again.schema.field("grade").meanings) == {1: 0, 5: 1, 9: 2, 2: 1, 3: 1}


def test_every_action_is_tried_above_or_takes_something_back() -> None:
    tried = {"confirm", "widen", "round", "bounds", "rename", "merge", "add", "missing", "markers", "outside"}
    assert set(ACTIONS) == tried | {"target", "unit", "rule", "drop-rule", "reopen", "leave-out"}


def test_what_was_done_can_be_taken_back_by_its_opposite(sheet: Sheet) -> None:
    sheet.do("confirm", "ward")
    sheet.do("reopen", "ward")
    sheet.do("rule", "always", "weight >= 40")
    sheet.do("drop-rule", "always", "1")
    assert sheet.path.read_text() == DRAFT
    sheet.do("target", "ward")
    sheet.do("leave-out", "ward")
    assert sheet.schema.names == ("weight", "admitted")
    assert sheet.schema.target is None


@pytest.mark.parametrize(
    "words",
    [
        ("confirm", "wart"),
        ("conform", "ward"),
        ("bounds", "weight", "9", "1"),
        ("bounds", "weight", "x", "1"),
        ("bounds", "ward", "0", "1"),
        ("merge", "ward", "annex", "east", "north"),
        ("merge", "ward", "west"),
        ("merge", "weight", "40"),
        ("merge", "ward", "annex", "into", "  "),
        ("merge", "ward", "annex", "into", "NA"),
        ("round", "ward"),
        ("rule", "impossible", "wart = 'x'"),
        ("rule", "sometimes", "ward = 'x'"),
        ("drop-rule", "always", "1"),
        ("unit", "user"),
        ("target", "wart"),
        ("outside", "ward", "clamp"),
        ("bounds", "weight"),
        ("undo",),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_changes_nothing(
    sheet: Sheet, words: tuple[str, ...]
) -> None:
    with pytest.raises(PenstockError) as caught:
        sheet.do(*words)
    assert sheet.path.read_text() == DRAFT
    assert "\n" not in str(caught.value)


def test_a_file_that_somebody_else_changed_is_read_again_and_not_overwritten(sheet: Sheet) -> None:
    theirs = DRAFT.replace("# A draft.", "# A draft that somebody works on.")
    sheet.path.write_text(theirs)
    with pytest.raises(ChangedMeanwhileError, match="changed by somebody else"):
        sheet.do("confirm", "ward")
    assert sheet.path.read_text() == theirs
    sheet.do("confirm", "ward")
    assert sheet.left == ["weight", "admitted", "unit"]


def test_a_file_that_cannot_be_written_is_told_and_stays(
    sheet: Sheet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(PenstockError, match="cannot be written"):
        sheet.do("confirm", "ward")
    assert sheet.path.read_text() == DRAFT
    assert sheet.left[0] == "ward"


def test_a_card_says_what_was_read_and_why_that_may_be_secret(sheet: Sheet) -> None:
    unit, ward, weight, _ = cards(sheet)
    assert unit.domain == "one record"
    assert ward.read == ("its type", "its categories", "that no value is missing")
    assert "only one person" in ward.why[0]
    assert weight.read[1] == "its bounds (rounded outwards)"
    assert (weight.low, weight.high) == ("40", "130.5")
    sheet.do("confirm", "ward")
    assert cards(sheet)[1].why == ()
    assert overview(sheet)["left"] == ["weight", "admitted", "unit"]


def test_the_command_line_reviews_without_a_page(
    sheet: Sheet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(sheet.path)
    assert run(["review", file, "--do", "confirm ward", "--do", "round weight"]) == 0
    assert "3 of 4 left to review." in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO("?\nbounds 0 300\nnonsense\n\ns\n\n"))
    assert run(["review", file, "--terminal"]) == 0
    said = capsys.readouterr().out
    assert "is no action" in said
    assert "'other'" in said
    assert "1 of 4 left to review." in said or "2 of 4 left to review." in said
    assert run(["review", file, "--list", "--json"]) == 0
    assert '"left"' in capsys.readouterr().out
    assert run(["review", file, "--do", "confirm nobody"]) == 2


PLAIN = """
import sys
import penstock.review.cards, penstock.review.codebooks.importing
known = {name.partition('.')[0] for name in sys.modules}
assert not known & {'starlette', 'uvicorn', 'rich', 'typer', 'webbrowser'}, known
assert not [name for name in sys.modules if name.startswith(('penstock.cli', 'penstock.desk'))]
"""


def test_the_review_itself_knows_neither_a_page_nor_a_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unknown_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="no such file"):
        Sheet(tmp_path / "nothing.yaml")


def test_a_target_is_set_and_taken_back_in_the_terminal_and_each_step_is_acknowledged(
    sheet: Sheet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\ntarget\n?\nmerge annex east into 'old wards'\nq\n"))
    assert run(["review", str(sheet.path), "--terminal"]) == 0
    told = capsys.readouterr().out
    assert "Written." in told
    assert "target [FIELD|none]" in told
    assert told.count("3 categories") == 1  # a list of actions leaves the card in sight
    assert "merged into old wards: annex, east" in told
    monkeypatch.setattr(sys, "stdin", io.StringIO("target none\nconfirm weight\nq\n"))
    assert Sheet(sheet.path).schema.target == "ward"
    assert run(["review", str(sheet.path), "--terminal"]) == 0
    assert Sheet(sheet.path).schema.target is None
    assert "weight" not in Sheet(sheet.path).left  # named under the card of another field
