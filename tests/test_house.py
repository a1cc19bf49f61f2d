"""The plan of the house, held by syntax trees: who may import whom, and that nobody imports unseen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import penstock

HOME = Path(penstock.__file__).parent

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("progress", "lifetime", "catalogue", "postprocessing", "theory"),
    ("privacy",),
    ("schema",),
    ("engine",),
    ("report",),
    ("releases",),
    ("contracts",),
    ("drafting", "evaluation", "audit"),
    ("kinds",),
    ("learn",),
    ("api", "stream"),
    ("explanation", "review"),
    ("demo", "desk"),
    ("cli",),
    ("__init__", "__main__"),
)
"""From the ground up. A room may import what lies below it, and itself; not the rooms beside it."""

RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}

JUSTIFIED: dict[tuple[str, str], str] = {
    ("cli/app.py", "penstock.__version__"): "the version stands at the door, where the build reads it",
}
"""(file, imported module): imports that break the order, each with its reason."""


@dataclass(frozen=True)
class Import:
    file: str
    module: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def files() -> list[Path]:
    return sorted(HOME.rglob("*.py"))


def imports_in(text: str, file: str) -> Iterator[Import]:
    """Everything of Penstock that a file imports: at the top, inside functions, and for the type checker."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute here"
            if node.module and node.module.partition(".")[0] == "penstock":
                # what is taken from a package may be a module of it: `from penstock.kinds import points`
                for name in node.names:
                    yield Import(file, f"{node.module}.{name.name}", node.lineno)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name == "penstock" or name.name.startswith("penstock."):
                    yield Import(file, name.name, node.lineno)


def room(dotted: str) -> str:
    """The room of a file or a module: 'kinds/table/data.py', 'penstock.kinds.table.data' are in 'kinds'."""
    parts = dotted.removesuffix(".py").replace("/", ".").removeprefix("penstock.").split(".")
    return parts[0] if parts[0] in RANK else "__init__"


def kind_of(dotted: str) -> str | None:
    """The kind whose room a file or module is in; '*' for the room of all of them, through which each is
    reached."""
    parts = dotted.removesuffix(".py").replace("/", ".").removeprefix("penstock.").split(".")
    if parts[0] != "kinds":
        return None
    return "*" if len(parts) == 1 or parts[1] == "__init__" else parts[1]


def wrong(found: Import) -> str | None:
    """Why an import breaks the plan, or None."""
    here, there = room(found.file), room(found.module)
    if RANK[there] > RANK[here]:
        return f"{found}: upward"
    if RANK[there] == RANK[here] and here != there and here != "__init__":
        return f"{found}: sideways"
    ours, theirs = kind_of(found.file), kind_of(found.module)
    if ours is not None and theirs is not None and ours != theirs:
        return f"{found}: no kind knows another"
    return None


def test_every_room_has_its_place_in_the_plan() -> None:
    rooms = {path.relative_to(HOME).parts[0].removesuffix(".py") for path in files()}
    assert rooms == set(RANK)


def test_imports_go_down() -> None:
    broken = {}
    for path in files():
        name = str(path.relative_to(HOME))
        for found in imports_in(path.read_text(encoding="utf-8"), name):
            why = wrong(found)
            if why is not None:
                broken[found.file, found.module] = why
    assert sorted(set(broken) - set(JUSTIFIED)) == [], "\n".join(broken.values())
    assert sorted(set(JUSTIFIED) - set(broken)) == [], "no longer needed"


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("privacy/mechanisms/noise.py", "from penstock.schema import Schema", "upward"),
        ("schema/field.py", "def f():\n    from penstock.kinds.table.data import Table", "upward"),
        ("engine/memory.py", "if TYPE_CHECKING:\n    import penstock.releases", "upward"),
        ("audit/harness.py", "from penstock.evaluation import evaluate", "sideways"),
        ("kinds/points/data.py", "from penstock.kinds.table.data import Table", "no kind knows another"),
        ("kinds/points/data.py", "from penstock.kinds import table", "no kind knows another"),
        ("kinds/points/data.py", "from penstock.kinds import table as mine", "no kind knows another"),
        ("kinds/points/data.py", "from penstock.kinds import *", "no kind knows another"),
        ("kinds/points/data.py", "import penstock.kinds", "no kind knows another"),
        ("kinds/points/data.py", "import penstock.kinds.table as mine", "no kind knows another"),
        ("kinds/points/data.py", "import penstock", "upward"),
        ("contracts/data.py", "from penstock import api", "upward"),
        ("schema/field.py", "from penstock import kinds", "upward"),
    ],
)
def test_an_import_that_breaks_the_plan_would_be_found(file: str, text: str, why: str) -> None:
    (found,) = imports_in(text, file)
    assert why in str(wrong(found))


DYNAMIC = {
    "__init__.py": "the door loads what is asked for when it is first used",
    "catalogue/__init__.py": "the one place that knows where things stand",
    "cli/app.py": "a command of its own room is loaded when it is asked for, and the others are not",
}
READ_ONLY = {"importlib.metadata", "importlib.resources"}
"""What of `importlib` imports nothing: the version, and data files."""

