"""The commands, one by one: what they print, what they write, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.cli.desk import ROWS, SCHEMA, Cli, Desk, Outcome

from penstock import catalogue


def penstock(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """The real thing, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "penstock", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )  # type: ignore[call-overload,no-any-return]


# draft ----------


def test_draft_writes_a_schema_that_is_refused_until_reviewed(cli: Cli, desk: Desk) -> None:
    target = desk.folder / "draft.yaml"
    assert cli("draft", desk.data, "-o", target).code == 0
    assert "review: true" in target.read_text()
    release = ("release", desk.data, "--schema", target, "--epsilon", "1", "--out", desk.out)
    assert cli(*release).code == 1
    assert not desk.out.exists()
    target.write_text(target.read_text().replace("review: true", "review: false"))
    assert cli(*release).code == 0


def test_draft_goes_beside_the_file_and_overwrites_nothing(cli: Cli, desk: Desk) -> None:
    desk.schema.unlink()
    assert cli("draft", desk.data).code == 0
    assert desk.schema.exists()
    again = cli("draft", desk.data)
    assert again.code == 2
    assert "--force" in again.err
    assert cli("draft", desk.data, "--force").code == 0


def test_headers_only_reads_no_value(cli: Cli, desk: Desk) -> None:
    desk.write([("Xq7vCanary", "31415", "92653")])
    target = desk.folder / "draft.yaml"
    assert cli("draft", desk.data, "-o", target, "--headers-only").code == 0
    text = target.read_text()
    assert "income" in text
    assert not [secret for secret in ("Xq7vCanary", "31415", "92653") if secret in text]


def test_an_accepted_draft_is_recorded_in_the_release(cli: Cli, desk: Desk) -> None:
    desk.schema.write_text(SCHEMA.replace("{name: age,", "{name: age, review: true,"))
    done = cli(*desk.release, "--accept-unreviewed-draft")
    assert done.code == 0, done.err
    assert "unreviewed" in done.err
    assert json.loads(cli("inspect", desk.out, "--json").out)["unreviewed"] == ["age"]
    assert "age" in cli("inspect", desk.out).out


# release ----------


def test_a_seed_makes_the_run_reproducible_and_says_so_loudly(cli: Cli, desk: Desk) -> None:
    folders = [desk.folder / name / "same" for name in ("one", "two")]
    for folder in folders:
        done = cli(
            "release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--seed", "7", "--out", folder
        )
        assert done.code == 0, done.err
        assert "NOT PUBLISHABLE" in done.err
    files = sorted(path.name for path in folders[0].iterdir())
    assert files == sorted(path.name for path in folders[1].iterdir())
    for name in files:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
    assert json.loads((folders[0] / "receipt.json").read_text())["publishable"] is False


def test_without_a_seed_two_releases_differ(cli: Cli, desk: Desk) -> None:
    receipts = []
    for name in ("one", "two"):
        assert (
            cli(
                "release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.folder / name
            ).code
            == 0
        )
        receipts.append((desk.folder / name / "synthetic.csv").read_text())
    assert receipts[0] != receipts[1]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_engines_and_formats_release_the_same_under_a_seed(cli: Cli, desk: Desk, engine: str) -> None:
    frame = pl.read_csv(desk.data, infer_schema=False)
    frame.write_parquet(desk.folder / "people.parquet")
    with sqlite3.connect(desk.folder / "people.db") as book:
        book.execute("create table people (name text, age text, income text)")
        book.executemany("insert into people values (?, ?, ?)", ROWS)
    book.close()
    models = set()
    for number, source in enumerate(
        (
            [desk.data],
            [desk.folder / "people.parquet"],
            [f"sqlite:///{desk.folder}/people.db", "--table", "people"],
        )
    ):
        if engine == "duckdb" and number == 2:
            continue
        options = [] if number == 2 else ["--engine", engine]
        out = desk.folder / f"{engine}-{number}"
        done = cli(
            "release",
            *source,
            *options,
            "--schema",
            desk.schema,
            "--epsilon",
            "1",
            "--seed",
            "3",
            "--out",
            out,
        )
        assert done.code == 0, done.err
        models.add((out / "model.json").read_text() + (out / "synthetic.csv").read_text())
    assert len(models) == 1


