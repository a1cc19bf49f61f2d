from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.releases.tiny import SURVEY, Tiny, paid, tiny

from penstock import catalogue
from penstock.errors import QueryError, ReleaseError, UsageError
from penstock.releases import Manifest, Model, Release, check_destination, disk, load
from penstock.releases.room import REPORT, room
from penstock.schema import Schema

ROOT = Path(__file__).resolve().parents[2]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def package(folder: Path) -> dict[str, object]:
    return json.loads((folder / "datapackage.json").read_text())


# Round trips -----------------------------------------------------------------------------------------


def test_a_loaded_release_is_the_one_that_was_saved(tmp_path: Path) -> None:
    release = tiny(note="hello")
    folder = release.save(tmp_path / "release")
    again = load(folder)
    assert isinstance(again, Tiny)
    assert (again.counts, again.note, again.method) == (release.counts, "hello", release.method)
    assert again.schema == release.schema
    assert again.receipt == release.receipt
    assert dict(again.parameters) == dict(release.parameters)
    assert again.sample(50, seed=3).equals(release.sample(50, seed=3))
    assert again.query("sex = 'Male'") == release.query("sex = 'Male'")


def test_saving_a_loaded_release_gives_the_same_bytes(tmp_path: Path) -> None:
    first = tiny().save(tmp_path / "release")
    second = load(first).save(tmp_path / "other" / "release")
    assert names(first) == names(second)
    for name in names(first):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_the_folder_holds_plain_files_that_the_package_lists_with_size_and_hash(tmp_path: Path) -> None:
    folder = tiny().save(tmp_path / "release")
    assert names(folder) == {
        "datapackage.json",
        "receipt.json",
        "schema.yaml",
        "model.json",
        "model-counts.parquet",
        "synthetic.csv",
        "report.html",
    }
    listed = {resource["path"]: resource for resource in package(folder)["resources"]}  # type: ignore[attr-defined]
    assert set(listed) == names(folder) - {"datapackage.json"}
    for name, resource in listed.items():
        assert (resource["bytes"], resource["hash"]) == (
            (folder / name).stat().st_size,
            f"sha256:{disk.fingerprint(folder, name)[1]}",
        )


def test_the_package_describes_the_rows_in_table_schema_words(tmp_path: Path) -> None:
    folder = tiny().save(tmp_path / "release")
    rows = package(folder)["resources"][0]  # type: ignore[index]
    assert rows["path"] == "synthetic.csv"
    fields = {field["name"]: field for field in rows["schema"]["fields"]}
    assert fields["age"]["type"] == "integer"
    assert fields["age"]["constraints"] == {"minimum": 17, "maximum": 90}
    assert fields["sex"]["constraints"] == {"enum": ["Female", "Male"]}
    assert fields["interview"]["type"] == "date"
    assert fields["hours"]["title"] == "Hours per week"
    frame = pl.read_csv(folder / "synthetic.csv")
    assert frame.columns == list(fields)
    assert frame.height == 1000


def test_the_synthetic_rows_can_be_drawn_again_by_anyone(tmp_path: Path) -> None:
    folder = tiny(seed=None).save(tmp_path / "release")
    assert load(folder).sample(seed=0).write_csv() == (folder / "synthetic.csv").read_text()


def test_a_package_says_what_it_is_and_whether_it_may_be_published(tmp_path: Path) -> None:
    seeded = package(tiny(seed=1).save(tmp_path / "seeded"))
    secure = package(tiny(seed=None).save(tmp_path / "secure"))
    assert seeded["penstock"]["publishable"] is False  # type: ignore[index]
    assert "created" not in seeded
    assert secure["penstock"]["publishable"] is True  # type: ignore[index]
    assert "created" in secure
    about = secure["penstock"]
    assert about["epsilon"] == "1"  # type: ignore[index]
    assert about["guarantee"] == load(tmp_path / "secure").receipt.guarantee  # type: ignore[index]


