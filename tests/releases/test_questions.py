"""A release declares what it can be asked, and answers exactly that."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.releases.every_form import one_of
from tests.releases.tiny import Tiny, tiny

from penstock.errors import QueryError
from penstock.kinds.points.box import Box
from penstock.kinds.points.release import PointsRelease
from penstock.kinds.sequences.release import MarkovRelease, SequenceRelease
from penstock.releases import Answer, Question, Release, Written
from penstock.releases.published import Published

TABLES = ("full-table", "independent", "marginals", "network", "uniform")
TREES = ("adaptive-grid", "simple-tree", "tree")
MARKOV = ("n-gram", "suffix-tree")
NUMBERS = {"groups", "sum", "mean", "quantiles", "histogram"}
ASKED = {
    **{form: {"condition", "sql", *NUMBERS} for form in TABLES},
    "marginals": {"condition"},
    **{form: {"condition", "box", "map", "sql"} for form in TREES},
    **{form: {"count", "top", "next", "sql"} for form in MARKOV},
    "grid": {"condition", "box", "sql"},
    "selection": {"condition"},
    "top-strings": {"top"},
}
CONDITIONS = {
    **dict.fromkeys(TABLES, "age < 42 and smoker = true"),
    **dict.fromkeys((*TREES, "grid"), "x < 0.5 and y < 0.5"),
}


@pytest.mark.parametrize("form", ASKED)
def test_every_form_declares_its_questions(form: str) -> None:
    assert set(one_of(form).questions()) == ASKED[form]


@pytest.mark.parametrize("form", ASKED)
def test_a_question_says_what_it_does(form: str) -> None:
    """As a clause that is followed by how to ask: "strings of symbols are counted" with --count."""
    for question in one_of(form).questions().values():
        assert question.words.endswith(
            ("counted", "listed", "by its name", "as GeoJSON", "in SQL", "by groups", "is told", "are told")
        )
        assert question.words[0].islower()


def asked(release: Release, name: str, text: str) -> Answer:
    answer = release.questions()[name].ask(text)
    assert isinstance(answer, Answer)
    return answer


def listed(release: Release, name: str, text: str) -> pl.DataFrame:
    rows = release.questions()[name].ask(text)
    assert isinstance(rows, pl.DataFrame)
    return rows


def from_file(question: Question, path: Path) -> pl.DataFrame:
    assert question.many is not None
    return question.many(str(path))


@pytest.mark.parametrize("form", CONDITIONS)
def test_a_condition_is_the_query_one_by_one_and_from_a_file(form: str, tmp_path: Path) -> None:
    release, condition = one_of(form), CONDITIONS[form]
    answer = release.query(condition)
    assert asked(release, "condition", condition) == answer
    (tmp_path / "conditions.csv").write_text(f"name,condition\nours,{condition}\n")
    found = from_file(release.questions()["condition"], tmp_path / "conditions.csv")
    answered = ["count", "error", "covers", "low", "high", "range", "rests_on", "caveats"]
    assert found.columns == ["name", "condition", *answered]
    assert found["count"].to_list() == [answer.value]
    assert found["error"].to_list() == [answer.error]
    assert found["rests_on"].to_list() == [answer.rests_on]
    assert found["caveats"].to_list() == [" ".join(answer.caveats)]


def test_a_selected_candidate_is_asked_by_its_name(tmp_path: Path) -> None:
    release = one_of("selection")
    answer = asked(release, "condition", "bread")
    assert answer.text == "item sets"
    (tmp_path / "names.txt").write_text("bread\n")
    assert from_file(release.questions()["condition"], tmp_path / "names.txt")["count"].item() == answer.value
    with pytest.raises(QueryError, match="not among the 2 that were selected"):
        release.questions()["condition"].ask("salt")


@pytest.mark.parametrize("form", [*TREES, "grid"])
def test_a_box_is_counted_by_position_by_name_and_from_a_file(form: str, tmp_path: Path) -> None:
    release = one_of(form)
    assert isinstance(release, PointsRelease)
    answer, everywhere = release.count(Box((0, 0), (0.5, 0.25))), release.count(Box((0, 0), (1, 1)))
    assert asked(release, "box", "0,0.5,0,0.25") == answer
    assert asked(release, "box", "x=0..0.5,y=0..0.25").value == pytest.approx(answer.value)
    (tmp_path / "boxes.csv").write_text("x_low,x_high,y_low,y_high\n0,0.5,0,0.25\n0,1,0,1\n")
    found = from_file(release.questions()["box"], tmp_path / "boxes.csv")
    assert found["count"].to_list() == pytest.approx([answer.value, everywhere.value])
    with pytest.raises(QueryError, match="is not a box"):
        release.questions()["box"].ask("everywhere")
    with pytest.raises(QueryError, match=r"none\.csv' cannot be read"):
        from_file(release.questions()["box"], tmp_path / "none.csv")


@pytest.mark.parametrize("form", TREES)
def test_the_map_of_a_tree_is_written_as_a_file(form: str, tmp_path: Path) -> None:
    question = one_of(form).questions()["map"]
    assert question.many is None
    written = question.ask(str(tmp_path / "map.geojson"))
    assert isinstance(written, Written)
    assert str(written) == f"{tmp_path / 'map.geojson'}: the released map."
    assert json.loads(written.path.read_text())["type"] == "FeatureCollection"


@pytest.mark.parametrize("form", MARKOV)
def test_strings_are_counted_one_by_one_and_from_a_file(form: str, tmp_path: Path) -> None:
    release = one_of(form)
    assert isinstance(release, MarkovRelease)
    assert asked(release, "count", "home,news") == release.query("home,news")
    (tmp_path / "strings.txt").write_text("home\nhome,news\n")
    found = from_file(release.questions()["count"], tmp_path / "strings.txt")
    assert found["count"].to_list() == [release.count("home").value, release.count("home,news").value]
    with pytest.raises(QueryError, match="'weather' is not a symbol"):
        release.questions()["count"].ask("home,weather")
    after = listed(release, "next", "home")
    assert after.equals(release.next("home"))
    assert release.questions()["next"].many is None


@pytest.mark.parametrize("form", [*MARKOV, "top-strings"])
def test_the_most_frequent_strings_are_listed(form: str) -> None:
    release = one_of(form)
    assert isinstance(release, SequenceRelease)
    assert listed(release, "top", "3").equals(release.top(3))
    assert release.questions()["top"].many is None
    for text, words in (("many", "'many' is not a whole number"), ("0", "Between 1 and 100,000 strings")):
        with pytest.raises(QueryError, match=words):
            release.questions()["top"].ask(text)


def test_what_understands_no_expressions_has_no_conditions() -> None:
    """The base asks nothing that a class does not answer."""

    class Silent(Tiny):
        ask = Published.ask

    silent = tiny(Silent)
    assert not silent.can_query
    assert set(silent.questions()) == {"sql"}
    with pytest.raises(QueryError, match="cannot be asked with an expression"):
        silent.query("sex = 'Male'")


def test_a_mistake_in_a_file_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "conditions.txt").write_text("age < 42\nheight < 3\n")
    with pytest.raises(QueryError, match=r"conditions\.txt', line 2: .*'height' is not a field"):
        from_file(one_of("independent").questions()["condition"], tmp_path / "conditions.txt")