def test_parameters_reach_the_method(cli: Cli, tmp_path: Path) -> None:
    data, schema, out = tmp_path / "p.csv", tmp_path / "p.yaml", tmp_path / "out"
    data.write_text("x,y\n" + "0.2,0.3\n0.7,0.9\n" * 200)
    bounds = "type: number, constraints: {minimum: 0, maximum: 1}"
    schema.write_text(f"kind: points\nfields:\n  - {{name: x, {bounds}}}\n  - {{name: y, {bounds}}}\n")
    grid = ("release", data, "--schema", schema, "--epsilon", "2", "--method", "uniform-grid")
    done = cli(*grid, "--param", "side=4", "--out", out)
    assert done.code == 0, done.err
    facts = json.loads(cli("inspect", out, "--json").out)
    assert facts["method"] == "uniform-grid"
    assert facts["parameters"]["side"] == 4
    box = json.loads(cli("query", out, "--box", "0,0.5,0,0.5", "--json").out)
    asked = json.loads(cli("query", out, "x < 0.5 and y < 0.5", "--json").out)
    assert box["value"] == pytest.approx(asked["value"])
    wrong = cli(*grid, "--param", "side=four", "--out", tmp_path / "no")
    assert wrong.code == 2
    assert "whole number" in wrong.err


# inspect, sample, query ----------


def test_inspect_shows_guarantee_receipt_fields_and_files(cli: Cli, release_folder: Path) -> None:
    shown = cli("inspect", release_folder)
    assert shown.code == 0, shown.err
    for word in (
        "Pure differential privacy",
        "epsilon = 1",
        "Receipt",
        "income",
        "receipt.json",
        "no ledger",
        "✓",
    ):
        assert word in shown.out, word


def test_inspect_json_is_json_and_nothing_else(cli: Cli, release_folder: Path) -> None:
    facts = json.loads(cli("inspect", release_folder, "--json").out)
    assert facts["epsilon"] == "1"
    assert facts["publishable"] is True
    assert {file["path"] for file in facts["files"]} >= {
        "receipt.json",
        "schema.yaml",
        "model.json",
        "report.html",
    }


