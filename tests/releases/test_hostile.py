"""Folders that are damaged, or made by somebody who means harm, end in one clear sentence.

`harmful` edits a good release and then corrects every size and hash in datapackage.json, as a
hostile publisher would: checksums protect against accidents only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.releases.tiny import tiny

from penstock import catalogue
from penstock.errors import PenstockWarning, ReleaseError
from penstock.releases import load
from penstock.releases.formats import FORMAT


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with catalogue.extended(forms=(catalogue.FormInfo("tiny", "tests.releases.tiny:Tiny", keys=()),)):
        folder = tiny(n=60).save(tmp_path_factory.mktemp("good") / "release")
    (folder / "report.html").write_text("<p>short, to be quick</p>")
    refreshed(folder)
    return folder


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "release"))


def refreshed(folder: Path) -> None:
    """Make datapackage.json agree with the files again."""
    place = folder / "datapackage.json"
    package = json.loads(place.read_text())
    for resource in package["resources"]:
        path = folder / resource["path"]
        if path.is_file():
            data = path.read_bytes()
            resource["bytes"], resource["hash"] = len(data), f"sha256:{hashlib.sha256(data).hexdigest()}"
    place.write_text(json.dumps(package))


def with_json(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / name).read_text())
    change(content)
    (folder / name).write_text(json.dumps(content))
    if name != "datapackage.json":
        refreshed(folder)


def refused(folder: Path, words: str) -> None:
    with pytest.raises(ReleaseError, match=words) as caught:
        load(folder)
    message = str(caught.value)
    assert "Traceback" not in message
    assert len(message) < 900
    assert message.endswith(".")


def test_the_unharmed_copy_loads(folder: Path) -> None:
    assert load(folder).method == "tiny"


def test_what_is_not_a_release_is_said_to_be_none(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "does not exist")
    refused(tmp_path, r"has no datapackage\.json")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "is not a folder")
    (tmp_path / "datapackage.json").write_text('{"name": "x", "resources": []}')
    refused(tmp_path, "not one made by Penstock")


@pytest.mark.parametrize(
    "name",
    ["receipt.json", "schema.yaml", "model.json", "model-counts.parquet", "synthetic.csv", "report.html"],
)
def test_a_damaged_truncated_or_missing_file_is_named(folder: Path, name: str) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    refused(folder, rf"{name}' is not the file that was released")
    (folder / name).write_bytes(whole[: len(whole) // 2])
    refused(folder, rf"{name}' is not the file that was released")
    (folder / name).unlink()
    refused(folder, rf"lacks {name}")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "\x00",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        '{"a":' * 50_000,
        "9" * 5000,
        "\ufeff{}",
    ],
)
@pytest.mark.parametrize("name", ["datapackage.json", "receipt.json", "model.json"])
def test_broken_json_is_one_sentence(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content)
    if name != "datapackage.json":
        refreshed(folder)
    refused(
        folder,
        "not valid JSON|not a JSON object|nested too deeply|not one made by Penstock|not a Penstock receipt",
    )


def test_json_that_is_not_utf8_is_one_sentence(folder: Path) -> None:
    (folder / "datapackage.json").write_bytes(b'{"name": "\xff\xfe"}')
    refused(folder, "not UTF-8")


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "/etc/passwd",
        "sub/file.csv",
        "..",
        ".hidden",
        "C:\\x",
        "a\u0000b",
        "",
        "~root",
        "x" * 500,
        "https://example.org/x.csv",
        ["a.csv"],
        3,
    ],
)
def test_paths_that_leave_the_folder_are_never_opened(
    folder: Path, path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "secret").write_text("secret")
    with_json(folder, "datapackage.json", lambda package: package["resources"][0].update(path=path))
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda name, *rest, **more: (opened.append(str(name)), real(name, *rest, **more))[1]
    )
    refused(folder, "outside its folder|is damaged")
    assert opened == [str(folder / "datapackage.json")]


def test_symbolic_links_are_not_followed(folder: Path) -> None:
    secret = folder.parent / "secret.json"
    secret.write_bytes((folder / "model.json").read_bytes())
    (folder / "model.json").unlink()
    (folder / "model.json").symlink_to(secret)
    refused(folder, "symbolic link")


def test_a_linked_table_of_contents_is_not_followed(folder: Path) -> None:
    (folder / "datapackage.json").rename(folder.parent / "package.json")
    (folder / "datapackage.json").symlink_to(folder.parent / "package.json")
    refused(folder, "symbolic link")


def test_pipes_and_folders_in_place_of_files_do_not_hang(folder: Path) -> None:
    (folder / "synthetic.csv").unlink()
    os.mkfifo(folder / "synthetic.csv")
    refused(folder, "not a regular file")
    (folder / "synthetic.csv").unlink()
    (folder / "synthetic.csv").mkdir()
    refused(folder, "not a regular file|cannot be read")


@pytest.mark.parametrize("bytes_", [-1, 2**70, 1e9, "12", None, True])
def test_sizes_must_be_plain_numbers(folder: Path, bytes_: object) -> None:
    with_json(folder, "datapackage.json", lambda package: package["resources"][0].update(bytes=bytes_))
    refused(folder, "is damaged|not the file that was released")


def test_a_file_larger_than_any_release_has_is_not_read(folder: Path) -> None:
    with (folder / "model.json").open("r+b") as file:
        file.truncate(300 << 20)  # sparse: takes no room on disk
    refused(folder, "bytes where a release has at most")


def test_a_resource_cannot_be_listed_twice(folder: Path) -> None:
    with_json(
        folder, "datapackage.json", lambda package: package["resources"].append(package["resources"][0])
    )
    refused(folder, "lists a file twice")


@pytest.mark.parametrize("needed", ["receipt.json", "schema.yaml", "model.json"])
def test_the_essential_files_must_be_listed(folder: Path, needed: str) -> None:
    def drop(package: dict[str, Any]) -> None:
        package["resources"] = [each for each in package["resources"] if each["path"] != needed]

    with_json(folder, "datapackage.json", drop)
    refused(folder, rf"does not list {needed}")


def test_a_newer_format_asks_for_an_upgrade(folder: Path) -> None:
    with_json(
        folder,
        "datapackage.json",
        lambda package: package["penstock"].update(format=FORMAT + 1, version="9.1", new="x"),
    )
    refused(folder, rf"made by Penstock 9\.1 in release format {FORMAT + 1}.*Upgrade")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 0),
        ("format", "1"),
        ("format", 1),
        ("format", True),
        ("form", 7),
        ("form", "os:system"),
        ("form", "../x"),
        ("kind", None),
        ("answer", None),
        ("method", "<script>"),
        ("parameters", []),
        ("publishable", "yes"),
        ("publishable", 1),
        ("epsilon", "1e999999999"),
        ("epsilon", 1),
        ("unreviewed", "sex"),
        ("extra", 1),
    ],
)
def test_wrong_values_in_our_own_object_are_refused(folder: Path, key: str, value: object) -> None:
    with_json(folder, "datapackage.json", lambda package: package["penstock"].update({key: value}))
    refused(folder, "is damaged")


@pytest.mark.parametrize("form", ["subprocess", "os", "penstock.catalogue", "Tiny", "tests.releases.tiny"])
def test_a_form_is_looked_up_and_never_imported(folder: Path, form: str) -> None:
    with_json(folder, "datapackage.json", lambda package: package["penstock"].update(form=form))
    refused(folder, "knows no release of the form")


def test_a_release_of_another_kind_is_refused(folder: Path) -> None:
    with_json(folder, "datapackage.json", lambda package: package["penstock"].update(kind="points"))
    refused(folder, "calls itself a release of points")


def test_a_release_of_another_answer_is_refused(folder: Path) -> None:
    with_json(folder, "datapackage.json", lambda package: package["penstock"].update(answer="selection"))
    refused(folder, "calls itself selection, but its model is one of synthetic data")


def test_a_release_whose_schema_describes_another_kind_is_refused(folder: Path) -> None:
    text = (folder / "schema.yaml").read_text()
    (folder / "schema.yaml").write_text("kind: points\n" + text)
    refreshed(folder)
    refused(folder, "calls itself a release of table, but its schema describes points")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("publishable", True, "different guarantees"),
        ("epsilon", "1/2", "different guarantees"),
        ("guarantee", "perfectly private for everybody", "different guarantees"),
        ("unreviewed", ["age"], "disagree about what was reviewed"),
    ],
)
def test_package_receipt_and_schema_must_tell_the_same(
    folder: Path, key: str, value: object, words: str
) -> None:
    with_json(folder, "datapackage.json", lambda package: package["penstock"].update({key: value}))
    refused(folder, words)


@pytest.mark.parametrize(
    "change",
    [
        lambda receipt: receipt.update(epsilon="1/100"),
        lambda receipt: receipt.update(paid=[]),
        lambda receipt: receipt["budget"].update(epsilon="1e999999999"),
        lambda receipt: receipt["paid"]["together"].pop(),
        lambda receipt: receipt.update(relation="whatever"),
        lambda receipt: receipt.pop("unit"),
        lambda receipt: receipt.update(guarantee="<b>perfect</b>"),
        lambda receipt: receipt["paid"]["together"].append({"label": "later", "sampled": []}),
    ],
)
def test_a_forged_receipt_is_refused(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    with_json(folder, "receipt.json", change)
    refused(folder, "receipt")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fields: [",
        "fields: 3",
        "!!python/object/apply:os.system [echo]",
        "fields: []",
        "a: &a [x, x]\nfields: [*a, *a]",
        "[" * 500,
        "fields:\n- {name: age, type: integer}\n",
        "\x00",
    ],
)
def test_a_hostile_schema_is_one_sentence(folder: Path, text: str) -> None:
    (folder / "schema.yaml").write_text(text)
    refreshed(folder)
    refused(folder, "cannot be opened")


def test_yaml_that_refers_to_itself_does_not_explode(folder: Path) -> None:
    bomb = "a0: &a0 [lol, lol]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))
    (folder / "schema.yaml").write_text(bomb + "fields: [*a59]\n")
    refreshed(folder)
    refused(folder, "refers to itself")


def with_table(folder: Path, table: pa.Table, **options: Any) -> None:
    pq.write_table(table, folder / "model-counts.parquet", **options)
    refreshed(folder)


def counts(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "model-counts.parquet")


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.rename({"count": "counts"}),
        lambda frame: frame.drop("count"),
        lambda frame: frame.with_columns(pl.col("count").cast(pl.Float64)),
        lambda frame: frame.with_columns(pl.col("count").cast(pl.Int32)),
        lambda frame: frame.with_columns(pl.col("code").cast(pl.String)),
        lambda frame: frame.with_columns(extra=pl.lit(1)),
        lambda frame: frame.with_columns(count=pl.lit(None, dtype=pl.Int64)),
        lambda frame: frame.head(5),
        lambda frame: frame.clear(),
        lambda frame: frame.reverse(),
        lambda frame: frame.with_columns(pl.lit(b"x").alias("count")),
        lambda frame: frame.with_columns(pl.struct("code").alias("count")),
    ],
)
def test_a_table_with_wrong_columns_or_rows_is_refused(
    folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    change(counts(folder)).write_parquet(folder / "model-counts.parquet")
    refreshed(folder)
    refused(folder, "model-counts")


def test_a_table_that_grows_beyond_all_measure_is_not_unpacked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small Parquet file can announce any number of equal cells."""
    monkeypatch.setattr("penstock.releases.parquet.MOST_CELLS", 1_000_000)
    with_table(folder, pa.table({"a": pa.nulls(2_000_000, pa.int8())}))
    assert (folder / "model-counts.parquet").stat().st_size < 50_000
    refused(folder, "announces 2,000,000 rows")


