"""The commands for the custodian's own eyes: private drafts, the ledger, evaluation, audit and the demo."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pytest
from tests.cli.desk import ROWS, Cli, Desk

from penstock import catalogue, demo
from penstock.api import evaluate, load
from penstock.drafting.private import draft_private
from penstock.engine import read
from penstock.errors import LedgerError, ReleaseError, UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases.disk import reserved
from penstock.schema import Schema

# private drafts ----------


def test_a_private_draft_is_paid_for_and_booked(cli: Cli, desk: Desk) -> None:
    desk.write(ROWS * 20)
    cli("ledger", "limit", desk.ledger, "people", "--epsilon", "8", "--delta", "1/1000")
    target = desk.folder / "private.yaml"
    booked = ("--ledger", desk.ledger, "--account", "people")
    paid = ("--epsilon", "6", "--delta", "1e-4", "--header", "first")
    done = cli("draft", desk.data, "-o", target, *paid, *booked)
    assert done.code == 0, done.err
    schema = Schema.load(target)
    assert schema.to_review() == ["unit"]
    assert set(schema.field("name").labels) == {"ada", "bob", "cyd"}
    [account] = json.loads(cli("ledger", "show", desk.ledger, "--json").out)["accounts"]
    assert account["spent"] == {"epsilon": "6", "delta": "1/10000"}
    again = cli(
        "draft", desk.data, "-o", desk.folder / "b.yaml", "--epsilon", "6", "--delta", "1e-4", *booked
    )
    assert again.code == 1
    assert "limit" in again.err
    assert not (desk.folder / "b.yaml").exists()


def test_a_plan_says_what_an_amount_can_resolve_and_costs_nothing(cli: Cli, desk: Desk) -> None:
    desk.write(ROWS * 20)
    cli("ledger", "limit", desk.ledger, "people", "--epsilon", "8", "--delta", "1/1000")
    target = desk.folder / "private.yaml"
    asked = ("draft", desk.data, "-o", target, "--epsilon", "0.1", "--delta", "1e-6")
    done = cli(*asked, "--plan", "--ledger", desk.ledger, "--account", "people")
    assert done.code == 0, done.err
    assert "tells a column's type and rough bounds from about" in done.err
    assert "names categories that" in done.err
    assert not target.exists()
    [account] = json.loads(cli("ledger", "show", desk.ledger, "--json").out)["accounts"]
    assert account["spent"] == {"epsilon": "0", "delta": "0"}
    assert "give one with --epsilon" in cli("draft", desk.data, "--plan").err
    paid = cli(*asked, "--ledger", desk.ledger, "--account", "people")
    assert "tells a column's type" in paid.err  # said before it is paid


def test_a_release_names_the_price_of_its_privately_drafted_schema(cli: Cli, desk: Desk) -> None:
    desk.write(ROWS * 20)
    target = desk.folder / "private.yaml"
    assert cli("draft", desk.data, "-o", target, "--epsilon", "6", "--delta", "1e-4").code == 0
    target.write_text(target.read_text().replace("review: true", "review: false"))
    assert cli("release", desk.data, "-s", target, "-e", "1", "-o", desk.out).code == 0
    price = "epsilon 6 and delta 0.0001 for one record"
    assert price in (desk.out / "report.html").read_text()
    assert price in cli("inspect", desk.out).out
    facts = json.loads(cli("inspect", desk.out, "--json").out)
    assert facts["drafted"] == {
        "epsilon": "6",
        "delta": "0.0001",
        "unit": "one record",
        "publishable": True,
    }
    assert facts["epsilon"] == "1"


def test_a_draft_with_seeded_noise_marks_itself_and_every_release_that_uses_it(cli: Cli, desk: Desk) -> None:
    desk.write(ROWS * 20)
    budget = Budget(6, "1e-4", randomness=Randomness.seeded(1))
    schema = draft_private(read(desk.data), budget)
    assert not schema.publishable
    target = desk.folder / "private.yaml"
    target.write_text(schema.to_yaml().replace("review: true", "review: false"))
    assert "publishable: false" in target.read_text()
    done = cli("release", desk.data, "-s", target, "-e", "1", "-o", desk.out)
    assert done.code == 0, done.err
    assert "NOT PUBLISHABLE" in done.err
    assert "schema was drafted with a fixed seed" in done.err
    assert not load(desk.out).publishable
    assert "NOT PUBLISHABLE" in cli("inspect", desk.out).out
    assert "Not publishable" in (desk.out / "report.html").read_text()
    package = desk.out / "datapackage.json"
    package.write_text(package.read_text().replace('"publishable": false', '"publishable": true'))
    assert "different guarantees" in cli("inspect", desk.out).err
    assert draft_private(read(desk.data), Budget(6, "1e-4")).publishable
    repeated = draft_private(read(desk.data), Budget(6, "1e-4"), order_key=b"known")
    assert not repeated.publishable


@pytest.mark.parametrize(
    "options",
    [
        ["--delta", "1e-6"],
        ["--ledger", "ledger.db", "--account", "people"],
        ["--epsilon", "1", "--headers-only"],
        ["--epsilon", "1", "--ledger", "ledger.db"],
        ["--user", "name", "--at-most", "0"],
    ],
)
def test_options_that_contradict_each_other_are_refused(cli: Cli, desk: Desk, options: list[str]) -> None:
    done = cli("draft", desk.data, "-o", "draft.yaml", *options)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert not Path("draft.yaml").exists()


def test_a_private_draft_that_cannot_be_written_spends_nothing(cli: Cli, desk: Desk) -> None:
    before = cli("ledger", "show", desk.ledger, "--json").out
    booked = ("--ledger", desk.ledger, "--account", "people")
    for target in (desk.folder / "nowhere" / "draft.yaml", desk.schema):
        assert cli("draft", desk.data, "-o", target, "--epsilon", "1", *booked).code == 2
    assert cli("ledger", "show", desk.ledger, "--json").out == before


def test_the_unit_of_a_draft_can_be_declared(cli: Cli, desk: Desk) -> None:
    assert cli("draft", desk.data, "-o", "draft.yaml", "--user", "name", "--at-most", "3").code == 0
    unit = Schema.load("draft.yaml").unit
    assert (unit.protects, unit.column, unit.at_most, unit.review) == ("user", "name", 3, False)


# ledger ----------


def test_the_ledger_shows_what_is_left(cli: Cli, desk: Desk) -> None:
    booked = ("--ledger", desk.ledger, "--account", "people")
    release = ("release", desk.data, "--schema", desk.schema, "--epsilon", "1/3", "--out", desk.out)
    assert cli(*release, *booked).code == 0
    [account] = json.loads(cli("ledger", "show", desk.ledger, "--json").out)["accounts"]
    assert account["left"]["epsilon"] == "8/3"
    [entry] = account["ledger"]
    assert entry["status"] == "complete"
    assert entry["release"] == desk.out.name
    assert json.loads((desk.out / "receipt.json").read_text())["ledger"] == entry["name"]
    shown = cli("ledger", "show", desk.ledger, "--account", "people").out
    assert "8/3" in shown
    assert desk.out.name in shown


def test_a_delta_that_a_pure_method_cannot_use_is_not_booked(cli: Cli, desk: Desk) -> None:
    """The account allows no delta at all, and the receipt's total equals its budget exactly."""
    booked = ("--ledger", desk.ledger, "--account", "people")
    release = ("release", desk.data, "--schema", desk.schema, "--epsilon", "1/3", "--out", desk.out)
    done = cli(*release, "--method", "independent", "--delta", "1e-6", *booked)
    assert done.code == 0, done.err
    assert "no delta" in done.err
    receipt = json.loads((desk.out / "receipt.json").read_text())
    assert receipt["budget"] == {"epsilon": receipt["epsilon"], "delta": receipt["delta"]}
    [account] = json.loads(cli("ledger", "show", desk.ledger, "--json").out)["accounts"]
    assert account["spent"] == {"epsilon": "1/3", "delta": "0"}


