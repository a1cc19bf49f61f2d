"""Sequences from the command line: from a draft to synthetic rows."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from penstock.cli import run
from penstock.releases import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Visits of a small site, drafted, reviewed and released."""
    place = tmp_path_factory.mktemp("visits")
    rng = np.random.default_rng(0)
    pages = np.array(["home", "news", "sport"])
    visits = [" ".join(pages[rng.choice(3, rng.integers(1, 6), p=[0.5, 0.3, 0.2])]) for _ in range(4000)]
    pl.DataFrame({"pages": visits}).write_csv(place / "visits.csv")
    drafted = place / "visits.schema.yaml"
    assert run(["draft", str(place / "visits.csv"), "--kind", "sequences"]) == 0
    text = drafted.read_text()
    assert "review: true" in text
    drafted.write_text(text.replace("review: true", "review: false"))
    arguments = ["--schema", str(drafted), "--epsilon", "4", "--seed", "1"]
    assert run(["release", str(place / "visits.csv"), *arguments, "--out", str(place / "out")]) == 0
    return place


def asked(folder: Path, capsys: pytest.CaptureFixture[str], *question: str) -> str:
    capsys.readouterr()
    assert run(["query", str(folder / "out"), *question]) == 0
    return capsys.readouterr().out


def test_counts_the_top_and_what_comes_next(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted = asked(folder, capsys, "--count", "home,news")
    assert re.match(r"[\d,]+ ± [\d,.]+ occurrences", counted)
    assert asked(folder, capsys, "home,news") == counted
    assert asked(folder, capsys, "--count", "home,news", "--json").count('"value"') == 1
    top = asked(folder, capsys, "--top", "3")
    assert top.splitlines()[1].startswith("home")
    listed = json.loads(asked(folder, capsys, "--top", "3", "--json"))
    assert [row["string"] for row in listed["rows"]][:2] == ["home", "news"]
    following = asked(folder, capsys, "--next", "$,home")
    assert "(end)" in following
    assert "%" in following


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (["--count", "home,weather"], "'weather' is not a symbol"),
        (["--next", "home,&"], "'&' is not a symbol"),
        (["--box", "0,1"], "--box is for releases of points"),
        (["--top", "3", "--count", "home"], "Ask one question"),
        (["--counts", "none.csv"], "'none.csv' cannot be read: No such file"),
        (["--file", "conditions.txt"], "strings of symbols are counted with --counts"),
        ([], "Ask one question"),
    ],
)
def test_questions_that_make_no_sense_are_answered_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], question: list[str], message: str
) -> None:
    assert run(["query", str(folder / "out"), *question]) != 0
    assert message in capsys.readouterr().err


def test_synthetic_sequences_and_their_evaluation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sample", str(folder / "out"), "-n", "50", "-o", str(folder / "made.csv")]) == 0
    made = (folder / "made.csv").read_text().splitlines()
    assert len(made) == 51
    assert {page for line in made[1:] for page in line.strip('"').split()} <= {"home", "news", "sport"}
    assert run(["evaluate", str(folder / "out"), str(folder / "visits.csv"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert {score["name"] for score in scores} >= {"top 50 strings", "lengths", "what follows what"}
    assert run(["inspect", str(folder / "out")]) == 0
    assert "one sequence" in capsys.readouterr().out.lower()


def test_a_schema_for_another_kind_of_data_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--schema", str(folder / "visits.schema.yaml"), "--epsilon", "1", "--method", "privtree"]
    assert run(["release", str(folder / "visits.csv"), *arguments, "--out", str(folder / "no")]) != 0
    assert "method for data of kind 'points'" in capsys.readouterr().err
    assert not (folder / "no").exists()


@pytest.mark.parametrize("form", ["lines.txt", "lines.csv", "table.csv", "table.parquet", "lists.parquet"])
def test_many_strings_from_a_file_are_counted_as_one_by_one(
    folder: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    strings = ["home", "home,news", "$,sport", "news,&", "$"]
    path = folder / form
    frame = pl.DataFrame({"id": range(5), "string": strings})
    if form.startswith("lines"):
        path.write_text("\n".join(strings[:2]) + "\n\n" + "\n".join(strings[2:]) + "\n")
    elif form == "table.csv":
        frame.write_csv(path)
    elif form == "table.parquet":
        frame.write_parquet(path)
    else:
        frame.with_columns(pl.col("string").str.split(",")).write_parquet(path)
    shown = pl.read_csv(asked(folder, capsys, "--counts", str(path)).encode())
    assert shown.columns == [
        *(() if form.startswith("lines") else ("id",)),
        "string",
        "count",
        "error",
        "covers",
        "low",
        "high",
        "range",
        "rests_on",
        "caveats",
    ]
    assert shown["string"].to_list() == strings
    release = load(folder / "out")
    single = [release.query(text) for text in strings]
    assert shown["count"].to_list() == pytest.approx([answer.value for answer in single])
    assert shown["error"].to_list() == [answer.error for answer in single]
    assert shown["rests_on"].to_list() == [answer.rests_on for answer in single]
    listed = json.loads(asked(folder, capsys, "--counts", str(path), "--json"))
    assert [row["count"] for row in listed] == pytest.approx(shown["count"].to_list())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "strings.csv' is empty; write one string in each line"),
        ("\n \n", "strings.csv' is empty"),
        ("id,string\n", "has a header and no rows"),
        ("home\n\nhome,weather\n", "line 3: 'weather' is not a symbol of this release"),
        (
            "id,string\n1,home\n2,nevs\n",
            "row 2: 'nevs' is not a symbol of this release (did you mean 'news'?)",
        ),
        ("id,string\n1,home\n2,home,news\n", "row 2: 3 values where the header has 2 names"),
        ("id,string\n1,home\n2,\n", "row 2: the string is empty"),
        ('home,"news\n', "line 1: A quote is not closed"),
        ('id,string\n1,"home\n', "a quote may not be closed"),
    ],
)
def test_files_of_strings_that_make_no_sense_are_refused_with_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = folder / "strings.csv"
    path.write_text(text)
    capsys.readouterr()
    assert run(["query", str(folder / "out"), "--counts", str(path)]) == 1
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_symbol_called_string_is_no_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.csv").write_text("kinds\n" + "string wind\n" * 200)
    (tmp_path / "notes.yaml").write_text(
        "kind: sequences\nsequence: {symbol: kinds, longest: 3}\n"
        "fields: [{name: kinds, constraints: {enum: [string, wind]}}]\n"
    )
    out = str(tmp_path / "out")
    arguments = ["--schema", str(tmp_path / "notes.yaml"), "--epsilon", "5", "--seed", "1", "--out", out]
    assert run(["release", str(tmp_path / "notes.csv"), *arguments]) == 0
    (tmp_path / "strings.txt").write_text("string\nstring,wind\n")
    capsys.readouterr()
    assert run(["query", out, "--counts", str(tmp_path / "strings.txt")]) == 0
    assert pl.read_csv(capsys.readouterr().out.encode())["string"].to_list() == ["string", "string,wind"]