def test_equal_rows_without_end_are_refused_by_what_the_file_announces(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three hundred million of them fit into a megabyte, and would take gigabytes to look at."""
    monkeypatch.setattr("penstock.releases.parquet.FEW_CELLS", 1_000_000)
    name = next(path.name for path in folder.glob("model-*.parquet"))
    pq.write_table(pa.table({"count": np.zeros(20_000_000, dtype=np.int8)}), folder / name)
    assert (folder / name).stat().st_size < 100_000
    refreshed(folder)
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_: pytest.fail("the rows were unpacked"))
    refused(folder, "announces 20,000,000 rows, more than a model may have")


def test_a_table_of_repeated_long_text_is_not_unpacked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One long word and many references to it: small on disk, large in memory."""
    monkeypatch.setattr("penstock.releases.parquet.LARGEST_TEXT", 10_000_000)
    with_table(folder, pa.table({"field": ["x" * 100_000] * 200}), compression="zstd")
    assert (folder / "model-counts.parquet").stat().st_size < 200_000
    refused(folder, "unpacks to more text")


def test_text_that_is_no_text_is_refused(folder: Path) -> None:
    broken = pa.array([b"\xff\xfe\xff"] * 3).view(pa.string())
    with_table(folder, pa.table({"field": broken}))
    refused(folder, "not a readable Parquet table")


def test_random_damage_to_a_table_never_gets_past_the_loader(folder: Path) -> None:
    """Every single-byte change, hashes corrected: the table is refused, or is still a valid model."""
    whole = (folder / "model-counts.parquet").read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 60)):
        (folder / "model-counts.parquet").write_bytes(
            whole[:position] + bytes([whole[position] ^ 0xA5]) + whole[position + 1 :]
        )
        refreshed(folder)
        with suppress(ReleaseError):
            load(folder)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(name=st.sampled_from(["datapackage.json", "receipt.json", "model.json"]), data=st.data())