def test_a_ledger_is_not_made_twice_nor_opened_where_there_is_none(cli: Cli, desk: Desk) -> None:
    assert cli("ledger", "init", desk.ledger).code == 1
    missing = cli("ledger", "show", desk.folder / "nowhere.db")
    assert missing.code == 1
    assert not (desk.folder / "nowhere.db").exists()
    assert cli("ledger", "limit", desk.ledger, "people", "--epsilon", "-1").code == 1
    assert cli("ledger", "show", desk.ledger, "--account", "strangers").code == 1


def test_releases_for_records_and_for_users_are_added_up_by_conversion_or_not_at_all(
    cli: Cli, desk: Desk
) -> None:
    """Epsilon 1 for a user and 1/4 for each of up to 8 records are 3 for that user, and not 5/4."""
    users = desk.folder / "users.yaml"
    unit = "unit: {protects: user, column: name, at_most: 2}\n"
    users.write_text(unit + desk.schema.read_text(encoding="utf-8"), encoding="utf-8")
    booked = ("--ledger", desk.ledger, "--account", "people", "--method", "independent")
    first = cli("release", desk.data, "-s", users, "-e", "1", "-o", desk.out, *booked)
    assert first.code == 0, first.err
    second = ("release", desk.data, "-s", desk.schema, "-e", "1/4", "-o", desk.folder / "second", *booked)
    refused = cli(*second)
    assert refused.code == 1
    assert "kept for one user (name)" in refused.err
    assert "--holds-at-most N" in refused.err
    assert "Nothing was spent." in refused.err
    assert not (desk.folder / "second").exists()
    assert cli(*second, "--holds-at-most", "8").code == 0
    [account] = json.loads(cli("ledger", "show", desk.ledger, "--json").out)["accounts"]
    assert (account["spent"]["epsilon"], account["unit"]) == ("3", "user:name")
    assert [(entry["unit"]["protects"], entry["holds_at_most"]) for entry in account["ledger"]] == [
        ("user", 1), ("record", 8),
    ]  # fmt: skip
    shown = cli("ledger", "show", desk.ledger, "--account", "people").out
    assert "user:name, at most 2" in shown
    assert "8 times" in shown