LOADERS = {
    *("__import__", "__loader__", "__builtins__", "builtins", "eval", "exec", "compile"),
    *("import_module", "import_string", "reload", "resolve_name", "find_spec", "module_from_spec"),
    *("run_module", "run_path", "walk_packages", "iter_modules"),
}
MODULES_THAT_LOAD = {"importlib", "imp", "pkgutil", "runpy", "builtins", "zipimport"}
PLACE = re.compile(r"penstock(\.\w+)+(:\w+)?")


def hidden_imports(text: str) -> list[str]:
    """Ways to get at a module that no import statement shows: loaders, `sys.modules`, a place as text."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id in LOADERS:
            found.append(node.id)
        elif isinstance(node, ast.Attribute):
            whole = ast.unparse(node)
            if node.attr in LOADERS - {"compile"} or whole == "sys.modules":
                found.append(whole)
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names if _loads(name.name)]
            found += ["sys as" for name in node.names if name.name == "sys" and name.asname]
        elif isinstance(node, ast.ImportFrom):
            loading = _loads(node.module or "") or node.module == "sys"
            names = [name.name for name in node.names]
            found += [each for each in names if loading and (node.module != "sys" or each == "modules")]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and PLACE.fullmatch(node.value):
            found.append(node.value)
    return found


def _loads(module: str) -> bool:
    return module.partition(".")[0] in MODULES_THAT_LOAD and module not in READ_ONLY


def test_nothing_is_imported_by_name_except_through_the_catalogue() -> None:
    """An import that the syntax tree does not show would break the plan unseen."""
    found = {}
    for path in files():
        ways = hidden_imports(path.read_text(encoding="utf-8"))
        name = str(path.relative_to(HOME))
        if ways and not (name.startswith("catalogue/") and all(map(PLACE.fullmatch, ways))):
            found[name] = ways
    assert set(found) == set(DYNAMIC), found


@pytest.mark.parametrize(
    "text",
    [
        'import sys\nsys.modules["penstock.kinds.table.data"].Table',
        "from sys import modules",
        "import sys as system\nsystem.modules",
        "import importlib",
        "from importlib import import_module as load",
        "import importlib.util",
        "from pkgutil import resolve_name",
        "import runpy",
        "import builtins\nbuiltins.__import__",
        '__import__("penstock.api")',
        'exec("import penstock.api")',
        'load("penstock.kinds.table.data:Table")',
        'WHERE = "penstock.kinds.table"',
    ],
)
def test_an_import_by_name_would_be_found(text: str) -> None:
    assert hidden_imports(text)


@pytest.mark.parametrize(
    "text", ["from importlib.metadata import version", "import re\nre.compile('x')", "import sys\nsys.stderr"]
)
def test_what_imports_nothing_by_name_is_left_alone(text: str) -> None:
    assert not hidden_imports(text)


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected groups of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(edges.get(module, ())):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            group = []
            while True:
                group.append(stack.pop())
                if group[-1] == module:
                    break
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(edges):
        if module not in index:
            visit(module)
    return found


def module_of(path: Path) -> str:
    dotted = "penstock." + ".".join(path.relative_to(HOME).with_suffix("").parts)
    return dotted.removesuffix(".__init__")


def at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from at_run_time(node)


def graph() -> dict[str, set[str]]:
    """Which module imports which, also inside functions; a name taken from a package counts for its module.

    What only the type checker sees is left out: two value types may name each other.
    """
    modules = {module_of(path) for path in files()}
    edges: dict[str, set[str]] = {}
    for path in files():
        here = module_of(path)
        edges[here] = set(imported(path.read_text(encoding="utf-8"), modules)) - {here}
    return edges


def imported(text: str, modules: set[str]) -> Iterator[str]:
    """The modules that a file imports when it runs, whichever way."""
    for node in at_run_time(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield from {whole if whole in modules else str(node.module)} & modules
        elif isinstance(node, ast.Import):
            yield from {name.name for name in node.names} & modules


def test_no_modules_import_each_other_not_even_inside_functions() -> None:
    edges = graph()
    edges.pop("penstock", None)  # the door offers what the rooms hold, and is imported by nobody for it
    assert cycles(edges) == []


def test_a_cycle_would_be_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


@pytest.mark.parametrize(
    "text",
    [
        "import penstock.kinds.table.data",
        "import penstock.kinds.table.data as mine",
        "def f():\n    import penstock.kinds.table.data",
        "from penstock.kinds.table import data",
        "from penstock.kinds.table.data import Table",
    ],
)
def test_every_way_to_import_counts_for_a_cycle(text: str) -> None:
    assert list(imported(text, {"penstock.kinds.table.data", "penstock.kinds.table"})) == [
        "penstock.kinds.table.data"
    ]


def test_the_catalogue_imports_nothing_of_the_house_but_its_errors() -> None:
    found = set()
    for path in sorted((HOME / "catalogue").glob("*.py")):
        for each in imports_in(path.read_text(encoding="utf-8"), f"catalogue/{path.name}"):
            found.add(each.module)
    assert {room(module) for module in found} == {"errors", "catalogue"}
