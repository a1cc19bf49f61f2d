"""The documentation is run: every command and every line of Python in the guide, in the order of the page."""

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conformance.ballots.entry import FORM, KIND, METHOD
from tests.test_docstrings import REFERENCE

from penstock import catalogue
from penstock.cli.app import commands
from penstock.contracts.plug import method_class
from penstock.kinds.stream.living import living_class

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    return [(language, text) for _, language, text in FENCE.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", ["first-release", "python"])
def test_the_guide_runs_as_printed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    names: dict[str, object] = {}
    ran = 0
    for language, text in blocks(ROOT / "docs" / "guide" / f"{name}.md"):
        if language == "console":
            for line in text.splitlines():
                assert line.startswith("$ "), line
                done = subprocess.run(
                    ["bash", "-c", line[2:]], capture_output=True, text=True, env={**os.environ, "PATH": path}
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
                assert "Traceback" not in done.stderr
                if line.endswith('"age <= 30"'):
                    assert "±" in done.stdout, "the guide promises an error bar"
                ran += 1
        elif language == "python":
            exec(compile(text, f"{name}.md", "exec"), names)
            ran += 1
    assert ran > 5


@pytest.mark.parametrize(
    "name", ["audit", "guide/selection", "guide/epsilon", "guide/streams", "privacy/bounds"]
)
def test_examples_on_other_pages_run(name: str) -> None:
    texts = [text for language, text in blocks(ROOT / "docs" / f"{name}.md") if language == "python"]
    assert texts
    for text in texts:
        exec(compile(text, f"{name}.md", "exec"), {})


def commands_in(text: str) -> list[list[str]]:
    """What follows `penstock` in lines that look like commands."""
    joined = text.replace("\\\n", " ")
    lines = re.findall(r"^\s*(?:\$ )?penstock +([a-z][^\n#…]*)", joined, re.MULTILINE)
    return [shlex.split(line.split("|")[0]) for line in lines]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_every_command_in_the_docs_exists_with_its_options(page: Path) -> None:
    texts = [text for language, text in blocks(page) if language in ("text", "console")]
    texts += re.findall(r"^```\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for words in (words for text in texts for words in commands_in(text)):
        command = commands()
        while hasattr(command, "commands"):
            assert words[0] in command.commands, words
            command, words = command.commands[words[0]], words[1:]
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        for word in words:
            if re.match(r"--?[a-z]", word):
                assert word.partition("=")[0] in known, f"{page.name}: {word}"


@pytest.mark.parametrize(
    "page",
    [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")],
    ids=lambda page: page.name,
)
def test_links_at_the_root_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert link.startswith("https://") or (ROOT / link).exists(), link


PYTHON_NAME = re.compile(r"`(penstock(?:\.\w+)+)\b[^`]*`")
FILE = re.compile(r"(?<![\w/.<-])((?:[\w-]+/)*[\w-]+\.py)\b")
FOLDER = re.compile(r"`((?:[\w-]+/)+)`")
SOURCE = ROOT / "src" / "penstock"
HOMES = (ROOT, ROOT / "src", SOURCE, SOURCE / "privacy", ROOT / "docs" / "methods")
NOT_CODE = {"penstock.format"}  # a key of datapackage.json
MADE_LATER = {"studies/results/"}
MADE_UP = "src/penstock/kinds/ballots/"  # a kind that is added to a copy of the project


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *PAGES], ids=lambda page: page.name)
def test_modules_functions_files_and_rooms_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in set(PYTHON_NAME.findall(text)) - NOT_CODE:
        found, *rest = name.split(".")
        thing = import_module(found)
        for part in rest:
            found = f"{found}.{part}"
            thing = getattr(thing, part) if hasattr(thing, part) else import_module(found)
    for place in {*FILE.findall(text), *FOLDER.findall(text)} - MADE_LATER:
        exists = any((home / place).exists() for home in HOMES)
        assert exists or place.startswith(MADE_UP), f"{page.name}: {place}"


def filled(name: str) -> str:
    """A page as the site shows it."""
    page: str = REFERENCE.on_page_markdown((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))
    return page


def test_the_tables_of_methods_name_every_method_with_its_guarantee_and_its_page() -> None:
    rows = [line.split(" | ") for line in filled("methods/index").splitlines() if line.startswith("| [`")]
    assert len(rows) == len(catalogue.methods())
    for info in catalogue.methods():
        place = f"baselines.md#{info.name}" if info.role == "baseline" else f"{info.name}.md"
        (row,) = [cells for cells in rows if cells[0].startswith(f"| [`{info.name}`]({place})")]
        assert info.default == row[0].endswith("the default")
        assert info.answer in row
        assert any(all(f"`{relation}`" in cell for relation in info.relations) for cell in row)
        assert any(info.summary in cell for cell in row)
        assert info.role == "method" or info.kind in row
        assert all(cell.strip(" |") for cell in row)


def test_the_advice_in_the_table_is_the_first_sentence_of_the_method_s_own_page() -> None:
    row = next(line for line in filled("methods/index").splitlines() if line.startswith("| [`uniform-grid`]"))
    assert row.endswith("| Points are spread over a good part of the box, in one to three coordinates |")


def test_every_method_is_in_the_navigation() -> None:
    nav = [{"Methods": [{"Which method": "methods/index.md"}, {"Baselines": "methods/baselines.md"}]}]
    made = REFERENCE.on_config(SimpleNamespace(nav=nav)).nav[0]["Methods"]
    assert (made[0], made[-1]) == (
        {"Which method": "methods/index.md"},
        {"Baselines": "methods/baselines.md"},
    )
    pages = {name: place for entry in made[1:-1] for name, place in entry.items()}
    offered = (*catalogue.methods(role="method"), *catalogue.sketches(role="method"))
    assert pages == {info.name: f"methods/{info.name}.md" for info in offered}


def test_the_table_of_kinds_names_every_kind_with_its_units_also_one_that_is_new() -> None:
    with catalogue.extended(kinds=(KIND,), methods=(METHOD,), forms=(FORM,)):
        text = filled("guide/schema")
        for info in catalogue.kinds():
            (row,) = [line for line in text.splitlines() if line.startswith(f"| `{info.name}` |")]
            assert all(f"`{unit.name}`" in row for unit in info.units)


def test_pages_and_reference_name_every_parameter_with_its_range() -> None:
    reference = filled("reference/methods")
    for info in catalogue.methods():
        section = reference.partition(f"\n## {info.name}\n")[2].partition("\n## ")[0]
        page = filled("methods/baselines" if info.role == "baseline" else f"methods/{info.name}")
        title = info.name if info.role == "baseline" else "Parameters"
        about = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        for parameter in method_class(info).parameters():
            assert f"| `{parameter.name}` | " in section
            assert parameter.domain.words in section
            assert f"`{parameter.name}`" in about, f"{info.name}: {parameter.name}"


def test_the_table_of_sketches_and_their_pages_say_everything() -> None:
    text = filled("guide/streams")
    for info in catalogue.sketches():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| [`{info.name}`]")]
        assert info.summary in row
        assert all(f"`{word}`" in row for word in (*info.relations, *info.questions))
        page = filled("methods/baselines" if info.role == "baseline" else f"methods/{info.name}")
        for parameter in living_class(info.name).sketch_class.parameters():
            assert f"| `{parameter.name}` | " in page, f"{info.name}: {parameter.name}"


def test_every_method_has_a_page_with_all_its_sections() -> None:
    for info in catalogue.methods(role="method"):
        text = (ROOT / "docs" / "methods" / f"{info.name}.md").read_text(encoding="utf-8")
        titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
        wanted = [
            "When to use it",
            "The theorem",
            "What it costs",
            "How good",
            "Picture",
            "Limits",
            "Reference",
        ]
        assert [title for title in titles if title in wanted] == wanted, info.name


def test_every_command_shows_an_example_in_its_help() -> None:
    def leaves(command: object) -> list[object]:
        inner = getattr(command, "commands", None)
        return [command] if inner is None else [leaf for each in inner.values() for leaf in leaves(each)]

    for command in leaves(commands()):
        assert "penstock " in getattr(command, "help", "").partition("Examples")[2], command


def test_the_site_asks_nobody_else_for_anything(tmp_path: Path) -> None:
    """No fonts, scripts or styles from other servers: a reader's visit is nobody else's business."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--site-dir",
            str(tmp_path / "site"),
        ],
        cwd=ROOT,
        check=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= len(PAGES)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"?(https?://[^\" >]+)", text)
        fetched += re.findall(
            r"<link[^>]*rel=\"?(?:stylesheet|preconnect)\"?[^>]*href=\"?(https?://[^\" >]+)", text
        )
        assert not fetched, f"{page.name}: {fetched}"


@pytest.mark.parametrize(
    "limit",
    ["A known `order_key`", "The engine that counts", "Units in the ledger", "No record against one"],
)
def test_the_limits_page_names_what_a_review_found(limit: str) -> None:
    root = Path(__file__).parents[1]
    assert f"\n{limit}\n:   " in (root / "docs/privacy/limits.md").read_text(encoding="utf-8")
    assert "docs/privacy/limits.md" in (root / "SECURITY.md").read_text(encoding="utf-8")