def test_a_conversion_without_a_ledger_is_refused(cli: Cli, desk: Desk) -> None:
    asked = ("-e", "1", "-o", desk.out, "--holds-at-most", "8")
    done = cli("release", desk.data, "-s", desk.schema, *asked)
    assert (done.code, desk.out.exists()) == (2, False)
    assert "give the ledger and the account" in done.err


def test_a_full_account_refuses_the_next_release(cli: Cli, desk: Desk) -> None:
    booked = ("--ledger", desk.ledger, "--account", "people", "--schema", desk.schema, "--epsilon", "2")
    assert cli("release", desk.data, *booked, "--out", desk.folder / "one").code == 0
    second = cli("release", desk.data, *booked, "--out", desk.folder / "two")
    assert second.code == 1
    assert "1 left of its limit 3" in second.err
    assert not (desk.folder / "two").exists()


def test_of_two_releases_to_one_place_one_pays(cli: Cli, desk: Desk) -> None:
    """The name is held before the first charge, and until the folder is there."""
    command = ("release", desk.data, "-s", desk.schema, "-e", "1", "-o", desk.out)
    booked = ("--ledger", desk.ledger, "--account", "people")
    with reserved(desk.out):
        done = cli(*command, *booked)
    assert done.code == 1
    assert "is being written by another release" in done.err
    [account] = json.loads(cli("ledger", "show", desk.ledger, "--json").out)["accounts"]
    assert (account["spent"]["epsilon"], account["ledger"]) == ("0", [])
    (desk.folder / f".{desk.out.name}.reserved").touch()  # as a killed process leaves it
    assert cli(*command, *booked).code == 0
    assert not list(desk.folder.glob(".*"))


def test_eight_releases_at_once_to_one_place_pay_once(cli: Cli, desk: Desk) -> None:
    command = [sys.executable, "-m", "penstock", "release", str(desk.data), "-s", str(desk.schema)]
    command += ["-e", "1/4", "-o", str(desk.out), "--ledger", str(desk.ledger), "--account", "people"]
    running = [subprocess.Popen([*command], stderr=subprocess.DEVNULL) for _ in range(8)]
    assert sorted(process.wait(600) for process in running) == [0] + [1] * 7
    [account] = json.loads(cli("ledger", "show", desk.ledger, "--json").out)["accounts"]
    assert account["spent"]["epsilon"] == "1/4"
    assert load(desk.out).receipt.epsilon == Fraction(1, 4)


