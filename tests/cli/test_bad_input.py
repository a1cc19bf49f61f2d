"""Bad input is answered with one or two clear sentences, and nothing is spent.

Every case runs a release that books in a ledger, and then looks at all that could have gone wrong: the
exit code, the words, the ledger, and what is left on the disk.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import polars as pl
import pytest
from tests.cli.desk import ROWS, SCHEMA, Cli, Desk, Outcome

import penstock
from penstock import Schema, release
from penstock.errors import PenstockWarning, UsageError
from penstock.kinds.table.data import Table
from penstock.kinds.table.independent import Independent
from penstock.privacy.budgets.budget import Budget


def spent(cli: Cli, desk: Desk) -> object:
    shown = cli("ledger", "show", desk.ledger, "--json")
    assert shown.code == 0
    return json.loads(shown.out)


def refused(cli: Cli, desk: Desk, *changes: object, code: int = 1) -> Outcome:
    """Run a release that must fail, with options changed or added; nothing may have happened."""
    options: dict[str, object] = {
        "--schema": desk.schema,
        "--epsilon": "1",
        "--out": desk.out,
        "--ledger": desk.ledger,
        "--account": "people",
    }
    file: object = desk.data
    for change in changes:
        if isinstance(change, dict):
            options.update(change)
        else:
            file = change
    before, files = spent(cli, desk), sorted(desk.folder.rglob("*"))
    outcome = cli("release", file, *(word for pair in options.items() for word in pair))
    assert outcome.code == code, outcome
    assert outcome.out == ""
    assert 1 <= outcome.sentences <= 3, outcome.err
    assert outcome.err.count("\n") == 1, outcome.err
    assert "Traceback" not in outcome.err
    assert "should not" not in outcome.err, outcome.err
    assert len(outcome.err) < 400, outcome.err
    assert spent(cli, desk) == before, "something was booked"
    left = [
        path
        for path in sorted(desk.folder.rglob("*"))
        if path not in files and path.suffix not in (".db-wal", ".db-shm")
    ]
    assert left == [], left
    return outcome


def test_the_good_case_releases_and_books(cli: Cli, desk: Desk) -> None:
    """So that the refusals below are known to come from what they change."""
    before = spent(cli, desk)
    done = cli(*desk.release, "--ledger", desk.ledger, "--account", "people")
    assert done.code == 0, done.err
    assert (desk.out / "report.html").exists()
    assert spent(cli, desk) != before


def test_missing_file(cli: Cli, desk: Desk) -> None:
    assert "nowhere.csv" in refused(cli, desk, desk.folder / "nowhere.csv").err


def test_empty_file(cli: Cli, desk: Desk) -> None:
    desk.data.write_bytes(b"")
    assert "empty" in refused(cli, desk).err


def test_no_records_are_released_like_one_and_only_the_terminal_hears_of_it(cli: Cli, desk: Desk) -> None:
    """Were an empty input refused, every release would prove that there was a record."""

    def files(source: object, *options: str) -> dict[str, object]:
        done = cli("release", source, "-s", desk.schema, "-e", "1", "-o", desk.out, "--seed", "1", *options)
        assert done.code == 0, done.err
        assert ("there are no records" in done.err) == (len(rows) == 0)
        package = json.loads((desk.out / "datapackage.json").read_text())
        assert "no records" not in (desk.out / "report.html").read_text()
        shutil.rmtree(desk.out)
        return {
            "names": [resource["path"] for resource in package["resources"]],
            "about": package["penstock"],
        }

    found = []
    for rows in ([], ROWS[:1]):
        desk.write(rows)
        frame = pl.read_csv(desk.data, infer_schema=False)
        frame.write_parquet("people.parquet")
        with closing(sqlite3.connect("people.db")) as connection, connection:
            connection.execute("DROP TABLE IF EXISTS people")
            connection.execute("CREATE TABLE people (name TEXT, age TEXT, income TEXT)")
            connection.executemany("INSERT INTO people VALUES (?, ?, ?)", frame.rows())
        found += [
            files(desk.data),
            files("people.parquet"),
            files("sqlite:///people.db", "--table", "people"),
        ]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("make", [pl.DataFrame, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, ibis.memtable])
def test_frames_without_records_are_released_too(make: Any) -> None:
    none = make(pl.DataFrame(schema={"name": pl.String, "age": pl.Int64, "income": pl.Float64}))
    with pytest.warns(PenstockWarning, match="there are no records"):
        release(none, Schema.from_yaml(SCHEMA), epsilon=1)


@pytest.mark.parametrize("name", ["^x$", "*", "^.*$"])
def test_a_name_that_reads_as_a_pattern_is_refused(cli: Cli, desk: Desk, name: str) -> None:
    """Polars would read other columns, or none, and stumble."""
    desk.write([("ada", "31")], header=(name, "age"))
    field = {"name": name, "constraints": {"enum": ["ada"]}}
    desk.schema.write_text(json.dumps({"fields": [field]}))
    assert "reads as a pattern of names" in refused(cli, desk).err
    pl.DataFrame({name: ["ada"]}).write_parquet("people.parquet")
    for source in (desk.data, "people.parquet"):
        done = cli("draft", source, "-o", "new.yaml")
        assert (done.code, "reads as a pattern of names" in done.err) == (1, True), done.err


@pytest.mark.parametrize("name", ["^x$", "*"])
@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        ("sequences", {"sequence": {"symbol": "page", "user": "NAME", "longest": 4}}),
        ("sequences", {"sequence": {"symbol": "page", "user": "who", "time": "NAME", "longest": 4}}),
        ("itemsets", {"items": {"item": "page", "transaction": "NAME"}}),
    ],
)
def test_a_layout_s_column_that_reads_as_a_pattern_is_refused(
    cli: Cli, desk: Desk, kind: str, layout: dict[str, Any], name: str
) -> None:
    """Such a column is no field, and was read all the same."""
    desk.write([("ada", "home", "1")], header=("who", "page", name))
    field = {"name": "page", "constraints": {"enum": ["home"]}}
    text = json.dumps({"kind": kind, "fields": [field], **layout}).replace("NAME", name)
    desk.schema.write_text(text, encoding="utf-8")
    assert "reads as a pattern of names" in refused(cli, desk).err


def test_ragged_rows(cli: Cli, desk: Desk) -> None:
    desk.write([*ROWS, ("ada", "31", "1200", "and more")])
    assert str(len(ROWS) + 2) in refused(cli, desk).err or str(len(ROWS) + 1) in refused(cli, desk).err


def test_short_rows(cli: Cli, desk: Desk) -> None:
    desk.write([*ROWS, ("ada", "31")])
    refused(cli, desk)


def test_wrong_encoding(cli: Cli, desk: Desk) -> None:
    desk.data.write_bytes("name,age,income\nJosé,31,1200\n".encode("latin-1"))
    assert "UTF-8" in refused(cli, desk).err


def test_unknown_category(cli: Cli, desk: Desk) -> None:
    desk.write([*ROWS, ("zed", "31", "1200")])
    said = refused(cli, desk).err
    assert "name" in said
    assert "zed" in said


@pytest.mark.parametrize("age", ["-1", "100", "1e9"])
def test_number_out_of_bounds(cli: Cli, desk: Desk, age: str) -> None:
    desk.write([*ROWS, ("ada", age, "1200")])
    said = refused(cli, desk).err
    assert "age" in said
    assert "99" in said


@pytest.mark.parametrize("income", ["NaN", "nan", "inf", "-Infinity"])
def test_nan_and_infinity(cli: Cli, desk: Desk, income: str) -> None:
    desk.write([*ROWS, ("ada", "31", income)])
    assert "income" in refused(cli, desk).err


def test_text_where_a_number_belongs(cli: Cli, desk: Desk) -> None:
    desk.write([*ROWS, ("ada", "31", "75k")])
    assert "75k" in refused(cli, desk).err


def test_duplicate_column(cli: Cli, desk: Desk) -> None:
    desk.write([("ada", "31", "12")], header=("name", "age", "age"))
    assert "columns 2 and 3 have the same name" in refused(cli, desk).err


def test_schema_names_a_missing_column(cli: Cli, desk: Desk) -> None:
    desk.schema.write_text(
        SCHEMA + "  - {name: height, type: integer, constraints: {minimum: 0, maximum: 9}}\n"
    )
    assert "height" in refused(cli, desk).err


@pytest.mark.parametrize(
    "epsilon", ["-1", "0", "nan", "inf", "1000", "1e400", "1e-400", "1e999999999", "one", "1/0", ""]
)
def test_impossible_epsilon(cli: Cli, desk: Desk, epsilon: str) -> None:
    assert "epsilon" in refused(cli, desk, {"--epsilon": epsilon}).err


@pytest.mark.parametrize("delta", ["-0.1", "0.5", "1", "nan"])
def test_impossible_delta(cli: Cli, desk: Desk, delta: str) -> None:
    assert "delta" in refused(cli, desk, {"--delta": delta}).err


def test_budget_above_the_ledgers_limit(cli: Cli, desk: Desk) -> None:
    said = refused(cli, desk, {"--epsilon": "3.5"}).err
    assert "people" in said
    assert "3" in said


def test_account_that_does_not_exist(cli: Cli, desk: Desk) -> None:
    assert "strangers" in refused(cli, desk, {"--account": "strangers"}).err


def test_unwritable_output_folder(cli: Cli, desk: Desk) -> None:
    """Below a file nobody can make a folder, not even root, who ignores permissions."""
    (desk.folder / "a-file").write_text("")
    assert "a-file" in refused(cli, desk, {"--out": desk.folder / "a-file" / "release"}).err


def test_output_on_a_read_only_system(cli: Cli, desk: Desk) -> None:
    if not Path("/proc").is_dir():
        pytest.skip("no /proc here")
    assert "/proc" in refused(cli, desk, {"--out": "/proc/release"}).err


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch], ids=["folder", "file"])
def test_existing_output_folder(cli: Cli, desk: Desk, make: Callable[[Path], None]) -> None:
    make(desk.out)
    assert "exists" in refused(cli, desk).err


def test_unreviewed_draft(cli: Cli, desk: Desk) -> None:
    desk.schema.write_text(SCHEMA.replace("{name: age,", "{name: age, review: true,"))
    said = refused(cli, desk).err
    assert "age" in said
    assert "review" in said


def test_schema_that_is_not_there_or_not_a_schema(cli: Cli, desk: Desk) -> None:
    assert "nowhere.yaml" in refused(cli, desk, {"--schema": desk.folder / "nowhere.yaml"}).err
    desk.schema.write_text("fields: [")
    assert "YAML" in refused(cli, desk).err
    desk.schema.write_text("just text")
    refused(cli, desk)


def test_method_for_another_kind_of_data(cli: Cli, desk: Desk) -> None:
    assert "points" in refused(cli, desk, {"--method": "uniform-grid"}, code=2).err


def test_unknown_method_is_answered_with_the_nearest(cli: Cli, desk: Desk) -> None:
    assert "independent" in refused(cli, desk, {"--method": "independant"}, code=2).err


@pytest.mark.parametrize("param", ["side=40", "nonsense", "=3"])
def test_wrong_parameters(cli: Cli, desk: Desk, param: str) -> None:
    refused(cli, desk, {"--param": param}, code=2)


def test_ledger_without_account(cli: Cli, desk: Desk) -> None:
    done = cli(*desk.release, "--ledger", desk.ledger)
    assert done.code == 2
    assert "--account" in done.err
    assert not desk.out.exists()


def test_table_option_for_a_file(cli: Cli, desk: Desk) -> None:
    refused(cli, desk, {"--table": "people"}, code=1)


def test_a_table_of_one_row_is_released_like_any_other(cli: Cli, desk: Desk) -> None:
    """How many records there are is itself private, so one row is neither refused nor treated differently."""
    desk.write(ROWS[:1])
    done = cli("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out)
    assert done.code == 0, done.err
    assert cli("sample", desk.out, "-n", "3").out.count("\n") == 4


def test_a_column_with_one_value_is_released_like_any_other(cli: Cli, desk: Desk) -> None:
    desk.write([("ada", "31", "5")] * 50)
    done = cli("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out)
    assert done.code == 0, done.err


def test_a_column_with_one_possible_value(cli: Cli, desk: Desk) -> None:
    desk.write([("ada", "31", "5")] * 50)
    desk.schema.write_text(SCHEMA.replace("[ada, bob, cyd]", "[ada]"))
    done = cli("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out)
    assert done.code == 0, done.err


def test_an_empty_file_name_is_not_the_current_folder(cli: Cli, desk: Desk) -> None:
    assert "name of the file is empty" in refused(cli, desk, "").err


@pytest.mark.parametrize("value", ["1e999999999", "nan", "inf", "1/0", "x"])
def test_parameters_that_are_no_numbers(cli: Cli, desk: Desk, value: str) -> None:
    """An exponent of nine digits would take for ever to write out, so it is never expanded."""
    method = {"--method": "privbayes", "--param": f"beta={value}"}
    assert "must be a number" in refused(cli, desk, method, code=2).err


def test_a_full_disk_is_refused_before_anything_is_spent(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = shutil.disk_usage(desk.folder)._replace(free=1 << 20)
    monkeypatch.setattr("penstock.releases.disk.shutil.disk_usage", lambda _: nothing)
    assert "1 MB are free on its disk" in refused(cli, desk).err


def test_a_disk_that_fills_after_the_noise_was_drawn_says_that_it_is_paid_for(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("penstock.releases.folder._write", full)
    options = ("--schema", desk.schema, "--epsilon", "1", "--method", "independent", "--out", desk.out)
    done = cli("release", desk.data, *options)
    assert done.code == 1
    assert "No space left on device. The budget is spent all the same" in done.err
    assert not desk.out.exists()


def test_what_fails_after_a_charge_never_says_that_nothing_was_spent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = Independent.fit

    def stumble(self: Independent, table: Table, budget: Budget) -> None:
        fit(self, table, budget)
        raise UsageError("It is too late. Nothing was spent.")

    monkeypatch.setattr(Independent, "fit", stumble)
    with pytest.raises(UsageError, match=r"^It is too late\. The budget is spent all the same"):
        penstock.release(desk.data, desk.schema, epsilon=1, method="independent")
