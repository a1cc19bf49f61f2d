"""Folders of earlier formats are read for ever.

The folders under format-1 were made by the last version that wrote that format, those under format-2 by one
whose models lacked what the third format added, that under format-3 by the last one that cut ranges evenly;
with a seed, and only their reports (five megabytes each) were replaced by a line before they were listed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from penstock import catalogue
from penstock.errors import ReleaseError
from penstock.kinds.sequences.top_strings import TopStringsRelease
from penstock.learn.selection.release import SelectionRelease
from penstock.releases import load
from penstock.releases.formats import FORMAT, upgraded, upgraded_schema

FIRST = Path(__file__).parent / "format-1"
SECOND = Path(__file__).parent / "format-2"
THIRD = Path(__file__).parent / "format-3"
ANSWERED = {
    "table": ("table", "synthetic data"),
    "points": ("points", "synthetic data"),
    "strings": ("sequences", "selection"),
    "items": ("itemsets", "selection"),
    "categories": ("table", "selection"),
}
ADDED: dict[str, dict[str, object]] = {
    "suffix-tree": {"length_deviation": 0.0, "gap_scale": 0.0},
    "n-gram": {"length_deviation": 0.0, "gap_scale": 0.0},
    "simple-tree": {"inner": False},
    "selection": {"mechanism": "histogram"},
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
    assert json.loads((FIRST / name / "model.json").read_text()).items() <= (
        json.loads((again / "model.json").read_text()).items()
    )
    told = {"datapackage.json", "report.html"}
    kept = {path.name for path in again.iterdir()} - told
    assert kept == {path.name for path in (FIRST / name).iterdir()} - told
    for file in kept - {"model.json"}:
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


def test_the_folders_of_the_second_format_lack_what_the_third_added() -> None:
    assert {folder.name for folder in SECOND.iterdir() if folder.is_dir()} == set(ADDED)
    for name, added in ADDED.items():
        assert (about(SECOND / name)["format"], about(SECOND / name)["form"]) == (2, name)
        held = json.loads((SECOND / name / "model.json").read_text())
        assert [key for key in catalogue.form(name).keys if key not in held] == list(added)
        assert {key: load(SECOND / name).model().json[key] for key in added} == added


@pytest.mark.parametrize(
    ("name", "question", "value", "error"),
    [
        ("suffix-tree", "home", 106.0, 45.0),
        ("suffix-tree", "$", 196.0, 22.0),
        ("n-gram", "home", 129.0, None),
        ("n-gram", "home,news", 36.5, None),
        ("selection", "m", 133.0, None),
    ],
)
def test_a_folder_of_the_second_format_answers(
    name: str, question: str, value: float, error: float | None
) -> None:
    answer = load(SECOND / name).query(question)
    assert answer.value == pytest.approx(value, abs=0.1)
    assert answer.error == (None if error is None else pytest.approx(error, abs=1.5))


def test_what_decided_about_a_leaf_is_still_told_of_a_tree_of_the_second_format() -> None:
    caveats = load(SECOND / "simple-tree").query("x < 0.5").caveats
    assert any("decided by the same noisy counts" in caveat for caveat in caveats)


@pytest.mark.parametrize("name", ADDED)
def test_a_folder_of_the_second_format_can_be_saved_again_in_todays(name: str, tmp_path: Path) -> None:
    before = load(SECOND / name)
    after = load(before.save(tmp_path / name))
    assert about(tmp_path / name)["format"] == FORMAT
    assert after.summary() == before.summary()
    assert after.model().json == before.model().json
    for table, frame in before.model().tables.items():
        assert after.model().tables[table].equals(frame)


@pytest.mark.parametrize("name", ADDED)
def test_in_todays_format_a_model_without_one_of_its_keys_is_refused(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SECOND / name, tmp_path / name))
    package = json.loads((folder / "datapackage.json").read_text())
    package["penstock"]["format"] = FORMAT
    (folder / "datapackage.json").write_text(json.dumps(package))
    with pytest.raises(ReleaseError, match=r"model\.json is not a model of this kind of release"):
        load(folder)


def test_todays_words_are_left_alone() -> None:
    today = {"format": FORMAT, "form": "tree", "kind": "points", "answer": "synthetic data"}
    assert upgraded(today) == today


def test_ranges_without_bins_keep_those_that_they_had_before_the_fourth_format(tmp_path: Path) -> None:
    old = load(THIRD / "table")
    assert about(THIRD / "table")["format"] == 3
    assert "bins" not in (THIRD / "table" / "schema.yaml").read_text(encoding="utf-8")
    counts = {field.name: field.edges.count for field in old.schema.fields}
    assert counts == {"amount": 16, "children": 10, "day": 16, "pages": 16}
    answer = old.query("amount < 250")  # the edge of the fourth of sixteen bins
    assert (answer.rests_on, answer.value) == ("counted", pytest.approx(217, abs=0.5))
    again = load(old.save(tmp_path / "again"))
    assert about(tmp_path / "again")["format"] == FORMAT
    assert again.schema == old.schema
    assert again.query("amount < 250") == answer


@pytest.mark.parametrize(
    ("field", "count"),
    [
        ({"type": "integer", "constraints": {"minimum": 0, "maximum": 63}}, 64),
        ({"type": "integer", "constraints": {"minimum": 0, "maximum": 64}}, 16),
        ({"type": "number", "constraints": {"minimum": 2, "maximum": 2}}, 1),
        ({"type": "date", "constraints": {"minimum": "2024-01-01", "maximum": "2024-01-07"}}, 7),
        ({"type": "datetime", "constraints": {"minimum": "2024-01-01", "maximum": "2024-01-07"}}, 16),
        ({"type": "number", "constraints": {"minimum": 0, "maximum": 1}, "bins": {"count": 5}}, 5),
        ({"type": "integer", "constraints": {"enum": [1, 2]}}, None),
        ({"type": "integer", "constraints": {"minimum": 0}}, None),
        ({"type": "integer", "constraints": {"minimum": "many", "maximum": 3}}, None),
        ({"type": "string"}, None),
        ("nothing", None),
    ],
)
def test_bins_of_earlier_formats_are_told_where_they_were_left_out(field: object, count: int | None) -> None:
    (told,) = upgraded_schema({"fields": [field]}, 3)["fields"]
    assert (told.get("bins") if isinstance(told, dict) else None) == (count and {"count": count})
    assert upgraded_schema({"fields": [field]}, FORMAT)["fields"] == [field]