# evaluate ----------


def test_evaluate_says_that_it_is_not_for_publication(cli: Cli, desk: Desk, release_folder: Path) -> None:
    done = cli("evaluate", release_folder, desk.data, "--out", "evaluation.html")
    assert done.code == 0, done.err
    assert "NOT FOR PUBLICATION" in done.out
    assert "Not for publication" in Path("evaluation.html").read_text(encoding="utf-8")
    again = cli("evaluate", release_folder, desk.data, "--out", "evaluation.html")
    assert again.code == 2
    found = json.loads(cli("evaluate", release_folder, desk.data, "--json").out)
    assert "Not for publication" in found["notice"]
    assert {"value", "floor", "ceiling"} <= set(found["scores"][0])
    assert not list(release_folder.glob("*evaluation*"))


def test_evaluate_with_other_data_or_another_field_is_a_sentence(
    cli: Cli, desk: Desk, release_folder: Path
) -> None:
    (desk.folder / "other.csv").write_text("colour\nred\n")
    for arguments in (
        (desk.folder / "other.csv",),
        (desk.folder / "nowhere.csv",),
        (desk.data, "--target", "colour"),
    ):
        done = cli("evaluate", release_folder, *arguments)
        assert done.code in (1, 2)
        assert "should not" not in done.err, done.err
        assert done.err.count("\n") == 1


# what stays with the custodian ----------


def test_what_is_not_public_is_not_written_into_a_release(cli: Cli, desk: Desk, release_folder: Path) -> None:
    before = sorted(path.name for path in release_folder.iterdir())
    (desk.folder / "way").symlink_to(release_folder)
    for inside in (release_folder / "own", desk.folder / "way" / "own"):
        for command in (
            ("evaluate", release_folder, desk.data, "--out", inside),
            ("draft", desk.data, "--out", inside),
            ("ledger", "init", inside),
            ("ledger", "init", f"sqlite:///{inside}"),
        ):
            done = cli(*command)
            assert done.code == 2, command
            assert "is inside the release" in done.err
            assert "choose a place outside" in done.err
    with pytest.raises(UsageError, match="is inside the release"):
        evaluate(release_folder, desk.data).save(release_folder / "own.html")
    assert sorted(path.name for path in release_folder.iterdir()) == before


def test_what_stays_with_the_custodian_is_for_its_owner_alone(
    cli: Cli, desk: Desk, release_folder: Path
) -> None:
    for name, command in {
        "evaluation.html": ("evaluate", release_folder, desk.data, "--out", "evaluation.html"),
        "draft.yaml": ("draft", desk.data, "--out", "draft.yaml"),
        "new.db": ("ledger", "init", "new.db"),
    }.items():
        assert cli(*command).code == 0
        assert stat.S_IMODE((desk.folder / name).stat().st_mode) == 0o600, name


def test_inspect_names_every_file_that_the_release_does_not_list(
    cli: Cli, desk: Desk, release_folder: Path
) -> None:
    folder = shutil.copytree(release_folder, desk.folder / "copy")
    assert json.loads(cli("inspect", folder, "--json").out)["unlisted"] == []
    (folder / "evaluation.html").write_text("raw")
    (folder / "more").mkdir()
    done = cli("inspect", folder)
    assert done.code == 0
    assert "does not list: 'evaluation.html', 'more'" in done.err
    assert "not listed: the guarantee does not cover it" in done.out
    assert json.loads(cli("inspect", folder, "--json").out)["unlisted"] == ["evaluation.html", "more"]


# audit ----------


def test_audit_holds_for_what_is_shipped_and_refutes_what_is_broken(cli: Cli) -> None:
    names = ("randomised-response", "broken-forgotten-noise")
    done = cli("audit", *names, "--trials", "2000", "--json")
    assert done.code == 0, done.err
    verdicts = {verdict["name"]: verdict["status"] for verdict in json.loads(done.out)}
    assert verdicts == {"randomised-response": "holds", "broken-forgotten-noise": "refuted"}
    shown = cli("audit", *names, "--trials", "2000").out
    assert "holds" in shown
    assert "refuted" in shown


def test_an_unknown_audit_is_answered_with_the_nearest(cli: Cli) -> None:
    done = cli("audit", "randomized-response")
    assert done.code == 2
    assert "randomised-response" in done.err


