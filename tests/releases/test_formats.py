"""Folders of earlier formats are read for ever.

The folders under format-1 were made by the last version that wrote that format, with a seed, and only
their reports (five megabytes each) were replaced by a line before they were listed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from penstock.errors import ReleaseError
from penstock.kinds.sequences.top_strings import TopStringsRelease
from penstock.learn.selection.release import SelectionRelease
from penstock.releases import load
from penstock.releases.formats import FORMAT, upgraded

FIRST = Path(__file__).parent / "format-1"
ANSWERED = {
    "table": ("table", "synthetic data"),
    "points": ("points", "synthetic data"),
    "strings": ("sequences", "selection"),
    "items": ("itemsets", "selection"),
    "categories": ("table", "selection"),
}


def about(folder: Path) -> dict[str, object]:
    told: dict[str, object] = json.loads((folder / "datapackage.json").read_text())["penstock"]
    return told


def test_the_folders_are_of_the_first_format() -> None:
    assert {folder.name for folder in FIRST.iterdir() if folder.is_dir()} == set(ANSWERED)
    for name in ANSWERED:
        assert about(FIRST / name)["format"] == 1
        assert "answer" not in about(FIRST / name)
    assert {name for name in ANSWERED if about(FIRST / name)["kind"] == "selection"} == {
        "items",
        "categories",
    }


@pytest.mark.parametrize("name", ANSWERED)
def test_a_folder_of_the_first_format_is_told_in_todays_words(name: str) -> None:
    release = load(FIRST / name)
    assert (release.kind, release.answer) == ANSWERED[name]
    assert release.kind == release.schema.kind
    assert not release.publishable


@pytest.mark.parametrize(
    ("name", "question", "value", "error"),
    [
        ("table", "age < 42 and sex = 'f'", 61.134301395734106, 18.0),
        ("points", "x < 0.5 and y < 0.5", 251.0, 42.0),
        ("categories", "m", 203.0, None),
    ],
)
def test_a_folder_of_the_first_format_answers_from_its_counts(
    name: str, question: str, value: float, error: float | None
) -> None:
    """The numbers of the folders as today's words tell them: noisy counts, and the error of their noise."""
    answer = load(FIRST / name).query(question)
    assert answer.rests_on == "counted"
    assert answer.value == pytest.approx(value, rel=1e-9)
    assert answer.error == (None if error is None else pytest.approx(error, abs=1))


def test_what_was_selected_in_the_first_format_is_still_selected() -> None:
    items = load(FIRST / "items")
    assert isinstance(items, SelectionRelease)
    assert items.items == ("bread", "butter")
    strings = load(FIRST / "strings")
    assert isinstance(strings, TopStringsRelease)
    assert strings.top(4)["string"].to_list() == ["sport", "news", "home", "news,home"]


@pytest.mark.parametrize("name", ANSWERED)
def test_a_folder_of_the_first_format_can_be_saved_again_in_todays(name: str, tmp_path: Path) -> None:
    again = load(FIRST / name).save(tmp_path / name)
    assert about(again)["format"] == FORMAT
    assert (about(again)["kind"], about(again)["answer"]) == ANSWERED[name]
    kept = {path.name for path in again.iterdir()} - {"datapackage.json", "report.html"}
    assert kept == {path.name for path in (FIRST / name).iterdir()} - {"datapackage.json", "report.html"}
    for file in kept:
        if not file.endswith(".parquet"):  # whose bytes depend on the version of Polars
            assert (again / file).read_bytes() == (FIRST / name / file).read_bytes(), file
    before, after = load(FIRST / name), load(again)
    assert after.summary() == before.summary()
    for table, frame in before.model().tables.items():
        assert after.model().tables[table].equals(frame)


def test_a_selection_of_the_first_format_that_no_method_makes_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FIRST / "items", tmp_path / "items"))
    package = json.loads((folder / "datapackage.json").read_text())
    package["penstock"]["method"] = "select-stars"
    (folder / "datapackage.json").write_text(json.dumps(package))
    with pytest.raises(ReleaseError, match="calls itself a release of selection"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("table", "sequence: {symbol: sex, longest: 3}"),
        ("table", "items: {item: sex}"),
        ("points", "items: {item: x}"),
        ("strings", "items: {item: pages}"),
    ],
)
def test_a_block_of_another_kind_was_ignored_in_the_first_format_and_is(
    name: str, block: str, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(FIRST / name, tmp_path / name))
    schema = (folder / "schema.yaml").read_bytes() + f"{block}\n".encode()
    (folder / "schema.yaml").write_bytes(schema)
    package = json.loads((folder / "datapackage.json").read_text())
    (listed,) = [each for each in package["resources"] if each["path"] == "schema.yaml"]
    listed.update(bytes=len(schema), hash=f"sha256:{hashlib.sha256(schema).hexdigest()}")
    (folder / "datapackage.json").write_text(json.dumps(package))
    assert load(folder).summary() == load(FIRST / name).summary()
    package["penstock"] |= {"format": FORMAT, "answer": ANSWERED[name][1], "kind": ANSWERED[name][0]}
    package["penstock"]["form"] = load(FIRST / name).form
    (folder / "datapackage.json").write_text(json.dumps(package))
    with pytest.raises(ReleaseError, match="this block belongs to data of kind"):
        load(folder)


def test_todays_words_are_left_alone() -> None:
    today = {"format": FORMAT, "form": "tree", "kind": "points", "answer": "synthetic data"}
    assert upgraded(today) == today
