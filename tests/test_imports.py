"""What importing costs, and that the front door offers what it promises."""

import gc
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import penstock
from penstock.cli import LIBRARIES, run
from penstock.cli.loading import loading

HEAVY = (
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "scipy",
    "plotly",
    "ibis",
    "duckdb",
    "sqlalchemy",
    "dp_accounting",
    "numba",
    "jinja2",
    "pydantic",
    "yaml",
)


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    listed = "json.dumps(sorted({name.partition('.')[0] for name in sys.modules}))"
    code = f"import json, sys\n{statement}\nprint({listed})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import penstock",
        "import penstock.cli",
        "import penstock.catalogue",
        "from penstock.cli import run; run(['--version'])",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement: str) -> None:
    loaded = modules_after(
        statement.replace(
            "run(['--version'])",
            "import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()): run(['--version'])",
        )
    )
    assert not loaded & set(HEAVY)


def test_help_answers_at_once_because_it_loads_little() -> None:
    """Modules are counted, not seconds; `studies/promises.py` has those. One heavy library is 300 modules."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "penstock", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "release" in done.stdout
    loaded = {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert "penstock.cli.app" in loaded
    assert len(loaded) < 500
    ours = {name.split(".")[1] for name in loaded if name.startswith("penstock.")}
    assert ours <= {"cli", "errors", "progress", "catalogue", "learn"}
    words = {"penstock.learn", "penstock.learn.selection", "penstock.learn.selection.mechanism"}
    assert {name for name in loaded if name.startswith("penstock.learn")} == words
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def loaded_by_a_release(folder: Path, method: str) -> set[str]:
    """The modules in a process that has made and saved a release of a small file, as the script does it."""
    (folder / "people.csv").write_text("smoker\nyes\nno\n", encoding="utf-8")
    (folder / "people.schema.yaml").write_text(
        "fields:\n- {name: smoker, constraints: {enum: ['yes', 'no']}}\n", encoding="utf-8"
    )
    given = f"penstock release people.csv --schema people.schema.yaml --epsilon 1 --method {method} --out out"
    code = (
        f"import json, sys\nsys.argv = {given.split()}\nfrom penstock.cli import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_a_release_of_a_small_file_loads_what_it_needs_and_no_more(tmp_path: Path) -> None:
    """Neither another engine nor what only questions, evaluations, drafts or other methods need."""
    loaded = loaded_by_a_release(tmp_path, "independent")
    assert "penstock.kinds.table.independent" in loaded
    needed = {"numpy", "polars", "pyarrow", "pydantic", "yaml", "jinja2"}
    assert {name.partition(".")[0] for name in loaded} & set(HEAVY) == needed
    assert "pyarrow.dataset" not in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("penstock.")}
    assert not rooms & {"evaluation", "audit", "drafting", "explanation", "review", "demo"}
    assert not {"penstock.releases.sql", "penstock.kinds.table.sql"} & loaded
    assert len(loaded) < 880


def test_a_release_loads_no_other_command(tmp_path: Path) -> None:
    loaded = loaded_by_a_release(tmp_path, "independent")
    commands = {name for name in loaded if name.startswith("penstock.cli.")}
    assert commands == {
        f"penstock.cli.{name}" for name in ("app", "loading", "options", "release", "screen", "signals")
    }


def test_the_default_method_is_described_without_the_library_it_computes_with() -> None:
    """Its parameters are asked for by every release and every help, its special functions by a fit."""
    statement = "from penstock.kinds.table.confluence.method import Confluence; Confluence.parameters()"
    assert not {"scipy", "sklearn", "pandas"} & modules_after(statement)


def test_no_page_is_loaded_before_there_is_something_to_show() -> None:
    """Reports are made after the fit: until the records are opened a release needs none of them."""
    modules_after(
        "import penstock.releases.release, penstock.releases.folder\n"
        "assert not {'jinja2', 'penstock.report.page', 'penstock.report.maps'} & set(sys.modules)"
    )


def test_a_misspelt_command_is_still_told_from_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["relase", "people.csv"]) == 2
    assert "release" in capsys.readouterr().err


@pytest.mark.parametrize("on", [True, False])
def test_nobody_looks_for_cycles_while_modules_are_loaded_and_everybody_does_afterwards(on: bool) -> None:
    seen: list[str] = []
    before = gc.isenabled()
    (gc.enable if on else gc.disable)()
    gc.callbacks.append(lambda phase, _: seen.append(phase))
    try:
        with loading():
            made = [[number] for number in range(100_000)]
            looked = len(seen)
        assert looked == 0
        assert gc.isenabled() is on
        assert len(made) == 100_000
    finally:
        gc.callbacks.pop()
        (gc.enable if before else gc.disable)()


MAIN = """
import json, os, sys
sys.argv = ["penstock", "--version"]
from penstock.cli import main
try: main()
except SystemExit as end: assert not end.code
told = [os.environ[name] for name in ("OPENBLAS_THREAD_TIMEOUT", "PYDANTIC_DISABLE_PLUGINS")]
print(json.dumps(told))
"""


@pytest.mark.parametrize(("given", "kept"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
def test_libraries_are_told_to_be_quiet_unless_somebody_told_them_otherwise(
    given: dict[str, str], kept: str
) -> None:
    inherited = {name: value for name, value in os.environ.items() if name not in LIBRARIES}
    done = subprocess.run(
        [sys.executable, "-c", MAIN], env=inherited | given, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [kept, "__all__"]


def test_every_export_resolves_and_is_listed() -> None:
    assert set(penstock.__all__) <= set(dir(penstock))
    for name in penstock.__all__:
        assert callable(getattr(penstock, name)), name


def test_the_package_is_an_ordinary_module() -> None:
    """Functions are functions and rooms are modules, whichever is imported first."""
    import penstock.releases as room

    assert type(penstock) is ModuleType
    assert type(room) is ModuleType
    assert inspect.isfunction(penstock.release)
    assert inspect.isfunction(penstock.evaluate)
    assert room.load.__module__.startswith("penstock.releases")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        penstock.anonymise  # noqa: B018


WITHOUT_EXTRAS = """
import importlib, pkgutil, sys
EXTRAS = ("pandas", "plotly", "numba", "opendp", "networkx", "pyspark", "psycopg", "starlette", "uvicorn",
          "pyreadstat", "defusedxml")
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NotInstalled())
import penstock
for module in pkgutil.walk_packages(penstock.__path__, "penstock."):
    if module.name != "penstock.__main__" and not module.name.startswith("penstock.desk."):
        importlib.import_module(module.name)
from penstock.cli import run
from penstock.demo import survey, survey_schema
survey(200).write_csv("survey.csv")
open("survey.schema.yaml", "w").write(survey_schema())
for engine in ("memory", "duckdb"):
    code = run(["release", "survey.csv", "--schema", "survey.schema.yaml", "--epsilon", "1",
                "--engine", engine, "--out", engine])
    assert code == 0, engine
assert run(["evaluate", "duckdb", "survey.csv"]) == 0
"""


def test_the_core_works_without_any_extra(tmp_path: Path) -> None:
    """What is only an extra in pyproject.toml must not be needed by the core."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