# demo ----------


@pytest.mark.parametrize("kind", ["table", "points"])
def test_the_demo_runs_from_end_to_end(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("demo", "--kind", kind)
    assert done.code == 0, done.err
    report = re.search(r"Its report: +(\S+)", done.out)
    assert report is not None
    assert Path(report[1]).read_text(encoding="utf-8").startswith("<!doctype html>")
    ran = re.findall(r"^\$ penstock (\w+)", done.out, re.MULTILINE)
    told = [
        "draft",
        "ledger",
        "ledger",
        "release",
        "inspect",
        "query",
        "query",
        "sample",
        "evaluate",
        "ledger",
    ]
    assert ran == told
    assert re.search(r"± .* \(counted\)", done.out)
    assert re.search(r"\((model|spread evenly): (no error bar|(likely )?between)", done.out)
    public = {path.name for path in (tmp_path / "demo-release").iterdir()}
    assert "report.html" in public
    assert not {
        name for name in public if "custodian" in name or "evaluation" in name or name == "survey.csv"
    }
    assert cli("demo", "--kind", kind).code == 1, "an existing release is not overwritten"


@pytest.mark.parametrize(
    ("kind", "records"),
    [
        ("sequences", lambda: demo.visits(800)),
        ("itemsets", lambda: demo.loans(600)),
        ("graph", demo.friends),
    ],
)
def test_every_story_is_told_to_its_end(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    records: Callable[[], pl.DataFrame],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, (_, schema) in demo.DATASETS.items():
        if f"kind: {kind}\n" in schema():
            monkeypatch.setitem(demo.DATASETS, name, (records, schema))
    done = cli("demo", "--kind", kind, "--out", "told")
    assert done.code == 0, done.err
    assert len(re.findall(r"^\$ penstock", done.out, re.MULTILINE)) == 10
    assert (tmp_path / "told" / "report.html").stat().st_size < 1_500_000


def test_every_kind_of_data_has_its_demo(cli: Cli) -> None:
    told = " ".join(cli("demo", "--help").out.split())
    for info in catalogue.every_kind():
        assert f"{info.name}: " in told


def test_the_demo_data_are_the_same_everywhere(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        assert cli("demo", "--data-only", tmp_path / name).code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert cli("demo", "--data-only", tmp_path / "a.csv").code == 2


def test_a_ledger_that_is_lost_at_the_end_costs_nothing_and_is_said(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise LedgerError("The ledger is gone.")

    monkeypatch.setattr("penstock.privacy.ledger.ledger.LedgerAccount.complete", lost)
    book = ("--ledger", desk.ledger, "--account", "people", "--method", "independent")
    done = cli("release", desk.data, "-s", desk.schema, "-e", "1", "-o", desk.out, *book)
    assert done.code == 0
    assert "stays 'reserved', which counts as spent" in done.err
    assert (desk.out / "receipt.json").exists()


@pytest.mark.parametrize(("setting", "shown"), [("0", False), ("false", False), ("1", True)])
def test_the_environment_can_ask_for_tracebacks(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch, setting: str, shown: bool
) -> None:
    monkeypatch.setenv("PENSTOCK_DEBUG", setting)
    if shown:
        with pytest.raises(ReleaseError):
            cli("inspect", desk.folder)
    else:
        assert cli("inspect", desk.folder).code == 1


def test_rows_that_cannot_be_written_leave_the_old_file(
    cli: Cli, release_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(rows: pl.DataFrame, stream: BinaryIO, **options: object) -> None:
        stream.write(b"half")
        raise OSError("No space left on device (os error 28)")

    target = tmp_path / "rows.csv"
    target.write_text("old")
    monkeypatch.setattr(pl.DataFrame, "write_csv", half)
    done = cli("sample", release_folder, "-n", "5", "-o", target, "--force")
    assert done.code == 2
    assert done.err == f"'{target}' cannot be written: No space left on device.\n"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("rows.csv", "old")]


def test_an_audit_without_runs_is_no_audit(cli: Cli) -> None:
    done = cli("audit", "randomised-response", "--trials", "-5")
    assert done.code == 2
    assert "at least 40 trials, not -5" in done.err