def test_unreviewed_facts_are_recorded_in_package_and_report(tmp_path: Path) -> None:
    draft = SURVEY.replace("{name: sex,", "{name: sex, review: true,")
    folder = tiny(schema=draft).save(tmp_path / "release")
    assert package(folder)["penstock"]["unreviewed"] == ["sex"]  # type: ignore[index]
    assert "without review" in (folder / "report.html").read_text()
    assert load(folder).unreviewed == ("sex",)


def test_remarks_of_a_draft_stay_out_of_the_release(tmp_path: Path) -> None:
    release = tiny()
    remarked = replace(release, schema=release.schema.with_remarks({"age": ("smallest seen: 18.7731",)}))
    folder = remarked.save(tmp_path / "release")
    assert not [name for name in names(folder) if b"18.7731" in (folder / name).read_bytes()]


def test_a_folder_holds_a_bounded_number_of_rows_however_large_the_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little budget the noisy number of records can be any; the folder must still fit on a disk."""
    monkeypatch.setattr("penstock.releases.folder.MOST_ROWS", 70)
    folder = tiny(n=1000).save(tmp_path / "release")
    assert pl.read_csv(folder / "synthetic.csv").height == 70
    assert load(folder).sample().height == 1000


def test_many_rows_come_as_parquet_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.releases.folder.MANY_ROWS", 500)
    folder = tiny().save(tmp_path / "release")
    rows = pl.read_parquet(folder / "synthetic.parquet")
    assert rows.height == 1000
    assert rows.columns == pl.read_csv(folder / "synthetic.csv").columns
    load(folder)


class Lists(Tiny):
    """Rows with a list in them, as sequence releases have."""

    form = "lists"

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        return pl.DataFrame({"walk": [["home", 'a "b", c'], ["work"]] * (n // 2)})


def test_lists_become_json_text_in_csv(tmp_path: Path) -> None:
    with catalogue.extended(
        forms=(catalogue.FormInfo("lists", "tests.releases.test_folder:Lists", keys=()),)
    ):
        from tests.releases.test_folder import Lists as Registered

        folder = tiny(Registered).save(tmp_path / "release")
        assert json.loads(pl.read_csv(folder / "synthetic.csv")["walk"][0]) == ["home", 'a "b", c']
        assert package(folder)["resources"][0]["schema"]["fields"][0]["type"] == "array"  # type: ignore[index]


class Answerless(Release):
    """A release of one number: nothing to sample, nothing to ask."""

    kinds, answer, form = ("table",), "counts", "answerless"

    def model(self) -> Model:
        return Model({"x": 1})

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Answerless:
        return cls(**manifest.common)


def test_a_release_without_rows_is_saved_without_rows(tmp_path: Path) -> None:
    with catalogue.extended(
        forms=(catalogue.FormInfo("answerless", "tests.releases.test_folder:Answerless", keys=()),)
    ):
        from tests.releases.test_folder import Answerless as Registered

        schema = Schema.from_yaml(SURVEY)
        release = Registered(method="mean", schema=schema, receipt=paid(schema))
        folder = release.save(tmp_path / "release")
        assert "synthetic.csv" not in names(folder)
        again = load(folder)
        assert not again.can_sample
        with pytest.raises(UsageError, match="cannot be sampled"):
            again.sample(3)
        with pytest.raises(QueryError, match="cannot be asked"):
            again.query("age < 3")


def test_only_registered_classes_can_be_saved(tmp_path: Path) -> None:
    class Stranger(Tiny):
        form = "tiny"

    with pytest.raises(ReleaseError, match="another class"):
        tiny(Stranger).save(tmp_path / "release")
    assert names(tmp_path) == set()


@pytest.mark.parametrize("parameters", [{"x": float("nan")}, {"x": np.float64}, {"x": {1, 2}}])
def test_parameters_that_json_cannot_hold_are_refused(tmp_path: Path, parameters: dict[str, object]) -> None:
    with pytest.raises(ReleaseError, match="JSON cannot"):
        replace(tiny(), parameters=parameters).save(tmp_path / "release")
    assert names(tmp_path) == set()


# Where to write --------------------------------------------------------------------------------------


def test_an_existing_folder_is_refused_before_and_while_saving(tmp_path: Path) -> None:
    place = tmp_path / "there"
    place.mkdir()
    with pytest.raises(ReleaseError, match=r"exists already.*Nothing was spent"):
        check_destination(place)
    with pytest.raises(ReleaseError, match="exists already"):
        tiny().save(place)
    assert names(tmp_path) == {"there"}
    assert names(place) == set()


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ReleaseError, match="exists already"):
        check_destination(tmp_path / "link")


@pytest.mark.parametrize("place", ["file/release", "", "\0", "/", "n" * 300])
def test_impossible_destinations_are_refused_before_anything_is_spent(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReleaseError, match="Nothing was spent"):
        check_destination(place if place in ("", "\0", "/") else tmp_path / place)
    assert names(tmp_path) == {"file"}


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_an_unwritable_parent_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(ReleaseError, match=r"Permission denied.*Nothing was spent"):
            check_destination(tmp_path / "release")
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_a_file_system_that_refuses_is_reported_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *args: object, **options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ReleaseError, match=r"cannot be written: Read-only file system.*Nothing was spent"):
        check_destination(tmp_path / "release")
    with pytest.raises(ReleaseError, match="cannot be written: Read-only file system"):
        tiny().save(tmp_path / "release")


def test_checking_a_good_destination_leaves_nothing_behind(tmp_path: Path) -> None:
    check_destination(tmp_path / "new" / "deeper" / "release")
    assert names(tmp_path) == set()


def test_missing_parents_are_made(tmp_path: Path) -> None:
    assert load(tiny().save(tmp_path / "a" / "b" / "release"))


def test_a_release_folder_has_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = tiny().save(tmp_path / "release")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "receipt.json").stat().st_mode) == 0o644


# All or nothing --------------------------------------------------------------------------------------


def test_overwrite_replaces_a_release_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "release"
    tiny(note="old").save(place)
    tiny(note="new").save(place, overwrite=True)
    assert load(place).note == "new"  # type: ignore[attr-defined]
    assert names(tmp_path) == {"release"}
    other = tmp_path / "photos"
    other.mkdir()
    (other / "precious.txt").write_text("x")
    for attempt in (
        lambda: check_destination(other, overwrite=True),
        lambda: tiny().save(other, overwrite=True),
    ):
        with pytest.raises(ReleaseError, match="not a release folder"):
            attempt()
    assert names(other) == {"precious.txt"}
    assert names(tmp_path) == {"release", "photos"}


def interrupted_at(monkeypatch: pytest.MonkeyPatch, nth: int, error: type[BaseException]) -> list[int]:
    """Make the nth flush or rename fail; the list counts how many there were."""
    seen: list[int] = []
    for name in ("fsync", "rename"):
        real = getattr(os, name)

        def step(*args: object, real: object = real) -> object:
            seen.append(1)
            if len(seen) == nth:
                raise error("no more")
            return real(*args)  # type: ignore[operator]

        monkeypatch.setattr(os, name, step)
    return seen


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interruption_at_any_step_leaves_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], overwrite: bool
) -> None:
    monkeypatch.setattr("penstock.releases.public_report.report", lambda release, title=None: "<p>short</p>")
    nth, place = 0, tmp_path / "release"
    while True:
        nth += 1
        if overwrite and not place.exists():
            tiny(note="old").save(place)
        with monkeypatch.context() as patch:
            steps = interrupted_at(patch, nth, error)
            with suppress(KeyboardInterrupt, ReleaseError):
                tiny(note="new").save(place, overwrite=overwrite)
        hidden = {name for name in names(tmp_path) if name.startswith(".")}
        assert not hidden, f"step {nth} left {hidden}"
        if place.exists():
            assert load(place).note in (("old", "new") if overwrite else ("new",))  # type: ignore[attr-defined]
            if not overwrite:
                (place / "x").parent.rename(tmp_path / f"done-{nth}")
        else:
            assert not overwrite
        if len(steps) < nth:
            break
    assert nth > 8


_KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from penstock import catalogue
from tests.releases.tiny import tiny
nth, seen = int(sys.argv[3]), 0
def deadly(real):
    def step(*args):
        global seen
        seen += 1
        if seen == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    return step
os.fsync, os.rename = deadly(os.fsync), deadly(os.rename)
import penstock.releases.public_report as page
page.report = lambda release, title=None: "<p>short</p>"
with catalogue.extended(forms=(catalogue.FormInfo("tiny", "tests.releases.tiny:Tiny", keys=()),)):
    tiny(note="new").save(sys.argv[2])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
@pytest.mark.parametrize("nth", [1, 5, 8, 9, 10])
def test_a_killed_process_leaves_all_or_nothing_and_the_next_one_cleans_up(tmp_path: Path, nth: int) -> None:
    place = tmp_path / "release"
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(ROOT), str(place), str(nth)], timeout=600, check=False
    )
    if nth <= 9:  # seven files, their folder, the rename and the parent folder
        assert done.returncode == -signal.SIGKILL
        assert names(tmp_path) == set() or all(
            name.startswith(".release.partial-") for name in names(tmp_path)
        )
        assert names(tmp_path)
        tiny(note="next").save(place)
        assert load(place).note == "next"  # type: ignore[attr-defined]
    else:
        assert load(place).note == "new"  # type: ignore[attr-defined]
    assert names(tmp_path) == {"release"}


def test_a_writer_at_work_is_not_cleaned_up(tmp_path: Path) -> None:
    place = tmp_path / "release"
    with disk.whole_folder(place) as partial:
        (partial / "file").write_text("x")
        check_destination(place)
        with suppress(KeyboardInterrupt), disk.whole_folder(place):
            raise KeyboardInterrupt
        assert partial.exists()
    assert names(tmp_path) == {"release"}


def test_two_writers_for_one_place_cannot_both_win(tmp_path: Path) -> None:
    first = disk.whole_folder(tmp_path / "release")
    (first.__enter__() / "mine").write_text("x")
    with disk.whole_folder(tmp_path / "release") as other:
        (other / "theirs").write_text("x")
    with pytest.raises(ReleaseError, match="appeared while"):
        first.__exit__(None, None, None)
    assert names(tmp_path) == {"release"}
    assert names(tmp_path / "release") == {"theirs"}


# Full disks ------------------------------------------------------------------------------------------


def test_a_full_disk_is_noticed_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = disk.shutil.disk_usage(tmp_path)._replace(free=disk.ROOM - 1)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: free)
    with pytest.raises(ReleaseError, match=r"7 MB are free on its disk.* may need 8\..*Nothing was spent"):
        check_destination(tmp_path / "new" / "release")
    assert names(tmp_path) == set()


def test_the_room_that_a_release_needs_follows_from_public_facts() -> None:
    few = Schema.from_yaml("{size: 1000, fields: [{name: smoker, type: boolean}]}")
    many = Schema.from_yaml("{size: 1000000, fields: [{name: smoker, type: boolean}]}")
    wide = Schema.from_yaml("fields: [{name: job, constraints: {enum: [" + "x" * 1000 + ", b]}}]")
    assert room(few, 10) < 8 << 20
    assert room(many, 10) - REPORT > 1_000_000 * len("false,")
    assert room(wide, 10) - REPORT > 100_000 * 1000
    assert room(few, 10**9) - room(few, 0) == 8 * 10**9


def test_a_disk_that_fills_while_writing_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(path: Path, text: str) -> None:
        path.write_text(text[: len(text) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("penstock.releases.folder._write", half)
    with pytest.raises(ReleaseError, match=r"release' could not be written: No space left on device\.$"):
        tiny().save(tmp_path / "release")
    assert names(tmp_path) == set()


def test_a_file_is_replaced_as_a_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("old")

    def half() -> None:
        with disk.whole_file(file) as partial:
            partial.write_text("ne")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        half()
    assert (file.read_text(), names(tmp_path)) == ("old", {"rows.csv"})
    with disk.whole_file(file) as partial:
        partial.write_text("new")
    assert (file.read_text(), names(tmp_path)) == ("new", {"rows.csv"})


def test_reading_takes_no_more_memory_than_the_file_has(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(b"{}")
    assert disk.read(tmp_path, "model.json", at_most=1 << 60) == b"{}"
