"""The pages of the studies: one screen of findings that the tables below bear out."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import groupby
from pathlib import Path

import pytest

from frame import MissingDataError, Results
from frame.page import LONGEST_SCREEN, LONGEST_TABLE, Page, wrapped
from frame.statements import Checked, Verdict, refuted, statement_table, tally
from race.peers import PEERS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"
NAMES = (
    "approximate",
    "classification",
    "coverage",
    "diffpart",
    "fuzzing",
    "graphs",
    "kmeans",
    "privbayes",
    "privbayes-svm",
    "privtree",
    "race",
    "scaling",
    "selection",
    "suite",
    "unseen",
)
ROW = re.compile(r"^\| (\S+) \| (.+) \| \*\*(holds|does not hold|not measured)\*\* \| (.*) \|$", re.MULTILINE)
HOLDS = {"holds": True, "does not hold": False, "not measured": None}


def read(name: str) -> tuple[str, str]:
    """What stands above the first section of a page, and what follows."""
    head, _, rest = (DOCS / f"{name}.md").read_text(encoding="utf-8").partition("\n## ")
    return head, rest


def tables_in(text: str) -> list[list[list[str]]]:
    """The rows of every table, without their heads, as cells."""
    found = []
    for is_table, lines in groupby(text.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            found.append([[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines][2:])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_page_begins_with_one_screen_of_findings(name: str) -> None:
    screen, rest = read(name)
    assert len(screen.rstrip().splitlines()) <= LONGEST_SCREEN
    assert all(len(rows) <= LONGEST_TABLE for rows in tables_in(screen))
    places = [screen.index(f"\n**{label}.** ") for label in ("Asked", "Found", "Run it again", "Rests on")]
    assert places == sorted(places)
    assert "`python studies/" in screen
    assert f"]({name}-tables.md)" in screen
    assert rest


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_in_a_table_of_the_first_screen_is_in_the_appendix(name: str) -> None:
    appendix = (DOCS / f"{name}-tables.md").read_text(encoding="utf-8")
    known = set(re.findall(r"\d*\.?\d+", appendix))
    shown = [cell for rows in tables_in(read(name)[0]) for row in rows for cell in row[1:]]
    figures = [figure for cell in shown for figure in re.findall(r"\d*\.\d+", cell)]
    assert len(figures) > 9
    assert set(figures) <= known


@pytest.mark.parametrize("name", ["privbayes", "privtree"])
def test_the_tally_and_what_does_not_hold_follow_from_the_statements(name: str) -> None:
    screen, rest = read(name)
    found = [
        Checked(number, text, Verdict(HOLDS[words], numbers))
        for number, text, words, numbers in ROW.findall(rest)
    ]
    assert len(found) > 30
    words = " ".join(screen.split())
    told = [
        tuple(int(count) for count in re.findall(r"\d+", sentence))
        for sentence in re.findall(r"\d+ [a-z ]+: \d+ holds?, \d+ do(?:es)? not[^.]*\.", words)
    ]
    counted = [sum(counts[place] for counts in told) for place in range(3)]
    assert counted == [
        len(found),
        *(sum(one.verdict.holds is held for one in found) for held in (True, False)),
    ]
    for line in refuted(found):
        assert f"\n- {line}\n" in screen


def test_the_appendix_holds_the_long_tables_and_leads_back() -> None:
    for name in NAMES:
        appendix = (DOCS / f"{name}-tables.md").read_text(encoding="utf-8")
        assert f"]({name}.md)" in appendix
        assert tables_in(appendix)


def page(found: list[str]) -> Page:
    return Page("x", "X", "Is it so?", found, "`run it`", "One run.", ["## Details", "Many."], ["## All"])


def test_a_screen_that_is_longer_than_a_screen_is_refused() -> None:
    rows = ["| a |", "|---|", *["| 1 |"] * LONGEST_TABLE]
    assert (
        page(["It is.", "\n".join(rows)])
        .text()
        .startswith("# X\n\n**Asked.** Is it so?\n\n**Found.** It is.")
    )
    with pytest.raises(ValueError, match=f"a table of {LONGEST_TABLE + 1} rows"):
        page(["It is.", "\n".join([*rows, "| 1 |"])])
    with pytest.raises(ValueError, match="lines"):
        page(["It is.", *["More."] * LONGEST_SCREEN])


def test_both_pages_are_written(tmp_path: Path) -> None:
    page(["It is."]).write(tmp_path)
    assert (tmp_path / "x.md").read_text(encoding="utf-8").endswith("\n## Details\n\nMany.\n")
    assert "[what was found](x.md)" in (tmp_path / "x-tables.md").read_text(encoding="utf-8")


def test_code_and_links_are_not_broken_over_lines() -> None:
    code = "`python studies/some_study.py --show --write`"
    assert all(code in line for line in wrapped(f"{'word ' * 18}{code} and more").splitlines()[1:])


def test_statements_that_say_the_same_of_two_datasets_are_told_together() -> None:
    found = [
        Checked("1a", "On roads: it grows.", Verdict(False, "1 of 6 cases; clearest here")),
        Checked("1b", "On parks: it grows.", Verdict(False, "2 of 6 cases")),
        Checked("2", "It falls.", Verdict(True, "6 of 6 cases")),
        Checked("3", "It turns.", Verdict(None, "it cannot be seen")),
        Checked("4", "It stays.", Verdict(None, "")),
    ]
    assert refuted(found) == [
        "1a, 1b: On roads and parks: it grows. (1 of 6 cases; 2 of 6 cases)",
        "3: It turns. (not measured: it cannot be seen)",
    ]
    assert tally(found, "statements") == "5 statements: 1 holds, 2 do not, 2 could not be measured"
    assert statement_table(found).count("**does not hold**") == 2


# --- the generators, on results that the test makes up ---


def empty(name: str) -> Results:
    """A study of which nothing has been measured yet."""
    try:
        return Results(import_module(name).study(), {}, {})
    except MissingDataError as missing:
        pytest.skip(str(missing))


def test_pages_can_be_written_before_anything_is_measured() -> None:
    import privbayes_all
    import privbayes_svm
    import privtree_all
    import scaling_privbayes

    pages = [
        privbayes_all.page({name: empty(name) for name in privbayes_all.STUDIES}),
        privtree_all.page(*(empty(name) for name in privtree_all.STUDIES), speed=""),
        scaling_privbayes.page([], None),
        privbayes_svm.page(empty("privbayes_svm")),
    ]
    for made in pages:
        assert "**Found.** " in made.text()
        assert made.appendix().startswith(f"# {made.title}: all tables\n")
    assert "0 hold, 0 do not, 30 could not be measured" in " ".join(pages[0].text().split())


def test_the_page_of_the_race_tells_who_is_better_where() -> None:
    from race.run import Run
    from race.table import page as race_page

    def run(epsilon: str, peer: str, cpu: float, error: float) -> Run:
        found = {"2-way": error, "3-way": 2 * error, "accuracy": 1 - error}
        return Run("nltcs", epsilon, peer, "", cpu, cpu, 100, "", found)

    ours = PEERS[0].name
    races = {
        ("nltcs", "1"): [run("1", ours, 1.0, 0.01), run("1", "mbi MST", 40.0, 0.02)],
        ("nltcs", "0.1"): [run("0.1", ours, 1.0, 0.05), run("0.1", "mbi MST", 40.0, 0.04)],
    }
    bounds = {"nltcs": {"original, resampled": {"2-way": 0.001, "3-way": 0.002, "accuracy": 0.999}}}
    made = race_page(races, bounds)
    assert "**holds** (40 times for the slowest of ours)" in made.screen
    assert "- nltcs, ε 0.1, 3-way: mbi MST, (ε, δ), .0800; ours .1000" in made.screen
    assert "nltcs, ε 1, 3-way: mbi" not in made.screen
    assert made.appendix().count("| mbi MST") == 2


def test_the_page_of_selections_counts_cells_as_they_are_printed() -> None:
    import svt_selection as study

    cells = [
        study.Cell("zipf", epsilon, 100, name, error, 0.1, 0.5, 100)
        for epsilon, best in (("0.1", 0.2004), ("0.5", 0.3))
        for name in study.ALGORITHMS
        for error in [best if name == "one-shot" else 0.2001 if name == "EM" else 0.9]
    ]
    assert study.standing(cells, "one-shot", "EM") == (0, 1, 1)  # .200 and .200 are equal, .300 is more
    screen = " ".join(study.page(cells, 100, 1.0).screen.split())
    assert "(EM) in 0 of 2 cells (1 equal, 1 larger)" in screen
    assert "EM has a smaller error than one-shot in 1 of 2 cells (1 equal, 0 larger)." in screen


def test_the_page_of_scaling_tells_the_largest_file_and_the_growth() -> None:
    import scaling_privbayes as study

    def line(rows: int, columns: int, seconds: float) -> study.Line:
        return study.Line(study.Task(rows, columns, "duckdb"), seconds, seconds, 1.0, 0.1, 225, 0, 478.0)

    lines = [line(10**6, 16, 0.5), line(10**7, 16, 5.0), line(10**7, 15, 4.0), line(10**7, 64, 40.0)]
    screen = " ".join(study.page(lines, {"seconds": 31.0, "peak": 1438.0}).screen.split())
    assert "9 CPU seconds and a peak of 478 MiB" in screen
    assert "31 CPU seconds, 1,438 MiB" in screen
    assert "open 1.00 to 1.00, count 1.00 to 1.00, learn 0.00 to 0.00" in screen
    assert "ten million rows of 64 columns instead of 16 take 81 CPU seconds instead of 11" in screen
