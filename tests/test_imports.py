"""What importing costs, and that the front door offers what it promises."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import penstock

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


def test_a_release_of_a_small_file_loads_what_it_needs_and_no_more(tmp_path: Path) -> None:
    """Neither another engine nor what only questions, evaluations, drafts or other methods need."""
    (tmp_path / "people.csv").write_text("smoker\nyes\nno\n", encoding="utf-8")
    (tmp_path / "people.schema.yaml").write_text(
        "fields:\n- {name: smoker, constraints: {enum: ['yes', 'no']}}\n", encoding="utf-8"
    )
    given = "release people.csv --schema people.schema.yaml --epsilon 1 --method independent --out out"
    code = (
        f"import json, sys\nfrom penstock.cli import run\nassert run({given.split()}) == 0\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "penstock.kinds.table.independent" in loaded
    needed = {"numpy", "polars", "pyarrow", "pydantic", "yaml", "jinja2"}
    assert {name.partition(".")[0] for name in loaded} & set(HEAVY) == needed
    assert "pyarrow.dataset" not in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("penstock.")}
    assert not rooms & {"evaluation", "audit", "drafting", "explanation", "review", "demo"}
    assert not {"penstock.releases.sql", "penstock.kinds.table.sql"} & loaded
    assert len(loaded) < 1000


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