@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_value_anywhere_is_accepted_or_refused_but_never_a_crash(
    good: Path, name: str, data: st.DataObject
) -> None:
    original = (good / name).read_text()
    package = (good / "datapackage.json").read_text()
    content = json.loads(original)
    spot: Any = content
    while True:
        key = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else list(range(len(spot)))))
        if isinstance(spot[key], dict | list) and spot[key] and data.draw(st.booleans()):
            spot = spot[key]
        else:
            break
    spot[key] = data.draw(json_values)
    try:
        (good / name).write_text(json.dumps(content))
        if name != "datapackage.json":
            refreshed(good)
        with suppress(ReleaseError):
            load(good)
    finally:
        (good / name).write_text(original)
        (good / "datapackage.json").write_text(package)


def test_a_hostile_model_that_trips_its_class_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (
        KeyError("x"),
        ZeroDivisionError(),
        RecursionError(),
        IndexError(),
        pl.exceptions.ComputeError("x"),
    ):

        def stumble(manifest: object, model: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("tests.releases.tiny.Tiny.from_model", stumble)
        refused(folder, "does not fit a tiny release")


def test_loading_needs_no_report_to_be_trusted_and_ignores_strangers(folder: Path) -> None:
    """Files that nobody listed, such as a file manager leaves behind, are not read."""
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "notes.txt").write_text("mine")
    with_json(folder, "datapackage.json", lambda package: package.update(licenses=[{"name": "CC0-1.0"}]))
    with pytest.warns(PenstockWarning, match=r"does not list: '\.DS_Store', 'notes\.txt'\. The guarantee"):
        assert load(folder).method == "tiny"


def test_parquet_is_read_from_the_very_bytes_that_were_checked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can exchange a file between its check and its use."""
    kinds: list[type] = []
    real = pa.BufferReader
    monkeypatch.setattr(pa, "BufferReader", lambda data: (kinds.append(type(data)), real(data))[1])
    load(folder)
    assert set(kinds) == {bytes}