def test_inspect_refuses_a_release_that_was_touched(cli: Cli, desk: Desk) -> None:
    cli("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out)
    with (desk.out / "synthetic.csv").open("a") as file:
        file.write("one,more,row\n")
    shown = cli("inspect", desk.out)
    assert shown.code == 1
    assert "synthetic.csv" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("command", [("inspect",), ("sample", "-n", "3"), ("query", "age < 3")])
@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_what_is_not_a_release_is_called_so(
    cli: Cli, desk: Desk, command: tuple[str, ...], folder: str
) -> None:
    done = cli(command[0], folder, *command[1:])
    assert done.code == 1
    assert done.out == ""
    assert done.sentences <= 2
    assert "Traceback" not in done.err


def test_sample_writes_by_extension_and_overwrites_nothing(
    cli: Cli, release_folder: Path, tmp_path: Path
) -> None:
    csv, parquet = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    assert cli("sample", release_folder, "-n", "25", "--seed", "1", "-o", csv).code == 0
    assert cli("sample", release_folder, "-n", "25", "--seed", "1", "-o", parquet).code == 0
    assert pl.read_csv(csv).height == pl.read_parquet(parquet).height == 25
    again = cli("sample", release_folder, "-n", "25", "-o", csv)
    assert again.code == 2
    assert "--force" in again.err
    assert cli("sample", release_folder, "-n", "5", "-o", csv, "--force").code == 0
    assert pl.read_csv(csv).height == 5
    assert cli("sample", release_folder, "-o", tmp_path / "rows.xlsx").code == 2
    assert cli("sample", release_folder, "-n", "-4").code == 2


def test_sample_without_a_file_prints_csv_and_nothing_else(cli: Cli, release_folder: Path) -> None:
    lines = cli("sample", release_folder, "-n", "4").out.splitlines()
    assert lines[0] == "name,age,income"
    assert len(lines) == 5


def test_query_answers_in_words_and_in_json(cli: Cli, release_folder: Path) -> None:
    said = cli("query", release_folder, "age < 40")
    assert said.code == 0, said.err
    answer = json.loads(cli("query", release_folder, "age < 40", "--json").out)
    number = {"value", "error", "covers", "low", "high", "range", "text"}
    assert set(answer) == number | {"question", "rests_on", "caveats"}
    assert isinstance(answer["value"], float)


@pytest.mark.parametrize(
    "words",
    [
        ("agee < 40",),
        ("age <",),
        ("age < 40 and",),
        ("import os",),
        ("",),
        (),
        ("--box", "0,1"),
        ("age < 3", "--box", "0,1"),
    ],
)
def test_a_question_that_cannot_be_understood_is_one_sentence(
    cli: Cli, release_folder: Path, words: tuple[str, ...]
) -> None:
    done = cli("query", release_folder, *words)
    assert done.code in (1, 2)
    assert done.out == ""
    assert "should not" not in done.err
    assert done.err.count("\n") == 1


# methods ----------


def test_methods_lists_them_all(cli: Cli) -> None:
    listed = json.loads(cli("methods", "--json").out)
    assert [each["name"] for each in listed] == [info.name for info in catalogue.methods(role="method")]
    shown = cli("methods").out
    assert all(info.name in shown for info in catalogue.methods(role="method"))


# failures of the program itself ----------


def test_a_bug_shows_no_traceback_unless_asked(cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise RuntimeError("secret-value-in-a-message")

    monkeypatch.setattr("penstock.api.release", explode)
    arguments = ("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out)
    done = cli(*arguments)
    assert done.code == 70
    assert "report" in done.err
    assert "secret-value" not in done.err
    with pytest.raises(RuntimeError, match="secret-value"):
        cli("--debug", *arguments)


def test_interruption_ends_with_130_and_leaves_no_folder(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.api.release", interrupt)
    done = cli("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out)
    assert done.code == 130
    assert done.err.startswith("Interrupted.")
    assert done.sentences == 2
    assert not desk.out.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["relese"],
        ["release"],
        ["release", "x.csv", "--epsilom", "1"],
        ["--nonsense"],
        ["draft", "x.csv", "--kind", "tables"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert "--help" in done.err


def test_escape_sequences_in_a_release_do_not_reach_the_terminal(cli: Cli, desk: Desk) -> None:
    desk.schema.write_text(
        SCHEMA.replace("enum: [ada, bob, cyd]", 'enum: [ada, bob, cyd, "\\e[31mred", "[bold]b"]')
    )
    assert cli("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out).code == 0
    shown = cli("inspect", desk.out).out
    assert "\x1b[31m" not in shown
    assert "[bold]b" in shown


# in a process of their own ----------


def test_the_script_works_end_to_end_as_a_process(desk: Desk) -> None:
    done = penstock("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    shown = penstock("inspect", desk.out, "--json")
    assert json.loads(shown.stdout)["method"] == "confluence"
    assert (
        penstock(
            "release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--out", desk.out
        ).returncode
        == 1
    )


def test_a_reader_who_leaves_early_is_no_error(release_folder: Path) -> None:
    command = f"{sys.executable} -m penstock sample {release_folder} -n 200000 | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "name,age,income"
    assert "Traceback" not in done.stderr
    assert done.stderr == ""


def test_control_c_while_the_program_loads_is_one_sentence() -> None:
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from penstock.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "Interrupted. Nothing was read and nothing was spent.\n"


def test_control_c_ends_the_process_with_130(desk: Desk) -> None:
    code = (
        "import select, penstock.api\n"
        "def wait(*a, **k):\n"
        "    print('waiting', flush=True)\n"
        "    while True:\n"  # a signal between two lines is heard by the next; pause() would wait for another
        "        select.select([], [], [], 0.1)\n"
        "penstock.api.release = wait\n"
        "from penstock.cli import main\nmain()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *desk.release],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)  # patience with a hanging process, and no promise
    assert process.returncode == 130
    assert "Interrupted" in said
    assert "Traceback" not in said


# texts that a terminal or a spreadsheet would obey ----------


def risky_release(cli: Cli, desk: Desk) -> Outcome:
    names = ["=cmd()", "@sum", "-5", "\x1b[2Jred", "＝wide()", "\n=next"]
    desk.schema.write_text(json.dumps({"fields": [{"name": "name", "constraints": {"enum": names}}]}))
    pl.DataFrame({"name": names * 50}).write_parquet("people.parquet")
    done = cli("release", "people.parquet", "-s", desk.schema, "-e", "9", "-o", desk.out)
    assert done.code == 0, done.err
    return done


def test_escape_sequences_reach_a_file_and_no_terminal(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    risky_release(cli, desk)
    assert "\x1b[2Jred" in cli("sample", desk.out, "-n", "100", "--seed", "1").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown = cli("sample", desk.out, "-n", "100", "--seed", "1").out
    assert "\x1b" not in shown
    assert "[2Jred" in shown


def test_escape_sequences_are_in_no_message_and_in_no_json(cli: Cli, desk: Desk) -> None:
    """Also where nothing is a terminal: what is piped may still end in one."""
    names = ["a\x9b31m", "\x1b[2Jred", "\u202eabc"]
    fields = [{"name": "na\x1b[31mme", "constraints": {"enum": names}}]
    desk.schema.write_text(json.dumps({"fields": fields}))
    pl.DataFrame({"na\x1b[31mme": names * 50}).write_parquet("people.parquet")
    assert cli("release", "people.parquet", "-s", desk.schema, "-e", "9", "-o", desk.out).code == 0
    said = [
        cli("query", desk.out, "other = 3").err,
        cli("query", desk.out, "'na\x1b[31mme' = 'x\x9b2J'").err,
        (shown := cli("inspect", desk.out, "--json").out),
    ]
    assert all(text and not set("\x1b\x9b\u202e") & set(text) for text in said)
    assert json.loads(shown)["fields"][0] == "na\x1b[31mme"


def test_formulas_are_told_and_can_be_taken_off(cli: Cli, desk: Desk) -> None:
    told = risky_release(cli, desk).err
    assert "Spreadsheets would run" in told
    assert "'=cmd()', '@sum'" in told
    assert cli("sample", desk.out, "-n", "200", "-o", "rows.csv", "--for-spreadsheets").code == 0
    found = set(pl.read_csv("rows.csv", infer_schema=False)["name"])
    assert {"'=cmd()", "'@sum", "-5", "'＝wide()", "'\n=next"} <= found
    assert not {"=cmd()", "@sum", "＝wide()", "\n=next"} & found


def test_a_release_without_formulas_says_nothing_of_them(cli: Cli, desk: Desk) -> None:
    done = cli("release", desk.data, "-s", desk.schema, "-e", "1", "-o", desk.out)
    assert "Spreadsheets" not in done.err


def test_a_password_in_the_address_of_a_ledger_is_not_shown(cli: Cli, desk: Desk) -> None:
    for url in ("postgresql://ann:s/e@hunter2@host/base", "nosuch://host/base?password=hunter2"):
        done = cli("ledger", "show", url)
        assert done.code == 1
        assert "hunter2" not in done.err + done.out


# what people ask ----------


def test_sums_means_groups_and_sql_are_asked_and_say_what_they_rest_on(cli: Cli, desk: Desk) -> None:
    made = ("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--seed", "1", "--out", desk.out)
    assert cli(*made).code == 0
    mean = json.loads(cli("query", desk.out, "--mean", "age", "--json").out)
    assert mean["rests_on"] in ("counted", "spread evenly", "model")
    assert mean["text"] == "mean age"
    groups = json.loads(cli("query", desk.out, "age < 50", "--sum", "age", "--by", "name", "--json").out)[
        "rows"
    ]
    assert {"name", "sum", "rests_on", "caveats"} <= set(groups[0])
    counted = json.loads(cli("query", desk.out, "--by", "name", "--json").out)["rows"]
    assert [row["name"] for row in counted] == [row["name"] for row in groups]
    asked = json.loads(
        cli("query", desk.out, "--sql", "select name, count(*) n from release group by name", "--json").out
    )
    assert asked["rests_on"] == "model"
    assert [row["n"] for row in asked["rows"]] == pytest.approx([row["count"] for row in counted])
    sampled = cli("query", desk.out, "--sql", "select max(age) from release")
    assert "Run on a sample of" in " ".join(sampled.out.split())
    assert (
        json.loads(cli("query", desk.out, "--histogram", "age", "--json").out)["rows"][0]["from"] is not None
    )
    for wrong, words in (
        (("--sum", "name"), "cannot be added up"),
        (("--sql", "drop table release"), "Only a SELECT"),
        (("--sql", "select * from '/etc/passwd'"), "There is no table"),
        (("age < 3", "--sql", "select 1"), "Ask one question|leave the EXPRESSION out"),
        (("--sum", "age", "--mean", "age"), "Ask one question"),
        (("--by", "namee"), "did you mean 'name'"),
        (("--quantiles", "age=x"), "no list of shares"),
        (("--quantiles", "age", "--by", "smoker"), "not told by smoker"),
        (("--histogram", "age", "--by", "smoker"), "not told by smoker"),
    ):
        refused = cli("query", desk.out, *wrong)
        assert refused.code in (1, 2)
        assert refused.out == ""
        assert re.search(words, refused.err)
        assert "Traceback" not in refused.err


def test_rows_under_a_condition_are_drawn_or_refused_in_a_sentence(cli: Cli, desk: Desk) -> None:
    made = ("release", desk.data, "--schema", desk.schema, "--epsilon", "1", "--seed", "1", "--out", desk.out)
    assert cli(*made).code == 0
    target = desk.folder / "old.csv"
    assert cli("sample", desk.out, "-n", "40", "--where", "age > 50", "-o", target).code == 0
    rows = pl.read_csv(target)
    assert rows.height == 40
    assert rows["age"].min() > 50
    for where, words in (
        ("age > 5000", "holds for no row"),
        ("age >", "a value is expected"),
        ("agee > 3", "did you mean"),
    ):
        refused = cli("sample", desk.out, "--where", where, "-o", desk.folder / "none.csv")
        assert refused.code in (1, 2)
        assert words in refused.err
        assert not (desk.folder / "none.csv").exists()
